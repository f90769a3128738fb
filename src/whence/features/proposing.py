"""Relations that a history shows without exception: what a user may want to confirm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.features.columns import CategoryColumn, Column
from whence.features.encoding import NumberColumn
from whence.features.kinds import Binary
from whence.features.ordered import Ordered

__all__ = ["proposed_relations"]

Codes = NDArray[np.int64]

#: Rows from which on it says something that there is no exception.
ENOUGH = 30
#: Features with more values than this follow from nothing and lead to nothing.
FEW = 60
#: Share of the joint range of two numbers in which both must occur for their order to be more than a matter of units.
SHARED = 0.25
#: A feature follows from another one, some of whose values are rare, where that is less likely than this to be chance.
CHANCE = 1e-6
#: So it is from two others, over all pairs that are tried.
CHANCE_OF_ANY = 0.01
#: Rows from which on nothing is put down to chance.
MANY = 10_000
#: Rows by which most pairs of features are ruled out.
GLANCE = 1_000


def proposed_relations(columns: Mapping[str, Column], table: pd.DataFrame) -> list[str]:
    """Orders between numbers and features that follow from others, as texts that `Schema` takes for relations.

    Examples
    --------
    >>> import whence as wh
    >>> day = np.arange(70) % 7
    >>> X = pd.DataFrame({"low": day + 1.5, "high": 2.0 * day + 2.25, "day": list("MTWRFSU" * 10), "weekend": day > 4})
    >>> wh.Schema.infer(X).proposals(X)
    ['low <= high', 'observed(day, weekend)']

    A feature may follow from two others together:

    >>> X = pd.DataFrame({"day": list("MTWRFSU" * 20), "holiday": np.arange(140) % 9 == 0})
    >>> X["work"] = ~X["day"].isin(["S", "U"]) & ~X["holiday"]
    >>> wh.Schema.infer(X).proposals(X)
    ['observed(day, holiday, work)']
    """
    if len(table) < ENOUGH:
        return []
    codes = _codes(columns, table)
    follows = _dependencies(codes)
    texts = [f"observed({by}, {of})" for by, of in follows]
    return [*_orders(columns, table), *texts, *_joint_dependencies(codes, follows)]


def _orders(columns: Mapping[str, Column], table: pd.DataFrame) -> list[str]:
    numbers = {
        name: table[name].to_numpy(dtype=np.float64)
        for name, column in columns.items()
        if isinstance(column, NumberColumn) and not isinstance(column.feature, Binary | Ordered)
    }
    found = []
    for a, b in permutations(numbers, 2):
        known = ~np.isnan(numbers[a]) & ~np.isnan(numbers[b])
        if np.count_nonzero(known) < ENOUGH:
            continue
        low, high = numbers[a][known], numbers[b][known]
        shared = min(low.max(), high.max()) - max(low.min(), high.min())
        whole = max(low.max(), high.max()) - min(low.min(), high.min())
        if whole > 0 and shared >= SHARED * whole and (low <= high).all() and (low < high).any():
            found.append(f"{_quoted(a)} <= {_quoted(b)}")
    return found


def _codes(columns: Mapping[str, Column], table: pd.DataFrame) -> dict[str, Codes]:
    """Features of few values, none of them missing, as numbers from 0."""
    codes: dict[str, Codes] = {}
    for name, column in columns.items():
        few = isinstance(column, CategoryColumn) or bool(column.choices)
        if few and len(column.columns) == 1 and 1 < table[name].nunique() <= FEW and not table[name].isna().any():
            codes[name] = pd.factorize(table[name])[0].astype(np.int64)
    return codes


def _dependencies(codes: Mapping[str, Codes]) -> list[tuple[str, str]]:
    """Which feature follows from which."""
    found = []
    for by, of in permutations(codes, 2):
        first, second = codes[by], codes[of]
        if int(second.max()) >= int(first.max()) or not _follows(first, second):
            continue
        # Every value must have been seen often enough to show an exception, or nearly all of them very often.
        if int(np.bincount(first).min()) > 1 or _chance(first, second) < CHANCE:
            found.append((by, of))
    return found


def _joint_dependencies(codes: Mapping[str, Codes], follows: Sequence[tuple[str, str]]) -> list[str]:
    """Features that follow from two others together, and from neither of them nor any other feature alone."""
    settled = {of for _, of in follows}
    names = [name for name in codes if name not in settled]
    if len(names) < 3:
        return []
    table = np.column_stack([codes[name] for name in names])
    glance = table[:: -(-len(table) // GLANCE)]
    likely: list[tuple[float, int, int, int]] = []
    for a, b in combinations(range(len(names)), 2):
        joint = _joined(glance[:, a], glance[:, b])
        rest = [c for c in range(len(names)) if c not in (a, b)]
        for c in (c for c, kept in zip(rest, _determined(joint, glance[:, rest]), strict=True) if kept):
            joint = _joined(table[:, a], table[:, b])
            if _follows(joint, table[:, c]):
                # Either of them may nearly settle it alone: the other one has to say the rest.
                alone = [_chance_within(table[:, one], joint, table[:, c]) for one in (a, b)]
                likely.append((max(alone), a, b, c))
    tried = math.comb(len(names), 2) * (len(names) - 2)
    found: dict[int, str] = {}
    triples: set[frozenset[int]] = set()
    for chance, a, b, c in sorted(likely):
        # The same three features often follow from each other in more than one way: the surest is told.
        if chance * tried < CHANCE_OF_ANY and c not in found and frozenset((a, b, c)) not in triples:
            triples.add(frozenset((a, b, c)))
            found[c] = f"observed({names[a]}, {names[b]}, {names[c]})"
    return [found[c] for c in sorted(found)]


def _joined(first: Codes, second: Codes) -> Codes:
    """Two features as one, whose values are the pairs that occur."""
    pairs: Codes = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1]
    return pairs


def _determined(by: Codes, others: Codes) -> NDArray[np.bool_]:
    """Which columns have one value for every value of `by`."""
    where = np.unique(by, return_index=True)[1]
    same: NDArray[np.bool_] = (others[where[by]] == others).all(axis=0)
    return same


def _follows(by: Codes, of: Codes) -> bool:
    return bool(_determined(by, of[:, None])[0])


def _chance(by: Codes, of: Codes) -> float:
    """How likely it is that a feature follows from another by chance, if one says nothing of the other."""
    shares = np.bincount(of) / len(of)
    alike = (shares[None, :] ** np.bincount(by)[:, None]).sum(axis=1)
    return float(np.exp(np.log(alike).sum()))


def _chance_within(given: Codes, by: Codes, of: Codes) -> float:
    """How likely it is that a feature follows from a finer one, if all that counts is the coarser one that is given.

    Then whatever was seen with a value of that one could have been seen in any other order. Rows that follow each other
    and have the same values count once: the hours of a day are one day.
    """
    new = np.append(True, (np.diff(by) != 0) | (np.diff(of) != 0))
    given, by, of = given[new], by[new], of[new]
    logarithm = 0.0
    for value in np.unique(given):
        here = given == value
        sizes = np.unique(by[here], return_counts=True)[1]
        logarithm += min((_log_chance(sizes, int(count)) for count in np.bincount(of[here])), default=0.0)
    return math.exp(min(logarithm, 0.0))


def _log_chance(sizes: NDArray[np.int64], some: int) -> float:
    """Logarithm of how likely it is that so many rows, drawn at random, are all the rows of some of the groups."""
    rows = int(sizes.sum())
    some = min(some, rows - some)
    if some == 0:
        return 0.0
    ways = np.zeros(some + 1)
    ways[0] = 1.0
    for size in sizes[sizes <= some]:
        ways[size:] += ways[: some + 1 - size].copy()
    # One way has been seen.
    return math.log(max(ways[some], 1.0)) - math.log(math.comb(rows, some)) if rows < MANY else -math.inf


def _quoted(name: str) -> str:
    """A name as a relation takes it."""
    plain = name.replace("_", "a").isalnum() and not name[0].isdigit()
    return name if plain else f"`{name}`"
