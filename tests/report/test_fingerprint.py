"""Fingerprints: the same for the same values in every process, others for others."""

from __future__ import annotations

from datetime import date
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.blocks import examples

import whence as wh
from whence.report.fingerprint import Writer, digest, problem_digest

PLAIN = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=2)
PLAIN = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner))

GRAPH = nx.DiGraph([("a", "b", {"name": "A1"}), ("b", "c")])

SAME: list[tuple[Any, Any]] = [
    (1, 1.0),
    (0.0, -0.0),
    (np.float32(0.5), 0.5),
    ([1, 2, 3], np.array([1, 2, 3], dtype=np.int32)),
    ([[1, 2], [3, 4]], np.array([[1.0, 2.0], [3.0, 4.0]])),
    ((1, "a"), [1, "a"]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1, 2, 3}, {3, 2, 1}),
    (float("nan"), np.nan),
    (sparse.csr_array([[0, 1], [2, 0]]), sparse.coo_array(([2, 1], ([1, 0], [0, 1])))),
    (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1.0, 2.0]})),
    (GRAPH, GRAPH.copy()),
    (np.str_("a"), "a"),
]
OTHERS: list[Any] = [
    None,
    False,
    0,
    1,
    "",
    "1",
    [],
    [[]],
    [1],
    [[1]],
    ["a", "b"],
    ["ab"],
    ["", "ab"],
    {},
    {"a": 1},
    {"a": {"b": 1}},
    2**53 + 1,
    2**53 + 3,
    np.inf,
    np.nan,
    date(2024, 1, 1),
    b"1",
    {1, 2},
    {1, 3},
    GRAPH,
    nx.DiGraph([("a", "b", {"name": "A2"}), ("b", "c")]),
    nx.Graph([("a", "b"), ("b", "c")]),
    pd.Series([1, 2], name="a"),
    pd.Series([1, 2], name="b"),
    pd.DataFrame({"a": ["x", None]}),
    wh.Continuous(low=1),
    wh.Continuous(low=1, unit="m"),
    wh.Binary(),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_values_look_the_same(one: Any, other: Any) -> None:
    """How a value is held does not matter: whole or not, list or array, in which order its names were put in."""
    assert digest(one) == digest(other)


def test_other_values_look_otherwise() -> None:
    """No two of many different values share a fingerprint."""
    assert len({digest(value) for value in OTHERS}) == len(OTHERS)


@given(PLAIN, PLAIN)
@examples(60, 300)
def test_any_two_values(one: Any, other: Any) -> None:
    """Two documents share a fingerprint exactly where they are the same."""

    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return ("dict", sorted((name, shape(entry)) for name, entry in value.items()).__repr__())
        if isinstance(value, list):
            return ("list", repr([shape(entry) for entry in value]))
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return ("number", repr(float(value) + 0.0)) if number else (type(value).__name__, repr(value))

    def key(value: Any) -> str:
        return repr(shape(value))

    assert (digest(one) == digest(other)) == (key(one) == key(other))


class Own(wh.DecisionProblem):
    """A problem of one's own, with a state that can be taken and one that cannot."""

    def __init__(self, rate: float, price: Any = None) -> None:
        self.rate, self.price, self._kept = rate, price, object()

    def costs(self, decision: Any, Y: Any) -> Any:
        """Distance to what came."""
        return self.rate * np.abs(Y[:, 0] - decision[0])

    def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
        """Some row."""
        return Y[int(np.argmax(weights)), :1]


class Other(Own):
    """The same under another name."""


def test_problems() -> None:
    """A problem is known by its class and its public state; what cannot be taken is named."""
    found = [problem_digest(problem)[0] for problem in (Own(1), Own(1.0), Own(2), Other(1))]
    assert found[0] == found[1]
    assert len(set(found)) == 3
    assert problem_digest(Own(1, price=lambda y: y))[1] == ["price"]
    assert problem_digest(Own(1, price={"a": [1, len]}))[1] == ["price.a[1]"]
    assert problem_digest(Own(1, price=np.array([1.0])))[1] == []
    one, other = wh.ShortestPath.grid(3), wh.ShortestPath.grid(3)
    assert problem_digest(one) == problem_digest(other)
    other.cost_unit = "min"
    assert problem_digest(one)[0] != problem_digest(other)[0]
    ring = Own(1)
    ring.price = [ring]
    assert problem_digest(ring)[1] == []


def test_values_that_show_nothing_are_named() -> None:
    """A writer remembers what it could not take."""
    writer = Writer()
    writer.write({"f": len, "g": [object()]})
    assert writer.left_out == ["f", "g[0]"]
