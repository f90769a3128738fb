"""Nearest explanations where forecasts of trees say what may come: the search over the cells of the trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from whence import _core
from whence.claims.forecast_costs import BandPricing, Broken, CurvePricing, ForecastBetween, LinearPricing, OrderBeats
from whence.models.tree_arrays import ArrayTree
from whence.question import Answer, Question, nearest_of
from whence.search import driver
from whence.search.forest_search import ForestFrontier, against_decision, prepared
from whence.search.grid import KeptGrid
from whence.util.aliases import Floats
from whence.weights.forecast_weights import ForecastTrees
from whence.weights.trees import BareMembers


class ForecastFrontier(ForestFrontier):
    """Boxes in the order of their distance, judged by what the leaves add to the forecast of every outcome."""

    def __init__(
        self,
        question: Question,
        kept: KeptGrid,
        plausibility: _core.Plausibility | None,
        criterion: _core.MeanCriterion,
    ) -> None:
        self.forecast = cast(ForecastTrees, question.weights)
        super().__init__(question, kept, plausibility, criterion)
        # Curves are no sums over trees that a box could keep for itself.
        self.in_common = isinstance(criterion, _core.CurveCriterion)

    def cut(self, rival: Floats) -> None:
        criterion = self.criterion
        if isinstance(criterion, _core.CurveCriterion):
            self.refuted += self.proposing
            _add_curves(criterion, *self._curves(rival))
            return
        assert isinstance(criterion, _core.MeanCriterion)
        # What every leaf adds to the difference of what both plans cost.
        over, view = self.question.claim.alternative - rival, self.forecast
        row = view.leaf_values @ over[:-1] + (view.offsets @ over[:-1] + over[-1]) / self.kept.trees
        if not (self.asking or self.proposing):
            criterion.add_rival(row)
        elif self.proposing:
            self.search.meet(row)
            self.refuted += 1
        else:
            self.search.answer(row)

    def _curves(self, rival: Floats) -> tuple[list[Broken], float]:
        claim = cast(OrderBeats, self.question.claim)
        pricing = cast(CurvePricing, claim.pricing)
        if claim.best_known:
            return pricing.regrets(claim.alternative, 1.0 + claim.within), 0.0
        return pricing.curves(claim.alternative, rival)

    def weights(self, point: Floats) -> Floats:
        return self._weights()

    def _weights(self) -> Floats:
        found: Floats = self.forecast.offsets + self.forecast.leaf_values[self.leaves].sum(axis=0)
        return found


def explain(question: Question) -> Answer:
    """Answer a question about the forecasts of trees."""
    kept, plausibility = prepared(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    claim, view = cast(OrderBeats, question.claim), cast(ForecastTrees, question.weights)
    pricing = claim.pricing
    if claim.best_known:
        # Whatever holds against the best plan holds against all.
        question = question.relative()
    if isinstance(pricing, BandPricing):
        # Leaves add up to the forecast; what it may miss by rounding is far below the tolerance of costs.
        inner, values, offset = question.claiming(tau=0.0), view.leaf_values[:, 0], float(view.offsets[0])
        bands = (_rows_between(band, values, offset, kept) or [np.zeros(values.size)] for band in claim.bands())
        return nearest_of(driver.run(inner, CrossingFrontier(inner, kept, rows, plausibility)) for rows in bands)
    if isinstance(pricing, CurvePricing):
        criterion: _core.MeanCriterion = _core.CurveCriterion(
            np.ascontiguousarray(view.leaf_values), np.ascontiguousarray(view.offsets)
        )
    else:
        assert isinstance(pricing, LinearPricing)
        criterion = _core.MeanCriterion(kept.leaves)
    frontier = ForecastFrontier(question, kept, plausibility, criterion)
    return driver.run(against_decision(question, frontier), frontier)


def _add_curves(criterion: _core.CurveCriterion, curves: list[Broken], amount: float) -> None:
    """One more rival, by a curve for every outcome; the amount goes to the first of them."""
    lengths = np.array([curve.at.size for curve in curves], dtype=np.int64)
    shift = np.repeat([amount, *([0.0] * (len(curves) - 1))], lengths)
    criterion.add_curves(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([curve.at for curve in curves]),
        np.concatenate([curve.value for curve in curves]) + shift,
        np.array([[curve.before, curve.after] for curve in curves]).ravel(),
    )


class SummedTrees:
    """Trees with a value in every leaf, in the place of weights: what a grid is built from and kept with.

    The trees are laid out in the columns of the search, and `values` are those of every node of the library's trees;
    `offset` is added to their sum. Good answers are looked for first in the past contexts, `inputs` as trees see them.
    """

    def __init__(self, trees: Sequence[ArrayTree], values: Sequence[Floats], offset: float, inputs: Floats) -> None:
        self.members_ = BareMembers(list(trees))
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


class CrossingFrontier(ForestFrontier):
    """Boxes in the order of their distance, judged by rows of leaf values that must each add up to at most tau."""

    def __init__(
        self, question: Question, kept: KeptGrid, rows: Sequence[Floats], plausibility: _core.Plausibility | None
    ) -> None:
        self.leaf_rows = rows
        super().__init__(question, kept, plausibility, _core.MeanCriterion(kept.leaves))

    def cut(self, rival: Floats) -> None:
        assert isinstance(self.criterion, _core.MeanCriterion)
        for row in self.leaf_rows:
            self.criterion.add_rival(row)


def crossing(question: Question) -> Answer:
    """The nearest context in which the sum lies between two numbers, either of which may be infinite."""
    summed = cast(SummedTrees, cast(Any, question.weights))
    kept, plausibility = prepared(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    claim = cast(ForecastBetween, question.claim)
    rows = _rows_between((claim.low, claim.high), summed.leaf_values, summed.offset, kept)
    return driver.run(question, CrossingFrontier(question, kept, rows, plausibility))


def _rows_between(band: tuple[float, float], values: Floats, offset: float, kept: KeptGrid) -> list[Floats]:
    """Return what leaves add to each finite limit that their sum and an offset must keep."""
    low, high = band
    rows = [] if high == np.inf else [values + (offset - high) / kept.trees]
    return rows if low == -np.inf else [*rows, (low - offset) / kept.trees - values]
