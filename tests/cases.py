"""Small random policies and questions, the same for every engine: `case(seed)` always gives the same one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor
from tests.asking import asking, varied
from tests.forests import paper_forest

from whence.features import Binary, Categorical, Continuous, Discrete, Feature, Schema
from whence.policy import Policy
from whence.problems.base import DecisionProblem
from whence.question import Limits, Question
from whence.risk import CVaR, Expectation, Risk
from whence.weights import ForestWeights, KNNWeights

TOLERANCE = 1e-6
ALPHAS = (None, None, 0.0, 0.3, 0.5, 0.8, 0.95)
#: c number, r rounded number (ties and duplicates), d few integers, b binary, k category, 1 constant number.
KINDS = "cccrrrddbbkk1"
CATEGORIES = ("blue", "green", "red")
FROZEN: tuple[Callable[..., Any], ...] = (
    RandomForestRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    ExtraTreesClassifier,
    DecisionTreeRegressor,
)


class OneOf(DecisionProblem):
    """Choose one of several plans: column j of Y is the cost of plan j, and a plan is its number."""

    def costs(self, decision: Any, Y: np.ndarray) -> np.ndarray:
        return np.asarray(Y)[:, int(decision)]

    def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Risk) -> int:
        return int(np.argmin([risk.of(column, weights) for column in Y.T]))


@dataclass(frozen=True)
class Case:
    """A fitted policy that chooses one of several plans, and a planner's question about it."""

    seed: int
    policy: Policy
    context: pd.Series
    decision: int
    instead: int
    kind: str = "relative"
    within: float = 0.0
    fixed: tuple[str, ...] = ()
    bounds: dict[str, Any] = field(default_factory=dict)

    def question(self, **limits: Any) -> Question:
        """The question as an engine sees it."""
        policy, risk = self.policy, self.policy.risk_
        costs = np.ascontiguousarray(policy.Y_.T)
        tau = TOLERANCE * float(np.abs(costs[self.instead]).max())

        def better(weights: np.ndarray) -> np.ndarray | None:
            best = (1.0 + self.within) * costs[int(np.argmin([risk.of(c, weights) for c in costs]))]
            return best if risk.of(costs[self.instead], weights) - risk.of(best, weights) > tau else None

        return asking(
            space=policy.schema_.space(self.context, self.fixed, self.bounds),
            weights=policy.weights_,
            inputs=policy.input_map_,
            alternative=costs[self.instead],
            decision=costs[self.decision],
            risk=risk,
            kind=self.kind,
            tau=tau,
            separation=1e-6,
            better=better,
            limits=Limits(**limits),
            within=self.within,
        )

    def but(self, **changes: Any) -> Case:
        """The same case with other parts."""
        return varied(self, **changes)


def contexts(rng: np.random.Generator, n: int, kinds: str, spread: bool = False) -> pd.DataFrame:
    """Random contexts, one feature a letter of `kinds`; `spread` gives a category as 0/1 columns."""
    columns: dict[str, Any] = {}
    for j, kind in enumerate(kinds):
        name = f"{kind}{j}"
        if kind == "k":
            chosen = rng.integers(0, len(CATEGORIES), n)
            if spread:
                columns.update({f"{name}_{c}": (chosen == i).astype(int) for i, c in enumerate(CATEGORIES)})
            else:
                columns[name] = np.array(CATEGORIES, dtype=object)[chosen]
        elif kind == "c":
            columns[name] = 15.0 + 8.0 * rng.normal(size=n)
        elif kind == "r":
            columns[name] = 2000.0 + rng.integers(0, 8, n) / 4.0
        elif kind == "d":
            columns[name] = rng.integers(1, 6, n)
        elif kind == "b":
            columns[name] = rng.random(n) < 0.5
        else:
            columns[name] = np.full(n, 3.5)
    return pd.DataFrame(columns)


def schema(rng: np.random.Generator, X: pd.DataFrame, kinds: str, spread: bool = False, plain: bool = False) -> Schema:
    """What may change: mostly everything, now and then a feature that is fixed, one-way, bounded or heavy."""
    features: dict[str, Feature] = {}
    for j, kind in enumerate(kinds):
        name = f"{kind}{j}"
        how: dict[str, Any] = {}
        if not plain and rng.random() < 0.35:
            how["weight"] = float(rng.choice([0.25, 0.5, 2.0, 3.0]))
        if not plain and rng.random() < 0.12:
            how["change"] = str(rng.choice(["fixed"] if kind == "k" else ["fixed", "increase", "decrease"]))
        if kind == "k":
            columns = [f"{name}_{c}" for c in CATEGORIES] if spread else None
            features[name] = Categorical(CATEGORIES, columns, **how)
        elif kind == "d":
            features[name] = Discrete(range(1, 6), **how)
        elif kind == "b":
            features[name] = Binary(**how)
        else:
            if not plain and rng.random() < 0.15:
                low, high = np.sort(rng.choice(X[name], 2))
                how |= {"low": float(low), "high": float(high)}
            features[name] = Continuous(**how)
    return Schema(features)


def plan_costs(rng: np.random.Generator, points: np.ndarray, plans: int) -> np.ndarray:
    """Costs of some plans that depend on the context; rounded now and then, so that plans tie."""
    slopes = rng.normal(size=(plans, points.shape[1]))
    noise = rng.choice([0.1, 1.0])
    costs = 10.0 + 4.0 * (points - points.mean(axis=0)) @ slopes.T + noise * rng.normal(size=(len(points), plans))
    decimals = int(rng.choice([0, 2, 8]))
    return costs.round(decimals)


def forest(rng: np.random.Generator, X: pd.DataFrame, Y: np.ndarray, frozen: bool) -> ForestWeights:
    """A small forest of any shape: depths, leaf sizes, one tree or several, trained here or frozen."""
    seed = int(rng.integers(2**31))
    depth = [1, 2, 3, 3, 4, 4, None][int(rng.integers(7))]
    trees = int(rng.choice([1, 2, 3, 4, 5, 6, 6]))
    leaf = int(rng.choice([1, 1, 1, 2, 3, len(X)]) if rng.random() < 0.2 else 1)
    if not frozen:
        return paper_forest(trees, depth, random_state=seed, min_samples_leaf=leaf)
    kind = FROZEN[int(rng.integers(len(FROZEN)))]
    options: dict[str, Any] = {"max_depth": depth, "min_samples_leaf": leaf, "random_state": seed}
    if kind is not DecisionTreeRegressor:
        options["n_estimators"] = trees
    target = Y.argmin(axis=1) if "Classifier" in kind.__name__ else Y
    return ForestWeights.of(kind(**options).fit(X.to_numpy(dtype=np.float64), target))


# Kept for the tests that ask other questions about the same ones: no test changes a policy of these.
@lru_cache(maxsize=4000)
def policy(seed: int, *, weights: str | None = None, kinds: str | None = None, plain: bool = False) -> Policy:
    """A small fitted policy; `weights` is "forest", "frozen" or "knn", `plain` leaves out all restrictions."""
    rng = np.random.default_rng([seed, 7])
    weights = weights or ("frozen" if rng.random() < 0.3 else "forest")
    kinds = kinds or "".join(rng.choice(list(KINDS), int(rng.choice([1, 2, 3, 3, 4, 4]))))
    n = int(rng.integers(5, 25))
    spread = weights == "frozen"
    X = contexts(rng, n, kinds, spread)
    if rng.random() < 0.3:
        X.iloc[n // 2 :] = X.iloc[: n - n // 2].to_numpy()
        X = X.infer_objects()
    declared = schema(rng, X, kinds, spread, plain)
    Y = plan_costs(rng, declared.fit(X).encode(X), int(rng.integers(2, 6)))
    alpha = ALPHAS[int(rng.integers(len(ALPHAS)))]
    chosen: Any = (
        KNNWeights(int(rng.integers(1, n))) if weights == "knn" else forest(rng, X, Y, frozen=weights == "frozen")
    )
    return Policy(OneOf(), chosen, Expectation() if alpha is None else CVaR(alpha), declared).fit(X, Y)


def cases(seed: int, count: int, **options: Any) -> list[Case]:
    """`count` questions about one small policy: near and far contexts, both kinds, restrictions of the call."""
    fitted = policy(seed, **options)
    rng = np.random.default_rng([seed, 11])
    kinds = "".join(name[0] for name in fitted.schema_.names)
    spread = any(isinstance(f, Categorical) and f.columns for f in fitted.schema_.features.values())
    away = contexts(rng, count, kinds, spread)
    found = []
    for i in range(count):
        row = away.iloc[i] if rng.random() < 0.5 else fitted.X_.iloc[int(rng.integers(len(fitted.X_)))]
        context = fitted.schema_.row(row)
        weights = fitted.weights_at(context)
        risks = [fitted.risk_.of(c, weights) for c in fitted.Y_.T]
        decision = int(np.argmin(risks)) if rng.random() < 0.95 else int(rng.integers(len(risks)))
        # A plan that is best in some past context: its explanation is rarely out of reach.
        liked = [j for j in np.unique(fitted.Y_.argmin(axis=1)) if j != decision]
        others = liked if liked and rng.random() < 0.9 else [j for j in range(len(risks)) if j != decision]
        found.append(
            Case(
                seed=seed,
                policy=fitted,
                context=context,
                decision=decision,
                instead=int(rng.choice(others)),
                kind="absolute" if rng.random() < 0.5 else "relative",
                fixed=() if options.get("plain") else _fixed(rng, fitted),
                bounds={} if options.get("plain") else _bounds(rng, fitted),
            )
        )
    return found


def _fixed(rng: np.random.Generator, fitted: Policy) -> tuple[str, ...]:
    return tuple(name for name in fitted.schema_.names if rng.random() < 0.05)


def _bounds(rng: np.random.Generator, fitted: Policy) -> dict[str, Any]:
    """Bounds of the call; the initial context is free to break them."""
    found: dict[str, Any] = {}
    for name in fitted.schema_.names:
        if rng.random() >= 0.1:
            continue
        if name[0] == "k":
            found[name] = list(rng.choice(CATEGORIES, 2, replace=False))
        else:
            low, high = fitted.schema_.training_range(name)
            first, last = np.sort(rng.uniform(low - 0.1, high + 0.1, 2))
            found[name] = (float(first), float(last))
    return found
