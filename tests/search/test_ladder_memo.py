"""One question asked with more and more standard errors: what was proved before changes no answer."""

from __future__ import annotations

import numpy as np
import pytest
from tests.asking import varied
from tests.blocks import seeds
from tests.cases import cases
from tests.knn_reference import nearest_by_vertices
from tests.search.holding import all_cells, excess, nearest_between
from tests.search.test_confidence import assert_nearest, relative
from tests.search.test_neighbour_search import random_case

from whence.question import Limits, Question, earlier
from whence.risk import Expectation
from whence.search import forest_search as forest
from whence.search import neighbour_search as knn

KAPPAS = (0.0, 0.4, 1.2, 2.3, 5.0)


@pytest.mark.parametrize("block", seeds(3, 10))
def test_every_step_of_a_ladder_is_the_nearest_of_all_cells(block: int) -> None:
    """Both risks, with categories, restrictions and ties: steps that share what they know, in any order."""
    reused = 0
    for seed in range(7000 + 25 * block, 7000 + 25 * (block + 1)):
        rng = np.random.default_rng(seed)
        for _, question in relative(seed, 1):
            at = all_cells(question)
            steps = KAPPAS if seed % 3 else tuple(rng.permutation(KAPPAS).tolist())
            for kappa in steps:
                asked = varied(question, kappa=kappa)
                known = earlier(asked)
                answer = forest.explain(asked)
                assert_nearest(question, answer, at, excess(question, at, kappa))
                reused += known is not None and kappa > 0.0 and answer.nodes == 0
                if known is not None:
                    assert answer.distance >= known.answer.bound - 1e-12
    assert reused > 5


@pytest.mark.parametrize("block", seeds(1, 4))
def test_every_step_of_a_ladder_of_neighbours(block: int) -> None:
    """The nearest of all vertices, step by step."""
    reused = 0
    for seed in range(71_000 + 25 * block, 71_000 + 25 * (block + 1)):
        question, rivals = random_case(seed)
        question = varied(question, kind="relative", risk=Expectation())
        for kappa in KAPPAS:
            asked = varied(question, kappa=kappa)
            answer = knn.explain(asked)
            expected = nearest_by_vertices(asked, rivals[:1])
            assert answer.status == ("none" if np.isinf(expected) else "optimal")
            if np.isfinite(expected):
                assert answer.distance == pytest.approx(expected, abs=1e-6 + 1e-6 * question.settings.separation)
            reused += kappa > 0.0 and answer.nodes == 0
    assert reused > 5


def other_questions(question: Question) -> list[Question]:
    """Questions that share its memo and are none of its steps: another room, plan, margin, kind or tolerance."""
    start = question.space.start
    return [
        varied(question, space=varied(question.space, lower=start.copy(), upper=start.copy())),
        varied(question, decision=question.claim.decision + 1.0),
        varied(question, margin=(0.0, 3.0)),
        varied(question, tau=2.0 * question.claim.tau + 1.0),
        varied(question, kind="absolute"),
    ]


def test_nothing_is_known_of_another_question() -> None:
    """Not even where it has more standard errors."""
    for seed in range(20):
        question = varied(cases(seed, 1)[0].question(), kind="relative")
        forest.explain(question)
        assert earlier(varied(question, kappa=1.0, limits=Limits(9.0), threads=2)) is not None
        for other in other_questions(question):
            assert earlier(varied(other, kappa=1.0)) is None


def test_more_standard_errors_say_nothing_about_fewer() -> None:
    """What holds by four may hold nearer by one."""
    nearer = 0
    for seed in range(60):
        for _, question in relative(seed, 1):
            far = forest.explain(varied(question, kappa=4.0))
            near = forest.explain(varied(question, kappa=0.5))
            alone = forest.explain(varied(question, kappa=0.5, memo={}))
            assert near.distance == alone.distance
            nearer += near.distance < far.distance
    assert nearer > 0


def test_a_search_that_was_stopped_leaves_its_bound() -> None:
    """An answer without proof is not taken for one; what was proved counts."""
    looked = 0
    for seed in range(60):
        for _, question in relative(seed, 1):
            whole = forest.explain(varied(question, kappa=2.0, memo={}))
            cut = varied(question, kappa=1.0, limits=Limits(None, 2))
            stopped = forest.explain(cut)
            if stopped.status != "time_limit":
                continue
            again = forest.explain(varied(question, kappa=2.0))
            assert (again.status, again.distance) == (whole.status, whole.distance)
            assert again.bound >= stopped.bound
            looked += 1
    assert looked > 5


def test_the_oracle_tells_answers_apart() -> None:
    """The reference itself: more standard errors lead farther in some of these cases."""
    farther = 0
    for seed in range(7000, 7025):
        for _, question in relative(seed, 1):
            at = all_cells(question)
            near, far = (
                nearest_between(at.distance, excess(question, at, k), question.claim.tau, 0.0)[0] for k in (0.0, 5.0)
            )
            farther += far > near
    assert farther > 5
