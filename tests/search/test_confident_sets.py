"""Sets of plans with confidence: against every cell, every plan and every tree; neighbours against every vertex."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests import knn_reference
from tests.agreement.reference import TooMany
from tests.asking import searching, varied
from tests.blocks import seeds
from tests.knn_reference import _doubtful, risk_over
from tests.search.test_neighbour_reliance import assert_distance
from tests.search.test_neighbour_search import random_case
from tests.set_soaking import set_case
from tests.sure_soaking import KAPPAS, sure_disagreement

import whence as wh
from whence.claims.sets import Others, Plans
from whence.question import Question
from whence.search import neighbour_search as knn_plan_sets
from whence.search.set_search import ListedBest

#: Other ways to search, which large questions take.
WAYS = ({}, {"patience_confident": (0, 0), "stalled": 0, "strong_from": (1, 1), "sharp_to": 0})


@pytest.mark.parametrize("block", seeds(2, 4))
def test_sure_sets_agree_with_brute_force(block: int) -> None:
    """160 questions about lists, routes, quantities and rules, both kinds and all risks, by standard errors."""
    looked = 0
    for seed in range(40 * block, 40 * (block + 1)):
        try:
            with searching(**WAYS[block % len(WAYS)]):
                wrong = sure_disagreement(set_case(seed), KAPPAS[seed % len(KAPPAS)], every=block // 2 % 2 == 0)
        except TooMany:
            continue
        assert wrong == "", f"set_case({seed})"
        looked += 1
    assert looked >= 30


@pytest.mark.parametrize("block", seeds(1, 2))
def test_sure_sets_of_neighbours(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """160 questions about lists and sets that are only solved for, both kinds and risks: every vertex, every plan."""
    found = 0
    for seed in range(60_000 + 80 * block, 60_080 + 80 * block):
        question, rivals = random_case(seed)
        rng = np.random.default_rng(seed)
        outside = np.array(rivals if question.claim.kind == "absolute" else rivals[:1])
        rows = np.array([question.claim.alternative, *rng.random((2, question.claim.alternative.size))])
        listed = seed % 2 == 0
        asked = varied(question, kappa=KAPPAS[seed // 2 % 4], plans=some_plans(question, rows, outside, listed))
        holds = sure_judge(asked, rows, outside, listed)
        monkeypatch.setattr(knn_reference, "judge", lambda *_, holds=holds: holds)
        answer = knn_plan_sets.explain_sets(asked)
        assert_distance(answer, knn_reference.nearest_by_vertices(asked, list(outside)), question.settings.separation)
        found += answer.point is not None
    assert 20 < found < 80


def some_plans(question: Question, rows: np.ndarray, outside: np.ndarray, listed: bool) -> Plans:
    """A set of these plans, beside those outside it, of which the first is the decision."""

    def best(among: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return min(among, key=lambda row: question.claim.risk.of(row, weights))

    def outside_best(weights: np.ndarray) -> np.ndarray | None:
        found = best(np.vstack([rows, outside]), weights)
        return found if any(found is row or np.array_equal(found, row) for row in outside) else None

    absolute = question.claim.kind == "absolute"
    return Plans(
        best=lambda weights: best(rows, weights),
        every=lambda most: rows if listed and len(rows) <= most else None,
        rival=(lambda weights: best(np.vstack([rows, outside]), weights)) if absolute else None,
        others=Others(lambda: outside if listed else None, lambda: outside[:1], outside_best, lambda: True)
        if absolute
        else None,
    )


def sure_judge(question: Question, rows: np.ndarray, outside: np.ndarray, listed: bool) -> Any:
    """Whether some plan, or the best one, is better than its rivals where these observations speak, by definition."""

    def over(row: np.ndarray, rival: np.ndarray, members: np.ndarray) -> float:
        plain = risk_over(row[members], question.claim.risk) - risk_over(rival[members], question.claim.risk)
        return max(plain, _doubtful(varied(question, alternative=row), members, rival))

    def holds(members: np.ndarray) -> bool:
        cost = [risk_over(row[members], question.claim.risk) for row in rows]
        chosen = rows if listed else rows[[int(np.argmin(cost))]]
        against = [outside[0]]
        if question.claim.kind == "absolute":
            others = [risk_over(row[members], question.claim.risk) for row in outside]
            best = [outside[int(np.argmin(others))]] if min(others) < min(cost) else []
            against = list(outside) if listed else [outside[0], *best]
        return any(all(over(row, rival, members) <= question.claim.tau for rival in against) for row in chosen)

    return holds


@pytest.mark.parametrize("tail", [None, 0.05, 0.3, 1.0])
def test_the_best_of_a_list(tail: float | None) -> None:
    """As the risk says, for weights of a leaf and for those of a forest."""
    rng = np.random.default_rng(0)
    risk = wh.Expectation() if tail is None else wh.CVaR(1.0 - tail)
    for _ in range(40):
        rows = rng.normal(size=(7, 30)).round(1)
        weights = rng.dirichlet(np.ones(30)) * (rng.random(30) < rng.choice([0.1, 0.9]))
        weights = weights / weights.sum() if weights.sum() else np.eye(30)[0]
        values = [risk.of(row, weights) for row in rows]
        assert risk.of(ListedBest(rows, tail)(weights), weights) == pytest.approx(min(values), abs=1e-12)
