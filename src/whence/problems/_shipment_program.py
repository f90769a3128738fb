"""The shipment problem written out as one linear program, for more warehouses than the kernels take."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from whence.aliases import Floats
from whence.problems._minimise import LinearProgram, minimise

__all__ = ["first_stage", "recourse_costs"]


def first_stage(ship: Floats, spot: float, production: float, Y: Floats, weights: Floats, tail: float) -> Floats:
    """Production beforehand that minimises the mean of the worst `tail` share of the costs."""
    warehouses = ship.shape[0]
    samples = Y.shape[0]
    sample_cost = _sample_cost(ship, spot)
    rows, row_lower = _supply_and_demand(ship, Y)
    columns = rows.shape[1]
    first = np.full(warehouses, production)
    if tail >= 1.0:
        cost = np.concatenate([first, np.kron(weights, sample_cost)])
        lower = np.zeros(columns)
    else:
        # One level eta, and what every sample costs above it.
        above = sparse.hstack(
            [
                sparse.csr_array((samples, warehouses)),
                -sparse.kron(sparse.eye_array(samples), sample_cost[None, :]),
                np.ones((samples, 1)),
                sparse.eye_array(samples),
            ]
        )
        rows = sparse.vstack([sparse.hstack([rows, sparse.csr_array((rows.shape[0], 1 + samples))]), above]).tocsr()
        row_lower = np.concatenate([row_lower, np.zeros(samples)])
        cost = np.concatenate([first, np.zeros(columns - warehouses), [1.0], weights / tail])
        lower = np.concatenate([np.zeros(columns), [-np.inf], np.zeros(samples)])
    program = LinearProgram(
        cost=cost,
        lower=lower,
        upper=np.full(cost.size, np.inf),
        rows=rows,
        row_lower=row_lower,
        row_upper=np.full(row_lower.size, np.inf),
    )
    return minimise(program, "Shipment.solve")[:warehouses]


def recourse_costs(ship: Floats, spot: float, z: Floats, Y: Floats) -> Floats:
    """Cheapest recourse cost at plan `z` of every row of `Y`."""
    rows, row_lower = _supply_and_demand(ship, Y)
    sample_cost = _sample_cost(ship, spot)
    lower = np.zeros(rows.shape[1])
    upper = np.full(rows.shape[1], np.inf)
    lower[: z.size] = upper[: z.size] = z
    program = LinearProgram(
        cost=np.concatenate([np.zeros(z.size), np.tile(sample_cost, Y.shape[0])]),
        lower=lower,
        upper=upper,
        rows=rows,
        row_lower=row_lower,
        row_upper=np.full(row_lower.size, np.inf),
    )
    recourse = minimise(program, "Shipment.costs")[z.size :].reshape(Y.shape[0], -1)
    costs: Floats = recourse @ sample_cost
    return costs


def _sample_cost(ship: Floats, spot: float) -> Floats:
    return np.concatenate([np.full(ship.shape[0], spot), ship.ravel()])


def _supply_and_demand(ship: Floats, Y: Floats) -> tuple[sparse.csr_array, Floats]:
    """Rows over (z, then for every sample t and s): demand is met, and nothing is shipped that was not produced."""
    warehouses, locations = ship.shape
    samples = Y.shape[0]
    met = sparse.hstack(
        [sparse.csr_array((locations, warehouses)), sparse.kron(np.ones((1, warehouses)), sparse.eye_array(locations))]
    )
    left = sparse.hstack(
        [sparse.eye_array(warehouses), -sparse.kron(sparse.eye_array(warehouses), np.ones((1, locations)))]
    )
    beforehand = sparse.vstack([sparse.csr_array((locations, warehouses)), sparse.eye_array(warehouses)])
    rows = sparse.hstack(
        [
            sparse.kron(np.ones((samples, 1)), beforehand),
            sparse.kron(sparse.eye_array(samples), sparse.vstack([met, left])),
        ]
    ).tocsr()
    lower = np.hstack([Y, np.zeros((samples, warehouses))]).ravel()
    return rows, lower
