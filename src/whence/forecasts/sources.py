"""What a question about a forecast is put to: a sum over trees, or a line, with the model that it was read from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from whence.engines import part_of
from whence.errors import InternalError
from whence.features import Schema
from whence.models import FittedTrees
from whence.models.lines import NEARLY, FittedLine, Line, typed_like
from whence.models.tree_arrays import Forecast, Layout, Link
from whence.question import Answer, Question, combine
from whence.search.forecast_search import SummedTrees
from whence.util.aliases import Floats
from whence.weights.forecasters import LinearForecaster


class Sums(Protocol):
    """What stands behind a forecast, as a search sees it."""

    def sums(self, X: Floats) -> Floats:
        """Return a number for every row."""


class AskedForecast(ABC):
    """A model's forecast, as a number behind a link, that can be searched."""

    #: What searches it, as a certificate names it.
    engine: ClassVar[str]

    #: The features, which may be replaced by the same with finer steps.
    schema: Schema
    #: Past contexts: numbers in their own units, and 0/1 per level of a category.
    inputs: Floats
    _past: Floats

    @property
    @abstractmethod
    def link(self) -> Link:
        """What the model makes of the sum: itself, its exponential, or a probability."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What forecasts, in a few words."""

    @abstractmethod
    def view(self, context: pd.Series) -> Sums:
        """Return what is searched, where a context lacks what this one lacks."""

    def answer(self, question: Question) -> Answer:
        """Return the nearest context in which the sum lies between two numbers, either of which may be infinite."""
        search: Callable[[Question], Answer] = part_of(question.weights, "search", question.claim)
        return combine(question, question.space.parts(), search) if question.space.circles else search(question)

    @abstractmethod
    def predicted(self, table: pd.DataFrame) -> Floats:
        """Return the model's own forecast of every row."""

    @abstractmethod
    def forecast_of(self, context: pd.Series) -> float:
        """Return the model's own forecast in one context."""

    @abstractmethod
    def precision(self) -> float:
        """Return by how much the model's own sum may be off by its rounding."""

    def least_tolerance(self) -> float:
        """Return by how much a sum may always miss what it is asked to be."""
        return 0.0

    def seen(self, context: pd.Series) -> Floats:
        """Return one context as it is searched."""
        return self.schema.levels_row(context)

    def size(self) -> float:
        """Return the largest sum in the history."""
        return float(np.abs(self._past).max())

    def _linked(self, sums: Floats) -> Floats:
        """Return what the model makes of sums."""
        if self.link == "log":
            return np.exp(sums)
        return 1.0 / (1.0 + np.exp(-sums)) if self.link == "logit" else sums


class AskedTrees(AskedForecast):
    """A forecast that is a sum over trees: `layout` says where their columns stand among those of the schema."""

    engine = "search (forecast)"

    def __init__(
        self, read: FittedTrees, forecast: Forecast, label: Any, layout: Layout, schema: Schema, inputs: Floats
    ) -> None:
        self.read, self.forecast, self.label, self.layout = read, forecast, label, layout
        self.schema, self.inputs = schema, inputs
        self._views: dict[frozenset[int], SummedTrees] = {}
        self._past = self._sums_by_leaves(inputs)
        self._check_read()

    @property
    def link(self) -> Link:
        return self.forecast.link

    @property
    def kind(self) -> str:
        return f"{self.read.kind}, {len(self.forecast.trees)} trees"

    def view(self, context: pd.Series) -> SummedTrees:
        gone = np.isnan(self.seen(context))
        lacking = frozenset(j for j, place in enumerate(self.layout.places) if gone[place.at])
        return self.laid(lacking)

    def laid(self, lacking: frozenset[int] = frozenset()) -> SummedTrees:
        """Return the trees with their values, with splits on columns that are missing decided."""
        if lacking not in self._views:
            own = self.forecast
            trees = self.layout.trees(self.read, lacking)
            self._views[lacking] = SummedTrees([trees[t] for t in own.trees], own.values, own.offset, self.inputs)
        return self._views[lacking]

    def thresholds(self, column: int) -> Floats:
        """Where a column is split."""
        return np.concatenate([tree.threshold[tree.feature == column] for tree in self.laid().trees])

    def predicted(self, table: pd.DataFrame) -> Floats:
        return self.read.predicted(self.layout.model_rows(self.schema.levels_shown(table)), self.label)

    def forecast_of(self, context: pd.Series) -> float:
        rows = self.layout.model_rows(self.schema.levels_row(context)[None, :])
        return float(self.read.predicted(rows, self.label)[0])

    def precision(self) -> float:
        return self.forecast.precision(self.read.single)

    def _sums_by_leaves(self, X: Floats) -> Floats:
        """Return what the library's trees add up to, for rows with missing values too."""
        rows = self.layout.model_rows(X)
        if self.read.single:
            rows = rows.astype(np.float32).astype(np.float64)
        return self.forecast.sums(np.column_stack([tree.apply(rows) for tree in self.read.trees]))

    def _check_read(self) -> None:
        """The trees that are searched must add up to what the model forecasts, for every past context."""
        sums = self._linked(self._past)
        own = self.read.predicted(self.layout.model_rows(self.inputs), self.label)
        slack = max(self.precision(), 1e-9 * float(np.abs(own).max())) + 2e-6 * np.abs(own)
        if not (np.abs(own - sums) <= slack).all():
            worst = int(np.argmax(np.abs(own - sums)))
            raise InternalError(
                f"The trees read from the {self.read.kind} model add up to {sums[worst]:.9g} for row {worst} of 'X', "
                f"for which it forecasts {own[worst]:.9g}: its objective may be one that is not known here."
            )


class LineOfPolicy:
    """The forecast that a policy makes of one outcome by a line."""

    kind = "a line"
    link: Link = "identity"

    def __init__(self, forecaster: LinearForecaster, outcome: int, schema: Schema) -> None:
        self.forecaster, self.outcome, self.schema = forecaster, outcome, schema

    def line(self) -> Line:
        """Return the line itself."""
        own, k = self.forecaster, self.outcome
        return Line(own.coefficients[k : k + 1], own.intercepts[k : k + 1], own.inputs)

    def predicted(self, table: pd.DataFrame, label: Any = None) -> Floats:
        """Return what the models themselves say of every row."""
        return self.forecaster.said(self.schema.levels_shown(table))[:, self.outcome]


class AskedLine(AskedForecast):
    """A forecast that is a line, with the model itself and the past contexts."""

    engine = "integer program (forecast)"

    def __init__(
        self, source: FittedLine | LineOfPolicy, line: Line, label: Any, schema: Schema, history: pd.DataFrame
    ) -> None:
        self.source, self.line, self.label = source, line, label
        self.schema, self.inputs, self.history = schema, line.inputs, history
        self._past = line.sums(line.inputs)

    @property
    def link(self) -> Link:
        return self.source.link

    @property
    def kind(self) -> str:
        return f"{self.source.kind} through {self.line.coefficients.shape[1]} columns"

    def view(self, context: pd.Series) -> Line:
        return self.line

    def answer(self, question: Question) -> Answer:
        # A line goes round by itself.
        found: Answer = part_of(question.weights, "search", question.claim)(question)
        return found

    def predicted(self, table: pd.DataFrame) -> Floats:
        return self.source.predicted(typed_like(table, self.history), self.label)

    def forecast_of(self, context: pd.Series) -> float:
        return float(self.predicted(context.to_frame().T)[0])

    def precision(self) -> float:
        # The model takes its sums in another order, and may scale its columns first.
        return 10.0 * self.line.precision() + NEARLY * self.size()

    def least_tolerance(self) -> float:
        return 2.0 * self.line.precision()
