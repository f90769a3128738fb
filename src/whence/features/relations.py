"""Relations between features: written by the user, read off the history, and as an engine sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
import pandas as pd

from whence.checks import collected
from whence.errors import InputError, InputTypeError, parameter_error
from whence.features.columns import CategoryColumn, Column
from whence.features.kinds import Binary, Feature
from whence.features.number_column import NumberColumn, OrderedColumn
from whence.features.relation_text import (
    WORDS,
    Compared,
    InList,
    NotUnderstood,
    On,
    Parsed,
    Statement,
    parse,
    within_range,
)
from whence.features.relation_trees import (
    Among,
    Formula,
    Joined,
    Opposite,
    Relations,
    RelationTree,
    Within,
    conjuncts,
    tree_of,
)
from whence.util.aliases import Floats


@dataclass(frozen=True)
class Derived(Feature):
    """A feature that follows from another one: an explanation changes it together with that one, at no further cost.

    Parameters
    ----------
    from_ : str
        The feature that it follows from: a category, a discrete number, or something that is on or off.
    function : mapping or callable, optional
        Its value for every value of that feature. None takes what the history shows, which must be one value for each.
    change, weight
        Of no effect: it changes when the other feature does, and the distance counts only the other one.

    Examples
    --------
    >>> import pandas as pd
    >>> import whence as wh
    >>> X = pd.DataFrame({"day": ["Fri", "Sat", "Sun", "Mon"], "weekend": [False, True, True, False]})
    >>> follows = wh.Derived("day", {"Sat": True, "Sun": True, "Fri": False, "Mon": False})
    >>> schema = wh.Schema({"weekend": follows}).fit(X)
    >>> schema.broken({"day": "Sun", "weekend": False})
    ['weekend follows from day']
    """

    from_: str = ""
    function: Mapping[Any, Any] | Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.from_, str) or not self.from_:
            raise self._wrong("from_", "be the name of a feature", InputTypeError)
        if self.function is not None and not isinstance(self.function, Mapping) and not callable(self.function):
            raise self._wrong("function", "be a mapping, a function or None", InputTypeError)


def derived_pairs(
    name: str, feature: Derived, columns: Mapping[str, Column], values: Callable[[str], pd.Series]
) -> list[tuple[Any, Any]]:
    """Return every value of the feature that `name` follows from, and the value of `name` that belongs to it.

    `values` gives the history of a feature.
    """
    source = columns.get(feature.from_)
    if source is None or source.name == name:
        known = ", ".join(repr(other) for other in columns if other != name)
        raise parameter_error(repr(name), "from_", f"be one of the features {known}", repr(feature.from_))
    few = isinstance(source, CategoryColumn) or isinstance(source.feature, Binary) or bool(source.choices)
    if not few:
        raise InputError(
            f"The 'from_' parameter of {name!r} must be a category, a discrete number of few values, or something that "
            f"is on or off. Got {feature.from_!r}, which is {type(source.feature).__name__.lower()}.",
            parameter="from_",
        )
    if feature.function is None:
        return _shown(name, feature.from_, values)
    return [(value, _value(name, feature, value)) for value in source.choices]


def _value(name: str, feature: Derived, value: Hashable) -> Any:
    if not isinstance(feature.function, Mapping):
        assert feature.function is not None
        return feature.function(value)
    for key, found in feature.function.items():
        if key == value or str(key) == str(value):
            return found
    raise InputError(
        f"The 'function' of {name!r} must have an entry for every value of {feature.from_!r}. {value!r} is missing.",
        parameter="function",
    )


def _shown(name: str, source: str, values: Callable[[str], pd.Series]) -> list[tuple[Any, Any]]:
    """Return what the history shows."""
    given, follows = values(source).tolist(), values(name).tolist()
    found: dict[Any, Any] = {}
    for value, other in zip(given, follows, strict=True):
        if found.setdefault(value, other) != other:
            raise InputError(
                f"The 'function' of {name!r} must be given: the history shows {found[value]!r} and {other!r} where "
                f"{source!r} is {value!r}.",
                parameter="function",
            )
    return list(found.items())


#: How far the ends of an interval keep away from levels, so that no rounding can put a level on the wrong side.
CLEAR = 1e-6
_OBSERVED = re.compile(r"\s*observed\((.+)\)\s*")


@dataclass(frozen=True)
class Observed:
    """What the history shows of one feature for every value of others (see :func:`observed`)."""

    by: tuple[str, ...]
    of: str

    def __str__(self) -> str:
        return f"observed({', '.join((*self.by, self.of))})"


def observed(by: str | Sequence[str], of: str) -> Observed:
    """Return the relation that the history shows: for every value of `by`, only what was seen of `of` together with it.

    Parameters
    ----------
    by : str or sequence of str
        A category, a discrete number or something that is on or off, such as the month; or several of them, such as
        the weekday and whether it is a holiday. Values of them that were never seen together say nothing of `of`.
    of : str
        Any feature: of a number, the range that was seen, such as that of the temperature in July; of a category, the
        categories that were seen.

    Examples
    --------
    >>> import pandas as pd
    >>> import whence as wh
    >>> X = pd.DataFrame({"month": ["Jan", "Jan", "Jul", "Jul"], "temperature": [-4.0, 6.0, 18.0, 35.0]})
    >>> schema = wh.Schema(relations=[wh.observed("month", "temperature")]).fit(X)
    >>> schema.broken({"month": "Jul", "temperature": -5.0})
    ['observed(month, temperature)']
    """
    return Observed((by,) if isinstance(by, str) else tuple(map(str, by)), str(of))


def relation_texts(relations: Any) -> tuple[str, ...]:
    """Return relations as texts; whatever is none is refused."""
    found = (relations,) if isinstance(relations, str | Observed) else collected(relations)
    if found is None or isinstance(relations, Mapping | pd.DataFrame):
        raise _refused(relations)
    for one in found:
        if not isinstance(one, str | Observed):
            raise _refused(one)
    return tuple(map(str, found))


def _refused(given: Any) -> InputError:
    return InputError(
        "'relations' must be a list of texts such as 'dew_point <= temperature', or observed(...). "
        f"Got {given!r} instead."
    )


def bound_relations(
    texts: Sequence[str],
    columns: Mapping[str, Column],
    table: pd.DataFrame,
    coordinates: int,
    derived: Mapping[str, Derived] | None = None,
) -> Relations:
    """Return relations between the features of a fitted schema, as an engine sees them; `table` is the history."""
    binder = _Binder(columns, table, coordinates)
    for name, feature in (derived or {}).items():
        binder.add_derived(name, feature)
    for text in texts:
        try:
            binder.add(text)
        except NotUnderstood as error:
            raise InputError(f"The relation {text!r} must {error}.", parameter="relations") from None
        except OverflowError:
            raise InputError(
                f"The relation {text!r} must be simpler: write it as several.", parameter="relations"
            ) from None
    return binder.relations()


def check_complete(relations: Relations, columns: Mapping[str, Column], table: pd.DataFrame) -> None:
    """Refuse relations about numbers that are missing in some rows of the history."""
    related = relations.coordinates
    for name, column in columns.items():
        own = range(column.at.start, column.at.stop)
        if related.intersection(own) and table[list(column.columns)].isna().any(axis=None):
            raise InputError(
                "'relations' must be about features that are nowhere missing in the history. "
                f"Got one about {name!r}, which is."
            )


class _Binder:
    """Collects trees and rows."""

    def __init__(self, columns: Mapping[str, Column], table: pd.DataFrame, coordinates: int) -> None:
        self.columns, self.table, self.coordinates = columns, table, coordinates
        self.trees: list[RelationTree] = []
        self.rows: list[Floats] = []
        self.limits: list[float] = []
        self.texts: list[str] = []
        self.statements: list[Statement] = []

    def relations(self) -> Relations:
        rows = np.array(self.rows).reshape(-1, self.coordinates)
        said = tuple(self.statements)
        return Relations(tuple(self.trees), rows, np.array(self.limits), tuple(self.texts), said)

    def add(self, text: str) -> None:
        """Add the relation that is written so."""
        seen = _OBSERVED.fullmatch(text)
        if seen is not None:
            *by, of = self._names(seen.group(1))
            self._add_formulas(self._seen_together(by, of, text), text)
            return
        parsed = parse(text, list(self.columns))
        self._add_parsed(parsed, text)
        self.statements.append(Statement(parsed, text))

    def add_derived(self, name: str, feature: Derived) -> None:
        """Let a feature follow from another one."""
        text = f"{name} follows from {feature.from_}"
        for value, follows in derived_pairs(name, feature, self.columns, self._values):
            try:
                pair = Joined("or", Opposite(self._equal(feature.from_, value)), self._equal(name, follows))
            except NotUnderstood as error:
                raise InputError(f"The 'function' of {name!r} must {error}.", parameter="function") from None
            self._add_formulas([pair], text)
            told = Joined("=>", InList(feature.from_, (str(value),)), InList(name, (str(follows),)))
            self.statements.append(Statement(told, text))

    def _names(self, inside: str) -> list[str]:
        """Return the features of observed(...), whose names may hold commas."""
        found = _split(inside.split(","), self.columns)
        if found is None or len(found) < 2:
            raise NotUnderstood(f"name two of the features {', '.join(map(repr, self.columns))}, or more")
        return found

    def _add_parsed(self, parsed: Parsed, text: str) -> None:
        if isinstance(parsed, Joined) and parsed.how == "and":
            self._add_parsed(parsed.first, text)
            self._add_parsed(parsed.second, text)
        elif isinstance(parsed, Compared) and len(_difference(parsed)[0]) != 1:
            self._add_rows(parsed, text)
        else:
            self._add_formulas([self._formula(parsed)], text)

    def _add_formulas(self, formulas: Iterable[Formula], text: str) -> None:
        for formula in formulas:
            self.trees += [tree_of(part, text) for part in conjuncts(formula)]

    # ---- linear rows ---------------------------------------------------------------------------

    def _add_rows(self, compared: Compared, text: str) -> None:
        terms, constant = _difference(compared)
        if not terms:
            raise NotUnderstood("name a feature")
        if compared.sign not in ("<=", ">=", "=="):
            raise NotUnderstood(f"compare features with '<=', '>=' or '==', not with {compared.sign!r}")
        for sign in {"<=": (1.0,), ">=": (-1.0,), "==": (1.0, -1.0)}[compared.sign]:
            row, limit = np.zeros(self.coordinates), -sign * constant
            for name, factor in terms.items():
                column = self._number(name)
                row[column.at.start] = sign * factor * column.scale
                limit -= sign * factor * column.offset
            size = float(np.abs(row).max())
            self.rows.append(row / size)
            self.limits.append(limit / size)
            self.texts.append(text)

    def _number(self, name: str) -> NumberColumn:
        column = self.columns[name]
        if not isinstance(column, NumberColumn) or isinstance(column, OrderedColumn):
            raise NotUnderstood(f"compare numbers, and {name!r} is a category")
        return column

    # ---- statements about single features --------------------------------------------------------

    def _formula(self, parsed: Parsed) -> Formula:
        if isinstance(parsed, Compared):
            return self._interval(parsed)
        if isinstance(parsed, InList):
            return _any([self._equal(parsed.feature, value) for value in parsed.values])
        if isinstance(parsed, On):
            column = self.columns[parsed.feature]
            if not isinstance(column.feature, Binary):
                raise NotUnderstood(f"say what {parsed.feature!r} is: only a feature that is on or off can stand alone")
            return _within(column, 1.0, 1.0)
        if isinstance(parsed, Opposite):
            return Opposite(self._formula(parsed.of))
        return Joined(parsed.how, self._formula(parsed.first), self._formula(parsed.second)).plain()

    def _interval(self, compared: Compared) -> Formula:
        terms, constant = _difference(compared)
        if len(terms) != 1:
            raise NotUnderstood("compare several features only on its own, or joined by 'and'")
        ((name, factor),) = terms.items()
        column, sign = self._number(name), compared.sign
        if factor == 0.0:
            raise NotUnderstood("name a feature")
        raw = -constant / factor
        end = column.coordinate(raw)
        if factor < 0.0:
            sign = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}.get(sign, sign)
        # What is strictly less is what is not at least as much.
        asked: dict[str, Formula] = {
            "<=": _within(column, -np.inf, end),
            ">=": _within(column, end, np.inf),
            "<": Opposite(_within(column, end, np.inf)),
            ">": Opposite(_within(column, -np.inf, end)),
            "==": _within(column, end, end),
            "!=": Opposite(_within(column, end, end)),
        }
        return asked[sign]

    def _equal(self, name: str, said: Any) -> Formula:
        """Say that a feature has a value, given as it is or as it is written."""
        column = self.columns[name]
        if isinstance(column, CategoryColumn):
            for i, level in enumerate(column.categories):
                if level == said or str(level) == str(said):
                    return Among((column.at.start + i,))
            known = ", ".join(map(str, column.categories))
            raise NotUnderstood(f"name a value of {name!r} ({known}), not {said!r}")
        if isinstance(column, OrderedColumn):
            place = column.position(said)
            if place is None:
                known = ", ".join(map(str, column.labels))
                raise NotUnderstood(f"name a value of {name!r} ({known}), not {said!r}")
            return _within(column, column.coordinate(place), column.coordinate(place))
        word = str(said).lower()
        try:
            raw = WORDS[word] if word in WORDS else float(said)
        except ValueError:
            raise NotUnderstood(f"name a value of {name!r}, which is a number, not {said!r}") from None
        assert isinstance(column, NumberColumn)
        return _within(column, column.coordinate(raw), column.coordinate(raw))

    # ---- the history -----------------------------------------------------------------------------

    def _seen_together(self, by: Sequence[str], of: str, text: str) -> list[Formula]:
        """Return, for every value of some features, what was seen of another one."""
        for name in by:
            if not isinstance(self.columns[name], CategoryColumn) and not self.columns[name].choices:
                raise NotUnderstood(f"begin with a category or a discrete number: {name!r} has too many values")
        values, other = [self._values(name) for name in by], self._values(of)
        target = self.columns[of]
        named = isinstance(target, CategoryColumn | OrderedColumn) or isinstance(target.feature, Binary)
        found: list[Formula] = []
        for together in dict.fromkeys(zip(*values, strict=True)):
            if any(map(pd.isna, together)):
                continue
            rows = [(own == value).to_numpy() for own, value in zip(values, together, strict=True)]
            seen = other[np.logical_and.reduce(rows)]
            told: Parsed
            if named:
                then: Formula = _any([self._equal(of, v) for v in pd.unique(seen)])
                told = InList(of, tuple(map(str, pd.unique(seen))))
            else:
                assert isinstance(target, NumberColumn)
                ends = target.coordinate(float(seen.min())), target.coordinate(float(seen.max()))
                then = _within(target, *ends)
                told = within_range(of, float(seen.min()), float(seen.max()))
            given = list(zip(by, together, strict=True))
            first: list[Parsed] = [InList(name, (str(value),)) for name, value in given]
            self.statements.append(Statement(Joined("=>", reduce(partial(Joined, "and"), first), told), text))
            known = [self._equal(name, value) for name, value in given]
            found.append(Joined("or", Opposite(reduce(partial(Joined, "and"), known)), then))
        return found

    def _values(self, name: str) -> pd.Series:
        """Return the values of a feature in the history, a category by its name."""
        column = self.columns[name]
        if name in self.table.columns and len(column.columns) == 1:
            return self.table[name]
        rows = self.table[list(column.columns)].to_dict("records")
        return pd.Series([column.value({str(k): v for k, v in row.items()}) for row in rows])


def _split(pieces: Sequence[str], known: Container[str]) -> list[str] | None:
    """Return what was split at commas as names that are known; None where it is something else."""
    if not pieces:
        return []
    for size in range(1, len(pieces) + 1):
        name = ",".join(pieces[:size]).strip().strip("'\"")
        rest = _split(pieces[size:], known) if name in known else None
        if rest is not None:
            return [name, *rest]
    return None


def _within(column: Column, low: float, high: float) -> Within:
    """Say that a number lies in an interval of coordinates; if it has levels, the ends keep clear of them."""
    room = 0.0
    levels = column.levels if isinstance(column, NumberColumn) else None
    if levels is not None and float(np.diff(levels).min(initial=np.inf)) / column.scale > 4 * CLEAR:
        room = CLEAR
    return Within(column.at.start, float(low - room), float(high + room))


def _difference(compared: Compared) -> tuple[dict[str, float], float]:
    """Left less right: what every feature counts, and the constant."""
    terms: dict[str, float] = {}
    for side, sign in ((compared.left, 1.0), (compared.right, -1.0)):
        for name, factor in side.terms:
            terms[name] = terms.get(name, 0.0) + sign * factor
    left = {name: factor for name, factor in terms.items() if factor != 0.0}
    return left, compared.left.constant - compared.right.constant


def _any(formulas: Sequence[Formula]) -> Formula:
    """Say that at least one of them holds."""
    among = [one for one in formulas if isinstance(one, Among)]
    if len(among) == len(formulas):
        return Among(tuple(dict.fromkeys(j for one in among for j in one.coordinates)))
    return reduce(partial(Joined, "or"), formulas)
