"""Regions of neighbour questions: at no vertex of the arrangement are they broken, and no face can move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.asking import varied
from tests.blocks import seeds
from tests.knn_reference import nearest_by_vertices
from tests.search.test_neighbour_search import random_case

import whence as wh
from whence.claims.sets import Plans
from whence.errors import InputError
from whence.question import Limits, Question
from whence.search.neighbour_regions import region
from whence.search.neighbour_search import explain
from whence.search.regions import Region, within_box

Floats = NDArray[np.float64]

#: Neighbours that are told apart by this much count for the reference, which allows for some rounding of its own.
APART = 1e-7


def first_broken(question: Question, rivals: Sequence[Floats], space_of: tuple[Floats, ...], weight: Floats) -> float:
    """Distance of the nearest context between two corners, seen from a third point, in which some rival is better."""
    start, lower, upper = space_of
    space = varied(within_box(question.space, start, lower, upper), lower=lower, upper=upper, weight=weight)
    broken = np.nextafter(-question.claim.tau, -np.inf)
    asked = varied(question, kind="relative", space=space, separation=APART, tau=float(broken), margin=(0.0, 0.0))
    return min(nearest_by_vertices(varied(asked, alternative=rival), [question.claim.alternative]) for rival in rivals)


def assert_good(question: Question, rivals: Sequence[Floats], found: Region, point: Floats) -> None:
    """No vertex of the region is broken."""
    ones = np.ones(point.size)
    assert found.contains(point[None, :]).all()
    assert first_broken(question, rivals, (point, found.lower, found.upper), ones) == np.inf


def assert_maximal(question: Question, rivals: Sequence[Floats], found: Region, point: Floats) -> None:
    """Just beyond every face that could move there is a broken context; in every category left out, too."""
    space = question.space
    for j in np.flatnonzero(space.group < 0):
        for sign, end, face in ((1, space.upper[j], found.upper[j]), (-1, space.lower[j], found.lower[j])):
            if sign * (end - face) < 1e-9:
                continue
            start, lower, upper = point.copy(), found.lower.copy(), found.upper.copy()
            start[j], lower[j], upper[j] = face, min(face, end), max(face, end)
            weight = np.where(np.arange(point.size) == j, 1.0, 1e-12)
            levels = space.levels[j]
            step = 1e-5
            if levels is not None:
                step += float(np.abs(levels[(levels - face) * (end - face) > 0] - face).min())
            assert first_broken(question, rivals, (start, lower, upper), weight) <= step
    for g in np.unique(space.group[space.group >= 0]):
        members = np.flatnonzero(space.group == g)
        for j in members[found.upper[members] == 0.0]:
            start, lower, upper = point.copy(), found.lower.copy(), found.upper.copy()
            for array in (start, lower, upper):
                array[members] = 0.0
                array[j] = 0.5
            if not space.allows(start)[members].all():
                continue
            assert first_broken(question, rivals, (start, lower, upper), np.full(point.size, 1e-12)) < np.inf


def looked_at(seed: int, kind: str) -> tuple[Question, list[Floats], Floats] | None:
    """A question, all that the alternative must stand against, and an explanation; None where there is none."""
    question, rivals = random_case(seed)
    question = varied(question, kind=kind, separation=1e-6)
    rivals = rivals if kind == "absolute" else [question.claim.rival_decision]
    answer = explain(question)
    return None if answer.point is None else (question, rivals, answer.point)


@pytest.mark.parametrize("block", seeds(2, 6))
def test_nothing_is_broken_and_no_face_can_move(block: int) -> None:
    """Both risks, ties, levels, categories, restrictions."""
    looked = grown = 0
    for seed in range(110_000 + 60 * block, 110_000 + 60 * (block + 1)):
        case = looked_at(seed, "relative")
        if case is None:
            continue
        question, rivals, point = case
        found = region(question, point)
        assert found.proved
        assert found.maximal
        assert_good(question, rivals, found, point)
        assert_maximal(question, rivals, found, point)
        looked += 1
        grown += bool((found.upper - found.lower).max() > 0.01)
    assert looked > 10
    assert grown > 5


@pytest.mark.parametrize("block", seeds(1, 3))
def test_no_plan_is_better_in_an_absolute_region(block: int) -> None:
    """Against all plans, though only some are met."""
    looked = 0
    for seed in range(120_000 + 60 * block, 120_000 + 60 * (block + 1)):
        case = looked_at(seed, "absolute")
        if case is None:
            continue
        question, rivals, point = case
        plans = np.array([question.claim.alternative, question.claim.decision, *rivals])
        risk = question.claim.risk

        def best(weights: Floats, plans: Floats = plans, risk: object = risk) -> Floats:
            return min(plans, key=lambda plan: risk.of(plan, weights))  # type: ignore[attr-defined]

        anything = Plans(best=best, every=lambda limit, plans=plans: plans)  # type: ignore[misc]
        found = region(question, point, anything=anything)
        assert found.proved
        assert_good(question, [question.claim.decision, *rivals], found, point)
        assert_maximal(question, [question.claim.decision, *rivals], found, point)
        looked += 1
    assert looked > 10


def test_what_is_proved_when_time_is_up_is_true() -> None:
    """With a limit on boxes the region is smaller, but nothing in it is broken."""
    short = 0
    for seed in range(130_000, 130_060):
        case = looked_at(seed, "relative")
        if case is None:
            continue
        question, rivals, point = case
        found = region(varied(question, limits=Limits(node_limit=2)), point)
        assert_good(question, rivals, found, point)
        short += not found.maximal
    assert short > 0


def test_other_metrics_have_no_regions() -> None:
    """How far a face may move is proved for sums of differences only, so that other distances are refused."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 2)), rng.integers(1, 30, (40, 1)).astype(float)
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(5, metric="euclidean")).fit(X, Y)
    why = policy.explain(X[0], instead=policy.decide(X[int(Y.argmax())]))
    assert why.context is not None
    with pytest.raises(InputError, match=r"A region needs neighbours by scaled L1 distances.* Got the 5 nearest rows"):
        why.region()
