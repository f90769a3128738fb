"""A plan in a polytope as part of an integer program: what it costs under weights that are variables, too.

The cost is a sum of products of a plan and of the variables that say which leaves, or neighbours, are met. These are 0
or 1, so that the products are linear: a plan that takes only 0 or 1 is multiplied edge by edge, and any other one has
a copy for every part that may be met, which is the plan where it is met and nothing elsewhere. Under CVaR the level at
which the tail begins is copied along with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from whence.aliases import Floats
from whence.milp.model import Columns, Linear, Model, scaled
from whence.milp.weighting import Parts, Weighting

__all__ = ["linear_cost"]

#: Numbers in the copies of a plan, at most.
NUMBERS = 400_000


def linear_cost(model: Model, weighting: Weighting, polytope: Any, costs: Floats, tail: float | None) -> Linear | None:
    """The cost of a plan of the polytope that the model chooses; None where plans have no bounds, or are too large.

    Parameters
    ----------
    polytope : Polytope
        What plans must satisfy. Whole numbers other than 0 and 1 are not asked to be whole: that is for the judge.
    costs : ndarray of shape (n, variables)
        Cost vectors of the past observations.
    tail : float, optional
        The worst share of which the mean is taken.
    """
    bounds = _bounds(polytope)
    if bounds is None:
        return None
    lower, width = bounds[0], bounds[1] - bounds[0]
    binary = polytope.integrality & (lower == 0.0) & (width <= 1.0)
    largest = max(float(np.abs(costs).max()), 1e-300)
    if tail is None and binary.all():
        plan = _plan(model, polytope, lower, width, binary)
        return _edge_by_edge(model, weighting, plan, width, costs / largest) * largest
    parts = weighting.parts()
    if parts.columns.size * lower.size + (0 if tail is None else parts.shares.nnz) > NUMBERS:
        return None
    plan = _plan(model, polytope, lower, width, binary)
    copies = _copies(model, parts, plan)
    base, slope = costs @ lower / largest, costs * width / largest
    if tail is None:
        constant, rows = parts.shares @ base, parts.shares @ slope
        return (Linear(parts.columns, constant) + Linear(copies.ravel(), np.asarray(rows).ravel())) * largest
    return _tail_cost(model, parts, copies, base, slope, tail) * largest


def _bounds(polytope: Any) -> tuple[Floats, Floats] | None:
    """Bounds on every variable of a plan; None where there are none."""
    lower, upper = polytope.lower.astype(float).copy(), polytope.upper.astype(float).copy()
    for at, sign in ((lower, 1.0), (upper, -1.0)):
        for j in np.flatnonzero(~np.isfinite(at)).tolist():
            goal = np.zeros(lower.size)
            goal[j] = sign
            found = linprog(
                goal,
                A_ub=polytope.A_ub if polytope.b_ub.size else None,
                b_ub=polytope.b_ub if polytope.b_ub.size else None,
                A_eq=polytope.A_eq if polytope.b_eq.size else None,
                b_eq=polytope.b_eq if polytope.b_eq.size else None,
                bounds=np.column_stack([polytope.lower, polytope.upper]),
            )
            if found.status != 0:
                return None
            # What a solver misses the bound by must not cut off a plan.
            at[j] = sign * (float(found.fun) - 1e-6 * max(1.0, abs(float(found.fun))))
    return lower, upper


def _plan(model: Model, polytope: Any, lower: Floats, width: Floats, binary: Any) -> Columns:
    """Variables from 0 to 1, between the bounds of a plan, that keep the rows of the polytope."""
    plan = model.variables(lower.size, 0.0, np.where(width > 0.0, 1.0, 0.0), integer=binary)
    for rows, limit, least in ((polytope.A_ub, polytope.b_ub, -np.inf), (polytope.A_eq, polytope.b_eq, None)):
        given = sparse.csr_array(rows)
        for i, most in enumerate(np.asarray(limit, dtype=float).tolist()):
            part = slice(given.indptr[i], given.indptr[i + 1])
            at, numbers = given.indices[part], given.data[part]
            row = Linear(plan[at], numbers * width[at], float(numbers @ lower[at]) - most)
            size = max(float(np.abs(row.coefficients).max(initial=0.0)), 1e-300)
            model.row(row * (1.0 / size), 0.0 if least is None else least, 0.0)
    return plan


def _edge_by_edge(model: Model, weighting: Weighting, plan: Columns, width: Floats, costs: Floats) -> Linear:
    """Expected cost of a plan of 0 and 1: what is taken costs what it does in the context, and nothing else does."""
    some = np.flatnonzero(width > 0.0)
    low, high = costs[:, some].min(axis=0), costs[:, some].max(axis=0)
    paid = model.variables(some.size, np.minimum(low, 0.0), np.maximum(high, 0.0))
    for k, mean in enumerate(weighting.means(costs[:, some])):
        taken, cost = Linear(plan[some[k] : some[k] + 1], np.ones(1)), Linear(paid[k : k + 1], np.ones(1))
        model.add(scaled(mean + taken * float(high[k]) - cost, float(high[k])))
        model.add(scaled(taken * float(low[k]) - cost, 0.0))
    return Linear(paid, np.ones(some.size))


def _copies(model: Model, parts: Parts, numbers: Columns) -> Columns:
    """For every part a copy of these variables from 0 to 1 that is 0 where the part is not met; one row per part."""
    count, size = parts.columns.size, numbers.size
    copies = model.variables(count * size).reshape(count, size)
    met = np.repeat(parts.columns, size)
    model.pairs(copies.ravel(), met)
    model.pairs(copies.ravel(), np.tile(numbers, count))
    for group in parts.groups:
        for j, own in enumerate(copies[group].T):
            total = Linear(own, np.ones(own.size)) - Linear(numbers[j : j + 1], np.full(1, float(parts.met)))
            model.row(total, 0.0, 0.0)
    return copies


def _tail_cost(model: Model, parts: Parts, copies: Columns, base: Floats, slope: Floats, tail: float) -> Linear:
    """CVaR of a plan: a level, plus what the observations of the parts that are met cost beyond it."""
    low = float((base + np.minimum(slope, 0.0).sum(axis=1)).min())
    high = float((base + np.maximum(slope, 0.0).sum(axis=1)).max())
    spread = max(high - low, 1e-300)
    level = model.variables(1)
    levels = _copies(model, parts, level)
    given = parts.shares.tocoo()
    over = model.variables(given.nnz)
    for part, i, own in zip(given.row.tolist(), given.col.tolist(), over.tolist(), strict=True):
        # Beyond the level, in units of the spread; nothing where the part is not met.
        cost = Linear(copies[part], slope[i]) + Linear(parts.columns[part : part + 1], np.full(1, float(base[i] - low)))
        beyond = cost - Linear(levels[part], np.full(1, spread)) - Linear(np.array([own]), np.full(1, spread))
        model.add(scaled(beyond, 0.0))
    return Linear(level, np.full(1, spread), low) + Linear(over, spread * given.data / tail)
