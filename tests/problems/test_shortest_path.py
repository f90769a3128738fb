"""Shortest paths, held against the list of all paths and against the textbook programs."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from sklearn.base import clone
from tests.blocks import seeds

from whence.errors import InputError, InputTypeError
from whence.problems import shortest_path
from whence.problems.routes import RouteNetwork
from whence.problems.shortest_path import ShortestPath, safest_route
from whence.risk import CVaR, Expectation


def random_graph(rng, acyclic):
    """A graph on 3 to 8 shuffled nodes with a path from its first to its last, loops and dead ends included."""
    size = int(rng.integers(3, 9))
    names = [f"n{i}" for i in rng.permutation(size)]
    graph = nx.DiGraph()
    graph.add_nodes_from(rng.permutation(names).tolist())
    graph.add_edges_from(pairwise(names))
    for _ in range(int(rng.integers(0, 3 * size))):
        u, v = (int(i) for i in rng.integers(0, size, 2))
        if not acyclic or u < v:
            graph.add_edge(names[u], names[v])
    return graph, names[0], names[-1]


def random_weights(rng, n):
    """Weights with zeros; every third time all equal, so that tails split atoms exactly or not at all."""
    weights = rng.dirichlet(np.ones(n)) if rng.integers(3) else np.ones(n)
    weights[rng.random(n) < 0.3] = 0.0
    if not weights.any():
        weights[0] = 1.0
    return weights / weights.sum()


def random_costs(rng, n, edges, negative):
    """Edge costs: continuous, or small whole numbers with many ties."""
    costs = rng.uniform(0, 5, (n, edges)) if rng.integers(2) else rng.integers(0, 4, (n, edges)).astype(float)
    return costs - 2.0 if negative else costs


def least_by_listing(problem, Y, weights, risk):
    """Smallest risk over all simple paths as networkx lists them."""
    columns = {edge: e for e, edge in enumerate(problem.graph.edges)}
    paths = nx.all_simple_edge_paths(problem.graph, problem.source, problem.target)
    return min(risk.of(sum(Y[:, columns[edge]] for edge in path), weights) for path in paths)


def textbook(problem, Y, weights, alpha=None):
    """Optimal value of the flow program with binary edges, and for CVaR a level and an excess a sample."""
    nodes = {node: i for i, node in enumerate(problem.graph.nodes)}
    edges = list(problem.graph.edges)
    n, m = Y.shape
    balance = np.zeros((len(nodes), m))
    for e, (u, v) in enumerate(edges):
        balance[nodes[u], e] += 1.0
        balance[nodes[v], e] -= 1.0
    supply = np.zeros(len(nodes))
    supply[nodes[problem.source]], supply[nodes[problem.target]] = 1.0, -1.0
    if alpha is None:
        found = milp(weights @ Y, constraints=LinearConstraint(balance, supply, supply), bounds=Bounds(0, 1))
        return found.fun
    flow = LinearConstraint(np.hstack([balance, np.zeros((len(nodes), n + 1))]), supply, supply)
    excess = LinearConstraint(sparse.hstack([-Y, np.ones((n, 1)), sparse.eye_array(n)]), 0, np.inf)
    found = milp(
        np.concatenate([np.zeros(m), [1.0], weights / (1 - alpha)]),
        constraints=[flow, excess],
        bounds=Bounds(
            np.concatenate([np.zeros(m), [-np.inf], np.zeros(n)]), np.concatenate([np.ones(m), np.full(n + 1, np.inf)])
        ),
        integrality=np.concatenate([np.ones(m), np.zeros(n + 1)]),
        options={"mip_rel_gap": 0.0},
    )
    assert found.status == 0, found.message
    return found.fun


RISKS = [Expectation(), CVaR(0.0), CVaR(0.3), CVaR(0.8), CVaR(0.95)]


@pytest.mark.parametrize("block", seeds(3, 10))
def test_acyclic_graphs_give_the_best_of_all_paths(block):
    """On 300 random acyclic graphs, negative costs included, both risks reach the minimum over all paths."""
    for seed in range(30 * block, 30 * block + 30):
        rng = np.random.default_rng(seed)
        problem = ShortestPath(*random_graph(rng, acyclic=True))
        n = int(rng.integers(1, 25))
        Y = random_costs(rng, n, len(problem.parts()), negative=seed % 3 == 0)
        weights = random_weights(rng, n)
        for risk in RISKS:
            plan = problem.solve(Y, weights, risk)
            assert problem.check(plan) is None
            value = risk.of(problem.costs(plan, Y), weights)
            assert value == pytest.approx(least_by_listing(problem, Y, weights, risk), abs=1e-9), (seed, risk)


@pytest.mark.parametrize("block", seeds(3, 10))
def test_cyclic_graphs_give_the_best_of_all_paths(block):
    """On 200 random graphs with cycles and costs of at least 0, both risks reach the minimum over all paths."""
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(1000 + seed)
        problem = ShortestPath(*random_graph(rng, acyclic=False))
        n = int(rng.integers(1, 25))
        Y = random_costs(rng, n, len(problem.parts()), negative=False)
        weights = random_weights(rng, n)
        for risk in RISKS:
            plan = problem.solve(Y, weights, risk)
            assert problem.check(plan) is None
            value = risk.of(problem.costs(plan, Y), weights)
            assert value == pytest.approx(least_by_listing(problem, Y, weights, risk), abs=1e-9), (seed, risk)


@pytest.mark.parametrize("per_sample", [True, False])
def test_negative_costs_on_cyclic_graphs(per_sample):
    """Costs may be negative around cycles as long as the mean around each is not: shifted costs, 100 cases a kind."""
    for seed in range(100):
        rng = np.random.default_rng(2000 + seed)
        graph, source, target = random_graph(rng, acyclic=False)
        problem = ShortestPath(graph, source, target)
        n = int(rng.integers(2, 15))
        Y = random_costs(rng, n, len(problem.parts()), negative=False)
        weights = random_weights(rng, n)
        if not per_sample:
            # Centred noise around a mean of at least 1: single samples have negative cycles, the mean has none.
            noise = rng.normal(0, 3, Y.shape)
            Y += 1.0 + noise - weights @ noise
        shift = [dict(zip(graph.nodes, rng.uniform(-3, 3, len(graph)), strict=True)) for _ in range(n)]
        Y += np.array([[s[u] - s[v] for u, v in graph.edges] for s in shift])
        for risk in RISKS:
            plan = problem.solve(Y, weights, risk)
            assert problem.check(plan) is None
            value = risk.of(problem.costs(plan, Y), weights)
            assert value == pytest.approx(least_by_listing(problem, Y, weights, risk), abs=1e-9), (seed, risk)


@pytest.mark.parametrize("alpha", [None, 0.5, 0.8])
def test_same_optimum_as_the_textbook_program(alpha):
    """On 40 random graphs a risk, half of them cyclic, the optimum equals that of the MILP in HiGHS."""
    for seed in range(40):
        rng = np.random.default_rng(3000 + seed)
        problem = ShortestPath(*random_graph(rng, acyclic=seed % 2 == 0))
        n = int(rng.integers(1, 20))
        Y = random_costs(rng, n, len(problem.parts()), negative=False)
        weights = random_weights(rng, n)
        risk = Expectation() if alpha is None else CVaR(alpha)
        value = risk.of(problem.costs(problem.solve(Y, weights, risk), Y), weights)
        assert value == pytest.approx(textbook(problem, Y, weights, alpha), abs=1e-6), seed


@pytest.mark.parametrize("width", [2, 3, 5, 7])
def test_searching_and_listing_agree(width):
    """Branch and bound over partial routes finds the same CVaR as the list of all routes of a grid."""
    problem = ShortestPath.grid(width)
    network = RouteNetwork(problem.graph, problem.source, problem.target)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        Y = random_costs(rng, 40, len(network.edges), negative=seed % 2 == 0)
        weights = random_weights(rng, 40)
        risk = CVaR([0.2, 0.5, 0.8, 0.9][seed % 4])
        listed = risk.of(problem.costs(problem.solve(Y, weights, risk), Y), weights)
        searched = risk.of(Y[:, safest_route(network, Y, weights, 1.0 - risk.alpha)].sum(axis=1), weights)
        assert searched == pytest.approx(listed, abs=1e-9), seed


def test_wide_grid_is_searched():
    """A grid with 705,432 routes, too many to list, still gives the optimum of the textbook program."""
    problem = ShortestPath.grid(12)
    rng = np.random.default_rng(0)
    Y = rng.uniform(0.5, 1.5, (20, 264)) + rng.uniform(0, 1, (20, 264))
    weights = random_weights(rng, 20)
    value = CVaR(0.8).of(problem.costs(problem.solve(Y, weights, CVaR(0.8)), Y), weights)
    assert value == pytest.approx(textbook(problem, Y, weights, 0.8), abs=1e-6)


def test_grid():
    """The grid has 2 L (L - 1) edges, right and down, and 2 (L - 1) of them on every route."""
    for width in (2, 4, 8):
        problem = ShortestPath.grid(width)
        edges = list(problem.graph.edges)
        assert len(problem.parts()) == len(edges) == 2 * width * (width - 1)
        assert all((v[0] - u[0], v[1] - u[1]) in {(0, 1), (1, 0)} for u, v in edges)
        plan = problem.solve(np.ones((1, len(edges))), np.ones(1), Expectation())
        assert plan[0] == (0, 0)
        assert plan[-1] == (width - 1, width - 1)
        assert problem.vector(plan).sum() == 2 * (width - 1)


def test_single_edge():
    """A graph of one edge has one plan, in every form."""
    problem = ShortestPath(nx.DiGraph([("a", "b")]), "a", "b")
    Y = np.array([[2.0], [4.0]])
    for risk in RISKS:
        assert problem.solve(Y, np.array([0.5, 0.5]), risk) == ["a", "b"]
    for plan in (["a", "b"], [("a", "b")], np.array([1.0])):
        assert problem.check(plan) is None
        assert problem.costs(plan, Y).tolist() == [2.0, 4.0]


def test_ties_take_the_first_edge():
    """Among equally cheap routes the one over earlier edges is taken, every time."""
    problem = ShortestPath.grid(4)
    Y = np.ones((5, 24))
    for risk in RISKS:
        plan = problem.solve(Y, np.full(5, 0.2), risk)
        assert plan == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 3), (2, 3), (3, 3)]


def diamond():
    """Two ways from s to t, a detour back, a dead end, and a node apart."""
    graph = nx.DiGraph(
        [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b"), ("b", "a"), ("a", "end"), ("t", "after")]
    )
    graph.add_node("apart")
    return ShortestPath(graph, "s", "t")


def test_forms_of_a_plan():
    """Nodes, edges and an edge vector, also as arrays or as lists from JSON, all mean the same route."""
    problem = diamond()
    Y = np.random.default_rng(0).uniform(size=(6, 8))
    nodes = ["s", "a", "b", "t"]
    vector = problem.vector(nodes)
    assert vector.tolist() == [float(edge in {("s", "a"), ("a", "b"), ("b", "t")}) for edge in problem.graph.edges]
    forms = [
        tuple(nodes),
        np.array(nodes),
        [("s", "a"), ("a", "b"), ("b", "t")],
        [["s", "a"], ["a", "b"], ["b", "t"]],
        np.array([("s", "a"), ("a", "b"), ("b", "t")]),
        vector,
        vector.astype(int),
        vector.astype(bool),
        vector.tolist(),
        vector * (1 - 1e-9),
        iter(nodes),
    ]
    for form in forms:
        if not hasattr(form, "__next__"):
            assert problem.check(form) is None, form
        np.testing.assert_array_equal(problem.costs(form, Y), problem.costs(nodes, Y))
    np.testing.assert_allclose(problem.costs(nodes, Y), Y @ vector)
    assert problem.describe(vector) == "s → a → b → t"
    assert problem.parts()[0] == "s -> a"
    grid = ShortestPath.grid(2)
    for form in ([(0, 0), (0, 1), (1, 1)], [[0, 0], [0, 1], [1, 1]], np.array([[0, 0], [0, 1], [1, 1]])):
        assert grid.vector(form).sum() == 2.0
    assert grid.vector([((0, 0), (1, 0)), ((1, 0), (1, 1))]).sum() == 2.0


def test_nodes_that_are_numbers():
    """Integer nodes in a list or an array are nodes; an array of 0 and 1 with one entry per edge is an edge vector."""
    problem = ShortestPath(nx.DiGraph([(0, 1), (1, 2), (0, 2)]), 0, 2)
    for nodes in ([0, 1, 2], np.array([0, 1, 2])):
        assert problem.vector(nodes).tolist() == [float(edge in {(0, 1), (1, 2)}) for edge in problem.graph.edges]
    assert problem.vector([0, 2]).sum() == 1.0
    route = np.array([float(edge == (0, 2)) for edge in problem.graph.edges])
    assert problem.describe(route) == "0 → 2"


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (["s", "t"], "The route does not exist: there is no edge s -> t."),
        ([("s", "t")], "The route does not exist: there is no edge s -> t."),
        (["s", "x", "t"], "The route does not exist: 'x' is not a node of the graph."),
        ([("s", "x"), ("x", "t")], "The route does not exist: 'x' is not a node of the graph."),
        (["a", "t"], "The route must start at s, not at a."),
        (["s", "a", "end"], "The route must end at t, not at end."),
        (["s"], "The route must end at t, not at s."),
        (["s", "a", "b", "a", "t"], "The route must visit no node twice, but visits a again."),
        ([("s", "a"), ("b", "t")], "The edges of the route do not join up: s -> a is followed by b -> t."),
        ([], "The route is empty."),
        ("s", "A route must be a list of nodes, a list of edges or a 0/1 edge vector, not 's'."),
        (7, "A route must be a list of nodes, a list of edges or a 0/1 edge vector, not 7."),
        (["q", {}], "The route does not exist: 'q' is not a node of the graph."),
        (np.ones(3), "An edge vector must have 8 entries, not 3."),
        (np.full(8, 0.5), "An edge vector must hold nothing but 0 and 1."),
        (np.zeros(8), "The edge vector is not one path to t: none of its edges leaves s."),
        (["s a", "s b"], "The edge vector is not one path: two of its edges leave s."),
        (["s a", "a end"], "The edge vector is not one path to t: none of its edges leaves end."),
        (["s a", "a t", "t after"], "The edge vector is not one path: the edge t -> after is not on the way to t."),
        (["s a", "a b", "b a"], "The edge vector is not one path to t: its edges run in a circle through b."),
        (["s a", "a t", "b a"], "The edge vector is not one path: the edge b -> a is not on the way to t."),
    ],
)
def test_every_sentence_of_check(plan, sentence):
    """A plan that is no route is refused with the reason, by check and by everything that takes a plan."""
    problem = diamond()
    if isinstance(plan, list) and plan and isinstance(plan[0], str) and " " in plan[0]:
        chosen = [tuple(edge.split()) for edge in plan]
        plan = np.array([float(edge in chosen) for edge in problem.graph.edges])
    assert problem.check(plan) == sentence
    for method in (lambda: problem.costs(plan, np.ones((1, 8))), lambda: problem.vector(plan)):
        with pytest.raises(InputError) as refused:
            method()
        assert str(refused.value) == f"The 'decision' argument of ShortestPath must be a route of the graph. {sentence}"


def test_missing_hop_of_a_numbered_network():
    """A published route that is not in the network is refused with the missing hop named."""
    problem = ShortestPath(nx.DiGraph([(1221, 1263), (1263, 1260), (1260, 1259), (1259, 1256)]), 1221, 1256)
    assert problem.check([1221, 1263, 1260, 1256]) == "The route does not exist: there is no edge 1260 -> 1256."


def test_negative_cycle_is_named():
    """A cycle of negative mean cost is refused for both risks, with its nodes and cost."""
    problem = diamond()
    costs = dict.fromkeys(problem.graph.edges, 1.0) | {("a", "b"): -3.0}
    Y = np.array([list(costs.values())])
    for risk in (Expectation(), CVaR(0.5)):
        with pytest.raises(InputError, match=r"Got -2 on (a -> b -> a|b -> a -> b) instead"):
            problem.solve(Y, np.ones(1), risk)


def test_cycles_off_every_route_do_not_matter():
    """Negative loops, dead ends, and edges into the source or out of the target change nothing."""
    graph = nx.DiGraph([("s", "t"), ("t", "s"), ("s", "s"), ("t", "x"), ("x", "y"), ("y", "x"), ("w", "s")])
    problem = ShortestPath(graph, "s", "t")
    Y = np.full((3, 7), -1.0)
    for risk in RISKS:
        assert problem.solve(Y, np.full(3, 1 / 3), risk) == ["s", "t"]


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((nx.Graph([(1, 2)]), 1, 2), InputTypeError, "must be a networkx DiGraph. Got Graph instead."),
        ((nx.MultiDiGraph([(1, 2)]), 1, 2), InputTypeError, "must be a networkx DiGraph. Got MultiDiGraph instead."),
        (([(1, 2)], 1, 2), InputTypeError, "must be a networkx DiGraph. Got list instead."),
        ((nx.DiGraph([(1, 2)]), 3, 2), InputError, "'source' parameter of ShortestPath must be a node of the graph"),
        ((nx.DiGraph([(1, 2)]), 1, 3), InputError, "'target' parameter of ShortestPath must be a node of the graph"),
        ((nx.DiGraph([(1, 2)]), 1, 1), InputError, "must differ from 'source'"),
        ((nx.DiGraph([(1, 2)]), 2, 1), InputError, "must have a path from 2 to 1"),
    ],
)
def test_graphs_that_cannot_be_used(arguments, error, sentence):
    """A graph of another kind, unknown ends and missing paths are refused when the problem is made."""
    with pytest.raises(error, match=sentence.replace("'", ".")):
        ShortestPath(*arguments)


@pytest.mark.parametrize("width", [1, 0, 2.5, "4", True])
def test_grid_widths_that_cannot_be_used(width):
    """A grid needs a whole number of at least two nodes a side."""
    with pytest.raises(InputError, match=r"'width' parameter of ShortestPath\.grid must be an int of at least 2"):
        ShortestPath.grid(width)


def test_samples_and_risks_that_cannot_be_used():
    """Columns, weights, NaN and unknown risks are refused by name."""
    problem = ShortestPath.grid(2)
    for Y, weights, sentence in [
        (np.ones((2, 3)), np.full(2, 0.5), "2-D with 4 columns"),
        (np.ones((2, 4)), np.full(3, 1 / 3), "one weight per row"),
        (np.ones((2, 4)), np.array([2.0, -1.0]), "non-negative and sum to 1"),
        (np.full((2, 4), np.nan), np.full(2, 0.5), "finite"),
    ]:
        with pytest.raises(InputError, match=sentence):
            problem.solve(Y, weights, Expectation())
    with pytest.raises(InputError, match="must be 2-D with 4 columns"):
        problem.costs([(0, 0), (0, 1), (1, 1)], np.ones(4))
    with pytest.raises(InputTypeError, match="must be Expectation or CVaR"):
        problem.solve(np.ones((2, 4)), np.full(2, 0.5), "mean")


def test_routes_are_the_corners_of_the_polytope():
    """On 60 random acyclic graphs the linear program over unit flows costs what the best route costs."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = ShortestPath(*random_graph(rng, acyclic=True))
        Y = random_costs(rng, 5, len(problem.parts()), negative=seed % 2 == 0)
        weights = random_weights(rng, 5)
        plan = problem.solve(Y, weights, Expectation())
        space, prices = problem.polytope(), weights @ problem.cost_rows(Y)
        assert np.array_equal(space.A_eq @ problem.vector(plan), space.b_eq)
        bounds = np.column_stack((space.lower, space.upper))
        best = linprog(prices, A_eq=space.A_eq, b_eq=space.b_eq, bounds=bounds)
        assert best.fun == pytest.approx(prices @ problem.vector(plan), abs=1e-8), seed


def test_cycles_have_no_polytope_of_routes():
    """Where a route could run into a cycle, flows are not routes, and one sentence says so."""
    problem = ShortestPath(nx.DiGraph([(0, 1), (0, 2), (1, 2), (2, 1), (1, 3), (2, 3)]), 0, 3)
    with pytest.raises(InputError, match="needs a graph without cycles between source and target"):
        problem.polytope()


def test_copies_behave_the_same():
    """Clones, deep copies and pickles of a used problem decide alike, and set_params reads the new ends."""
    problem = ShortestPath.grid(4)
    rng = np.random.default_rng(0)
    Y, weights = rng.uniform(size=(10, 24)), np.full(10, 0.1)
    plan = problem.solve(Y, weights, CVaR(0.5))
    size = len(pickle.dumps(ShortestPath.grid(4)))
    assert len(pickle.dumps(problem)) == size
    for other in (clone(problem), copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        assert other.solve(Y, weights, CVaR(0.5)) == plan
        assert other.parts() == problem.parts()
    assert problem.get_params(deep=False).keys() == {"graph", "source", "target", "cost_unit"}
    problem.set_params(target=(1, 1))
    assert problem.solve(Y, weights, CVaR(0.5))[-1] == (1, 1)
    with pytest.raises(InputError, match="must be a node of the graph"):
        problem.set_params(target="nowhere").parts()


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "searched"])
def test_routes_a_thousandth_apart_are_told_apart(listed, monkeypatch):
    """Where all routes cost about the same, the best is found all the same: no bound gives up too early."""
    if not listed:
        monkeypatch.setattr(shortest_path, "LISTED_ROUTES", 1)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = ShortestPath.grid(4)
        Y = 10.0 + 0.1 * rng.random((15, problem.outcome_columns()))
        weights = rng.dirichlet(np.ones(15))
        routes = list(nx.all_simple_paths(problem.graph, problem.source, problem.target))
        for risk in (Expectation(), CVaR(0.3), CVaR(0.8)):
            best = min(risk.of(problem.costs(route, Y), weights) for route in routes)
            found = risk.of(problem.costs(problem.solve(Y, weights, risk), Y), weights)
            assert found <= best * (1.0 + 1e-12)
