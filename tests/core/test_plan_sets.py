"""Criteria of sets of plans: the excess at a cell, and bounds over boxes, against every cell and every plan."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from tests.blocks import seeds
from tests.core.forest_cells import Floats, ForestScene

import whence as wh
from whence import ShortestPath
from whence._core import ForestSearch, LeafSamples, Network, PlanList, RouteTable, StockCriterion, StockTable
from whence.problems.route_sets import RouteSet
from whence.search.grid import alive_leaves
from whence.search.set_search import list_criterion, row_of_plans

TAU = 1e-6


def table_of(costs: Any, arcs: Any) -> RouteTable:
    """A table of what edges cost in every leaf: each has one observation of its own."""
    leaves = len(costs)
    samples = LeafSamples(np.arange(leaves, dtype=np.int32), np.arange(leaves), np.ones(leaves, dtype=int), 1)
    return RouteTable(np.ascontiguousarray(costs), samples, np.ones(leaves), Network(*arcs))


def arcs_of(routes: RouteSet) -> tuple[Any, int, int, int]:
    """Return the arcs of a set of routes, how many nodes they join, and both ends."""
    found = routes.structure(np.zeros((1, 1)))
    assert found is not None
    return found.arcs, found.nodes, found.source, found.target


def check_search(scene: ForestScene, criterion: Any, excess: Floats, **how: Any) -> None:
    """No bound over a box loses a cell that holds, and the search finds the nearest one, or that there is none."""
    good = excess <= TAU
    scene.bounded(criterion, TAU, excess <= TAU - 1e-9, np.random.default_rng(len(excess)))
    nearest = float(scene.distance[good].min(initial=np.inf))
    search = ForestSearch(scene.located, criterion, TAU)
    reached, bound = search.advance(10**6, np.inf, **how)
    assert reached == bool(good.any())
    assert bound == pytest.approx(nearest) if reached else bound == np.inf


@pytest.mark.parametrize("alpha", [None, 0.0, 0.5, 0.8])
@pytest.mark.parametrize("absolute", [False, True])
def test_lists_of_plans(alpha: float | None, absolute: bool) -> None:
    """Under both risks, against one rival or the cheapest of several."""
    for seed in range(12):
        scene = ForestScene(seed, alpha=alpha, rivals=5)
        costs = np.ascontiguousarray(scene.policy.Y_.T)
        plans, rivals = costs[:3], costs[3:] if absolute else costs[3:4]
        criterion = list_criterion(scene.question, scene.kept, plans, rivals)
        assert criterion is not None
        values = np.array([[scene.risk.of(row, w) for row in costs] for w in scene.weights])
        excess = values[:, :3].min(axis=1) - values[:, 3 : 3 + len(rivals)].min(axis=1)
        for leaves, over in list(zip(scene.leaves, excess, strict=True))[:50]:
            said = criterion.excess(leaves).over
            # Thresholds that cannot stand anywhere are left out, so that it may be called worse than it is.
            assert said == pytest.approx(over, abs=1e-9) or (over > TAU and said > TAU)
        check_search(scene, criterion, excess)
        check_search(scene, criterion, excess, sharp=True)


def test_a_list_of_very_many_plans() -> None:
    """Rows that are added one by one stay what they are, however many there are."""
    rng, leaves = np.random.default_rng(0), 5
    rows, rival = rng.random((1300, leaves)), np.zeros((1, leaves))
    for some in (1, 512, 513, 1300):
        criterion = PlanList(leaves)
        criterion.add_rivals(rival)
        for row in rows[:some]:
            criterion.add_plans(row[None, :])
        for _ in range(20):
            at = rng.integers(0, leaves, 3).astype(np.int32)
            assert criterion.excess(at).over == pytest.approx(rows[:some, at].sum(axis=1).min(), abs=1e-12)


@pytest.mark.parametrize("absolute", [False, True])
def test_routes_are_listed_box_by_box(absolute: bool) -> None:
    """Routes of a grid, without a list from outside."""
    problem = ShortestPath.grid(3)
    routes = RouteSet(problem).through((1, 1)) if absolute else RouteSet(problem)
    every = [problem.vector(list(r)) for r in nx.all_simple_paths(problem.graph, (0, 0), (2, 2))]
    own = [problem.vector(route) for route in routes.plans(10)]
    for seed in range(15):
        scene = ForestScene(seed)
        rng = np.random.default_rng(seed)
        Y = rng.integers(0, 9, (len(scene.policy.Y_), 12)) + 3.0 * scene.policy.Y_[:, :1] * rng.normal(size=12)
        edges = np.ascontiguousarray(row_of_plans(scene.kept, Y.T).T)
        decision = Y @ every[seed % 6] * 0.9
        tables = [table_of(edges, arcs_of(one)) for one in ([routes, RouteSet(problem)] if absolute else [routes])]
        criterion = PlanList(scene.grid.leaves)
        criterion.add_rivals(row_of_plans(scene.kept, decision[None, :]))
        criterion.set_routes(*tables)
        means = scene.weights @ Y
        rival = scene.weights @ decision
        if absolute:
            rival = np.minimum(rival, np.min([means @ route for route in every], axis=0))
        excess = np.min([means @ route for route in own], axis=0) - rival
        for leaves, over in list(zip(scene.leaves, excess, strict=True))[:50]:
            assert criterion.excess(leaves).over == pytest.approx(over, abs=1e-9)
        check_search(scene, criterion, excess)


@pytest.mark.parametrize("width", [8, 10])
def test_routes_that_are_too_many_to_be_listed(width: int) -> None:
    """Boxes are bounded for all routes together, against the shortest route at every cell."""
    problem = ShortestPath.grid(width)
    edge = {pair: e for e, pair in enumerate(problem.graph.edges)}
    arcs = arcs_of(RouteSet(problem))
    for seed in range(8):
        scene, rng = ForestScene(seed), np.random.default_rng(seed)
        n = len(scene.policy.Y_)
        Y = rng.integers(3, 9, (n, len(edge))) + scene.policy.Y_[:, :1] * rng.normal(size=len(edge))
        means = scene.weights @ Y
        far = {(0, 0): np.zeros(len(means))}
        for node in list(nx.topological_sort(problem.graph))[1:]:
            far[node] = np.min([far[p] + means[:, edge[p, node]] for p in problem.graph.predecessors(node)], axis=0)
        shortest = far[width - 1, width - 1]
        # A rival that costs about as much as the shortest route does in a cell between the best and the worst.
        decision = rng.normal(float(np.quantile(shortest, 0.2)), 1.0, n)
        criterion = PlanList(scene.grid.leaves)
        criterion.add_rivals(row_of_plans(scene.kept, decision[None, :]))
        criterion.set_routes(table_of(row_of_plans(scene.kept, Y.T).T, arcs))
        excess = shortest - scene.weights @ decision
        check_search(scene, criterion, excess)


def test_the_best_routes_of_some_contexts() -> None:
    """A list of them is as good as all routes in these contexts, and never better."""
    problem = ShortestPath.grid(4)
    arcs = arcs_of(RouteSet(problem))
    for seed in range(10):
        scene, rng = ForestScene(seed), np.random.default_rng(seed)
        Y = rng.integers(3, 9, (len(scene.policy.Y_), 24)) + scene.policy.Y_[:, :1] * rng.normal(size=24)
        criterion = PlanList(scene.grid.leaves)
        criterion.add_rivals(row_of_plans(scene.kept, 20.0 * np.ones((1, len(Y)))))
        criterion.set_routes(table_of(row_of_plans(scene.kept, Y.T).T, arcs))
        some = rng.integers(0, len(scene.leaves), 3)
        few = criterion.best_at(np.ascontiguousarray(scene.leaves[some], dtype=np.int32))
        assert 1 <= few.plans <= 3
        for i, leaves in enumerate(scene.leaves[:200]):
            excess = criterion.excess(leaves).over
            assert few.excess(leaves).over >= excess - 1e-9
            if i in some:
                assert few.excess(leaves).over == pytest.approx(excess, abs=1e-9)
    with pytest.raises(ValueError, match="must be all routes of a network"):
        few.best_at(np.zeros((1, 1), dtype=np.int32))


@pytest.mark.parametrize("absolute", [False, True])
def test_quantities_one_by_one(absolute: bool) -> None:
    """Ranges of breakpoints, against the best quantities at every cell."""
    for seed in range(15):
        scene = ForestScene(seed, rivals=2)
        rng = np.random.default_rng(seed)
        demand = np.abs(scene.policy.Y_[:, :2] * 4.0 + rng.integers(0, 5, (len(scene.policy.Y_), 2))).round(1)
        holding, backorder = rng.integers(1, 4, 2).astype(float), rng.integers(1, 5, 2).astype(float)
        lower, upper = np.array([2.0, 0.0]), np.array([np.inf, 4.0])
        free = np.zeros(2), np.full(2, np.inf)

        def costs(quantity: Floats, j: int, y: Floats = demand, h: Floats = holding, b: Floats = backorder) -> Floats:
            over = quantity - y[:, j]
            return np.asarray(np.maximum(h[j] * over, -b[j] * over))

        def best(limits: Any, y: Floats = demand, scene: ForestScene = scene, costs: Any = costs) -> Floats:
            total = np.zeros(len(scene.weights))
            for j in range(2):
                points = np.unique(np.clip(y[:, j], limits[0][j], limits[1][j]))
                total += np.min([scene.weights @ costs(point, j) for point in points], axis=0)
            return total

        plan = [float(np.median(demand[:, 0])), float(np.median(demand[:, 1]))]
        decision = 0.95 * (costs(np.array(plan[0]), 0) + costs(np.array(plan[1]), 1))
        kept = scene.kept
        made = [StockTable(kept.leaf_samples, demand, holding, backorder, *limits) for limits in ((lower, upper), free)]
        rival = np.ascontiguousarray(row_of_plans(kept, decision[None, :])[0])
        criterion = StockCriterion(made[0], rival, made[1] if absolute else None)
        limit = scene.weights @ decision
        if absolute:
            limit = np.minimum(limit, best(free))
        excess = best((lower, upper)) - limit
        for leaves, over in list(zip(scene.leaves, excess, strict=True))[:50]:
            assert criterion.excess(leaves).over == pytest.approx(over, abs=1e-9)
        check_search(scene, criterion, excess)


def test_quantities_where_rows_count_for_more_and_rivals_need_a_budget() -> None:
    """Costs of every breakpoint in each leaf, and the best rival that can be paid for, by their definitions."""
    spared = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 9])
        demand, mass = rng.random((6, 2)).round(2), rng.choice([0.5, 1.0, 3.0], 6)
        rates = rng.uniform(0.5, 3.0, (2, 2))
        members = [rng.permutation(6)[:3], rng.permutation(6)[3:], rng.permutation(6)[:2], rng.permutation(6)[:4]]
        size = np.array([len(own) for own in members], dtype=np.int64)
        samples = np.concatenate(members).astype(np.int32)
        leaves = (LeafSamples(samples, np.cumsum(size) - size, size, 2, mass), demand, *rates)
        limits = np.array([0.4, 0.0]), np.array([np.inf, 0.5])
        some, every = (StockTable(*leaves, *ends) for ends in (limits, (np.zeros(2), np.full(2, np.inf))))

        def costs(point: float, j: int, own: Any, y: Floats = demand, r: Floats = rates, m: Floats = mass) -> float:
            over = point - y[own, j]
            return float(np.average(np.maximum(r[0, j] * over, -r[1, j] * over), weights=m[own])) / 2

        def best(low: Any, high: Any, at: Any, y: Floats = demand, m: Any = members, costs: Any = costs) -> Any:
            total, bought = 0.0, 0.0
            for j in range(2):
                points = np.unique(np.clip(y[:, j], low[j], high[j]))
                sums = [sum(costs(point, j, m[leaf]) for leaf in at) for point in points]
                total, bought = total + min(sums), bought + float(points[int(np.argmin(sums))])
            return total, bought

        rival = rng.uniform(0.0, 0.6, 4)
        budget = float(rng.uniform(0.3, 1.5))
        criterion = StockCriterion(some, rival, every, budget)
        for at in ((0, 2), (1, 3), (0, 3)):
            own, (cheapest, bought) = best(*limits, at)[0], best(np.zeros(2), np.full(2, np.inf), at)
            limit = rival[list(at)].sum()
            spared += cheapest < limit and bought > budget
            limit = min(limit, cheapest) if bought <= budget else limit
            assert criterion.excess(np.array(at, dtype=np.int32)).over == pytest.approx(own - limit, abs=1e-12), seed
    assert spared > 5


@pytest.mark.parametrize("dearest", [0.4, 100.0])
def test_quantities_that_keep_a_budget(dearest: float) -> None:
    """Prices of a unit bound the best quantities that keep it from below, and name them where none is too dear."""
    bound_by_price = 0
    for seed in seeds(10, 300):
        scene = ForestScene(seed, rivals=2)
        rng, kept = np.random.default_rng(seed), scene.kept
        demand = np.abs(scene.policy.Y_[:, :2] * 4.0 + rng.integers(0, 5, (len(scene.policy.Y_), 2))).round(1)
        holding, backorder = rng.integers(1, 4, 2).astype(float), rng.integers(1, 5, 2).astype(float)
        budget = float(np.median(demand, axis=0).sum() * rng.uniform(0.3, 1.1))
        problem = wh.Newsvendor(holding, backorder, budget=budget)
        best = np.array([w @ problem.costs(problem.solve(demand, w, wh.Expectation()), demand) for w in scene.weights])
        free = np.zeros(2), np.full(2, np.inf)
        alive = alive_leaves(scene.located, kept, np.inf) if seed % 2 else (None, None)
        leaves = (kept.leaf_samples, demand, holding, backorder, *free)
        table = StockTable(*leaves, *alive, dearest)
        decision = 0.95 * problem.costs(np.median(demand, axis=0) * 0.8, demand)
        rival = np.ascontiguousarray(row_of_plans(kept, decision[None, :])[0])
        criterion = StockCriterion(table, rival, None, budget)
        excess = best - scene.weights @ decision
        found = np.array([criterion.excess(leaves).over for leaves in scene.leaves])
        assert (found <= excess + 1e-9).all(), seed
        unpriced = StockCriterion(StockTable(*leaves), rival, None, budget)
        apart = np.array([unpriced.excess(leaves).over for leaves in scene.leaves])
        assert (found >= apart - 1e-9).all(), seed
        bound_by_price += int((found > apart + 1e-6).sum())
        if dearest > 5.0:
            assert found == pytest.approx(excess, abs=1e-9), seed
        check_search(scene, criterion, found)
    assert bound_by_price > 100


@pytest.mark.parametrize("budgeted", [False, True])
@pytest.mark.parametrize("products", [1, 3])
def test_quantities_better_than_a_decision_by_a_share(products: int, budgeted: bool) -> None:
    """What boxes leave of the quantities, product by product, where some must cost a share less than a decision."""
    met = 0
    for seed in seeds(12, 400):
        scene = ForestScene(seed, trees=6, depth=4, plain=True, n=30)
        rng, kept, problem, demand, best = _quantities(scene, seed, products, budgeted)
        budget = np.inf if problem.budget is None else problem.budget
        free = np.zeros(products), np.full(products, np.inf)
        rates = np.asarray(problem.holding), np.asarray(problem.backorder)
        table = StockTable(kept.leaf_samples, demand, *rates, *free, dearest=100.0 if budgeted else 0.0)
        plan = problem.solve(demand, scene.weights[int(rng.integers(len(scene.weights)))], wh.Expectation())
        decision = float(rng.choice([0.7, 0.9, 0.97])) * problem.costs(plan, demand)
        rival = np.ascontiguousarray(row_of_plans(kept, decision[None, :])[0])
        criterion = StockCriterion(table, rival, None, budget)
        excess = best - scene.weights @ decision
        met += int((excess <= TAU).any() and not (excess <= TAU).all())
        for leaves, over in list(zip(scene.leaves, excess, strict=True))[:20]:
            assert criterion.excess(leaves).over == pytest.approx(over, abs=1e-9), seed
        check_search(scene, criterion, excess)
    assert met > 3


def _quantities(scene: ForestScene, seed: int, products: int, budgeted: bool) -> Any:
    """A newsvendor whose demands follow the contexts of a scene, and what its best plan costs at every cell."""
    rng = np.random.default_rng([seed, products])
    points = scene.policy.schema_.encode(scene.policy.X_)
    demand = 5.0 + 4.0 * (points @ rng.normal(size=(points.shape[1], products))) + 2.0 * rng.normal(size=(30, products))
    demand = np.ascontiguousarray(np.maximum(demand, 0.0).round(1))
    rates = rng.integers(1, 6, (2, products)).astype(float)
    budget = float(np.median(demand, axis=0).sum() * rng.uniform(0.5, 1.2)) if budgeted else None
    problem = wh.Newsvendor(*rates, budget=budget)
    solved = [problem.solve(demand, w, wh.Expectation()) for w in scene.weights]
    best = np.array([w @ problem.costs(plan, demand) for w, plan in zip(scene.weights, solved, strict=True)])
    return rng, scene.kept, problem, demand, best


def test_tables_about_some_leaves() -> None:
    """Breakpoints that are left out are best nowhere among these leaves."""
    fewer = 0
    for seed in range(15):
        scene = ForestScene(seed, rivals=2)
        rng, kept = np.random.default_rng(seed), scene.kept
        demand = (40.0 * rng.random((len(scene.policy.Y_), 2)) * (1.0 + np.abs(scene.policy.Y_[:, :1]))).round(1)
        rates = rng.integers(1, 6, (2, 2)).astype(float)
        free = np.zeros(2), np.full(2, np.inf)
        leaves = (kept.leaf_samples, demand, *rates, *free)
        radius = float(np.quantile(scene.distance, 0.3)) + 1e-9
        alive, tree = alive_leaves(scene.located, kept, radius)
        whole, part = StockTable(*leaves), StockTable(*leaves, alive, tree)
        assert whole.whole
        assert part.whole
        nothing = np.zeros(kept.leaves)
        one, other = (StockCriterion(table, nothing, None) for table in (whole, part))
        for at in scene.leaves[scene.distance < radius]:
            assert set(at.tolist()) <= set(alive.tolist())
            assert other.excess(at).over == pytest.approx(one.excess(at).over, rel=1e-13, abs=1e-12)
        fewer += part.breakpoints < whole.breakpoints
        assert not StockTable(*leaves, alive, tree, 0.0, 0.0).whole
    assert fewer > 5


def test_arrays_of_another_shape_are_refused() -> None:
    """Rows, arcs and demands must be about the leaves, nodes and products."""
    criterion = PlanList(4)
    with pytest.raises(ValueError, match="one number a leaf"):
        criterion.add_plans(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="one number a leaf"):
        criterion.add_rivals(np.zeros((2, 5)))
    arcs = np.array([[0, 0, 1]], dtype=np.int32)
    with pytest.raises(ValueError, match="one column an edge"):
        table_of(np.zeros((4, 1)), (np.array([[1, 3, 0]], dtype=np.int32), 2, 1, 0))
    with pytest.raises(ValueError, match="about the nodes"):
        Network(arcs, 1, 0, 0)
    with pytest.raises(ValueError, match="from the target backwards"):
        table_of(np.zeros((4, 1)), (arcs, 3, 0, 2))
    with pytest.raises(ValueError, match="There must be a route"):
        table_of(np.zeros((4, 1)), (arcs, 3, 2, 1))
    samples, first = np.arange(4, dtype=np.int32), np.arange(4)
    leaves = LeafSamples(samples, first, np.ones(4, dtype=int), 1)
    with pytest.raises(ValueError, match="'costs' must have one row a sample"):
        RouteTable(np.zeros((3, 1)), leaves, np.ones(4), Network(arcs, 2, 0, 1))
    with pytest.raises(ValueError, match="Every leaf must have samples"):
        LeafSamples(samples, first, np.full(4, 2), 1)
    table = table_of(np.zeros((4, 1)), (arcs, 2, 0, 1))
    with pytest.raises(ValueError, match="There must be one rival"):
        criterion.set_routes(table)
    one = np.ones(1)
    leaf = LeafSamples(np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64), 1)
    with pytest.raises(ValueError, match="'demand' must have one row a sample"):
        StockTable(leaf, np.zeros((0, 1)), one, one, one, one)
    with pytest.raises(ValueError, match="'holding' array must hold 1"):
        StockTable(leaf, np.zeros((1, 1)), np.ones(2), one, one, one)
