"""Compiled kernels of the shipment problem: recourse of all samples, and the cutting planes over the first stage.

Recourse. With one multiplier q_i a warehouse, the cheapest recourse of a sample is the maximum over 0 <= q <= spot of

    D(q) = sum_j y_j min_i (ship_ij + q_i) - sum_i z_i q_i.

D is concave and L-natural-concave: where no step that raises (or lowers) one set of warehouses together improves it,
it is maximal. Looking at all sets of warehouses is therefore a proof, and cheap as long as warehouses are few.

Cutting planes. The multipliers of all samples at a trial plan give a linear function that is nowhere above the risk of
the cost. A dual simplex over these cuts, in the few first-stage variables, proposes the next plan until both meet.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

__all__ = ["best_recourse", "cutting_planes"]

Floats = NDArray[np.float64]

_VECTOR = nb.float64[::1]
_MATRIX = nb.float64[:, ::1]

# Differences of shipping costs below this share of the largest cost are ties.
TIE = 1e-11
# The bound is met when the cost of a plan is within this share of it; below the floor differences are rounding.
GAP = 1e-10
GAP_FLOOR = 1e-12
# Beyond this share of the cost, trial plans go only part of the way to the minimum of the cuts.
NEAR = 1e-5
PULL = 0.3
# Slopes below this share of demand and stock are zero.
FLAT = 1e-13


@nb.njit(nb.float64(_MATRIX, nb.float64, _VECTOR, _VECTOR, _VECTOR), cache=True)
def _survey(ship: Floats, tie: float, y: Floats, q: Floats, inside: Floats) -> float:
    """Value of the demand at multipliers `q`; `inside` gets the demand that only a set of warehouses serves best."""
    warehouses, locations = ship.shape
    inside[:] = 0.0
    value = 0.0
    for j in range(locations):
        if y[j] <= 0.0:
            continue
        lowest = np.inf
        for i in range(warehouses):
            lowest = min(lowest, ship[i, j] + q[i])
        members = 0
        for i in range(warehouses):
            if ship[i, j] + q[i] <= lowest + tie:
                members |= 1 << i
        inside[members] += y[j]
        value += y[j] * lowest
    for i in range(warehouses):
        for chosen in range(inside.size):
            if chosen >> i & 1:
                inside[chosen] += inside[chosen ^ (1 << i)]
    return value


@nb.njit(nb.types.Tuple((nb.int64, nb.float64))(_VECTOR, _VECTOR, _VECTOR, nb.float64), cache=True)
def _steepest(q: Floats, stock: Floats, inside: Floats, spot: float) -> tuple[int, float]:
    """The set of warehouses to raise (positive) or to lower (negative) together, and the gain a unit; 0 for no gain."""
    everyone = inside.size - 1
    at_top = 0
    at_zero = 0
    for i in range(q.size):
        if q[i] >= spot:
            at_top |= 1 << i
        if q[i] <= 0.0:
            at_zero |= 1 << i
    demand = inside[everyone]
    best = 0
    slope = -np.inf
    for chosen in range(1, inside.size):
        raised = inside[chosen] - stock[chosen]
        if raised > slope and chosen & at_top == 0:
            best, slope = chosen, raised
        lowered = stock[chosen] - demand + inside[everyone ^ chosen]
        if lowered > slope and chosen & at_zero == 0:
            best, slope = -chosen, lowered
    if slope <= FLAT * (demand + stock[everyone]):
        best = 0
    return best, slope


@nb.njit(nb.void(_MATRIX, nb.float64, nb.float64, _VECTOR, _VECTOR, nb.int64), cache=True)
def _move(ship: Floats, spot: float, tie: float, y: Floats, q: Floats, move: int) -> None:
    """Raise or lower the multipliers of a set together, up to where the gain changes."""
    warehouses, locations = ship.shape
    chosen = abs(move)
    step = np.inf
    for i in range(warehouses):
        if chosen >> i & 1:
            step = min(step, spot - q[i] if move > 0 else q[i])
    for j in range(locations):
        if y[j] <= 0.0:
            continue
        within = np.inf
        without = np.inf
        for i in range(warehouses):
            if chosen >> i & 1:
                within = min(within, ship[i, j] + q[i])
            else:
                without = min(without, ship[i, j] + q[i])
        ahead = without - within if move > 0 else within - without
        if ahead > tie:
            step = min(step, ahead)
    for i in range(warehouses):
        if chosen >> i & 1:
            moved = q[i] + step if move > 0 else q[i] - step
            if moved < tie:
                moved = 0.0
            if moved > spot - tie:
                moved = spot
            q[i] = moved


@nb.njit(_VECTOR(_VECTOR), cache=True)
def _stock_of_sets(z: Floats) -> Floats:
    stock = np.zeros(1 << z.size)
    for chosen in range(1, stock.size):
        for i in range(z.size):
            if chosen >> i & 1:
                stock[chosen] += z[i]
    return stock


@nb.njit(
    nb.types.Tuple((nb.float64, nb.float64))(
        _MATRIX, nb.float64, nb.float64, _VECTOR, _VECTOR, _VECTOR, _VECTOR, nb.float64
    ),
    cache=True,
)
def _maximise(
    ship: Floats, spot: float, tie: float, stock: Floats, y: Floats, q: Floats, inside: Floats, served: float
) -> tuple[float, float]:
    """Climb from multipliers `q`, surveyed as `inside` and `served`, to the maximum.

    Returns the value of the demand there, and by how much the stocks may change in sum before `q` needs to move.
    """
    move, slope = _steepest(q, stock, inside, spot)
    while move != 0:
        _move(ship, spot, tie, y, q, move)
        served = _survey(ship, tie, y, q, inside)
        move, slope = _steepest(q, stock, inside, spot)
    return served, -slope


@nb.njit(nb.void(_MATRIX, nb.float64, _VECTOR, _MATRIX, _VECTOR), cache=True)
def best_recourse(ship: Floats, spot: float, z: Floats, Y: Floats, values: Floats) -> None:
    """Cheapest recourse cost at plan `z` of every row of `Y`, into `values`."""
    tie = TIE * (spot + ship.max())
    stock = _stock_of_sets(z)
    inside = np.empty(stock.size)
    q = np.empty(z.size)
    for row in range(Y.shape[0]):
        q[:] = 0.0
        served = _survey(ship, tie, Y[row], q, inside)
        values[row] = _maximise(ship, spot, tie, stock, Y[row], q, inside, served)[0]
        for i in range(z.size):
            values[row] -= z[i] * q[i]


@nb.njit(nb.float64(_VECTOR, _VECTOR, nb.float64, _VECTOR), cache=True)
def _worst_case(values: Floats, weights: Floats, tail: float, distribution: Floats) -> float:
    """Mean of the worst `tail` share of `values`, and the distribution of the risk envelope that attains it."""
    if tail >= 1.0:
        distribution[:] = weights / weights.sum()
    else:
        distribution[:] = 0.0
        left = tail
        order = np.argsort(values, kind="mergesort")
        for k in range(values.size - 1, -1, -1):
            share = min(left, weights[order[k]])
            distribution[order[k]] = share / tail
            left -= share
    return float(distribution @ values)


@nb.njit(nb.boolean(_MATRIX, nb.int64[::1], _MATRIX), cache=True)
def _invert(rows: Floats, basis: NDArray[np.int64], inverse: Floats) -> bool:
    """Inverse of the basis rows by elimination with row pivots; False where they are dependent."""
    size = basis.size
    work = np.empty((size, size))
    inverse[:] = 0.0
    for k in range(size):
        work[k] = rows[basis[k]]
        inverse[k, k] = 1.0
    for column in range(size):
        pivot = column
        for k in range(column + 1, size):
            if abs(work[k, column]) > abs(work[pivot, column]):
                pivot = k
        if abs(work[pivot, column]) < 1e-14:
            return False
        for c in range(size):
            work[column, c], work[pivot, c] = work[pivot, c], work[column, c]
            inverse[column, c], inverse[pivot, c] = inverse[pivot, c], inverse[column, c]
        scale = 1.0 / work[column, column]
        for c in range(size):
            work[column, c] *= scale
            inverse[column, c] *= scale
        for k in range(size):
            factor = work[k, column]
            if k != column and factor != 0.0:
                for c in range(size):
                    work[k, c] -= factor * work[column, c]
                    inverse[k, c] -= factor * inverse[column, c]
    return True


@nb.njit(nb.boolean(_MATRIX, _VECTOR, nb.int64, _VECTOR, _VECTOR, nb.int64[::1], _VECTOR, nb.float64), cache=True)
def _dual_simplex(
    rows: Floats,
    limits: Floats,
    count: int,
    cost: Floats,
    second: Floats,
    basis: NDArray[np.int64],
    x: Floats,
    slack: float,
) -> bool:
    """Lexicographic minimum of (`cost`, `second`) over ``rows[:count] @ x >= limits[:count]``, from a dual basis.

    Ties of the ratio test are decided by the second objective, which makes the minimum unique and ends cycling.
    """
    size = cost.size
    inverse = np.empty((size, size))
    for _ in range(100 * (count + size)):
        if not _invert(rows, basis, inverse):
            return False
        for k in range(size):
            x[k] = 0.0
            for b in range(size):
                x[k] += inverse[k, b] * limits[basis[b]]
        worst = slack
        entering = -1
        for r in range(count):
            missing = limits[r]
            for k in range(size):
                missing -= rows[r, k] * x[k]
            if missing > worst:
                worst, entering = missing, r
        if entering < 0:
            return True
        leaving = -1
        ratio = np.inf
        ratio_second = np.inf
        for b in range(size):
            share = 0.0
            price = 0.0
            price_second = 0.0
            for k in range(size):
                share += rows[entering, k] * inverse[k, b]
                price += cost[k] * inverse[k, b]
                price_second += second[k] * inverse[k, b]
            if share > 1e-11:
                first = max(price, 0.0) / share
                if first < ratio - 1e-12 or (first <= ratio + 1e-12 and price_second / share < ratio_second):
                    leaving, ratio, ratio_second = b, min(first, ratio), price_second / share
        if leaving < 0:
            return False
        basis[leaving] = entering
    return False


@nb.njit(nb.float64(_VECTOR, _VECTOR, _VECTOR, nb.float64), cache=True)
def _go(z: Floats, center: Floats, goal: Floats, share: float) -> float:
    """Put `z` at this share of the way from `center` to `goal`; the sum of its changes."""
    moved = 0.0
    for i in range(z.size):
        trial = center[i] + share * (max(goal[i], 0.0) - center[i]) if share < 1.0 else max(goal[i], 0.0)
        moved += abs(trial - z[i])
        z[i] = trial
    return moved


@nb.njit(nb.int64(_MATRIX, nb.float64, nb.float64, _MATRIX, _VECTOR, nb.float64, nb.int64, _VECTOR), cache=True)
def cutting_planes(
    ship: Floats, spot: float, production: float, Y: Floats, weights: Floats, tail: float, most_cuts: int, z: Floats
) -> int:
    """Optimal first stage, from the plan `z` into `z`; the number of cuts, or -1 where it stopped before the optimum.

    Costs and demands are to be in units that make the largest ones about one. Of equally good plans it is the one that
    produces least, and of these the one with more at earlier warehouses.

    Parameters
    ----------
    tail : float
        Share of the worst outcomes whose mean is minimised; 1 for the expected cost.
    """
    samples = Y.shape[0]
    warehouses = z.size
    size = warehouses + 1
    tie = TIE * (spot + ship.max())
    rows = np.zeros((size + most_cuts, size))
    limits = np.zeros(size + most_cuts)
    basis = np.arange(size)
    cost = np.full(size, production)
    second = np.zeros(size)
    for k in range(size):
        rows[k, k] = 1.0
        second[k] = 1.0 + 1e-3 * k
    cost[warehouses] = 1.0
    second[warehouses] = 0.0
    Q = np.zeros((samples, warehouses))
    inside = np.empty((samples, 1 << warehouses))
    served = np.empty(samples)
    slack = np.zeros(samples)
    values = np.empty(samples)
    distribution = np.empty(samples)
    for s in range(samples):
        served[s] = _survey(ship, tie, Y[s], Q[s], inside[s])
    x = np.zeros(size)
    center = z.copy()
    best = np.inf
    far = True
    moved = 0.0
    for cut in range(most_cuts):
        stock = _stock_of_sets(z)
        for s in range(samples):
            slack[s] -= moved
            if slack[s] <= 0.0:
                served[s], slack[s] = _maximise(ship, spot, tie, stock, Y[s], Q[s], inside[s], served[s])
            values[s] = served[s]
            for i in range(warehouses):
                values[s] -= z[i] * Q[s, i]
        risk = _worst_case(values, weights, tail, distribution)
        total = risk + production * z.sum()
        gap = max(GAP * total, GAP_FLOOR)
        if not far and risk - x[warehouses] <= gap:
            return cut
        if total < best:
            best = total
            center[:] = z
        row = size + cut
        rows[row, :warehouses] = distribution @ Q
        rows[row, warehouses] = 1.0
        limits[row] = risk + rows[row, :warehouses] @ z
        if not _dual_simplex(rows, limits, row + 1, cost, second, basis, x, 0.1 * gap):
            return -1
        # Far from the optimum the model's own minimum is erratic: go part of the way from the best plan so far.
        far = bool(best - cost @ x > max(NEAR * best, gap))
        moved = _go(z, center, x, PULL if far else 1.0)
    return -1
