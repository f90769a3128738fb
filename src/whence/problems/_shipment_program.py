"""The shipment problem written out as one linear program, for more warehouses than the kernels take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from whence.aliases import Floats
from whence.problems._minimise import LinearProgram, minimise, with_tail

__all__ = ["first_stage", "recourse_costs"]


def first_stage(
    ship: Floats,
    spot: float,
    production: float,
    Y: Floats,
    weights: Floats,
    tail: float,
    limits: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Production beforehand, between `limits`, that minimises the mean of the worst `tail` share of the costs."""
    warehouses, samples = ship.shape[0], Y.shape[0]
    program = _supply_and_demand(ship, Y)
    if limits is not None:
        program.lower[:warehouses], program.upper[:warehouses] = limits
    # Over z, and per sample over t and s: the cheapest recourse of one sample is its row of these.
    recourse = sparse.hstack(
        [sparse.csr_array((samples, warehouses)), sparse.kron(sparse.eye_array(samples), _recourse_rates(ship, spot))]
    )
    program.cost[:warehouses] = production
    if tail >= 1.0:
        program = replace(program, cost=program.cost + weights @ recourse)
    else:
        program = with_tail(program, recourse, weights / tail)
    return minimise(program, "Shipment.solve")[:warehouses]


def recourse_costs(ship: Floats, spot: float, z: Floats, Y: Floats) -> Floats:
    """Cheapest recourse cost at plan `z` of every row of `Y`."""
    program, rates = _supply_and_demand(ship, Y), _recourse_rates(ship, spot)
    program.cost[z.size :] = np.tile(rates, Y.shape[0])
    program.lower[: z.size] = program.upper[: z.size] = z
    recourse = minimise(program, "Shipment.costs")[z.size :].reshape(Y.shape[0], -1)
    costs: Floats = recourse @ rates
    return costs


def _recourse_rates(ship: Floats, spot: float) -> Floats:
    return np.concatenate([np.full(ship.shape[0], spot), ship.ravel()])


def _supply_and_demand(ship: Floats, Y: Floats) -> LinearProgram:
    """Over (z, then for every sample t and s), without costs: demand is met, and only what was produced is shipped."""
    warehouses, locations = ship.shape
    samples = Y.shape[0]
    met = sparse.kron(np.ones((1, warehouses)), sparse.eye_array(locations))
    shipped = sparse.kron(sparse.eye_array(warehouses), np.ones((1, locations)))
    afterwards = sparse.block_array([[None, met], [sparse.eye_array(warehouses), -shipped]])
    beforehand = sparse.vstack([sparse.csr_array((locations, warehouses)), sparse.eye_array(warehouses)])
    every = sparse.kron(np.ones((samples, 1)), beforehand), sparse.kron(sparse.eye_array(samples), afterwards)
    rows = sparse.hstack(every, format="csr")
    needed = np.hstack([Y, np.zeros((samples, warehouses))]).ravel()
    lower, upper = np.zeros(rows.shape[1]), np.full(rows.shape[1], np.inf)
    return LinearProgram(lower.copy(), lower, upper, rows, needed, np.full(needed.size, np.inf))
