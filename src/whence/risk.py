"""What the decision maker minimises: the mean of the costs, the mean of their worst tail, or a risk of your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from whence.errors import InputError, InputTypeError, argument_error
from whence.util.aliases import Floats

#: Shares of the weight that differ by less are the same number, computed in two ways.
SAME_SHARE = 1e-12


class Risk:
    """One number for costs that occur with given weights: what a policy minimises, and explanations compare.

    There are two ways to write one:

    - `values` says what each observation counts for, such as ``costs**2``. The risk is then the weighted mean of these
      values, or with a `tail` the mean of the worst share of them; `of` and `contributions` follow. Such a risk can be
      explained by every engine.
    - `of` computes any other number. Policies decide with it (where the problem's ``solve`` knows it), but no engine
      can search under it: ``explain`` refuses it with a sentence.

    The problem's ``solve`` is given the risk and must know it; the built-in problems know `Expectation` and `CVaR`.

    Examples
    --------
    >>> class Squared(Risk):
    ...     name = "mean squared cost"
    ...
    ...     def values(self, costs):
    ...         return np.square(costs)
    >>> Squared().of([1.0, 3.0], [0.5, 0.5])
    5.0
    >>> Squared().words
    'Mean squared cost'
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.of is Risk.of and cls.values is Risk.values:
            raise InputTypeError(f"A risk must define 'values' or 'of'. Got {cls.__name__} with neither.")

    @property
    def name(self) -> str:
        """What reports call it, in the middle of a sentence; the name of the class unless said otherwise."""
        return type(self).__name__

    @property
    def words(self) -> str:
        """The name at the beginning of a sentence, with its meaning where that needs a reminder."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def tail(self) -> float | None:
        """The share of the worst values that the risk is the mean of; None where all of them count."""
        return None

    def values(self, costs: Floats) -> Floats | None:
        """What each observation counts for under these costs; None where the risk is not a weighted mean."""
        return None

    def of(self, costs: ArrayLike, weights: ArrayLike) -> float:
        """Risk of `costs`, one per observation, under `weights` that sum to one."""
        c, w = _checked(costs, weights)
        tail, values = self.tail, self._known_values(c)
        if tail is None:
            return float(w @ values)
        # Most weights of a forest or of neighbours are zero, and only the others need sorting.
        some = w != 0
        values, w = values[some], w[some]
        order = np.argsort(-values, kind="stable")
        return float(tail_flow(w[order], tail) @ values[order] / tail)

    def of_each(self, costs: Floats, weights: Sequence[Floats]) -> list[float]:
        """Risk of the same `costs` under each of several `weights`: what `of` says of each.

        Examples
        --------
        >>> CVaR(0.5).of_each(np.array([1.0, 3.0]), [np.array([0.5, 0.5]), np.array([1.0, 0.0])])
        [3.0, 1.0]
        """
        if self.tail is None or type(self).of is not Risk.of:
            return [self.of(costs, one) for one in weights]
        if not len(weights):
            return []
        values = self._known_values(np.asarray(costs, dtype=np.float64))
        # Costs are sorted once for all of them.
        order = np.argsort(-values, kind="stable")
        flow = tail_flow(np.asarray(weights)[:, order], self.tail)
        found: list[float] = (flow @ values[order] / self.tail).tolist()
        return found

    def contributions(self, costs: ArrayLike, weights: ArrayLike) -> Floats | None:
        """What each observation adds to the risk: they sum to it. None where it is not a sum over the observations.

        Examples
        --------
        >>> CVaR(0.5).contributions([1.0, 2.0, 3.0, 4.0], [0.25] * 4)
        array([0. , 0. , 1.5, 2. ])
        """
        c, w = _checked(costs, weights)
        values = self.values(c)
        if values is None:
            return None
        if self.tail is None:
            return np.asarray(w * values)
        order = np.argsort(-values, kind="stable")
        parts = np.zeros(values.size)
        parts[order] = tail_flow(w[order], self.tail) * values[order] / self.tail
        return parts

    def by_tree(self, costs: Floats, trees: Floats) -> Floats:
        """What each tree says of the risk; the mean over the trees is the risk under the mean of their weights.

        A tail begins where it does for all trees together, at the smallest such value: to first order, the value of a
        tree is then how the risk changes with the weight of that tree. `trees` has a row with the weights by each.

        >>> CVaR(0.5).by_tree(np.array([1.0, 3.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
        array([1., 5.])
        """
        values = self._known_values(costs)
        if self.tail is None:
            return np.asarray(trees @ values)
        order = np.argsort(values, kind="stable")
        above = 1.0 - np.cumsum(trees.mean(axis=0)[order])
        begins = float(values[order[int(np.argmax(above <= self.tail + SAME_SHARE))]])
        return np.asarray(begins + trees @ np.maximum(values - begins, 0.0) / self.tail)

    def on_values(self) -> Risk:
        """The mean, or the mean of the worst share, that this risk takes of its values."""
        return Expectation() if self.tail is None else CVaR(1.0 - self.tail)

    def _known_values(self, costs: Floats) -> Floats:
        values = np.asarray(self.values(costs), dtype=np.float64)
        if values.shape != costs.shape:
            raise InputError(
                f"'values' of {type(self).__name__} must return one number per cost, {costs.size} of them. "
                f"Got shape {values.shape} instead.",
                parameter="risk",
            )
        return values


class _OfCosts(Risk):
    """A risk that looks at the costs themselves."""

    def values(self, costs: Floats) -> Floats:
        """The costs themselves."""
        return costs

    def on_values(self) -> Risk:
        """Itself."""
        return self


@dataclass(frozen=True)
class Expectation(_OfCosts):
    """Expected cost.

    Examples
    --------
    >>> Expectation().of([1.0, 3.0], [0.25, 0.75])
    2.5
    """

    name = "expected cost"


@dataclass(frozen=True)
class CVaR(_OfCosts):
    """Conditional value-at-risk: the mean of the worst ``1 - alpha`` share of the costs.

    The atom at which the tail begins is split, so that exactly ``1 - alpha`` of the weight counts
    (Rockafellar and Uryasev, 2002). ``CVaR(0)`` is the expected cost, and is treated as such everywhere.

    Parameters
    ----------
    alpha : float
        Share of the outcomes that is left out, in [0, 1).

    Examples
    --------
    >>> CVaR(0.5).of([1.0, 2.0, 3.0, 4.0], [0.25] * 4)
    3.5
    >>> CVaR(0.75).tail, CVaR(0).tail
    (0.25, None)
    """

    alpha: float

    #: What stands before alpha in the name.
    _PREFIX: ClassVar = "CVaR at "

    def __post_init__(self) -> None:
        wanted = f"The 'alpha' parameter of CVaR must be a float in [0, 1). Got {self.alpha!r} instead."
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, Real):
            raise InputTypeError(wanted, parameter="alpha")
        if not 0.0 <= self.alpha < 1.0:
            raise InputError(wanted, parameter="alpha")

    @property
    def name(self) -> str:
        """What reports call it."""
        return Expectation.name if self.tail is None else f"{self._PREFIX}{self.alpha:g}"

    @classmethod
    def named(cls, name: str) -> CVaR | None:
        """The risk that has this `name`, for documents that hold nothing else of a risk; None where it is another one.

        Examples
        --------
        >>> CVaR.named("CVaR at 0.8")
        CVaR(alpha=0.8)
        >>> CVaR.named("CVaR at noon") is CVaR.named("expected cost") is None
        True
        """
        try:
            found = cls(float(name.removeprefix(cls._PREFIX)))
        except ValueError:
            return None
        # A name is written in one way only: what would be written differently is the name of something else.
        return found if found.name == name else None

    @property
    def words(self) -> str:
        """The name, with a reminder of what it means.

        Examples
        --------
        >>> CVaR(0.8).words
        'CVaR at 0.8 (mean of the worst 20 %)'
        """
        if self.tail is None:
            return Expectation().words
        percent = 100.0 * self.tail
        return f"{self.name} (mean of the worst {percent:.{1 if percent < 1 else 2 if percent < 99.5 else 3}g} %)"

    @property
    def tail(self) -> float | None:
        """The share of the costs that counts; None where all of them do."""
        tail = 1.0 - float(self.alpha)
        return tail if tail < 1.0 else None


def known_tail(risk: Risk, owner: str) -> float | None:
    """The tail of a risk that looks at the costs themselves; any other is refused in the name of a problem, `owner`.

    Examples
    --------
    >>> known_tail(CVaR(0.75), "Newsvendor"), known_tail(CVaR(0), "Newsvendor")
    (0.25, None)
    """
    kind = type(risk)
    if not isinstance(risk, Risk) or kind.of is not Risk.of or kind.values is not _OfCosts.values:
        raise argument_error(owner, "risk", "be Expectation or CVaR", repr(risk), InputTypeError)
    return risk.tail


def tail_flow(weights: Floats, tail: float) -> Floats:
    """Share of each weight, in the given order, that fills a tail of mass `tail`, the last one split.

    Weights that sum to a hair less than `tail` are stretched, so that the tail is never short. Where there are several
    rows of weights, each is dealt with by itself.
    """
    upto = np.cumsum(weights, axis=-1)
    # Less than half as long as numpy's clip takes for a few hundred numbers.
    flow: Floats = np.minimum(np.maximum(tail - (upto - weights), 0.0), weights)
    whole = upto[..., -1:]
    if (whole >= tail).all():
        return flow
    short = (whole > 0.0) & (whole < tail)
    return np.where(short, weights * (tail / np.where(short, whole, 1.0)), flow)


def _checked(costs: ArrayLike, weights: ArrayLike) -> tuple[Floats, Floats]:
    c = np.asarray(costs, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    if c.ndim != 1 or c.shape != w.shape:
        raise InputError(
            f"'costs' and 'weights' must be 1-D and of the same length. Got shapes {c.shape} and {w.shape} instead."
        )
    return c, w
