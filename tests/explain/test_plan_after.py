"""What the policy itself would plan in the context found: the same as it decides there, told everywhere."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import whence as wh

RNG = np.random.default_rng(3)
X = RNG.random((80, 3))
Y = np.c_[10 + 20 * X[:, 0], 5 + 30 * X[:, 1]] + RNG.random((80, 2))
WEIGHTS = {
    "forest": wh.ForestWeights(20, random_state=0),
    "neighbours": wh.KNNWeights(k=7),
    "forecast": wh.ForecastWeights("linear"),
}


def _policy(name: str) -> wh.Policy:
    return wh.Policy(wh.Newsvendor(1, 3, names=["rolls", "rye"]), WEIGHTS[name]).fit(X, Y)


@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize("name", list(WEIGHTS))
def test_it_is_what_the_policy_decides_there(name: str, kind: str) -> None:
    """Plan and cost are those of the policy's own decision in the context found, and no plan costs less there."""
    policy = _policy(name)
    within = 0.05 if kind == "absolute" else 0.0
    why = policy.explain(X[0], instead=policy.decide(X[5]), kind=kind, within=within)
    assert why.context is not None
    made = policy.decision(why.context)
    assert np.allclose(why.plan_after, made.plan)
    assert why.cost_after.best == pytest.approx(made.cost)
    assert why.cost_after.best <= min(why.cost_after[:2]) + why.tolerance
    assert why.cost_before.best == pytest.approx(policy.decision(X[0]).cost)


def test_it_survives_files_and_pickles_and_is_verified() -> None:
    """A document holds plan and cost, and a wrong cost in it is found out."""
    policy = _policy("forest")
    why = policy.explain(X[0], instead=policy.decide(X[0]) + 4.0)
    for again in (wh.Explanation.from_json(why.to_json()), pickle.loads(pickle.dumps(why))):
        assert np.allclose(again.plan_after, why.plan_after)
        assert again.cost_after == why.cost_after
        assert str(again) == str(why)
        assert again.verify(policy)
    wrong = why.to_dict()
    wrong["cost_after"]["best"] += 1.0
    assert "cost_after.best" in str(wh.Explanation.from_dict(wrong).verify(policy))


def test_documents_from_before_are_still_read_and_agree() -> None:
    """A document that does not know of it is read without it, and nothing is missed when it is verified."""
    policy = _policy("forest")
    document = policy.explain(X[0], instead=policy.decide(X[0]) + 4.0).to_dict()
    for name in ("cost_before", "cost_after"):
        del document[name]["best"]
    for name in ("after", "after_text"):
        del document["plans"][name]
    for name in ("there", "poor"):
        document["shown"].pop(name, None)
    del document["fingerprints"]
    why = wh.Explanation.from_dict(document)
    assert why.plan_after is None
    assert why.cost_after.best is None
    assert "policy itself" not in str(why)
    differences = why.verify(policy).differences
    assert not [text for text in differences if "best" in text or "after" in text]


def test_the_headline_says_where_both_plans_are_poor() -> None:
    """Over 5 % above the best it says so, and offers the absolute question, whose answer does not."""
    policy = _policy("forest")
    mine = policy.decide(X[0]) + 4.0
    why = policy.explain(X[0], instead=mine)
    over = why.cost_after.alternative / why.cost_after.best - 1.0
    assert over > 0.05
    assert "neither plan is good there" in str(why)
    assert "The absolute question asks where your plan would be the best." in str(why)
    assert f"your plan is {100 * over:.2g} % above that." in str(why)
    assert "neither plan" not in str(policy.explain(X[0], instead=mine, kind="absolute", within=0.2))
    menu = policy.menu(X[0], mine, up_to=1)
    assert "% above the best plan there" in str(menu)
    assert menu[0].report.plans.after_text in menu.page()
