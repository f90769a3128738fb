"""Where the columns of a model of another library stand among what the searches see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whence.errors import InputError
from whence.models import FittedTrees
from whence.models.tree_arrays import ArrayTree, Place, laid
from whence.util.aliases import Floats
from whence.weights.base import SeenColumn

__all__ = ["Layout", "check_names", "check_width"]


@dataclass(frozen=True)
class Layout:
    """The place of every column of a model; a category has a 0/1 column per level."""

    places: tuple[Place, ...]

    @classmethod
    def plain(cls, columns: int) -> Layout:
        """The model's columns themselves."""
        return cls(tuple(Place(j) for j in range(columns)))

    @classmethod
    def of(cls, read: FittedTrees, columns: Sequence[SeenColumn]) -> Layout:
        """The layout of a model for these columns of the user's table, which have to be what the model has seen."""
        check_width(read, len(columns))
        places = []
        for j, column in enumerate(columns):
            levels = read.categories.get(j)
            if levels is None and column.categories is None:
                places.append(Place(column.coordinate))
            elif levels is None or column.categories is None:
                known = "a category" if levels is not None else "a number"
                raise InputError(
                    f"The column {column.name!r} must be {known}, as the fitted {read.kind} model has seen it; "
                    "declare it so in the schema.",
                    parameter="X",
                )
            else:
                places.append(Place(column.coordinate, read.codes(j, column.categories)))
        return cls(tuple(places))

    def trees(self, read: FittedTrees, missing: frozenset[int] = frozenset()) -> list[ArrayTree]:
        """The model's trees in this layout, for contexts in which some of its columns are missing."""
        return [laid(tree, self.places, read.single, missing) for tree in read.trees]

    def model_rows(self, X: NDArray[Any]) -> Floats:
        """What the model is shown: its own columns, a category by its code (-1 for one that it does not know)."""
        columns = []
        for place in self.places:
            if place.codes is None:
                columns.append(np.asarray(X[:, place.at], dtype=np.float64))
                continue
            codes = np.array([-1.0 if code is None else float(code) for code in place.codes])
            on = X[:, place.at : place.at + codes.size]
            columns.append(np.where(on.any(axis=1), codes[np.argmax(on, axis=1)], -1.0))
        return np.column_stack(columns)


class Seen(Protocol):
    """What is known of the columns that a fitted model has seen."""

    @property
    def names(self) -> list[str] | None:
        """Their names, where it knows them."""
        ...

    @property
    def n_features(self) -> int:
        """How many there are."""
        ...

    @property
    def kind(self) -> str:
        """What the model is, in a few words."""
        ...


def check_width(read: Seen, columns: int) -> None:
    """Refuse another number of columns than the model has seen."""
    if columns != read.n_features:
        raise InputError(
            f"'X' must have the {read.n_features} columns that the fitted {read.kind} model has seen. "
            f"Got {columns} instead.",
            parameter="X",
        )


def check_names(read: Seen, names: Sequence[str]) -> None:
    """Refuse columns in another order than the model has seen them: it would take one for the other."""
    if read.names is not None and list(read.names) != list(names):
        raise InputError(
            f"'X' must have the columns that the fitted {read.kind} model has seen, in their order: "
            f"{', '.join(map(repr, read.names))}. Got {', '.join(map(repr, names))} instead.",
            parameter="X",
        )
