"""Neighbour questions with a radius, standard errors or a margin: against every vertex, and the integer program."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.asking import varied
from tests.blocks import seeds
from tests.knn_reference import nearest_by_vertices
from tests.search.test_neighbour_search import random_case

from whence.milp.milp_engine import IntegerProgram
from whence.question import Answer, Question
from whence.risk import Expectation
from whence.search.neighbour_search import explain
from whence.weights.plausibility import Nearby

Floats = NDArray[np.float64]

BLOCKS, EACH = 12, 100
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def usually_near(question: Question) -> Nearby:
    """The measure of the question's own weights."""
    weights = question.weights
    found = weights.usual_measure(weights.points_)
    assert isinstance(found, Nearby)
    return found


def near(question: Question, share: float) -> Nearby:
    """The contexts that are not less usual than so much of the history."""
    return usually_near(question).at_least(share)


def asked_plainly(question: Question, rivals: list[Floats]) -> Question:
    """The question with `better` as a question with confidence has it: it names the best plan everywhere."""
    risk = question.claim.risk

    def best(weights: Floats) -> Floats:
        return min(rivals, key=lambda rival: risk.of(rival, weights))

    return varied(question, better=best, best=best)


def assert_distance(answer: Answer, expected: float, separation: float) -> None:
    """The answer lies where the reference found one, up to what is placed beyond the separation."""
    if np.isinf(expected):
        assert answer.status == "none"
        return
    assert answer.status == "optimal"
    assert answer.distance == pytest.approx(expected, abs=1e-6 + 1e-6 * separation)
    assert answer.bound == pytest.approx(answer.distance, abs=1e-9)


@pytest.mark.parametrize("block", seeds(3, BLOCKS))
def test_the_nearest_usual_context(block: int) -> None:
    """Relative and absolute, both risks, ties, levels, categories and restrictions; some with a margin."""
    farther = none = 0
    for seed in range(20_000 + EACH * block, 20_000 + EACH * (block + 1)):
        question, rivals = random_case(seed)
        if seed % 3 == 0 and question.claim.kind == "relative":
            question = varied(question, margin=(0.0, 0.05))
            rivals = [question.claim.rival_decision]
        usual = varied(question, plausibility=near(question, SHARES[seed % len(SHARES)]))
        answer = explain(usual)
        expected = nearest_by_vertices(usual, rivals)
        assert_distance(answer, expected, question.settings.separation)
        without = explain(question)
        assert answer.distance >= without.distance - 1e-9
        farther += without.distance + 1e-9 < answer.distance < np.inf
        none += bool(np.isinf(answer.distance) and np.isfinite(without.distance))
        if answer.point is not None:
            assert usually_near(question).share(answer.point) >= SHARES[seed % len(SHARES)] - 1e-12
    assert farther + none > EACH // 50


@pytest.mark.parametrize("block", seeds(2, 6))
def test_the_nearest_context_by_so_many_standard_errors(block: int) -> None:
    """Both risks, relative and absolute, some with a radius or a margin as well."""
    farther = 0
    for seed in range(40_000 + EACH * block, 40_000 + EACH * (block + 1)):
        question, rivals = random_case(seed)
        question = varied(question, kappa=(0.5, 1.0, 2.0, 4.0)[seed % 4])
        if question.claim.kind == "absolute":
            question = asked_plainly(question, rivals)
        elif seed % 3 == 0:
            question = varied(question, margin=(0.1, 0.0))
            rivals = [question.claim.rival_decision]
        if seed % 5 == 0:
            question = varied(question, plausibility=near(question, 0.3))
        answer = explain(question)
        assert_distance(answer, nearest_by_vertices(question, rivals), question.settings.separation)
        if question.claim.kind == "relative":
            without = explain(varied(question, kappa=0.0))
            assert answer.distance >= without.distance - 1e-9
            farther += without.distance + 1e-9 < answer.distance
    assert farther > EACH // 50


@pytest.mark.parametrize("block", seeds(1, 2))
def test_a_margin(block: int) -> None:
    """By a share of the decision's cost, or an amount, both risks."""
    for seed in range(50_000 + EACH * block, 50_000 + EACH * (block + 1)):
        question, _ = random_case(seed)
        margin = ((0.1, 0.0), (0.0, 0.05), (0.3, 0.0))[seed % 3]
        question = varied(question, kind="relative", margin=margin)
        answer = explain(question)
        assert_distance(
            answer, nearest_by_vertices(question, [question.claim.rival_decision]), question.settings.separation
        )


@pytest.mark.parametrize("block", seeds(2, 6))
def test_a_margin_of_absolute_questions(block: int) -> None:
    """As good as every plan, and better than the decision by a share or an amount: the best of all vertices."""
    farther = 0
    for seed in range(52_000 + EACH * block, 52_000 + EACH * (block + 1)):
        question, rivals = random_case(seed)
        if question.claim.kind != "absolute":
            continue
        question = varied(question, margin=((0.1, 0.0), (0.0, 0.2), (0.5, 0.0), (0.3, 0.1))[seed % 4])
        answer = explain(question)
        expected = nearest_by_vertices(question, [question.claim.rival_decision, *rivals])
        assert_distance(answer, expected, question.settings.separation)
        without = explain(varied(question, margin=(0.0, 0.0)))
        assert answer.distance >= without.distance - 1e-9
        farther += answer.distance > without.distance + 1e-9
    assert farther > 0


@pytest.mark.parametrize("block", seeds(2, 8))
def test_the_integer_program_agrees(block: int) -> None:
    """With a radius, a margin, or both: relative questions, both risks, both engines."""
    for seed in range(60_000 + 20 * block, 60_000 + 20 * (block + 1)):
        question, _ = random_case(seed, most=7)
        question = varied(question, kind="relative", separation=1e-3)
        if seed % 3:
            question = varied(question, plausibility=near(question, SHARES[seed % len(SHARES)]))
        if seed % 2 or seed % 3 == 0:
            question = varied(question, margin=(0.0, 0.05))
        one, other = explain(question), IntegerProgram().answer(question)
        assert one.status == other.status
        assert one.distance == pytest.approx(other.distance, abs=1e-6)


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_absolute_questions_agree(seed: int) -> None:
    """Both engines, where the alternative must be the best plan in a usual context."""
    question, _ = random_case(70_000 + seed, most=7)
    question = varied(question, kind="absolute", separation=1e-3, plausibility=near(question, 0.4))
    assert explain(question).distance == pytest.approx(IntegerProgram().answer(question).distance, abs=1e-6)


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_more_is_never_nearer(seed: int) -> None:
    """A larger share of the history, more standard errors or a larger margin lead farther away."""
    question, _ = random_case(80_000 + seed, most=20, shape=("ccc", "cckd", "cccc")[seed % 3])
    question = varied(question, kind="relative")
    ways = (
        [varied(question, plausibility=near(question, share)) for share in SHARES],
        [varied(question, kappa=kappa) for kappa in (0.0, 0.5, 1.0, 2.0, 4.0)],
        [varied(question, margin=(0.0, amount)) for amount in (0.0, 0.05, 0.1, 0.2)],
    )
    for way in ways:
        distances = [explain(asked).distance for asked in way]
        assert all(before <= after + 1e-9 for before, after in itertools.pairwise(distances))


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_a_wide_radius_changes_nothing(seed: int) -> None:
    """Bit for bit: every context is within the radius, or no standard errors are asked for."""
    question, _ = random_case(90_000 + seed, most=30, shape="cckd")
    points, k = question.weights.points_, int(question.weights.k)
    plain, wide = explain(question), explain(varied(question, plausibility=Nearby(points, k, 1e6), kappa=0.0))
    assert plain.nodes == wide.nodes
    assert plain.distance == wide.distance
    assert (plain.point is None and wide.point is None) or np.array_equal(plain.point, wide.point)


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_threads_agree(seed: int) -> None:
    """One thread and two find the same distance."""
    question, _ = random_case(95_000 + seed, most=40, shape="cccd")
    question = varied(question, risk=Expectation(), kind="relative", kappa=0.5, plausibility=near(question, 0.3))
    one, two = explain(question), explain(varied(question, threads=2))
    assert one.status == two.status
    assert one.distance == pytest.approx(two.distance, abs=1e-9)
