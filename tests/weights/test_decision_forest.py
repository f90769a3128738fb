"""Decision-aware forests: what they are grown for, what they keep, and nearest explanations against brute force."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.cases import OneOf
from tests.forests import paper_forest
from tests.project.samples import PROJECT, write_project

import whence as wh
from whence.errors import InputError, InputTypeError
from whence.project import Project
from whence.project.project import load_policy, save_policy
from whence.risk import Risk
from whence.weights.decision_forest import plan_values, random_parts

PROBLEMS: dict[str, tuple[wh.DecisionProblem, int]] = {
    "newsvendor": (wh.Newsvendor(holding=[1, 2], backorder=[3, 1]), 2),
    "budget": (wh.Newsvendor(holding=[1, 2], backorder=[3, 5], budget=20), 2),
    "routes": (wh.ShortestPath.grid(3), 12),
    "shipment": (wh.Shipment(), 12),
    "linear": (wh.LinearProblem(A_eq=[[1, 1, 1]], b_eq=[1]), 3),
    "own": (OneOf(), 3),
}


def history(outcomes: int, n: int = 80, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, 8 + 6 * X[:, :1] * rng.random((1, outcomes)) + X @ rng.random((d, outcomes)) + rng.random((n, outcomes))


@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.7)], ids=["mean", "tail"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_any_problem_and_risk_grows_a_forest(name: str, risk: Risk) -> None:
    """Weights sum to one, follow from the seed alone, and are the same for any number of threads and in a pickle."""
    problem, outcomes = PROBLEMS[name]
    X, Y = history(outcomes)
    forest = wh.DecisionForest(problem, risk, n_trees=6, random_state=3, plans=20).fit(X, Y)
    weights = forest.weights(X[:9])
    assert weights.sum(axis=1) == pytest.approx(np.ones(9))
    assert (weights >= 0).all()
    again = wh.DecisionForest(problem, risk, n_trees=6, random_state=3, plans=20, n_jobs=2).fit(X, Y)
    assert np.array_equal(again.weights(X[:9]), weights)
    assert np.array_equal(pickle.loads(pickle.dumps(forest)).weights(X[:9]), weights)
    other = wh.DecisionForest(problem, risk, n_trees=6, random_state=4, plans=20).fit(X, Y)
    assert not np.array_equal(other.weights(X[:9]), weights)


def test_what_is_missing_goes_where_it_costs_less() -> None:
    """Demand is high where the temperature is unknown: contexts without it are decided like each other."""
    rng = np.random.default_rng(4)
    X = rng.random((200, 2))
    Y = (20 + 5 * X[:, :1] + rng.random((200, 1))).round(2)
    X[:60, 0], Y[:60] = np.nan, Y[:60] + 30
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.DecisionForest(n_trees=10, random_state=0, missing=True)).fit(X, Y)
    gone, known = {"x0": np.nan, "x1": 0.5}, {"x0": 0.5, "x1": 0.5}
    assert policy.decide(gone)[0] > 50 > policy.decide(known)[0]
    why = policy.explain(gone, instead=policy.decide(known), fill=["x0"])
    assert (why.status, why.distance, list(why.changes["feature"])) == ("optimal", 1.0, ["x0"])
    assert why.verify(pickle.loads(pickle.dumps(policy)))
    with pytest.raises(InputError, match="Input X contains NaN"):
        wh.Policy(wh.Newsvendor(1, 3), wh.DecisionForest(n_trees=2)).fit(X, Y)


def test_it_splits_where_it_pays() -> None:
    """One product varies much and costs little; the other, dear one depends on another feature."""
    rng = np.random.default_rng(1)
    X = rng.random((300, 2))
    Y = np.column_stack([100 + 80 * (X[:, 0] > 0.5) + rng.random(300), 10 + 5 * (X[:, 1] > 0.5) + rng.random(300)])
    problem = wh.Newsvendor(holding=[0.01, 5], backorder=[0.01, 20])
    plain = paper_forest(n_trees=5, max_depth=1, max_features=None, random_state=0).fit(X, Y)
    aware = wh.DecisionForest(problem, n_trees=5, max_depth=1, max_features=None, random_state=0).fit(X, Y)
    assert {int(tree.feature[0]) for tree in plain.trees} == {0}
    assert {int(tree.feature[0]) for tree in aware.trees} == {1}


def test_it_sees_what_does_not_move_the_mean() -> None:
    """Only the spread of the demand depends on the context, which a forest for forecasts has no reason to split by."""
    rng = np.random.default_rng(2)
    X = rng.random((600, 4))
    Y = (50 + np.where(X[:, 2] > 0.5, 20, 1) * rng.choice([-1.0, 1.0], 600) + rng.random(600))[:, None]
    policies = {
        name: wh.Policy(wh.Newsvendor(holding=1, backorder=9), weights)
        for name, weights in {
            "plain": paper_forest(n_trees=30, max_depth=2, random_state=0),
            "aware": wh.DecisionForest(n_trees=30, max_depth=2, random_state=0),
        }.items()
    }
    costs = wh.evaluate(policies, X, Y, cv=3, against=[]).totals
    assert costs["aware"] < 0.9 * costs["plain"]


def test_honest_trees_weigh_only_what_they_were_not_grown_on() -> None:
    """Outcomes of the growing half may change at will without any weight on them in that tree."""
    X, Y = history(1, n=120)
    forest = wh.DecisionForest(wh.Newsvendor(1, 3), n_trees=8, honest=True, random_state=5).fit(X, Y)
    members = forest.members_
    for t, size in enumerate(members.size):
        assert size.sum() == 60
        assert size[forest.trees[t].feature < 0].min() >= 5
    assert "honest" in forest.describe()
    assert forest.weights(X).sum(axis=1) == pytest.approx(np.ones(120))


def test_the_policy_names_problem_and_risk() -> None:
    """Left out, they are the policy's own, also in clones and refits; given, they are the forest's."""
    X, Y = history(2)
    problem = wh.Newsvendor(holding=[1, 2], backorder=[3, 9])
    bare = wh.Policy(problem, wh.DecisionForest(n_trees=4, random_state=0), risk=wh.CVaR(0.5)).fit(X, Y)
    told = wh.Policy(problem, wh.DecisionForest(problem, wh.CVaR(0.5), 4, random_state=0), wh.CVaR(0.5)).fit(X, Y)
    mean = wh.Policy(problem, wh.DecisionForest(problem, wh.Expectation(), 4, random_state=0), wh.CVaR(0.5)).fit(X, Y)
    assert np.array_equal(bare.weights_at(X[0]), told.weights_at(X[0]))
    assert not np.array_equal(bare.weights_at(X[0]), mean.weights_at(X[0]))
    assert np.array_equal(clone(bare.weights_).fit(X, Y).weights(X[:2]), bare.weights_.weights(X[:2]))
    why = bare.explain(X[0], instead=bare.decide(X[0]) + 1.0)
    assert why.held(refits=3)[1] == 3


@pytest.mark.parametrize("honest", [False, True])
def test_rows_count_for_their_sample_weight(honest: bool) -> None:
    """Rows of weight 0 are as good as not there, and others share a leaf in proportion."""
    X, Y = history(1, n=90)
    counts = np.where(np.arange(90) % 3 == 0, 0.0, np.where(X[:, 0] > 0.5, 4.0, 1.0))
    there = counts > 0
    forest = wh.DecisionForest(n_trees=6, random_state=1, honest=honest, min_samples_leaf=2)
    policy = wh.Policy(wh.Newsvendor(1, 3), forest).fit(X, Y, sample_weight=counts)
    weights = policy.weights_.weights(policy.weights_.inputs_)
    assert weights.sum(axis=1) == pytest.approx(np.ones(90))
    assert (weights[:, ~there] == 0.0).all()
    for t, order in enumerate(policy.weights_.members_.order):
        own = order[: int(policy.weights_.members_.size[t].sum())]
        leaf = policy.weights_.trees[t].apply(policy.weights_.inputs_)
        alone = policy.weights_.per_tree(policy.weights_.inputs_[5])[t]
        same = own[(leaf[own] == leaf[5]) & there[own]]
        assert alone[same] == pytest.approx(counts[same] / counts[same].sum())
    low, high = int(np.argmin(Y)), int(np.argmax(Y))
    assert policy.explain(X[low], instead=policy.decide(X[high])).held(refits=2)[1] == 2


def test_parameters_are_those_of_an_estimator() -> None:
    """`get_params`, `set_params` and `clone`, down to the problem's own parameters."""
    forest = wh.DecisionForest(wh.Newsvendor(1, 3), n_trees=7)
    copied = clone(forest)
    copied.set_params(problem__holding=2, n_trees=9)
    assert (forest.problem.holding, forest.n_trees) == (1, 7)
    assert (copied.get_params()["problem__holding"], copied.n_trees) == (2, 9)


def test_a_project_may_ask_for_one(tmp_path: Path) -> None:
    """Read from a project file, saved and loaded, it decides the same; a wrong key is named."""
    kind = 'kind = "decision_forest"\nn_trees = 5\nmax_depth = "none"\nhonest = true'
    path = write_project(tmp_path, PROJECT.replace('kind = "knn"\nk = 5', kind))
    project, again = Project.load(path), Project.load(path)
    weights = project.policy.weights
    assert isinstance(weights, wh.DecisionForest)
    assert (weights.n_trees, weights.max_depth, weights.honest, weights.random_state) == (5, None, True, 0)
    save_policy(project, tmp_path / "policy.joblib")
    assert load_policy(again, tmp_path / "policy.joblib") == []
    context = project.context(5)
    np.testing.assert_array_equal(again.fitted().decide(context), project.fitted().decide(context))
    path.write_text(PROJECT.replace('kind = "knn"\nk = 5', kind.replace("true", '"yes"')), "utf-8")
    with pytest.raises(InputError, match="honest"):
        Project.load(path)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_trees": 0}, "'n_trees' parameter of DecisionForest must be an int >= 1. Got 0"),
        ({"max_depth": 1.5}, "'max_depth' parameter of DecisionForest must be an int >= 1 or None"),
        ({"min_samples_leaf": True}, "'min_samples_leaf' parameter of DecisionForest must be an int >= 1"),
        ({"max_features": "half"}, "'max_features' parameter of DecisionForest must be 'sqrt', 'log2', an int >= 1"),
        ({"max_features": 1.2}, "'max_features' parameter of DecisionForest must be"),
        ({"honest": "yes"}, "'honest' parameter of DecisionForest must be a bool. Got 'yes'"),
        ({"missing": 1}, "'missing' parameter of DecisionForest must be a bool. Got 1"),
        ({"risk": 3}, "'risk' parameter of DecisionForest must be a Risk or None. Got 3"),
        ({"plans": 0}, "'plans' parameter of DecisionForest must be an int >= 1"),
        ({"problem": None}, "'problem' parameter of DecisionForest must be a DecisionProblem. Got None"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], words: str) -> None:
    """One sentence that names the parameter."""
    X, Y = history(1, n=20)
    given = {"problem": wh.Newsvendor(1, 3), **wrong}
    with pytest.raises((InputError, InputTypeError), match=words.replace("(", r"\(")) as refused:
        wh.DecisionForest(**given).fit(X, Y)
    assert refused.value.parameter == next(iter(wrong))


def test_a_risk_that_is_no_mean_is_refused() -> None:
    """Splits are judged by sums over observations."""

    class Worst(Risk):
        name = "worst cost"

        def of(self, costs: Any, weights: Any) -> float:
            return float(np.max(np.asarray(costs)[np.asarray(weights) > 0]))

    X, Y = history(3, n=20)
    with pytest.raises(InputError, match="'risk' must be a weighted mean of 'values'"):
        wh.DecisionForest(OneOf(), Worst()).fit(X, Y)


def test_tables_of_plans_bound_the_risk_of_any_rows() -> None:
    """The smallest mean of a column is never below the least risk of all plans, and close to it where all are there."""
    for seed in range(20):
        rng = np.random.RandomState(seed)
        X, Y = history(4, n=40, seed=seed)
        for risk in (wh.Expectation(), wh.CVaR(0.6)):
            table = plan_values(OneOf(), risk, X, Y, 60, rng)
            rows = rng.permutation(40)[: rng.randint(3, 30)]
            least = min(risk.of(Y[rows, j], np.full(rows.size, 1 / rows.size)) for j in range(4))
            found = table[rows].mean(axis=0).min()
            assert found >= least - 1e-12
            assert found <= least + 0.2 * Y.std()


def test_parts_of_the_history_are_boxes_of_all_sizes() -> None:
    """The first part is everything; the others go down to a few rows, and none is empty."""
    X = np.random.default_rng(0).random((200, 3))
    sizes = [rows.size for rows in random_parts(X, 80, np.random.RandomState(0))]
    assert sizes[0] == 200
    assert len(sizes) == 80
    assert 1 <= min(sizes) < 10 < 60 < sorted(sizes)[-2] <= 200
