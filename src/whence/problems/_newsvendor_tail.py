"""The newsvendor's plan of least CVaR, by small linear programs over the tail.

Two facts keep the programs small and the answer exact.

* Only samples in the tail matter. With costs never negative, leaving samples out bounds CVaR from below; if the tail at
  the plan found lies among the samples kept, the bound is attained.
* With the demands of the kept samples as breakpoints, a quantity is a sum of bounded steps and every sample's cost is
  linear in them (filling steps out of order only costs more, for every sample alike). Leaving breakpoints out bounds
  the costs from above; if none is left out next to the plan found, the costs are right around it, and a local minimum
  of a convex function is a global one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence.problems._minimise import LinearProgram, minimise, with_tail
from whence.risk import CVaR
from whence.util.aliases import Floats

__all__ = ["least_cvar", "least_cvar_between"]

Terms = tuple[Floats, Floats, float]

_SPARE = 1.2
_GROWTH = 1.6
_GAP = 1e-10


def least_cvar(y: Floats, w: Floats, terms: Terms, tail: float, start: Floats) -> Floats:
    """Quantities whose mean cost in the worst share `tail` is least, found from feasible ones at `start`.

    `y` are demands and `w` their weights, positive and summing to one; `terms` are holding and backorder rates, one per
    product, and the budget (infinite where there is none).
    """
    holding, backorder, budget = terms
    units = float(np.abs(y).max()) or 1.0
    money = float(max(holding.max(), backorder.max()))
    scaled = y / units
    rates = holding / money, backorder / money, budget / units
    plan = _search(scaled, w, rates, tail, start / units) * units
    plan = np.maximum(plan, 0.0)
    if plan.sum() > budget:
        plan *= budget / plan.sum()
    return plan


def _search(y: Floats, w: Floats, terms: Terms, tail: float, plan: Floats) -> Floats:
    """Solve for the tail and the breakpoints around the last plan until both are right for the plan found."""
    kept = np.zeros(w.size, dtype=np.bool_)
    risk, near = CVaR(1.0 - tail), 3
    cost = _costs(plan, y, terms)
    while True:
        kept[_tail(cost, w, _SPARE * tail)] = True
        points, count = _breakpoints(y[kept])
        grid = _grid(points, count, plan, near)
        plan, value = _least_on_grid(y[kept], w[kept] / tail, terms, grid)
        cost = _costs(plan, y, terms)
        exact = _is_exact(points, grid, plan)
        if exact and (kept[_tail(cost, w, tail)].all() or risk.of(cost, w) <= value * (1.0 + _GAP)):
            return plan
        # The window is wider in every round that missed, so that it ends with every breakpoint at the latest.
        near = near if exact else 2 * near


def _costs(plan: Floats, y: Floats, terms: Terms) -> Floats:
    over = plan - y
    cost: Floats = np.maximum(terms[0] * over, -terms[1] * over).sum(axis=1)
    return cost


def _tail(cost: Floats, w: Floats, mass: float) -> NDArray[np.intp]:
    """Samples of largest cost that together weigh at least `mass`."""
    order = np.argsort(-cost, kind="stable")
    return order[: int(np.searchsorted(np.cumsum(w[order]), mass)) + 1]


def _breakpoints(y: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Distinct non-negative demands of each product in ascending order from 0, a column each, and how many.

    Shorter columns are filled up with their last entry.
    """
    demand = np.zeros((y.shape[0] + 1, y.shape[1]))
    np.maximum(y, 0.0, out=demand[1:])
    demand.sort(axis=0)
    rank = np.zeros(demand.shape, dtype=np.intp)
    np.cumsum(np.diff(demand, axis=0) > 0.0, axis=0, out=rank[1:])
    points = np.repeat(demand[-1:], demand.shape[0], axis=0)
    np.put_along_axis(points, rank, demand, axis=0)
    return points, rank[-1] + 1


def _grid(points: Floats, count: NDArray[np.intp], plan: Floats, near: int) -> Floats:
    """Breakpoints of each product: all that are near the plan, ever fewer away from it, and both ends."""
    reach, step = [near], float(near)
    while reach[-1] < points.shape[0]:
        step *= _GROWTH
        reach.append(reach[-1] + int(step))
    far = np.array(reach[1:], dtype=np.intp)
    offsets = np.concatenate((-far[::-1], np.arange(-near, near + 1), far))
    here = (points <= plan).sum(axis=0) - 1
    index = np.clip(np.minimum(here, count - 1) + offsets[:, None], 0, count - 1)
    return np.take_along_axis(points, index, axis=0)


def _is_exact(points: Floats, grid: Floats, plan: Floats) -> bool:
    """Whether the grid has every breakpoint next to the plan, on both sides."""
    hair = 1e-9
    above_all = np.where(points > plan + hair, points, np.inf).min(axis=0)
    above = np.where(grid > plan + hair, grid, np.inf).min(axis=0)
    below_all = np.where(points < plan - hair, points, -np.inf).max(axis=0)
    below = np.where(grid < plan - hair, grid, -np.inf).max(axis=0)
    return bool((above == above_all).all() and (below == below_all).all())


def _least_on_grid(y: Floats, share: Floats, terms: Terms, grid: Floats) -> tuple[Floats, float]:
    """Plan and value of least CVaR with costs interpolated between the points of `grid`.

    Variables are the steps between neighbouring points, the value-at-risk (never negative, as costs are not) and the
    excess of each sample over it, whose prices `share` are the weights over ``1 - alpha``.
    """
    holding, backorder, budget = terms
    samples, products = y.shape
    width = np.diff(grid, axis=0)
    step, product = np.nonzero(width > 0.0)
    widths = width[step, product]
    over = grid[:, None, :] - y
    cost = np.maximum(holding * over, -backorder * over)
    slope = (cost[step + 1, :, product] - cost[step, :, product]) / widths[:, None]
    rows = _with_excess(slope.T)
    price = np.concatenate((np.zeros(widths.size), [1.0], share))
    values = minimise(
        LinearProgram(
            cost=price,
            lower=np.zeros(price.size),
            upper=np.concatenate((widths, np.full(samples + 1, np.inf))),
            rows=rows,
            row_lower=np.full(samples + 1, -np.inf),
            row_upper=np.append(-cost[0].sum(axis=1), budget),
            presolve=False,
            tolerance=1e-10,
        ),
        "Newsvendor",
    )
    plan = np.zeros(products)
    np.add.at(plan, product, values[: widths.size])
    return plan, float(price @ values)


def _with_excess(slope: Floats) -> sparse.csr_array:
    """Rows "cost - value-at-risk - excess", one per sample, and below them the row that adds up all steps."""
    samples, steps = slope.shape
    data = np.full((samples, steps + 2), -1.0)
    data[:, :steps] = slope
    columns = np.empty(data.shape, dtype=np.int32)
    columns[:] = np.arange(steps + 2)
    columns[:, -1] += np.arange(samples, dtype=np.int32)
    starts = np.arange(0, data.size + 1, steps + 2)
    return sparse.csr_array(
        (
            np.concatenate((data.ravel(), np.ones(steps))),
            np.concatenate((columns.ravel(), np.arange(steps, dtype=np.int32))),
            np.append(starts, data.size + steps),
        ),
        shape=(samples + 1, steps + 1 + samples),
    )


def least_cvar_between(y: Floats, w: Floats, terms: Terms, tail: float, limits: tuple[Floats, Floats]) -> Floats:
    """The same for quantities between `limits`: one linear program, over every sample's cost of every product."""
    units = float(np.abs(y).max()) or 1.0
    money = float(max(terms[0].max(), terms[1].max()))
    holding, backorder, budget = terms[0] / money, terms[1] / money, terms[2] / units
    y = y / units
    low, high = (limit / units for limit in limits)
    samples, products = y.shape
    each = sparse.kron(np.ones((samples, 1)), sparse.eye_array(products))
    own = sparse.eye_array(samples * products)
    # cost >= holding (z - y) and cost >= backorder (y - z), then the budget
    rows = sparse.block_array(
        [
            [-each @ sparse.diags_array(holding), own],
            [each @ sparse.diags_array(backorder), own],
            [sparse.csr_array(-np.ones((1, products))), None],
        ],
        format="csr",
    )
    program = LinearProgram(
        cost=np.zeros(products + samples * products),
        lower=np.concatenate((low, np.zeros(samples * products))),
        upper=np.concatenate((high, np.full(samples * products, np.inf))),
        rows=rows,
        row_lower=np.concatenate((-(holding * y).ravel(), (backorder * y).ravel(), [-budget])),
        row_upper=np.full(2 * samples * products + 1, np.inf),
        tolerance=1e-9,
    )
    total = sparse.hstack(
        [sparse.csr_array((samples, products)), sparse.kron(sparse.eye_array(samples), np.ones((1, products)))]
    )
    plan = minimise(with_tail(program, total, w / tail), "Newsvendor")[:products] * units
    clipped: Floats = np.clip(plan, *limits)
    return clipped
