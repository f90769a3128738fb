"""Linear problems and forests: sets of plans that are a polytope, and plans that must be the best of one.

Under expected cost and CVaR alike the core solves for the best plan at the nearest context of every box, and bounds the
box by the dual solution found there (``core/criteria/linear_plans.hpp``). For that it is told the corners.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence import _core
from whence.claims.sets import Plans
from whence.errors import InputError, SolverError
from whence.question import Question
from whence.search.grid import KeptGrid
from whence.util.aliases import Floats
from whence.util.linear_program import LinearProgram, minimise

#: Corners of a polytope, at most, and sets of rows among which they are looked for.
MOST_CORNERS = 64
MOST_SETS = 20_000
#: By how much a corner may break a row, as a share of the largest number; least and greatest singular values of rows
#: differ by less where these are dependent, and by more where they are not: in between, corners are not sure.
BROKEN = 1e-9
DEPENDENT = 1e-12
INDEPENDENT = 1e-7


def linear_criterion(question: Question, kept: KeptGrid, plans: Plans) -> _core.LinearPlans | None:
    """Return the criterion that some plan of a polytope must be good enough; None where the set is none that is known.

    Where the plan must be the best of all, so must all plans be a polytope.
    """
    given = None if plans.linear is None else plans.linear()
    if given is None or given[0].integrality.any():
        return None
    polytope, rows = given
    return _criterion(question, kept, rows, corners_of(polytope), plans.rival is not None)


def best_criterion(question: Question, kept: KeptGrid) -> _core.LinearPlans | None:
    """Return the criterion that one plan must be the best of a polytope under CVaR; None where it is not about that."""
    claim = question.claim
    if claim.kind != "absolute" or claim.plans is not None or claim.risk.tail is None or claim.kappa:
        return None
    known = _all_plans(question)
    return None if known is None else _criterion(question, kept, known[1], np.atleast_2d(known[2]), True)


def _criterion(
    question: Question, kept: KeptGrid, rows: Floats, corners: Floats | None, absolute: bool
) -> _core.LinearPlans | None:
    claim, every = question.claim, None
    if absolute:
        known = _all_plans(question)
        every = None if known is None or known[0].integrality.any() else corners_of(known[0])
    if corners is None or (absolute and every is None):
        return None
    tail = 1.0 if claim.risk.tail is None else claim.risk.tail
    return _core.LinearPlans(
        kept.leaf_samples, np.ascontiguousarray(rows), np.ascontiguousarray(corners, dtype=np.float64), every,
        1.0 + claim.within, float(claim.allowance), np.ascontiguousarray(claim.rival_decision), float(tail),
    )  # fmt: skip


def _all_plans(question: Question) -> tuple[Any, Floats, Floats] | None:
    """Return the polytope of all plans, the cost vectors of the past observations, and the plan that is asked about."""
    whole = getattr(question.claim, "linear", None)
    try:
        found: tuple[Any, Floats, Floats] | None = None if whole is None else whole()
    except InputError:
        return None  # a problem that does not tell the number of its variables
    return found


def corners_of(polytope: Any) -> Floats | None:
    """Return the corners of a polytope, whole numbers left aside; None where they are not few, or not sure.

    Examples
    --------
    >>> import whence as wh
    >>> corners_of(wh.LinearProblem(A_eq=[[1, 1, 1]], b_eq=[1], bounds=(0, 0.5)).polytope())
    array([[0. , 0.5, 0.5],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """
    sides = polytope.b_ub, polytope.b_eq, polytope.lower, polytope.upper
    arrays = (_dense(polytope.A_ub), _dense(polytope.A_eq), *sides)
    key = tuple(np.ascontiguousarray(one, dtype=np.float64).tobytes() for one in arrays)
    found = _corners(polytope.lower.size, key)
    return None if found is None else found.copy()


@lru_cache(maxsize=16)
def _corners(size: int, key: tuple[bytes, ...]) -> Floats | None:
    A_ub, A_eq, b_ub, b_eq, lower, upper = (np.frombuffer(one) for one in key)
    A_ub, A_eq = A_ub.reshape(-1, size), A_eq.reshape(-1, size)
    if not _is_bounded(A_ub, b_ub, A_eq, b_eq, lower, upper):
        return None
    unit, fixed = np.eye(size), lower == upper
    equal, at = np.vstack([A_eq, unit[fixed]]), np.concatenate([b_eq, lower[fixed]])
    low, high, some = np.isfinite(lower) & ~fixed, np.isfinite(upper) & ~fixed, np.isfinite(b_ub)
    rows = np.vstack([A_ub[some], unit[high], -unit[low]])
    limits = np.concatenate([b_ub[some], upper[high], -lower[low]])
    # What is left to choose, from a point that keeps the equations.
    begin, free = np.zeros(size), np.eye(size)
    if len(equal):
        _, values, turned = np.linalg.svd(equal)
        values = np.append(values, np.zeros(size - values.size))[:size]
        greatest = values.max(initial=0.0)
        if not _are_sure(values / greatest if greatest > 0 else values):
            return None
        free = turned[values <= DEPENDENT * greatest].T
        begin = np.linalg.lstsq(equal, at, rcond=None)[0]
    scale = max(1.0, float(np.abs(begin).max()))
    if (np.abs(equal @ begin - at) > BROKEN * scale).any():
        return None
    ways = free.shape[1]
    if ways == 0:
        kept = (rows @ begin <= limits + BROKEN * scale).all()
        return np.ascontiguousarray(begin[None, :]) if kept else None
    inner, room = rows @ free, limits - rows @ begin
    length = np.linalg.norm(inner, axis=1)
    some = length > DEPENDENT * np.maximum(1.0, np.linalg.norm(rows, axis=1))
    inner, room = inner[some] / length[some, None], room[some] / length[some]
    if len(inner) < ways or comb(len(inner), ways) > MOST_SETS:
        return None
    sets = np.array(list(combinations(range(len(inner)), ways)))
    systems, sides = inner[sets], room[sets]
    values = np.linalg.svd(systems, compute_uv=False)
    share = values[:, -1] / values[:, 0]
    if not _are_sure(share):
        return None
    regular = share > DEPENDENT
    points = np.linalg.solve(systems[regular], sides[regular][:, :, None])[:, :, 0]
    scale = max(1.0, float(np.abs(room).max(initial=0.0)))
    points = points[(points @ inner.T <= room + BROKEN * scale).all(axis=1)]
    corners = _once(begin + points @ free.T, 10.0 * BROKEN * scale)
    return corners if 0 < len(corners) <= MOST_CORNERS else None


def _are_sure(shares: Floats) -> bool:
    """Whether rows are dependent, or clearly are not."""
    return not ((shares > DEPENDENT) & (shares < INDEPENDENT)).any()


def _is_bounded(A_ub: Floats, b_ub: Floats, A_eq: Floats, b_eq: Floats, lower: Floats, upper: Floats) -> bool:
    """Whether every entry of a plan lies between two numbers."""
    open_ends = [(j, 1.0) for j in np.flatnonzero(np.isinf(lower))] + [
        (j, -1.0) for j in np.flatnonzero(np.isinf(upper))
    ]
    rows = sparse.csr_array(np.vstack([A_ub, A_eq]))
    below = np.concatenate([np.full(b_ub.size, -np.inf), b_eq])
    for j, sign in open_ends:
        cost = np.zeros(lower.size)
        cost[j] = sign
        try:
            minimise(LinearProgram(cost, lower, upper, rows, below, np.concatenate([b_ub, b_eq])), "The polytope")
        except SolverError:
            return False
    return True


def _once(points: Floats, width: float) -> Floats:
    """Return points once each, where others are as close as this."""
    kept: list[NDArray[np.float64]] = []
    for point in points[np.lexsort(np.round(points, 9).T[::-1])]:
        if not any(np.abs(point - other).max() <= width for other in kept):
            kept.append(point)
    # Nothing in a corner is a hair from nothing.
    return np.ascontiguousarray(np.where(np.abs(kept) < width, 0.0, kept)) if kept else np.empty((0, points.shape[1]))


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.todense() if sparse.issparse(matrix) else matrix, dtype=np.float64)
