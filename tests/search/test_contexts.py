"""Contexts that can exist: steps, scales, least changes, derived features and relations, against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.blocks import count, seeds
from tests.cases import Case
from tests.context_cases import KINDS, ContextCase, TooMany, context_case, disagreement, faults, soaked
from tests.oracle import nearest
from tests.soaking import forest_case, neighbour_case

EACH, EACH_KNN = count(6, 12), count(3, 6)


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


@pytest.mark.parametrize("engine", ["search", "milp"])
def test_the_end_of_the_range_is_far_enough(engine: str) -> None:
    """20.3 and 7.4 are 27.7, where the history ends, though their sum in binary is a little more."""
    assert disagreement(soaked(2116), engine=engine) == ""


@pytest.mark.parametrize("seed", [8_800_294, 8_801_225])
def test_values_that_differ_in_the_last_digit_are_told_apart(seed: int) -> None:
    """Today is a rounding error beside a value on the grid: such boxes of neighbours were split for ever."""
    case = soaked(seed)
    assert disagreement(case, node_limit=10_000) == ""


@pytest.mark.parametrize("kinds", KINDS)
def test_neighbour_search_against_brute_force(kinds: str) -> None:
    """Numbers in steps, so that all contexts can be listed: among neighbours the nearest one that can exist."""
    looked = 0
    for seed, case in enumerate(small_cases(kinds, EACH_KNN, "knn", lattice=True)):
        try:
            wrong = disagreement(case)
        except TooMany:
            continue
        assert not wrong, (kinds, seed, wrong)
        looked += 1
    assert looked >= EACH_KNN // 3


@pytest.mark.parametrize("weights", ["forest", "knn"])
@pytest.mark.parametrize("kinds", ["s", "u", "l", "d", "r", "t", "rt", "sl", "rs", "lr"])
def test_search_and_integer_program_agree(weights: str, kinds: str) -> None:
    """Both engines, which share no code, find the same distance, and contexts that can exist."""
    for seed, case in enumerate(small_cases(kinds, count(2, 4), weights)):
        found, solved = case.explain(), case.explain(engine="milp", time_limit=20.0)
        assert found.status == solved.status, (kinds, seed)
        assert found.distance == pytest.approx(solved.distance, rel=2e-6, abs=2e-6), (kinds, seed)
        for why in (found, solved):
            assert not faults(case, why.context), (kinds, seed)


@pytest.mark.parametrize("block", seeds(1, 4))
def test_a_relation_that_is_always_true_changes_nothing(block: int) -> None:
    """Trained and frozen forests and neighbours, awkward data: the same answer, bit for bit, after as many boxes."""
    for seed in range(10 * block, 10 * block + 10):
        for case in (forest_case(seed), neighbour_case(seed)):
            schema = case.policy.schema_
            numbers = [name for name in schema.names if schema.kinds()[name] in ("continuous", "discrete")]
            if not numbers:
                continue
            relations = [f"`{name}` <= 1e300 and -1e300 <= `{name}`" for name in numbers]
            given = {"decision": case.decision, "kind": case.kind, "fixed": case.fixed, "bounds": case.bounds}
            plain = case.policy.explain(case.context, case.instead, **given)
            related = case.policy.explain(case.context, case.instead, **given, relations=relations)
            assert (plain.status, plain.distance, plain.nodes) == (related.status, related.distance, related.nodes)
            assert (plain.context is None) == (related.context is None)
            assert plain.context is None or plain.context.equals(related.context)


@pytest.mark.parametrize("block", seeds(1, 4))
def test_relations_of_awkward_data_against_every_cell(block: int) -> None:
    """Trained and frozen forests, ties, 1e-9 and 1e9 units, contexts outside: the nearest cell that keeps it."""
    looked = 0
    for seed in range(30 * block, 30 * block + 30):
        case = forest_case(seed)
        schema = case.policy.schema_
        numbers = [name for name in schema.names if schema.kinds()[name] in ("continuous", "discrete")]
        if len(numbers) < 2:
            continue
        first, second = numbers[:2]
        low, high = schema.training_range(first)
        cut, other = low + 0.4 * (high - low), sum(schema.training_range(second)) / 2
        text = f"`{first}` <= {cut!r} or `{second}` <= {other!r}"
        wanted = nearest_with(case, text)
        if wanted is None:
            continue
        given = {"decision": case.decision, "kind": case.kind, "fixed": case.fixed, "bounds": case.bounds}
        why = case.policy.explain(case.context, case.instead, **given, relations=[text])
        weight = float(case.question().space.weight.sum())
        assert why.distance == wanted or abs(why.distance - wanted) <= 1e-9 * weight * (1 + wanted), (seed, text)
        looked += 1
    assert looked >= 3


def nearest_with(case: Case, text: str) -> float | None:
    """By the reference for forests, each half of the relation by itself: the nearer of two boxes."""
    names = [part.split("`")[1] for part in text.split(" or ")]
    limits = [float(part.split("<= ")[1]) for part in text.split(" or ")]
    before = case.policy.weights_at(case.context)
    question = case.question()
    if question.claim.better(before) is None if case.kind == "absolute" else question.claim.is_satisfied(before):
        return 0.0
    found = []
    for name, limit in zip(names, limits, strict=True):
        space = question.space
        j = case.policy.schema_.coordinate_names.index(name)
        offset, scale = case.policy.schema_.affine()
        cut = (limit - offset[j]) / scale[j]
        if space.start[j] > cut and space.lower[j] > cut:
            continue
        levels = list(space.levels)
        own = levels[j]
        if own is not None:
            levels[j] = own[own <= cut]
        upper, start = space.upper.copy(), space.start
        upper[j] = min(upper[j], cut)
        if own is not None and not len(levels[j]):
            continue
        if start[j] > cut:
            # The start is no allowed value here: it is left by what counts from the cut on.
            moved = start.copy()
            moved[j] = upper[j] if own is None else levels[j][-1]
            extra = float(space.weight[j] * (start[j] - moved[j]))
            if own is None and space.lower[j] > upper[j]:
                continue
        else:
            moved, extra = start, 0.0
        part = replace(space, start=moved, upper=upper, levels=tuple(levels), ends=None)
        try:
            best = nearest(replace(question, space=part))
        except AssertionError:
            return None
        found.append(np.inf if best is None else best.distance + extra)
    return min(found, default=np.inf)
