"""Values and plans go to plain JSON and come back."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence as wh
from whence.errors import InputError, WhenceError
from whence.plain import number_from_plain, plan_from_plain, plan_to_plain, to_plain

NAMES = ["rolls", "rye bread", "cake"]
BAKERY = wh.Newsvendor(holding=[1, 1, 1], backorder=[2, 3, 4], budget=100, names=NAMES)
GRID = wh.ShortestPath.grid(3)
AROUND = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([*NAMES, "(0, 1)"]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from([*NAMES, "x"]), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.int8(3), 3),
        (np.True_, True),
        (np.str_("a"), "a"),
        (math.nan, None),
        (pd.NaT, None),
        (pd.NA, None),
        (-np.inf, "-Infinity"),
        ((1, (2.5, "x")), [1, [2.5, "x"]]),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (pd.Timestamp("2024-05-01 10:00"), "2024-05-01T10:00:00"),
        (pd.Series([1, 2], index=["a", 7]), {"a": 1, "7": 2}),
        (pd.DataFrame({"a": [1, 2], "b": ["x", None]}), [{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
        (pd.Categorical(["u", "v"]), ["u", "v"]),
        (pd.Index([1, 2]), [1, 2]),
        (b"\x00", "b'\\x00'"),
    ],
)
def test_values_become_plain(value: Any, expected: Any) -> None:
    """Each sort of value has one plain form, of Python's own types."""
    plain = to_plain(value)
    assert plain == expected
    assert type(plain) is type(expected)
    json.dumps(plain, allow_nan=False)


@given(st.recursive(st.floats() | st.text() | st.integers(), st.lists, max_leaves=10))
@settings(derandomize=True, deadline=None)
def test_plain_is_strict_json(value: Any) -> None:
    """Whatever comes in, what comes out is JSON without NaN or infinity, and stays as it is the second time."""
    plain = to_plain(value)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert to_plain(plain) == plain


@given(st.floats())
@settings(derandomize=True, deadline=None)
def test_numbers_come_back(number: float) -> None:
    """A number read back is the number that was written."""
    back = number_from_plain(to_plain(number))
    assert back == number or (math.isnan(back) and math.isnan(number))


@pytest.mark.parametrize("value", ["inf", True, [1], {}, "1", 10**400])
def test_what_is_no_number_is_refused(value: Any) -> None:
    """Text, truth values, lists and numbers beyond floats are not taken for numbers."""
    with pytest.raises(InputError, match="A number must be a JSON number"):
        number_from_plain(value)


@pytest.mark.parametrize(
    ("problem", "plan"),
    [
        (BAKERY, np.array([10.0, 20.5, 0.0])),
        (wh.Newsvendor(1, 2), np.array([3.0, 4.0])),
        (wh.Shipment(distances=[[1.0, 2.0], [2.0, 1.0]]), np.array([4.0, 0.0])),
        (GRID, AROUND),
    ],
)
def test_plans_come_back(problem: wh.DecisionProblem, plan: Any) -> None:
    """A plan written as JSON and read again is the same plan."""
    text = json.dumps(plan_to_plain(problem, plan), allow_nan=False)
    back = plan_from_plain(problem, json.loads(text))
    assert np.array_equal(back, plan)
    assert type(back) is type(plan)


@pytest.mark.parametrize(
    "value",
    [
        [[0, 0], [0, 1], [0, 2], [1, 2], [2, 2]],
        ["(0, 0)", "(0, 1)", [0, 2], (1, 2), "(2, 2)"],
        [[[0, 0], [0, 1]], [[0, 1], [0, 2]], [[0, 2], [1, 2]], ["(1, 2)", "(2, 2)"]],
        GRID.vector(AROUND).tolist(),
        {"(0, 0) -> (0, 1)": 1, "(0, 1) -> (0, 2)": 1.0, "(0, 2) -> (1, 2)": 1, "(1, 2) -> (2, 2)": 1},
    ],
)
def test_routes_in_every_form(value: Any) -> None:
    """Nodes as lists or text, edges, a 0/1 list and edges by name all give the same route."""
    assert plan_from_plain(GRID, value) == AROUND


def test_numbers_as_nodes() -> None:
    """Nodes that are numbers are found as numbers and as text, and 1 is not taken for True."""
    problem = wh.ShortestPath(nx.DiGraph([(0, 1), (1, 2), (0, 2)]), 0, 2)
    assert plan_from_plain(problem, [0, "1", 2.0]) == [0, 1, 2]
    with pytest.raises(InputError, match=r"must name nodes among '0', '1', '2'\. Got True instead"):
        plan_from_plain(problem, [0, True, 2])


def test_text_that_names_two_nodes() -> None:
    """A text that is one node's name and another's number means the one that it is; none is guessed."""
    problem = wh.ShortestPath(nx.DiGraph([(0, 1), (0, "1"), (1, 2), ("1", 2)]), 0, 2)
    assert plan_from_plain(problem, [0, "1", 2]) == [0, "1", 2]
    assert plan_from_plain(problem, [0, 1, 2]) == [0, 1, 2]
    twins = [Fraction(1, 2), Path("1/2")]
    doubtful = wh.ShortestPath(nx.DiGraph([(0, twins[0]), (0, twins[1]), (twins[0], 2), (twins[1], 2)]), 0, 2)
    with pytest.raises(InputError, match=r"name its nodes without doubt\. Got '1/2', which is several"):
        plan_from_plain(doubtful, [0, "1/2", 2])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"buns": 3}, "must name parts among 'rolls', 'rye bread', 'cake'. Got 'buns' instead"),
        ({"rolls": "3"}, "quantity of 'rolls' must be a finite number. Got '3' instead"),
        ([1, 2], "must hold 3 numbers, for 'rolls', 'rye bread', 'cake'. Got 2 instead"),
        ([1, 2, None], "quantity of 'cake' must be a finite number. Got None instead"),
        ([1, 2, True], "quantity of 'cake' must be a finite number. Got True instead"),
        ([1, 2, math.inf], "quantity of 'cake' must be a finite number. Got inf instead"),
        ("3", "must be a list of numbers, or quantities by name among 'rolls'"),
        (None, "must be a list of numbers"),
        ([50, 50, 50], "The plan is not feasible: The plan orders 150 in total, 50 more than the budget of 100"),
    ],
)
def test_bad_quantities_are_refused(value: Any, message: str) -> None:
    """A plan that is none is refused with a sentence that names the part and what came."""
    with pytest.raises(InputError, match=message):
        plan_from_plain(BAKERY, value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[0, 0], [9, 9]], r"must name nodes among '\(0, 0\)', .* and 3 more. Got \[9, 9\] instead"),
        ([[0, 0], [2, 2]], "not feasible: The route does not exist: there is no edge"),
        ("(0, 0)", "must be a list of nodes or of edges"),
        (7, "must be a list of nodes or of edges. Got 7 instead"),
        ([], "not feasible: The route is empty"),
        ([0, 1, 1], "not feasible: An edge vector must have 12 entries, not 3"),
        ([{}], r"must name nodes among .* Got {} instead"),
        ({"nowhere": 1}, "must name parts among"),
    ],
)
def test_bad_routes_are_refused(value: Any, message: str) -> None:
    """A route that is none is refused with a sentence that names the node or the hop."""
    with pytest.raises(InputError, match=message):
        plan_from_plain(GRID, value)


def test_parts_without_names() -> None:
    """Quantities by name need a problem that names them, or the names of the outcomes."""
    problem = wh.Newsvendor(1, 2)
    assert plan_from_plain(problem, {"b": 2}, outcomes=["a", "b"]).tolist() == [0.0, 2.0]
    with pytest.raises(InputError, match="must be a list of numbers, since the parts of this problem have no names"):
        plan_from_plain(problem, {"b": 2})


@given(JSON)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_any_json_gives_a_plan_or_a_sentence(value: Any) -> None:
    """Whatever JSON comes, the answer is a feasible plan or an error of whence in one sentence."""
    for problem in (BAKERY, GRID):
        said = ""
        try:
            assert problem.check(plan_from_plain(problem, value)) is None
        except WhenceError as error:
            said = str(error)
        assert not said or (said.endswith(".") and "\n" not in said)
