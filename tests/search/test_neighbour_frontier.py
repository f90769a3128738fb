"""The frontier of neighbours, candidate by candidate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.blocks import seeds
from tests.search.test_neighbour_search import ask, random_case

from whence import Expectation
from whence.features.space import Space
from whence.question import Question
from whence.search.neighbour_search import NeighbourFrontier

Floats = NDArray[np.float64]


def _line_question(**limits: Any) -> Question:
    """Two past contexts on a line: beyond the middle the alternative is better than the decision."""
    points, costs = np.array([[0.1], [0.9]]), np.array([1.0, 0.0])
    space = Space(np.array([0.2]), np.zeros(1), np.ones(1), (None,), np.ones(1), np.full(1, -1))
    return ask(points, space, 1, costs, [np.array([0.5, 0.5])], Expectation(), **limits)


def test_a_new_cut_takes_the_candidate_back() -> None:
    """A candidate that a new rival beats is not handed out again."""
    question = _line_question()
    frontier = NeighbourFrontier(question)
    frontier.cut(question.claim.decision)
    point = frontier.advance(1000, np.inf)
    assert point == pytest.approx([0.5], abs=1e-5)
    frontier.cut(np.array([0.5, -1.0]))
    while (again := frontier.advance(1000, np.inf)) is None and frontier.bound < np.inf:
        frontier.propose(np.inf)
    assert again is None


@pytest.mark.parametrize("seed", seeds(8, 30))
def test_the_bound_of_neighbours_never_exceeds_the_answer(seed: int) -> None:
    """Whatever ball is being searched, and however small the slices, the bound is below the distance of the answer."""
    question, _ = random_case(seed + 300)
    frontier = NeighbourFrontier(question)
    frontier.cut(question.claim.decision)
    bounds = [0.0]
    while (point := frontier.advance(1, np.inf)) is None and frontier.bound < np.inf:
        frontier.propose(np.inf)
        bounds.append(frontier.bound)
    assert bounds == sorted(bounds)
    if point is not None:
        assert max(bounds) <= question.space.distance(point) + 1e-9
