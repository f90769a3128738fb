"""Random small questions over awkward data, each held against brute force: what `benchmarks/soak.py` runs for hours.

`forest_case(seed)` and `neighbour_case(seed)` always give the same question, `disagreement(case)` says in what the
answer of `Policy.explain` differs from looking at every cell (or at every vertex of the neighbours' arrangement).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
from tests.cases import CATEGORIES, Case, OneOf, contexts, forest, schema
from tests.knn_reference import nearest_by_vertices
from tests.oracle import MOST_CELLS, nearest

from whence.errors import WhenceError
from whence.explain.explanation import Explanation
from whence.features import Categorical, Continuous, Schema
from whence.policy import Policy
from whence.question import Question
from whence.risk import CVaR, Expectation
from whence.weights import DecisionForest, KNNWeights

RISKS = (Expectation(), CVaR(0.0), CVaR(0.3), CVaR(0.5), CVaR(0.7), CVaR(0.8), CVaR(0.9), CVaR(0.95))
#: What a number of the context is multiplied by and shifted by: seconds since 1970 among them.
UNITS = ((1.0, 0.0), (1.0, 0.0), (1e-9, 0.0), (1e9, 0.0), (86400.0, 1.7e9), (0.1, 0.0), (1e-3, 1000.0))
#: What costs are multiplied by.
MONEY = (1.0, 1.0, 1.0, 1e-9, 1e9)
#: Ranges that a context may lie outside the history.
OUTSIDE = (0.5, 3.0, 100.0, 1e5)
#: Distances agree to this, for a distance and feature weights of about 1: forests, neighbours.
EXACT = (1e-11, 1e-7)


def costs(rng: np.random.Generator, points: np.ndarray, plans: int) -> np.ndarray:
    """Costs of some plans that tie up to rounding: sums of decimals, each in an order of its own, or few numbers."""
    n, parts = len(points), int(rng.integers(2, 6))
    decimals = int(rng.choice([0, 1, 1, 1, 2, 2, 8]))
    slopes = rng.normal(size=(plans, points.shape[1]))
    base = 3.0 * (points - points.mean(axis=0)) @ slopes.T + rng.choice([0.1, 1.0]) * rng.normal(size=(n, plans))
    spread = np.abs(rng.normal(size=(n, plans, parts))) if rng.random() < 0.5 else rng.random((n, plans, parts))
    amounts = (spread + base[:, :, None] / parts + rng.choice([0.0, 4.0])).round(decimals)
    if rng.random() < 0.3:
        # Few distinct amounts: most sums tie.
        amounts = rng.choice([0.1, 0.2, 0.3, 0.7], size=amounts.shape) + (base[:, :, None] / parts).round(0)
    total = np.zeros((n, plans))
    orders = np.argsort(rng.random(amounts.shape), axis=2)
    for part in range(parts):
        total += np.take_along_axis(amounts, orders[:, :, part : part + 1], axis=2)[:, :, 0]
    return total * float(rng.choice(MONEY))


def table(rng: np.random.Generator, n: int, kinds: str, spread: bool) -> pd.DataFrame:
    """Contexts with numbers in units of every size, some of them twice."""
    X = contexts(rng, n, kinds, spread)
    for name in X.columns:
        if name[0] in "cr":
            factor, offset = UNITS[int(rng.integers(len(UNITS)))]
            X[name] = X[name] * factor + offset
            if rng.random() < 0.3:
                X[name] = X[name].round(int(rng.integers(0, 3)))
    if rng.random() < 0.3:
        X.iloc[n // 2 :] = X.iloc[: n - n // 2].to_numpy()
        X = X.infer_objects()
    return X


def initial(rng: np.random.Generator, policy: Policy, far: tuple[float, ...]) -> pd.Series:
    """A past context, one between two of them, or one outside the history."""
    X = policy.X_
    row = X.iloc[int(rng.integers(len(X)))].copy()
    kind = rng.random()
    for name, feature in policy.schema_.features.items():
        if not isinstance(feature, Continuous) or kind < 0.3:
            continue
        low, high = policy.schema_.training_range(name)
        width = high - low if high > low else 1.0
        if kind < 0.75:
            row[name] = float(rng.uniform(low, high))
        elif rng.random() < 0.6:
            row[name] = float(low + width * rng.choice([-1.0, 1.0]) * rng.choice(far) * rng.random())
    return policy.schema_.row(row)


def restrictions(rng: np.random.Generator, policy: Policy) -> tuple[tuple[str, ...], dict[str, Any]]:
    """What a call fixes and bounds; the initial context is free to break the bounds."""
    names = policy.schema_.names
    fixed = tuple(name for name in names if rng.random() < 0.06)
    bounds: dict[str, Any] = {}
    for name, feature in policy.schema_.features.items():
        if rng.random() > 0.15:
            continue
        if isinstance(feature, Categorical):
            bounds[name] = [str(c) for c in rng.choice(CATEGORIES, int(rng.integers(1, 3)), replace=False)]
        else:
            low, high = policy.schema_.training_range(name)
            first, last = np.sort(rng.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low), 2))
            bounds[name] = (float(first), float(last))
    return fixed, bounds


def asked(rng: np.random.Generator, seed: int, policy: Policy, far: tuple[float, ...]) -> Case:
    """A question about a policy: mostly one that a plan with a chance asks."""
    context = initial(rng, policy, far)
    risks = [policy.risk_.of(c, policy.weights_at(context)) for c in policy.Y_.T]
    decision = int(np.argmin(risks)) if rng.random() < 0.95 else int(rng.integers(len(risks)))
    liked = [j for j in np.unique(policy.Y_.argmin(axis=1)) if j != decision]
    others = liked if liked and rng.random() < 0.9 else [j for j in range(len(risks)) if j != decision]
    fixed, bounds = restrictions(rng, policy)
    kind = "absolute" if rng.random() < 0.5 else "relative"
    return Case(seed, policy, context, decision, int(rng.choice(others)), kind, fixed=fixed, bounds=bounds)


def weighty(seed: int, declared: Schema) -> Schema:
    """`declared`, one time in ten with features that weigh thousands."""
    if np.random.default_rng([seed, 22]).random() > 0.1:
        return declared
    features = {name: copy.copy(feature) for name, feature in declared.features.items()}
    for feature in features.values():
        object.__setattr__(feature, "weight", 3000.0 * feature.weight)
    return Schema(features)


def forest_case(seed: int) -> Case:
    """A question about a small forest; one in eight has so many distinct costs that ranges of them are searched."""
    rng = np.random.default_rng([seed, 20])
    many = rng.random() < 0.125
    n = int(rng.integers(70, 110)) if many else int(rng.integers(5, 25))
    kinds = "".join(rng.choice(list("cccrrrddbk1"), int(rng.integers(1, 3 if many else 5))))
    frozen = rng.random() < 0.3
    X = table(rng, n, kinds, frozen)
    declared = weighty(seed, schema(rng, X, kinds, frozen))
    Y = costs(rng, declared.fit(X).encode(X), int(rng.integers(2, 6)))
    weights = forest(rng, X, Y, frozen)
    if many and not frozen:
        weights.set_params(max_depth=3, n_trees=3)
    policy = Policy(OneOf(), weights, RISKS[int(rng.integers(len(RISKS)))], declared).fit(X, Y)
    return asked(rng, seed, policy, OUTSIDE)


def decision_case(seed: int) -> Case:
    """A question about a small decision-aware forest, honest or not."""
    rng = np.random.default_rng([seed, 23])
    n = int(rng.integers(6, 25))
    kinds = "".join(rng.choice(list("cccrrrddbk1"), int(rng.integers(1, 5))))
    X = table(rng, n, kinds, False)
    declared = weighty(seed, schema(rng, X, kinds))
    Y = costs(rng, declared.fit(X).encode(X), int(rng.integers(2, 6)))
    weights = DecisionForest(
        n_trees=int(rng.integers(1, 6)),
        max_depth=[1, 2, 3, 4, None][int(rng.integers(5))],
        min_samples_leaf=int(rng.integers(1, 3)),
        random_state=int(rng.integers(2**31)),
        honest=bool(rng.random() < 0.4),
        plans=int(rng.integers(1, 9)),
    )
    policy = Policy(OneOf(), weights, RISKS[int(rng.integers(len(RISKS)))], declared).fit(X, Y)
    return asked(rng, seed, policy, OUTSIDE)


def neighbour_case(seed: int) -> Case:
    """A question about a few neighbours with at most two continuous features, as many as the reference can take."""
    rng = np.random.default_rng([seed, 21])
    n = int(rng.integers(4, 13))
    kinds = "".join(rng.choice(list("cr"), int(rng.integers(1, 3)))) + "".join(
        rng.choice(list("dbk"), int(rng.integers(0, 3)))
    )
    X = table(rng, n, kinds, spread=False)
    declared = weighty(seed, schema(rng, X, kinds))
    Y = costs(rng, declared.fit(X).encode(X), int(rng.integers(2, 5)))
    weights = KNNWeights(int(rng.integers(1, n)))
    policy = Policy(OneOf(), weights, RISKS[int(rng.integers(len(RISKS)))], declared).fit(X, Y)
    return asked(rng, seed, policy, OUTSIDE[:3])


def truth(case: Case, question: Question) -> float | None:
    """The nearest distance by brute force, infinite for none; None where there is too much to look at."""
    before = case.policy.weights_at(case.context)
    if question.claim.better(before) is None if case.kind == "absolute" else question.claim.is_satisfied(before):
        return 0.0
    if isinstance(question.weights, KNNWeights):
        rivals = [question.claim.decision, *(case.policy.Y_.T if case.kind == "absolute" else ())]
        return nearest_by_vertices(question, rivals)
    try:
        found = nearest(question)
    except AssertionError as error:
        if f"{MOST_CELLS}" in str(error) or "too many" in str(error):
            return None
        raise
    return np.inf if found is None else found.distance


def disagreement(case: Case, **how: Any) -> str:
    """In what the answer of the policy differs from brute force; empty where it does not."""
    question = case.question()
    wanted = truth(case, question)
    if wanted is None:
        return ""
    given = {"decision": case.decision, "kind": case.kind, "fixed": case.fixed, "bounds": case.bounds}
    try:
        why = case.policy.explain(case.context, case.instead, within=case.within, **given, **how)
    except WhenceError as error:
        return f"{type(error).__name__}: {error} (brute force: {wanted!r})"
    if why.status not in ("optimal", "already", "none"):
        return f"status {why.status}"
    exact = EXACT[isinstance(question.weights, KNNWeights)]
    allowed = exact * float(question.space.weight.sum()) * (1.0 + (0.0 if np.isinf(wanted) else wanted))
    if not (why.distance == wanted or abs(why.distance - wanted) <= allowed + resolution(case, question)):
        return f"{why.status} at {why.distance!r}, brute force {wanted!r}"
    return outside(case, why)


def resolution(case: Case, question: Question) -> float:
    """How far apart neighbouring numbers in the user's units are, all features together, as a distance."""
    offset, scale = case.policy.schema_.affine()
    values = np.abs(offset) + np.abs(scale * question.space.start)
    return 2.0 * float((question.space.weight * np.spacing(values) / scale).sum())


def outside(case: Case, why: Explanation) -> str:
    """Which value of the context found lies outside the bounds that the call or the schema gave, if one does."""
    if why.context is None:
        return ""
    for name, feature in case.policy.schema_.features.items():
        if isinstance(feature, Categorical) or why.context[name] == case.context[name]:
            continue
        value = float(why.context[name])
        limits = [case.bounds.get(name, (-np.inf, np.inf))]
        if isinstance(feature, Continuous):
            low, high = case.policy.schema_.training_range(name)
            limits += [(feature.low if feature.low is not None else -np.inf, np.inf)]
            limits += [(-np.inf, feature.high if feature.high is not None else np.inf)]
            limits += (
                [(min(low, float(case.context[name])), max(high, float(case.context[name])))] if low < high else []
            )
        for first, last in limits:
            if not first <= value <= last:
                return f"{name} = {value!r} lies outside {first!r} to {last!r}"
    return ""
