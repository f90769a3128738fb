"""The nearest context in which the sum over some trees keeps to limits: a forecast that crosses a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.aliases import Floats
from whence.question import Answer, Few, InputMap, Isolation, Limits, Question, Space
from whence.risk import Expectation
from whence.search import driver
from whence.search.forest import ForestFrontier, prepared
from whence.search.grid import KeptGrid
from whence.weights import TreeWeights
from whence.weights.array_trees import ArrayTree

__all__ = ["SummedTrees", "crossing", "question_of"]


class SummedTrees:
    """Trees with a value in every leaf, in the place of weights: what a grid is built from and kept with.

    Parameters
    ----------
    trees : list of ArrayTree
        Laid out in the columns of the search.
    values : list of ndarray
        For each of them, the value of every node of the library's tree.
    offset : float
        What is added to their sum.
    inputs : ndarray
        Past contexts, as the trees see them: where good answers are looked for first.
    """

    def __init__(self, trees: Sequence[ArrayTree], values: Sequence[Floats], offset: float, inputs: Floats) -> None:
        self.members_ = _Bare(list(trees))
        self.inputs_ = inputs
        self.offset = offset
        found = [own[tree.leaf[tree.leaf >= 0]] for tree, own in zip(trees, values, strict=True)]
        #: The value of every leaf of the grid.
        self.leaf_values: Floats = np.concatenate(found)

    @property
    def trees(self) -> list[ArrayTree]:
        """The trees."""
        return self.members_.trees

    def sums(self, X: Floats) -> Floats:
        """The sum for every row, as the trees see it."""
        first = np.cumsum([0] + [int((tree.leaf >= 0).sum()) for tree in self.trees])
        total = np.full(len(X), self.offset)
        for tree, begin in zip(self.trees, first[:-1], strict=True):
            number = np.cumsum(tree.leaf >= 0) - 1
            total += self.leaf_values[begin + number[tree.apply(X)]]
        return total


class _Bare:
    """Trees without samples, as a grid wants them."""

    #: Nothing counts for more than anything else.
    mass: Floats | None = None

    def __init__(self, trees: list[ArrayTree]) -> None:
        self.trees = trees
        self.order = np.zeros((len(trees), 1), dtype=np.int32)

    def slices(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        nodes = sum(tree.node_count for tree in self.trees)
        return np.zeros(nodes, dtype=np.int64), np.ones(nodes, dtype=np.int64)


class CrossingFrontier(ForestFrontier):
    """Boxes in the order of their distance, judged by rows of leaf values that must each add up to at most tau."""

    def __init__(
        self, question: Question, kept: KeptGrid, rows: Sequence[Floats], plausible: _core.Plausibility | None = None
    ) -> None:
        self.leaf_rows = rows
        super().__init__(question, kept, plausible)

    def cut(self, rival: Floats) -> None:
        """Ask for all limits."""
        assert isinstance(self.criterion, _core.MeanCriterion)
        for row in self.leaf_rows:
            self.criterion.add_rival(row)


def question_of(
    summed: Any,
    space: Space,
    inputs: InputMap,
    tau: float,
    limits: Limits,
    threads: int | None = None,
    plausible: Isolation | None = None,
    few: Few | None = None,
) -> Question:
    """What an engine is asked, in which the sum over trees, or a line, stands in the place of costs."""
    none = np.zeros(1)
    return Question(
        space=space,
        weights=cast(TreeWeights, cast(Any, summed)),
        inputs=inputs,
        alternative=none,
        decision=none,
        risk=Expectation(),
        kind="relative",
        tau=tau,
        separation=0.0,
        better=lambda weights: None,
        limits=limits,
        threads=threads,
        plausible=plausible,
        few=few,
    )


def crossing(question: Question, between: tuple[float, float]) -> Answer:
    """The nearest context in which the sum lies between two numbers, either of which may be infinite."""
    summed = cast(SummedTrees, cast(Any, question.weights))
    kept, plausible = prepared(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    low, high = between
    rows = []
    if high < np.inf:
        rows.append(summed.leaf_values + (summed.offset - high) / kept.trees)
    if low > -np.inf:
        rows.append((low - summed.offset) / kept.trees - summed.leaf_values)
    return driver.run(question, CrossingFrontier(question, kept, rows, plausible))
