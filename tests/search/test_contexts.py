"""Relations that are always true change nothing, whatever the data; others are held in tests/agreement."""

from __future__ import annotations

import pytest
from tests.blocks import seeds
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
