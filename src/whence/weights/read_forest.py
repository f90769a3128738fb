"""Leaf weights of trees that another library has grown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from whence.aliases import Floats
from whence.errors import InputError, InternalError
from whence.weights.adapters import FittedTrees
from whence.weights.array_trees import Place, laid
from whence.weights.base import SeenColumn, as_matrix
from whence.weights.forest import ForestWeights
from whence.weights.read_members import ReadMembers

__all__ = ["ReadForestWeights"]


class ReadForestWeights(ForestWeights):
    """What ``ForestWeights.of`` makes of a model of another library: weights by the leaves that the model names itself.

    The user's columns are seen in their own units, and a category by a 0/1 column per level where the model knows it
    as one.
    """

    dtype = np.float64
    label: ClassVar[str] = "trees"

    read: FittedTrees
    counted: NDArray[np.bool_] | None = None
    _places: tuple[Place, ...] | None = None

    @classmethod
    def made(cls, fitted: Any, read: FittedTrees, counted: NDArray[np.bool_] | None = None) -> ReadForestWeights:
        """Weights of a model and what was read of it."""
        weights = cls(n_trees=max(1, len(read.trees)), max_depth=None)
        weights.frozen, weights.read, weights.counted = fitted, read, counted
        return weights

    def __sklearn_clone__(self) -> ReadForestWeights:
        return self.made(self.frozen, self.read, self.counted)

    @property
    def compared_as(self) -> DTypeLike:
        """What the model casts its columns to."""
        return np.float32 if self.read.single else np.float64

    @property
    def sees_levels(self) -> bool:
        """Whether the model knows categories."""
        return bool(self.read.categories)

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse columns in another order than the model has seen them."""
        seen = self.read.names
        if seen is not None and list(seen) != list(names):
            raise InputError(
                f"'X' must have the columns that the fitted {self.read.kind} model has seen, in their order: "
                f"{', '.join(map(repr, seen))}. Got {', '.join(map(repr, names))} instead.",
                parameter="X",
            )

    def take_columns(self, columns: Sequence[SeenColumn]) -> None:
        """Where each of the model's columns stands among what it is shown, and which code every category has."""
        if not self.sees_levels:
            return
        self._check_width(len(columns))
        places = []
        for j, column in enumerate(columns):
            levels = self.read.categories.get(j)
            if levels is None and column.categories is None:
                places.append(Place(column.coordinate))
            elif levels is None or column.categories is None:
                known = "a category" if levels is not None else "a number"
                raise InputError(
                    f"The column {column.name!r} must be {known}, as the fitted {self.read.kind} model has seen it; "
                    "declare it so in the schema.",
                    parameter="X",
                )
            else:
                code = {level: i for i, level in enumerate(levels)}
                places.append(Place(column.coordinate, tuple(code.get(level) for level in column.categories)))
        self._places = tuple(places)

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """Record which rows of `X` stand in which leaf."""
        inputs = as_matrix(X, self.dtype)
        if self._places is None:
            self._check_width(inputs.shape[1])
            self._places = tuple(Place(j) for j in range(inputs.shape[1]))
        raw = self.read.trees
        trees = [laid(tree, self._places, self.read.single) for tree in raw]
        leaves = self.read.leaves(self._model_rows(inputs))
        self._check_read(inputs, leaves, trees)
        self._check_counted(leaves.shape[0])
        self.members_ = ReadMembers(raw, trees, leaves, self.counted)
        self.forest_ = self.frozen
        self.inputs_ = inputs
        self.n_samples_, self.n_features_in_ = inputs.shape
        return self

    def rows(self, X: NDArray[Any]) -> Floats:
        """Weights by the model's own leaves."""
        return self._members.at_leaves(self.read.leaves(self._model_rows(X)))

    def per_tree(self, row: Floats) -> Floats:
        """Weights by each tree alone."""
        return self._members.per_tree_at(self.read.leaves(self._model_rows(np.asarray(row)[None, :]))[0])

    @property
    def _members(self) -> ReadMembers:
        assert isinstance(self.members_, ReadMembers)
        return self.members_

    def state(self) -> Iterator[Any]:
        """The trees, what their leaves stand for, and who stands in them."""
        yield from super().state()
        yield {"library": self.read.kind}
        yield from self._members.first

    def describe(self) -> str:
        """How many trees of which library."""
        return f"{len(self.trees)} trees of a {self.read.kind} model"

    def _model_rows(self, X: NDArray[Any]) -> Floats:
        """What the model is shown: its own columns, a category by its code (-1 for one that it does not know)."""
        assert self._places is not None
        if not self.sees_levels:
            return np.asarray(X, dtype=np.float64)
        columns = []
        for place in self._places:
            if place.codes is None:
                columns.append(X[:, place.at])
                continue
            codes = np.array([-1.0 if code is None else float(code) for code in place.codes])
            on = X[:, place.at : place.at + codes.size]
            columns.append(np.where(on.any(axis=1), codes[np.argmax(on, axis=1)], -1.0))
        return np.column_stack(columns)

    def _check_width(self, columns: int) -> None:
        if columns != self.read.n_features:
            raise InputError(
                f"'X' must have the {self.read.n_features} columns that the fitted {self.read.kind} model has seen. "
                f"Got {columns} instead.",
                parameter="X",
            )

    def _check_read(self, inputs: Floats, leaves: NDArray[np.int64], trees: list[Any]) -> None:
        """The arrays that are searched must lead every past context to the leaf that the model itself names."""
        for t, tree in enumerate(trees):
            if not np.array_equal(tree.leaf[tree.apply(inputs)], leaves[:, t]):
                raise InternalError(
                    f"Tree {t} that was read from the fitted {self.read.kind} model has other leaves than the model."
                )

    def _check_counted(self, samples: int) -> None:
        counted, trees = self.counted, len(self.read.trees)
        if counted is None:
            return
        if counted.shape != (trees, samples) or not counted.any(axis=1).all():
            raise InputError(
                f"'counted' must be an array of bools of shape ({trees}, {samples}), one row per tree and one column "
                f"per row of 'X', with a True in every row. Got shape {counted.shape} instead.",
                parameter="counted",
            )
