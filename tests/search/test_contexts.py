"""Contexts that can exist: steps, scales, least changes, derived features and relations, against brute force."""

from __future__ import annotations

from itertools import combinations

import pytest
from tests.context_cases import ContextCase, TooMany, context_case, disagreement, faults

#: Steps, units of change, least changes, derived features, linear rows, tables: each alone, and in pairs.
LETTERS = "suldrt"
KINDS = (*LETTERS, *("".join(pair) for pair in combinations(LETTERS, 2)))
EACH = 24


def small_cases(kinds: str, count: int, weights: str = "forest", lattice: bool = False) -> list[ContextCase]:
    return [context_case(seed, kinds, weights, lattice) for seed in range(count)]


@pytest.mark.parametrize("kinds", KINDS)
def test_forest_search_against_brute_force(kinds: str) -> None:
    """The nearest context that can exist, found by trying every combination of values at which anything turns."""
    looked = 0
    for seed, case in enumerate(small_cases(kinds, EACH)):
        try:
            wrong = disagreement(case)
        except TooMany:
            continue
        assert not wrong, (kinds, seed, wrong)
        looked += 1
    assert looked >= EACH // 3


@pytest.mark.parametrize("kinds", KINDS)
def test_neighbour_search_against_brute_force(kinds: str) -> None:
    """Numbers in steps, so that all contexts can be listed: among neighbours the nearest one that can exist."""
    looked = 0
    for seed, case in enumerate(small_cases(kinds, EACH, "knn", lattice=True)):
        try:
            wrong = disagreement(case)
        except TooMany:
            continue
        assert not wrong, (kinds, seed, wrong)
        looked += 1
    assert looked >= EACH // 3


@pytest.mark.parametrize("weights", ["forest", "knn"])
@pytest.mark.parametrize("kinds", ["s", "u", "l", "d", "r", "t", "rt", "sl", "rs", "lr"])
def test_search_and_integer_program_agree(weights: str, kinds: str) -> None:
    """Both engines, which share no code, find the same distance, and contexts that can exist."""
    for seed, case in enumerate(small_cases(kinds, 4, weights)):
        found, solved = case.explain(), case.explain(engine="milp", time_limit=20.0)
        assert found.status == solved.status, (kinds, seed)
        assert found.distance == pytest.approx(solved.distance, rel=2e-6, abs=2e-6), (kinds, seed)
        for why in (found, solved):
            assert not faults(case, why.context), (kinds, seed)
