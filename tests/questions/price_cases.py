"""Awkward questions about prices, and what is true of them by means that share no code with the search.

Where costs are linear in the prices, the nearest ones solve a linear program that grows by the problem's best plans.
Otherwise (CVaR of quantities, recourse) prices nearer than the answer are drawn, many of them next to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
from scipy.optimize import linprog

import whence as wh
from whence.questions.prices import Prices
from whence.risk import Risk

#: Distances within this share are the same.
CLOSE = 1e-4


@dataclass
class Case:
    """A question about prices: `at` gives the problem and its outcomes at other prices and with limits moved."""

    policy: wh.Policy
    context: Any
    plan: Any
    names: list[str]
    today: np.ndarray
    #: What a change of 1 is.
    scale: np.ndarray
    at: Any
    #: What moving limits counts, and which; the first entry is as little as the plan needs.
    moves: list[tuple[float, Any]]
    #: Whether costs are linear in the prices also under a tail.
    shifts: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weights = self.policy.weights_at(self.context)
        self.speaking = np.flatnonzero(weights)
        self.weights = weights[self.speaking]
        reach = np.where(self.today != 0.0, np.abs(self.today) * 100.0, self.scale * 100.0)
        near = np.abs(self.today) / 100.0
        self.low = np.where(self.today < 0.0, -reach, near)
        self.high = np.where(self.today < 0.0, -near, reach)
        self.counts = np.ones(self.today.size)
        self.rival: Any = None
        #: Plans that may be better: they rule out most prices without a solve.
        self.known: list[Any] = []

    def steered(self, rng: np.random.Generator, groups: list[str]) -> None:
        """Fix, bound or weigh some of the prices."""
        wanted = rng.random(3) < 0.25
        j = int(rng.integers(self.today.size))
        if wanted[0] and self.today.size > 1:
            self.options["fixed"] = [*self.options.get("fixed", []), self.names[j]]
            self.low[j] = self.high[j] = self.today[j]
        if wanted[1]:
            j = int(rng.integers(self.today.size))
            low, high = np.sort(self.today[j] + self.scale[j] * rng.uniform(-0.5, 1.5, 2))
            if self.low[j] >= 0.0:
                low, high = max(low, 0.0), max(high, 0.0)
            self.options["bounds"] = {self.names[j]: (low, high)}
            if self.names[j] not in self.options.get("fixed", []):
                self.low[j], self.high[j] = min(low, self.today[j]), max(high, self.today[j])
        if wanted[2]:
            # A kind of prices counts, of which there may be one.
            group = groups[int(rng.integers(len(groups)))]
            count = float(rng.choice([0.0, 0.5, 3.0]))
            self.options["weights"] = {group: count}
            self.counts[[g == group for g in groups]] = count

    def costs(self, plan: Any, values: np.ndarray) -> np.ndarray:
        problem, outcomes = self.at(values, None)
        return np.asarray(problem.costs(plan, outcomes[self.speaking]), dtype=float)

    def risk(self, plan: Any, values: np.ndarray) -> float:
        return self.policy.risk_.of(self.costs(plan, values), self.weights)

    def best(self, values: np.ndarray, move: Any) -> Any:
        if self.rival is not None:
            return self.rival
        problem, outcomes = self.at(values, move)
        return problem.solve(outcomes[self.speaking], self.weights, self.policy.risk_)

    def regret(self, values: np.ndarray, move: Any) -> float:
        own = self.risk(self.plan, values)
        if self.rival is None:
            rough = max((own - self.risk(z, values) for z, of in self.known if of == move), default=0.0)
            if rough > self.money * 1e-4:
                return rough
        found = self.best(values, move)
        if self.rival is None:
            self.known.append((found, move))
        return own - self.risk(found, values)

    @property
    def money(self) -> float:
        """The largest cost of the plan today: tolerances are shares of it."""
        return max(float(np.abs(self.costs(self.plan, self.today)).max()), 1e-300)

    def distance(self, values: np.ndarray) -> float:
        return float(self.counts @ np.abs((values - self.today) / self.scale))

    def ask(self, kind: Any, time_limit: float | None = None) -> Prices:
        if kind == "relative":
            self.rival = self.policy.decide(self.context)
            self.moves = self.moves[:1]
        return self.policy.prices(self.context, self.plan, kind=kind, time_limit=time_limit, **self.options)

    # ---- what is true ------------------------------------------------------------------------------------------

    def nearest(self, share: float = 0.0) -> float:
        """The distance of the nearest prices where the plan may cost a share of its cost today more than the best."""
        return min((counts + self._program(move, share * self.money) for counts, move in self.moves), default=np.inf)

    def _program(self, move: Any, slack: float) -> float:
        size, rows, limits = self.today.size, [], []
        down, up = (self.today - self.low) / self.scale, (self.high - self.today) / self.scale
        values = self.today
        for _ in range(300):
            rival = self.best(values, move)
            base, slope = self._line(rival)
            money = max(self.money, abs(self.risk(self.plan, values)))
            if self.risk(self.plan, values) - self.risk(rival, values) <= slack + 1e-10 * money:
                return self.distance(values)
            row, limit = slope * self.scale, slack - base - float(slope @ self.today)
            largest = max(float(np.abs(row).max()), 1e-300)
            rows.append(np.concatenate((row, -row)) / largest)
            limits.append(limit / largest)
            ends = [(0.0, end) for end in (*up, *down)]
            ended = linprog(np.tile(self.counts, 2), np.array(rows), np.array(limits), bounds=ends)
            if ended.status == 2:
                return np.inf
            values = np.clip(self.today + self.scale * (ended.x[:size] - ended.x[size:]), self.low, self.high)
        raise AssertionError("300 plans were better, one after the other.")

    def _line(self, rival: Any) -> tuple[float, np.ndarray]:
        """What the plan costs more than a rival, as a line of the prices."""

        def more(values: np.ndarray) -> float:
            return self.risk(self.plan, values) - self.risk(rival, values)

        base = more(self.today)
        slope = np.array([(more(self.today + step) - base) / step.max() for step in np.diag(self.scale)])
        return base - float(slope @ self.today), slope

    def nearer(self, found: np.ndarray | None, reach: float, rng: np.random.Generator, draws: int) -> Iterator[Any]:
        """Prices nearer than `reach`, of which many are next to those found."""
        reach = min(reach, 3.0)
        for i in range(draws):
            if found is not None and i % 3:
                x = (found - self.today) / self.scale
                x = x * (1.0 - 10.0 ** rng.uniform(-4, 0) * (rng.random(x.size) < 0.7))
                x = x + 10.0 ** rng.uniform(-4, 0) * rng.normal(size=x.size) * (rng.random(x.size) < 0.4)
            else:
                x = rng.exponential(1.0, self.today.size) * rng.choice([-1.0, 1.0], self.today.size)
                x = x * (rng.random(x.size) < rng.choice([0.3, 0.6, 1.0]))
            x = np.clip(x, (self.low - self.today) / self.scale, (self.high - self.today) / self.scale)
            away = float(self.counts @ np.abs(x))
            if away > 0.0:
                x = x * min(1.0, (reach - CLOSE) * rng.uniform(0.8, 1.0) / away)
            yield self.today + self.scale * x

    def where(self, found: Prices) -> tuple[np.ndarray, Any]:
        """The prices of an answer, and the limits that it moves, read from its table of changes."""
        to = dict(zip(found.changes["parameter"], found.changes["to"], strict=True))
        factor = dict(zip(found.changes["parameter"], found.changes["factor"], strict=True))
        values = self.today.copy()
        for j, name in enumerate(self.names):
            shared = [f for changed, f in factor.items() if changed.startswith(f"{name} of ") and name not in to]
            values[j] = to.pop(name, shared[0] if shared else values[j])
        left = {name for name in to if not any(name.startswith(f"{known} of ") for known in self.names)}
        return values, next(move for _, move in self.moves if set(move or ()) == left)


def checked(case: Case, kind: Any, seed: int, time_limit: float | None = None, draws: int = 60) -> str:
    """Ask, and hold the answer against what is true; its status."""
    found = case.ask(kind, time_limit)
    assert found.status in (("optimal", "already", "none") if time_limit is None else (*ENDED, "time_limit"))
    values = None
    if found.status == "already":
        assert case.regret(case.today, case.moves[0][1]) <= 1e-6 * case.money * (1 + 1e-6)
        return found.status
    if found.changes.shape[0]:
        values, move = case.where(found)
        assert (values >= case.low - 1e-9 * case.scale).all(), (values, case.low)
        assert (values <= case.high + 1e-9 * case.scale).all(), (values, case.high)
        moving = next(counts for counts, other in case.moves if other == move)
        assert abs(case.distance(values) + moving - found.distance) <= 1e-6 * max(1.0, found.distance)
        assert case.regret(values, move) <= 2e-6 * case.money
    near = {"none": np.inf, "time_limit": found.bound}.get(found.status, found.distance)
    if not isinstance(case.policy.problem, wh.Shipment) and (case.policy.risk_.tail is None or case.shifts):
        true, lax = case.nearest(), case.nearest(1.2e-6)
        assert near <= true + CLOSE * max(1.0, true), (near, true)
        if found.status != "time_limit":
            assert near >= lax - CLOSE * max(1.0, lax if np.isfinite(lax) else 1.0) or near == lax, (near, lax)
        return found.status
    rng = np.random.default_rng(seed)
    for counts, move in case.moves:
        if near - counts <= CLOSE:
            continue
        places = [*case.nearer(values, near - counts, rng, draws)]
        if near - counts >= 3.0:
            places.extend(_corners(case))
        for place in places:
            if case.distance(place) < near - counts - CLOSE * max(1.0, min(near, 1e9)) * 0.5:
                assert case.regret(place, move) > 1e-8 * case.money, (place, case.distance(place), near)
    return found.status


ENDED = ("optimal", "already", "none")


def _corners(case: Case) -> Iterator[np.ndarray]:
    for ends in product((0, 1, 2), repeat=min(case.today.size, 4)):
        place = case.today.copy()
        place[: len(ends)] = [(case.low[j], case.today[j], case.high[j])[end] for j, end in enumerate(ends)]
        yield place


# ---- questions -----------------------------------------------------------------------------------------------------


def outcomes(rng: np.random.Generator, n: int, columns: int, unit: float, least: int = 0) -> np.ndarray:
    """Outcomes with ties, duplicated rows and constant columns, in some unit."""
    Y = rng.integers(least, 9, (n, columns)).astype(float)
    if rng.random() < 0.3:
        Y = Y + rng.random((n, columns))
    if rng.random() < 0.3:
        Y[n // 2 :] = Y[: n - n // 2]
    if rng.random() < 0.2:
        Y[:, int(rng.integers(columns))] = float(rng.integers(max(least, 1), 9))
    return Y * unit


def fitted(problem: Any, Y: np.ndarray, risk: Risk, rng: np.random.Generator) -> tuple[wh.Policy, Any]:
    """A policy of few neighbours, of many, or of a small forest, whose weights differ and are often zero."""
    n = len(Y)
    weights: Any = wh.KNNWeights(k=int(rng.choice([1, 2, n // 2, n - 1])))
    if rng.random() < 0.4:
        weights = wh.ForestWeights(n_trees=5, min_samples_leaf=2, random_state=int(rng.integers(99)))
    X = rng.random((n, 2))
    return wh.Policy(problem, weights, risk=risk).fit(X, Y), X[0]


def risk_of(rng: np.random.Generator, tail: bool) -> Risk:
    return wh.CVaR(float(rng.choice([0.2, 0.5, 0.6, 0.9]))) if tail else wh.Expectation()


UNITS = [1.0, 1.0, 1e-9, 1e9]


def newsvendor(seed: int, tail: bool, common: bool) -> Case:
    """Quantities of one to three products, with prices by product or in common, within a budget that may bind."""
    rng = np.random.default_rng(seed)
    products, n = int(rng.integers(1, 4 if common else 3)), int(rng.integers(4, 12))
    money, unit = (float(rng.choice(UNITS)) for _ in range(2))
    Y = outcomes(rng, n, products, unit)
    rates = money * rng.integers(1, 8, (2, products)).astype(float)
    if rng.random() < 0.3:
        rates[:] = rates[:, :1]
    if rng.random() < 0.15:
        rates[0, 0] = 0.0
    # Budgets are kept to a billionth of 1, or of themselves: not in units that are smaller.
    budget = float(rng.integers(1, 5 * products + 2)) * unit if rng.random() < 0.5 and unit >= 1.0 else None
    risk = risk_of(rng, tail)
    policy, context = fitted(wh.Newsvendor(*rates, budget), Y, risk, rng)
    weights = policy.weights_at(context)
    planted = wh.Newsvendor(*(rates * np.exp(rng.normal(0.0, 1.0, (2, 1 if common else products)))), budget)
    kind, plan = rng.random(), planted.solve(Y, weights, risk)
    if kind < 0.3:
        plan = np.maximum(plan + unit * rng.integers(-1, 2, products), 0.0)
    elif kind < 0.4:
        plan = unit * rng.integers(0, 10, products).astype(float)
    usual = float(rates[rates > 0].mean())
    names, groups, today, scale, maps = [], [], [], [], []
    for group, own in zip(("holding", "backorder"), rates, strict=True):
        if common:
            same = bool((own == own[0]).all())
            names.append(group)
            today.append(own[0] if same else 1.0)
            scale.append((own[0] or usual) if same else 1.0)
            maps.append(np.ones((products, 1)) if same else own[:, None])
        else:
            names += [f"{group} of {name}" for name in policy.outcome_names_]
            today += own.tolist()
            scale += [rate or usual for rate in own]
            maps.append(np.eye(products))
        groups += [group] * maps[-1].shape[1]
    wide = maps[0].shape[1]

    def at(values: np.ndarray, move: Any) -> tuple[Any, np.ndarray]:
        holding, backorder = maps[0] @ values[:wide], maps[1] @ values[wide:]
        return wh.Newsvendor(holding, backorder, move["budget"] if move else budget), Y

    moves: list[tuple[float, Any]] = [(0.0, None)]
    options: dict[str, Any] = {"common": common}
    total = float(plan.sum())
    if budget is not None and abs(total - budget) > 1e-9 * max(1.0, budget):
        moving = (abs(total - budget) / budget, {"budget": total})
        moves = [moving] if total > budget else [*moves, moving]
        if rng.random() < 0.4:
            options["fixed"] = ["budget"]
            moves = [] if total > budget else moves[:1]
    case = Case(policy, context, plan, names, np.array(today), np.array(scale), at, moves, False, options)
    case.steered(rng, groups)
    return case


def routes(seed: int, tail: bool, common: bool) -> Case:
    """Routes in a small network of streets with names, some of whose edges cost nothing on some days."""
    rng = np.random.default_rng(seed)
    n, money = int(rng.integers(4, 12)), float(rng.choice(UNITS))
    graph = nx.DiGraph()
    for u, v in [("s", "a"), ("s", "b"), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "t"), ("b", "t"), ("c", "t")]:
        graph.add_edge(u, v, name=str(rng.choice(["Ring", "Lane", ""])))
    problem = wh.ShortestPath(graph, "s", "t")
    Y = outcomes(rng, n, 8, money, int(rng.integers(0, 2)))
    risk = risk_of(rng, tail)
    policy, context = fitted(problem, Y, risk, rng)
    every = problem.plans(100)
    assert every is not None
    plan = every[int(rng.integers(len(every)))]
    weights = policy.weights_at(context)
    mean = weights @ Y
    edges = problem.parts()
    data = [one["name"] for *_, one in graph.edges(data=True)]
    streets = [name if common and name else edge for edge, name in zip(edges, data, strict=True)]
    names = list(dict.fromkeys(streets))
    member = np.array([[s == name for s in streets] for name in names], dtype=float)
    today = member @ mean
    usual = float(today[today > 0].mean()) if (today > 0).any() else 1.0
    whole = (today @ member)[None, :].ravel()
    size = (member.sum(axis=1) @ member).ravel()
    part = np.where(whole > 0, mean / np.where(whole > 0, whole, 1.0), 1.0 / size)

    def at(values: np.ndarray, move: Any) -> tuple[Any, np.ndarray]:
        return problem, Y + ((values - today) @ member * part)[None, :]

    scale = np.where(today > 0, today, usual)
    case = Case(policy, context, plan, names, today, scale, at, [(0.0, None)], True, {"common": common})
    case.low = np.where(today > 0, case.low, 0.0)
    case.steered(rng, names)
    return case


def lines(seed: int, tail: bool, common: bool) -> Case:
    """Shares of a mix within one or two capacities, whose costs may be negative, with a row that must hold."""
    rng = np.random.default_rng(seed)
    n, size, money = int(rng.integers(4, 12)), int(rng.integers(2, 5)), float(rng.choice(UNITS))
    Y = outcomes(rng, n, size, money, 1)
    if rng.random() < 0.3:
        Y[:, 0] = -Y[:, 0]
    A_ub = rng.integers(0, 3, (int(rng.integers(1, 3)), size)).astype(float)
    b_ub = rng.integers(1, 4, len(A_ub)).astype(float) * 0.5
    given = {"A_ub": A_ub, "b_ub": b_ub, "A_eq": np.ones((1, size)), "b_eq": [1.0], "bounds": (0, 0.9)}
    problem = wh.LinearProblem(**given)
    try:
        problem.solve(Y, np.full(n, 1.0 / n), wh.Expectation())
    except wh.WhenceError:
        return lines(seed + 1_000_003, tail, common)
    risk = risk_of(rng, tail)
    policy, context = fitted(problem, Y, risk, rng)
    plan = problem.solve(Y[rng.permutation(n)] * rng.integers(1, 4, size), np.full(n, 1.0 / n), wh.Expectation())
    if rng.random() < 0.4:
        plan = np.full(size, 1.0 / size)
    mean = policy.weights_at(context) @ Y
    rows = [f"limit of row {k} of A_ub" for k in range(len(A_ub))]
    moving = {
        name: (abs(made - limit) / abs(limit), made, made > limit)
        for name, made, limit in zip(rows, A_ub @ plan, b_ub, strict=True)
        if abs(made - limit) > 1e-9 * max(1.0, limit)
    }
    options: dict[str, Any] = {"common": common}
    stays = rng.random() < 0.4
    if stays:
        options["fixed"] = ["limit"]
    moves = []
    for chosen in product((False, True), repeat=len(moving)):
        if all(taken or not needed for taken, (*_, needed) in zip(chosen, moving.values(), strict=True)):
            taken = {name: moving[name] for name, one in zip(moving, chosen, strict=True) if one}
            if not (stays and taken):
                moves.append((sum(one[0] for one in taken.values()), {k: v[1] for k, v in taken.items()} or None))
    moves.sort(key=lambda move: move[0])

    def at(values: np.ndarray, move: Any) -> tuple[Any, np.ndarray]:
        right = np.array([(move or {}).get(name, limit) for name, limit in zip(rows, b_ub, strict=True)])
        return wh.LinearProblem(**{**given, "b_ub": right}), Y + (values - mean)[None, :]

    usual = float(np.abs(mean[mean != 0]).mean())
    names = [f"cost of {name}" for name in policy.outcome_names_]
    scale = np.where(mean != 0, np.abs(mean), usual)
    case = Case(policy, context, plan, names, mean, scale, at, moves, True, options)
    case.steered(rng, ["cost"] * size)
    return case


def shipment(seed: int, tail: bool, common: bool) -> Case:
    """Two warehouses and two or three places."""
    rng = np.random.default_rng(seed)
    n, places = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    money, unit = (float(rng.choice(UNITS)) for _ in range(2))
    Y = outcomes(rng, n, places, unit)
    prices = money * np.array([rng.integers(1, 8), rng.integers(5, 40), rng.integers(0, 8)], dtype=float)
    distances = rng.integers(0, 4, (2, places)).astype(float)
    risk = risk_of(rng, tail)
    policy, context = fitted(wh.Shipment(*prices, distances=distances), Y, risk, rng)
    weights = policy.weights_at(context)
    planted = wh.Shipment(*(prices * np.exp(rng.normal(0.0, 1.0, 3))), distances=distances)
    plan = planted.solve(Y, weights, risk)
    if rng.random() < 0.3:
        plan = np.maximum(plan + unit * rng.integers(-1, 2, 2), 0.0)

    def at(values: np.ndarray, move: Any) -> tuple[Any, np.ndarray]:
        return wh.Shipment(*values, distances=distances), Y

    names = ["production_cost", "spot_cost", "shipping_cost"]
    scale = np.where(prices > 0, prices, prices[prices > 0].mean())
    case = Case(policy, context, plan, names, prices, scale, at, [(0.0, None)], False, {"common": common})
    case.low = np.where(prices > 0, case.low, 0.0)
    case.steered(rng, names)
    return case


class Shifts(wh.DecisionProblem):
    """Few plans, whose costs are linear in two prices, of which one is paid by what comes."""

    def __init__(self, day: float = 2.0, late: float = 3.0) -> None:
        self.day, self.late = day, late

    def parameters(self) -> dict[str, float]:
        return {"day": self.day, "late": self.late}

    def costs(self, decision: Any, Y: np.ndarray) -> np.ndarray:
        return self.day * decision + self.late * np.maximum(Y[:, 0] - decision, 0.0)

    def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Risk) -> float:
        return min(np.arange(9.0), key=lambda plan: risk.of(self.costs(plan, Y), weights))


def own(seed: int, tail: bool, common: bool) -> Case:
    """A problem of one's own with one of nine plans."""
    rng = np.random.default_rng(seed)
    money = float(rng.choice(UNITS))
    Y = outcomes(rng, int(rng.integers(4, 12)), 1, 1.0)
    prices = money * rng.integers(1, 9, 2).astype(float)
    policy, context = fitted(Shifts(*prices), Y, risk_of(rng, tail), rng)

    def at(values: np.ndarray, move: Any) -> tuple[Any, np.ndarray]:
        return Shifts(*values), Y

    plan = float(rng.integers(9))
    case = Case(policy, context, plan, ["day", "late"], prices, prices, at, [(0.0, None)], False, {"common": common})
    case.steered(rng, ["day", "late"])
    return case


PROBLEMS = {"newsvendor": newsvendor, "routes": routes, "lines": lines, "shipment": shipment, "own": own}
