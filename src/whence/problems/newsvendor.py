"""The newsvendor with many products: order before the demands are known, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from whence._core import StockCosts
from whence.checks import collected
from whence.errors import InputError, InputTypeError, argument_error, parameter_error
from whence.problems.base import DecisionProblem, Stock, check_outcomes, check_samples, cost_unit_of, plan_numbers
from whence.problems.plan_text import QuantityLimits
from whence.problems.quantity_sets import Quantities
from whence.risk import CVaR, Risk, known_tail
from whence.util.aliases import Floats
from whence.util.json import quoted
from whence.util.linear_program import LinearProgram, minimise, with_tail

Terms = tuple[Floats, Floats, float]

_SPARE = 1.2
_GROWTH = 1.6
_GAP = 1e-10


def least_cvar(y: Floats, w: Floats, terms: Terms, tail: float, start: Floats) -> Floats:
    """Return quantities whose mean cost in the worst share `tail` is least, found from feasible ones at `start`.

    `y` are demands and `w` their weights, positive and summing to one; `terms` are holding and backorder rates, one per
    product, and the budget (infinite where there is none).
    """
    holding, backorder, budget = terms
    if y.shape[1] == 1:
        return np.clip(_least_of_one(y[:, 0], w, float(holding[0]), float(backorder[0]), tail), 0.0, budget)
    units = float(np.abs(y).max()) or 1.0
    money = float(max(holding.max(), backorder.max()))
    scaled = y / units
    rates = holding / money, backorder / money, budget / units
    plan = _search(scaled, w, rates, tail, start / units) * units
    plan = np.maximum(plan, 0.0)
    if plan.sum() > budget:
        plan *= budget / plan.sum()
    return plan


def _least_of_one(y: Floats, w: Floats, holding: float, backorder: float, tail: float) -> Floats:
    """Return the quantity of one product of least CVaR, as an array of one; it is convex, so limits clip it.

    Costs above a value-at-risk v come from demands below ``low = z - v / holding`` and above
    ``high = z + v / backorder``. In `low` and `high` the CVaR is a sum of two terms, and the best of each is a quantile
    (Gotoh and Takano, 2007); the best quantity lies between them by the rates.
    """
    if not holding:
        return np.array([y.max()])
    if not backorder:
        return np.array([y.min()])
    order = np.argsort(y)
    below = np.cumsum(w[order])
    part = tail * np.array([backorder, -holding]) / (holding + backorder)
    at = np.searchsorted(below, np.array([0.0, below[-1]]) + part - _TIE)
    low, high = y[order[np.minimum(at, y.size - 1)]]
    return np.array([low + (high - low) * (backorder / (holding + backorder))])


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
    # The larger of the two lines is the cost, because both rates are non-negative.
    cost: Floats = np.maximum(terms[0] * over, -terms[1] * over).sum(axis=1)
    return cost


def _tail(cost: Floats, w: Floats, mass: float) -> NDArray[np.intp]:
    """Return samples of largest cost that together weigh at least `mass`."""
    order = np.argsort(-cost, kind="stable")
    return order[: int(np.searchsorted(np.cumsum(w[order]), mass)) + 1]


def _breakpoints(y: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the distinct non-negative demands of each product in ascending order from 0, a column each, and how many.

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
    """Return breakpoints of each product: all that are near the plan, ever fewer away from it, and both ends."""
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
    """Return whether the grid has every breakpoint next to the plan, on both sides."""
    hair = 1e-9
    above_all = np.where(points > plan + hair, points, np.inf).min(axis=0)
    above = np.where(grid > plan + hair, grid, np.inf).min(axis=0)
    below_all = np.where(points < plan - hair, points, -np.inf).max(axis=0)
    below = np.where(grid < plan - hair, grid, -np.inf).max(axis=0)
    return bool((above == above_all).all() and (below == below_all).all())


def _least_on_grid(y: Floats, share: Floats, terms: Terms, grid: Floats) -> tuple[Floats, float]:
    """Return the plan and value of least CVaR with costs interpolated between the points of `grid`.

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
    """Return rows "cost - value-at-risk - excess", one per sample, and below them the row that adds up all steps."""
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
    if y.shape[1] == 1:
        best = _least_of_one(y[:, 0], w, float(terms[0][0]), float(terms[1][0]), tail)
        return np.clip(best, limits[0], np.minimum(limits[1], terms[2]))
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
    return np.clip(plan, *limits)


_FEASIBILITY = 1e-6
#: Quantities are taken as the demand next to them where they differ by less than this share of the largest one.
_HAIR = 1e-10
# Gains this small against holding + backorder are rounding errors of summed weights: the smaller order wins the tie.
_TIE = 1e-12

#: Shares of the history, where demands are largest, that say what a unit of the budget may be worth.
_PARTS = (1.0, 0.5, 0.25, 0.1)

_wrong = partial(parameter_error, "Newsvendor")


class Newsvendor(BaseEstimator, DecisionProblem, Quantities):  # type: ignore[misc]
    """Order quantities for several products whose demands are uncertain.

    A plan holds one quantity ``z_j >= 0`` per product with ``sum(z) <= budget``. Against demands ``y`` it costs
    ``sum_j holding_j * max(z_j - y_j, 0) + backorder_j * max(y_j - z_j, 0)``.

    Expected cost is minimised exactly by weighted quantiles, with one multiplier on the budget; CVaR exactly by
    linear programs over the tail. Of several optimal plans for the expected cost the smallest quantities are
    returned; under a binding budget, earlier products are served first where the gain is the same.

    Parameters
    ----------
    holding : float or array of shape (products,)
        Cost of a unit left over, non-negative; one number stands for every product.
    backorder : float or array of shape (products,)
        Cost of a unit short, non-negative; not zero where `holding` is.
    budget : float, optional
        Most units ordered in total; None for no limit.
    names : sequence of str, optional
        Names of the products; the names of the outcomes are used where left out.
    cost_unit : str
        Unit of the costs, such as "€", as texts and charts show it; "" for none.

    Examples
    --------
    >>> import numpy as np
    >>> from whence.risk import Expectation
    >>> demands = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
    >>> problem = Newsvendor(holding=1, backorder=4, budget=8, names=["rye", "wheat"])
    >>> plan = problem.solve(demands, np.full(3, 1 / 3), Expectation())
    >>> problem.describe(plan)
    'rye 3, wheat 5'
    """

    def __init__(
        self,
        holding: ArrayLike,
        backorder: ArrayLike,
        budget: float | None = None,
        names: Sequence[str] | None = None,
        cost_unit: str = "",
    ) -> None:
        self.holding = holding
        self.backorder = backorder
        self.budget = budget
        self.names = names
        self.cost_unit = cost_unit
        cost_unit_of(self)
        self.rates(None)

    def costs(self, decision: Any, Y: Floats) -> Floats:
        y = check_outcomes(Y, None, "Newsvendor")
        holding, backorder, _ = self.rates(y.shape[1])
        z = np.asarray(decision, dtype=np.float64)
        if z.shape != (y.shape[1],):
            wanted = f"hold one quantity per product ({y.shape[1]})"
            raise argument_error("Newsvendor", "decision", wanted, f"shape {z.shape}")
        return _costs(z, y, (holding, backorder, np.inf))

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Floats:
        """Return quantities that minimise `risk` of the cost when row i of `Y` has weight ``weights[i]``."""
        tail = known_tail(risk, "Newsvendor")
        y, w, (holding, backorder, budget) = self._speaking(Y, weights)
        plan = _least_expectation(y, w, holding, backorder, budget)
        if tail is not None:
            plan = least_cvar(y, w / w.sum(), (holding, backorder, budget), tail, plan)
        return _on_demands(plan, y, budget)

    def _speaking(self, Y: Floats, weights: Floats) -> tuple[Floats, Floats, tuple[Floats, Floats, float]]:
        """Return the observations that have a weight, these weights, and the rates."""
        y, w = check_samples(Y, weights, None, "Newsvendor")
        rates, speaking = self.rates(y.shape[1]), np.flatnonzero(w)
        return y[speaking], w[speaking], rates

    def structure(self, Y: Floats) -> Stock | None:
        """Return the quantities, each of them chosen by itself but for the budget; None where costs are others."""
        if type(self).costs is not Newsvendor.costs:
            return None
        holding, backorder, budget = self.rates(Y.shape[1])
        return Stock(Y, holding, backorder, np.zeros(Y.shape[1]), np.full(Y.shape[1], np.inf), budget)

    def least_costs(self, Y: Floats, risk: Risk) -> StockCosts | None:
        """Return the costs of quantiles under expected cost; with a budget, a close bound on them."""
        y = check_outcomes(Y, None, "Newsvendor")
        holding, backorder, budget = self.rates(y.shape[1])
        if known_tail(risk, "Newsvendor") is not None:
            return None
        demands, multipliers = np.ascontiguousarray(np.maximum(y, 0.0)), [0.0]
        if np.isfinite(budget):
            # How tight the budget is varies with the demand: in the whole history, and where the sum is largest.
            largest = np.argsort(-demands.sum(axis=1), kind="stable")
            for part in _PARTS:
                rows = demands[largest[: max(1, round(part * len(demands)))]]
                multipliers.append(_multiplier(rows, holding, backorder, budget))
        known = np.unique(multipliers)
        return StockCosts(demands, holding.copy(), backorder.copy(), known, budget if known.size > 1 else 0.0)

    def quantities(self, columns: int) -> int:
        """Return how many quantities a plan holds where outcomes have this many columns."""
        return columns

    def solve_between(self, Y: Floats, weights: Floats, risk: Risk, lower: Floats, upper: Floats) -> Floats:
        """Return quantities between `lower` and `upper` that minimise `risk` of the cost."""
        tail = known_tail(risk, "Newsvendor")
        y, w, (holding, backorder, budget) = self._speaking(Y, weights)
        low = np.maximum(lower, 0.0)
        if float(low.sum()) > budget + _FEASIBILITY * max(1.0, budget) or (upper < low).any():
            raise InputError("No plan keeps the limits on its quantities and the budget.", parameter="instead")
        # Between the limits, a demand beyond them asks for what the nearer limit would ask for.
        within = np.clip(y, low, upper) - low
        plan = low + _least_expectation(within, w, holding, backorder, max(0.0, budget - float(low.sum())))
        if tail is not None:
            plan = least_cvar_between(y, w / w.sum(), (holding, backorder, budget), tail, (low, upper))
        return np.clip(plan, low, upper)

    @property
    def continuous(self) -> bool:
        return True

    def outcome_columns(self) -> int | None:
        for given in (self.holding, self.backorder):
            if np.ndim(given) == 1:
                return len(np.asarray(given))
        return None if self.names is None else len(self.names)

    def check(self, decision: Any) -> str | None:
        products, (_, _, budget) = self.outcome_columns(), self.rates(None)
        z = plan_numbers(
            decision, products, "quantities, one per product", lambda j: f"The quantity of {self._label(j)}"
        )
        if isinstance(z, str):
            return z
        slack = _FEASIBILITY * max(1.0, float(np.abs(z).max(initial=0.0)))
        if z.size and z.min() < -slack:
            j = int(z.argmin())
            return f"The quantity of {self._label(j)} must not be negative, but it is {z[j]:g}."
        total = float(z.sum())
        if total > budget + _FEASIBILITY * max(1.0, budget):
            return f"The plan orders {total:g} in total, {total - budget:g} more than the budget of {budget:g}."
        return None

    def parts(self, outcomes: Sequence[str] = ()) -> list[str] | None:
        """Return names of the products: those given, otherwise `outcomes`, otherwise "product 1" and so on.

        None where neither names nor arrays of costs say how many products there are.
        """
        given = outcomes if self.names is None else self.names
        if len(given):
            return [str(name) for name in given]
        products = self.outcome_columns()
        return None if products is None else [self._label(j) for j in range(products)]

    def describe(self, decision: Any, outcomes: Sequence[str] = ()) -> str:
        return super().describe(decision, outcomes or [self._label(j) for j in range(np.size(decision))])

    def quantity_limits(self, Y: Floats) -> QuantityLimits:
        return QuantityLimits(lower=0.0, budget=self.budget, reach=Y.max(axis=0))

    def _label(self, product: int) -> str:
        return f"product {product + 1}" if self.names is None else str(self.names[product])

    def rates(self, columns: int | None) -> tuple[Floats, Floats, float]:
        """Return both rates, one per column where `columns` is known, and the budget (infinite where there is none)."""
        holding = _rates("holding", self.holding)
        backorder = _rates("backorder", self.backorder)
        if holding.ndim and backorder.ndim and holding.size != backorder.size:
            raise InputError(
                "The 'holding' and 'backorder' parameters of Newsvendor must be of the same length. "
                f"Got {holding.size} and {backorder.size} instead.",
                parameter="holding",
            )
        if ((holding == 0.0) & (backorder == 0.0)).any():
            raise InputError(
                "The 'holding' and 'backorder' parameters of Newsvendor must not both be 0 for a product. Got 0 and 0.",
                parameter="holding",
            )
        budget = _limit(self.budget)
        if self.names is not None:
            self._check_names(self.names)
        if columns is None:
            return holding, backorder, budget
        products = self.outcome_columns()
        if products is not None and products != columns:
            raise argument_error("Newsvendor", "Y", f"have one column per product ({products})", f"{columns} columns")
        return np.broadcast_to(holding, columns), np.broadcast_to(backorder, columns), budget

    def _check_names(self, names: Sequence[str]) -> None:
        if collected(names) is None or not hasattr(names, "__getitem__") or getattr(names, "ndim", 1) != 1:
            raise _wrong("names", "be a sequence of str or None", repr(names), InputTypeError)
        products = self.outcome_columns()
        if len(names) != products:
            raise _wrong("names", f"hold one name per product ({products})", f"{len(names)} names")


def _rates(name: str, given: ArrayLike) -> Floats:
    try:
        rates = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(name, "be a number or an array of numbers", repr(given), InputTypeError) from None
    if rates.ndim > 1 or not rates.size:
        raise _wrong(name, "be a number or a 1-D array, one per product", f"shape {rates.shape}")
    if not (np.isfinite(rates) & (rates >= 0.0)).all():
        raise _wrong(name, "be finite and non-negative", repr(given))
    return rates


def _limit(budget: Any) -> float:
    if budget is None:
        return np.inf
    is_number = isinstance(budget, Real) and not isinstance(budget, bool)
    try:
        if is_number and float(budget) >= 0.0:
            return float(budget)
    except OverflowError:
        pass
    kind = InputError if is_number else InputTypeError
    raise _wrong("budget", "be a non-negative number or None", quoted(budget), kind)


def _least_expectation(y: Floats, w: Floats, holding: Floats, backorder: Floats, budget: float) -> Floats:
    """Return quantities of least expected cost: every product is filled while a further unit still gains.

    Between two neighbouring demands of product j a further unit gains ``backorder - (holding + backorder) * F``, F the
    weight of the demands below: a falling step function. The best plan takes the steps of largest gain, and the gain of
    the last one it takes is the multiplier of the budget.
    """
    demand, gain, taken = _steps(y, w, holding, backorder)
    steps = taken.sum(axis=1)
    plan: Floats = np.where(steps > 0, demand[np.arange(steps.size), steps - 1], 0.0)
    if plan.sum() <= budget:
        return plan
    width = demand.copy()
    width[:, 1:] -= demand[:, :-1]
    return _within_budget(gain, width, taken & (width > 0.0), budget)


def _steps(y: Floats, w: Floats, holding: Floats, backorder: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """By product, the demands in ascending order, what a unit gains up to each of them, and whether that is any."""
    demand = np.maximum(y.T, 0.0)
    order = np.argsort(demand, axis=1)
    rows = np.arange(demand.shape[0])
    demand = demand[rows[:, None], order]
    below = np.zeros((rows.size, w.size + 1))
    np.cumsum(w[order], axis=1, out=below[:, 1:])
    both = (holding + backorder)[:, None]
    gain = (backorder * below[:, -1])[:, None] - both * below[:, :-1]
    return demand, gain, gain > _TIE * both


def _multiplier(y: Floats, holding: Floats, backorder: Floats, budget: float) -> float:
    """Return what a further unit of the budget gains, where all rows count alike; 0 where the budget suffices."""
    demand, gain, taken = _steps(y, np.full(len(y), 1.0 / len(y)), holding, backorder)
    width = np.diff(demand, axis=1, prepend=0.0)
    order = np.argsort(-gain[taken], kind="stable")
    last = int(np.searchsorted(np.cumsum(width[taken][order]), budget))
    return float(gain[taken][order[last]]) if last < order.size else 0.0


def _on_demands(plan: Floats, y: Floats, budget: float) -> Floats:
    """`plan` with every quantity that is a demand up to rounding as that very number: 5, not 4.999999999999964."""
    demand = np.vstack([np.maximum(y, 0.0), np.zeros(plan.size)])
    nearest = demand[np.abs(demand - plan).argmin(axis=0), np.arange(plan.size)]
    settled = np.where(np.abs(nearest - plan) <= _HAIR * float(demand.max()), nearest, plan)
    over = float(settled.sum()) - budget
    free = settled != nearest
    if over > 0.0 and free.any():
        # What rounding added is taken off a quantity that is no demand anyway.
        j = int(np.where(free, settled, -np.inf).argmax())
        settled[j] = max(0.0, settled[j] - over)
    return settled if settled.sum() <= budget + _HAIR * budget else plan


def _within_budget(gain: Floats, width: Floats, wanted: NDArray[np.bool_], budget: float) -> Floats:
    """Return the steps of largest gain whose widths use up `budget`."""
    gains = gain[wanted]
    # A stable sort merges the products, whose gains already fall.
    order = np.argsort(-gains, kind="stable")
    used = np.cumsum(width[wanted][order])
    multiplier = gains[order[min(int(np.searchsorted(used, budget)), used.size - 1)]]
    plan: Floats = (width * (wanted & (gain > multiplier))).sum(axis=1)
    marginal = (width * (wanted & (gain == multiplier))).sum(axis=1)
    left = budget - plan.sum() - np.concatenate(([0.0], np.cumsum(marginal)[:-1]))
    plan += np.clip(left, 0.0, marginal)
    return plan
