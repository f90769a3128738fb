"""Questions about sets of plans through the policy: what comes back, what is said, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.forests import paper_forest
from tests.search.test_set_search import grid_policy

import whence as wh
from whence.errors import InputError
from whence.explain.robust import Refitted


def bakery(weights: Any = None, budget: float | None = None) -> wh.Policy:
    """Two products whose demands follow the temperature."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"temp": rng.uniform(0, 30, 80), "holiday": rng.random(80) < 0.3})
    demand = np.column_stack([20 + 2 * X["temp"], 90 - 2 * X["temp"]]) + 10 * X["holiday"].to_numpy()[:, None]
    Y = pd.DataFrame(demand + rng.normal(0, 2, (80, 2)), columns=["rolls", "croissants"])
    weights = weights or paper_forest(20, 3, random_state=0)
    return wh.Policy(wh.Newsvendor(1, 3, budget=budget, cost_unit="€"), weights).fit(X, Y)


def test_any_plan_names_what_takes_over() -> None:
    """Without a plan: the nearest context in which the decision is more than 1 % above the best."""
    policy = bakery()
    why = policy.explain({"temp": 10.0, "holiday": False})
    assert why.status == "optimal"
    assert why.among == "another plan"
    assert np.allclose(why.alternative, policy.decide(why.context))
    assert why.cost_after.decision > 1.01 * why.cost_after.alternative
    assert f"Today's plan stays within 1 % of the best in every context nearer than {why.distance:.3g}"[:70] in str(why)
    assert "Takes over: " in str(why)
    assert "your plan" not in str(why)


def test_amounts_and_no_margin() -> None:
    """A margin may be an amount; at 0 the plan that takes over is strictly better."""
    policy = bakery()
    today = {"temp": 10.0, "holiday": False}
    amount = policy.explain(today, margin=(5.0, "cost"))
    assert amount.cost_after.decision > 5.0 + amount.cost_after.alternative
    assert "within 5 € of the best" in str(amount)
    at_once = policy.explain(today, margin=0)
    assert 0.0 < at_once.distance <= policy.explain(today).distance
    assert at_once.cost_after.decision > at_once.cost_after.alternative
    assert "stays the best in every context nearer than" in str(at_once)


def test_quantities_by_the_names_of_outcomes() -> None:
    """Parts are found by the names of the columns of Y, and the plan that takes over keeps the limits."""
    policy = bakery()
    plans = policy.problem.at_least("croissants", 80)
    why = policy.explain({"temp": 25.0, "holiday": False}, instead=plans, kind="absolute")
    assert why.status == "optimal"
    assert why.alternative[1] >= 80 - 1e-9
    assert "A plan with at least 80 croissants would have been the best plan if" in str(why)
    too_many = policy.problem.at_least("croissants", 1000)
    none = policy.explain({"temp": 25.0, "holiday": False}, instead=too_many, kind="absolute")
    assert none.status == "none"
    assert "in no context is a plan with at least 1000 croissants optimal" in str(none)
    with pytest.raises(InputError, match="'part' must be among"):
        policy.explain({"temp": 25.0, "holiday": False}, instead=policy.problem.at_least("bagels", 8))


def test_a_budget_that_binds() -> None:
    """A budget joins the quantities: candidates are judged by the problem itself, and the answer keeps it."""
    policy = bakery(budget=110.0)
    today = {"temp": 10.0, "holiday": False}
    for asked in ({}, {"instead": policy.problem.at_most("croissants", 60)}):
        why = policy.explain(today, **asked, time_limit=20)
        assert why.status == "optimal"
        assert why.alternative.sum() <= 110.0 + 1e-6
        assert why.verify(policy).agrees


@pytest.mark.parametrize("weights", [None, wh.KNNWeights(5)])
@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_certificates_of_sets(weights: Any, kind: str) -> None:
    """Written, read and verified, with a new search that comes to the same end."""
    policy = bakery(weights)
    plans = policy.problem.at_least("croissants", 75)
    why = policy.explain({"temp": 20.0, "holiday": False}, instead=plans, kind=kind)
    again = wh.Explanation.from_json(why.to_json())
    assert str(again) == str(why)
    assert again.among == "a plan with at least 75 croissants"
    verdict = again.verify(policy, prove=True)
    assert verdict.agrees, str(verdict)
    assert pickle.loads(pickle.dumps(why)).among == why.among
    any_plan = wh.Explanation.from_json(policy.explain({"temp": 20.0, "holiday": False}).to_json())
    assert any_plan.verify(policy, prove=True).agrees


def test_a_false_certificate_is_found_out() -> None:
    """A certificate that names another set does not agree."""
    policy = bakery()
    why = policy.explain({"temp": 20.0, "holiday": False}, instead=policy.problem.at_least("croissants", 75))
    document = why.to_dict()
    document["question"]["instead"] = {"at_least": {"croissants": 20.0}}
    document.pop("fingerprints")
    assert not wh.Explanation.from_dict(document).verify(policy).agrees


def test_a_table_of_stability() -> None:
    """Many contexts without a plan: how far each decision is from changing, and what takes over."""
    policy = bakery()
    frame = policy.explain_many(policy.X_.iloc[:6]).frame
    assert set(frame["status"]) <= {"optimal", "none"}
    assert (frame["distance"] > 0).all()
    assert frame["alternative"].str.contains("croissants").all()
    several = policy.explain_many(policy.X_.iloc[:3], policy.problem.at_most("rolls", 30), n_jobs=2)
    assert len(several) == 3
    assert not several.errors


def test_restrictions_of_the_call_hold() -> None:
    """What is fixed stays; and where that rules out every answer, it says so."""
    policy = bakery()
    today = {"temp": 10.0, "holiday": False}
    why = policy.explain(today, fixed=["temp", "holiday"])
    assert why.status == "none"
    assert why.unrestricted is not None
    assert why.unrestricted.found
    assert "temp" in str(why.blocking)
    bounded = policy.explain(today, bounds={"temp": (5, 12)})
    assert not bounded.found or 5 <= bounded.context["temp"] <= 12


def test_a_decision_that_was_carried_out() -> None:
    """A given decision that is far from the best has changed already."""
    policy = bakery()
    why = policy.explain({"temp": 10.0, "holiday": False}, decision=[5.0, 5.0])
    assert why.status == "already"
    assert "Nothing has to change: today's plan is not within 1 % of the best" in str(why)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"confidence": 2.0, "engine": "milp"}, "'confidence' and 'holds' are for the search"),
        ({"kind": "absolute"}, "'kind' must be 'relative' where no plan is given"),
    ],
)
def test_what_sets_cannot_be_asked(asked: dict[str, Any], sentence: str) -> None:
    """Refused in a sentence that names the argument."""
    with pytest.raises(InputError, match=sentence) as error:
        bakery().explain({"temp": 10.0, "holiday": False}, **asked)
    assert error.value.parameter == next(iter(asked))


def test_a_set_of_another_problem_is_refused() -> None:
    """A set belongs to the policy's own problem, or one just like it."""
    policy = bakery()
    today = {"temp": 10.0, "holiday": False}
    with pytest.raises(InputError, match="must be a set of plans of the policy's own problem"):
        policy.explain(today, instead=wh.Newsvendor(2, 3).at_least(0, 5))
    alike = wh.Newsvendor(1, 3, cost_unit="€").at_least(0, 5)
    assert policy.explain(today, instead=alike).status in ("optimal", "already")


@pytest.mark.parametrize("risk", [None, wh.CVaR(0.7)])
def test_the_region_is_that_of_the_plan_that_takes_over(risk: Any) -> None:
    """Grown for the plan that is named: the same box as for that plan by itself, and no cell of it is bad."""
    policy = grid_policy(1, risk)
    why = policy.explain(np.array([0.4, 0.4]), margin=0.02)
    region = why.region()
    assert region.proved
    assert "your plan" not in region.sentence.lower()
    inside = np.ones(len(policy.X_), dtype=bool)
    for one in region.conditions:
        values = policy.X_[one.feature].to_numpy()
        inside &= (one.low is None or values >= one.low) & (one.high is None or values <= one.high)
    assert region.share == pytest.approx(inside.mean())
    for row in policy.X_[inside].to_numpy():
        weights = policy.weights_at(row)
        assert policy.risk_.of(why.costs_alternative, weights) < policy.risk_.of(why.costs_decision, weights) / 1.02
    told = policy.explain(np.array([0.4, 0.4]), margin=0.02, rule=True)
    assert told.rule == region
    assert told.verify(policy).agrees


@pytest.mark.parametrize("seed", range(4))
def test_a_set_holds_in_a_refit_where_some_plan_does(seed: int) -> None:
    """Counted by the definition: refitted forests, and every route."""
    policy = grid_policy(seed)
    problem, today = policy.problem, policy.X_.iloc[seed]
    every = np.array([problem.costs(plan, policy.Y_) for plan in problem.plans(10)])
    for instead, margin in ((None, 0.02), (problem.through((1, 1)), 0.01)):
        why = policy.explain(today, instead, margin=margin)
        if not why.found:
            continue
        rows = every if instead is None else np.array([problem.costs(p, policy.Y_) for p in instead.plans(10)])
        limit = 1.0 / (1.0 + margin) if instead is None else 1.0 - margin
        times = 0
        for weights in Refitted.of(policy).refits.weights_of(list(range(6)), policy.inputs_of(why.context)):
            times += (rows @ weights).min() <= limit * why.costs_decision @ weights + why.tolerance
        assert why.held(6) == (times, 6)


def test_sets_that_can_be_relied_on() -> None:
    """A route that is better by standard errors, and one that holds in most refits: named, checked and written."""
    policy = grid_policy(2)
    today, problem = policy.X_.iloc[3], policy.problem
    nearest = policy.explain(today, problem.avoiding((1, 1)))
    sure = policy.explain(today, problem.avoiding((1, 1)), confidence=2.0)
    assert sure.distance >= nearest.distance
    assert problem.avoiding((1, 1)).check(sure.alternative) is None
    relied = policy.explain(today, problem.avoiding((1, 1)), holds=0.8, refits="seed", plausible=0.05)
    for why in (sure, relied):
        assert wh.Explanation.from_json(why.to_json()).verify(policy, prove=True).agrees
    assert relied.reliance is not None


@pytest.mark.parametrize("weights", [None, wh.KNNWeights(8)])
@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize("listed", [True, False])
def test_sure_sets_of_every_kind(weights: Any, kind: str, listed: bool) -> None:
    """By standard errors, and in most refits: routes and quantities, relative and absolute, written and verified."""
    policy = grid_policy(2) if listed else bakery(weights)
    if listed and weights is not None:
        policy = wh.Policy(policy.problem, weights).fit(policy.X_, policy.Y_)
    today = policy.X_.iloc[3]
    plans = policy.problem.avoiding((1, 1)) if listed else policy.problem.at_least("croissants", 70)
    plain = policy.explain(today, plans, kind=kind, time_limit=20)
    sure = policy.explain(today, plans, kind=kind, confidence=1.5, time_limit=20)
    assert sure.distance >= plain.distance
    assert sure.status in ("optimal", "already", "none")
    drawn = "bootstrap" if isinstance(weights, wh.KNNWeights) else "seed"
    relied = policy.explain(today, plans, kind=kind, holds=0.8, refits=drawn, time_limit=20)
    assert relied.reliance is not None
    for why in (sure, relied):
        assert why.alternative is None or plans.named(policy.outcome_names_).check(why.alternative) is None
        assert wh.Explanation.from_json(why.to_json()).verify(policy, prove=True, time_limit=20).agrees
        if why.found:
            times, refits = why.held(4)
            assert 0 <= times <= refits == 4


def test_usual_contexts_for_sets() -> None:
    """What takes over in a context that is at least as usual as asked for."""
    for weights in (None, wh.KNNWeights(5)):
        policy = bakery(weights)
        plain, usual = (policy.explain({"temp": 10.0, "holiday": False}, plausible=p) for p in (None, 0.3))
        assert usual.distance >= plain.distance
        assert usual.usual is not None
        assert usual.usual >= 0.3
        assert wh.Explanation.from_json(usual.to_json()).verify(policy, prove=True).agrees


def test_reports_speak_of_the_other_plan(tmp_path: Any) -> None:
    """The HTML report and the charts do not call it the reader's plan."""
    why = grid_policy(1).explain(np.array([0.4, 0.4]))
    why.to_html(tmp_path / "why.html")
    page = (tmp_path / "why.html").read_text("utf-8")
    assert "the other plan" in page
    assert "your plan" not in page.lower().replace("why not my plan", "")
    figure = why.plot()
    labels = [t.get_text() for ax in figure.axes for legend in [ax.get_legend()] if legend for t in legend.get_texts()]
    assert "the other plan" in labels
