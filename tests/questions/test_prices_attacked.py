"""Prices in awkward questions: ties, duplicates, few weights, units of 1e-9 and 1e9, budgets, bounds, fixed prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.blocks import seeds
from tests.questions.price_cases import PROBLEMS, checked

#: Cases in a block; a full run has 100 blocks of them for every problem, kind and risk.
CASES = 5
#: Problems, and whether prices of a kind are asked for together, where that makes a difference.
ASKED = [*((name, True) for name in PROBLEMS), ("newsvendor", False), ("routes", False)]


@pytest.mark.parametrize("tail", [False, True], ids=["mean", "cvar"])
@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize(("name", "common"), ASKED)
@pytest.mark.parametrize("block", seeds(1, 100))
def test_no_prices_are_nearer_than_the_answer(block: int, name: str, common: bool, kind: Any, tail: bool) -> None:
    """The answer keeps what it says, and no prices are nearer: by a linear program, or by prices that are drawn."""
    # Prices of products under a tail, and of shipments, may take long: then the bound is held against what is true.
    limit = 1.0 if name == "shipment" or (tail and name == "newsvendor") else None
    for seed in range(CASES * block, CASES * (block + 1)):
        checked(PROBLEMS[name](seed, tail, common), kind, seed, limit)


@pytest.mark.parametrize(
    ("name", "seed", "common"),
    [("newsvendor", 1, True), ("routes", 4, True), ("routes", 14, False), ("lines", 9, True), ("lines", 13, True)],
)
def test_units_and_rounding_rule_nothing_out(name: str, seed: int, common: bool) -> None:
    """In units of 1e9, multipliers were lost, and shares that add up to 1 but for rounding: "none" was told."""
    case = PROBLEMS[name](seed, False, common)
    assert checked(case, "absolute", seed) == "optimal"


@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize(("seed", "tail"), [(10388006, True), (10388037, False), (10388307, False)])
def test_a_price_of_nothing_changes_with_no_factor(seed: int, tail: bool, kind: Any) -> None:
    """One factor for prices of which the first is 0: it was told as a change from 0 to 0, of no factor, that counts."""
    case = PROBLEMS["newsvendor"](seed, tail, True)
    assert checked(case, kind, seed, 5.0 if tail else None) == "optimal"
    found = case.ask(kind)
    assert (found.changes["from"] != found.changes["to"]).all()
    assert np.isfinite(found.changes["factor"]).all()
    # What the factor counts is told with the first price that it changes.
    assert sum(one.counts for one in found.moved) == pytest.approx(found.distance)
    assert [bool(one.words) for one in found.moved] == [True] + [False] * (len(found.moved) - 1)
    assert not [*found.verify(case.policy).differences]
