"""An explanation goes to JSON and comes back; what is no explanation is refused with a sentence."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from tests.blocks import examples
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError
from whence.examples import bakery, city
from whence.explain.explanation import Costs
from whence.report.document import Finding, Report, schema
from whence.report.html import fragment

Make = Callable[..., wh.Explanation]
Change = tuple[Any, ...]

SCHEMA = json.loads((files("whence.report") / "explanation.schema.json").read_text("utf-8"))


def explained(module: Any) -> wh.Explanation:
    """The built-in example's explanation, on little data."""
    example = module.load(n=40)
    return example.policy.fit(example.X, example.Y).explain(example.today, example.alternative)


@pytest.fixture(scope="module")
def baked() -> wh.Explanation:
    """An explanation of quantities."""
    return explained(bakery)


@pytest.fixture(scope="module")
def driven() -> wh.Explanation:
    """An explanation of a route on a map."""
    return explained(city)


SORTS = [
    "optimal",
    "many",
    "absolute",
    "nearly",
    "cvar",
    "already",
    "none",
    "blocked",
    "time",
    "nothing",
    "bare",
    "grid",
    "odd",
]


@pytest.fixture(params=SORTS)
def any_explanation(request: pytest.FixtureRequest, make: Make, weekday: Change, every_change: Any) -> wh.Explanation:
    """One explanation of every sort."""
    routes = [(0, 0), (0, 1), (1, 1)], [(0, 0), (1, 0), (1, 1)]
    return {
        "optimal": lambda: make([weekday]),
        "many": lambda: make(every_change, room={"temperature": (16.25, 16.4)}),
        "absolute": lambda: make([weekday], kind="absolute", cuts=3),
        "nearly": lambda: make([weekday], kind="absolute", cuts=3, within=0.02),
        "cvar": lambda: make([weekday], risk="CVaR at 0.9", separation=1e-6),
        "already": lambda: make(status="already", cost_before=Costs(5.0, 5.0)),
        "none": lambda: make(status="none", note="nothing speaks for it"),
        "blocked": lambda: make(status="none", blocking=["weekday"], unrestricted=make([weekday])),
        "time": lambda: make([weekday], status="time_limit", bound=0.1),
        "nothing": lambda: make(status="interrupted", bound=0.1),
        "bare": lambda: make([weekday], history=None, problem=None, costs_decision=None, costs_alternative=None),
        "grid": lambda: make([weekday], problem=wh.ShortestPath.grid(2), decision=routes[0], alternative=routes[1]),
        "odd": lambda: make([weekday], problem=None, decision={"a": {1}}, alternative=object()),
    }[request.param]()


def same(one: wh.Explanation, other: wh.Explanation) -> None:
    """Both say and show the same."""
    assert str(one) == str(other)
    assert fragment(one) == fragment(other)
    assert one.changes.equals(other.changes) or not len(one.changes)
    assert one.distance == other.distance
    assert one.bound == other.bound
    assert np.array_equal(one.weights_before, other.weights_before)
    assert one.initial.to_dict() == other.initial.to_dict()


def test_every_explanation_comes_back(any_explanation: wh.Explanation) -> None:
    """Written, read and written again, an explanation prints and reports the same and is the same document."""
    text = any_explanation.to_json()
    assert text is not None
    again = wh.Explanation.from_json(text)
    same(again, any_explanation)
    assert again.to_json() == text
    assert again.history is None
    assert again.problem is None


OLD = Path(__file__).parent / "data"


@pytest.mark.parametrize("name", ["relative-cvar", "none-unrestricted", "route-absolute"])
def test_documents_of_the_version_before(name: str) -> None:
    """Files written before there were charts and shown numbers in them are read, print the same, and agree."""
    document = json.loads((OLD / f"{name}.json").read_text("utf-8"))
    assert "shown" not in document
    why = wh.Explanation.from_json(OLD / f"{name}.json")
    assert str(why) == document["text"]
    assert why.intact is True
    jsonschema.validate(document, SCHEMA, jsonschema.Draft202012Validator)
    example = (city if name == "route-absolute" else bakery).load(n=40)
    risk = {"relative-cvar": wh.CVaR(0.8), "none-unrestricted": None}.get(name, example.policy.risk)
    forest = paper_forest(n_trees=8, max_depth=3, random_state=0)
    policy = clone(example.policy).set_params(weights=forest, risk=risk).fit(example.X, example.Y)
    assert why.verify(policy).differences == []
    again = why.to_dict()
    for old, new in ((document, again), (document["unrestricted"] or {}, again["unrestricted"] or {})):
        assert {name for name in old if old[name] != new[name]} <= {"unrestricted", "fingerprints"}


def test_the_schema_is_that_of_the_classes() -> None:
    """The file is what is generated from the classes: python -m whence.report.document with its path writes it anew."""
    assert schema() == SCHEMA


def test_explanation_and_document_share_one_list_of_fields(baked: wh.Explanation) -> None:
    """What both have is stated in `Finding` and nowhere else, and says the same in both."""
    assert issubclass(wh.Explanation, Finding)
    assert issubclass(Report, Finding)
    assert not {"status", "confidence", "tolerance"} & {*wh.Explanation.__annotations__, *Report.__annotations__}
    for name in Finding.__struct_fields__:
        assert getattr(baked, name) == getattr(baked.report, name) == getattr(baked.light(), name), name


def test_new_entries_are_allowed(baked: wh.Explanation) -> None:
    """What a later version adds is no error, by the schema and for the reader: it is ignored."""
    document = baked.to_dict()
    document["more"] = document["plans"]["more"] = document["observations"]["gaining"][0]["more"] = {"a": 1}
    jsonschema.validate(document, SCHEMA, jsonschema.Draft202012Validator)
    assert str(wh.Explanation.from_dict(document)) == str(baked)


def test_documents_follow_the_schema(any_explanation: wh.Explanation) -> None:
    """Every document is strict JSON and valid by the schema that is shipped, which is one itself."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    document = json.loads(json.dumps(any_explanation.to_dict(), allow_nan=False))
    jsonschema.validate(document, SCHEMA, jsonschema.Draft202012Validator)
    del document["status"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA, jsonschema.Draft202012Validator)


@pytest.mark.parametrize("name", ["baked", "driven"])
def test_real_explanations_come_back(name: str, request: pytest.FixtureRequest) -> None:
    """Explanations that were searched for come back from JSON, lose their weight and survive pickling."""
    why = request.getfixturevalue(name)
    document = why.to_dict()
    jsonschema.validate(document, SCHEMA, jsonschema.Draft202012Validator)
    light = why.light()
    for other in (wh.Explanation.from_dict(document), light, pickle.loads(pickle.dumps(light))):
        same(other, why)
        assert other.to_dict() == document
        assert other.light() is other
    assert light.history is None
    assert light.problem is None


def test_light_explanations_are_small() -> None:
    """Without the history, and with the few rows that speak, a pickle is small however long the history is."""
    rng = np.random.default_rng(0)
    X = rng.random((5000, 1))
    policy = wh.Policy(wh.Newsvendor(1, 2), wh.KNNWeights(k=10)).fit(X, 10 * X)
    why = policy.explain([0.5], instead=[1.0])
    assert why.weights_after is not None
    assert why.costs_decision is not None
    back = pickle.loads(pickle.dumps(why.light()))
    assert len(pickle.dumps(why)) < 20_000
    assert len(pickle.dumps(why.light())) < 20_000
    assert np.array_equal(back.weights_after, why.weights_after)
    speaks = (why.weights_before > 0) | (why.weights_after > 0)
    assert np.array_equal(back.costs_decision[speaks], why.costs_decision[speaks])
    assert np.isnan(back.costs_decision[~speaks]).all()


def test_files(baked: wh.Explanation, tmp_path: Path) -> None:
    """A file is written whole, read by its path as text or as a path, and holds no NaN."""
    path = tmp_path / "why.json"
    assert baked.to_json(path, indent=2) is None
    assert [p.name for p in tmp_path.iterdir()] == ["why.json"]
    for source in (path, str(path), path.read_text("utf-8")):
        same(wh.Explanation.from_json(source), baked)
    with pytest.raises(InputError, match="'path' of an explanation must lie in a folder that exists"):
        baked.to_json(tmp_path / "nowhere" / "why.json")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{", "must be JSON. It cannot be read: "),
        ("[" * 100_000, "too deeply nested"),
        ('{"distance": NaN}', "NaN is not a JSON number"),
        ("[]", "The explanation must be a JSON object. Got \\[\\] instead"),
        ("", "must be JSON"),
        ("nowhere.json", "JSON text or the path of a file. Got 'nowhere.json': The file 'nowhere.json' does not exist"),
        ("a\0b", "JSON text or the path of a file"),
        (3, "JSON text or the path of a file"),
        ({}, "JSON text or the path of a file"),
        ("/", "'/' is a folder; a file was expected"),
    ],
)
def test_what_is_no_json_is_refused(source: Any, message: str) -> None:
    """A source that is no JSON and no file is refused with a sentence."""
    with pytest.raises(InputError, match=message):
        wh.Explanation.from_json(source)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    """A file in another encoding is refused by name."""
    (tmp_path / "why.json").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(InputError, match="must be UTF-8 text"):
        wh.Explanation.from_json(tmp_path / "why.json")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["schema"], "whence/explanation/2", "'schema' of the explanation must be 'whence/explanation/1'"),
        (["status"], "done", "'status' of the explanation must be one of 'optimal', 'already'"),
        (["distance"], -1, "'distance' of the explanation must be a number of at least 0. Got -1 instead"),
        (["cost_before", "decision"], "1", "'cost_before.decision' of the explanation must be a number. Got '1'"),
        (["context"], None, "'context' of the explanation must be given together with 'cost_after'"),
        (["changes", 0, "distance"], None, r"'changes\[0\].distance' of the explanation must be a number"),
        (["observations", "count"], 10**12, "'observations.count' .* must be a whole number from 1 to 10000000"),
        (["observations", "rows", 0], 1, "'observations.rows' .* must be a list of different row numbers"),
        (["observations", "weights_before", 0], 5, "must be a list of weights that sum to 1"),
        (["observations", "costs_decision"], [1.0], "'observations.costs_decision' .* must be a list of"),
        (["plans", "decision"], [1.0], "'plans.decision' of the explanation must be a list of 4"),
        (["plans", "after"], "", "'plans.after' of the explanation must be a list of 4"),
        (["kinds", "rain"], "wet", "'kinds.rain' of the explanation must be one of 'continuous'"),
        (["initial", "rain"], [], "'initial.rain' of the explanation must be a text, a number, true, false or null"),
        (["nodes"], 1.5, "'nodes' of the explanation must be a whole number"),
        (["tolerance"], 1e300, "'tolerance' of the explanation must be a number"),
    ],
)
def test_what_does_not_fit_is_named(baked: wh.Explanation, path: list[Any], value: Any, message: str) -> None:
    """An entry that does not fit is named with its place, what was expected and what came."""
    document = copy.deepcopy(baked.to_dict())
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    with pytest.raises(InputError, match=message):
        wh.Explanation.from_dict(document)


def test_what_is_missing_is_named(baked: wh.Explanation) -> None:
    """An entry that is not there is named, also where it might have been null."""
    for path, wanted in (("separation", "given"), ("status", "one of 'optimal'"), ("plans.map", "given")):
        document = copy.deepcopy(baked.to_dict())
        *parents, last = path.split(".")
        del (document[parents[0]] if parents else document)[last]
        with pytest.raises(
            InputError, match=rf"The entry '{path}' of the explanation must be {wanted}.* Got None instead"
        ):
            wh.Explanation.from_dict(document)


def test_an_unrestricted_explanation_has_none_inside(make: Make, weekday: Change) -> None:
    """Documents nest once and not without end."""
    document = make(status="none", unrestricted=make([weekday])).to_dict()
    document["unrestricted"]["unrestricted"] = document["unrestricted"]
    with pytest.raises(InputError, match=r"'unrestricted.unrestricted' of the explanation must be null"):
        wh.Explanation.from_dict(document)
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InputError):
        wh.Explanation.from_dict({"schema": "whence/explanation/1", "plans": {"form": "route", "decision": [deep]}})


DOCUMENTS = [explained(bakery).to_dict(), explained(city).to_dict()]

ODD = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
ODD = ODD | st.lists(ODD, max_size=3) | st.dictionaries(st.text(max_size=3), ODD, max_size=2)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document, a few of each list."""
    found = [path]
    if isinstance(value, dict):
        found += [p for key, entry in value.items() for p in places(entry, (*path, key))]
    elif isinstance(value, list):
        found += [p for i, entry in list(enumerate(value))[:3] for p in places(entry, (*path, i))]
    return found


@given(st.data())
@examples(60, 300)
def test_any_change_of_a_document_is_read_or_refused(data: st.DataObject) -> None:
    """With any entry replaced or removed, a document is refused in a sentence or prints, reports and is written."""
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(places(document)[1:]))
        at = document
        for step in path[:-1]:
            at = at[step]
        if data.draw(st.booleans()) and isinstance(at, dict):
            del at[path[-1]]
        else:
            at[path[-1]] = data.draw(ODD)
    said = ""
    try:
        why = wh.Explanation.from_dict(document)
    except InputError as error:
        said = str(error)
    else:
        assert str(why)
        assert fragment(why)
        json.dumps(why.to_dict(), allow_nan=False)
    assert not said or (said.startswith("The ") and said.endswith("instead.") and "\n" not in said)


@given(ODD)
@examples(50, 100)
def test_anything_else_is_refused(value: Any) -> None:
    """What is no document at all is refused in a sentence."""
    with pytest.raises(InputError, match=r"\.$"):
        wh.Explanation.from_dict(value)


def test_the_unit_of_costs_goes_to_json_and_back(make: Make, weekday: Change) -> None:
    """The unit is an entry where there is one, is missing otherwise, and must be a text."""
    why = make([weekday], cost_unit="€")
    document = why.to_dict()
    jsonschema.validate(document, SCHEMA)
    assert document["cost_unit"] == "€"
    assert str(wh.Explanation.from_dict(document)) == str(why)
    assert [one.cost_unit for one in (why.light(), pickle.loads(pickle.dumps(why.light())))] == ["€", "€"]
    assert "cost_unit" not in make([weekday]).to_dict()
    with pytest.raises(InputError, match=r"The entry 'cost_unit' of the explanation must be a text. Got 5 instead."):
        wh.Explanation.from_dict({**document, "cost_unit": 5})
