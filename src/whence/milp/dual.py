"""Absolute explanations of linear decision problems in one program: the dual certifies that no plan is better."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from whence.aliases import Floats
from whence.errors import InputError
from whence.milp.model import Linear, Model, scaled
from whence.milp.weighting import Weighting
from whence.question import Question

__all__ = ["add_dual", "check_dual"]


def add_dual(model: Model, weighting: Weighting, question: Question, linear: Any) -> None:
    """Rows that hold exactly where the alternative is an optimal plan, within tau and the share the question allows.

    For plans in ``{z : A_ub z <= b_ub, A_eq z = b_eq, lower <= z <= upper}`` and the weighted cost vector d, the
    multipliers mu <= 0, nu, low >= 0 and high <= 0 with ``A_ub' mu + A_eq' nu + low + high = d`` prove that no plan
    costs less than ``b_ub' mu + b_eq' nu + lower' low + upper' high``; some of them prove the optimum. `linear` holds
    the :class:`~whence.problems.linear.Polytope`, the cost vectors of the past observations, and the alternative.
    """
    polytope, costs, plan = check_dual(question, linear)
    size = float(np.abs(costs).max(initial=0.0)) or 1.0
    low, high = np.isfinite(polytope.lower), np.isfinite(polytope.upper)
    multipliers = [
        (polytope.A_ub, polytope.b_ub, -np.inf, 0.0),
        (polytope.A_eq, polytope.b_eq, -np.inf, np.inf),
        (sparse.eye_array(low.size, format="csr")[np.flatnonzero(low)], polytope.lower[low], 0.0, np.inf),
        (sparse.eye_array(high.size, format="csr")[np.flatnonzero(high)], polytope.upper[high], -np.inf, 0.0),
    ]
    held, limits = [], []
    for rows, limit, least, most in multipliers:
        limits.append(np.asarray(limit, dtype=np.float64))
        held.append((sparse.csr_array(rows), model.variables(limits[-1].size, least, most)))
    columns = np.concatenate([at for _, at in held])
    together = sparse.csc_array(sparse.vstack([rows for rows, _ in held]))
    for j, price in enumerate(weighting.means(costs / size)):
        part = slice(together.indptr[j], together.indptr[j + 1])
        model.row(Linear(columns[together.indices[part]], together.data[part]) - price, 0.0, 0.0)
    proved = Linear(columns, np.concatenate(limits)) * (1.0 + question.within)
    model.add(scaled(weighting.mean(costs @ plan / size) - proved, question.tau / size))


def check_dual(question: Question, linear: Any) -> tuple[Any, Floats, Floats]:
    """The parts of `linear`, or one sentence on why no dual certifies the alternative."""
    risk = question.risk
    if risk.tail is not None:
        raise InputError(f"method='dual' needs the expected cost as risk. Got {risk!r} instead: use 'iterative'.")
    if linear is None:
        raise InputError(
            "method='dual' needs a linear decision problem, such as LinearProblem or ShortestPath: use 'iterative'."
        )
    polytope, costs, plan = linear
    if np.asarray(polytope.integrality).any():
        raise InputError(
            "method='dual' needs plans without whole-number variables, whose optimality no dual can certify: "
            "use 'iterative'."
        )
    return polytope, np.asarray(costs, dtype=np.float64), np.asarray(plan, dtype=np.float64)
