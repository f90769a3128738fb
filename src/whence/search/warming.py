"""A question so small that answering it costs nothing but the compilation of a search."""

from __future__ import annotations

import numpy as np

from whence.explain.question import InputMap, Limits, Question
from whence.explain.space import Space
from whence.risk import CVaR
from whence.weights import ForestWeights

__all__ = ["tiny_question"]


def tiny_question() -> Question:
    """Two past observations, one feature, one tree."""
    points = np.array([[0.0], [1.0]])
    space = Space(np.zeros(1), np.zeros(1), np.ones(1), (None,), np.ones(1), np.array([-1]))
    return Question(
        space=space,
        weights=ForestWeights(n_trees=1, random_state=0).fit(points, points),
        inputs=InputMap(np.arange(1), np.ones(1), np.zeros(1)),
        alternative=np.array([2.0, 0.0]),
        decision=np.array([1.0, 1.0]),
        risk=CVaR(0.5),
        kind="relative",
        tau=0.0,
        separation=0.0,
        better=lambda weights: None,
        limits=Limits(),
    )
