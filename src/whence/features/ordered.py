"""Categories that go from low to high, one step after the other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from whence.errors import InputError
from whence.features.columns import Unknown, index_of
from whence.features.kinds import Categorical
from whence.features.number_column import NumberColumn
from whence.util.aliases import Floats
from whence.util.frames import no_missing

__all__ = ["Ordered", "OrderedColumn", "fitted_order"]


@dataclass(frozen=True)
class Ordered(Categorical):
    """One of several names that go from low to high in steps: sizes, grades, levels of service.

    A change by one step counts ``1 / (levels - 1)``, from the lowest level to the highest 1. Forests and neighbours see
    the number of the level, counted from 0. An explanation suggests any level from the lowest of the history to its
    highest. An ordered category in pandas, or an Enum in polars, is taken for this kind.

    Parameters
    ----------
    categories : iterable, optional
        The levels, lowest first; None takes the order of the column's dtype.
    change : {"free", "fixed", "increase", "decrease"}
        What an explanation may do with it.
    weight : float
        Weight in the distance.

    Examples
    --------
    >>> import pandas as pd
    >>> import whence as wh
    >>> X = pd.DataFrame({"size": ["S", "M", "XL"]})
    >>> schema = wh.Schema({"size": wh.Ordered(["S", "M", "L", "XL"])}).fit(X)
    >>> schema.encode(X).ravel().round(3).tolist()
    [0.0, 0.333, 1.0]
    """

    columns: Sequence[str] | None = field(default=None, init=False, repr=False)
    ordered: bool = field(default=True, init=False, repr=False)


@dataclass(frozen=True)
class OrderedColumn(NumberColumn):
    """An ordered category: the number of its level is the number before scaling."""

    plain: ClassVar[bool] = False
    labels: tuple[Hashable, ...] = ()

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {label: i for i, label in enumerate(self.labels)}

    @property
    def choices(self) -> list[Any]:
        """The levels from the lowest of the history to its highest."""
        return list(self.labels[int(self.low) : int(self.high) + 1])

    def position(self, said: Any) -> int | None:
        """Return the number of a level, given as it is or as it is written; None where there is none of that name."""
        return next((i for i, label in enumerate(self.labels) if label == said or str(label) == str(said)), None)

    def wanted(self, limit: Any) -> Floats:
        """Return the numbers of the levels that the bounds of a call name."""
        named = [limit] if isinstance(limit, str) or not np.iterable(limit) else list(limit)
        unknown = [level for level in named if level not in self._position]
        if unknown:
            raise InputError(
                f"The 'bounds' of {self.name!r} must be categories among {', '.join(map(repr, self.labels))}. "
                f"Got {unknown[0]!r} instead."
            )
        return np.array(sorted(self._position[level] for level in named), dtype=np.float64)

    def raw(self, table: pd.DataFrame, unknown: Unknown = "error") -> Floats:
        values = table[self.name]
        no_missing(self.name, values)
        raw = [index_of(self.name, self._position, value) for value in values.tolist()]
        return np.array(raw, dtype=np.float64)[:, None]

    def raw_row(self, values: Mapping[str, Any], unknown: Unknown = "error") -> list[float]:
        return [float(index_of(self.name, self._position, values[self.name]))]

    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        return {self.name: self.labels[round(float(point[0]) * self.scale + self.offset)]}


def fitted_order(name: str, feature: Ordered, table: pd.DataFrame, start: int) -> OrderedColumn:
    """Return an ordered category with its place in the coordinates, from `start` on."""
    dtype = table[name].dtype
    if feature.categories is None:
        if not isinstance(dtype, pd.CategoricalDtype) or not dtype.ordered:
            raise InputError(
                f"The 'categories' of {name!r} must be given, lowest first, unless the column's dtype orders them. "
                "Got None instead.",
                parameter="categories",
            )
        feature = replace(feature, categories=tuple(dtype.categories))
    labels = tuple(feature.categories or ())
    scale = float(max(1, len(labels) - 1))
    place = slice(start, start + 1)
    levels = np.arange(len(labels), dtype=np.float64)
    column = OrderedColumn(
        name, feature, (name,), place, 0.0, scale, 0.0, scale, levels, "int", labels=labels
    )  # its range is still to be seen
    seen = column.raw(table)
    return replace(column, low=float(seen.min()), high=float(seen.max()))
