"""Plausibility in the search: against every cell of both forests, by scikit-learn's own score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from tests.asking import varied
from tests.blocks import seeds
from tests.cases import Case, cases
from tests.search.holding import all_cells, excess, nearest_between
from tests.search.test_confidence import WAYS, assert_nearest, scaled

from whence.question import Question
from whence.search.extend_grid import extended
from whence.search.forest_search import explain
from whence.search.grid import grid_of
from whence.weights.plausibility import Isolation

BLOCKS, SEEDS, EACH = 20, 27, 2
MOST_CELLS = 20_000


def isolation(seed: int, case: Case) -> IsolationForest:
    """A small isolation forest on the coordinates of the past; now and then its trees see only some of them."""
    rng = np.random.default_rng([seed, 41])
    points = case.policy.schema_.encode(case.policy.X_)
    how: dict[str, Any] = {"n_estimators": int(rng.integers(1, 4)), "max_samples": min(len(points), 6)}
    if rng.random() < 0.3:
        how["max_features"] = 0.6
    return IsolationForest(random_state=seed, **how).fit(points)


def least_score(forest: IsolationForest, case: Case, share: float) -> float:
    """A score that so much of the past does not reach."""
    scores = forest.score_samples(case.policy.schema_.encode(case.policy.X_))
    return float(np.clip(np.quantile(scores, share) - 1e-6, -1 + 1e-9, -1e-9))


def small(question: Question, forest: IsolationForest) -> bool:
    """Whether all cells can be looked at."""
    kept = grid_of(question)
    assert kept is not None
    joined, _ = extended(question, kept, Isolation(forest, -0.5))
    assert joined is not None
    return float(np.prod(np.diff(joined.face_start) + 1.0)) <= MOST_CELLS


@pytest.mark.parametrize("block", seeds(5, BLOCKS))
def test_the_nearest_plausible_cell(block: int) -> None:
    """Both risks, with and without confidence, trained and frozen forests: the nearest cell that both forests allow."""
    way = WAYS[block % len(WAYS)]
    looked = farther = 0
    for seed in range(SEEDS * block, SEEDS * (block + 1)):
        for i, case in enumerate(cases(seed, EACH)):
            question = scaled(varied(case.question(), kind="relative", **way), (1.0, 1e9, 1e-9)[(seed + i) % 3])
            forest = isolation(seed, case)
            if not small(question, forest):
                continue
            looked += 1
            at = all_cells(question, forest)
            kappa = (0.0, 0.0, 1.0, 3.0)[(seed + i) % 4]
            score = least_score(forest, case, (0.1, 0.5, 0.9)[i % 3])
            over = np.where(forest.score_samples(at.points) >= score, excess(question, at, kappa), np.inf)
            answer = explain(varied(question, kappa=kappa, plausibility=Isolation(forest, score)))
            assert_nearest(question, answer, at, over)
            farther += answer.distance > explain(varied(question, kappa=kappa)).distance
    assert looked >= SEEDS
    assert farther > 0


@pytest.mark.parametrize("block", seeds(1, 4))
def test_more_plausible_is_never_nearer(block: int) -> None:
    """A higher score leads farther away; the lowest one to the answer without."""
    for seed in range(3000 + 25 * block, 3000 + 25 * (block + 1)):
        for case in cases(seed, 1):
            question = varied(case.question(), kind="relative")
            forest = isolation(seed, case)
            before = explain(question).distance
            assert explain(varied(question, plausibility=Isolation(forest, -1 + 1e-12))).distance == pytest.approx(
                before, abs=1e-12
            )
            for share in (0.0, 0.3, 0.6, 1.0):
                answer = explain(varied(question, plausibility=Isolation(forest, least_score(forest, case, share))))
                assert answer.distance >= before - 1e-12
                before = answer.distance


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("block", seeds(2, 6))
def test_absolute_questions(block: int, eager: bool) -> None:
    """The nearest plausible cell at which no plan beats the alternative; also where boxes ask for the best plan."""
    way = {"common_rivals": 0, "eager_from": 0} if eager else {}
    looked = 0
    for seed in range(4000 + 25 * block, 4000 + 25 * (block + 1)):
        for case in cases(seed, 1):
            question = varied(case.question(), kind="absolute", **way)
            forest = isolation(seed, case)
            if not small(question, forest):
                continue
            looked += 1
            at = all_cells(question, forest)
            costs = case.policy.Y_.T
            against = np.max([excess(question, at, 0.0, plan) for plan in costs], axis=0)
            score = least_score(forest, case, 0.4)
            over = np.where(forest.score_samples(at.points) >= score, against, np.inf)
            answer = explain(varied(question, plausibility=Isolation(forest, score)))
            hair = 1e-10 * float(np.abs(costs).max())
            maybe, surely = nearest_between(at.distance, over, question.claim.tau, hair)
            assert maybe - 1e-9 <= answer.distance <= surely + 1e-9
    assert looked > 10


def test_several_threads_give_the_same_answer() -> None:
    """With confidence and plausibility, one thread and two find the same distance."""
    for seed in range(40):
        for case in cases(seed, 1):
            question = varied(case.question(), kind="relative")
            how = Isolation(isolation(seed, case), -0.6)
            one = explain(varied(question, kappa=1.0, plausibility=how))
            two = explain(varied(varied(question, threads=2), kappa=1.0, plausibility=how))
            assert one.distance == pytest.approx(two.distance, abs=1e-12)
