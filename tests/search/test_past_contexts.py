"""Answers without a search: past contexts and contexts that are handed over, whatever is claimed and asked for.

`tests/agreement/test_agreement.py` holds them against every context.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.asking import searching, varied
from tests.blocks import seeds
from tests.oracle import cells, estimator_rows

import whence as wh
from whence.engines import ENGINES
from whence.question import Answer, Question
from whence.search.grid import weights_at
from whence.search.past_contexts import risk_at_leaves
from whence.search.search_engine import Search

RISKS = (wh.Expectation(), wh.CVaR(0.6))


def history(seed: int, rows: int = 60, columns: int = 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Contexts, and the demand of two products that turns in each column."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((rows, columns)), columns=[f"x{j}" for j in range(columns)])
    level = 10 + 20 * (X.to_numpy() > 0.5) @ rng.uniform(0.2, 1.0, (columns, 2))
    return X, pd.DataFrame(np.round(level + rng.normal(0, 2, (rows, 2)), 1), columns=["rye", "oat"])


def policy(seed: int, risk: wh.Risk | None = None, weights: Any = None) -> wh.Policy:
    """A policy with a few trees of any depth."""
    X, Y = history(seed)
    chosen = weights or wh.ForestWeights(5, min_samples_leaf=3, random_state=seed)
    return wh.Policy(wh.Newsvendor([1, 2], [4, 3], budget=60), chosen, risk=risk).fit(X, Y)


def questions(made: wh.Policy, plan: Any) -> dict[str, dict[str, Any]]:
    """Every kind of question, about a plan that is best in some past context."""
    fewest = made.problem.at_least(0, float(plan[0]))
    return {
        "relative": {"instead": plan},
        "margin": {"instead": plan, "margin": 0.01},
        "absolute": {"instead": plan, "kind": "absolute"},
        "within": {"instead": plan, "kind": "absolute", "within": 0.01},
        "set": {"instead": fewest},
        "best set": {"instead": fewest, "kind": "absolute"},
        "no plan": {},
        "standard errors": {"instead": plan, "confidence": 0.2},
    }


def truth(question: Question) -> float:
    """Return the least distance of any cell in which the claim holds, by weights and plans alone; infinite for none."""
    points, claim = cells(question), question.claim
    distance = np.abs(points - question.space.start) @ question.space.weight
    order = np.argsort(distance, kind="stable")
    for part in np.array_split(order, 1 + order.size // 64):
        for i, weights in zip(part, question.weights.weights(estimator_rows(question, points[part])), strict=True):
            limit = claim.risk.of(claim.rival_decision, weights)
            if claim.plans is None:
                costs, holds = claim.alternative, claim.kind == "relative" or claim.better(weights) is None
            else:
                costs, holds = claim.plans.best(weights), True
                limit = min([limit] + [claim.risk.of(one(weights), weights) for one in [claim.plans.rival] if one])
            if holds and claim.risk.of(costs, weights) <= limit + claim.tau:
                return float(distance[i])
    return np.inf


@pytest.mark.parametrize("claim", ["relative", "margin", "absolute", "within", "set", "best set", "no plan"])
def test_deep_trees_agree_with_every_cell(claim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three to six trees of any depth, up to four features; past contexts are looked at before the first box."""
    asked: list[Question] = []

    class Noted(Search):
        """The search, which notes what it is asked."""

        def answer(self, question: Question) -> Answer:
            asked.append(question)
            return super().answer(varied(question, recall_after=0))

    monkeypatch.setitem(ENGINES, "search", Noted)
    for seed in seeds(6, 700):
        rng = np.random.default_rng(seed)
        X, Y = history(seed, rows=24, columns=int(rng.integers(2, 5)))
        forest = wh.ForestWeights(int(rng.integers(3, 7)), min_samples_leaf=3, random_state=seed)
        made = wh.Policy(wh.Newsvendor([1, 2], [4, 3], budget=60), forest, risk=RISKS[seed % 2]).fit(X, Y)
        asked.clear()
        why = made.explain(X.iloc[0], **questions(made, made.decide(X.iloc[int(rng.integers(1, 24))]))[claim])
        if why.status != "already":
            wanted = truth(asked[0]) if asked else np.inf
            assert why.distance == pytest.approx(wanted, abs=1e-9), f"{claim} of seed {seed}"
            assert why.bound == pytest.approx(wanted, abs=1e-9), f"{claim} of seed {seed}"


@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.7)], ids=["mean", "cvar"])
@pytest.mark.parametrize("weights", ["forest", "neighbours", "kernel"])
def test_one_box_is_enough_for_an_answer(weights: str, risk: wh.Risk) -> None:
    """Where the claim holds in a past context, a question that must stop after one box has one that is as near."""
    for seed in seeds(2, 20):
        made = policy(seed, risk, {"neighbours": wh.KNNWeights(5), "kernel": wh.KernelWeights(0.2)}.get(weights))
        X = made.X_
        today, there = X.iloc[0], X.iloc[int(np.argmax(made.predict(X)["rye"]))]
        plan = made.decide(there)
        for name, asked in questions(made, plan).items():
            if weights == "kernel" and name in ("set", "best set", "no plan", "standard errors"):
                continue  # such sets cannot be listed, and kernels have no spread
            proved = made.explain(today, **asked, time_limit=60)
            if proved.status in ("already", "none"):
                continue
            found = made.explain(today, **asked, node_limit=1)
            if found.context is None:
                if name in ("absolute", "within"):
                    told = (made.explain(row, **asked, decision=made.decide(today)) for _, row in X.iterrows())
                    assert all(one.status != "already" for one in told), f"{name} of seed {seed}"
                continue
            assert found.bound <= proved.distance + 1e-9 <= found.distance + 2e-9, f"{name} of seed {seed}"


def test_a_past_context_is_found_among_many() -> None:
    """One box, and the plan of the farthest context is best somewhere, which the history tells."""
    X, Y = history(3, rows=400, columns=4)
    made = wh.Policy(wh.Newsvendor([1, 2], [4, 3], budget=60), wh.ForestWeights(30, random_state=0)).fit(X, Y)
    today = X.iloc[0]
    far = X.iloc[int(np.argmax(np.abs(X - today).sum(axis=1)))]
    for asked in questions(made, made.decide(far)).values():
        assert made.explain(today, **asked, node_limit=1).context is not None


def test_what_is_found_does_not_depend_on_how_long_solves_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted, and a large forest looks at past contexts after a few boxes."""
    asked = {"kind": "absolute", "within": 0.01, "node_limit": 40}
    found = []
    for pause in (0.0, 0.01):
        made = policy(1)
        plan, solve = made.decide(made.X_.iloc[7]), wh.Newsvendor.solve

        def slow(*given: Any, pause: float = pause, solve: Any = solve) -> Any:
            time.sleep(pause)
            return solve(*given)

        monkeypatch.setattr(wh.Newsvendor, "solve", slow)
        with searching(large_forest=0, recall_large=1, patience=(10**6, 10**6), first_look=10**6):
            found.append(made.explain(made.X_.iloc[0], instead=plan, **asked).distance)
        monkeypatch.undo()
    assert found[0] == found[1] < np.inf


def test_what_was_learned_is_kept_with_the_forest() -> None:
    """The second absolute question begins with what the best plans cost at most in past contexts."""
    from whence.search.grid import _kept

    made = policy(1)
    plan = made.decide(made.X_.iloc[7])
    made.explain(made.X_.iloc[0], instead=plan, kind="absolute", node_limit=1)
    kept = _kept[made.weights_.lacking(frozenset())]
    assert kept.past_least is not None
    least, solved = kept.past_least
    assert solved.any()
    best = np.array([made.decision(row).cost for _, row in made.X_.iterrows()])
    assert (least >= best - 1e-9).all()


@pytest.mark.parametrize("tail", [None, 0.3, 0.05])
def test_risks_at_all_contexts_are_those_of_each(tail: float | None) -> None:
    """Sums by leaf, and tails of the few observations that count, are what the risk measure says."""
    from whence.search.grid import _kept

    made = policy(2)
    made.explain(made.X_.iloc[0], instead=made.decide(made.X_.iloc[5]))
    kept = _kept[made.weights_.lacking(frozenset())]
    rng = np.random.default_rng(0)
    values = rng.normal(0, 5, len(made.X_))
    first = kept.grid.first_leaf[: kept.trees]
    leaves = (first + rng.integers(0, np.diff(kept.grid.first_leaf[: kept.trees + 1]), (20, kept.trees))).astype(
        np.int32
    )
    risk = wh.Expectation() if tail is None else wh.CVaR(1.0 - tail)
    wanted = [risk.of(values, weights_at(kept, row, values.size)) for row in leaves]
    assert risk_at_leaves(kept, leaves, values, tail) == pytest.approx(wanted, abs=1e-9)


def test_leaves_of_several_cells_are_those_of_each() -> None:
    """One row a cell; what lies outside the grid is refused."""
    made = policy(4)
    made.explain(made.X_.iloc[0], instead=made.decide(made.X_.iloc[5]), node_limit=1, kind="absolute")
    from whence.search.grid import _kept

    kept = _kept[made.weights_.lacking(frozenset())]
    assert kept.past is not None
    assert (kept.grid.leaves_of(kept.past) == [kept.grid.leaves_at(cells) for cells in kept.past]).all()
    for wrong in (kept.past + 10_000, kept.past[:, :2].copy()):
        with pytest.raises(ValueError, match="cells"):
            kept.grid.leaves_of(wrong)


@pytest.mark.parametrize("weights", ["forest", "neighbours"])
def test_a_context_that_is_handed_over_is_an_answer(weights: str) -> None:
    """It is the answer where nothing nearer was found, whatever its form, and the proof is that without it."""
    for seed in seeds(2, 20):
        made = policy(seed, weights=wh.KNNWeights(5) if weights == "neighbours" else None)
        today, there = made.X_.iloc[0], made.X_.iloc[9] + 0.003
        plan = made.decide(there)
        for asked in ({"instead": plan}, {"instead": plan, "kind": "absolute"}):
            plain = made.explain(today, **asked)
            assert plain.status == "already" or plain.distance < np.inf
            for known in (there, there.to_dict(), made.X_.iloc[:3].combine_first(there.to_frame().T), [there, today]):
                with searching(recall_after=10**9):
                    why = made.explain(today, **asked, known=known)
                assert why.status == plain.status
                assert why.distance == pytest.approx(plain.distance, abs=1e-9)
                assert why.bound == pytest.approx(plain.bound, abs=1e-9)


def test_of_contexts_that_are_handed_over_those_that_do_not_are_ignored() -> None:
    """A warning tells where nothing else was found; what is no context is refused by name."""
    made = policy(0)
    today, plan = made.X_.iloc[0], np.array([60.0, 0.0])
    with pytest.warns(UserWarning, match="'known'"):
        why = made.explain(today, plan, kind="absolute", known=made.X_.iloc[1:3], node_limit=1)
    assert why.context is None
    with pytest.raises(wh.errors.InputError, match="'known' must be a context"):
        made.explain(today, plan, known={"nobody": 1.0})
