"""A seeded part of the soak: awkward data, both estimators, through the policy itself, against brute force."""

from __future__ import annotations

import pytest
from tests.blocks import seeds
from tests.soaking import disagreement, forest_case, neighbour_case

#: Questions whose costs tie up to rounding, which were once answered wrongly.
ONCE_WRONG = [1348, 1484, 1587, 1892, 2170, 2243, 2562, 2607]


@pytest.mark.parametrize("block", seeds(2, 8))
def test_forests_agree_with_brute_force(block: int) -> None:
    """400 questions over decimals, ties, units of any size and far contexts are answered as by brute force."""
    for seed in range(50 * block, 50 * (block + 1)):
        assert disagreement(forest_case(seed)) == "", f"forest_case({seed})"


@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_forests_once_answered_wrongly(seed: int) -> None:
    """Costs that tie up to rounding no longer turn the search for a tail's beginning the wrong way."""
    assert disagreement(forest_case(seed)) == ""


@pytest.mark.parametrize("block", seeds(1, 4))
def test_neighbours_agree_with_brute_force(block: int) -> None:
    """60 questions about neighbours are answered as by looking at every vertex of their arrangement."""
    for seed in range(15 * block, 15 * (block + 1)):
        assert disagreement(neighbour_case(seed)) == "", f"neighbour_case({seed})"


@pytest.mark.parametrize("seed", seeds(3, 12))
def test_the_integer_program_agrees_with_brute_force(seed: int) -> None:
    """A second judge that shares nothing with the search gives the same answers."""
    assert disagreement(forest_case(seed), engine="milp") == ""
