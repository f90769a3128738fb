"""A question so small that answering it costs nothing but the compilation of a search."""

from __future__ import annotations

import numpy as np

from whence.explain.question import InputMap, Limits, Question
from whence.explain.space import Space
from whence.risk import Risk
from whence.weights import ForestWeights, KNNWeights

__all__ = ["tiny_question"]


def tiny_question(weights: ForestWeights | KNNWeights, risk: Risk) -> Question:
    """One feature, two past observations at 0 and 1 that `weights` were fitted on."""
    one = np.ones(1)
    return Question(
        space=Space(0.0 * one, 0.0 * one, one, (None,), one, np.array([-1])),
        weights=weights,
        inputs=InputMap(np.zeros(1, dtype=np.int64), one, 0.0 * one),
        alternative=np.array([1.0, 0.0]),
        decision=np.array([0.0, 1.0]),
        risk=risk,
        kind="relative",
        tau=0.0,
        separation=1e-6,
        better=lambda weights: None,
        limits=Limits(),
    )
