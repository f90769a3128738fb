"""A dense dual simplex for a handful of variables: least cost u >= 0, u <= upper, under rows that are added one by one.

It starts at u = 0, which is dual feasible because all costs are positive, and stays warm when rows are added.
Every variable at its upper bound is replaced by its distance from it, so that all nonbasic ones are 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import kernel

__all__ = ["INFEASIBLE", "SOLVED", "UNKNOWN", "Tableau", "add_row", "new_tableau", "reoptimise", "reset", "solution"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SOLVED, INFEASIBLE, UNKNOWN = 0, 1, 2

PIVOT = 1e-9
FEASIBLE = 1e-12


class Tableau(NamedTuple):
    """Basic variable i equals ``rows[i, v] - rows[i, :v] @ nonbasic``; the last row holds the reduced costs.

    Attributes
    ----------
    rows : ndarray of shape (r + 1, v + 1)
        Coefficients, with the constants in the last column; row r is the objective.
    basic, nonbasic : ndarray of int
        Number of the variable in each row and column: below v the variables, then the rows' slacks.
    upper, cost : ndarray of shape (v,)
        Upper bounds and costs of the variables.
    flipped : ndarray of bool of shape (v,)
        Whether a variable is counted down from its upper bound.
    used : ndarray of int of shape (2,)
        Number of rows in use, and of slacks made so far.
    """

    rows: Floats
    basic: Ints
    nonbasic: Ints
    upper: Floats
    cost: Floats
    flipped: NDArray[np.bool_]
    used: Ints


@kernel
def new_tableau(upper: Floats, cost: Floats, capacity: int) -> Tableau:
    """Memory for `capacity` rows over variables with these bounds and costs."""
    v = upper.size
    return Tableau(
        np.zeros((capacity + 1, v + 1)), np.zeros(capacity, dtype=np.int64), np.zeros(v, dtype=np.int64),
        upper, cost, np.zeros(v, dtype=np.bool_), np.zeros(2, dtype=np.int64),
    )  # fmt: skip


@kernel
def reset(t: Tableau) -> None:
    """Forget all rows."""
    v = t.upper.size
    t.used[:] = 0
    t.flipped[:] = False
    last = t.rows.shape[0] - 1
    for c in range(v):
        t.nonbasic[c] = c
        t.rows[last, c] = t.cost[c]
    t.rows[last, v] = 0.0


@kernel
def _drop_idle_rows(t: Tableau) -> None:
    """Remove rows whose slack is basic: they do not bind."""
    v = t.upper.size
    kept = 0
    for i in range(t.used[0]):
        if t.basic[i] < v:
            t.basic[kept] = t.basic[i]
            t.rows[kept] = t.rows[i]
            kept += 1
    t.used[0] = kept


@kernel
def add_row(t: Tableau, row: Floats, limit: float) -> None:
    """Ask for ``row @ u <= limit``."""
    v = t.upper.size
    if t.used[0] == t.rows.shape[0] - 1:
        _drop_idle_rows(t)
    new = t.used[0]
    out = t.rows[new]
    out[:] = 0.0
    out[v] = limit
    for c in range(v):
        x = t.nonbasic[c]
        if x < v and row[x] != 0.0:
            if t.flipped[x]:
                out[c] -= row[x]
                out[v] -= row[x] * t.upper[x]
            else:
                out[c] += row[x]
    for i in range(new):
        x = t.basic[i]
        if x < v and row[x] != 0.0:
            sign = row[x]
            if t.flipped[x]:
                out[v] -= row[x] * t.upper[x]
                sign = -row[x]
            for c in range(v + 1):
                out[c] -= sign * t.rows[i, c]
    t.basic[new] = v + t.used[1]
    t.used[0] += 1
    t.used[1] += 1


@kernel
def _leaving(t: Tableau, careful: bool) -> int:
    """Row of the basic variable that breaks its bounds most (the lowest number when careful), made negative."""
    v = t.upper.size
    worst, leaving, above = FEASIBLE, -1, False
    for i in range(t.used[0]):
        x, value = t.basic[i], t.rows[i, v]
        over = value - t.upper[x] if x < v else -1.0
        broken = max(-value, over)
        if broken > FEASIBLE:
            better = leaving < 0 or (x < t.basic[leaving] if careful else broken > worst)
            if better:
                worst, leaving, above = broken, i, over > -value
    if leaving >= 0 and above:
        x = t.basic[leaving]
        for c in range(v + 1):
            t.rows[leaving, c] = -t.rows[leaving, c]
        t.rows[leaving, v] += t.upper[x]
        t.flipped[x] = not t.flipped[x]
    return leaving


@kernel
def _entering(t: Tableau, leaving: int, careful: bool) -> int:
    v = t.upper.size
    costs = t.rows[t.rows.shape[0] - 1]
    best, entering = np.inf, -1
    for c in range(v):
        a = -t.rows[leaving, c]
        if a > PIVOT:
            ratio = max(costs[c], 0.0) / a
            if entering < 0 or ratio < best - 1e-12:
                best, entering = ratio, c
            elif ratio <= best + 1e-12:
                if careful:
                    if t.nonbasic[c] < t.nonbasic[entering]:
                        entering = c
                elif a > -t.rows[leaving, entering]:
                    best, entering = min(best, ratio), c
    return entering


@kernel
def _pivot(t: Tableau, leaving: int, entering: int) -> None:
    v = t.upper.size
    last = t.rows.shape[0] - 1
    inverse = 1.0 / t.rows[leaving, entering]
    for c in range(v + 1):
        t.rows[leaving, c] *= inverse
    t.rows[leaving, entering] = inverse
    for step in range(t.used[0] + 1):
        i = step if step < t.used[0] else last
        factor = t.rows[i, entering]
        if i != leaving and factor != 0.0:
            # The objective adds its nonbasic terms where a row subtracts them: only its constant differs in sign.
            for c in range(v):
                t.rows[i, c] -= factor * t.rows[leaving, c]
            t.rows[i, entering] = -factor * inverse
            if i == last:
                t.rows[i, v] += factor * t.rows[leaving, v]
            else:
                t.rows[i, v] -= factor * t.rows[leaving, v]
    t.basic[leaving], t.nonbasic[entering] = t.nonbasic[entering], t.basic[leaving]


@kernel
def reoptimise(t: Tableau, cutoff: float) -> tuple[int, float]:
    """Dual simplex until all rows hold; the status and the least cost (a lower bound where UNKNOWN).

    A cost above `cutoff` counts as infeasible.
    """
    v = t.upper.size
    last = t.rows.shape[0] - 1
    patience = 20 * (v + t.used[0] + 5)
    for step in range(2 * patience):
        if t.rows[last, v] > cutoff:
            return INFEASIBLE, t.rows[last, v]
        careful = step > patience
        leaving = _leaving(t, careful)
        if leaving < 0:
            return SOLVED, t.rows[last, v]
        entering = _entering(t, leaving, careful)
        if entering < 0:
            return INFEASIBLE, np.inf
        _pivot(t, leaving, entering)
    return UNKNOWN, t.rows[last, v]


@kernel
def solution(t: Tableau, u: Floats) -> None:
    """Write the variables' values."""
    v = t.upper.size
    for x in range(v):
        u[x] = t.upper[x] if t.flipped[x] else 0.0
    for i in range(t.used[0]):
        x = t.basic[i]
        if x < v:
            value = min(max(t.rows[i, v], 0.0), t.upper[x])
            u[x] = t.upper[x] - value if t.flipped[x] else value
