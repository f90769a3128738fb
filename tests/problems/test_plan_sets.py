"""Sets of plans: what belongs to them, what they are called, and their best plans against enumeration."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from tests.blocks import seeds

import whence as wh
from whence.errors import InputError, InputTypeError
from whence.problems.plan_sets import AnyPlan, set_from_plain

RISKS = (wh.Expectation(), wh.CVaR(0.3), wh.CVaR(0.8))


def samples(seed: int, columns: int, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes, and weights of which some are 0."""
    rng = np.random.default_rng(seed)
    weights = rng.random(n) * (rng.random(n) < 0.7) + 1e-3
    return rng.integers(1, 30, (n, columns)) / 2.0, weights / weights.sum()


def city(cyclic: bool = False) -> wh.ShortestPath:
    """A small network with streets, some of them in both directions."""
    graph = nx.DiGraph()
    hops = [("A", "B"), ("A", "C"), ("B", "D"), ("C", "D"), ("B", "E"), ("D", "E"), ("D", "F"), ("E", "F"), ("C", "F")]
    graph.add_edges_from(hops)
    if cyclic:
        graph.add_edges_from([("C", "B"), ("B", "C"), ("E", "D"), ("D", "B")])
    graph.edges["A", "C"]["name"] = graph.edges["C", "F"]["name"] = "Ring Road"
    graph.edges["D", "F"]["name"] = "High Street"
    return wh.ShortestPath(graph, "A", "F")


def best_by_listing(problem: wh.ShortestPath, keep: Any, Y: np.ndarray, w: np.ndarray, risk: Any) -> float:
    """Least risk among all simple routes that `keep` accepts."""
    routes = [list(route) for route in nx.all_simple_paths(problem.graph, problem.source, problem.target)]
    return min(risk.of(problem.costs(route, Y), w) for route in routes if keep(route))


@pytest.mark.parametrize("seed", seeds(2, 8))
@pytest.mark.parametrize("risk", RISKS)
def test_routes_of_a_set_are_its_best(seed: int, risk: Any) -> None:
    """Through, using and avoiding, alone and together, against listing every simple route."""
    problem = city()
    Y, w = samples(seed, len(problem.parts()))
    ring = {("A", "C"), ("C", "F")}
    cases: list[tuple[Any, Any]] = [
        (problem.through("D"), lambda r: "D" in r),
        (problem.through("B", "E"), lambda r: "B" in r and "E" in r),
        (problem.avoiding("D"), lambda r: "D" not in r),
        (problem.using(("D", "E")), lambda r: ("D", "E") in pairwise(r)),
        (problem.using("D -> E"), lambda r: ("D", "E") in pairwise(r)),
        (problem.through("ring road"), lambda r: bool(ring & set(pairwise(r)))),
        (problem.avoiding("Ring Road").through("E"), lambda r: "E" in r and not ring & set(pairwise(r))),
        (problem.avoiding("High Street", "Ring Road"), lambda r: not (ring | {("D", "F")}) & set(pairwise(r))),
    ]
    for routes, keep in cases:
        plan = routes.solve(Y, w, risk)
        assert routes.check(plan) is None
        assert risk.of(problem.costs(plan, Y), w) == pytest.approx(best_by_listing(problem, keep, Y, w, risk))
        listed = {tuple(route) for route in routes.plans(100)}
        every = nx.all_simple_paths(problem.graph, "A", "F")
        assert listed == {tuple(route) for route in every if keep(list(route))}


@pytest.mark.parametrize("seed", seeds(2, 8))
def test_routes_with_cycles_visit_no_node_twice(seed: int) -> None:
    """On a graph with cycles the best route of a set is still a simple one, and the best."""
    problem = city(cyclic=True)
    Y, w = samples(seed, len(problem.parts()))
    risk = wh.Expectation()
    for routes, keep in (
        (problem.through("C", "B"), lambda r: "C" in r and "B" in r),
        (problem.using(("E", "D")), lambda r: ("E", "D") in pairwise(r)),
        (problem.avoiding("Ring Road"), lambda r: not {("A", "C"), ("C", "F")} & set(pairwise(r))),
    ):
        plan = routes.solve(Y, w, risk)
        assert routes.check(plan) is None
        assert risk.of(problem.costs(plan, Y), w) == pytest.approx(best_by_listing(problem, keep, Y, w, risk))


@pytest.mark.parametrize("seed", seeds(2, 6))
@pytest.mark.parametrize("budget", [None, 25.0])
def test_quantities_between_limits_are_the_best(seed: int, budget: float | None) -> None:
    """Expected cost between limits, with and without a budget, against a fine grid of quantities."""
    rng = np.random.default_rng(seed)
    Y, w = samples(seed, 2)
    problem = wh.Newsvendor(rng.integers(1, 4, 2), rng.integers(1, 6, 2), budget, ["rolls", "rye"])
    low, high = 3.0, 11.5
    plans = problem.at_least("rolls", low).between(1, 2.0, high)
    for risk in RISKS:
        plan = plans.solve(Y, w, risk)
        assert plans.check(plan) is None
        values = risk.of(problem.costs(plan, Y), w)
        steps = np.arange(0.0, 15.01, 0.5)
        for a, b in product(steps, steps):
            if a >= low and 2.0 <= b <= high and (budget is None or a + b <= budget):
                assert values <= risk.of(problem.costs([a, b], Y), w) + 1e-6


@pytest.mark.parametrize("seed", seeds(1, 3))
@pytest.mark.parametrize("risk", RISKS[:2])
def test_shipments_between_limits_are_the_best(seed: int, risk: Any) -> None:
    """Production with limits, against a grid of quantities."""
    problem = wh.Shipment(5, 100, 10, distances=[[0.0, 1.0, 2.0], [1.0, 0.5, 0.0]])
    Y, w = samples(seed, 3, n=6)
    plans = problem.at_most("warehouse 1", 6.0).at_least(1, 9.0)
    plan = plans.solve(Y, w, risk)
    assert plans.check(plan) is None
    value = risk.of(problem.costs(plan, Y), w)
    for a, b in product(np.arange(0.0, 6.01, 1.0), np.arange(9.0, 40.0, 1.0)):
        assert value <= risk.of(problem.costs([a, b], Y), w) + 1e-6 * value


@pytest.mark.parametrize("risk", RISKS)
def test_linear_plans_keep_bounds_and_rows(risk: Any) -> None:
    """Bounds and further rows of a linear problem, against a grid of its simplex."""
    problem = wh.LinearProblem(A_eq=[[1, 1, 1]], b_eq=[1])
    Y, w = samples(1, 3)
    plans = problem.at_most(0, 0.5).with_rows([[0, 1, -1]], [0.1])
    plan = plans.solve(Y, w, risk)
    assert plans.check(plan) is None
    value = risk.of(problem.costs(plan, Y), w)
    for a, b in product(np.arange(0, 0.51, 0.05), np.arange(0, 1.01, 0.05)):
        z = np.array([a, b, 1 - a - b])
        if z.min() >= 0 and z[1] - z[2] <= 0.1:
            assert value <= risk.of(problem.costs(z, Y), w) + 1e-6
    assert plans.check([0.6, 0.2, 0.2]) == "The plan has 0.6 part 0, more than 0.5."


def test_sets_have_words() -> None:
    """What a plan of a set is called."""
    problem = city()
    assert problem.through("ring road").avoiding("B").words == "a route through Ring Road, avoiding B"
    bakery = wh.Newsvendor(1, 2)
    assert bakery.at_least("rye", 80).words == "a plan with at least 80 rye"
    assert bakery.between("rye", 5, 5).named(["rolls", "rye"]).words == "a plan with exactly 5 rye"
    assert bakery.only([[3.0]], words="the usual").words == "the usual"
    assert AnyPlan(bakery).words == "another plan"
    assert "RouteSet of ShortestPath" in repr(problem.using("High Street"))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: city().through("Z"), "'through' must name nodes, edges or streets among"),
        (lambda: city().through(), "'through' must be given at least one node"),
        (lambda: city().avoiding("A"), "Every route goes through A, so that none avoids it."),
        (lambda: city().avoiding("B", "C"), "No route from A to F goes avoiding B and C."),
        (lambda: city().through("C").avoiding("Ring Road"), "No route from A to F goes through C, avoiding Ring Road."),
        (
            lambda: wh.Newsvendor(1, 2, names=None).between("a", 5, 3),
            "'high' must be at least 'low', which is 5. Got 3.",
        ),
        (lambda: wh.Newsvendor(1, [2, 3]).at_least(7, 3), "'part' must be a number from 0 below 2. Got 7 instead."),
        (lambda: wh.Newsvendor(1, [2], names=["a"]).at_least("b", 3), "'part' must be among 'a'. Got 'b' instead."),
        (
            lambda: wh.Newsvendor(1, [2], 50, ["a"]).at_least("a", 80),
            "'instead' must hold at least one plan. Got a plan with at least 80 a, but the budget",
        ),
        (lambda: wh.Newsvendor(1, [2], names=["a"]).at_most("a", -1), "No plan has at most -1 of a."),
        (lambda: wh.Newsvendor(1, [2, 3]).only([]), "'allowed' must hold at least one plan. Got none."),
        (lambda: wh.Newsvendor(1, [2]).only([[-3.0]]), "Plan 1 of 'allowed' is not feasible"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, sentence: str) -> None:
    """Sets that are empty or name what there is not are refused in a sentence."""
    with pytest.raises(InputError) as error:
        make()
    assert sentence in str(error.value)


def test_a_rule_needs_a_restricted_solve() -> None:
    """A rule alone says nothing about the best plan."""
    with pytest.raises(InputTypeError, match="'allowed' can be a rule where 'solve' is given"):
        wh.Newsvendor(1, 2).only(lambda plan: True)
    with pytest.raises(InputTypeError, match="must be a finite number"):
        wh.Newsvendor(1, 2).at_least(0, "many")  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="'with_rows' needs a LinearProblem"):
        wh.Newsvendor(1, 2).at_least(0, 3).with_rows([[1]], [2])
    linear = wh.LinearProblem(A_eq=[[1, 1, 1]], b_eq=[1])
    for plans in (linear, linear.at_least(0, 0.5)):
        with pytest.raises(InputError, match="a column for each of the 3 variables"):
            plans.with_rows([[0, 1]], [1])
        with pytest.raises(InputError, match="one number per row of A_ub"):
            plans.with_rows([[0, 1, 0]], [1, 2])
        with pytest.raises(InputTypeError, match="must hold numbers"):
            plans.with_rows("x", [1])
        with pytest.raises(InputError, match="Got neither"):
            plans.with_rows(None, None)


@pytest.mark.parametrize(
    ("problem", "make"),
    [
        (city(), lambda p: AnyPlan(p)),
        (city(), lambda p: p.through("D").avoiding("Ring Road").using(("D", "E"))),
        (wh.ShortestPath.grid(3), lambda p: p.through((0, 1)).using(((0, 1), (1, 1)))),
        (wh.Newsvendor(1, [2, 3], names=["a", "b"]), lambda p: p.at_least("a", 3).at_most("a", 9).at_most(1, 4)),
        (wh.Newsvendor(1, [2, 3]), lambda p: p.only([[1.0, 2.0], [3.0, 4.0]], words="one of two")),
    ],
)
def test_sets_are_written_and_read(problem: Any, make: Any) -> None:
    """A set that went through plain values is the same set."""
    before = make(problem)
    again = set_from_plain(problem, before.as_plain())
    assert again.words == before.words
    assert again.as_plain() == before.as_plain()
    assert str(again.plans(100)) == str(before.plans(100)).replace(
        "[[1.0, 2.0], [3.0, 4.0]]", "[array([1., 2.]), array([3., 4.])]"
    )


def test_what_is_no_set_is_refused_when_read() -> None:
    """Texts and entries that say nothing of plans."""
    with pytest.raises(InputError, match="must be 'any', or say what is asked"):
        set_from_plain(city(), "some")
    with pytest.raises(InputError, match=r"must be one of through, using, avoiding, or 'any'. Got 'at_least'"):
        set_from_plain(city(), {"at_least": {"a": 3}})


def test_layers_that_cannot_be_completed_are_left_out() -> None:
    """Eight places have 256 layers; only what can still visit all that is missing is built, and all routes are kept."""
    grid = wh.ShortestPath.grid(6)
    places = [(0, 1), (1, 1), (1, 2), (2, 2), (3, 3), (3, 4), (4, 4), (5, 4)]
    routes = grid.through(*places)
    inner, _ = routes._layered()
    assert len(inner.graph) < 2 * 36
    wanted = [list(r) for r in nx.all_simple_paths(grid.graph, (0, 0), (5, 5)) if set(places) <= set(r)]
    found = routes.plans(1000)
    assert found is not None
    assert sorted(found) == sorted(wanted)


def test_parts_called_after_the_outcomes_are_read_back() -> None:
    """Two costs say how many products there are, the outcomes what they are called: also before a policy is asked."""
    problem, outcomes = wh.Newsvendor(1, [3, 2]), ("rolls", "rye")
    said = problem.at_least(0, 5).named(outcomes).as_plain()
    assert said == {"at_least": {"rolls": 5.0}}
    assert set_from_plain(problem, said, outcomes).words == "a plan with at least 5 rolls"
    assert problem.at_least("rye", 5).words == "a plan with at least 5 rye"
    with pytest.raises(InputError, match=r"'part' must be among 'rolls', 'rye'. Got 'oats' instead"):
        problem.at_least("oats", 5).named(outcomes)
