"""How often answers are true by how many standard errors were asked for: a curve that never falls."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression

from whence.util.aliases import Floats
from whence.util.shares import Interval, wilson

#: Fewer answers than this say nothing about a share of them.
LEAST_ANSWERS = 8
#: How many times as much may be allowed where an absolute claim itself is true too seldom.
TIMES = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0)


@dataclass(frozen=True)
class Curve:
    """What was seen in simulated worlds of the answers to one kind of question.

    Attributes
    ----------
    kappas : tuple of float
        Standard errors that were asked for, in ascending order.
    answered, true : tuple of int
        How many of the questions have an answer by this many standard errors, and how many of these are true.
    questions, worlds : int
        How many questions were asked, in how many worlds.
    wanted_worlds : int
        How many worlds would have been asked with enough time.
    model : str
        What the worlds' mean outcomes are predicted by.
    explained : float
        The share of the outcomes' variance that this model explains on rows that it was not fitted to.
    wider : tuple of tuples of int
        Of absolute claims, by step: how many answers are true where this many times (:data:`TIMES`) as much is allowed
        above the cost of the best plan. Empty where that makes no difference, such as for other claims.

    Examples
    --------
    >>> curve = Curve((0.0, 4.0, 8.0), (40, 40, 36), (20, 30, 36), 40, 8, 8, "ridge", 0.5)
    >>> curve.share(2.0), curve.kappa(0.7), curve.kappa(0.95), curve.kappa(0.99)
    (0.625, 6.0, 8.0, None)
    >>> Curve((0.0, 4.0), (40, 40), (20, 30), 40, 8, 8, "ridge", 0.5).kappa(0.9) is None
    True
    """

    kappas: tuple[float, ...]
    answered: tuple[int, ...]
    true: tuple[int, ...]
    questions: int
    worlds: int
    wanted_worlds: int
    model: str
    explained: float
    wider: tuple[tuple[int, ...], ...] = ()

    @property
    def is_coarse(self) -> bool:
        """Whether there was no time for all the worlds."""
        return self.worlds < self.wanted_worlds

    @property
    def known(self) -> int:
        """Up to which step enough questions are answered for their share of truth to be known."""
        few = (i for i, count in enumerate(self.answered) if count < LEAST_ANSWERS)
        return next(few, len(self.kappas))

    @property
    def shares(self) -> Floats:
        """The share of true answers by step: the nearest to what was seen that never falls."""
        count = self.known
        if not count:
            return np.empty(0)
        seen = np.array(self.true[:count], dtype=np.float64) / np.array(self.answered[:count])
        fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(
            np.arange(count), seen, sample_weight=self.answered[:count]
        )
        return np.asarray(fitted.predict(np.arange(count)), dtype=np.float64)

    @property
    def grain(self) -> float:
        """The smallest difference of standard errors that is told apart: half of the first step."""
        return self.kappas[1] / 2.0 if len(self.kappas) > 1 else 0.0

    def share(self, kappa: float) -> float | None:
        """The share of answers by this many standard errors that are true; None where that is not known."""
        return float(np.interp(kappa, self.kappas[: self.known], self.shares)) if self.known else None

    def interval(self, kappa: float) -> Interval | None:
        """Between which shares the true one lies, nine times of ten, by how many answers were seen."""
        share = self.share(kappa)
        if share is None:
            return None
        count = float(np.interp(kappa, self.kappas[: self.known], self.answered[: self.known]))
        return wilson(share, count)

    @property
    def safe_shares(self) -> Floats:
        """The share of true answers by step, less one standard error: worlds are few, and no model is the world."""
        lows = [wilson(share, count, 1.0)[0] for share, count in zip(self.shares, self.answered, strict=False)]
        return np.maximum.accumulate(lows) if lows else np.empty(0)

    def kappa(self, share: float) -> float | None:
        """The fewest standard errors by which that share of the answers is safely true; None where none reach it."""
        shares = self.safe_shares
        reached = np.flatnonzero(shares >= share - 1e-12)
        if not reached.size:
            return None
        first = int(reached[0])
        if first == 0:
            return self.kappas[0]
        low, high = self.kappas[first - 1 : first + 1]
        part = (share - shares[first - 1]) / (shares[first] - shares[first - 1])
        exact = low + part * (high - low)
        return float(min(high, self.grain * math.ceil(exact / self.grain - 1e-6)))

    def times(self, share: float, kappa: float) -> float | None:
        """How many times as much must be allowed for that share of the answers by `kappa` to be safely true; or None.

        >>> seen = (4, 8, 10, 20, 30, 36, 40, 40, 40, 40, 40, 40)
        >>> Curve((0.0,), (40,), (4,), 40, 8, 8, "ridge", 0.5, (seen,)).times(0.8, 0.0)
        5.0
        """
        steps = [i for i, each in enumerate(self.kappas[: self.known]) if each <= kappa + 1e-9]
        if not steps or not self.wider:
            return None
        count = self.answered[steps[-1]]
        safe = (wilson(true / count, count, 1.0)[0] >= share - 1e-12 for true in self.wider[steps[-1]])
        return next((times for times, is_safe in zip(TIMES, safe, strict=False) if is_safe), None)

    @property
    def best(self) -> float:
        """The fewest standard errors by which as large a share is true as by any."""
        shares = self.safe_shares
        if not shares.size:
            return self.kappas[0]
        found = self.kappa(float(shares[-1]))
        assert found is not None
        return found


def counted(
    kappas: Sequence[float], seen: Iterable[Sequence[float | None]], times: float = 1.0
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many questions are answered at each step, and how many truly where this many times as much is allowed.

    Of each question and step it is known how many times as much that takes; None where it has no answer. Where it was
    not asked (not a number), it counts for what lies between its answers on both sides.

    >>> counted((0.0, 4.0), [[1.0, None], [2.0, 1.0]])
    ((2, 1), (1, 1))
    >>> counted((0.0, 1.0, 2.0), 4 * [[2.0, np.nan, 1.0]])
    ((4, 4, 4), (0, 2, 4))
    """
    answered, true = [0] * len(kappas), [0.0] * len(kappas)
    for question in seen:
        asked = [i for i, needed in enumerate(question) if needed is not None and not math.isnan(needed)]
        for low, high in zip([-1, *asked], asked, strict=False):
            above = question[high]
            assert above is not None
            true[high] += above <= times
            answered[high] += 1
            below = question[low] if low >= 0 else None
            if below is None:
                continue
            for i in range(low + 1, high):
                part = (kappas[i] - kappas[low]) / (kappas[high] - kappas[low])
                answered[i] += 1
                true[i] += (1.0 - part) * (below <= times) + part * (above <= times)
    return tuple(answered), tuple(round(count) for count in true)


def mostly_answered(seen: Sequence[Sequence[float | None]]) -> int:
    """Return up to which step at least as many questions have an answer as have none; one step at least.

    The few that are left beyond come from a few worlds and are alike: their share of truth is none to promise. What was
    not asked (not a number) has neither, unless the question was answered later on.

    >>> mostly_answered([[1.0, 1.0, 1.0], [1.0, 1.0, None], [1.0, np.nan, None]])
    2
    """
    for step in range(1, len(seen[0]) if seen else 1):
        has = sum(any(one is not None and not math.isnan(one) for one in question[step:]) for question in seen)
        if sum(question[step] is None for question in seen) > has:
            return step
    return len(seen[0]) if seen else 1
