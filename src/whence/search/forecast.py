"""Nearest explanations where forecasts of trees say what may come: the search over the cells of the trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from whence import _core
from whence.aliases import Floats
from whence.question import Answer, nearest_of
from whence.question.pricing import BandPricing, CurvePricing, ForecastQuestion, LinearPricing
from whence.question.shortfalls import Broken
from whence.search import driver
from whence.search.forest import ForestFrontier, against_decision, prepared
from whence.search.grid import KeptGrid
from whence.weights.forecast import ForecastTrees

__all__ = ["explain"]

#: The limits of one forecast.
Band = tuple[float, float]


class ForecastFrontier(ForestFrontier):
    """Boxes in the order of their distance, judged by what the leaves add to the forecast of every outcome."""

    question: ForecastQuestion

    def __init__(
        self,
        question: ForecastQuestion,
        kept: KeptGrid,
        plausible: _core.Plausibility | None,
        criterion: _core.MeanCriterion,
        band: Band | None = None,
    ) -> None:
        self.forecast = cast(ForecastTrees, question.weights)
        self.band = band
        super().__init__(question, kept, plausible, criterion)
        # Curves are no sums over trees that a box could keep for itself.
        self.in_common = isinstance(criterion, _core.CurveCriterion)

    def cut(self, rival: Floats) -> None:
        """Ask that the alternative cost no more than a plan with these figures."""
        criterion = self.criterion
        if isinstance(criterion, _core.CurveCriterion):
            self.refuted += self.proposing
            _add_curves(criterion, *self._curves(rival))
            return
        assert isinstance(criterion, _core.MeanCriterion)
        rows = self._rows(rival)
        if not (self.asking or self.proposing):
            for row in rows:
                criterion.add_rival(row)
        elif self.proposing:
            self.search.meet(rows[0])
            self.refuted += 1
        else:
            self.search.answer(rows[0])

    def _rows(self, rival: Floats) -> list[Floats]:
        """What every leaf adds to the criterion: limits of the one forecast, or what both plans cost."""
        question, view, trees = self.question, self.forecast, self.kept.trees
        if self.band is not None:
            (low, high), values, offset = self.band, view.leaf_values[:, 0], float(view.offsets[0])
            rows = []
            # Leaves add up to the forecast; what it may miss by rounding is far below the tolerance of costs.
            if high < np.inf:
                rows.append(values + (offset - high) / trees)
            if low > -np.inf:
                rows.append((low - offset) / trees - values)
            return rows or [np.zeros(values.size)]
        over = question.alternative - rival
        return [view.leaf_values @ over[:-1] + (view.offsets @ over[:-1] + over[-1]) / trees]

    def _curves(self, rival: Floats) -> tuple[list[Broken], float]:
        pricing, question = cast(CurvePricing, self.question.pricing), self.question
        if question.best_known:
            return pricing.regrets(question.alternative, 1.0 + question.within), 0.0
        return pricing.curves(question.alternative, rival)

    def weights(self, point: Floats) -> Floats:
        """The forecast at the point handed out last."""
        return self._weights()

    def _weights(self) -> Floats:
        found: Floats = self.forecast.offsets + self.forecast.leaf_values[self.leaves].sum(axis=0)
        return found


def explain(question: ForecastQuestion) -> Answer:
    """Answer a question about the forecasts of trees."""
    kept, plausible = prepared(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    pricing, view = question.pricing, cast(ForecastTrees, question.weights)
    if question.best_known:
        # Whatever holds against the best plan holds against all.
        question = replace(question, kind="relative")
    if isinstance(pricing, BandPricing):
        bands = question.bands()

        def asked() -> Iterator[Answer]:
            for band in bands:
                inner = replace(question, tau=0.0)
                yield driver.run(
                    inner, ForecastFrontier(inner, kept, plausible, _core.MeanCriterion(kept.leaves), band)
                )

        return nearest_of(asked())
    if isinstance(pricing, CurvePricing):
        criterion: _core.MeanCriterion = _core.CurveCriterion(
            np.ascontiguousarray(view.leaf_values), np.ascontiguousarray(view.offsets)
        )
    else:
        assert isinstance(pricing, LinearPricing)
        criterion = _core.MeanCriterion(kept.leaves)
    frontier = ForecastFrontier(question, kept, plausible, criterion)
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
