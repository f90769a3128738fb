"""Explanations that hold in refits: the ladder, its certificate, and what cannot be asked."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from tests.cases import cases
from tests.explain.test_margin import asked
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError
from whence.explain.robust import CHOOSING, KAPPAS, Held, Refitted
from whence.weights.refits import Refits, refits_of


def history(n: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    """Days with a temperature, a weekday and an umbrella, and what was sold."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {"t": rng.normal(20, 6, n).round(1), "day": rng.choice(["Mon", "Sat"], n), "rain": rng.random(n) < 0.3}
    )
    Y = 10 + X["t"] + 8 * (X["day"] == "Sat") - 4 * X["rain"] + rng.normal(0, 3, n)
    return X, Y.to_numpy()[:, None]


def fitted(weights: wh.Weights | None = None, risk: wh.Risk | None = None) -> wh.Policy:
    weights = weights or paper_forest(20, 4, random_state=3)
    return wh.Policy(wh.Newsvendor(1, 3), weights, risk).fit(*history())


@pytest.fixture(scope="module")
def policy() -> wh.Policy:
    return fitted()


TODAY = {"t": 16.0, "day": "Mon", "rain": False}
PLAN = [40.0]


@pytest.fixture(scope="module")
def why(policy: wh.Policy) -> wh.Explanation:
    return policy.explain(TODAY, PLAN, holds=0.9, refits="seed")


def same(one: wh.Explanation, other: wh.Explanation) -> bool:
    """Whether two answers are the same to the last bit."""
    numbers = [(a.status, a.distance, a.bound, a.nodes) for a in (one, other)]
    if one.context is None or other.context is None:
        return numbers[0] == numbers[1] and one.context is other.context
    return numbers[0] == numbers[1] and one.context.equals(other.context)


def test_the_ladder_gives_what_each_of_its_rungs_does(policy: wh.Policy, why: wh.Explanation) -> None:
    """Rung by rung the answer to one confidence; the first that holds in enough refits is chosen."""
    reliance = why.reliance
    assert reliance is not None
    climbed = [rung.confidence for rung in reliance.ladder]
    assert climbed[0] == 0.0
    assert climbed == sorted(set(climbed).intersection(KAPPAS))
    for rung in reliance.ladder:
        alone = policy.explain(TODAY, PLAN, confidence=rung.confidence)
        assert (alone.status, alone.distance, alone.bound) == (rung.status, rung.distance, rung.bound)
        assert rung.held == Refitted.of(policy).held(alone, CHOOSING)
        over = Refitted.of(policy).excesses(alone, CHOOSING)
        assert over is not None
        further = stats.t(9, over.mean(), over.std(ddof=1) * np.sqrt(1.1)).cdf(alone.tolerance)
        assert rung.expected == pytest.approx(further)
        assert rung.held is not None
        assert (rung.held.share >= 0.9 and further >= 0.9) == (rung is reliance.ladder[-1])
    assert reliance.reached
    assert reliance.confidence == why.confidence == reliance.ladder[-1].confidence
    plain = policy.explain(TODAY, PLAN)
    if len(reliance.ladder) > 1:
        assert why.nearest is not None
        assert same(why.nearest, plain)
        assert why.distance >= plain.distance
    times, refits = why.held(20)
    assert (times, refits) == (reliance.chosen.times + reliance.judged.times, 20)
    assert "refits" in str(why)


def test_no_confidence_is_the_answer_of_before() -> None:
    """Bit for bit, for both risks and kinds, trained and frozen forests."""
    for seed in range(60):
        case = cases(seed, 1)[0]
        assert same(asked(case), asked(case, confidence=0.0))


def test_more_confidence_is_never_nearer() -> None:
    """Also through the policy, with categories, switches and restrictions."""
    for seed in range(100, 130):
        case = cases(seed, 1)[0].but(kind="relative")
        before = asked(case).distance
        for kappa in (0.5, 1.5, 4.0):
            distance = asked(case, confidence=kappa).distance
            assert distance >= before - 1e-9
            before = distance


def test_refits_follow_from_the_random_state_alone(why: wh.Explanation) -> None:
    """Another process, or the same policy fitted again, makes the same refits; another number, another one."""
    again = fitted()
    assert again.explain(TODAY, PLAN, holds=0.9, refits="seed").reliance == why.reliance
    rows = again._inputs(again.X_)
    refits = refits_of(again.weights_, rows, again.Y_)
    fresh = Refits(fitted().weights_, rows, again.Y_, "seed")
    for number in (0, 7):
        assert np.array_equal(refits.weights_at(number, rows[4]), fresh.weights_at(number, rows[4]))
    assert not np.array_equal(refits.weights_at(0, rows[4]), refits.weights_at(1, rows[4]))
    boot = Refits(again.weights_, rows, again.Y_, "bootstrap").weights_at(0, rows[4])
    assert boot.sum() == pytest.approx(1.0)
    assert not np.array_equal(boot, refits.weights_at(0, rows[4]))


def test_refits_are_kept_and_saved_with_the_policy(policy: wh.Policy, why: wh.Explanation) -> None:
    """A policy that was asked carries them along; fitting it again forgets them."""
    saved = pickle.loads(pickle.dumps(policy))
    refits = refits_of(saved.weights_, saved._inputs(saved.X_), saved.Y_)
    assert all(refits.ready_within(number, 0.0) for number in range(20))
    assert saved.explain(TODAY, PLAN, holds=0.9, refits="seed").reliance == why.reliance
    saved.fit(*history())
    fresh = refits_of(saved.weights_, saved._inputs(saved.X_), saved.Y_)
    assert not fresh.ready_within(0, 0.0)


@pytest.mark.parametrize("how", ["json", "pickle", "light"])
def test_a_saved_explanation_tells_it_and_can_be_asked_no_more(
    policy: wh.Policy, why: wh.Explanation, how: str
) -> None:
    """What is known stays known; refits need the policy, and the error says so."""
    saved = {
        "json": lambda: wh.Explanation.from_json(why.to_json()),
        "pickle": lambda: pickle.loads(pickle.dumps(why)),
        "light": why.light,
    }[how]()
    assert saved.reliance == why.reliance
    assert (saved.nearest is None) == (why.nearest is None)
    assert str(saved) == str(why)
    assert saved.confidence == why.confidence
    for ask in (saved.held, saved.region):
        with pytest.raises(InputError, match=r"saved or sent cannot be .*: ask the policy again"):
            ask()
    assert saved.verify(policy).agrees, saved.verify(policy)


def test_verification_computes_it_again(policy: wh.Policy, why: wh.Explanation) -> None:
    """The refits are made anew by a policy that never saw them."""
    assert why.verify(policy).agrees
    assert why.verify(fitted(), prove=True).agrees


def tampered(why: wh.Explanation) -> list[wh.Explanation]:
    """The same explanation with another entry about its reliance each."""
    found = why.reliance
    assert found is not None
    first, last = found.ladder[0], found.ladder[-1]
    others = [
        replace(found, chosen=Held(found.chosen.times - 1, 10)),
        replace(found, judged=Held((found.judged.times + 5) % 10, 10)),
        replace(found, wanted=0.5),
        replace(found, confidence=found.confidence + 1.0),
        replace(found, ladder=(replace(first, distance=first.distance + 0.1), *found.ladder[1:])),
        replace(found, ladder=(*found.ladder[:-1], replace(last, held=Held(1, 10)))),
        replace(found, ladder=(*found.ladder[:-1], replace(last, expected=0.5))),
    ]
    return [structs.replace(why, reliance=other) for other in others]


@pytest.mark.parametrize("number", range(7))
def test_verification_detects_what_was_changed(policy: wh.Policy, why: wh.Explanation, number: int) -> None:
    """Counts, shares, confidence and the rungs that can be computed again."""
    assert not tampered(why)[number].verify(policy).agrees


def test_a_document_that_was_changed(policy: wh.Policy, why: wh.Explanation) -> None:
    """Any other entry of the ladder is covered by the fingerprint of the document."""
    document = why.to_dict()
    document["reliance"]["ladder"][0]["bound"] = 0.0
    assert not wh.Explanation.from_dict(document).verify(policy).agrees


def test_a_frozen_forest_has_confidence_but_no_refits() -> None:
    """It was given fitted."""
    X, Y = history()
    numbers = X[["t"]]
    forest = RandomForestRegressor(20, max_depth=3, random_state=0).fit(numbers, Y.ravel())
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights.of(forest)).fit(numbers, Y)
    sure = policy.explain([10.0], PLAN, confidence=2.0)
    assert sure.distance >= policy.explain([10.0], PLAN).distance
    assert sure.region().proved
    for ask in (sure.held, lambda: policy.explain([10.0], PLAN, holds=0.9, refits="bootstrap")):
        with pytest.raises(InputError, match=r"cannot be fitted again.*'confidence'") as caught:
            ask()
        assert caught.value.parameter == "refits"


def test_neighbours_are_refitted_on_other_data() -> None:
    """They have no random numbers to draw anew."""
    policy = fitted(wh.KNNWeights(k=9))
    plain = policy.explain(TODAY, PLAN)
    assert plain.held(20) == plain.held(20, "bootstrap")
    with pytest.raises(InputError, match="no random numbers to draw anew: use refits='bootstrap'"):
        policy.explain(TODAY, PLAN, holds=0.9, refits="seed")
    assert plain.region().proved


@pytest.mark.parametrize("options", [{}, {"kind": "absolute", "within": 0.05}, {"margin": 0.05}, {"plausible": 0.2}])
@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.7)])
def test_other_risks_and_questions(risk: wh.Risk, options: dict[str, Any]) -> None:
    """Counted by the definition: the policy's risk under the weights of every refit."""
    policy = fitted(risk=risk)
    why = policy.explain(TODAY, PLAN, holds=0.8, refits="seed", **options)
    assert why.context is not None
    refitted = Refitted.of(policy)
    times = 0
    for number in range(20):
        weights = refitted.refits.weights_at(number, policy.inputs_of(why.context))
        cost = risk.of(policy.problem.costs(PLAN, policy.Y_), weights)
        rival = risk.of(policy.problem.costs(why.decision, policy.Y_), weights) * (1 - options.get("margin", 0.0))
        if why.kind == "absolute":
            best = policy.problem.solve(policy.Y_, weights, risk)
            rival = 1.05 * risk.of(policy.problem.costs(best, policy.Y_), weights)
        times += bool(cost <= rival + why.tolerance)
    assert why.held(20) == (times, 20)
    assert why.verify(policy).agrees, why.verify(policy)


@pytest.mark.parametrize("options", [{"confidence": 1.0}, {"holds": 0.9}])
def test_the_integer_program_knows_no_confidence(policy: wh.Policy, options: dict[str, float]) -> None:
    """It is refused before anything is solved."""
    with pytest.raises(InputError, match="'confidence' and 'holds' are for the search"):
        policy.explain(TODAY, PLAN, engine="milp", **options)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"holds": 0}, "holds"),
        ({"holds": 1.2}, "holds"),
        ({"holds": "most"}, "holds"),
        ({"holds": True}, "holds"),
        ({"confidence": -1}, "confidence"),
        ({"confidence": "high"}, "confidence"),
        ({"confidence": float("inf")}, "confidence"),
        ({"holds": 0.9, "confidence": 2}, "confidence"),
        ({"holds": 0.9, "refits": "jackknife"}, "refits"),
        ({"on_progress": "loudly"}, "on_progress"),
        ({"holds": 0.9, "on_nearest": 3}, "on_nearest"),
        ({"fixed": ["moon"]}, "fixed"),
        ({"bounds": {"moon": (0, 1)}}, "bounds"),
    ],
)
def test_what_cannot_be_asked(policy: wh.Policy, options: dict[str, Any], parameter: str) -> None:
    """One sentence each, with the name of the argument."""
    with pytest.raises(InputError) as caught:
        policy.explain(TODAY, PLAN, **options)
    assert caught.value.parameter == parameter
    assert f"'{parameter}'" in str(caught.value)


@pytest.mark.parametrize("refits", [0, -3, 2.5, True, "all"])
def test_refits_are_counted(why: wh.Explanation, refits: Any) -> None:
    """A whole number of them, at least one."""
    with pytest.raises(InputError, match="'refits' must be an int >= 1"):
        why.held(refits)


@pytest.mark.parametrize(("argument", "value"), [("kind", "jackknife"), ("within", -0.1), ("within", "little")])
def test_what_refits_cannot_be_asked(why: wh.Explanation, argument: str, value: Any) -> None:
    """The argument is named, also where the explanation would not need it."""
    with pytest.raises(InputError, match=f"'{argument}' must be .* Got {value!r} instead") as caught:
        why.held(5, **{argument: value})
    assert caught.value.parameter == argument


@pytest.mark.parametrize("limit", [0, -1.0, "long", float("nan")])
def test_a_region_needs_time(why: wh.Explanation, limit: Any) -> None:
    """A positive number of seconds, or None."""
    with pytest.raises(InputError, match="'time_limit' must be a positive number or None"):
        why.region(limit)


def test_what_has_no_context_holds_nowhere(policy: wh.Policy) -> None:
    """No refit agrees, because none is asked, and there is no rule."""
    none = policy.explain(TODAY, [10_000.0], holds=0.9, refits="seed")
    assert none.status == "none"
    assert none.reliance is None
    assert tuple(none.held()) == (0, 0)
    assert str(none.region()) == "No rule: there is no such context."


def test_the_time_limit_holds_while_refits_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitting cannot be interrupted, so that one that would take too long is not begun."""
    policy = fitted()
    policy.explain(TODAY, PLAN)
    make, begun = Refits._made, list[int]()

    def slowly(self: Refits, number: int) -> Any:
        begun.append(number)
        time.sleep(0.4)
        return make(self, number)

    monkeypatch.setattr(Refits, "_made", slowly)
    monkeypatch.setattr(Refits, "_guessed", lambda self: 0.4)
    why = policy.explain(TODAY, PLAN, holds=0.9, refits="seed", time_limit=1.0)
    assert len(begun) <= 2, "two of 0.4 s fit into the limit"
    assert why.reliance is not None
    assert why.reliance.chosen.refits < 10
    assert not why.reliance.reached
    assert "not known" in str(why)
    again = wh.Explanation.from_json(why.to_json())
    assert again.reliance == why.reliance


def test_a_large_forest_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long it takes is guessed from one tree on some rows."""
    rng = np.random.default_rng(0)
    X = rng.random((6000, 6))
    policy = wh.Policy(wh.Newsvendor(1, 3), paper_forest(60, 6, random_state=0)).fit(X, X[:, :1])
    refits = refits_of(policy.weights_, policy._inputs(policy.X_), policy.Y_)
    monkeypatch.setattr(Refits, "_made", lambda self, number: pytest.fail("was begun"))
    assert not refits.ready_within(0, 0.01)
    assert refits.ready_within(0, np.inf)


def test_the_user_may_stop_while_refits_are_made() -> None:
    """Between two refits progress is told, with the number of the refit, and False ends it."""
    told: list[tuple[int | None, int | None]] = []

    def stop(progress: wh.Progress) -> bool:
        told.append((progress.refit, progress.refits))
        return (4, 10) not in told

    policy = fitted()
    why = policy.explain(TODAY, PLAN, holds=0.9, refits="seed", on_progress=stop)
    assert why.reliance is not None
    assert why.reliance.chosen.refits == 3
    made = [one for one in told if one[0] is not None]
    assert made[:4] == [(1, 10), (2, 10), (3, 10), (4, 10)]
    told.clear()
    policy.explain(
        TODAY,
        PLAN,
        holds=0.9,
        refits="seed",
        on_progress=lambda progress: told.append((progress.refit, progress.refits)),
    )
    # Those that are there already are not made again; ten others judge.
    assert [one for one in told if one[0] is not None] == [(i, 10) for i in (*range(4, 11), *range(1, 11))]
