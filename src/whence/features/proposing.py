"""Relations that a history shows without exception: what a user may want to confirm."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import numpy as np
import pandas as pd

from whence.features.columns import CategoryColumn, Column
from whence.features.encoding import NumberColumn
from whence.features.kinds import Binary
from whence.features.ordered import Ordered

__all__ = ["proposed_relations"]

#: Rows from which on it says something that there is no exception.
ENOUGH = 30
#: Features with more values than this follow from nothing and lead to nothing.
FEW = 60
#: Share of the joint range of two numbers in which both must occur for their order to be more than a matter of units.
SHARED = 0.25


def proposed_relations(columns: Mapping[str, Column], table: pd.DataFrame) -> list[str]:
    """Orders between numbers and features that follow from others, as texts that `Schema` takes for relations.

    Examples
    --------
    >>> import whence as wh
    >>> day = np.arange(70) % 7
    >>> X = pd.DataFrame({"low": day + 1.5, "high": 2.0 * day + 2.25, "day": list("MTWRFSU" * 10), "weekend": day > 4})
    >>> wh.Schema.infer(X).proposals(X)
    ['low <= high', 'observed(day, weekend)']
    """
    if len(table) < ENOUGH:
        return []
    return [*_orders(columns, table), *_dependencies(columns, table)]


def _orders(columns: Mapping[str, Column], table: pd.DataFrame) -> list[str]:
    numbers = {
        name: table[name].to_numpy(dtype=np.float64)
        for name, column in columns.items()
        if isinstance(column, NumberColumn) and not isinstance(column.feature, Binary | Ordered)
    }
    found = []
    for a, b in permutations(numbers, 2):
        low, high = numbers[a], numbers[b]
        shared = min(low.max(), high.max()) - max(low.min(), high.min())
        whole = max(low.max(), high.max()) - min(low.min(), high.min())
        if whole > 0 and shared >= SHARED * whole and (low <= high).all() and (low < high).any():
            found.append(f"{_quoted(a)} <= {_quoted(b)}")
    return found


def _dependencies(columns: Mapping[str, Column], table: pd.DataFrame) -> list[str]:
    codes: dict[str, np.ndarray] = {}
    for name, column in columns.items():
        few = isinstance(column, CategoryColumn) or bool(column.choices)
        if few and len(column.columns) == 1 and 1 < table[name].nunique() <= FEW:
            codes[name] = pd.factorize(table[name])[0]
    found = []
    for by, of in permutations(codes, 2):
        first, second = codes[by], codes[of]
        pairs = np.unique(np.column_stack([first, second]), axis=0)
        # Every value must have been seen often enough to show an exception.
        often = int(np.bincount(first).min()) > 1
        one_way = int(second.max()) < int(first.max())
        if often and one_way and len(pairs) == int(first.max()) + 1:
            found.append(f"observed({by}, {of})")
    return found


def _quoted(name: str) -> str:
    """A name as a relation takes it."""
    plain = name.replace("_", "a").isalnum() and not name[0].isdigit()
    return name if plain else f"`{name}`"
