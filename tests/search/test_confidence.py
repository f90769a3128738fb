"""Confidence in the search: against every cell, by the definition, and against what must not change answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.asking import varied
from tests.blocks import seeds
from tests.cases import Case, cases
from tests.search.holding import Cells, all_cells, excess, nearest_between

from whence.question import Answer, Question
from whence.search.forest_search import explain

BLOCKS, SEEDS, EACH = 20, 30, 2
#: Standard errors: also as many as a share of truth may need.
KAPPAS = (0.3, 1.0, 2.0, 4.0, 9.0, 21.0)
#: All ways to search, as in test_forest.py.
WAYS: list[dict[str, Any]] = [
    {},
    {"patience_confident": (500, 500)},
    {"patience_confident": (1, 1), "sharp_from": (0, 0)},
    {"patience_confident": (0, 0), "stalled": 0, "strong_from": (1, 1), "sharp_to": 0},
    {"patience_confident": (2, 2), "stalled": 3, "strong_from": (1, 1)},
]


def scaled(question: Question, factor: float) -> Question:
    """The same question with all costs in another unit."""
    return varied(
        question,
        alternative=question.claim.alternative * factor,
        decision=question.claim.decision * factor,
        tau=question.claim.tau * factor,
    )


def relative(seed: int, count: int) -> Iterator[tuple[Case, Question]]:
    """Relative questions in units from billionths to billions."""
    for i, case in enumerate(cases(seed, count)):
        question = varied(case.question(), kind="relative")
        yield case, scaled(question, (1.0, 1e-9, 1e9)[(seed + i) % 3])


def assert_nearest(question: Question, answer: Answer, at: Cells, over: np.ndarray) -> None:
    """The answer is the nearest of all cells, or there is none."""
    hair = 1e-10 * float(np.abs(question.claim.alternative).max() + np.abs(question.claim.decision).max())
    maybe, surely = nearest_between(at.distance, over, question.claim.tau, hair)
    assert maybe - 1e-9 <= answer.distance <= surely + 1e-9
    assert answer.status == ("none" if answer.distance == np.inf else "optimal")
    assert answer.bound == pytest.approx(answer.distance, abs=1e-9)
    if answer.point is not None:
        assert question.space.contains(answer.point)
        assert answer.distance == pytest.approx(question.space.distance(answer.point), abs=1e-12)


@pytest.mark.parametrize("block", seeds(5, BLOCKS))
def test_the_nearest_of_all_cells(block: int) -> None:
    """Expected cost and CVaR, categories, discrete features, restrictions, ties, decimals, tiny and huge costs."""
    way = WAYS[block % len(WAYS)]
    farther = 0
    for seed in range(SEEDS * block, SEEDS * (block + 1)):
        for i, (_, question) in enumerate(relative(seed, EACH)):
            at = all_cells(question)
            kappa = KAPPAS[(seed + i) % len(KAPPAS)]
            over = excess(question, at, kappa)
            answer = explain(varied(question, kappa=kappa, **way))
            assert_nearest(question, answer, at, over)
            farther += answer.distance > explain(question).distance
    assert farther > 0


@pytest.mark.parametrize("block", seeds(2, 6))
def test_more_confidence_is_never_nearer(block: int) -> None:
    """The ladder of kappa climbs away from the start; next to 0 it is the search without confidence, bit for bit."""
    for seed in range(1000 + 25 * block, 1000 + 25 * (block + 1)):
        for _, question in relative(seed, 1):
            plain = explain(question)
            # Small enough to change nothing, and not 0, which would be the very same question.
            none = explain(varied(question, kappa=1e-13))
            assert (none.status, none.distance, none.bound) == (plain.status, plain.distance, plain.bound)
            assert (none.point is None) == (plain.point is None)
            if plain.point is not None:
                assert np.array_equal(none.point, plain.point)
            before = plain.distance
            for kappa in (1e-9, 0.5, 1.2, 2.3, 5.0):
                answer = explain(varied(question, kappa=kappa))
                assert answer.distance >= before - 1e-12
                before = answer.distance


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("block", seeds(2, 8))
def test_absolute_questions(block: int, eager: bool) -> None:
    """The answer stands against the best plan there; nothing nearer stands against all plans, nor against those met.

    Against the decision it stands as well, also where boxes ask for the best plan.
    """
    way = {"common_rivals": 0, "eager_from": 0} if eager else {}
    found = 0
    for seed in range(2000 + 25 * block, 2000 + 25 * (block + 1)):
        for i, case in enumerate(cases(seed, EACH)):
            question = varied(case.question(), kind="absolute", **way)
            kappa = KAPPAS[(seed + i) % len(KAPPAS)]
            costs = np.ascontiguousarray(case.policy.Y_.T)
            at = all_cells(question)
            against = np.array([excess(question, at, kappa, plan) for plan in costs])
            asked = varied(
                question,
                better=lambda w, c=costs, q=question: c[int(np.argmin([q.claim.risk.of(plan, w) for plan in c]))],
            )
            answer = explain(varied(asked, kappa=kappa))
            hair = 1e-9 * float(np.abs(costs).max())
            _, all_plans = nearest_between(at.distance, against.max(axis=0), question.claim.tau, hair)
            assert answer.distance <= all_plans + 1e-9
            risks = np.array([[question.claim.risk.of(plan, w) for plan in costs] for w in at.members.mean(axis=1)])
            best = np.take_along_axis(against, risks.argmin(axis=1)[None, :], axis=0)[0]
            own = np.maximum(best, against[case.decision])
            tied = (
                (np.sort(risks, axis=1)[:, :2] @ [-1.0, 1.0] < hair) if costs.shape[0] > 1 else np.zeros(len(at.points))
            )
            if answer.point is None:
                assert answer.status == "none"
                continue
            (here,) = np.flatnonzero((np.abs(at.points - answer.point) < 1e-12).all(axis=1))
            assert own[here] <= question.claim.tau + hair or tied[here]
            found += answer.distance > 0
    assert found > 5
