"""Relations beside awkward data: those that change nothing, and those that rule out cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.blocks import seeds
from tests.cases import Case
from tests.oracle import nearest
from tests.soaking import forest_case, neighbour_case


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
