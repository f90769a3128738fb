"""Awkward questions of every kind are answered as their references say."""

from __future__ import annotations

import pytest
from tests import soaking
from tests.agreement.families import FAMILIES
from tests.blocks import seeds

BLOCKS = [(name, block) for name, family in FAMILIES.items() for block in seeds(family.short, family.full)]


@pytest.mark.parametrize(("name", "block"), BLOCKS)
def test_answers_are_those_of_the_reference(name: str, block: int) -> None:
    """A block of random questions: the same distance, or none alike."""
    family, looked = FAMILIES[name], 0
    for seed in range(family.each * block, family.each * (block + 1)):
        wrong = family.wrong(seed)
        assert not wrong, f"{name}, seed {seed}: {wrong}"
        looked += wrong is not None
    assert looked >= family.each // 3


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for name, family in FAMILIES.items() for seed in family.once])
def test_what_was_once_wrong(name: str, seed: int) -> None:
    """Questions that were once answered wrongly."""
    assert FAMILIES[name].wrong(seed) == ""


@pytest.mark.parametrize("name", ["forest", "decision"])
def test_the_integer_program_agrees(name: str) -> None:
    """A second judge that shares nothing with the search gives the same answers."""
    made = {"forest": soaking.forest_case, "decision": soaking.decision_case}[name]
    for seed in seeds(3, 12):
        assert soaking.disagreement(made(seed), engine="milp") == "", f"{name}, seed {seed}"
