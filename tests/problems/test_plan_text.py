"""Plans of quantities and routes go to plain JSON and come back, are read from texts and tables, and can be edited."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.blocks import examples

import whence as wh
from whence.errors import InfeasiblePlanError, InputError, WhenceError

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
    text = json.dumps(problem.to_plain(plan), allow_nan=False)
    back = problem.from_plain(json.loads(text))
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
    assert GRID.from_plain(value) == AROUND


def test_numbers_as_nodes() -> None:
    """Nodes that are numbers are found as numbers and as text, and 1 is not taken for True."""
    problem = wh.ShortestPath(nx.DiGraph([(0, 1), (1, 2), (0, 2)]), 0, 2)
    assert problem.from_plain([0, "1", 2.0]) == [0, 1, 2]
    with pytest.raises(InputError, match=r"must name nodes among '0', '1', '2'\. Got True instead"):
        problem.from_plain([0, True, 2])


def test_text_that_names_two_nodes() -> None:
    """A text that is one node's name and another's number means the one that it is; none is guessed."""
    problem = wh.ShortestPath(nx.DiGraph([(0, 1), (0, "1"), (1, 2), ("1", 2)]), 0, 2)
    assert problem.from_plain([0, "1", 2]) == [0, "1", 2]
    assert problem.from_plain([0, 1, 2]) == [0, 1, 2]
    twins = [Fraction(1, 2), Path("1/2")]
    doubtful = wh.ShortestPath(nx.DiGraph([(0, twins[0]), (0, twins[1]), (twins[0], 2), (twins[1], 2)]), 0, 2)
    with pytest.raises(InputError, match=r"name its nodes unambiguously\. Got '1/2', which fits several"):
        doubtful.from_plain([0, "1/2", 2])


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
        BAKERY.from_plain(value)


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
        GRID.from_plain(value)


def test_parts_without_names() -> None:
    """Quantities by name need a problem that names them, or the names of the outcomes."""
    problem = wh.Newsvendor(1, 2)
    assert problem.from_plain({"b": 2}, outcomes=["a", "b"]).tolist() == [0.0, 2.0]
    with pytest.raises(InputError, match="must be a list of numbers, since the parts of this problem have no names"):
        problem.from_plain({"b": 2})


@given(JSON)
@examples(60, 300)
def test_any_json_gives_a_plan_or_a_sentence(value: Any) -> None:
    """Whatever JSON comes, the answer is a feasible plan or an error of whence in one sentence."""
    for problem in (BAKERY, GRID):
        said = ""
        try:
            assert problem.check(problem.from_plain(value)) is None
        except WhenceError as error:
            said = str(error)
        assert not said or (said.endswith(".") and "\n" not in said)


def test_infeasible_plans_say_why_in_the_problems_own_words() -> None:
    """The reason comes apart from the sentence around it, also after the error has been to another process."""
    with pytest.raises(InfeasiblePlanError) as caught:
        BAKERY.from_plain([50, 50, 50])
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.reason == "The plan orders 150 in total, 50 more than the budget of 100."
    assert str(error) == f"The plan is not feasible: {error.reason}"


@pytest.mark.parametrize("text", ["10 20.5 0", "10; 20.5; 0", "10, 20.5, 0", "rolls=10, rye bread=20.5"])
def test_quantities_as_they_are_typed(text: str) -> None:
    """Quantities may have spaces, commas or semicolons between them, or names before them."""
    assert BAKERY.from_plain(BAKERY.plain_from_text(text, float)).tolist() == [10.0, 20.5, 0.0]


@pytest.mark.parametrize(
    "text", ["(0, 0) > (0, 1) > (0, 2) > (1, 2) > (2, 2)", "(0, 0)->(0, 1)→(0, 2)>(1, 2) > (2, 2)"]
)
def test_routes_as_they_are_typed(text: str) -> None:
    """The stops of a route have arrows between them."""
    assert GRID.from_plain(GRID.plain_from_text(text, float)) == AROUND


def test_plans_from_tables() -> None:
    """A table holds a column per part, or a row per part; a route's holds a row per stop."""
    wide = pd.DataFrame({"rolls": ["10"], "cake": ["2"]})
    long = pd.DataFrame({"part": ["rolls", "cake"], "quantity": ["10", "2"]})
    for table in (wide, long):
        assert BAKERY.from_plain(BAKERY.plain_from_cells(table, float)).tolist() == [10.0, 0.0, 2.0]
    assert GRID.from_plain(GRID.plain_from_cells(pd.DataFrame({"stop": map(str, AROUND)}), float)) == AROUND
    with pytest.raises(InputError, match="one row with a column per part of the plan, or two columns"):
        BAKERY.plain_from_cells(pd.DataFrame([["1", "2", "3"], ["4", "5", "6"]]), float)


def test_shown_plans() -> None:
    """Quantities are shown with their names, routes with their map, and anything else by its text."""
    shown = BAKERY.shown([1, 2, 3], [3, 2, 1])
    assert (shown.form, shown.parts, shown.decision.tolist()) == ("quantities", NAMES, [1.0, 2.0, 3.0])
    other = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]
    shown = GRID.shown(GRID.vector(AROUND), other)
    assert (shown.form, shown.decision, shown.alternative) == ("route", AROUND, other)
    assert shown.map is not None
    assert shown.map.positions[(1, 2)] == (2.0, -1.0)
    assert (shown.map.decision[0], shown.map.ends) == (((0, 0), (0, 1)), ((0, 0), (2, 2)))
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    assert wh.ShortestPath(graph, "a", "c").shown(["a", "b", "c"], ["a", "b", "c"]).map is None
    assert BAKERY.shown("wait", "go").form == "other"


def test_what_may_be_edited() -> None:
    """Warehouses are bars, many variables a table, a network without positions gets a layout, unreadable plans text."""
    Y = np.ones((3, 12))
    shipment = wh.Shipment()
    edited = shipment.editor(Y, [], [np.ones(4)])
    assert (edited.form, len(edited.parts), edited.lower) == ("quantities", 4, [0.0] * 4)
    linear = wh.LinearProblem(A_eq=np.ones((1, 30)), b_eq=[2], bounds=(0, 1), integrality=1)
    edited = linear.editor(np.ones((3, 30)), [f"y{j}" for j in range(30)], [np.ones(30)])
    assert (edited.form, edited.upper[0], edited.whole[0]) == ("table", 1.0, True)
    graph = wh.ShortestPath.grid(2).graph.__class__([("a", "b"), ("b", "c")])
    edited = wh.ShortestPath(graph, "a", "c").editor(Y[:, :2], [], [["a", "b", "c"]])
    assert not edited.drawn
    assert {node["id"] for node in edited.nodes} == {"a", "b", "c"}

    class Words(wh.DecisionProblem):
        def costs(self, decision: str, Y: np.ndarray) -> np.ndarray:
            return np.full(len(Y), float(len(decision)))

        def solve(self, Y: np.ndarray, weights: np.ndarray, risk: object) -> str:
            return "wait"

    assert Words().editor(Y, [], ["wait"]).form == "table"
