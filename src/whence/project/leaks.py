"""Which columns of a table are outcomes, and which tell more than is known when the decision is made."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from whence.features.inference import FEW_LEVELS
from whence.util.aliases import Floats

#: Rows below which nothing is said of how columns go together.
LEAST_ROWS = 20
#: Correlations from which on a column follows an outcome almost exactly; very closely, where its name does not say
#: that it was known before; and closely, where its name or its place in the table speaks against it besides.
ALMOST, VERY_CLOSELY, CLOSELY = 0.98, 0.9, 0.8
#: The share of an outcome's variance that categories behind it tell; and that columns together do that give it.
BY_GROUPS, TOGETHER_EXACTLY = 0.5, 0.9995
#: How closely a column behind the outcomes follows one whose name says that it is only known afterwards.
BEHIND_BY_NAME = 0.3
#: The widest gap between groups that were made by cutting an outcome into ranges, as a share of its own range.
GAP = 0.05
#: After so many rows an outcome may come again, as the next day's or the next week's.
AHEAD = (1, 7)
#: Rows for each column, at least, where all of them are taken together.
ROWS_EACH = 10
#: Most columns of numbers of which pairs are added up.
ADDED = 40
#: Rows by which most of these pairs are ruled out.
PEEKED = 40
#: The least correlation of outcomes that go together; theirs may be as low as that of any other columns.
TOGETHER = 0.1
#: How far apart the medians of outcomes may lie that are taken for the same kind of thing.
ALIKE = 20.0


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words in the names of columns that say what is asked for, what is known before, and what is only known afterwards.
OUTCOMES = _words(
    "demand demands sold sales orders quantity qty units volume passengers riders ridership boardings visitors guests "
    "customers arrivals pickups deliveries trips rentals consumption load usage calls cnt count tickets patients "
    "admissions covers outcome outcomes target y bikes kwh mwh requests shipments cases visits incidents meals absatz "
    "nachfrage verkauft verkauf menge besucher besuche fahrten ausleihen bestellungen kunden gäste patienten fälle "
    "einsätze anrufe verbrauch portionen"
)
KNOWN = _words(
    "temp temperature temperatur rain regen snow wind humidity pressure cloud clouds sun sunshine weather wetter price "
    "preis discount promo promotion holiday weekday month monat day tag week woche year jahr hour stunde minute season "
    "quarter lag last prev previous yesterday prior ago avg mean average rolling forecast forecasted planned plan "
    "predicted booked reserved expected capacity area size age distance id no nr number code lat lon latitude "
    "longitude event events store stock inventory lead feuchte luftfeuchte luftfeuchtigkeit luftdruck sonne bewölkung "
    "feiertag ferien aktion rabatt wochentag saison vortag vorwoche prognose geplant gebucht reserviert erwartet"
)
AFTERWARDS = _words(
    "actual realised realized returned returns leftover leftovers left waste wasted unsold stockout lost revenue "
    "turnover profit margin total sum final closing after afterwards delivered received result cost costs income "
    "takings earnings receipts proceeds tips wait waiting paid settled umsatz einnahmen erlös erlöse gewinn kosten "
    "summe gesamt retouren rest restbestand endbestand abfall abgerechnet bezahlt"
)


#: Words for what belongs to rows before.
EARLIER = _words("lag lagged last prev previous yesterday prior ago vortag vorwoche letzte vorige")
#: Words that say that something was summed up, but not over what: over the days before, or over the day itself.
SUMMED = _words("avg mean average")


class Leak(NamedTuple):
    """A column that would let a policy see the future, and why."""

    column: str
    reason: str


class Guess(NamedTuple):
    """Columns that are taken for outcomes, and why."""

    columns: list[str]
    reason: str


def words_of(name: str, word: str = r"[^\W\d_]+") -> list[str]:
    """Return the words in the name of a column.

    Examples
    --------
    >>> words_of("demandJFK"), words_of("rye bread (pcs)")
    (['demand', 'jfk'], ['rye', 'bread', 'pcs'])
    """
    apart = re.sub(r"(?<=[a-zà-ÿ])(?=[A-Z])", " ", name)
    return re.findall(word, apart.lower())


def are_siblings(one: str, other: str) -> bool:
    """Return whether two names differ in a single word, or number, that says nothing of what was known before.

    Examples
    --------
    >>> are_siblings("demand_JFK", "demand_LGA"), are_siblings("sales rye", "price rye"), are_siblings("temp", "wind")
    (True, False, False)
    """
    parts = r"[^\W\d_]+|\d+"
    first, second = words_of(one, parts), words_of(other, parts)
    if len(first) != len(second) or len(first) < 2:
        return False
    apart = [{a, b} for a, b in zip(first, second, strict=True) if a != b]
    return len(apart) == 1 and not apart[0] & (KNOWN | AFTERWARDS)


def guess_outcomes(numbers: Mapping[str, pd.Series]) -> Guess:
    """Return the columns of numbers that are probably outcomes: by their names, or the last ones that go together.

    Examples
    --------
    >>> guess_outcomes({name: pd.Series(range(30)) for name in ("temp", "demand A", "demand B")})
    Guess(columns=['demand A', 'demand B'], reason='by their names')
    """
    names = list(numbers)
    likely = [name for name in names if not KNOWN & {*words_of(name)} and numbers[name].nunique() > 2]
    named = [name for name in likely if OUTCOMES & {*words_of(name)} and not AFTERWARDS & {*words_of(name)}]
    if named:
        found = [n for n in likely if n in named or any(are_siblings(n, one) for one in named)]
        # A total of the others is none.
        parts = {name: [numbers[other] for other in found if other != name] for name in found}
        found = [name for name in found if len(found) < 3 or not _adds_up(numbers[name], parts[name])]
        return Guess(found, "by their names" if len(found) > 1 else "by its name")
    last = next((name for name in reversed(likely) if not AFTERWARDS & {*words_of(name)}), names[-1])
    found = [last]
    for name in reversed(names[: names.index(last)]):
        if not any(_go_together(name, other, numbers, likely) for other in found):
            break
        found.insert(0, name)
    # A total of the others is none.
    if len(found) > 2 and _adds_up(numbers[last], [numbers[name] for name in found[:-1]]):
        found.pop()
    if len(found) == 1:
        return Guess(found, "the last column of numbers")
    return Guess(found, "the last columns of numbers, which are of one kind and go together")


def _go_together(name: str, last: str, numbers: Mapping[str, pd.Series], likely: Collection[str]) -> bool:
    if are_siblings(name, last):
        return True
    one, other = numbers[name], numbers[last]
    if name not in likely or one.dtype != other.dtype or one.nunique() <= FEW_LEVELS or len(one) < LEAST_ROWS:
        return False
    if AFTERWARDS & {*words_of(name)} or one.min() < 0 <= other.min():
        return False
    middle = sorted((abs(one.median()), abs(other.median())))
    return middle[1] <= ALIKE * middle[0] and _correlation(one, other) >= TOGETHER


def may_be_outcome(numbers: Mapping[str, pd.Series], name: str, outcome: str) -> bool:
    """Return whether a column counts things as an outcome does, and is of its size.

    Examples
    --------
    >>> may_be_outcome({"fish": pd.Series([3, 9, 4]), "shrimp": pd.Series([5, 7, 6])}, "fish", "shrimp")
    True
    """
    one, other = numbers[name], numbers[outcome]
    whole = bool((one.dropna() % 1 == 0).all() and (other.dropna() % 1 == 0).all())
    if (KNOWN | AFTERWARDS) & {*words_of(name)} or not whole or one.min() < 0:
        return False
    least, most = sorted((float(one.mean()), float(other.mean())))
    return 0.0 < most <= ALIKE * least and one.nunique() > 2


def _adds_up(total: pd.Series, parts: Sequence[pd.Series]) -> bool:
    return _same(total.to_numpy(np.float64), np.sum([part.to_numpy(np.float64) for part in parts], axis=0))


def _same(one: Floats, other: Floats) -> bool:
    """Return whether two columns are the same in nearly all rows, and not constant."""
    known = np.isfinite(one) & np.isfinite(other)
    if known.sum() < LEAST_ROWS or np.ptp(one[known]) == 0:
        return False
    return bool(np.mean(np.abs(one - other)[known] <= 1e-9 * np.abs(one[known]).max()) >= 0.99)


def _correlation(one: pd.Series, other: pd.Series) -> float:
    """Return how closely two columns follow each other, by their values or by their ranks; 0 where one is constant."""
    return float(_correlations(one.to_frame(), other.to_frame())[0, 0])


def _correlations(X: pd.DataFrame, Y: pd.DataFrame) -> Floats:
    """Return how closely each column of `X` follows each of `Y`, over the rows in which nothing is missing."""
    known = (X.notna().all(axis=1) & Y.notna().all(axis=1)).to_numpy()
    tables = [table.to_numpy(np.float64)[known] for table in (X, Y)]
    if known.sum() < 2:
        return np.zeros((X.shape[1], Y.shape[1]))
    by_value, by_rank = (
        _scaled(one).T @ _scaled(other) for one, other in (tables, [rankdata(part, axis=0) for part in tables])
    )
    closest: Floats = np.maximum(np.abs(by_value), np.abs(by_rank))
    return closest


def _scaled(values: Floats) -> Floats:
    """Return columns with mean 0 and length 1; 0 where one is constant."""
    apart = values - values.mean(axis=0)
    length = np.sqrt((apart**2).sum(axis=0))
    length[length <= 1e-12 * np.abs(values).max(axis=0, initial=1.0)] = np.inf
    scaled: Floats = apart / length
    return scaled


def find_leaks(X: pd.DataFrame, Y: pd.DataFrame, after: Collection[str] = ()) -> list[Leak]:
    """Return the features that are outcomes of the same row, follow one almost exactly, or are only known afterwards.

    Those in `after` stand behind an outcome in the table.

    Examples
    --------
    >>> X = pd.DataFrame({"temp": [3.0, 1.0, 2.0] * 10, "revenue": [2.0 * i for i in range(30)]})
    >>> [leak.column for leak in find_leaks(X, pd.DataFrame({"sold": range(30)}))]
    ['revenue']
    """
    if len(X) < LEAST_ROWS:
        return []
    names = {str(name): f"the outcome {name!r}" for name in Y.columns}
    totals = Y.rename(columns=names)
    if Y.shape[1] > 1:
        totals = totals.assign(**{"the sum of the outcomes": Y.sum(axis=1)})
    numbers = _varied(X.select_dtypes("number"))
    together = _correlations(X[numbers], totals)
    most = together.argmax(axis=1) if numbers else np.zeros(0, dtype=np.int64)
    closest = {n: (str(totals.columns[of]), float(row[of])) for n, of, row in zip(numbers, most, together, strict=True)}
    found = _parts_of_outcomes(X[numbers], Y)
    found |= _telling_together(X[[name for name in numbers if name not in found]], Y)
    for name, dtype in X.dtypes.items():
        reason = ""
        if name in closest:
            reason = _reason(str(name), *closest[str(name)], Y, name in after)
        elif dtype.kind not in "iufM":
            reason = _told_by_groups(X[str(name)], totals, name in after)
        if reason:
            found[str(name)] = reason
    found = _in_other_rows(X[numbers], totals) | _cut_into_ranges(X.select_dtypes(exclude="datetime"), totals) | found
    return [Leak(name, found[name]) for name in map(str, X.columns) if name in found]


def _reason(name: str, outcome: str, correlation: float, Y: pd.DataFrame, after: bool) -> str:
    """Return why a column of numbers is suspect, to go on after its name; "" where it is not."""
    told = f"{outcome} (correlation {correlation:.2f})"
    words = {*words_of(name)}
    if correlation >= ALMOST:
        return f"follows {told} almost exactly"
    like = next((one for one in map(str, Y.columns) if are_siblings(name, one)), None)
    if like is not None:
        return f"is called like the outcome {like!r}, as an outcome of the same row would be"
    if correlation >= CLOSELY and AFTERWARDS & words:
        return f"follows {told}, and is by its name only known afterwards"
    if correlation >= CLOSELY and after and not (KNOWN - SUMMED) & words:
        return f"follows {told}, and stands behind the outcomes"
    if correlation >= BEHIND_BY_NAME and after and AFTERWARDS & words and not KNOWN & words:
        return f"stands behind the outcomes, and is by its name only known afterwards (with {told})"
    if correlation >= VERY_CLOSELY and not KNOWN & words:
        return f"follows {told} very closely"
    return ""


def _varied(table: pd.DataFrame) -> list[str]:
    """Return the columns that have more than two different values."""
    values = table.to_numpy(np.float64)
    least, most = np.nanmin(values, axis=0, initial=np.inf), np.nanmax(values, axis=0, initial=-np.inf)
    between = (values > least) & (values < most)
    return [str(name) for name, varied in zip(table.columns, between.any(axis=0).tolist(), strict=True) if varied]


def _told_by_groups(column: pd.Series, Y: pd.DataFrame, after: bool) -> str:
    """Return that the categories of a column tell an outcome almost exactly, or much of it from behind; else ""."""
    if not 2 <= column.nunique() <= len(column) / 5:
        return ""
    behind = after and not KNOWN & {*words_of(str(column.name))}
    for name in Y.columns:
        apart = Y[name].groupby(column.to_numpy()).transform("mean")
        spread = float(Y[name].var())
        told = float(apart.var()) / spread if spread > 0 else 0.0
        if told >= ALMOST**2:
            return f"tells {name} almost exactly"
        if behind and told >= BY_GROUPS:
            return f"tells much of {name} (R² {told:.2f}), and stands behind the outcomes"
    return ""


def _cut_into_ranges(X: pd.DataFrame, Y: pd.DataFrame) -> dict[str, str]:
    """Return columns whose groups are ranges of an outcome, which nobody could tell without it.

    Ranges lie side by side. Groups that lie far apart, such as products that sell well and others that do not, are no
    such sign, nor is a group in which the outcome is always the same, as on days on which nothing is open.
    """
    numbers = X.select_dtypes("number")
    some = numbers.to_numpy(np.float64)[np.unique(np.linspace(0, len(X) - 1, PEEKED).astype(np.int64))]
    levels = 1 + (np.diff(np.sort(some, axis=0), axis=0) > 0).sum(axis=0)
    # Most columns of numbers are ruled out by some of the rows.
    most = min(FEW_LEVELS, len(X) // 5)
    many = {str(name) for name, count in zip(numbers.columns, levels.tolist(), strict=True) if count > most}
    found: dict[str, str] = {}
    for column in [name for name in map(str, X.columns) if name not in many and not KNOWN & {*words_of(name)}]:
        if not 2 <= X[column].nunique() <= most:
            continue
        for name in Y.columns:
            groups = Y[name].groupby(X[column].to_numpy())
            ends = sorted(zip(groups.min().tolist(), groups.max().tolist(), strict=True))
            gaps = [above[0] - below[1] for below, above in pairwise(ends)]
            within = max(gaps) <= GAP * (ends[-1][1] - ends[0][0])
            if min(gaps) >= 0.0 and within and all(low < high for low, high in ends):
                found[column] = f"puts low and high values of {name} into groups that do not overlap"
    return found


def _in_other_rows(X: pd.DataFrame, Y: pd.DataFrame) -> dict[str, str]:
    """Return columns that are the outcome of a later row, or count an outcome up to the row itself."""
    values, found = X.to_numpy(np.float64), dict[str, str]()
    some = np.unique(np.linspace(max(AHEAD), len(X) - 1, PEEKED).astype(np.int64))
    for name in Y.columns:
        outcome = Y[name].to_numpy(np.float64)
        told = {f"is {name} of {'the next row' if rows == 1 else f'{rows} rows later'}": rows for rows in AHEAD}
        for said, rows in {**told, f"counts up {name}, that of the same row included": 0}.items():
            before = values[some - rows] if rows else values[some] - values[some - 1]
            likely = np.mean(np.isclose(before, outcome[some, None], rtol=1e-9, equal_nan=True), axis=0) >= 0.9
            for j in np.flatnonzero(likely).tolist():
                shifted = values[:-rows, j] if rows else np.diff(values[:, j])
                column = str(X.columns[j])
                if _same(shifted, outcome[max(rows, 1) :]) and not (rows and EARLIER & {*words_of(column)}):
                    found.setdefault(column, said)
    return found


def _telling_together(X: pd.DataFrame, Y: pd.DataFrame) -> dict[str, str]:
    """Return columns that give an outcome exactly as a weighted sum: no noise is left, as there is in what is to come.

    Those that were known before by their names are not meant, unless no other is among them.
    """
    values, outcomes = X.to_numpy(np.float64), Y.to_numpy(np.float64)
    known = np.isfinite(values).all(axis=1) & np.isfinite(outcomes).all(axis=1)
    if X.shape[1] < 2 or X.shape[1] > ADDED or known.sum() < ROWS_EACH * (X.shape[1] + 1):
        return {}
    scaled, wanted = _scaled(values[known]), _scaled(outcomes[known])
    weights = np.linalg.lstsq(scaled, wanted, rcond=None)[0]
    told = 1.0 - ((wanted - scaled @ weights) ** 2).sum(axis=0)
    found: dict[str, str] = {}
    for j in np.flatnonzero(told >= TOGETHER_EXACTLY).tolist():
        telling = [name for name, w in zip(map(str, X.columns), weights[:, j], strict=True) if abs(w) >= 0.02]
        named = [name for name in telling if not KNOWN & {*words_of(name)}] or telling
        if len(telling) > 1:
            found |= {
                name: f"gives, together with other columns, the outcome {str(Y.columns[j])!r} exactly" for name in named
            }
    return found


def _parts_of_outcomes(X: pd.DataFrame, Y: pd.DataFrame) -> dict[str, str]:
    """Return features that tell an outcome in pairs: parts that add up to it, or what was counted afterwards."""
    found: dict[str, str] = {}
    if X.shape[1] <= ADDED:
        names, columns = list(map(str, X.columns)), X.to_numpy(np.float64)
        for outcome in map(str, Y.columns):
            total = Y[outcome].to_numpy(np.float64)
            for i, j in combinations(range(len(names)), 2):
                if _same(total, columns[:, i] + columns[:, j]):
                    found[names[i]] = f"adds up with {names[j]!r} to the outcome {outcome!r}"
                    found[names[j]] = f"adds up with {names[i]!r} to the outcome {outcome!r}"
            for pair in _telling_pairs(columns, total):
                both = [names[i] for i in pair]
                for name in _known_later(both):
                    [other] = [one for one in both if one != name]
                    found.setdefault(name, f"gives, together with {other!r}, the outcome {outcome!r} exactly")
    return found


def _telling_pairs(columns: Floats, total: Floats) -> Iterator[tuple[int, int]]:
    """Yield pairs of columns of which the first is the outcome and the second added up, or multiplied.

    What was in stock is what was sold and what is left; what was earned is what was sold times the price.
    """
    some = np.unique(np.linspace(0, len(total) - 1, PEEKED).astype(np.int64))
    sample, part = columns[some], total[some]
    for combined in (np.add, np.multiply):
        # Most pairs are ruled out by some of the rows.
        apart = np.abs(sample[:, :, None] - combined(part[:, None, None], sample[:, None, :]))
        near = apart <= 1e-9 * np.nanmax(np.abs(sample), axis=0, initial=0.0)[:, None]
        likely = near.sum(axis=0) >= np.maximum(0.9 * np.isfinite(apart).sum(axis=0), 1)
        for i, j in np.argwhere(likely).tolist():
            # What is 0 in both columns tells nothing of the outcome.
            rows = (columns[:, i] != 0) | (columns[:, j] != 0)
            one, other, outcome = columns[rows, i], columns[rows, j], total[rows]
            if i != j and not _same(one, outcome) and _same(one, combined(outcome, other)):
                yield i, j


def _known_later(pair: Sequence[str]) -> list[str]:
    """Return which of two columns is only known afterwards, by their names; both where these do not tell.

    Examples
    --------
    >>> _known_later(["opening stock", "closing stock"]), _known_later(["income", "price"])
    (['closing stock'], ['income'])
    """
    later = [name for name in pair if AFTERWARDS & {*words_of(name)}]
    return later or [name for name in pair if not KNOWN & {*words_of(name)}] or list(pair)
