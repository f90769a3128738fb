"""From question to explanation: statuses, restrictions in the way, limits, and refusals, through Policy.explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor
from tests.asking import asking, varied
from tests.cases import OneOf
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError, InternalError
from whence.explain.recheck import confirmed
from whence.question import Answer, Limits, Question
from whence.weights import InputMap


def demand(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Demand that is high on hot days and at weekends."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "heat": rng.uniform(0.0, 30.0, n),
            "day": rng.choice(["week", "weekend"], n),
            "staff": rng.integers(1, 6, n),
        }
    )
    Y = pd.DataFrame({"ice": 10 + X["heat"] + 20 * (X["day"] == "weekend") + rng.normal(0, 2, n)})
    return X, Y


def policy(weights: Any = None, **options: Any) -> wh.Policy:
    """A fitted newsvendor policy on `demand`."""
    X, Y = demand()
    weights = weights or paper_forest(n_trees=30, max_depth=4, random_state=0)
    return wh.Policy(wh.Newsvendor(holding=1.0, backorder=2.0), weights, **options).fit(X, Y)


TODAY = {"heat": 8.0, "day": "week", "staff": 3}
BOTH = pytest.mark.parametrize("weights", [paper_forest(30, 4, random_state=0), wh.KNNWeights(9)])


@BOTH
def test_found_explanation_is_whole(weights: Any) -> None:
    """A found explanation holds its context, changes, costs and weights, and they agree with the policy."""
    fitted = policy(weights)
    why = fitted.explain(TODAY, instead=[45.0])
    assert why.status == "optimal"
    assert why.found
    assert why.gap == 0.0
    assert why.distance == pytest.approx(why.changes["distance"].sum())
    assert why.cost_after.alternative <= why.cost_after.decision + why.tolerance
    assert why.cost_before.alternative > why.cost_before.decision
    np.testing.assert_allclose(why.weights_before, fitted.weights_at(TODAY))
    assert why.weights_after.sum() == pytest.approx(1.0)
    assert (why.separation is None) == isinstance(weights, wh.ForestWeights)
    unchanged = set(TODAY) - set(why.changes["feature"])
    assert all(why.context[name] == TODAY[name] for name in unchanged)


@BOTH
def test_already(weights: Any) -> None:
    """The decision itself as the alternative holds already, in either kind, at distance 0."""
    fitted = policy(weights)
    for kind in ("relative", "absolute"):
        why = fitted.explain(TODAY, instead=fitted.decide(TODAY), kind=kind)
        assert (why.status, why.distance, why.bound, why.gap) == ("already", 0.0, 0.0, 0.0)
        assert why.context.to_dict() == TODAY
        assert len(why.changes) == 0


@BOTH
def test_absolute_is_optimal_there(weights: Any) -> None:
    """In the context of an absolute explanation the policy's own decision costs as much as the alternative."""
    fitted = policy(weights)
    # The plan of another context is optimal somewhere.
    instead = fitted.decide({"heat": 27.0, "day": "weekend", "staff": 4})
    relative = fitted.explain(TODAY, instead=instead)
    absolute = fitted.explain(TODAY, instead=instead, kind="absolute")
    assert absolute.status == "optimal"
    assert absolute.distance >= relative.distance - 1e-9
    best = fitted.decide(absolute.context)
    cost = fitted.risk_.of(fitted.problem.costs(best, fitted.Y_), absolute.weights_after)
    assert absolute.cost_after.alternative <= cost + absolute.tolerance


def test_shortcut_proves_none() -> None:
    """A plan that costs more under every past observation has no explanation, and no search is needed for that."""
    why = policy().explain(TODAY, instead=[500.0])
    assert (why.status, why.context, why.distance, why.bound, why.gap) == ("none", None, np.inf, np.inf, 0.0)
    assert why.nodes == 0
    assert "every past observation" in why.note


@BOTH
def test_restrictions_in_the_way_are_named(weights: Any) -> None:
    """Where fixed features rule out an explanation, it says which ones and what would do without them."""
    fitted = policy(weights)
    free = fitted.explain(TODAY, instead=[45.0])
    needed = list(free.changes["feature"])
    why = fitted.explain(TODAY, instead=[45.0], fixed=["heat", "day"], bounds={"staff": (2, 4)})
    assert why.status == "none"
    assert why.unrestricted is not None
    assert why.unrestricted.distance == pytest.approx(free.distance)
    assert why.blocking == needed
    assert "heat" in str(why) or "day" in str(why)


def test_schema_restrictions_count_as_well() -> None:
    """A feature that may only decrease, by the schema, is named when it stands in the way."""
    schema = wh.Schema({"heat": wh.Continuous(change="decrease"), "day": wh.Categorical(change="fixed")})
    why = policy(schema=schema).explain(TODAY, instead=[45.0])
    assert why.status == "none"
    assert set(why.blocking) <= {"heat", "day"}
    assert why.blocking


@BOTH
def test_bounds_hold(weights: Any) -> None:
    """Bounds narrow the answer, and the initial value stays allowed though it breaks them."""
    fitted = policy(weights)
    why = fitted.explain(TODAY, instead=[35.0], bounds={"heat": (12.0, 29.0)}, fixed="day")
    assert why.status == "optimal"
    assert why.context["day"] == "week"
    assert why.context["heat"] == TODAY["heat"] or 12.0 - 1e-6 <= why.context["heat"] <= 29.0 + 1e-6


def test_decision_that_was_carried_out() -> None:
    """Another decision than the policy's own can be explained."""
    why = policy().explain(TODAY, instead=[40.0], decision=[5.0])
    assert why.status == "already"
    assert why.decision == [5.0]


@pytest.fixture(scope="module", params=["forest", "neighbours"])
def hard(request: pytest.FixtureRequest) -> wh.Policy:
    """A policy with questions that take far longer than a slice: the plan pays on single days only."""
    rng = np.random.default_rng(0)
    X = rng.random((500, 15))
    Y = np.column_stack([np.zeros(500), 0.8 + rng.normal(size=500)])
    weights = paper_forest(100, None, random_state=0) if request.param == "forest" else wh.KNNWeights(10)
    return wh.Policy(OneOf(), weights).fit(X, Y)


def test_progress_can_stop_a_search(hard: wh.Policy) -> None:
    """on_progress sees boxes, bound and distance; returning False ends the search as interrupted."""
    seen: list[wh.Progress] = []

    def stop(progress: wh.Progress) -> bool:
        seen.append(progress)
        return len(seen) < 4

    why = hard.explain(hard.X_.iloc[0], instead=1, decision=0, on_progress=stop)
    assert why.status == "interrupted"
    assert len(seen) == 4
    assert why.nodes >= seen[-1].nodes > 0
    assert [p.bound for p in seen] == sorted(p.bound for p in seen)
    assert 0.0 <= why.bound <= why.distance


def test_ctrl_c_keeps_what_was_found(hard: wh.Policy) -> None:
    """Ctrl-C during a search gives an interrupted explanation with its bound instead of a traceback."""

    def interrupt(progress: wh.Progress) -> None:
        if progress.seconds > 0.3:
            raise KeyboardInterrupt

    why = hard.explain(hard.X_.iloc[0], instead=1, decision=0, on_progress=interrupt)
    assert why.status == "interrupted"
    assert 0.0 <= why.bound <= why.distance


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "nearest"}, "'kind' must be 'relative' or 'absolute'"),
        ({"engine": "magic"}, "'engine' must be"),
        ({"tolerance": -1.0}, "'tolerance' must be a number >= 0"),
        ({"separation": float("nan")}, "'separation' must be a number >= 0"),
        ({"time_limit": 0}, "'time_limit' must be a positive number"),
        ({"node_limit": True}, "'node_limit' must be a positive number"),
        ({"fixed": ["wind"]}, "'fixed' must name features"),
        ({"bounds": {"heat": 3}}, "'bounds' of 'heat' must be a pair"),
        ({"bounds": {"heat": (9, 1)}}, "low <= high"),
        ({"bounds": {"day": ["holiday"]}}, "must be categories among"),
        ({"plausibility": object()}, "option of engine='milp'"),
        ({"solver": "highs"}, "option of engine='milp'"),
        ({"instead": [-1.0]}, "not feasible"),
        ({"instead": [1.0, 2.0]}, "given as 'instead'"),
        ({"decision": [float("nan")]}, "not feasible"),
        ({"context": {"heat": 1.0}}, "must give 'day'"),
        ({"context": {**TODAY, "wind": 1}}, "gives 'wind'"),
        ({"context": {**TODAY, "day": "holiday"}}, "must hold one of"),
        ({"context": {**TODAY, "heat": float("nan")}}, "heat"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options: dict[str, Any], words: str) -> None:
    """Bad arguments are refused with a sentence that names them, before any search."""
    given: dict[str, Any] = {"context": TODAY, "instead": [30.0], **options}
    with pytest.raises(wh.WhenceError) as caught:
        policy().explain(**given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError | TypeError)


def test_problem_with_wrong_costs_is_refused() -> None:
    """A user's problem whose costs have the wrong shape is told so."""

    class Wrong(wh.DecisionProblem):
        def costs(self, decision: Any, Y: np.ndarray) -> np.ndarray:
            return np.zeros(3)

        def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Any) -> Any:
            return np.zeros(1)

    X, Y = demand()
    with pytest.raises(InputError, match="'costs' must return one finite number per row"):
        wh.Policy(Wrong()).fit(X, Y).explain(TODAY, instead=[1.0])


# ---- the re-check ------------------------------------------------------------------------------


def question_of(fitted: wh.Policy) -> Question:
    """A relative question about `fitted`, with another plan that costs 1 less in the worst half of the history."""
    costs = fitted.Y_[:, 0]
    d = fitted.schema_.n_coordinates
    return asking(
        space=fitted.schema_.space(fitted.schema_.row(TODAY)),
        weights=fitted.weights_,
        inputs=InputMap(np.arange(d), np.ones(d), np.zeros(d)),
        alternative=np.where(costs > np.median(costs), 1.0, 3.0),
        decision=np.full(costs.size, 2.0),
        risk=fitted.risk_,
        kind="relative",
        tau=1e-6,
        separation=1e-6,
        better=lambda weights: None,
        limits=Limits(),
    )


@BOTH
def test_wrong_answers_never_pass_the_check(weights: Any) -> None:
    """Answers that do not hold, lie elsewhere than they say, or are not allowed, are internal errors, not results."""
    fitted = policy(weights)
    question = question_of(fitted)
    row = fitted.schema_.row(TODAY)
    hot = fitted.schema_.encode_row(fitted.schema_.row({**TODAY, "heat": 29.0, "day": "weekend"}))
    right = Answer("optimal", hot, question.space.distance(hot), 0.0)
    found = confirmed(question, right, fitted.schema_, row, fitted.inputs_of)
    assert found.context["day"] == "weekend"
    assert found.distance == pytest.approx(right.distance)
    assert found.alternative == pytest.approx(question.claim.risk.of(question.claim.alternative, found.weights))
    assert found.rival == pytest.approx(question.claim.risk.of(question.claim.rival_decision, found.weights))
    cold = fitted.schema_.encode_row(fitted.schema_.row({**TODAY, "heat": 1.0}))
    wrong = [
        varied(right, point=cold, distance=question.space.distance(cold)),
        varied(right, distance=right.distance + 0.1),
        varied(right, point=hot + 5.0),
    ]
    for answer in wrong:
        with pytest.raises(InternalError):
            confirmed(question, answer, fitted.schema_, row, fitted.inputs_of)
    rival = varied(question, kind="absolute", better=lambda w: np.zeros(w.size))
    with pytest.raises(InternalError, match="from optimal"):
        confirmed(rival, right, fitted.schema_, row, fitted.inputs_of)


@pytest.mark.parametrize("weights", [paper_forest(n_trees=8, random_state=0), wh.KNNWeights(k=3)])
@pytest.mark.parametrize("engine", ["search", "milp"])
def test_cvar_of_everything_is_the_expected_cost(weights: wh.ForestWeights | wh.KNNWeights, engine: str) -> None:
    """wh.CVaR(0) and the expected cost decide alike, are answered alike by both engines, and read alike."""
    rng = np.random.default_rng(5)
    X = rng.random((12, 2))
    Y = 10.0 + 5.0 * X @ rng.random((2, 2)) + rng.random((12, 2))
    means, tails = (
        wh.Policy(wh.Newsvendor(1.0, 3.0), weights, risk).fit(X, Y) for risk in (wh.Expectation(), wh.CVaR(0.0))
    )
    mine = means.decide(X[7])
    assert tails.decide(X[7]).tolist() == mine.tolist()
    for kind in ("relative", "absolute"):
        one, other = (policy.explain(X[2], instead=mine, kind=kind, engine=engine) for policy in (means, tails))
        assert (one.status, one.distance, one.nodes, one.cuts) == (
            other.status,
            other.distance,
            other.nodes,
            other.cuts,
        )
        assert str(one) == str(other)
        assert "CVaR" not in str(other)


def test_the_nearest_context_is_the_last_double_that_turns() -> None:
    """From seconds since 1970, which float32 counts in steps of 128, the answer stops at the turn, not 64 s beyond."""
    seconds = 1.7e9 + 86400.0 * np.arange(20.0)
    Y = np.where(seconds < seconds[10], 1.0, 9.0)[:, None]
    tree = DecisionTreeRegressor(max_depth=1).fit(seconds[:, None], Y)
    policy = wh.Policy(wh.Newsvendor(1.0, 1.0), wh.ForestWeights.of(tree)).fit(seconds[:, None], Y)
    threshold = float(tree.tree_.threshold[0])
    for start, mine in ((seconds[2], [9.0]), (seconds[17], [1.0])):
        for engine in ("search", "milp"):
            why = policy.explain([start], instead=mine, engine=engine)
            found = float(why.context.iloc[0])
            assert policy.decide([found]).tolist() == mine
            nearer = float(np.nextafter(found, start))
            assert policy.decide([nearer]).tolist() != mine
            assert abs(found - threshold) <= 64.0


@pytest.mark.parametrize("engine", ["search", "milp"])
@pytest.mark.parametrize("seed", [6, 101, 130, 180, 360, *range(4)])
def test_values_do_not_lie_outside_the_bounds_given(seed: int, engine: str) -> None:
    """A bound near 0 of a wide range loses digits when it is scaled; a value found there is not outside for that."""
    rng = np.random.default_rng(seed)
    X = (rng.random((20, 1)) - 0.5) * rng.choice([50.0, 1e9])
    Y = 10.0 * X / X.max() + 10 + rng.random((20, 1))
    policy = wh.Policy(wh.Newsvendor(1.0, 1.0), paper_forest(3, 3, random_state=seed)).fit(X, Y)
    low, high = np.sort(X.max() * rng.choice([1e-3, 1e-6]) * rng.normal(size=2))
    start = float(X.min() if rng.random() < 0.5 else X.max())
    mine = policy.decide([0.5 * (low + high)])
    why = policy.explain([start], instead=mine, bounds={"x0": (low, high)}, engine=engine)
    assert why.status == "optimal"
    assert low <= why.context.iloc[0] <= high


@pytest.mark.parametrize("weight", [1e-4, 5e3, 1e6])
@pytest.mark.parametrize("weights", [paper_forest(6, 3, random_state=0), wh.KNNWeights(4)])
def test_a_feature_may_weigh_thousands(weights: wh.ForestWeights | wh.KNNWeights, weight: float) -> None:
    """A feature's weight scales its distance and nothing else: rounding times weight is no error."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(15.0, 8.0, 30), "b": 1000.0 + rng.random(30)})
    Y = np.column_stack([X["a"] + rng.random(30), 30.0 - X["a"]])
    distances = []
    for factor in (1.0, weight):
        schema = wh.Schema({name: wh.Continuous(weight=factor) for name in X})
        policy = wh.Policy(wh.Newsvendor(1.0, 2.0), weights, schema=schema).fit(X, Y)
        found = [policy.explain(X.iloc[i], instead=policy.decide(X.iloc[i + 9])) for i in range(8)]
        distances.append([why.distance / factor for why in found])
    assert max(distances[0]) > 0.1
    assert distances[1] == pytest.approx(distances[0], abs=1e-7)


def test_neighbours_out_of_sight_are_refused() -> None:
    """Where all neighbours are equally far up to rounding, the question is refused; nearer it is answered."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"wind": rng.random(20), "rain": rng.random(20)})
    Y = 10.0 + 5.0 * X[["wind"]].to_numpy()
    policy = wh.Policy(wh.Newsvendor(1.0, 3.0), wh.KNNWeights(3)).fit(X, Y)
    far, mine = {"wind": 3e9, "rain": 0.5}, policy.decide({"wind": 0.1, "rain": 0.5})
    with pytest.raises(InputError, match=r"'wind' lies 3\.\d+e\+09 times its range outside. At most 1e\+06 times"):
        policy.explain(far, instead=mine)
    near = policy.explain(far | {"wind": 3e3}, instead=mine)
    assert near.status == "optimal"
    assert near.distance == pytest.approx(3e3 / np.ptp(X["wind"]), abs=1.5)


@pytest.mark.parametrize("weights", [paper_forest(n_trees=20, random_state=0), wh.KNNWeights(k=4)])
@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_threads_change_nothing_but_the_time(weights: wh.ForestWeights | wh.KNNWeights, kind: str) -> None:
    """With one thread or three the status and the proved distance are the same; no other number is taken."""
    X = np.random.default_rng(3).random((60, 3))
    policy = wh.Policy(wh.Newsvendor(1.0, 3.0), weights).fit(X, 10.0 + 5.0 * X[:, :1])
    plan = policy.decide(X[int(np.argmax(X[:, 0]))])
    start = X[int(np.argmin(X[:, 0]))]
    one, three = (policy.explain(start, plan, kind=kind, threads=threads) for threads in (None, 3))
    assert one.status == three.status == "optimal"
    assert three.distance == pytest.approx(one.distance, abs=1e-9)
    for wrong in (0, -1, 1.5, True, 257):
        with pytest.raises(InputError, match="'threads' must be an int from 1 to 256"):
            policy.explain(start, plan, kind=kind, threads=wrong)


def test_both_engines_say_the_same() -> None:
    """The integer program's numbers are rounded as those of the search are, and none is only about right."""
    rng = np.random.default_rng(2)
    X = rng.random((60, 2)) * 30
    policy = wh.Policy(wh.Newsvendor(1, 1), paper_forest(n_trees=6, random_state=0)).fit(X, X[:, :1])
    answers = [policy.explain([5.0, 9.0], instead=[20.0], engine=engine) for engine in ("search", "milp")]
    told = [str(why).split("\n")[2] for why in answers]
    assert told[0] == told[1]
    assert "about" not in told[1]
