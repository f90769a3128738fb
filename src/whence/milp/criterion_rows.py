"""The alternative costs no more than a rival plan: as rows, for the expected cost and for CVaR."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from whence.errors import InputError
from whence.milp.model import Columns, Linear, Model, Row, scaled
from whence.milp.weighting import Weighting, w_max
from whence.question import Question
from whence.util.aliases import Floats

__all__ = ["Criterion", "add_dual", "check_dual", "criterion_of"]


class Criterion(Protocol):
    """What an integer program asks of the alternative."""

    def reserve(self, sets: int) -> None:
        """Add the variables that `sets` further rivals will need."""
        ...

    def spare(self) -> bool:
        """Return whether the next rival's rows need no new variables."""
        ...

    def against(self, rival: Floats) -> list[Row]:
        """The rows that say: the alternative costs at most tau more than a plan with the sample costs `rival`."""
        ...


def criterion_of(model: Model, weighting: Weighting, question: Question, how: str) -> ExpectedCost | TailCost:
    """Return the criterion that belongs to the question's risk measure; `how` the weights are bounded (see `w_max`)."""
    tail = question.claim.risk.tail
    if tail is None:
        return ExpectedCost(weighting, question)
    return TailCost(model, weighting, question, tail, w_max(question.weights, how))


class ExpectedCost:
    """Expected cost: the weighted mean of the cost differences, without any variables of its own."""

    def __init__(self, weighting: Weighting, question: Question) -> None:
        self.weighting, self.question = weighting, question

    def reserve(self, sets: int) -> None:
        """Add the variables that `sets` further rivals will need."""

    def spare(self) -> bool:
        """Return whether the next rival's row needs no new variables."""
        return True

    def against(self, rival: Floats) -> list[Row]:
        """The row that says: the alternative costs at most tau more than a plan with the sample costs `rival`."""
        return [self.weighting.at_most(self.question.claim.alternative - rival, self.question.claim.tau)]


class TailCost:
    """CVaR: flows that fill the tail with the largest costs.

    The alternative's flow must be the right one (ordered binaries see to that). A rival's flow may be any that
    fills the tail: every such flow costs at most the rival's CVaR, so that none of them accepts too much.
    """

    def __init__(self, model: Model, weighting: Weighting, question: Question, tail: float, ceilings: Floats) -> None:
        self.model, self.question, self.tail = model, question, tail
        self.weights = weighting.columns
        self.ceilings = ceilings
        # Both flows have the same mass: a constant in all costs cancels, and small numbers are safer.
        self.base = float(question.claim.alternative.min())
        self.alternative = self._ordered_tail()
        self._spare: list[Columns] = []

    def reserve(self, sets: int) -> None:
        """Add the flows of `sets` further rivals."""
        self._spare += [self._flow() for _ in range(sets)]

    def spare(self) -> bool:
        """Return whether a flow is left from those reserved."""
        return bool(self._spare)

    def against(self, rival: Floats) -> list[Row]:
        """Return the alternative's tail costs at most tau more than what the rival's flow carries."""
        flow = self._spare.pop() if self._spare else self._flow()
        limit = Linear(flow, rival - self.base)
        return [scaled(self.alternative - limit, self.question.claim.tau * self.tail)]

    def _flow(self) -> Columns:
        """Return the flow variables, at most the weights, that add up to the tail."""
        n = self.weights.size
        flow = self.model.variables(n, 0.0, self.ceilings)
        self.model.row(Linear(flow, np.ones(n)), self.tail, self.tail)
        self.model.pairs(flow, self.weights)
        return flow

    def _ordered_tail(self) -> Linear:
        """Return the cost of the alternative's tail: its flow follows the order of the costs, the last sample split."""
        costs = self.question.claim.alternative
        order = np.argsort(-costs, kind="stable")
        n = order.size
        flow = self._flow()[order]
        weights, most = self.weights[order], self.ceilings[order]
        full = self.model.variables(n, integer=True)
        self.model.pairs(full[1:], full[:-1])
        # full[i]: sample i lies wholly in the tail. Whoever follows one that does not carries nothing.
        self.model.pairs(flow[1:], full[:-1], -most[1:])
        at = np.tile(np.arange(n), 3)
        columns = np.concatenate((weights, flow, full))
        self.model.rows(at, columns, np.concatenate((np.ones(n), -np.ones(n), most)), -np.inf, most, n)
        return Linear(flow, costs[order] - self.base)


def add_dual(model: Model, weighting: Weighting, question: Question, linear: Any) -> None:
    """Add rows that hold exactly where the alternative is optimal, within tau and the share that the question allows.

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
    proved = Linear(columns, np.concatenate(limits)) * (1.0 + question.claim.within)
    model.add(scaled(weighting.mean(costs @ plan / size) - proved, question.claim.tau / size))


def check_dual(question: Question, linear: Any) -> tuple[Any, Floats, Floats]:
    """Return the parts of `linear`, or one sentence on why no dual certifies the alternative."""
    risk = question.claim.risk
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
