"""Questions of the experiments: the public code's tolerance, and its measure of a step."""

from __future__ import annotations

import numpy as np
import pytest

from paper.asking import TOLERATED, ask
from paper.experiment import Row
from paper.forests import paper_forest
from paper.instances import Instance, instance
from whence.weights import ForestWeights, KNNWeights


def outside(weights: ForestWeights | KNNWeights, seed: int) -> Instance:
    """A question whose first feature lies beyond the history."""
    asked = instance("shortest_path", 60, seed, predictor=weights)
    beyond = asked.context.copy()
    beyond[0] = asked.policy.X_.to_numpy()[:, 0].max() + 0.25
    return Instance(asked.policy, beyond, asked.alternative, asked.alternative_context)


@pytest.mark.parametrize("weights", [paper_forest(20, 4), KNNWeights(5)])
def test_a_published_step_ends_inside_the_history(weights: ForestWeights | KNNWeights) -> None:
    """A feature that lies outside comes inside, which changes no weights; the others move as in our own step."""
    seen = 0
    for seed in range(12):
        asked = outside(weights, seed)
        answered = ask(asked, "relative")
        if answered.status != "optimal":
            continue
        seen += 1
        past = asked.policy.X_.to_numpy()
        there = asked.context + answered.published_step
        assert (there >= past.min(axis=0) - 1e-12).all()
        assert (there <= past.max(axis=0) + 1e-12).all()
        np.testing.assert_allclose(answered.published_step[1:], answered.step[1:], atol=1e-12)
        assert answered.published_step[0] <= -0.25 + 1e-12
        ours = asked.policy.weights_at(asked.context + answered.step)
        np.testing.assert_allclose(asked.policy.weights_at(there), ours, atol=1e-12)
    assert seen >= 3


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_the_tolerance_is_the_public_codes(kind: str) -> None:
    """In units of cost, whatever the largest cost is."""
    answered = ask(instance("newsvendor", 60, 0, predictor=paper_forest(20, 4)), kind)  # type: ignore[arg-type]
    assert answered.why.tolerance == pytest.approx(TOLERATED[kind], rel=1e-9)  # type: ignore[index]
    row: Row = answered.row
    assert row["l1"] == pytest.approx(float(np.abs(answered.published_step).mean()))
