"""Random small questions about sets of plans, each held against looking at every cell and every plan.

`set_case(seed)` always gives the same question; `set_disagreement(case)` says in what the answer of `Policy.explain`
differs from brute force. Plans are listed here, from the data alone: routes by networkx, quantities by past demands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from tests.asking import asking
from tests.cases import OneOf, forest, schema
from tests.oracle import MOST_CELLS, cells, estimator_rows
from tests.soaking import EXACT, MONEY, OUTSIDE, RISKS, costs, initial, restrictions, table

from whence.errors import WhenceError
from whence.policy import Policy
from whence.problems import Newsvendor, ShortestPath
from whence.problems.plan_sets import PlanSet
from whence.question import Limits, Question
from whence.risk import Expectation
from whence.weights import KNNWeights

#: Cells whose weights are computed together.
CHUNK = 200
FAMILIES = ("own", "own", "rule", "grid", "grid", "stock", "stock")


class FewPlans(OneOf):
    """One of several plans, which it can list."""

    def plans(self, limit: int) -> list[int] | None:
        return list(range(self.count)) if self.count <= limit else None

    def __init__(self, count: int) -> None:
        self.count = count


@dataclass(frozen=True)
class SetCase:
    """A question about a set of plans, with the sample costs of its plans and of those that it must beat."""

    seed: int
    policy: Policy
    context: pd.Series
    instead: PlanSet | None
    rows: np.ndarray
    everything: np.ndarray
    kind: str = "relative"
    margin: float = 0.0
    within: float = 0.0
    fixed: tuple[str, ...] = ()
    bounds: dict[str, Any] = field(default_factory=dict)

    @property
    def asked(self) -> dict[str, Any]:
        """The arguments of `Policy.explain`."""
        how: dict[str, Any] = {"fixed": self.fixed, "bounds": self.bounds, "kind": self.kind, "within": self.within}
        return how | ({"margin": self.margin} if self.margin or self.instead is None else {})


def set_case(seed: int, family: str | None = None) -> SetCase:
    """A question about a small forest, all kinds of plans, both kinds and all risks."""
    rng = np.random.default_rng([seed, 170])
    family = family or FAMILIES[int(rng.integers(len(FAMILIES)))]
    n = int(rng.integers(5, 22))
    kinds = "".join(rng.choice(list("cccrrrddbk1"), int(rng.integers(1, 4))))
    frozen = rng.random() < 0.2
    X = table(rng, n, kinds, frozen)
    declared = schema(rng, X, kinds, frozen)
    points = declared.fit(X).encode(X)
    risk = RISKS[int(rng.integers(len(RISKS)))] if rng.random() < 0.5 else Expectation()
    Y, problem, instead, rows, everything = _plans(rng, family, points, risk)
    policy = Policy(problem, forest(rng, X, Y, frozen and Y.shape[1] > 1), risk, declared).fit(X, Y)
    fixed, bounds = restrictions(rng, policy)
    kind = "absolute" if instead is not None and rng.random() < 0.4 else "relative"
    positive = everything.min() >= 0.0
    margin = float(rng.choice([0.0, 0.01, 0.05, 0.2])) if positive and kind == "relative" else 0.0
    within = float(rng.choice([0.0, 0.0, 0.05])) if positive and kind == "absolute" else 0.0
    context = initial(rng, policy, OUTSIDE)
    return SetCase(seed, policy, context, instead, rows, everything, kind, margin, within, fixed, bounds)


def _plans(rng: np.random.Generator, family: str, points: np.ndarray, risk: Any) -> tuple[Any, ...]:
    """Outcomes, problem, set (None for any plan), and the sample costs of the plans of the set and of all plans."""
    anything = rng.random() < 0.4
    if family == "grid":
        return _grid(rng, points, anything)
    if family == "stock":
        return _stock(rng, points, anything)
    Y = costs(rng, points, int(rng.integers(2, 7)))
    if rng.random() < 0.6:
        Y = Y - min(0.0, float(Y.min()))
    few = sorted(rng.choice(Y.shape[1], int(rng.integers(1, Y.shape[1] + 1)), replace=False).tolist())
    if family == "rule":
        # The set and its problem can only be solved, not listed.
        own: Any = OneOf()
        if anything:
            return Y, own, None, Y.T, Y.T

        def solve(Y: np.ndarray, weights: np.ndarray, risk: Any) -> int:
            return few[int(np.argmin([risk.of(Y[:, j], weights) for j in few]))]

        return Y, own, own.only(lambda plan: plan in few, solve=solve), Y.T[few], Y.T
    own = FewPlans(Y.shape[1])
    return Y, own, None if anything else own.only(few), Y.T if anything else Y.T[few], Y.T


def _grid(rng: np.random.Generator, points: np.ndarray, anything: bool) -> tuple[Any, ...]:
    problem = ShortestPath.grid(3)
    Y = costs(rng, points, 12)
    Y = Y - min(0.0, float(Y.min()))
    routes = [list(route) for route in nx.all_simple_paths(problem.graph, (0, 0), (2, 2))]
    number = {edge: e for e, edge in enumerate(problem.graph.edges)}
    rows = np.array([Y[:, [number[hop] for hop in nx.utils.pairwise(route)]].sum(axis=1) for route in routes])
    if anything:
        return Y, problem, None, rows, rows
    while True:
        node = tuple(int(i) for i in rng.integers(0, 3, 2))
        edge = list(number)[int(rng.integers(12))]
        how = int(rng.integers(4))
        try:
            chosen = _restricted(problem, how, node, edge)
        except WhenceError:
            continue
        kept = [
            (how not in (0, 3) or node in route)
            and (how != 1 or node not in route)
            and (how != 2 or edge in set(nx.utils.pairwise(route)))
            and (how != 3 or edge not in set(nx.utils.pairwise(route)))
            for route in routes
        ]
        return Y, problem, chosen, rows[kept], rows


def _restricted(problem: ShortestPath, how: int, node: Any, edge: Any) -> PlanSet:
    if how == 1:
        return problem.avoiding(node)
    if how == 2:
        return problem.using(edge)
    return problem.through(node) if how == 0 else problem.through(node).avoiding(edge)


def _stock(rng: np.random.Generator, points: np.ndarray, anything: bool) -> tuple[Any, ...]:
    """Quantities of one or two products; the oracle knows their best plans from all past demands."""
    products = int(rng.integers(1, 3))
    Y = np.abs(costs(rng, points, products))
    money = float(rng.choice(MONEY))
    holding, backorder = money * rng.integers(1, 5, products), money * rng.integers(1, 8, products)
    problem = Newsvendor(holding, backorder, names=[f"product{j}" for j in range(products)])
    lower, upper = np.zeros(products), np.full(products, np.inf)
    chosen: Any = problem
    for j in range(products):
        way = rng.random()
        first, last = np.sort(rng.choice(Y[:, j], 2)) * float(rng.choice([1.0, 1.1]))
        if way < 0.35 or (j == products - 1 and chosen is problem):
            chosen, lower[j] = chosen.at_least(f"product{j}", first), first
        elif way < 0.6:
            chosen, upper[j] = chosen.at_most(j, last), last
        elif way < 0.8:
            chosen = chosen.between(j, first, last)
            lower[j], upper[j] = first, last
    everything = _combined(Y, holding, backorder, np.zeros(products), np.full(products, np.inf))
    if anything:
        return Y, problem, None, everything, everything
    return Y, problem, chosen, _combined(Y, holding, backorder, lower, upper), everything


def _combined(Y: np.ndarray, holding: Any, backorder: Any, lower: Any, upper: Any) -> np.ndarray:
    """Sample costs of all plans whose quantities are demands, or limits: some one is best under expected cost."""
    points = [np.unique(np.clip(np.append(Y[:, j], 0.0), lower[j], upper[j])) for j in range(Y.shape[1])]
    plans = np.array(list(product(*points)))
    over = plans[:, None, :] - Y[None, :, :]
    return np.maximum(holding * over, -backorder * over).sum(axis=2)


def question_of(case: SetCase) -> Question:
    """Where to look, and what is tolerated; which plans there are is for the case to say."""
    policy = case.policy
    before = policy.weights_at(case.context)
    among = policy.problem if case.instead is None else case.instead.named(policy.outcome_names_)
    best = policy.problem.costs(among.solve(policy.Y_, before, policy.risk_), policy.Y_)
    decided = policy.decision(case.context).costs
    return asking(
        space=policy.schema_.space(case.context, case.fixed, case.bounds),
        weights=policy.weights_,
        inputs=policy.input_map_,
        alternative=best,
        decision=decided,
        risk=policy.risk_,
        kind="relative",
        tau=1e-6 * float(np.abs(best).max()),
        separation=1e-6,
        better=lambda weights: None,
        limits=Limits(),
    )


def holds(case: SetCase, question: Question, weights: np.ndarray) -> bool:
    """Whether some plan of the set is as good as asked for under these weights."""
    risk, decided = question.claim.risk, question.claim.risk.of(question.claim.decision, weights)
    if isinstance(case.policy.problem, Newsvendor) and risk.tail is not None:
        # The best quantities under CVaR need not be demands: the problem's own word, which its tests judge.
        among = case.policy.problem if case.instead is None else case.instead
        plan = among.solve(case.policy.Y_, weights, risk)
        best = risk.of(case.policy.problem.costs(plan, case.policy.Y_), weights)
        other = case.policy.problem.solve(case.policy.Y_, weights, risk)
        all_best = risk.of(case.policy.problem.costs(other, case.policy.Y_), weights)
    else:
        best = min(risk.of(row, weights) for row in case.rows)
        all_best = min(risk.of(row, weights) for row in case.everything) if case.kind == "absolute" else 0.0
    if case.kind == "absolute":
        limit = (1.0 + case.within) * all_best
        limit = min(limit, (1.0 + case.within) * decided)
    elif case.instead is None:
        strictly = max(2.0 * question.claim.tau, 1e-9 * float(np.abs(question.claim.decision).max()))
        limit = decided / (1.0 + case.margin) - strictly
    else:
        limit = (1.0 - case.margin) * decided
    return best <= limit + question.claim.tau


def set_truth(case: SetCase, question: Question) -> float | None:
    """The nearest distance by looking at every cell, infinite for none; None where there is too much to look at."""
    if holds(case, question, case.policy.weights_at(case.context)):
        return 0.0
    try:
        points = cells(question)
    except AssertionError as error:
        if "too many" in str(error):
            return None
        raise
    if len(points) > MOST_CELLS // 20:
        return None
    distance = np.abs(points - question.space.start) @ question.space.weight
    known: dict[bytes, bool] = {}
    order = np.argsort(distance, kind="stable")
    for first in range(0, len(order), CHUNK):
        some = order[first : first + CHUNK]
        for i, weights in zip(some, question.weights.weights(estimator_rows(question, points[some])), strict=True):
            key = weights.tobytes()
            if key not in known:
                known[key] = holds(case, question, weights)
            if known[key]:
                return float(distance[i])
    return np.inf


def set_disagreement(case: SetCase, **how: Any) -> str:
    """In what the answer of the policy differs from brute force; empty where it does not."""
    question = question_of(case)
    wanted = set_truth(case, question)
    if wanted is None:
        return ""
    try:
        why = case.policy.explain(case.context, case.instead, **case.asked, **how)
    except WhenceError as error:
        return f"{type(error).__name__}: {error} (brute force: {wanted!r})"
    if why.status not in ("optimal", "already", "none"):
        return f"status {why.status}"
    exact = EXACT[isinstance(question.weights, KNNWeights)]
    allowed = exact * float(question.space.weight.sum()) * (1.0 + (0.0 if np.isinf(wanted) else wanted))
    offset, scale = case.policy.schema_.affine()
    values = np.abs(offset) + np.abs(scale * question.space.start)
    allowed += 2.0 * float((question.space.weight * np.spacing(values) / scale).sum())
    if not (why.distance == wanted or abs(why.distance - wanted) <= allowed):
        return f"{why.status} at {why.distance!r}, brute force {wanted!r}"
    if why.found and case.instead is not None:
        refused = case.instead.named(case.policy.outcome_names_).check(why.alternative)
        if refused:
            return f"what takes over is not in the set: {refused}"
    return ""
