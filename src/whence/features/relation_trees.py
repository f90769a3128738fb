"""Statements about single features, joined by and, or, not: and the tree of questions that decides one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whence.features.coordinate_relations import RelationTree

__all__ = ["Among", "Formula", "Joined", "Opposite", "Within", "conjuncts", "tree_of"]

#: Nodes that the tree of one relation may have; more are a mistake of the user's.
MOST_NODES = 4_000


@dataclass(frozen=True)
class Within:
    """A coordinate lies in an interval, ends included."""

    coordinate: int
    low: float
    high: float


@dataclass(frozen=True)
class Among:
    """One of several coordinates of a category is on."""

    coordinates: tuple[int, ...]


@dataclass(frozen=True)
class Opposite:
    """A statement does not hold."""

    of: Formula


@dataclass(frozen=True)
class Joined:
    """Both statements hold, or one of them does."""

    how: Literal["and", "or"]
    first: Formula
    second: Formula


Formula = Within | Among | Opposite | Joined


def conjuncts(formula: Formula) -> Iterator[Formula]:
    """The statements that all have to hold, one by one.

    Examples
    --------
    >>> a, b = Among((0,)), Among((1,))
    >>> list(conjuncts(Opposite(Joined("or", a, Opposite(b)))))
    [Opposite(of=Among(coordinates=(0,))), Among(coordinates=(1,))]
    """
    formula = _inward(formula)
    if isinstance(formula, Joined) and formula.how == "and":
        yield from conjuncts(formula.first)
        yield from conjuncts(formula.second)
    else:
        yield formula


def _inward(formula: Formula) -> Formula:
    """The same without an opposite of anything joined."""
    if not isinstance(formula, Opposite):
        return formula
    inner = formula.of
    if isinstance(inner, Opposite):
        return _inward(inner.of)
    if isinstance(inner, Joined):
        return Joined("or" if inner.how == "and" else "and", Opposite(inner.first), Opposite(inner.second))
    return formula


def tree_of(formula: Formula, text: str) -> RelationTree:
    """The tree of questions that tells whether a formula holds.

    Examples
    --------
    >>> tree = tree_of(Joined("or", Opposite(Among((1,))), Within(0, 0.2, 0.8)), "in July between ...")
    >>> tree.keeps(np.array([[0.9, 0.0], [0.9, 0.5], [0.5, 0.5]])).tolist()
    [True, False, True]
    """
    grower = _Grower()
    grower.grow(formula, {})
    return RelationTree.of(grower.nodes, grower.broken, text)


Known = dict[int, tuple[float, float]]


class _Grower:
    """Asks one question after the other until the formula is settled."""

    def __init__(self) -> None:
        self.nodes: list[tuple[int, float, int, int]] = []
        self.broken: list[bool] = []

    def grow(self, formula: Formula, known: Known) -> int:
        """A node for what is left of `formula`; `known` are the ranges of coordinates on the way here."""
        here = len(self.nodes)
        if here > MOST_NODES:
            raise OverflowError
        self.nodes.append((-1, 0.0, 0, 0))
        self.broken.append(False)
        truth, question = _settled(formula, known)
        if truth is not None:
            self.broken[here] = not truth
            return here
        assert question is not None
        coordinate, threshold = question
        low, high = known.get(coordinate, (-np.inf, np.inf))
        left = self.grow(formula, {**known, coordinate: (low, threshold)})
        beyond = float(np.nextafter(threshold, np.inf))
        right = self.grow(formula, {**known, coordinate: (beyond, high)})
        self.nodes[here] = (coordinate, threshold, left, right)
        return here


def _settled(formula: Formula, known: Known) -> tuple[bool | None, tuple[int, float] | None]:
    """Whether a formula is true or false by what is known, or the next question: a coordinate and a threshold."""
    if isinstance(formula, Opposite):
        truth, question = _settled(formula.of, known)
        return (None if truth is None else not truth), question
    if isinstance(formula, Joined):
        ends = formula.how == "or"
        first, question = _settled(formula.first, known)
        if first is ends:
            return ends, None
        second, other = _settled(formula.second, known)
        if second is ends:
            return ends, None
        if first is None:
            return None, question
        return second, other
    if isinstance(formula, Among):
        open_one: tuple[int, float] | None = None
        for j in formula.coordinates:
            low, high = known.get(j, (0.0, 0.5))
            if low > 0.25:
                return True, None
            if high > 0.25 and open_one is None:
                open_one = (j, 0.25)
        return (False, None) if open_one is None else (None, open_one)
    low, high = known.get(formula.coordinate, (-np.inf, np.inf))
    if low > formula.high or high < formula.low:
        return False, None
    if low < formula.low:
        return None, (formula.coordinate, float(np.nextafter(formula.low, -np.inf)))
    if high > formula.high:
        return None, (formula.coordinate, formula.high)
    return True, None
