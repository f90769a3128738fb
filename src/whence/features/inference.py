"""What kind of feature a column is, where nobody has said."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import date
from itertools import combinations, permutations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError, InputTypeError
from whence.features.columns import CategoryColumn, Column
from whence.features.dates import Date
from whence.features.kinds import Binary, Categorical, Continuous, Cyclic, Discrete, Feature, Ordered
from whence.features.number_column import NumberColumn, sorted_categories
from whence.util.frames import dates, no_missing, written_number

#: Integer columns with at most this many distinct values keep to these; with more, to whole numbers.
FEW_LEVELS = 20
#: A column with more distinct texts than this is a note or a number rather than a category.
MANY_CATEGORIES = 50
#: Steps in which numbers are recorded, the coarsest first; counted from 0.
RECORDED = (1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0001)
#: Numbers from which on it is no chance that all of them are whole steps.
ENOUGH_NUMBERS = 20
#: Most steps between the least and the largest number: finer ones nobody can tell from any number.
MOST_STEPS = 100_000


def inferred(
    name: str, values: pd.Series, missing: bool = False, steps: bool = True, recorded: bool = False
) -> Feature:
    """Return the kind of feature that a column's dtype suggests; numbers may be `missing`, where that is allowed.

    An ordered dtype goes in `steps`, unless whoever sees it knows its names only. Where the numbers are as they were
    `recorded`, they keep to the step in which they were.
    """
    dtype = values.dtype
    if missing and pd.api.types.is_numeric_dtype(dtype):
        values = values.dropna()
    no_missing(name, values)
    if isinstance(dtype, pd.CategoricalDtype):
        levels = tuple(dtype.categories)
        return Ordered(levels) if dtype.ordered and steps else Categorical(levels, ordered=bool(dtype.ordered))
    if pd.api.types.is_bool_dtype(dtype):
        return Binary()
    if pd.api.types.is_datetime64_any_dtype(dtype) or (len(values) and isinstance(values.iloc[0], date)):
        return Date()
    if pd.api.types.is_integer_dtype(dtype):
        distinct = pd.unique(values).tolist()
        if set(distinct) <= {0, 1}:
            return Binary()
        return Discrete(distinct) if len(distinct) <= FEW_LEVELS else Discrete(step=1)
    if pd.api.types.is_float_dtype(dtype):
        return Continuous(step=recorded_step(values) if recorded else None)
    if pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype):
        categories = sorted_categories(name, values)
        _refuse_written_numbers(name, categories)
        _doubt(name, values, len(categories))
        return Categorical(categories)
    raise InputTypeError(
        f"The column {name!r} must hold numbers, categories, strings, bools or dates. Got dtype {dtype}."
    )


def recorded_step(values: pd.Series) -> float | None:
    """Return the step in which numbers are recorded, such as 0.1; None where there is none, or too few numbers.

    >>> some = np.arange(30)
    >>> [recorded_step(pd.Series(some * step)) for step in (1.0, 0.5, 0.1, 0.02)], recorded_step(pd.Series(some / 7))
    ([1.0, 0.5, 0.1, 0.01], None)
    """
    given = values.to_numpy(dtype=np.float64, na_value=np.nan)
    given = given[given == given]
    if len(given) < ENOUGH_NUMBERS:
        return None
    least, most = float(given.min()), float(given.max())
    # A number of single precision is as near to a step as that allows.
    exactness = 4.0 * float(np.finfo(np.float32 if values.dtype == np.float32 else np.float64).eps)
    slack = exactness * max(abs(least), abs(most), 1.0)
    for step in RECORDED:
        # Neither infinite numbers nor those whose digits end before the step's are recorded in it.
        if not most - least <= MOST_STEPS * step or slack > 0.01 * step:
            return None
        ratio = given / step
        if np.abs(ratio - np.rint(ratio)).max() * step <= slack:
            return step
    return None


def _refuse_written_numbers(name: str, levels: Collection[Hashable]) -> None:
    """Refuse texts that are all numbers: as levels of a category, none of them would be near another."""
    example = written_number(levels)
    if example is not None:
        raise InputError(
            f"The column {name!r} holds numbers as text, such as {example!r}, which would become a category of "
            f"{len(levels)} levels, none of them near another: turn it into numbers without separators, percent and "
            f"currency signs, or declare it: schema=Schema({{{name!r}: Categorical()}})."
        )


def _doubt(name: str, values: pd.Series, levels: int) -> None:
    """Warn about texts that are unlikely to be a category: dates, and texts that hardly ever repeat."""
    said = ""
    if levels > 1 and dates(values):
        said = (
            f"The column {name!r} holds dates or times as text, which become a category of {levels} levels, none of "
            "them near another. Declare dates as Date(), or put what matters (month, weekday, hour) in columns of "
            "their own and leave it out"
        )
    elif levels > MANY_CATEGORIES and levels > 0.5 * len(values):
        said = (
            f"The column {name!r} holds {levels} different texts in {len(values)} rows, which become a category of as "
            "many levels. Leave it out unless it really is one"
        )
    if said:
        warnings.warn(f"{said}; or declare it: schema=Schema({{{name!r}: Categorical()}}).", UserWarning, stacklevel=5)


#: What a column is called, the lowest value, and the period; several for what is counted from 0 or from 1.
CYCLES: tuple[tuple[str, float, float], ...] = (
    (r"h(ou)?rs?|hour ?of ?day", 0, 24),
    (r"minutes?|minute ?of ?hour", 0, 60),
    (r"months?|mnth|month ?of ?year", 1, 12),
    (r"week ?days?|day ?of ?week|dow", 0, 7),
    (r"week ?days?|day ?of ?week|dow", 1, 7),
    (r"day ?of ?year|doy|yday", 1, 366),
    (r"weeks?|week ?of ?year", 1, 53),
    (r"wind ?dir(ection)?|wind ?deg(rees)?|direction|bearing|heading|azimuth", 0, 360),
)
#: Share of the period that the values must span.
SPANNED = 0.5


def suggested_cycles(columns: Mapping[str, Column], table: pd.DataFrame) -> dict[str, Cyclic]:
    """Return numbers whose name and range are those of an hour, a month, a direction.

    >>> import whence as wh
    >>> X = pd.DataFrame({"hour": range(24), "temp": range(24)})
    >>> wh.Schema.infer(X).suggestions(X)
    {'hour': Cyclic(change='free', weight=1.0, period=24, low=0, step=None, unit='', scale=None)}
    """
    found = {}
    for name, column in columns.items():
        if not isinstance(column.feature, Continuous | Discrete):
            continue
        plain = re.sub(r"[_\-.\s]+", " ", name.strip().lower())
        low, high = float(table[name].min()), float(table[name].max())
        for called, begins, period in CYCLES:
            inside = begins <= low and high < begins + period and high - low >= SPANNED * period - 1
            if re.fullmatch(called, plain) and inside:
                found[name] = Cyclic(period, begins)
                break
    return found


Codes = NDArray[np.int64]

#: Rows from which on it says something that there is no exception.
ENOUGH = 30
#: Features with more values than this follow from nothing and lead to nothing.
FEW = 60
#: Share of the joint range of two numbers in which both must occur for their order to be more than a matter of units.
SHARED = 0.25
#: Least correlation of two numbers whose order is proposed.
MOVING = 0.3
#: A feature follows from another one, some of whose values are rare, where that is less likely than this to be chance.
CHANCE = 1e-6
#: So it is from two others, over all pairs that are tried.
CHANCE_OF_ANY = 0.01
#: Rows from which on nothing is put down to chance.
MANY = 10_000
#: Rows by which most pairs of features are ruled out.
GLANCE = 1_000


def proposed_relations(columns: Mapping[str, Column], table: pd.DataFrame) -> list[str]:
    """Return orders between numbers and features that follow from others, as texts that `Schema` takes for relations.

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
        ordered = whole > 0 and shared >= SHARED * whole and (low <= high).all() and (low < high).any()
        # Rain that happens to stay below humidity is no relation: what is ordered for a reason has one unit, and moves.
        units = {str(getattr(columns[name].feature, "unit", "")) for name in (a, b)} - {""}
        if ordered and len(units) <= 1 and np.corrcoef(low, high)[0, 1] >= MOVING:
            found.append(f"{_quoted(a)} <= {_quoted(b)}")
    return found


def _codes(columns: Mapping[str, Column], table: pd.DataFrame) -> dict[str, Codes]:
    """Return features of few values, none of them missing, as numbers from 0."""
    codes: dict[str, Codes] = {}
    for name, column in columns.items():
        few = isinstance(column, CategoryColumn) or bool(column.choices)
        if few and len(column.columns) == 1 and 1 < table[name].nunique() <= FEW and not table[name].isna().any():
            codes[name] = pd.factorize(table[name])[0].astype(np.int64)
    return codes


def _dependencies(codes: Mapping[str, Codes]) -> list[tuple[str, str]]:
    """Return which feature follows from which."""
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
    """Return features that follow from two others together, and from neither of them nor any other feature alone."""
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
    """Return two features as one, whose values are the pairs that occur."""
    pairs: Codes = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1]
    return pairs


def _determined(by: Codes, others: Codes) -> NDArray[np.bool_]:
    """Return which columns have one value for every value of `by`."""
    where = np.unique(by, return_index=True)[1]
    same: NDArray[np.bool_] = (others[where[by]] == others).all(axis=0)
    return same


def _follows(by: Codes, of: Codes) -> bool:
    return bool(_determined(by, of[:, None])[0])


def _chance(by: Codes, of: Codes) -> float:
    """Return how likely it is that a feature follows from another by chance, if one says nothing of the other."""
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
    """Logarithm of how likely it is that this many rows, drawn at random, are all the rows of some of the groups."""
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
    """Return a name as a relation takes it."""
    plain = name.replace("_", "a").isalnum() and not name[0].isdigit()
    return name if plain else f"`{name}`"
