"""Missing numbers beside sets of plans and few changes."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.blocks import seeds
from tests.forests import paper_forest

import whence as wh


def gaps(seed: int) -> tuple[wh.Policy, pd.Series, Any]:
    """A forest of a history with gaps, a context that lacks its first number, and a plan of another context."""
    rng = np.random.default_rng(seed)
    contexts = pd.DataFrame(rng.integers(0, 6, (40, 3)).astype(float), columns=list("abc"))
    contexts[rng.random((40, 3)) < 0.25] = np.nan
    demand = rng.integers(1, 20, (40, 2)) + np.where(contexts[["a"]].fillna(3) > 2, 10.0, 0.0)
    weights = paper_forest(12, 3, random_state=seed, missing=True)
    policy = wh.Policy(wh.Newsvendor([1, 1], [3, 3]), weights).fit(contexts, demand)
    today = contexts.iloc[int(rng.integers(40))].copy()
    today["a"] = np.nan
    return policy, today, policy.decide(contexts.iloc[int(rng.integers(40))])


@pytest.mark.parametrize("seed", seeds(8, 30))
@pytest.mark.parametrize("fill", [(), ("a",)])
def test_a_set_of_one_plan_is_that_plan(seed: int, fill: tuple[str, ...]) -> None:
    """Where numbers are missing, the set of one plan leads as far as the plan itself, and names it."""
    policy, today, plan = gaps(seed)
    alone = policy.explain(today, plan, fill=fill)
    among = policy.explain(today, policy.problem.only([plan]), fill=fill)
    assert among.status == alone.status
    assert among.distance == pytest.approx(alone.distance, abs=1e-9)
    if among.context is not None:
        assert np.array_equal(np.asarray(among.alternative), np.asarray(plan))


@pytest.mark.parametrize("seed", seeds(3, 12))
def test_any_plan_is_never_farther_than_one(seed: int) -> None:
    """What would change the plan is at most as far away as where one other plan is better by as much."""
    policy, today, plan = gaps(seed)
    changed = policy.explain(today, margin=0.01)
    single = policy.explain(today, plan, margin=0.011)
    assert changed.distance <= single.distance + 1e-9
    if changed.context is not None and changed.status == "optimal":
        assert pd.isna(changed.context["a"])


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_what_is_filled_in_is_a_change(kind: Any) -> None:
    """So many changes, filled-in numbers among them: the nearest of all sets of features that may change."""
    found = 0
    for seed in range(10):
        policy, today, plan = gaps(seed)
        today["b"] = np.nan if seed % 2 else today["b"]
        for most in (1, 2):
            why = policy.explain(today, plan, kind=kind, fill=["a", "b"], max_changes=most)
            free = [
                policy.explain(today, plan, kind=kind, fill=[n for n in some if n in "ab"], fixed=others)
                for some in combinations("abc", most)
                for others in [[n for n in "abc" if n not in some]]
            ]
            wanted = min(one.distance for one in free)
            assert why.distance == wanted or abs(why.distance - wanted) <= 1e-6
            assert len(why.changes) <= most
            found += why.status == "optimal"
            if seed < 3:
                assert wh.Explanation.from_json(why.to_json()).verify(policy).agrees
    assert found >= 3


@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize("fill", [(), ("a",), ("a", "b")])
def test_both_engines_agree(kind: Any, fill: tuple[str, ...]) -> None:
    """The integer program sees the same leaves as the search, whatever number stands where one is missing."""
    for seed in (1, 2, 3, 4, 7):
        policy, today, plan = gaps(seed)
        today["b"] = np.nan if seed % 2 else today["b"]
        searched = policy.explain(today, plan, kind=kind, fill=fill)
        programmed = policy.explain(today, plan, kind=kind, fill=fill, engine="milp")
        assert programmed.status == searched.status
        assert programmed.distance == pytest.approx(searched.distance, abs=1e-6)


def test_numbers_are_filled_in_on_their_grid() -> None:
    """A number with a step gets one of its multiples; where there is none in the history's range, that is said."""
    rng = np.random.default_rng(1)
    contexts = pd.DataFrame({"a": rng.uniform(11, 19, 60), "b": rng.random(60)})
    demand = np.where(contexts["a"] > 15.5, 20.0, 5.0) + rng.random(60)
    contexts.loc[rng.random(60) < 0.3, "a"] = np.nan
    for step in (4.0, 10.0):
        schema = wh.Schema({"a": wh.Continuous(step=step)})
        weights = paper_forest(8, 2, random_state=0, missing=True)
        policy = wh.Policy(wh.Newsvendor(1, 3), weights, schema=schema).fit(contexts, demand)
        today, plan = {"a": np.nan, "b": 0.5}, policy.decide({"a": 18.5, "b": 0.5})
        if step == 4.0:
            why = policy.explain(today, plan + 1.0, fill=["a"])
            assert (why.status, why.context["a"]) == ("optimal", 16.0)
            continue
        with pytest.raises(wh.WhenceError, match=r"'fill' must name features with a value to fill in. Got 'a'") as said:
            policy.explain(today, plan + 1.0, fill=["a"])
        assert said.value.parameter == "fill"
