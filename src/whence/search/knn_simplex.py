"""A dense dual simplex for a handful of variables: least cost u >= 0, u <= upper, under rows that are added one by one.

It starts at u = 0, which is dual feasible because all costs are positive, and stays warm when rows are added.
Every variable at its upper bound is replaced by its distance from it, so that all nonbasic ones are 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import flow, inner

__all__ = [
    "COST",
    "INFEASIBLE",
    "SOLVED",
    "UNKNOWN",
    "UPPER",
    "VARIABLES",
    "Tableau",
    "add_row",
    "reoptimise",
    "reset",
    "solution",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SOLVED, INFEASIBLE, UNKNOWN = 0, 1, 2

PIVOT = 1e-9
FEASIBLE = 1e-12


#: Rows of ``Tableau.variables``.
UPPER, COST = range(2)

#: Place of the number of variables in ``Tableau.used``.
VARIABLES = 2


class Tableau(NamedTuple):
    """Basic variable i equals ``rows[i, v] - rows[i, :v] @ nonbasic``; the last row holds the reduced costs.

    Attributes
    ----------
    rows : ndarray of shape (r + 1, at least v + 1)
        Coefficients, with the constants in column v; row r is the objective.
    variables : ndarray of shape (2, at least v)
        Upper bounds and costs of the variables.
    basic, nonbasic : ndarray of int
        Number of the variable in each row and column: below v the variables, then the rows' slacks.
    flipped : ndarray of int
        1 where a variable is counted down from its upper bound.
    used : ndarray of int of shape (3,)
        Number of rows in use, of slacks made so far, and of variables.
    """

    rows: Floats
    variables: Floats
    basic: Ints
    nonbasic: Ints
    flipped: Ints
    used: Ints

    @classmethod
    def of(cls, most: int) -> Tableau:
        """Memory for at most so many variables."""
        capacity = 3 * most + 10
        return cls(
            np.zeros((capacity + 1, most + 1)),
            np.zeros((2, most)),
            np.zeros(capacity, dtype=np.int64),
            np.zeros(most, dtype=np.int64),
            np.zeros(most, dtype=np.int64),
            np.zeros(3, dtype=np.int64),
        )


@flow
def reset(t: Tableau) -> None:
    """Forget all rows."""
    rows, variables, nonbasic, flipped = t.rows, t.variables, t.nonbasic, t.flipped
    v = t.used[VARIABLES]
    last = rows.shape[0] - 1
    t.used[0] = t.used[1] = 0
    for c in range(v):
        nonbasic[c] = c
        flipped[c] = 0
        rows[last, c] = variables[COST, c]
    rows[last, v] = 0.0


@flow
def _drop_idle_rows(rows: Floats, basic: Ints, used: Ints) -> None:
    """Remove rows whose slack is basic: they do not bind."""
    v = used[VARIABLES]
    kept = 0
    for i in range(used[0]):
        if basic[i] < v:
            basic[kept] = basic[i]
            for c in range(v + 1):
                rows[kept, c] = rows[i, c]
            kept += 1
    used[0] = kept


@inner
def add_row(t: Tableau, row: Floats, limit: float) -> None:
    """Ask for ``row @ u <= limit``."""
    rows, variables, basic, nonbasic, flipped, used = t.rows, t.variables, t.basic, t.nonbasic, t.flipped, t.used
    v = t.used[VARIABLES]
    if used[0] == rows.shape[0] - 1:
        _drop_idle_rows(rows, basic, used)
    new = used[0]
    for c in range(v):
        rows[new, c] = 0.0
    rows[new, v] = limit
    for c in range(v):
        x = nonbasic[c]
        if x < v:
            if flipped[x]:
                rows[new, c] -= row[x]
                rows[new, v] -= row[x] * variables[UPPER, x]
            else:
                rows[new, c] += row[x]
    for i in range(new):
        x = basic[i]
        if x < v and row[x] != 0.0:
            sign = row[x]
            if flipped[x]:
                rows[new, v] -= row[x] * variables[UPPER, x]
                sign = -row[x]
            for c in range(v + 1):
                rows[new, c] -= sign * rows[i, c]
    basic[new] = v + used[1]
    used[0] += 1
    used[1] += 1


@flow
def _leaving(t: Tableau, careful: bool) -> int:
    """Row of the basic variable that breaks its bounds most (the lowest number when careful), made negative."""
    rows, basic, variables = t.rows, t.basic, t.variables
    v = t.used[VARIABLES]
    worst, leaving, above = FEASIBLE, -1, False
    for i in range(t.used[0]):
        x, value = basic[i], rows[i, v]
        over = value - variables[UPPER, x] if x < v else -1.0
        broken = max(-value, over)
        if broken > FEASIBLE and (leaving < 0 or (x < basic[leaving] if careful else broken > worst)):
            worst, leaving, above = broken, i, over > -value
    if leaving >= 0 and above:
        x = basic[leaving]
        for c in range(v + 1):
            rows[leaving, c] = -rows[leaving, c]
        rows[leaving, v] += variables[UPPER, x]
        t.flipped[x] = 1 - t.flipped[x]
    return leaving


@flow
def _entering(rows: Floats, nonbasic: Ints, v: int, leaving: int, careful: bool) -> int:
    """Column with the least ratio of cost to coefficient; -1 where the row cannot hold."""
    last = rows.shape[0] - 1
    best, entering = np.inf, -1
    for c in range(v):
        a = -rows[leaving, c]
        if a > PIVOT:
            ratio = max(rows[last, c], 0.0) / a
            if entering < 0 or ratio < best - 1e-12:
                best, entering = ratio, c
            elif ratio <= best + 1e-12:
                if careful:
                    if nonbasic[c] < nonbasic[entering]:
                        entering = c
                elif a > -rows[leaving, entering]:
                    best, entering = min(best, ratio), c
    return entering


@flow
def _pivot(rows: Floats, used: int, v: int, leaving: int, entering: int) -> None:
    last = rows.shape[0] - 1
    inverse = 1.0 / rows[leaving, entering]
    for c in range(v + 1):
        rows[leaving, c] *= inverse
    rows[leaving, entering] = inverse
    for step in range(used + 1):
        i = step if step < used else last
        factor = rows[i, entering]
        if i != leaving and factor != 0.0:
            constant = rows[i, v]
            for c in range(v):
                rows[i, c] -= factor * rows[leaving, c]
            rows[i, entering] = -factor * inverse
            # The objective adds its nonbasic terms where a row subtracts them: only its constant differs in sign.
            change = factor * rows[leaving, v]
            rows[i, v] = constant + change if i == last else constant - change


@inner
def reoptimise(t: Tableau, cutoff: float) -> tuple[int, float]:
    """Dual simplex until all rows hold; the status and the least cost (a lower bound where UNKNOWN).

    A cost above `cutoff` counts as infeasible.
    """
    rows, basic, nonbasic = t.rows, t.basic, t.nonbasic
    v = t.used[VARIABLES]
    last = rows.shape[0] - 1
    patience = 20 * (v + t.used[0] + 5)
    for step in range(2 * patience):
        if rows[last, v] > cutoff:
            return INFEASIBLE, rows[last, v]
        careful = step > patience
        leaving = _leaving(t, careful)
        if leaving < 0:
            return SOLVED, rows[last, v]
        entering = _entering(rows, nonbasic, v, leaving, careful)
        if entering < 0:
            return INFEASIBLE, np.inf
        _pivot(rows, t.used[0], v, leaving, entering)
        basic[leaving], nonbasic[entering] = nonbasic[entering], basic[leaving]
    return UNKNOWN, rows[last, v]


@flow
def solution(t: Tableau, u: Floats) -> None:
    """Write the variables' values."""
    rows, basic, variables, flipped = t.rows, t.basic, t.variables, t.flipped
    v = t.used[VARIABLES]
    for x in range(v):
        u[x] = variables[UPPER, x] if flipped[x] else 0.0
    for i in range(t.used[0]):
        x = basic[i]
        if x < v:
            value = min(max(rows[i, v], 0.0), variables[UPPER, x])
            u[x] = variables[UPPER, x] - value if flipped[x] else value
