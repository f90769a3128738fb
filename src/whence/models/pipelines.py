"""Tree ensembles behind scalers and encoders, in a pipeline of scikit-learn: their trees in the user's own columns.

Every column that the trees see must come from one column of the user's table. A scaler never turns the order of numbers
round, so that a split at a threshold is one at the last number that the scaler takes to it or below it; that number is
found by halving, with the scaler itself. An encoder gives a number to every category, so that a split is one of the
categories into two sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError
from whence.models import FittedTrees, read
from whence.models.base import Forecast
from whence.models.lines import check_steps, probes, typed_like
from whence.models.tree_arrays import RawTree
from whence.util.aliases import Floats

__all__ = ["PipedTrees"]

#: Steps that mix columns.
MIXING = ("PCA", "TruncatedSVD")
#: Halvings until two neighbouring numbers are left.
HALVINGS = 2100
#: A column of the user's table: its name, its first coordinate, and its categories if they are names.
Column = tuple[str, int, tuple[Any, ...] | None]


class PipedTrees(FittedTrees):
    """The trees of the last step of a pipeline, as far as they can be read without its history.

    :meth:`in_columns` gives them in the user's columns.
    """

    def __init__(self, model: Any, inner: FittedTrees) -> None:
        self.model, self.inner, self.trees = model, inner, inner.trees
        self.n_features, self.categories = int(model.n_features_in_), {}
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        self.kind, self.single = f"{inner.kind} pipeline", False  # type: ignore[misc]
        check_steps(model, MIXING)
        if inner.categories:
            raise InputError(
                "'model' must be a pipeline whose last step sees numbers. Got one that knows categories.",
                parameter="model",
            )
        self._columns: Sequence[Column] = ()
        self._like = pd.DataFrame()

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        """What is read of a pipeline that ends in trees; None for anything else."""
        if not hasattr(fitted, "steps") or len(fitted.steps) < 2:
            return None
        inner = read(fitted.steps[-1][1])
        return None if inner is None or not inner.trees else cls(fitted, inner)

    def in_columns(self, history: pd.DataFrame, columns: Sequence[Column]) -> PipedTrees:
        """The same with splits of the columns of a table, of which `history` holds past rows."""
        made = PipedTrees(self.model, self.inner)
        made._columns, made._like = columns, history
        made.categories = {j: list(own) for j, (_, _, own) in enumerate(columns) if own is not None}
        made.trees = _Taken(made, history, columns).trees()
        return made

    def transformed(self, table: pd.DataFrame) -> Floats:
        """What the last step is shown."""
        shown: Any = table.to_numpy() if self.names is None else table.set_axis(self.names, axis=1)
        found = self.model[:-1].transform(shown)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)

    def _rows(self, X: Floats) -> Floats:
        """Rows of numbers and codes as the last step sees them."""
        values: dict[str, Any] = {}
        for j, (name, _, own) in enumerate(self._columns):
            values[name] = X[:, j] if own is None else np.array([own[int(code)] for code in X[:, j]], dtype=object)
        return self.transformed(typed_like(pd.DataFrame(values), self._like))

    def leaves(self, X: Floats) -> NDArray[np.int64]:
        return self.inner.leaves(self._rows(X))

    @property
    def has_second_class(self) -> bool:
        return self.inner.has_second_class

    def labels(self) -> list[Any]:
        return self.inner.labels()

    def forecast(self, label: Any = None) -> Forecast:
        return self.inner.forecast(label)

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        return self.inner.predicted(self._rows(X), label)


class _Taken:
    """Splits of what a pipeline makes of a table, taken back to the columns of that table."""

    def __init__(self, piped: PipedTrees, history: pd.DataFrame, columns: Sequence[Column]) -> None:
        self.piped, self.history, self.columns = piped, history, columns
        self.base = history.iloc[[0]].astype(object)
        here = self.here = self._made(self.base)[0]
        #: For every column that the trees see: the user's column it comes from (-1: none), by its number.
        self.source = np.full(here.size, -1, dtype=np.int64)
        #: What every category of a column becomes.
        self.levels: dict[int, Floats] = {}
        self.ends: dict[int, tuple[float, float]] = {}
        for j, (name, _, own) in enumerate(columns):
            values = probes(history[name]) if own is None else list(own)
            found = self._made(self._changed(j, values))
            moved = np.flatnonzero((found != here).any(axis=0))
            taken = moved[self.source[moved] >= 0]
            if taken.size:
                raise self._refused(name, "is mixed with others")
            self.source[moved] = j
            if own is not None:
                self.levels[j] = found
            else:
                self.ends[j] = float(values[0]), float(values[-1])
                rising = (np.diff(found[:, moved], axis=0) > 0).all()
                slopes = (found[:, moved] - found[0, moved]).T / (found[-1, moved] - found[0, moved] + 1e-300)[:, None]
                even = (np.array(values) - values[0]) / (values[-1] - values[0])
                if not rising or not (np.abs(slopes - even) <= 1e-6).all():
                    raise self._refused(name, "is not scaled")

    def _refused(self, name: str, why: str) -> InputError:
        return InputError(
            f"'model' must scale the number {name!r} by itself, or know it as a category. Got "
            f"{type(self.piped.model).__name__}, in which it {why}.",
            parameter="model",
        )

    def _changed(self, j: int, values: Sequence[Any]) -> pd.DataFrame:
        frame = self.base.iloc[np.zeros(len(values), dtype=int)].reset_index(drop=True)
        frame[self.columns[j][0]] = pd.Series(list(values), dtype=object)
        return frame

    def _made(self, table: pd.DataFrame) -> Floats:
        return self.piped.transformed(typed_like(table, self.history))

    def trees(self) -> list[RawTree]:
        """The trees with splits of the user's columns."""
        old = self.piped.inner.trees
        numbers: dict[int, dict[float, float]] = {}
        for c in range(self.source.size):
            own = [tree.threshold[tree.feature == c] for tree in old]
            j = int(self.source[c])
            if j >= 0 and j not in self.levels:
                cuts = np.unique(np.concatenate(own))
                numbers[c] = dict(zip(cuts.tolist(), self._turns(c, cuts).tolist(), strict=True))
        return [self._taken(tree, numbers) for tree in old]

    def _taken(self, tree: RawTree, numbers: dict[int, dict[float, float]]) -> RawTree:
        feature, threshold = tree.feature.copy(), tree.threshold.copy()
        sets: dict[int, frozenset[int]] = {}
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            c, cut = int(tree.feature[node]), float(tree.threshold[node])
            j = feature[node] = max(int(self.source[c]), 0)
            if self.source[c] < 0:
                # Nothing in the table moves it: whatever stands in the first column, all go the same way.
                left = bool(self._compared(self.here)[c] <= cut)
                threshold[node] = np.inf if left else -np.inf
                if j in self.levels:
                    sets[node] = frozenset(range(len(self.levels[j]) if left else 0))
            elif j in self.levels:
                sets[node] = frozenset(np.flatnonzero(self._compared(self.levels[j][:, c]) <= cut).tolist())
            else:
                threshold[node] = numbers[c][cut]
        return replace(tree, feature=feature, threshold=threshold, sets=sets)

    def _compared(self, values: Floats) -> Floats:
        """Numbers as the library compares them."""
        return values.astype(np.float32).astype(np.float64) if self.piped.inner.single else values

    def _turns(self, c: int, cuts: Floats) -> Floats:
        """For every threshold of a column that the trees see, the last number of the user's that goes to its left."""
        if not cuts.size:
            return cuts
        j = int(self.source[c])
        first, last = self.ends[j]
        made = self._made(self._changed(j, [first, last]))[:, c]
        slope = (made[1] - made[0]) / (last - first)
        guess = first + (cuts - made[0]) / slope

        def left_of(numbers: Floats) -> NDArray[np.bool_]:
            return self._compared(self._made(self._changed(j, numbers.tolist()))[:, c]) <= cuts

        hair = 1e-12 * (np.abs(guess) + abs(last - first)) + 2e-7 * np.abs(cuts) / slope
        low, high = guess - hair, guess + hair
        while not (left_of(low) & ~left_of(high)).all():
            hair *= 10.0
            low, high = guess - hair, guess + hair
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            open_ = (middle > low) & (middle < high)
            if not open_.any():
                break
            left = left_of(middle)
            low, high = np.where(open_ & left, middle, low), np.where(open_ & ~left, middle, high)
        found: Floats = low
        return found
