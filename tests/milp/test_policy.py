"""The integer programs through `Policy.explain`: the same answers as the search, and refusals in one sentence."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from tests import cases
from tests.blocks import count
from tests.forests import paper_forest
from tests.timing import at_most

import whence as wh
from whence.errors import InputError
from whence.explain.explanation import Explanation

PROBLEMS = ("simplex", "bounded", "paths")


def linear_problem(name: str) -> Any:
    """A small problem whose plans form a polytope."""
    if name == "simplex":
        return wh.LinearProblem(A_eq=[[1] * 4], b_eq=[1])
    if name == "bounded":
        return wh.LinearProblem(A_ub=[[1] * 4, [1, -1, 0, 0]], b_ub=[2, 0.5], bounds=(0, 1))
    return wh.ShortestPath.grid(3)


def linear_question(
    seed: int, problem: Any, risk: Any = None, neighbours: bool = False
) -> tuple[wh.Policy, np.ndarray, Any]:
    """A policy, a context, and a plan that is best in some other past context."""
    rng = np.random.default_rng(seed)
    edges = len(problem.parts()) if isinstance(problem, wh.ShortestPath) else 4
    n = 8 if neighbours else 14
    X = rng.normal(size=(n, 2))
    Y = 5.0 * rng.random((n, edges)) + 2.0 * X @ rng.normal(size=(2, edges)) + 2.0
    weights = wh.KNNWeights(3) if neighbours else paper_forest(4, 3, random_state=seed)
    policy = wh.Policy(problem, weights, risk).fit(X, Y)
    start = problem.vector(policy.decide(X[0]))
    plans = [policy.decide(x) for x in X]
    others = [plan for plan in plans if not np.allclose(problem.vector(plan), start)]
    return policy, X[0], (others or plans)[0]


def same(ours: Explanation, theirs: Explanation) -> None:
    """Both proved, and both say the same."""
    assert theirs.status == ours.status
    assert theirs.status in ("optimal", "already", "none")
    assert theirs.distance == ours.distance or abs(theirs.distance - ours.distance) <= 1e-6
    assert theirs.bound == theirs.distance
    assert theirs.blocking == ours.blocking
    assert (theirs.unrestricted is None) == (ours.unrestricted is None)


@pytest.mark.parametrize(
    ("weights", "seeds"),
    [
        ("forest", range(100, 100 + count(12, 36))),
        ("frozen", range(200, 212)),
        ("knn", range(300, 300 + count(30, 60))),
    ],
)
def test_random_policies_have_one_answer(weights: str, seeds: range) -> None:
    """On about sixty policies of all feature types, the loop of cuts and lazy rows find what the search finds."""
    seen: set[tuple[str, str]] = set()
    for seed in seeds:
        case = cases.cases(seed, 1, weights=weights)[0]
        if weights == "knn" and case.policy.weights_.n_samples_ > 9:
            continue
        asked: dict[str, Any] = {"kind": case.kind, "decision": case.decision, "fixed": case.fixed}
        asked["bounds"] = case.bounds
        ours = case.policy.explain(case.context, case.instead, engine="search", **asked)
        options = {"solver": "scip", "method": "lazy"} if seed % 2 else {"solver": "highs", "method": "iterative"}
        theirs = case.policy.explain(case.context, case.instead, engine="milp", **options, **asked)
        same(ours, theirs)
        assert theirs.engine == f"milp ({options['solver']})"
        seen.add((case.kind, ours.status))
    assert {("relative", "optimal"), ("absolute", "optimal")} <= seen


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("neighbours", [False, True], ids=["forest", "neighbours"])
def test_dual_is_found_where_the_problem_offers_it(name: str, neighbours: bool) -> None:
    """Linear problems and routes: one program with the dual, without a cut, finds what the search finds."""
    moved = 0
    for seed in range(4):
        policy, context, instead = linear_question(seed, linear_problem(name), neighbours=neighbours)
        ours = policy.explain(context, instead, kind="absolute", engine="search")
        theirs = policy.explain(context, instead, kind="absolute", engine="milp", method="dual")
        same(ours, theirs)
        assert theirs.cuts == 0
        moved += theirs.status == "optimal"
    assert moved > 0


def test_dual_of_a_network_with_dead_ends() -> None:
    """Nodes, edges and cycles that no route can use do not disturb the dual."""
    graph = nx.DiGraph([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("b", "c"), ("c", "x"), ("x", "y"), ("y", "x")])
    graph.add_edges_from([("d", "x"), ("d", "d"), ("y", "a")])
    moved = 0
    for seed in range(4):
        policy, context, instead = linear_question(seed, wh.ShortestPath(graph, "a", "d"))
        ours = policy.explain(context, instead, kind="absolute", engine="search")
        theirs = policy.explain(context, instead, kind="absolute", engine="milp", method="dual")
        same(ours, theirs)
        assert theirs.cuts == 0
        moved += theirs.status == "optimal"
    assert moved > 0


def test_dual_of_another_problem_that_offers_its_polytope() -> None:
    """A problem of one's own is taken by its methods, not by its class."""

    class Own(wh.DecisionProblem):
        inner = wh.LinearProblem(A_eq=[[1] * 4], b_eq=[1])

        def costs(self, decision: Any, Y: np.ndarray) -> np.ndarray:
            return self.inner.costs(decision, Y)

        def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Any) -> np.ndarray:
            return self.inner.solve(Y, weights, risk)

        def polytope(self) -> Any:
            return self.inner.polytope()

        def cost_rows(self, Y: np.ndarray) -> np.ndarray:
            return self.inner.cost_rows(Y)

    policy, context, instead = linear_question(1, Own())
    ours = policy.explain(context, instead, kind="absolute", engine="search")
    theirs = policy.explain(context, instead, kind="absolute", engine="milp", method="dual")
    same(ours, theirs)
    assert (theirs.status, theirs.cuts) == ("optimal", 0)


@pytest.mark.parametrize(
    ("problem", "risk", "sentence"),
    [
        (wh.LinearProblem(A_eq=[[1] * 4], b_eq=[1], integrality=1), None, "without whole-number variables"),
        (wh.LinearProblem(A_eq=[[1] * 4], b_eq=[1]), wh.CVaR(0.5), "needs the expected cost as risk. Got CVaR"),
        (wh.Newsvendor(1.0, [3.0] * 4), None, "needs a linear decision problem, such as LinearProblem"),
        (
            wh.ShortestPath(nx.DiGraph([(0, 1), (0, 2), (1, 2), (2, 1), (1, 3), (2, 3)]), 0, 3),
            None,
            "needs a graph without cycles between source and target",
        ),
    ],
    ids=["whole numbers", "CVaR", "newsvendor", "cycle"],
)
def test_what_no_dual_can_certify_is_refused(problem: Any, risk: Any, sentence: str) -> None:
    """One sentence that names the other method, even where no search would be needed."""
    policy, context, instead = linear_question(0, problem, risk)
    for plan in (instead, policy.decide(context)):
        with pytest.raises(InputError) as error:
            policy.explain(context, plan, kind="absolute", engine="milp", method="dual")
        assert sentence in str(error.value)
        assert "use 'iterative'" in str(error.value)
        assert "\n" not in str(error.value)
    # The method is about absolute questions: a relative one has nothing to refuse.
    assert policy.explain(context, instead, engine="milp", method="dual").status == "optimal"


@pytest.mark.parametrize(("solver", "package"), [("gurobi", "gurobipy"), ("scip", "pyscipopt")])
def test_missing_solver_says_how_to_install_it(solver: str, package: str) -> None:
    """Where the package of a solver cannot be imported, one sentence names it and the command."""
    program = f"""
import sys
sys.modules[{package!r}] = None
import numpy as np, whence as wh
X = np.linspace(0, 1, 20)[:, None]
policy = wh.Policy(wh.Newsvendor(1, 4), wh.KNNWeights(3)).fit(X, 10 * X)
try:
    policy.explain(X[2], policy.decide(X[15]), engine="milp", solver={solver!r})
except wh.WhenceError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    wanted = f"solver='{solver}' needs the package '{package}', which is not installed: pip install whence[{solver}]"
    assert done.stdout.strip() == wanted


def test_time_limit_is_kept_and_the_bound_is_valid() -> None:
    """A question too hard for one second ends in time, with a bound below what the search proves to be nearest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    Y = 10.0 + X @ rng.normal(size=(4, 5)) + rng.normal(size=(80, 5))
    policy = wh.Policy(cases.OneOf(), paper_forest(40, 4, random_state=0), wh.CVaR(0.7)).fit(X, Y)
    instead = (policy.decide(X[0]) + 1) % 5
    nearest = policy.explain(X[0], instead, engine="search")
    assert nearest.status == "optimal"
    for solver in ("highs", "scip"):
        with at_most(6.0):
            why = policy.explain(X[0], instead, engine="milp", solver=solver, time_limit=1.0)
        assert why.status == "time_limit"
        assert 0.0 <= why.bound <= nearest.distance + 1e-6
        assert why.distance >= nearest.distance - 1e-6
        assert why.gap > 0.0


def test_a_gap_that_was_allowed_is_told() -> None:
    """With a gap, the bound is the one proved and the words do not promise the nearest context."""
    told = 0
    for seed in range(100, 112):
        case = cases.cases(seed, 1, weights="forest")[0]
        asked: dict[str, Any] = {"kind": case.kind, "decision": case.decision}
        nearest = case.policy.explain(case.context, case.instead, engine="search", **asked)
        why = case.policy.explain(case.context, case.instead, engine="milp", mip_gap=0.9, **asked)
        assert why.status == nearest.status
        if why.status == "optimal":
            assert why.bound - 1e-7 <= nearest.distance <= why.distance + 1e-7
            assert ("Near enough for the gap that was allowed" in str(why)) == (why.gap > 0.0)
            told += why.gap > 0.0
    assert told > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "milp", "presolve": True}, "An option of engine='milp' must be one of 'solver', 'method'"),
        ({"engine": "milp", "solver": "cplex"}, "must be 'highs', 'gurobi' or 'scip'. Got 'cplex' instead."),
        ({"engine": "search", "solver": "highs"}, "'solver' is an option of engine='milp'; the search does not know"),
        ({"presolve": True}, "'explain' has no parameter 'presolve'."),
        ({"timelimit": 3}, "'explain' has no parameter 'timelimit'. Did you mean 'time_limit'?"),
        (
            {"engine": "search", "plausibility": IsolationForest()},
            "'plausibility' is an option of engine='milp'; the search does not know it.",
        ),
    ],
)
def test_options_are_refused_in_one_sentence(options: dict[str, Any], message: str) -> None:
    """Unknown options, and options of the other engine, even where the answer is plain without a search."""
    policy, context, instead = linear_question(0, linear_problem("simplex"))
    for plan in (instead, policy.decide(context)):
        with pytest.raises(InputError) as error:
            policy.explain(context, plan, **options)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_plausible_contexts_are_inliers() -> None:
    """With an isolation forest the context found is one of its inliers, and not nearer than without."""
    restricted = 0
    for seed in range(8):
        policy, context, instead = linear_question(seed, linear_problem("simplex"))
        points = policy.schema_.encode(policy.X_)
        forest = IsolationForest(n_estimators=10, random_state=0, contamination=0.5).fit(points)
        free = policy.explain(context, instead, engine="milp")
        why = policy.explain(context, instead, engine="milp", plausibility=forest)
        assert why.distance >= free.distance - 1e-9
        if why.status == "optimal":
            assert forest.predict(policy.schema_.encode_row(why.context)[None, :])[0] == 1
        restricted += why.distance > free.distance + 1e-6
    assert restricted > 0
