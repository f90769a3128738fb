"""Compiling a search before a clock runs, on a question so small that answering it costs nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from whence.explain.question import InputMap, Limits, Question
from whence.explain.space import Space
from whence.risk import Risk
from whence.search.compiling import announced
from whence.weights import ForestWeights, KNNWeights

__all__ = ["Stage", "compile_once", "compile_stages", "tiny_question"]

_compiled: set[str] = set()

#: Kernels that are compiled together, and a call that uses them.
Stage = tuple[tuple[Callable[..., Any], ...], Callable[[], None]]


def compile_once(name: str, kernels: tuple[Callable[..., Any], ...], use: Callable[[], None], limits: Limits) -> None:
    """Compile or load the kernels of a search once a process, by using them; the limits do not count that time."""
    if name in _compiled:
        return
    began = time.perf_counter()
    with announced(name, kernels):
        use()
    limits.started += time.perf_counter() - began
    _compiled.add(name)


def compile_stages(stages: Mapping[str, Stage]) -> None:
    """Compile all that questions to an engine may need, so that no later call includes compilation.

    Examples
    --------
    >>> from whence.search import forest
    >>> compile_stages(forest.STAGES)
    """
    for name, (kernels, use) in stages.items():
        compile_once(name, kernels, use, Limits())


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
