"""Random small questions about neighbours by any metric, over awkward data, each held against brute force.

`metric_case(seed)` always gives the same question, and `metric_disagreement(*metric_case(seed))` says in what the
answer of `Policy.explain` differs from looking at every vertex of the lines that matter
(``tests/metric_reference.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from tests.cases import Case, OneOf, schema
from tests.metric_reference import nearest_by_lines
from tests.soaking import OUTSIDE, RISKS, asked, costs, outside, resolution, table

from whence.errors import WhenceError
from whence.policy import Policy
from whence.weights import KNNWeights

#: Far more than any question takes that can be told apart.
MOST_BOXES = 100_000


def any_matrix(rng: np.random.Generator, columns: int) -> np.ndarray:
    """A metric with correlations; now and then one that does not see every direction."""
    root = rng.normal(size=(columns if rng.random() < 0.8 else max(1, columns - 1), columns))
    found: np.ndarray = root.T @ root * float(rng.choice([1e-3, 1.0, 50.0]))
    return found


def metric_case(seed: int) -> tuple[Case, Any, bool]:
    """A question about a few neighbours by some metric, scaled or not, frozen or not."""
    rng = np.random.default_rng([seed, 31])
    n = int(rng.integers(4, 11))
    kinds = "".join(rng.choice(list("cr"), int(rng.integers(1, 3)))) + "".join(
        rng.choice(list("dbk"), int(rng.integers(0, 2)))
    )
    how = str(rng.choice(["scaled", "own", "frozen"]))
    X = table(rng, n, kinds, spread=how == "frozen")
    declared = schema(rng, X, kinds, spread=how == "frozen")
    Y = costs(rng, declared.fit(X).encode(X), int(rng.integers(2, 5)))
    columns = declared.fit(X).n_coordinates
    k = int(rng.integers(1, n))
    metric: Any = str(rng.choice(["l1", "euclidean"]))
    if rng.random() < 0.35:
        metric = any_matrix(rng, columns)
    if how == "frozen":
        fitted = _fitted(rng, X.to_numpy(dtype=np.float64), Y, k, metric)
        weights = KNNWeights.of(fitted)
    else:
        weights = KNNWeights(k, metric, scaled=how == "scaled")
    policy = Policy(OneOf(), weights, RISKS[int(rng.integers(len(RISKS)))], declared).fit(X, Y)
    return asked(rng, seed, policy, OUTSIDE[:2]), metric, how == "scaled"


def _fitted(rng: np.random.Generator, X: np.ndarray, Y: np.ndarray, k: int, metric: Any) -> Any:
    how: dict[str, Any] = {"metric": "mahalanobis", "metric_params": {"VI": metric}, "algorithm": "brute"}
    if isinstance(metric, str):
        how = {"p": 1 if metric == "l1" else 2, "algorithm": "kd_tree"}
    if rng.random() < 0.5:
        return KNeighborsClassifier(k, **how).fit(X, Y.argmin(axis=1))
    return KNeighborsRegressor(k, **how).fit(X, Y)


def metric_disagreement(case: Case, metric: Any, scaled: bool) -> str:
    """What is wrong with the answer; empty where nothing is."""
    question = case.question()
    before = case.policy.weights_at(case.context)
    rivals = [question.claim.decision, *(case.policy.Y_.T if case.kind == "absolute" else ())]
    if question.claim.better(before) is None if case.kind == "absolute" else question.claim.is_satisfied(before):
        wanted = 0.0
    else:
        wanted = nearest_by_lines(question, rivals, metric, scaled)
    given: dict[str, Any] = {"decision": case.decision, "kind": case.kind, "fixed": case.fixed, "bounds": case.bounds}
    try:
        why = case.policy.explain(case.context, case.instead, **given, node_limit=MOST_BOXES)
    except WhenceError as error:
        return f"{type(error).__name__}: {error} (brute force: {wanted!r})"
    if why.status not in ("optimal", "already", "none") and not 0.99 * wanted <= why.bound <= wanted:
        # Where ranges of a metric without a scale differ by many digits, boxes are split down to the last of them.
        return f"status {why.status} with bound {why.bound!r}, brute force {wanted!r}"
    allowed = 1e-6 * float(question.space.weight.max()) * (1.0 + (0.0 if np.isinf(wanted) else wanted))
    if not (why.distance == wanted or abs(why.distance - wanted) <= allowed + resolution(case, question)):
        return f"{why.status} at {why.distance!r}, brute force {wanted!r}"
    return outside(case, why)
