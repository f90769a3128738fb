"""Sets of plans: the nearest context for the best of many plans, against every cell and every plan."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from tests.asking import searching
from tests.blocks import seeds
from tests.cases import forest
from tests.forests import paper_forest
from tests.set_soaking import set_case, set_disagreement
from tests.timing import at_most

import whence as wh
from whence.search.grid import _kept


def test_a_context_on_the_edge_of_its_cell() -> None:
    """Two numbers have one coordinate, and a threshold of the model lies between: the right one is handed out."""
    assert set_disagreement(set_case(54571, "rule")) == ""


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_threads_do_not_change_the_distance(seed: int) -> None:
    """Two threads find the same distance as brute force."""
    assert set_disagreement(set_case(3000 + seed), threads=2) == ""


def grid_policy(seed: int, risk: Any = None, width: int = 3, trees: int = 10) -> wh.Policy:
    """A forest policy on a small grid whose costs depend on the context."""
    rng = np.random.default_rng(seed)
    X = rng.random((60, 2))
    problem = wh.ShortestPath.grid(width)
    slopes = rng.normal(size=(2, len(problem.parts())))
    Y = np.abs(3.0 + 2.0 * (X - 0.5) @ slopes + 0.3 * rng.normal(size=(60, slopes.shape[1])))
    return wh.Policy(problem, paper_forest(trees, 3, random_state=seed), risk).fit(X, Y)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("risk", [None, wh.CVaR(0.7)])
@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_one_plan_is_a_set(seed: int, risk: Any, kind: str) -> None:
    """A set that holds one plan has that plan's answer."""
    policy = grid_policy(seed, risk)
    problem, today = policy.problem, policy.X_.iloc[seed]
    for plan in problem.plans(10)[:3]:
        single = policy.explain(today, plan, kind=kind)
        as_set = policy.explain(today, problem.only([plan]), kind=kind)
        assert as_set.status == single.status
        assert as_set.distance == pytest.approx(single.distance, abs=1e-12)


@pytest.mark.parametrize("seed", seeds(2, 8))
@pytest.mark.parametrize("margin", [0.0, 0.01, 0.04])
def test_very_many_routes_agree_with_brute_force(seed: int, margin: float) -> None:
    """Routes that no list can hold: the nearest context, against the best route at every cell."""
    policy = grid_policy(seed, width=10, trees=4)
    today = policy.X_.iloc[0]
    space = policy.schema_.space(policy.schema_.row(today))
    trees = [one.tree_ for one in policy.weights_.forest_.estimators_]
    values = []
    for j in range(2):
        cuts = np.concatenate([tree.threshold[tree.feature == j] for tree in trees])
        below = np.float32(cuts)
        below = np.where(below > cuts, np.nextafter(below, np.float32(-9)), below)
        values.append([space.start[j], *below.astype(float), *np.nextafter(below, np.float32(9)).astype(float)])
    plan, nearest = policy.decide(today), np.inf
    for point in map(np.array, product(*values)):
        weights = policy.weights_.weights(point[None, :])[0]
        best = policy.problem.solve(policy.Y_, weights, policy.risk_)
        own, least = (weights @ policy.problem.costs(p, policy.Y_) for p in (plan, best))
        if own > least * (1.0 + margin) + 1e-9:
            nearest = min(nearest, space.distance(point))
    why = policy.explain(today, margin=margin)
    assert why.status == ("none" if nearest == np.inf else "optimal")
    assert why.distance == pytest.approx(nearest, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-44, 1e-9, 1e9, 1e38])
def test_the_unit_of_costs_does_not_change_the_answer(unit: float) -> None:
    """Very many routes are bounded with half the digits, but not where these could not hold the costs."""
    for seed in (0, 5):  # the second one has another answer where half the digits are taken for these units
        policy = grid_policy(seed, width=10, trees=4)
        fitted = RandomForestRegressor(4, max_depth=3, random_state=seed).fit(policy.X_, policy.Y_)
        trees = wh.ForestWeights.of(fitted)
        policies = [wh.Policy(policy.problem, trees).fit(policy.X_, policy.Y_ * times) for times in (1.0, unit)]
        for margin in (0.01, 0.04):
            one, same = (each.explain(policy.X_.iloc[0], margin=margin) for each in policies)
            assert same.status == one.status
            assert same.distance == pytest.approx(one.distance, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_any_plan_is_never_farther_than_one(seed: int) -> None:
    """At margin 0, some plan takes over no later than any given one does."""
    policy = grid_policy(seed)
    today = policy.X_.iloc[seed]
    any_plan = policy.explain(today, margin=0)
    for plan in policy.problem.plans(10):
        if plan != policy.decide(today):
            # Strictly better, as any other plan has to be.
            one = policy.explain(today, plan, margin=(3 * any_plan.tolerance, "cost"))
            assert any_plan.distance <= one.distance + 1e-12
    assert any_plan.status in ("optimal", "none")


@pytest.mark.parametrize("seed", range(4))
def test_a_union_is_as_near_as_its_nearer_part(seed: int) -> None:
    """Routes through a node and those avoiding it are all routes."""
    policy = grid_policy(seed)
    today, problem = policy.X_.iloc[seed], policy.problem
    parts = [
        policy.explain(today, s, margin=0.02).distance for s in (problem.through((1, 1)), problem.avoiding((1, 1)))
    ]
    whole = policy.explain(today, problem.only(problem.plans(10)), margin=0.02)
    assert whole.distance == pytest.approx(min(parts), abs=1e-12)


def test_larger_margins_are_farther() -> None:
    """The more the plan may lose before it counts as changed, the farther the context in which it does."""
    policy = grid_policy(1)
    found = [policy.explain(policy.X_.iloc[0], margin=m).distance for m in (0.0, 0.01, 0.05, 0.2)]
    assert found == sorted(found)


def test_a_time_limit_holds_for_sets_that_can_only_be_solved() -> None:
    """The general bound stops in time, with what is proved by then."""
    rng = np.random.default_rng(0)
    X = rng.random((150, 6))
    Y = 10 + 5 * rng.random((150, 8)) + 5 * X @ rng.normal(size=(6, 8))
    budget = wh.Newsvendor(1, 3, budget=60)
    policy = wh.Policy(budget, paper_forest(50, 5, random_state=0)).fit(X, np.abs(Y))
    with at_most(2.5):
        why = policy.explain(X[0], time_limit=1.0)
    assert why.bound <= why.distance


class Quantities(wh.DecisionProblem):
    """The newsvendor as somebody would write it, of which nothing is known but its `solve`; counts what it solves."""

    solved = 0

    def costs(self, decision: Any, Y: Any) -> Any:
        """One unit for what is left over, three for what is missing."""
        over = np.asarray(decision) - Y
        return np.where(over > 0.0, over, -3.0 * over).sum(axis=1)

    def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
        """The quantile of every product."""
        self.solved += 1
        order = np.argsort(Y, axis=0, kind="stable")
        share = np.cumsum(weights[order], axis=0)
        return Y[order[(share >= 0.75 - 1e-12).argmax(axis=0), np.arange(Y.shape[1])], np.arange(Y.shape[1])]


def deep_histories(seed: int, n: int, trees: int) -> tuple[wh.Policy, wh.Policy]:
    """Two policies over trees of any depth that decide alike: the engine knows the quantities of the first only."""
    rng = np.random.default_rng([seed, 8])
    X = rng.random((n, 3))
    Y = np.abs(20.0 + 15.0 * X[:, :2] * X[:, 1:] + 3.0 * rng.normal(size=(n, 2)))
    problems = (wh.Newsvendor([1, 1], [3, 3]), Quantities())
    known, unknown = (wh.Policy(p, wh.ForestWeights(n_trees=trees, random_state=seed)).fit(X, Y) for p in problems)
    return known, unknown


@pytest.mark.parametrize("seed", seeds(6, 60))
@pytest.mark.parametrize("leaves", [0.0, 1.0, 100.0])
def test_leaves_are_solved_for_when_a_box_needs_them(seed: int, leaves: float) -> None:
    """However many at once, the answer is that of the search that knows the quantities."""
    known, unknown = deep_histories(seed, 80, 3 + seed % 4)
    for i in range(2):
        with searching(solved_leaves=leaves):
            one, other = (policy.explain(policy.X_.iloc[i], margin=0.03) for policy in (known, unknown))
        assert one.status == other.status
        assert one.distance == pytest.approx(other.distance, abs=1e-9)


def test_boxes_too_large_for_their_quantities_are_split() -> None:
    """Where leaves times quantities are millions, the answer is that of the search that asks `solve` alone."""
    known, unknown = deep_histories(1, 600, 100)
    for i in range(2):
        one, other = (policy.explain(policy.X_.iloc[i], margin=0.005) for policy in (known, unknown))
        assert one.status == other.status == "optimal"
        assert one.distance == pytest.approx(other.distance, abs=1e-9)


def test_a_table_of_quantities_is_made_once() -> None:
    """The second question finds it, one about other quantities makes its own, and only a few are kept."""
    policy, _ = deep_histories(2, 60, 4)
    policy.explain(policy.X_.iloc[0], margin=0.03)
    kept = _kept[policy.weights_]
    (made,) = kept.tables.values()
    policy.explain(policy.X_.iloc[1], margin=0.03)
    assert list(kept.tables.values()) == [made]
    for quantity in range(20, 30):
        policy.explain(policy.X_.iloc[1], policy.problem.at_least(0, float(quantity)))
    assert 1 < len(kept.tables) <= 4


def test_no_leaf_is_solved_for_before_the_first_box() -> None:
    """A few boxes ask for few of many thousand leaves."""
    _, policy = deep_histories(0, 400, 100)
    problem = policy.problem
    assert isinstance(problem, Quantities)
    problem.solved = 0
    policy.explain(policy.X_.iloc[0], margin=0.2, node_limit=3)
    assert problem.solved < 1000


def test_a_node_limit_holds_for_sets() -> None:
    """So many boxes, no more."""
    policy = grid_policy(2, width=4)
    why = policy.explain(policy.X_.iloc[0], margin=0.3, node_limit=3)
    assert why.nodes <= 3
    assert why.status in ("time_limit", "optimal", "none")


def test_own_weights_of_a_forest_are_used() -> None:
    """A frozen forest of the user's own is searched, too."""
    policy = grid_policy(3)
    rng = np.random.default_rng(0)
    frozen = forest(rng, policy.X_, policy.Y_, frozen=True)
    again = wh.Policy(policy.problem, frozen).fit(policy.X_, policy.Y_)
    assert again.explain(policy.X_.iloc[0]).status in ("optimal", "none")
