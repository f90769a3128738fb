"""Explanations of policies that forecast: what may come moves with the context, as the forecast does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.claims.forecast_costs import (
    BandPricing,
    CurvePricing,
    LinearPricing,
    OrderBeats,
    OrderIsBest,
    Pricing,
    Shortfall,
)
from whence.errors import InputError
from whence.explain.ask import EITHER
from whence.problems import Newsvendor
from whence.problems.base import DecisionProblem, Stock, sample_costs
from whence.report.document import ForecastEntry
from whence.risk import Risk
from whence.util.aliases import Floats
from whence.weights.forecast_weights import ForecastWeights

if TYPE_CHECKING:
    from whence.explain.ask import Request
    from whence.explain.explanation import Explanation
    from whence.policy import Policy


@dataclass(frozen=True, eq=False)
class Forecasted:
    """What is forecast in the initial context and in the one found, outcome by outcome, and what both plans cost there.

    Costs are by past observation: of each, the residual is added to the forecast of the context found.
    """

    before: Floats
    after: Floats | None = None
    decision_after: Floats | None = None
    alternative_after: Floats | None = None

    @classmethod
    def of_entry(cls, entry: ForecastEntry) -> Forecasted:
        """Return what a report holds of it."""

        def array(values: Any) -> Floats | None:
            return None if values is None else np.array(list(values), dtype=np.float64)

        after = None if entry.after is None else array(entry.after.values())
        before = np.array(list(entry.before.values()), dtype=np.float64)
        return cls(before, after, array(entry.costs_decision), array(entry.costs_alternative))


def check_asked(policy: Policy, request: Request, sets: bool) -> None:
    """Refuse what is not known of forecasts, a sentence each."""
    if sets:
        raise InputError(
            "'instead' must be one plan where the policy forecasts: sets of plans need weights of past observations."
        )
    for name in EITHER:
        if getattr(request, name):
            raise InputError(
                f"{name!r} needs weights made of trees or of neighbours. Got ForecastWeights, whose forecasts are not "
                "held against refits."
            )


def forecast_claim(policy: Policy, request: Request, plan: Any) -> OrderBeats:
    """Return what must hold of two plans, in forecasts and figures of plans."""
    problem, risk, weights = policy.problem, policy.risk_, policy.weights_
    assert isinstance(weights, ForecastWeights)
    pricing = _pricing(policy, request, plan)
    past = [sample_costs(problem, one, policy.Y_) for one in (request.instead, plan)]
    largest = max(float(np.abs(costs).max()) for costs in past)
    within, allowance = request.within_parts
    if allowance and not isinstance(pricing, LinearPricing):
        raise InputError(
            f"'within' must be a share, such as 0.02, for orders that follow a forecast. "
            f"Got {request.within!r} instead."
        )
    tau = float(request.tolerance) * float(np.abs(past[0]).max())
    alternative = pricing.changed(pricing.figures(request.instead), 1.0, allowance)
    same = np.full(weights.n_samples_, 1.0 / weights.n_samples_)

    def best(forecast: Floats) -> Floats:
        found = problem.solve(forecast + weights.residuals_, same, risk)
        return pricing.changed(pricing.figures(found), 1.0 + within, 0.0)

    def better(forecast: Floats) -> Floats | None:
        rival = best(forecast)
        return rival if pricing.of(alternative, forecast) - pricing.of(rival, forecast) > tau else None

    about: dict[str, Any] = {
        "alternative": alternative,
        "decision": pricing.figures(plan),
        "risk": pricing,
        "tau": tau,
        "margin": request.margin_parts,
        "within": within,
        "allowance": allowance,
        "largest": largest,
        "best_known": _best_known(pricing, problem, request),
    }
    claim = OrderIsBest(**about, better=better, best=best) if request.kind == "absolute" else OrderBeats(**about)
    _check_bands(claim)
    return claim


def _best_known(pricing: Pricing, problem: DecisionProblem, request: Request) -> bool:
    """Return whether an absolute question needs no rivals: the best order follows the forecast by itself."""
    if request.kind != "absolute" or any(request.margin_parts):
        return False
    if isinstance(pricing, BandPricing):
        return True
    return isinstance(pricing, CurvePricing) and getattr(problem, "budget", None) is None


def _check_bands(claim: OrderBeats) -> None:
    """Refuse shares of a cost that looks at a tail, of which nothing is known, and margins beside the best order."""
    pricing = claim.pricing
    if isinstance(pricing, BandPricing) and claim.kind == "absolute" and not claim.best_known:
        raise InputError(
            "'margin' must be left out with kind='absolute' for an order that follows a forecast: give one of the two."
        )
    share = claim.margin[0] or claim.within
    tail = isinstance(pricing, BandPricing) and pricing.shortfall is None
    limited = isinstance(pricing, BandPricing) and claim.best_known and np.isfinite(pricing.budget)
    if share and (tail or limited):
        name = "margin" if claim.margin[0] else "within"
        what = "CVaR" if tail else "a budget"
        raise InputError(f"{name!r} must be left out for orders that follow a forecast under {what}. Got {share:g}.")


def _pricing(policy: Policy, request: Request, plan: Any) -> Pricing:
    """Return how plans are priced by a forecast; a problem for which that is not known is refused."""
    problem, risk, weights = policy.problem, policy.risk_, policy.weights_
    assert isinstance(weights, ForecastWeights)
    _check_risk(risk)
    stock = problem.structure(policy.Y_)
    if isinstance(stock, Stock):
        return _of_orders(stock, risk, weights.residuals_)
    for one in (request.instead, plan):
        found = problem.linear_costs(one)
        if found is None:
            raise InputError(
                "'problem' must be a Newsvendor, or have costs that are linear in the outcomes (its 'linear_costs'), "
                f"to be explained where the policy forecasts. Got {type(problem).__name__}."
            )
        _check_line(problem, one, policy.Y_, *found)
    same = np.full(weights.n_samples_, 1.0 / weights.n_samples_)

    def lines(one: Any) -> tuple[Floats, float]:
        found = problem.linear_costs(one)
        assert found is not None
        coefficients, constant = found
        # A risk of costs that are all raised by one amount is raised by it: the forecast's part can be taken out.
        return coefficients, constant + float(risk.of(weights.residuals_ @ coefficients, same))

    return LinearPricing(lines)


def _check_risk(risk: Risk) -> None:
    probe = np.array([1.0, -2.0, 5.5])
    values = risk.values(probe)
    if values is None or not np.array_equal(np.asarray(values, dtype=np.float64), probe):
        raise InputError(
            "'risk' must be an Expectation or a CVaR to be explained where the policy forecasts. "
            f"Got {type(risk).__name__}."
        )


def _check_line(problem: DecisionProblem, plan: Any, Y: Floats, coefficients: Floats, constant: float) -> None:
    """What a problem says of its costs must be so for the past outcomes."""
    said = Y @ coefficients + constant
    paid = sample_costs(problem, plan, Y)
    size = float((np.abs(Y) @ np.abs(coefficients)).max()) + abs(constant)
    if not (np.abs(said - paid) <= 1e-9 * max(size, 1e-300)).all():
        raise InputError(
            f"'linear_costs' of {type(problem).__name__} must give the costs of a plan. Got others than 'costs' gives.",
            parameter="problem",
        )


def _of_orders(stock: Stock, risk: Risk, residuals: Floats) -> Pricing:
    products = residuals.shape[1]
    holding, backorder, budget = stock.holding, stock.backorder, stock.budget
    if products > 1:
        if risk.tail is not None:
            raise InputError(
                f"'risk' must be an Expectation for orders of several products that follow a forecast. Got {risk.name}."
            )
        return CurvePricing([Shortfall(residuals[:, j], holding[j], backorder[j]) for j in range(products)])
    same = np.full(len(residuals), 1.0 / len(residuals))

    def paid(order: float, forecast: float) -> float:
        over = (order - forecast) - residuals[:, 0]
        costs = np.maximum(holding[0] * over, -backorder[0] * over)
        return float(risk.of(costs, same))

    shortfall = Shortfall(residuals[:, 0], holding[0], backorder[0])
    ends = float(residuals.min()), float(residuals.max())
    if risk.tail is None:
        return BandPricing(paid, shortfall, shortfall.best, ends, budget)
    # Far from 0, so that orders are not cut off there.
    far = 2.0 * float(np.abs(residuals).max()) + 1.0
    free = Newsvendor(float(holding[0]), float(backorder[0]))
    best = float(free.solve(far + residuals, same, risk)[0]) - far
    return BandPricing(paid, None, best, ends, budget)


# ---- what an explanation tells -------------------------------------------------------------------------------------


def before_of(before: Floats, samples: int) -> dict[str, Any]:
    """Return the weights, which are all alike, and the forecast in the initial context."""
    return {"weights_before": np.full(samples, 1.0 / samples), "forecast": Forecasted(before)}


def after_of(policy: Policy, draft: Explanation, after: Floats) -> dict[str, Any]:
    """Return the weights, and the forecast and costs in the context found."""
    assert draft.forecast is not None
    assert isinstance(policy.weights_, ForecastWeights)
    outcomes = after + policy.weights_.residuals_
    decision, alternative = (
        sample_costs(policy.problem, plan, outcomes) for plan in (draft.decision, draft.alternative)
    )
    told = replace(draft.forecast, after=after, decision_after=decision, alternative_after=alternative)
    return {"weights_after": draft.weights_before, "forecast": told}
