"""Explanations of every kind, put together by hand, for the texts and pages that tell them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.explain.explanation import Costs
from whence.explain.recheck import Source
from whence.risk import Risk

Make = Callable[..., wh.Explanation]

KINDS = {
    "weekday": "categorical",
    "temperature": "continuous",
    "rain": "binary",
    "promotion": "binary",
    "staff": "discrete",
}
#: What is told of the policy, not of the explanation itself.
PARTS = ("risk", "decision_text", "alternative_text", "units", "kinds", "cost_unit", "history", "problem")


class Parts(Source):
    """What an explanation that was put together by hand speaks of; it has no fingerprints, and no usual contexts."""

    def usual(self, context: Any) -> None:
        """It is not known."""

    def decided(self, context: Any, weights: Any) -> tuple[None, None]:
        """It is not known: the costs are made up."""
        return None, None

    def fingerprints(self, afresh: bool = False) -> dict[str, Any]:
        """None are known."""
        return {}


class Features:
    """Kinds and units of features, as a schema tells them."""

    def __init__(self, kinds: dict[str, str], units: dict[str, str]) -> None:
        self.kinds, self.units = kinds.copy, units.copy


class Opaque(wh.DecisionProblem):
    """A problem whose plans are no numbers."""

    def costs(self, decision: Any, Y: Any) -> Any:
        """Nothing."""
        return np.zeros(len(Y))

    def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
        """Nothing."""

    def vector(self, decision: Any) -> Any:
        """There is none."""
        raise TypeError("no numbers")


class Own(Risk):
    """A risk of one's own that is no sum over the observations."""

    name = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, costs: Any, weights: Any) -> float:
        """The largest."""
        return float(np.max(costs))


def _risk(given: Any) -> Risk:
    known: list[Risk] = [wh.Expectation(), wh.CVaR(0.8), wh.CVaR(0.9)]
    return next((risk for risk in known if risk.name == given), Own(given)) if isinstance(given, str) else given


def _source(plan: Any, given: dict[str, Any], history: pd.DataFrame, demand: Any) -> Source | None:
    """The parts that are given, and those of a bakery otherwise."""
    problem = given.get("problem", wh.Newsvendor(holding=1.0, backorder=2.0, names=["bread", "cake"]))
    if problem is None and given.get("history", history) is None:
        return None
    problem = problem or Opaque()
    if isinstance(problem, Opaque) or {"decision_text", "alternative_text"} & set(given):
        texts = given.get("decision_text", "bread 60, cake 70"), given.get("alternative_text", "bread 80, cake 70")
        problem.describe = lambda decision, outcomes=(): texts[0 if decision is plan else 1]
    if "cost_unit" in given:
        problem.cost_unit = given["cost_unit"]
    return Parts(
        weights=None,
        risk=_risk(given.get("risk", "expected cost")),
        schema=Features(given.get("kinds", KINDS), given.get("units", {"temperature": "°C"})),  # type: ignore[arg-type]
        problem=problem,
        X=given.get("history", history),
        Y=demand,
        outcomes=["bread", "cake"],
    )


def _explanation(changes: list[tuple[Any, ...]] = (), **given: Any) -> wh.Explanation:
    """A relative explanation of a bakery's order with the given changes; fields may be overridden."""
    initial = pd.Series(
        {"weekday": "Thursday", "temperature": 7.0, "rain": 0, "promotion": False, "staff": 4}, dtype=object
    )
    context = initial.copy()
    for name, _, to, _ in changes:
        context[name] = to
    rng = np.random.default_rng(5)
    before, after = (rng.dirichlet(np.ones(30)) for _ in range(2))
    history = pd.DataFrame(
        {
            "weekday": rng.choice(["Thursday", "Saturday"], 30),
            "temperature": rng.normal(12, 5, 30).round(1),
            "rain": rng.integers(0, 2, 30),
            "promotion": rng.random(30) < 0.3,
            "staff": rng.integers(2, 7, 30),
        }
    )
    demand = rng.poisson(60, (30, 2)).astype(float)
    problem = wh.Newsvendor(holding=1.0, backorder=2.0, names=["bread", "cake"])
    fields: dict[str, Any] = {
        "status": "optimal",
        "kind": "relative",
        "initial": initial,
        "context": context,
        "changed": changes,
        "distance": float(sum(change[3] for change in changes)),
        "bound": float(sum(change[3] for change in changes)),
        "decision": np.array([60.0, 70.0]),
        "alternative": np.array([80.0, 70.0]),
        "cost_before": Costs(31.2, 35.0),
        "paid_after": Costs(41.3, 40.9),
        "weights_before": before,
        "weights_after": after,
        "engine": "search (forest)",
        "seconds": 0.21,
        "nodes": 120,
        "cuts": 0,
        "tolerance": 1e-4,
        "separation": None,
        "note": "",
        "blocking": [],
        "costs_decision": problem.costs([60.0, 70.0], demand),
        "costs_alternative": problem.costs([80.0, 70.0], demand),
    }
    if given.get("status") in ("none", "time_limit", "interrupted") and not changes:
        fields |= {"context": None, "paid_after": None, "weights_after": None, "distance": np.inf, "bound": np.inf}
    if given.get("status") == "already":
        fields |= {"paid_after": fields["cost_before"], "weights_after": before}
    fields |= {name: value for name, value in given.items() if name not in PARTS}
    parts = {name: value for name, value in given.items() if name in PARTS}
    return wh.Explanation(**fields, source=_source(fields["decision"], parts, history, demand))


@pytest.fixture
def make() -> Make:
    """A maker of explanations: ``make(changes, **fields)``."""
    return _explanation


WEEKDAY = ("weekday", "Thursday", "Saturday", 1.0)
WARMER = ("temperature", 7.0, 16.2512345678, 0.3)
RAIN = ("rain", 0, 1, 1.0)
PROMOTION = ("promotion", False, True, 1.0)
STAFF = ("staff", 4, 6, 0.5)


@pytest.fixture
def weekday() -> tuple[Any, ...]:
    """A category that changes."""
    return WEEKDAY


@pytest.fixture
def every_change() -> list[tuple[Any, ...]]:
    """All five features change."""
    return [WEEKDAY, WARMER, RAIN, PROMOTION, STAFF]
