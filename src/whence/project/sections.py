"""The sections [weights], [risk] and [explain], and [features]: from what is declared about a column to a feature."""

from __future__ import annotations

import inspect
import json
import math
import re
import shutil
import tomllib
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from whence.checks import Rule, one_of, share, whole
from whence.errors import InputError, WhenceError
from whence.explain.ask import COUNT, EITHER, OPTIONS, TEXTS
from whence.explain.ask import FINITE as POSITIVE
from whence.explain.robust import HOLDS, why_not_judged
from whence.features import Cyclic, Date, Derived, Ordered, Schema
from whence.features.dates import as_day
from whence.features.inference import MANY_CATEGORIES, recorded_step
from whence.features.kinds import Binary, Categorical, Continuous, Discrete, Feature
from whence.features.number_column import sorted_categories
from whence.policy import Policy
from whence.project.csv_files import (
    DROP,
    MISSING,
    CsvTable,
    binary_column,
    content,
    date_column,
    listed,
    number_column,
    text_column,
)
from whence.project.findings import NUMBER, NUMBERS, SEED, TEXT, YES_OR_NO, Findings, Section, is_number, list_of
from whence.risk import CVaR, Expectation, Risk
from whence.util.aliases import Kind
from whence.util.files import complete, read_file
from whence.util.frames import written_number
from whence.util.text import nearest
from whence.weights import DecisionForest, ForecastWeights, ForestWeights, KernelWeights, KNNWeights, Weights
from whence.weights.metrics import METRICS, SHARES
from whence.weights.neighbours import KERNELS

DEPTH = Rule(
    "a whole number of at least 1, or 'none'", lambda value: value == "none" or (COUNT.fits(value) and value < 10_000)
)
SHARE = Rule(
    "'sqrt', 'log2', a whole number of features or a share of them in (0, 1]",
    lambda value: value in ("sqrt", "log2") or COUNT.fits(value) or (is_number(value) and 0 < value <= 1),
)
METRIC = one_of(*METRICS)
GAP = share("()", "a number above 0 and below 1")

Made = TypeVar("Made")


def _as_in(make: type[Made], **rules: Rule) -> tuple[type[Made], dict[str, tuple[Rule, Any]]]:
    """Return keys with their rules, and the defaults that they have in Python; None for those that have none there.

    The seed is 0 by default, so that the same project makes the same decisions every time.
    """
    known = inspect.signature(make).parameters.values()
    own = {one.name: one.default for one in known if one.default is not one.empty}
    return make, {key: (rule, 0 if rule is SEED else own.get(key)) for key, rule in rules.items()}


TREES = {"n_trees": COUNT, "max_depth": DEPTH, "max_features": SHARE, "random_state": SEED, "min_samples_leaf": COUNT}
SPACE = {"metric": METRIC, "scaled": YES_OR_NO}
#: The kinds of weights, and the keys of each with their defaults.
WEIGHTS: Mapping[str, tuple[type[Weights], Mapping[str, tuple[Rule, Any]]]] = {
    "forest": _as_in(ForestWeights, **TREES),
    "decision_forest": _as_in(DecisionForest, **TREES, honest=YES_OR_NO, plans=COUNT),
    "knn": _as_in(KNNWeights, k=COUNT, **SPACE, weights=one_of(*SHARES), gap=GAP),
    "kernel": _as_in(KernelWeights, bandwidth=POSITIVE, kernel=one_of(*KERNELS), **SPACE, gap=GAP),
    "forecast": (
        ForecastWeights,
        {
            "model": (one_of("forest", "boosted", "linear"), "forest"),
            "residuals": (one_of("none", "oob", "cross", "in-sample"), None),
            "cv": (whole(2, wanted="a whole number of 2 or more"), 5),
        },
    ),
}
#: Keys that a file need not name: left out where they are as by default.
UNSAID = ("metric", "scaled", "weights", "gap")


#: The share of the best plan's cost that counts as none where plans are quantities.
NEAR = 0.01


class ExplainDefaults:
    """How questions are asked unless a call says otherwise: what a project `said`, by the names of `ask.OPTIONS`.

    `instead` is what is asked about where no plan is given, as the command line takes it; None for any plan. In a
    project, ``holds=False`` asks for the nearest explanation alone.
    """

    def __init__(self, instead: str | None = None, **said: Any) -> None:
        self.instead, self.said = instead, said

    def within(self, kind: Kind, policy: Policy) -> float:
        """Return by which share more than the best a plan may cost where a question does not say.

        The project's share, or 1 % where plans are quantities: nobody means exactly the best one of a continuum.
        """
        if kind != "absolute" or "within" in self.said:
            return float(self["within"]) if kind == "absolute" else 0.0
        return NEAR if policy.problem.continuous else 0.0

    def __getitem__(self, name: str) -> Any:
        """Return the value of an option: the project's, or the usual one."""
        return self.said.get(name, OPTIONS[name].default)

    def options(self, **given: Any) -> dict[str, Any]:
        """Return arguments of `Policy.explain`: these defaults, and over them what is given and not None.

        Of two options that exclude each other, what is given takes the place of the project's. ``holds=False`` asks
        for neither.
        """
        found = {name: self[name] for name, one in OPTIONS.items() if one.in_file is not None}
        found |= {name: value for name, value in given.items() if value is not None}
        # The project's share belongs to its absolute questions; one that is given is judged by `explain`.
        if given.get("within") is None and found["kind"] != "absolute":
            found["within"] = OPTIONS["within"].default
        for one, other in (EITHER, EITHER[::-1]):
            if given.get(one) is not None and given.get(other) is None:
                found[other] = OPTIONS[other].default
        if found["holds"] is False:
            found["holds"] = None
        if found["time_limit"] == math.inf:
            found["time_limit"] = None
        return found

    def unknown(self, policy: Policy) -> str:
        """Return why it cannot be found out how far to rely on an answer, in a sentence; empty where it can."""
        return why_not_judged(policy, self["engine"], self["refits"])

    def share(self, policy: Policy) -> float | None:
        """Return the share of true answers to ask for where nobody says: what the project says, or the usual one.

        None where it asks for none, or where the share cannot be found out.
        """
        return None if self.unknown(policy) else self.wanted

    @property
    def is_open(self) -> bool:
        """Whether the project names nothing that takes the place of `holds`."""
        return not any(self[name] for name in EITHER[1:])

    @property
    def wanted(self) -> float | None:
        """The share of true answers to ask for where it can be found out; None where the project asks for none."""
        return float(self["holds"] or HOLDS) if self.is_open and self["holds"] is not False else None


def read_weights(weights: Section) -> Weights:
    """Return the weights, a forest by default."""
    kind = weights.take("kind", one_of(*WEIGHTS), "forest")
    make, keys = WEIGHTS[kind]
    if weights.table.get("kind", kind) != kind:
        # Which of the other keys belong here is not known.
        return make()
    made = make(**{key: None if value == "none" else value for key, value in weights.take_all(keys).items()})
    weights.close()
    return made


def read_risk(risk: Section) -> Risk:
    """Return the risk, the expected cost by default."""
    kind = risk.take("kind", one_of("expectation", "cvar"), "expectation")
    alpha = risk.need("alpha", share("[)")) if kind == "cvar" else None
    risk.close()
    return Expectation() if alpha is None else CVaR(float(alpha))


def read_explain_defaults(explain: Section, features: Collection[str]) -> ExplainDefaults:
    """Return how questions are asked by default."""
    taken = {name: explain.take(name, one.in_file) for name, one in OPTIONS.items() if one.in_file is not None}
    said = {name: OPTIONS[name].read(value) for name, value in taken.items() if value is not None}
    for name in said.get("fixed", ()):
        if features and name not in features:
            explain.error("fixed", f"names {name!r}, which is not a feature.{nearest(name, features)}")
    if all(said.get(name) for name in EITHER):
        share, other = EITHER
        explain.error(other, f"must not be given with {share!r}, which looks for the {other} by itself.")
    made = ExplainDefaults(explain.take("instead", TEXT), **said)
    explain.close()
    return made


#: How the lines begin that an earlier choice has left, and that a later one replaces.
MARK = "# tuned: "
_TABLE = re.compile(r"^[ \t]*\[\[?[^\[\]]")
_WEIGHTS = re.compile(r"""^[ \t]*\[[ \t]*(?:weights|"weights"|'weights')[ \t]*\][ \t]*(?:#.*)?$""")
_LINE = re.compile(
    r"""^(?P<key>[ \t]*[A-Za-z_]+[ \t]*=[ \t]*)(?P<value>"[^"\\]*"|'[^']*'|[^#"'\[{]*?)(?P<rest>[ \t]*(?:#.*)?)$"""
)


def settings_of(weights: Weights) -> dict[str, Any]:
    """Return the table [weights] that stands for `weights`.

    Examples
    --------
    >>> from whence.weights import KNNWeights
    >>> settings_of(KNNWeights(k=20))
    {'kind': 'knn', 'k': 20}
    """
    kind = next(name for name, (made, _) in WEIGHTS.items() if type(weights) is made)
    given = weights.get_params(deep=False)
    keys = WEIGHTS[kind][1]
    said = [key for key, (_, default) in keys.items() if key not in UNSAID or given[key] != default]
    values = {key: "none" if given[key] is None else given[key] for key in said}
    return {"kind": kind, **values}


def with_weights(text: str, settings: Mapping[str, Any], evidence: Sequence[str]) -> str:
    """Return the text of a project file with these weights, and the evidence as comments beside them.

    Raises an InputError where the file is written in a way that cannot be changed safely: then nothing is.

    Examples
    --------
    >>> print(with_weights("[weights]\\nkind = 'knn'\\nk = 10   # neighbours\\n", {"kind": "knn", "k": 20}, ["better"]))
    [weights]
    # tuned: better
    kind = "knn"
    k = 20   # neighbours
    <BLANKLINE>
    """
    before = tomllib.loads(text)
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [number for number, line in enumerate(lines) if _WEIGHTS.match(line)]
    remarks = [MARK + " ".join(line.split()) for line in evidence]
    if starts:
        first = starts[0] + 1
        last = next((n for n in range(first, len(lines)) if _TABLE.match(lines[n])), len(lines))
        lines[first:last] = _section(lines[first:last], settings, remarks)
    else:
        while lines and not lines[-1].strip():
            lines.pop()
        lines += ["", "[weights]", *remarks, *(f"{key} = {_written(value)}" for key, value in settings.items()), ""]
    changed = end.join(lines)
    try:
        after = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        after = {}
    if after != {**before, "weights": dict(settings)}:
        keys = ", ".join(f"{key} = {_written(value)}" for key, value in settings.items())
        raise InputError(
            "The table [weights] of the project file is written in a way that cannot be changed without touching "
            f"anything else; write it yourself: {keys}."
        )
    return changed


def _section(lines: list[str], settings: Mapping[str, Any], remarks: list[str]) -> list[str]:
    """Return the lines of the table with the new values; keys that other weights had are left out."""
    kept: list[str] = []
    left = dict(settings)
    after = 0
    for line in lines:
        if line.startswith(MARK):
            continue
        found = None if line.lstrip().startswith("#") else _LINE.match(line)
        if found is None:
            kept.append(line)
            continue
        key = found["key"].partition("=")[0].strip()
        if key in left:
            kept.append(f"{found['key']}{_written(left.pop(key))}{found['rest']}")
            after = len(kept)
    kept[after:after] = [f"{key} = {_written(value)}" for key, value in left.items()]
    return [*remarks, *kept]


def _written(value: Any) -> str:
    """Return a value as TOML writes it: as JSON does, for texts and numbers."""
    return json.dumps(value.item() if hasattr(value, "item") else value)


def write_weights(path: Path, weights: Weights, evidence: Sequence[str]) -> None:
    """Write `weights` into the project file at `path`, complete or not at all; a link is followed."""
    target = path.resolve()
    raw = read_file(target)
    mark = "\ufeff" if raw.startswith(b"\xef\xbb\xbf") else ""
    text = with_weights(raw.decode("utf-8-sig"), settings_of(weights), evidence)
    with complete(target) as partial:
        partial.write_bytes((mark + text).encode("utf-8"))
        shutil.copymode(target, partial)


NAMES = list_of("a list of texts or numbers", lambda value: isinstance(value, str | int | float))
UNIT_OF_CHANGE = Rule(
    "'range', 'iqr' or a positive number",
    lambda value: value in ("range", "iqr") if isinstance(value, str) else POSITIVE.fits(value),
)
STEP = Rule("a positive number or 'none'", lambda value: value == "none" or POSITIVE.fits(value))
DAY = Rule("a date, such as 2025-06-14", lambda value: as_day(value) is not None)
DAYS = list_of("a list of dates, such as 2025-06-14", DAY.fits)
#: What numbers say about how much a change counts.
CHANGES = {"scale": UNIT_OF_CHANGE, "least_change": POSITIVE}

#: The types of features, and the keys of each with their defaults besides those that all have.
KINDS: Mapping[str, tuple[type[Feature], Mapping[str, tuple[Rule, Any]]]] = {
    "continuous": _as_in(Continuous, low=NUMBER, high=NUMBER, unit=TEXT, step=STEP, **CHANGES),
    "discrete": _as_in(Discrete, values=NUMBERS, step=COUNT, unit=TEXT, **CHANGES),
    "categorical": _as_in(Categorical, ordered=YES_OR_NO),
    "ordered": _as_in(Ordered),
    "cyclic": _as_in(Cyclic, period=POSITIVE, low=NUMBER, step=STEP, unit=TEXT, scale=POSITIVE),
    "binary": _as_in(Binary),
    "date": _as_in(Date, column=TEXT, parts=TEXTS, holidays=DAYS, low=DAY, high=DAY),
    "derived": (Derived, {"from": (TEXT, "")}),
}
TYPE = one_of(*KINDS)


@dataclass(frozen=True)
class Declared:
    """What [features.NAME] says, before the data has been looked at."""

    section: Section
    type: str | None
    columns: list[str] | None
    categories: list[str] | None

    @property
    def names(self) -> list[str]:
        """The columns that hold this feature."""
        column = self.section.table.get("column") if self.type == "date" else None
        return self.columns or [column if isinstance(column, str) else self.section.keys[-1]]


def read_declared(features: Section) -> dict[str, Declared]:
    """Return the declared features by name."""
    declared = {}
    for name in features.table:
        section = features.table_of(name)
        kind = section.take("type", TYPE)
        columns = section.take("columns", TEXTS) if kind == "categorical" else None
        categories = section.take("categories", NAMES) if kind in ("categorical", "ordered") else None
        declared[name] = Declared(section, kind, columns, None if categories is None else list(map(str, categories)))
    return declared


def typed_column(table: CsvTable, name: str, declared: Mapping[str, Declared], found: Findings) -> pd.Series | None:
    """Return a column of contexts as its declared or apparent type; None where it cannot be a feature.

    `declared` is what is said of each column, by the column's name.
    """
    owner = declared.get(name)
    if owner is None or owner.type in (None, "derived"):
        return _apparent(table, name, found)
    if owner.columns is not None or owner.type == "binary":
        return binary_column(table, name, found)
    if owner.type == "date":
        return date_column(table, name, found)
    if owner.type in ("categorical", "ordered"):
        return _categories(table, name, owner, found)
    return number_column(table, name, found, DROP)


def _apparent(table: CsvTable, name: str, found: Findings) -> pd.Series | None:
    holds = content(table, name)
    where = table.column(name)
    if holds == "empty":
        found.error(where, f"holds no value; leave it out with [data] ignore = [{name!r}].")
        return None
    if holds == "date":
        found.error(
            where,
            f"holds dates or times of day. Declare dates by type = 'date' in [features.{name}] with the parts that "
            "matter (weekday, month), put times of day in columns of their own (hour), name the rows after it with "
            f"[data] index = {name!r}, or leave it out with [data] ignore = [{name!r}].",
        )
        return None
    if holds in ("whole", "number"):
        return number_column(table, name, found, DROP)
    if holds == "yes and no":
        return binary_column(table, name, found)
    example = written_number(cell for cell in set(table.cells[name].tolist()) if cell.lower() not in MISSING)
    if example is not None:
        found.error(
            where,
            f"holds numbers with separators, percent or currency signs, such as {example!r}. Write them with digits "
            "and one decimal sign (which [data] decimal = ',' names, where it is not the point), or declare them as "
            f"they are by type = 'categorical' in [features.{name}].",
        )
        return None
    values = text_column(table, name, found)
    distinct = values.nunique()
    if distinct > MANY_CATEGORIES and distinct > 0.5 * len(values):
        found.warning(
            where,
            f"holds {distinct} different texts in {len(values)} rows; is it really a category? "
            f"Leave it out with [data] ignore = [{name!r}] otherwise.",
        )
    return values


def _categories(table: CsvTable, name: str, declared: Declared, found: Findings) -> pd.Series:
    values = text_column(table, name, found)
    if declared.categories is not None:
        unknown = np.flatnonzero(~values.isin(declared.categories) & (values != ""))
        listed(found, table, name, unknown, "must be one of the declared categories. Got {} instead.")
    return values


def built_features(declared: Mapping[str, Declared], X: pd.DataFrame | None, found: Findings) -> dict[str, Feature]:
    """Return the declared features, with their type taken from the data where it is not declared."""
    features = {}
    for name, one in declared.items():
        kind = one.type or _inferred(name, X)
        if kind is None:
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            feature = _built(one, kind, None if X is None else X.get(name))
        for warning in said:
            found.warning(one.section.at(), str(warning.message))
        one.section.close()
        if feature is not None:
            features[name] = feature
    if X is None:
        return features
    columns = set(X.columns)
    there = {name: feature for name, feature in features.items() if columns.issuperset(declared[name].names)}
    parts = dict.fromkeys(column for name in there for column in declared[name].names)
    # The schema has the last word. Only where it does not take all features at once are they tried one by one.
    whole = X.dropna()
    if there and len(whole) and _refusal(there, whole[list(parts)]) is not None:
        for name, feature in there.items():
            others = [feature.from_] if isinstance(feature, Derived) and feature.from_ in X.columns else []
            error = _refusal({name: feature}, whole[[*declared[name].names, *others]])
            if error is not None and not known_fault(declared[name], found):
                found.error(declared[name].section.at(), str(error))
    # Columns of text of which nothing is declared: what is doubtful about them has become a finding already.
    owned = {column for one in declared.values() for column in one.names}
    for name in X.columns:
        known = pd.api.types.is_numeric_dtype(X[name].dtype) or pd.api.types.is_datetime64_any_dtype(X[name].dtype)
        if name not in owned and name not in features and not known:
            features[name] = Categorical(sorted_categories(name, X[name]))
    return features


def known_fault(declared: Declared, found: Findings) -> bool:
    """Whether something is wrong already with what is declared of a feature, or with the cells of its columns."""
    if not found.errors:
        return False
    at = declared.section.at().part
    columns = {f"column {name!r}" for name in declared.names}
    parts = [error.where.part for error in found.errors]
    return any(part == at or part in columns or part.startswith(f"{at}.") for part in parts)


def _refusal(features: Mapping[str, Feature], X: pd.DataFrame) -> WhenceError | None:
    try:
        Schema(features).fit(X)
    except WhenceError as error:
        return error
    return None


def _inferred(name: str, X: pd.DataFrame | None) -> str | None:
    if X is None or name not in X.columns:
        return None
    try:
        return type(Schema.infer(X[[name]]).kind(name)).__name__.lower()
    except WhenceError:
        return None


def _built(declared: Declared, kind: str, values: pd.Series | None) -> Feature | None:
    """The feature as it is declared; numbers without a `step` keep to the one in which their `values` are recorded."""
    section, (make, keys) = declared.section, KINDS[kind]
    ordered = kind not in ("categorical", "cyclic") or section.table.get("ordered") is True
    ways = one_of("free", "fixed", *(("increase", "decrease") if ordered else ()))
    options = section.take_all({"change": (ways, "free"), "weight": (POSITIVE, 1.0), **keys})
    if kind in ("continuous", "cyclic"):
        undecided = values is not None and pd.api.types.is_numeric_dtype(values.dtype) and options["step"] is None
        recorded = recorded_step(values) if undecided else None  # type: ignore[arg-type]
        options["step"] = recorded if options["step"] in (None, "none") else options["step"]
    if kind == "categorical":
        options |= {"columns": declared.columns, "categories": declared.categories}
    if kind == "ordered":
        options["categories"] = declared.categories
    if kind == "derived":
        options["from_"] = options.pop("from")
    try:
        return make(**options)
    except WhenceError as error:
        section.error(None, str(error))
        return None
