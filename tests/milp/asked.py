"""Questions for the integer programs, and what they have to answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests import cases, oracle
from tests.asking import varied
from tests.knn_reference import nearest_by_vertices

from whence.engines import part_of
from whence.milp.criterion_rows import criterion_of
from whence.milp.milp_engine import IntegerProgram
from whence.milp.model import Linear, Model, Program
from whence.milp.solvers.base import Outcome, SolverSettings
from whence.milp.solvers.highs import Highs
from whence.question import Answer, Question
from whence.weights import KNNWeights

explain = IntegerProgram().answer


def asked(case: cases.Case, **options: Any) -> Question:
    """The question of a case, with options of the engine."""
    return varied(case.question(), options=options)


def answered(question: Question, **options: Any) -> Answer:
    """The engine's answer under these options."""
    return explain(varied(question, options=options))


def value(expression: Linear, x: np.ndarray) -> float:
    """Value of a linear expression where the variables are `x`."""
    return float(expression.coefficients @ x[expression.columns] + expression.constant)


def forests(seeds: range, samples: int = 24, **wanted: Any) -> Iterator[cases.Case]:
    """Cases about forests, one a seed, with at most so many samples; `wanted` narrows kind and risk."""
    for seed in seeds:
        case = cases.cases(seed, 1)[0]
        if case.policy.weights_.n_samples_ <= samples:
            yield case.but(**wanted)


def neighbours(seeds: range, samples: int = 8) -> Iterator[cases.Case]:
    """Cases about neighbours that enumeration can settle: few samples, at most two continuous coordinates."""
    for seed in seeds:
        case = cases.cases(seed, 1, weights="knn")[0]
        continuous = sum(levels is None for levels in case.question().space.levels)
        if case.policy.weights_.n_samples_ <= samples and continuous <= 2:
            yield case


def expected(case: cases.Case, question: Question) -> float:
    """Distance of the nearest explanation by enumeration; infinite where there is none."""
    if isinstance(question.weights, KNNWeights):
        rivals = list(case.policy.Y_.T) if case.kind == "absolute" else [question.claim.decision]
        return nearest_by_vertices(question, rivals)
    found = oracle.nearest(question)
    return np.inf if found is None else found.distance


def agree(answer: Answer, distance: float, case: cases.Case) -> None:
    """The answer is proved, and is the one expected."""
    assert answer.status == ("none" if distance == np.inf else "optimal"), case
    if distance < np.inf:
        assert answer.distance == answer.bound
        assert abs(answer.distance - distance) <= 1e-6, case


def built(question: Question, w_max: str = "sample") -> tuple[Model, Any, Any]:
    """Model, weights and criterion of a question, without any row of the criterion."""
    model = Model()
    weighting = part_of(question.weights, "milp")(model, question)
    return model, weighting, criterion_of(model, weighting, question, w_max)


def fixed_at(program: Program, weighting: Any, context: np.ndarray) -> Outcome:
    """Solve with every coordinate fixed to `context`, which must be a point of the axes."""
    lower, upper = program.lower.copy(), program.upper.copy()
    for axis, value in zip(weighting.axes, context, strict=True):
        taken = axis.points[1:] <= value + 1e-12
        lower[axis.steps] = upper[axis.steps] = taken
    return Highs().solve(program.with_bounds(lower, upper), SolverSettings())
