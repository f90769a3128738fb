"""Whatever a file or a text holds, the answer is a result or a sentence, never another exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from tests.blocks import examples
from tests.project.samples import PROJECT, csv_text, days, write_city, write_project

from whence.errors import InputError
from whence.project import Project, findings
from whence.project.batches import read_questions
from whence.project.starter import starter
from whence.project.typed_questions import read_bounds

FUZZ = examples(15, 40, suppress_health_check=[HealthCheck.function_scoped_fixture])

WORDS = [
    "temp",
    "rain",
    "day",
    "events",
    "rolls",
    "cakes",
    "row:",
    "context:",
    "=",
    ",",
    " ",
    ">",
    "1",
    "3.5",
    "-",
    "nan",
]
#: Texts that are nearly right, and texts that are not.
TEXTS = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*WORDS[:6], "x"]), inner, max_size=4),
    max_leaves=8,
)
#: Contexts with a value for every feature, most of them good ones.
CONTEXTS = st.fixed_dictionaries(
    {
        "temp": st.floats(-5, 25) | st.sampled_from(["3,5", "7.5", "warm"]),
        "rain": st.sampled_from(["yes", "no", True, 0, "perhaps"]),
        "day": st.sampled_from(["Monday", "Tuesday", "monday", "Sunday"]),
        "events": st.integers(-1, 4),
    }
)
#: Values of TOML, a line each.
VALUES = '''1
-1
0
1e999
nan
true
""
"days.csv"
"temp"
[]
[1, 2]
["temp"]
{}
{ a = 1 }
2024-01-01
"none"
[[1, 2], [3, 4]]
[[1], [2, 3]]
999999999999999999999999999999
"sqrt"
["", ""]
[0, 1]
","
"home"'''
TOML_VALUES = st.sampled_from(VALUES.splitlines())
KEYS = ["low", "high", "values", "categories", "columns", "weight", "change", "n_trees", "max_depth", "k", "grid"]
KEYS += ["index", "ignore", "missing", "network", "A_ub", "bounds", "distances", "separator", "decimal", "encoding"]
LINES = PROJECT.splitlines()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project of the days."""
    return Project.load(write_project(tmp_path_factory.mktemp("days")))


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project of the four streets."""
    return Project.load(write_city(tmp_path_factory.mktemp("city")))


def sentence_or(call: Any, *arguments: Any) -> Any:
    """The result of a call, or its error, which must be one of whence's own and say something."""
    try:
        return call(*arguments)
    except InputError as error:
        found = error
    assert str(found).strip()
    return found


def assert_findings_agree(path: Path) -> None:
    """Loading a project and looking for findings agree on whether it can be used, and every error has a place."""
    errors = [finding for finding in findings(path) if finding.severity == "error"]
    loaded = sentence_or(Project.load, path)
    assert isinstance(loaded, Project) == (not errors)
    assert all(finding.where.strip() and finding.text.strip() for finding in errors)


@FUZZ
@given(text=st.one_of(st.text(max_size=200), st.binary(max_size=200)))
@example(text="[" * 3000)
@example(text="a = " + "[" * 3000)
@example(text="a = " + "9" * 5000)
@example(text=b"\xff\xfe")
@example(text="\ufeff[data]")
def test_any_project_file(tmp_path: Path, text: str | bytes) -> None:
    """A file of any content is no reason for an exception."""
    path = tmp_path / "whence.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    assert_findings_agree(path)


@FUZZ
@given(data=st.data())
def test_a_project_file_with_other_values(tmp_path: Path, data: st.DataObject) -> None:
    """A key of a good project file gets another value, or a line is lost or doubled."""
    lines = list(LINES)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["value", "key", "drop", "double"]))
        key, equals, _ = lines[at].partition(" = ")
        if change == "value" and equals:
            lines[at] = f"{key} = {data.draw(TOML_VALUES)}"
        elif change == "key" and equals:
            lines[at] = f"{data.draw(st.sampled_from(KEYS))} = {data.draw(TOML_VALUES)}"
        elif change == "drop":
            del lines[at]
        else:
            lines.insert(at, lines[at])
    assert_findings_agree(write_project(tmp_path, "\n".join(lines)))


@FUZZ
@given(kind=st.sampled_from(["newsvendor", "shipment", "shortest_path", "linear"]), data=st.data())
def test_any_parameters_of_a_problem(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    """Problems of every kind with values that are nearly right, or not."""
    keys = [
        "holding",
        "backorder",
        "budget",
        "names",
        "production_cost",
        "spot_cost",
        "shipping_cost",
        "distances",
        "grid",
    ]
    keys += [
        "network",
        "nodes",
        "source",
        "target",
        "A_ub",
        "b_ub",
        "A_eq",
        "b_eq",
        "bounds",
        "integrality",
        "cost_map",
    ]
    values = data.draw(st.dictionaries(st.sampled_from(keys), TOML_VALUES, max_size=6))
    text = PROJECT[: PROJECT.index("[problem]")] + f'[problem]\nkind = "{kind}"\n'
    text += "".join(f"{key} = {value}\n" for key, value in values.items())
    assert_findings_agree(write_project(tmp_path, text))


@FUZZ
@given(content=st.one_of(st.text(alphabet=st.sampled_from("ab1.,;\t\n\"' é-"), max_size=80), st.binary(max_size=80)))
@example(content='"' * 5)
@example(content="a,b\r1,2\r3,4\r")
@example(content="a,rolls,cakes\n" + "x" * 200_000 + ",1,2\n")
@example(content="a,rolls,cakes\n１,1,2\n٣,1,2\n")
@example(content="a,rolls,cakes\n1e400,1_0,0x10\n")
def test_any_csv_file(tmp_path: Path, content: str | bytes) -> None:
    """Data of any content, also as the only CSV file of `whence init`, is no reason for an exception."""
    path = write_project(tmp_path)
    file = tmp_path / "days.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_findings_agree(path)
    made = sentence_or(starter, file)
    if not isinstance(made, InputError):
        path.write_text(made.text, "utf-8")
        assert_findings_agree(path)


@FUZZ
@given(data=st.data())
def test_data_with_other_cells(tmp_path: Path, data: st.DataObject) -> None:
    """A good table gets some odd cells, and is read or refused in a sentence, also as a first project."""
    rows = days(12)
    cells = st.sampled_from(
        ["", "NA", "inf", "1,5", "1.5", "yes", "2024-01-01", "12:30", '"', "é", "0", "1", " ", "9" * 25]
    )
    for _ in range(data.draw(st.integers(1, 6))):
        rows[data.draw(st.integers(0, 12))][data.draw(st.integers(0, 5))] = data.draw(cells)
    path = write_project(tmp_path, data=csv_text(rows))
    assert_findings_agree(path)
    made = sentence_or(starter, tmp_path / "days.csv")
    if not isinstance(made, InputError):
        path.write_text(made.text, "utf-8")
        assert_findings_agree(path)


def test_any_context(project: Project) -> None:
    """A context of any text or JSON value is one to decide in, or is refused in a sentence; both occur."""
    outcomes: set[str] = set()

    @FUZZ
    @given(
        value=st.one_of(TEXTS, st.lists(TEXTS, max_size=3), *(one | one.map(json.dumps) for one in (JSON, CONTEXTS)))
    )
    @example(value="{" * 3000)
    @example(value='{"temp": ' + "9" * 5000 + "}")
    @example(value="a\0b.csv")
    @example(value="x" * 5000)
    @example(value=["1", "temp=3,5"])
    def asked(value: Any) -> None:
        found = sentence_or(project.context, value)
        outcomes.add("refused" if isinstance(found, InputError) else "read")
        if not isinstance(found, InputError):
            assert list(found.index) == list(project.X.columns)
            assert np.isfinite(project.fitted().weights_at(found)).all()

    asked()
    assert outcomes == {"read", "refused"}


def test_any_plan(project: Project, city: Project) -> None:
    """A plan of any text or JSON value is feasible, or refused in a sentence, for quantities and for routes."""
    outcomes: set[tuple[str, str]] = set()

    @FUZZ
    @given(value=st.one_of(TEXTS, JSON, JSON.map(json.dumps)))
    @example(value="[" * 3000)
    @example(value="context:")
    @example(value="row:\0")
    @example(value="row:1")
    def asked(value: Any) -> None:
        for name, one in (("quantities", project), ("route", city)):
            plan = sentence_or(one.plan, value)
            outcomes.add((name, "refused" if isinstance(plan, InputError) else "read"))
            if not isinstance(plan, InputError):
                assert one.policy.problem.check(plan) is None

    asked()
    assert outcomes == {(name, how) for name in ("quantities", "route") for how in ("read", "refused")}


def test_any_bound(project: Project) -> None:
    """A bound of any text leaves the initial context allowed, or is refused in a sentence; both occur."""
    schema = project.fitted().schema_
    outcomes: set[str] = set()

    @FUZZ
    @given(text=st.one_of(TEXTS, st.from_regex(r"(temp|day|rain)=[0-9a-zA-Z:|.-]*", fullmatch=True)))
    @example(text="temp=0:20")
    def asked(text: str) -> None:
        bounds = sentence_or(read_bounds, [text], schema)
        found = bounds if isinstance(bounds, InputError) else sentence_or(schema.space, project.context(1), (), bounds)
        outcomes.add("refused" if isinstance(found, InputError) else "read")
        if not isinstance(found, InputError):
            assert set(bounds) <= set(schema.names)
            assert found.contains(found.start)

    asked()
    assert outcomes == {"read", "refused"}


def test_any_questions(project: Project, tmp_path: Path) -> None:
    """A file of questions is read, each row with a context and a plan or an error, or refused in a sentence."""
    path = tmp_path / "asked.csv"
    outcomes: set[str] = set()

    @FUZZ
    @given(
        content=st.one_of(
            st.binary(max_size=60),
            st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=3).map(
                lambda rows: "context;instead\n" + "".join(";".join(row) + "\n" for row in rows)
            ),
        )
    )
    @example(content="context;instead\n1;row:2\n")
    def asked(content: str | bytes) -> None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        found = sentence_or(read_questions, project, path)
        if isinstance(found, InputError):
            outcomes.add("file refused")
            return
        assert len(found.rows) == len(found.table.cells) > 0
        for row in found.rows:
            assert (row.error == "") == (row.context is not None and row.plan is not None)
            outcomes.add("row refused" if row.error else "read")

    asked()
    assert outcomes == {"read", "row refused", "file refused"}
