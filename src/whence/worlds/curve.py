"""How often answers are true by how many standard errors were asked for: a curve that never falls."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression

from whence.util.aliases import Floats

__all__ = ["Curve", "Interval"]

#: Standard deviations of a share on either side of it: nine of ten such intervals hold the true one.
NINE_OF_TEN = 1.645
#: Fewer answers than this say nothing about a share of them.
LEAST_ANSWERS = 8

Interval = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """What was seen in simulated worlds of the answers to one kind of question.

    Attributes
    ----------
    kappas : tuple of float
        Standard errors that were asked for, in ascending order.
    answered, true : tuple of int
        How many of the questions have an answer by so many standard errors, and how many of these are true.
    questions, worlds : int
        How many questions were asked, in how many worlds.
    wanted_worlds : int
        How many worlds would have been asked with enough time.
    model : str
        What the worlds' mean outcomes are predicted by.
    explained : float
        The share of the outcomes' variance that this model explains on rows that it was not fitted to.

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
        """The share of answers by so many standard errors that are true; None where that is not known."""
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

    @property
    def best(self) -> float:
        """The fewest standard errors by which as large a share is true as by any."""
        shares = self.safe_shares
        if not shares.size:
            return self.kappas[0]
        found = self.kappa(float(shares[-1]))
        assert found is not None
        return found


def wilson(share: float, count: float, z: float = NINE_OF_TEN) -> Interval:
    """Wilson's interval of a share that was seen in so many cases, `z` standard deviations to either side.

    >>> low, high = wilson(0.9, 70)
    >>> round(low, 2), round(high, 2)
    (0.83, 0.94)
    """
    middle = (share + z * z / (2.0 * count)) / (1.0 + z * z / count)
    half = z / (1.0 + z * z / count) * math.sqrt(share * (1.0 - share) / count + z * z / (4.0 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def counted(kappas: Sequence[float], seen: Iterable[Sequence[bool | None]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many questions are answered at each step and how many truly; of each one, None where it has no answer.

    >>> counted((0.0, 4.0), [[True, None], [False, True]])
    ((2, 1), (1, 1))
    """
    answered, true = [0] * len(kappas), [0] * len(kappas)
    for question in seen:
        for i, is_true in enumerate(question):
            answered[i] += is_true is not None
            true[i] += is_true is True
    return tuple(answered), tuple(true)
