"""What is learnt in simulated worlds, and the explanations that rest on it."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from sklearn.ensemble import RandomForestRegressor

import whence as wh
from whence.errors import InputError
from whence.explain.robust import Held
from whence.worlds import Calibration, Curve, Worlds
from whence.worlds.calibration import (
    BETWEEN,
    EVERY,
    FIRST,
    LADDER,
    UNSEEN,
    excess_there,
    ladder_of,
    times_there,
)  # fmt: skip

RNG = np.random.default_rng(1)
X = RNG.random((70, 2))
Y = np.maximum(60 + 30 * X[:, :1] + 6 * RNG.normal(size=(70, 1)), 0.0)
TODAY = [0.2, 0.5]


def fitted(weights: Any = None, risk: Any = None) -> wh.Policy:
    weights = wh.ForestWeights(n_trees=10, random_state=0) if weights is None else weights
    return wh.Policy(wh.Newsvendor(holding=1, backorder=3), weights, risk).fit(X, Y)


@pytest.fixture(scope="module")
def policy() -> wh.Policy:
    return fitted()


@pytest.fixture(scope="module")
def plan(policy: wh.Policy) -> Any:
    return policy.decide([0.7, 0.5])


@pytest.fixture(scope="module")
def why(policy: wh.Policy, plan: Any) -> wh.Explanation:
    return policy.explain(TODAY, plan, holds=0.8)


def test_an_answer_is_proved_nearest_by_the_standard_errors_that_the_share_needs(
    policy: wh.Policy, plan: Any, why: wh.Explanation
) -> None:
    """It is the very answer with that `confidence`, and its share is the curve's."""
    assert why.reliance is not None
    assert why.reliance.curve is not None
    assert why.status == "optimal"
    assert why.confidence == why.reliance.needed
    same = policy.explain(TODAY, plan, confidence=why.confidence)
    assert (same.distance, same.bound) == (why.distance, why.bound)
    assert why.reliance.share == why.reliance.curve.share(why.confidence)
    assert why.reliance.asked == 0.8
    low, high = why.reliance.interval or (1.0, 0.0)
    assert low < why.reliance.share < high
    assert why.reliable
    assert "You may rely on it" in str(why)
    assert why.nearest is not None
    assert why.nearest.distance <= why.distance
    assert why.verify(policy).agrees, why.verify(policy)


def test_what_is_nearest_and_reliable_is_told_once() -> None:
    """Rain on or off: the nearest context has as many standard errors as nine of ten true answers need."""
    rain = np.arange(80) % 2
    demand = 40.0 + 60.0 * rain + RNG.normal(size=80)
    weights = wh.ForestWeights(n_trees=20, max_features=1.0, random_state=0)
    policy = wh.Policy(wh.Newsvendor(1, 3), weights).fit(pd.DataFrame({"rain": rain == 1}), demand[:, None])
    asked = {"rain": False}, policy.decide({"rain": True})
    policy.explain(*asked, holds=0.8)
    curves = policy.worlds_.curves  # type: ignore[attr-defined]
    for kind in curves:
        curves[kind] = Curve((0.0, 1.0, 2.0), (40, 40, 40), (10, 20, 40), 40, 12, 12, "ridge", 0.5)
    why = policy.explain(*asked, holds=0.8)
    assert why.confidence > 0.0
    assert why.reliable
    assert why.nearest is None
    assert str(why).count("rain were on") == 1
    assert "Nearest, at distance" not in str(why)


def test_a_step_that_is_no_whole_number_of_grains_is_reached(plan: Any) -> None:
    """Of neighbours and other numbers of trees: 0.76 standard errors are asked for where they are needed, not 0.75."""
    policy = fitted()
    policy.explain(TODAY, plan, holds=0.8)
    curves = policy.worlds_.curves  # type: ignore[attr-defined]
    for kind in curves:
        curves[kind] = Curve((0.0, 0.3, 0.76), (40, 40, 40), (10, 20, 40), 40, 12, 12, "ridge", 0.5)
    why = policy.explain(TODAY, plan, holds=0.9756)
    assert why.reliance is not None
    assert why.reliance.needed == why.confidence == 0.76
    assert why.reliance.reached


def test_worlds_follow_from_the_random_state(plan: Any, why: wh.Explanation) -> None:
    """Another process learns the same curve and gives the same answer."""
    again = fitted().explain(TODAY, plan, holds=0.8)
    assert again.reliance == why.reliance
    assert again.distance == why.distance


def test_a_curve_is_learnt_once_and_saved_with_the_policy(
    policy: wh.Policy, plan: Any, why: wh.Explanation, tmp_path: Path
) -> None:
    """A policy that was saved and loaded knows its curves without a model of the world, and is the same otherwise."""
    worlds = policy.worlds_  # type: ignore[attr-defined]
    assert len(worlds.curves) == 1
    policy.explain([0.9, 0.1], policy.decide([0.3, 0.3]), holds=0.7)
    assert len(worlds.curves) == 1
    policy.save(tmp_path / "policy.whence")
    loaded = wh.load(tmp_path / "policy.whence")
    began = time.process_time()
    found = loaded.explain(TODAY, plan, holds=0.8)
    assert found.reliance == why.reliance
    assert loaded.worlds_._model is None
    assert time.process_time() - began < 30.0
    assert not hasattr(loaded.fit(X, Y), "worlds_")


@pytest.mark.parametrize("start", range(4))
def test_more_share_asked_for_is_never_nearer(policy: wh.Policy, start: int) -> None:
    """Also where the share is out of reach, or no context has it."""
    rng = np.random.default_rng(start)
    here, there = rng.random((2, 2))
    found = [policy.explain(here, policy.decide(there) + 1, holds=share) for share in (0.3, 0.6, 0.8, 0.9, 0.97, 1.0)]
    distances = [one.distance for one in found]
    assert distances == sorted(distances)
    for one in found:
        assert one.reliance is not None
        assert not one.reliable or one.reliance.reached


def test_a_search_in_a_world_ends_with_the_time() -> None:
    """Where one question of a world takes long, it is cut off, and nothing is told of what it was about to show."""
    rng = np.random.default_rng(0)
    numbers, level, shop = rng.random((300, 16)), rng.integers(1, 5, 300), rng.integers(0, 3, 300)
    shops = np.array(["north", "south", "east"])[shop]
    contexts = pd.DataFrame(numbers).add_prefix("f").assign(level=level, shop=shops)
    demand = 20 * numbers @ rng.random((16, 3)) + 5 * rng.random((300, 3)) + level[:, None]
    weights = wh.ForestWeights(max_depth=6, min_samples_leaf=1, max_features="sqrt", random_state=0)
    hard = wh.Policy(wh.Newsvendor([1, 2, 1], [3, 2, 4]), weights).fit(contexts, demand)
    today = contexts.iloc[0]
    began = time.process_time()
    why = hard.explain(today, hard.decide(today), kind="absolute", within=0.01, holds=0.9, time_limit=5)
    # Processor time, of at most two threads: a busy machine spends less until the limit, and never more.
    assert time.process_time() - began < 20.0
    assert why.reliance is not None
    assert why.reliance.share is None


def test_a_time_limit_gives_a_coarser_curve_or_none(plan: Any) -> None:
    """Where too little time is left, it is said; a coarse curve is made finer by the next question that has time."""
    policy = fitted()
    at_once = policy.explain(TODAY, plan, holds=0.8, time_limit=1e-3)
    assert at_once.reliance is None or at_once.reliance.share is None
    assert not at_once.reliable
    told: list[Any] = []

    def stop(progress: wh.Progress) -> bool:
        told.append(progress.refit)
        return progress.refit is None or progress.refit < 5

    few = policy.explain(TODAY, plan, holds=0.8, on_progress=stop)
    assert few.reliance is not None
    assert few.reliance.curve is not None
    assert few.reliance.curve.worlds == 4
    assert few.reliance.curve.is_coarse
    assert "There was time for 4 of 12 worlds." in str(few)
    full = policy.explain(TODAY, plan, holds=0.8)
    assert full.reliance is not None
    assert full.reliance.curve is not None
    assert not full.reliance.curve.is_coarse


def test_the_model_of_the_world_ends_when_it_is_told_to(plan: Any) -> None:
    """Before every fit of it somebody is told, and may stop it: nothing half made is kept."""
    policy = fitted()
    told: list[bool] = []

    def stop(progress: wh.Progress) -> bool:
        told.append(progress.simulated and progress.refit == 0)
        return sum(told) < 3

    found = policy.explain(TODAY, plan, holds=0.8, on_progress=stop)
    assert sum(told) == 3
    assert found.reliance is not None
    assert found.reliance.curve is None
    assert policy.worlds_._model is None  # type: ignore[attr-defined]
    assert not found.reliable


def test_no_promise_for_little_gain_or_outside_the_history(policy: wh.Policy, plan: Any) -> None:
    """A gain that is not worth speaking of, or a context that no past knows, is named without a tick."""
    small = policy.explain(TODAY, plan, holds=0.8, least_gain=0.9)
    assert not small.reliable
    assert "too little to rely on" in str(small)
    assert "You may rely on it" not in str(small)
    with pytest.warns(UserWarning, match="outside the history"):
        beyond = policy.explain([-0.5, 0.5], plan, holds=0.8, fixed=["x0"], bounds={"x1": (0.0, 1.0)})
    assert not beyond.reliable


def test_documents_keep_what_worlds_say(why: wh.Explanation) -> None:
    """A file tells the same, and has the model of the world and the curve."""
    read = wh.Explanation.from_json(why.to_json() or "")
    assert read.reliance == why.reliance
    assert read.reliable == why.reliable
    assert str(read) == str(why)
    entry = why.to_dict()["reliance"]
    assert entry["worlds"]["curve"][0]["confidence"] == 0.0
    assert {"model", "explained", "questions"} <= set(entry["worlds"])
    told = dict(why.report.shown.certificate)  # type: ignore[union-attr, arg-type]
    assert "simulated worlds" in told["true in the world"]
    assert "variance" in told["model of the world"]
    first, last = entry["worlds"]["curve"][0]["share"], max(s["share"] or 0.0 for s in entry["worlds"]["curve"])
    curve = told["true by standard errors"]
    assert curve.startswith(f"{100 * first:.0f} % by 0, ")
    assert f", {100 * last:.0f} % by " in curve
    assert curve.endswith(" standard errors")


@pytest.mark.parametrize(
    ("weights", "risk"),
    [
        (wh.KNNWeights(k=8), None),
        (wh.ForestWeights(n_trees=5, random_state=0), wh.CVaR(0.7)),
        (wh.DecisionForest(n_trees=5, random_state=0), None),
        ("boosted", None),
    ],
)
def test_other_weights_and_risks(weights: Any, risk: Any) -> None:
    """Neighbours, tails, decision forests and a user's own fitted forest are asked in worlds, too."""
    if weights == "boosted":
        weights = wh.ForestWeights.of(RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, Y.ravel()))
    policy = fitted(weights, risk)
    policy.worlds_ = Worlds()  # type: ignore[attr-defined]
    found = policy.explain(TODAY, policy.decide([0.7, 0.5]), holds=0.6)
    assert found.reliance is not None
    assert found.reliance.curve is not None
    assert found.reliance.curve.worlds == 12
    assert len(found.reliance.curve.shares) > 1


@pytest.mark.parametrize("asked", [{"kind": "absolute", "within": 0.05}, {"instead": None}, {"instead": "set"}])
def test_other_claims_have_curves_of_their_own(policy: wh.Policy, plan: Any, asked: dict[str, Any]) -> None:
    """Absolute, no plan and sets are each learnt by themselves."""
    before = len(policy.worlds_.curves) if hasattr(policy, "worlds_") else 0
    options = {"instead": plan, **asked}
    if options["instead"] == "set":
        options["instead"] = policy.problem.at_least(0, 90.0)
    found = policy.explain(TODAY, holds=0.5, **options)
    assert len(policy.worlds_.curves) == before + 1  # type: ignore[attr-defined]
    assert found.reliance is not None
    assert found.reliance.curve is not None


def test_truth_is_counted_by_the_definition(policy: wh.Policy, plan: Any) -> None:
    """By how much a plan costs more, with a margin or against the best, as numbers by hand."""
    near = policy.explain(TODAY, plan)
    outcomes, even = np.array([[70.0], [80.0], [90.0]]), np.full(3, 1 / 3)

    def cost(order: float) -> float:
        over = order - outcomes[:, 0]
        return float((np.maximum(over, 0) + 3 * np.maximum(-over, 0)).mean())

    mine, decided = cost(float(plan[0])), cost(float(near.decision[0]))
    asked = policy.problem, policy.risk_, outcomes, even
    assert excess_there(near, *asked) == pytest.approx(mine - decided)
    margin = policy.explain(TODAY, plan, margin=0.1)
    assert excess_there(margin, *asked) == pytest.approx(mine - 0.9 * decided)
    best = policy.explain(TODAY, plan, kind="absolute", within=0.2)
    assert excess_there(best, *asked) == pytest.approx(mine - 1.2 * cost(90.0))


def test_what_cannot_be_simulated_is_refused() -> None:
    """A model that cannot be fitted again, and a policy that forecasts."""
    two = np.hstack([Y, Y])
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, Y.ravel())
    policy = wh.Policy(wh.Newsvendor([1, 1], [3, 3]), wh.ForestWeights.of(forest)).fit(X, two)
    with pytest.raises(InputError, match="can be fitted again") as caught:
        policy.explain(TODAY, policy.decide([0.7, 0.5]), holds=0.8)
    assert caught.value.parameter == "holds"


def test_steps_follow_the_number_of_voters(policy: wh.Policy) -> None:
    """A standard error over few neighbours is larger than one over many trees, so that fewer are tried."""
    assert ladder_of(policy)[-1] < ladder_of(fitted(wh.ForestWeights(n_trees=100, random_state=0)))[-1]
    assert ladder_of(fitted(wh.KernelWeights())) == (0.0,)


def test_a_calibration_without_worlds_is_none(policy: wh.Policy) -> None:
    """Nothing was seen, so nothing is said."""
    assert Calibration(policy, Worlds(), lambda *_: None, count=1, questions=1).curve() is not None


def test_worlds_of_the_question_itself_check_the_answer(policy: wh.Policy, plan: Any, why: wh.Explanation) -> None:
    """They are told beside the share of such answers, in text, certificate and file, and are the same each time."""
    both = policy.explain(TODAY, plan, holds=0.8, own_worlds=True)
    assert both.reliance is not None
    own = both.reliance.own
    assert own is not None
    assert 6 <= own.refits <= 12
    assert both.distance == why.distance
    assert both.reliance.share == why.reliance.share  # type: ignore[union-attr]
    assert f"Of {own.refits} simulated worlds in which this very question was asked, it is true in" in str(both)
    told = dict(both.report.shown.certificate)  # type: ignore[union-attr, arg-type]
    assert f"of this very question {own.times} of {own.refits}" in told["true in the world"]
    assert both.to_dict()["reliance"]["own"] == {"times": own.times, "refits": own.refits}
    assert wh.Explanation.from_json(both.to_json() or "").reliance == both.reliance
    again = policy.explain(TODAY, plan, holds=0.8, own_worlds=True)
    assert again.reliance == both.reliance
    assert "very question" not in str(why)
    assert both.verify(policy).agrees


def test_worlds_of_the_question_itself_may_take_the_promise_away(policy: wh.Policy, plan: Any) -> None:
    """Where they clearly speak against the share asked for, nothing is promised; a few of them may be chance."""
    both = policy.explain(TODAY, plan, holds=0.8, own_worlds=True)
    assert both.reliance is not None
    for times, reliable in ((12, True), (9, True), (4, False), (0, False)):
        said = structs.replace(both, reliance=replace(both.reliance, own=Held(times, 12)))
        assert said.reliable == reliable
        assert ("You may rely on it" in str(said)) == reliable
    assert "it is true in none" in str(said)


def test_there_may_be_no_time_for_worlds_of_the_question_itself(plan: Any) -> None:
    """Then the share of such answers is told alone."""
    policy = fitted()
    policy.explain(TODAY, plan, holds=0.8)

    def stop(progress: wh.Progress) -> bool:
        return not progress.simulated or (progress.refit or 0) < 3

    few = policy.explain(TODAY, plan, holds=0.8, own_worlds=True, on_progress=stop)
    assert few.reliance is not None
    assert few.reliance.own is None
    assert few.reliable


def test_how_near_to_the_best_a_plan_is_as_often_as_was_asked_for(policy: wh.Policy, plan: Any) -> None:
    """No number of standard errors makes a plan the best in the world: it is told within which share of it it is."""
    found = policy.explain(TODAY, plan, kind="absolute", within=0.05, holds=0.9)
    assert found.reliance is not None
    curve, wider = found.reliance.curve, found.reliance.wider
    assert curve is not None
    assert curve.kappa(0.9) is None
    assert wider is not None
    assert wider == curve.times(0.9, found.confidence) > 1.0  # type: ignore[operator]
    # The share told is of what was asked for, and so is the promise: there is none.
    assert found.reliance.share == curve.share(found.confidence) < 0.9  # type: ignore[operator]
    assert not found.reliance.reached
    assert not found.reliable
    said = str(found)
    assert "(the plan is within 5 % of the best there); 90 % were asked for." in said
    assert f"In 90 % of them the plan is within {5 * wider:g} % of the best." in said
    assert "You may rely on it" not in said
    assert found.verify(policy).agrees, found.verify(policy)
    assert found.to_dict()["reliance"]["wider"] == wider
    assert wh.Explanation.from_json(found.to_json() or "").reliance == found.reliance
    for step, seen in enumerate(curve.wider):
        assert list(seen) == sorted(seen)
        assert seen[0] == curve.true[step]
        assert seen[-1] <= curve.answered[step]
    forged = found.to_dict()
    forged["reliance"]["wider"] = wider / 2.0
    assert not wh.Explanation.from_json(json.dumps(forged)).verify(policy).agrees


def test_better_than_the_decision_is_never_widened(why: wh.Explanation) -> None:
    """Only a distance from the best plan can be allowed more of."""
    assert why.reliance is not None
    assert why.reliance.curve is not None
    assert why.reliance.curve.wider == ()
    assert replace(why.reliance, needed=None).wider is None


def test_a_plan_of_no_set_is_judged_as_it_is_named(policy: wh.Policy) -> None:
    """What would change the plan is no truism: the plan that would take its place must be better in the world."""
    found = policy.explain(TODAY, holds=0.7)
    assert found.reliance is not None
    curve = found.reliance.curve
    assert curve is not None
    assert curve.shares[0] < 0.8
    outcomes, even = np.array([[70.0], [80.0], [90.0]]), np.full(3, 1 / 3)

    def cost(order: Any) -> float:
        over = float(np.ravel(order)[0]) - outcomes[:, 0]
        return float((np.maximum(over, 0) + 3 * np.maximum(-over, 0)).mean())

    over = excess_there(found, policy.problem, policy.risk_, outcomes, even)
    assert over == pytest.approx(cost(found.alternative) - cost(found.decision) / 1.01)


def test_times_of_what_is_allowed_by_hand(policy: wh.Policy, plan: Any) -> None:
    """A plan that costs 50 % more than the best one is 10 times as far from it as 5 %."""
    best = policy.explain(TODAY, plan, kind="absolute", within=0.05)
    outcomes, even = np.array([[70.0], [80.0], [90.0]]), np.full(3, 1 / 3)
    over = float(plan[0]) - outcomes[:, 0]
    mine = float((np.maximum(over, 0) + 3 * np.maximum(-over, 0)).mean())
    # The best order for these three is the highest: it costs 20, 10 and nothing.
    assert times_there(best, policy.problem, policy.risk_, outcomes, even) == pytest.approx((mine - 10.0) / 0.5)


def calibration(policy: wh.Policy) -> Calibration:
    made = Calibration(policy, Worlds(), lambda *_: None)
    made.kappas = ladder_of(policy)
    return made


@pytest.mark.parametrize("weights", [None, wh.DecisionForest(n_trees=5, random_state=0)])
def test_questions_are_about_contexts_that_the_policy_of_the_world_has_not_seen(weights: Any) -> None:
    """As those of users are: it is fitted to all other past contexts, and to nothing else."""
    policy = fitted(weights)
    world, _, unseen = calibration(policy)._simulated(Worlds().model_of(policy), policy, 0)
    assert len(unseen) == UNSEEN
    seen = np.setdiff1d(np.arange(len(X)), unseen)
    assert world.X_.equals(policy.X_.iloc[seen])
    again = fitted(world.weights_).fit(X[seen], world.Y_)
    for row in unseen:
        assert world.decide(X[row]) == again.decide(X[row])


def test_neighbours_that_need_all_past_contexts_have_them() -> None:
    """Fewer than so many neighbours are none to ask."""
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=19)).fit(X[:20], Y[:20])
    world, _, unseen = calibration(policy)._simulated(Worlds().model_of(policy), policy, 0)
    assert len(world.X_) == len(unseen) == 20


def test_later_worlds_are_asked_where_the_share_of_true_answers_rises(policy: wh.Policy) -> None:
    """The first ones at coarse steps; then each question at every third step between few true answers and most."""
    steps, kappas = calibration(policy)._steps, sorted(LADDER + BETWEEN)
    first = [i for i, kappa in enumerate(kappas) if kappa in LADDER]
    assert steps([], 0) == [first]
    turns = np.linspace(1.0, 11.0, 24)
    seen: list[list[float | None]] = [[1.0 if k >= turn else np.inf for k in kappas] for turn in turns]
    sure = next(i for i, kappa in enumerate(kappas) if kappa >= turns[-1])
    assert max(steps(seen, 2)[0]) == sure
    turned = steps(seen, FIRST)
    few = max(i for i, kappa in enumerate(kappas) if np.mean(turns <= kappa) <= 0.4)
    assert {step for some in turned for step in some} == {0, *range(few, sure + 1)}
    assert set.intersection(*map(set, turned)) == {0, sure}
    assert len(turned) == EVERY
