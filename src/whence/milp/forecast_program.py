"""Forecasts in an integer program: a sum over trees, or a line, which needs no program but this one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from whence.claims.forecast_costs import BandPricing, CurvePricing, LinearPricing
from whence.claims.forecasts import OrderBeats
from whence.errors import InputError
from whence.milp.axes import Splits
from whence.milp.line_program import LineProgram
from whence.milp.model import Columns, Linear, Model
from whence.milp.order_curves import CurvedProgram
from whence.milp.tree_program import ForestWeighting
from whence.question import Answer, Question, nearest_of
from whence.util.aliases import Floats
from whence.weights.forecast_weights import ForecastTrees

__all__ = ["ForecastWeighting", "explain"]


class ForecastWeighting(ForestWeighting):
    """A forecast of trees: every leaf variable adds what its leaf adds to the forecast of each outcome."""

    def __init__(self, model: Model, question: Question, more: Sequence[tuple[int, Splits]] = ()) -> None:
        if not isinstance(question.claim.risk, LinearPricing):
            raise InputError(
                "'engine' must be 'search' for orders that follow a forecast: the integer program knows costs that are "
                "linear in the outcomes only.",
                parameter="engine",
            )
        super().__init__(model, question, more)
        self.view = cast(ForecastTrees, question.weights)

    @cached_property
    def _adds(self) -> Floats:
        """What each leaf variable adds to the forecasts."""
        found, first = [], 0
        for tree, leaves in zip(self.view.trees, self.leaves, strict=True):
            number = np.cumsum(tree.leaf >= 0) - 1
            found.append(self.view.leaf_values[first + number[leaves.nodes]])
            first += int((tree.leaf >= 0).sum())
        return np.concatenate(found)

    def mean(self, values: Floats) -> Linear:
        """What figures of a plan, or the difference of two, cost."""
        coefficients, constant = values[:-1], float(values[-1])
        return Linear(self._leaf_columns, self._adds @ coefficients, constant + float(self.view.offsets @ coefficients))

    def means(self, values: Floats) -> list[Linear]:
        """The same for several."""
        return [self.mean(column) for column in values.T]

    @cached_property
    def columns(self) -> Columns:
        """There are no weights."""
        raise InputError("method='dual' and tails need weights, which a forecast does not have.", parameter="method")

    @staticmethod
    def ceilings(weights: Any, how: str) -> Floats:
        """There are no weights."""
        return np.ones(1)


def explain(question: Question) -> Answer:
    """Answer a question about forecasts that are lines, by integer programs that HiGHS solves."""
    claim = cast(OrderBeats, question.claim)
    if claim.best_known:
        # Whatever holds against the best plan holds against all.
        question = question.relative()
    if isinstance(claim.pricing, BandPricing):
        bands = claim.bands()

        def asked() -> Iterator[Answer]:
            for band in bands:
                yield LineProgram(question, band).answer()

        return nearest_of(asked())
    if isinstance(claim.pricing, CurvePricing):
        return CurvedProgram(question).answer()
    return LineProgram(question).answer()
