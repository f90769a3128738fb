"""Decision-aware trees: least costs of both sides of a cut, and the splits that follow from them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from whence import CVaR, Expectation, Newsvendor, ShortestPath, _core
from whence.weights.decision_forest import GrownTree

COUNTS = (1, 1, 1, 2, 3)


def sums(problem, Y, rows, counts):
    """The least cost of some rows by the problem's own solver, each counted so often."""
    weights = np.bincount(rows, counts, minlength=len(Y))
    plan = problem.solve(Y, weights / weights.sum(), Expectation())
    return float(weights @ problem.costs(plan, Y))


def random_problem(rng, n):
    """A newsvendor, or routes, and a history of outcomes with ties."""
    if rng.random() < 0.5:
        products = int(rng.integers(1, 4))
        rates = rng.choice([0.0, 0.1, 1.0, 3.0], (2, products))
        rates[1][rates.sum(axis=0) == 0] = 2.0
        unit = float(rng.choice([1.0, 1e-6, 1e6]))
        return Newsvendor(rates[0], rates[1]), unit * rng.integers(-1, 9, (n, products)).astype(float)
    grid = ShortestPath.grid(3)
    return grid, rng.normal(3.0, 2.0, (n, grid.outcome_columns())).round(1)


def test_costs_of_both_sides_are_those_of_the_problem_itself():
    """At every cut, the best plans before and after it cost what `solve` and `costs` say."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 14))
        problem, Y = random_problem(rng, n)
        rows = rng.permutation(n)[: int(rng.integers(2, n + 1))]
        counts = rng.choice(COUNTS, rows.size).astype(float)
        cuts = np.arange(1, rows.size)
        found = problem.least_costs(Y, Expectation()).of_cuts(rows, counts, cuts)
        wanted = [sums(problem, Y, rows[:k], counts[:k]) + sums(problem, Y, rows[k:], counts[k:]) for k in cuts]
        # Demands below 0 cost the same whatever is ordered, and are left out.
        least = (
            float(
                np.bincount(rows, counts, minlength=n)
                @ np.maximum(-Y, 0.0)
                @ np.broadcast_to(problem.holding, Y.shape[1])
            )
            if isinstance(problem, Newsvendor)
            else 0.0
        )
        assert found + least == pytest.approx(wanted, rel=1e-9, abs=1e-9 * np.abs(Y).max())


def test_with_a_budget_the_cost_is_bounded_from_below_and_exact_for_the_whole_history():
    """No side is said to cost more than it does, and the multiplier of the whole history settles it as a whole."""
    close = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        n, products = int(rng.integers(4, 20)), int(rng.integers(1, 5))
        Y = rng.gamma(2.0, 3.0, (n, products)).round(1)
        problem = Newsvendor(
            rng.uniform(0.5, 2, products), rng.uniform(2, 9, products), budget=float(rng.uniform(1, 12))
        )
        least, rows, ones = problem.least_costs(Y, Expectation()), np.arange(n), np.ones(n)
        whole = least.of_cuts(rows, ones, np.array([n]))[0]
        assert whole == pytest.approx(sums(problem, Y, rows, ones), rel=1e-9)
        cuts = np.arange(1, n)
        wanted = np.array([sums(problem, Y, rows[:k], ones[:k]) + sums(problem, Y, rows[k:], ones[k:]) for k in cuts])
        found = least.of_cuts(rows, ones, cuts)
        assert (found <= wanted * (1 + 1e-9)).all()
        close += (found >= 0.95 * wanted).mean() / 60
    assert close > 0.9


def test_the_best_of_some_plans_is_the_smallest_sum():
    """Tables of any width, with fewer plans than lanes and more."""
    rng = np.random.default_rng(3)
    for plans in (1, 3, 8, 9, 20):
        values = rng.normal(size=(30, plans))
        rows, counts, cuts = rng.permutation(30)[:17], rng.choice(COUNTS, 17).astype(float), np.arange(1, 17)
        found = _core.PlanCosts(values).of_cuts(rows, counts, cuts)
        each = values[rows] * counts[:, None]
        wanted = [each[:k].sum(axis=0).min() + each[k:].sum(axis=0).min() for k in cuts]
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def naive_leaves(problem, X, Y, counts, depth, least, rows=None):
    """Sets of rows of the leaves of a tree that looks at every split of every feature; None where two are as good."""
    rows = np.flatnonzero(counts) if rows is None else rows
    whole, found = sums(problem, Y, rows, counts[rows]), []
    for feature in range(X.shape[1]):
        gone = np.isnan(X[rows, feature])
        values = np.unique(X[rows, feature][~gone])
        ways = [(value, False) for value in (values if gone.any() else values[:-1])]
        ways += [(value, True) for value in values[:-1]] if gone.any() else []
        for value, gone_left in ways:
            to_left = np.where(gone, gone_left, X[rows, feature] <= value)
            left, right = rows[to_left], rows[~to_left]
            if depth and min(left.size, right.size) >= least:
                cost = sums(problem, Y, left, counts[left]) + sums(problem, Y, right, counts[right])
                found.append((cost, left, right))
    found.sort(key=lambda split: split[0])
    scale = 1e-7 * max(abs(whole), 1e-12)
    if not found or found[0][0] >= whole - scale:
        return [frozenset(rows.tolist())]
    ways = {(frozenset(left.tolist())) for cost, left, _ in found if cost <= found[0][0] + scale}
    if len(ways) > 1:
        return None
    parts = [naive_leaves(problem, X, Y, counts, depth - 1, least, side) for side in found[0][1:]]
    return None if None in parts else parts[0] + parts[1]


def test_trees_split_where_both_sides_cost_least():
    """With all features tried, the leaves are those of a tree grown by brute force with the problem's own solver.

    In every second history numbers are missing, and go where both sides cost less.
    """
    compared = 0
    for seed in range(120):
        rng = np.random.default_rng([seed, 2])
        n, d = int(rng.integers(6, 16)), int(rng.integers(1, 4))
        X = rng.choice([rng.integers(0, 4, (n, d)), rng.normal(size=(n, d))]).astype(np.float32)
        problem, Y = random_problem(rng, n)
        if seed % 2:
            X[np.random.default_rng([seed, 3]).random((n, d)) < 0.25] = np.nan
        if isinstance(problem, Newsvendor):
            Y = np.abs(Y) + rng.random(Y.shape) * np.abs(Y).max()
        counts = np.bincount(rng.integers(n, size=n), minlength=n)
        depth, least = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        wanted = naive_leaves(problem, X.astype(float), Y, counts, depth, least)
        costs = problem.least_costs(Y, Expectation())
        grower = _core.TreeGrower(X, costs, Y, depth, least, d, False, bool(seed % 2))
        tree = GrownTree(*grower.grow(counts.astype(float), None, seed))
        if wanted is None:
            continue
        compared += 1
        grown, leaves = np.flatnonzero(counts), tree.apply(X)
        found = {frozenset(grown[leaves[grown] == leaf].tolist()) for leaf in np.unique(leaves[grown])}
        assert found == set(wanted), seed
    assert compared > 60


def test_where_no_split_lowers_the_cost_the_outcomes_decide():
    """One route is always best, so that only the variance is left to choose by."""
    X = np.array([[0.0, 5], [1, 4], [2, 3], [3, 9]], dtype=np.float32)
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")])
    problem, Y = ShortestPath(graph, "a", "c"), np.array([[9.0, 1, 9], [9, 1, 9], [9, 6, 9], [9, 6, 9]])
    costs, ones = problem.least_costs(Y, Expectation()), np.ones(4)
    still = _core.TreeGrower(X, costs, Y, 3, 1, 2, False).grow(ones, None, 0)
    assert still[0].tolist() == [-1]
    feature, threshold, *_ = _core.TreeGrower(X, costs, Y, 1, 1, 2, True).grow(ones, None, 0)
    assert (feature[0], threshold[0]) == (0, 1.5)


def spread_left(Y, counts, rows):
    """Squares of the outcomes of some rows around their mean."""
    mean = np.average(Y[rows], axis=0, weights=counts[rows])
    return float(counts[rows] @ ((Y[rows] - mean) ** 2).sum(axis=1))


def test_the_outcomes_are_parted_where_least_of_their_variance_is_left():
    """With one plan no split lowers the cost: the first split against every other one, for outcomes far from 0 too."""
    for seed in range(80):
        rng = np.random.default_rng([seed, 5])
        n, d, least = int(rng.integers(5, 16)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
        X = rng.normal(size=(n, d)).astype(np.float32)
        Y = rng.normal(size=(n, 2)) + float(rng.choice([0.0, 1e5]))
        counts = rng.choice(COUNTS, n).astype(float)
        grower = _core.TreeGrower(X, _core.PlanCosts(np.ones((n, 1))), Y, 1, least, d, True)
        leaves = GrownTree(*grower.grow(counts, None, seed)).apply(X)
        found = [np.flatnonzero(leaves == leaf) for leaf in np.unique(leaves)]
        ways = []
        for feature in range(d):
            for value in np.sort(X[:, feature])[:-1]:
                sides = [np.flatnonzero(X[:, feature] <= value), np.flatnonzero(X[:, feature] > value)]
                if min(side.size for side in sides) >= least:
                    ways.append(sum(spread_left(Y, counts, side) for side in sides))
        assert sum(spread_left(Y, counts, side) for side in found) == pytest.approx(min(ways), rel=1e-6), seed


def test_leaves_hold_enough_of_the_rows_that_count():
    """Both the rows that grow a tree and those that count in it."""
    rng = np.random.default_rng(8)
    for seed in range(30):
        X = rng.normal(size=(60, 3)).astype(np.float32)
        Y = np.abs(10 * X[:, :1] + rng.normal(size=(60, 1))).astype(float)
        X[rng.random(X.shape) < (seed % 3) / 5] = np.nan
        grows = rng.random(60) < 0.5
        least = int(rng.integers(1, 6))
        grower = _core.TreeGrower(X, Newsvendor(1, 3).least_costs(Y, Expectation()), Y, 9, least, 2, True, True)
        tree = GrownTree(*grower.grow(grows.astype(float), ~grows, seed))
        leaves = tree.apply(X)
        for side in (grows, ~grows):
            assert np.bincount(leaves[side], minlength=tree.node_count)[tree.feature < 0].min() >= least


def test_what_is_missing_where_a_tree_was_not_grown_on_any_goes_with_the_majority():
    """A split without missing values in its node sends them to the side with more rows; all alone they get a leaf."""
    Y = np.array([[0.0], [0], [0], [9], [9]])
    least = Newsvendor(1, 1).least_costs(Y, Expectation())
    for values, wanted in (([0, 1, 2, 5, 6], 1), ([6, 5, 4, 0, 1], 0)):
        X = np.array(values, dtype=np.float32)[:, None]
        tree = GrownTree(*_core.TreeGrower(X, least, Y, 1, 1, 1, True, True).grow(np.ones(5), None, 0))
        assert (tree.feature[0], tree.missing_go_to_left[0]) == (0, wanted)
    X = np.array([1, 2, 3, np.nan, np.nan], dtype=np.float32)[:, None]
    tree = GrownTree(*_core.TreeGrower(X, least, Y, 1, 1, 1, True, True).grow(np.ones(5), None, 0))
    assert tree.threshold[0] == np.inf
    assert tree.apply(np.array([[1e9], [-1e9], [np.nan]])).tolist() == [1, 1, 2]


def test_thresholds_lie_between_two_values_and_below_the_higher_one():
    """Neighbouring float32 have no float32 between them: the lower one is still sent to the left."""
    low = np.float32(1.7e9)
    high = np.nextafter(low, np.float32(np.inf))
    X = np.array([[low], [high]], dtype=np.float32)
    Y = np.array([[0.0], [1.0]])
    grower = _core.TreeGrower(X, Newsvendor(1, 1).least_costs(Y, Expectation()), Y, 1, 1, 1, True)
    tree = GrownTree(*grower.grow(np.ones(2), None, 0))
    assert tree.apply(X).tolist() == [1, 2]
    assert low <= tree.threshold[0] < high


def test_a_feature_without_a_cut_does_not_end_the_search_for_one():
    """With one feature to look at, others are tried where that one has no cut that leaves enough rows."""
    X = np.array([[0, 1], [1, 2], [1, 3], [1, 4]], dtype=np.float32)
    Y = np.array([[0.0], [0], [9], [9]])
    grower = _core.TreeGrower(X, Newsvendor(1, 1).least_costs(Y, Expectation()), Y, 1, 2, 1, True)
    for seed in range(8):
        assert grower.grow(np.ones(4), None, seed)[0].tolist() == [1, -1, -1]


def test_what_equals_a_threshold_goes_to_the_left():
    """Also in a tree that was not grown here, whose thresholds are values."""
    ints = np.array([0, -1, -1])
    tree = GrownTree(ints, np.array([0.5, -2, -2]), np.array([1, -1, -1]), np.array([2, -1, -1]))
    rows = np.array([[0.5], [np.nextafter(np.float32(0.5), np.float32(1))], [np.nan]])
    assert tree.apply(rows).tolist() == [1, 2, 2]


def test_what_cannot_be_grown_is_refused():
    """Arrays of another size, children before their parents, and risks that need plans."""
    Y = np.ones((4, 1))
    least = Newsvendor(1, 1).least_costs(Y, Expectation())
    X = np.zeros((3, 1), dtype=np.float32)
    with pytest.raises(ValueError, match="as many rows"):
        _core.TreeGrower(X, least, Y, 1, 1, 1, True)
    grower = _core.TreeGrower(np.zeros((4, 1), dtype=np.float32), least, Y, 1, 1, 1, True)
    with pytest.raises(ValueError, match="'count' must not be all 0"):
        grower.grow(np.zeros(4), None, 0)
    ints = np.array([0, -1, -1])
    with pytest.raises(ValueError, match="behind their parent"):
        _core.leaves(
            ints, np.zeros(3), np.array([0, -1, -1]), np.array([2, -1, -1]), ints, Y, np.zeros(4, dtype=np.int64)
        )
    gone = np.array([[np.nan], [0], [0], [0]], dtype=np.float32)
    with pytest.raises(ValueError, match="'contexts' array must be finite"):
        _core.TreeGrower(gone, least, Y, 1, 1, 1, True)
    with pytest.raises(ValueError, match="'contexts' must not be infinite"):
        _core.TreeGrower(np.float32(np.inf) * np.ones((4, 1), dtype=np.float32), least, Y, 1, 1, 1, True, True)
    assert Newsvendor(1, 1).least_costs(Y, CVaR(0.5)) is None
