"""Small random models of other libraries, and the nearest explanation by looking at every cell of theirs.

Written from each library's documentation and its own methods alone: what it calls a leaf (``apply``, ``pred_leaf``,
``calc_leaf_indexes``), where it splits as its own tables or borders say, and how it compares there. Nothing is shared
with the adapters or the search.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from quantile_forest import RandomForestQuantileRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from tests.cases import OneOf

from whence import Binary, Categorical, Continuous, CVaR, Discrete, Expectation, Policy, Schema
from whence.weights import ForestWeights

LEVELS = ("blue", "green", "red", "violet")
#: Most cells that are looked at.
MOST_CELLS = 60_000
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Library:
    """How a library's model is made and asked.

    `leaves` gives a number per row and tree that says which leaf it is; `splits` the thresholds of a column; `turn` the
    last number that goes one way at a threshold; `counted` says which past rows count in which tree, (rows, trees).
    """

    make: Callable[[np.random.Generator, pd.DataFrame, np.ndarray], Any]
    leaves: Callable[[Any, pd.DataFrame], np.ndarray]
    splits: Callable[[Any, int], np.ndarray]
    single: bool
    strict: bool = False
    missing: bool = True
    categories: bool = False
    symmetric: bool = False
    zero: float = 0.0
    counted: Callable[[Any], np.ndarray] | None = None


def _two(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return (y > np.quantile(y, rng.uniform(0.3, 0.7))).astype(int)


def _xgboost(rng: np.random.Generator, X: pd.DataFrame, y: np.ndarray) -> Any:
    options = {
        "n_estimators": int(rng.integers(1, 6)),
        "max_depth": int(rng.integers(1, 4)),
        "tree_method": str(rng.choice(["hist", "exact"])) if not _named(X) else "hist",
        "min_child_weight": float(rng.choice([0.0, 1.0])),
        "subsample": float(rng.choice([1.0, 0.7])),
        "n_jobs": 1,
        "random_state": int(rng.integers(99)),
        "enable_categorical": bool(_named(X)),
        "max_cat_to_onehot": 1,
    }
    if rng.random() < 0.3 and len(np.unique(_two(rng, y))) == 2:
        return xgboost.XGBClassifier(**options).fit(X, _two(rng, y))
    return xgboost.XGBRegressor(**options).fit(X, y)


def _xgboost_leaves(model: Any, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(model.apply(X)).reshape(len(X), -1)


def _xgboost_splits(model: Any, column: int) -> np.ndarray:
    found = [
        node["split_condition"]
        for text in model.get_booster().get_dump(dump_format="json")
        for node in _json_nodes(text)
        if node.get("split") == model.get_booster().feature_names[column]
        and isinstance(node["split_condition"], int | float)
    ]
    # The dump may round; of several float32 near a number in it, each is tried.
    near = np.array(found, dtype=np.float32)
    steps = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    return np.unique(np.concatenate(steps)).astype(np.float64)


def _json_nodes(text: str) -> list[dict[str, Any]]:
    import json

    todo, found = [json.loads(text)], []
    while todo:
        node = todo.pop()
        if "children" in node:
            found.append(node)
            todo += node["children"]
    return found


def _lightgbm(rng: np.random.Generator, X: pd.DataFrame, y: np.ndarray) -> Any:
    options = {
        "n_estimators": int(rng.integers(1, 6)),
        "num_leaves": int(rng.integers(2, 7)),
        "min_child_samples": int(rng.integers(1, 4)),
        "min_data_per_group": 1,
        "cat_smooth": 1.0,
        "verbose": -1,
        "n_jobs": 1,
        "random_state": int(rng.integers(99)),
    }
    if rng.random() < 0.3 and len(np.unique(_two(rng, y))) == 2:
        return lightgbm.LGBMClassifier(**options).fit(X, _two(rng, y))
    return lightgbm.LGBMRegressor(**options).fit(X, y)


def _lightgbm_leaves(model: Any, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(model.booster_.predict(X, pred_leaf=True)).reshape(len(X), -1)


def _lightgbm_splits(model: Any, column: int) -> np.ndarray:
    nodes = model.booster_.trees_to_dataframe()
    name = model.booster_.feature_name()[column]
    own = nodes[(nodes["split_feature"] == name) & (nodes["decision_type"] == "<=")]
    return np.unique(own["threshold"].astype(float))


def _catboost(rng: np.random.Generator, X: pd.DataFrame, y: np.ndarray) -> Any:
    options = {
        "iterations": int(rng.integers(1, 5)),
        "depth": int(rng.integers(1, 4)),
        "border_count": 8,
        "thread_count": 1,
        "verbose": 0,
        "allow_writing_files": False,
        "random_seed": int(rng.integers(99)),
        "nan_mode": str(rng.choice(["Min", "Max"])),
    }
    if rng.random() < 0.3 and len(np.unique(_two(rng, y))) == 2:
        return catboost.CatBoostClassifier(**options).fit(X, _two(rng, y))
    return catboost.CatBoostRegressor(**options).fit(X, y)


def _catboost_leaves(model: Any, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(model.calc_leaf_indexes(X))


def _catboost_splits(model: Any, column: int) -> np.ndarray:
    # The largest numbers set missing values apart.
    return np.asarray([b for b in model.get_borders().get(column, []) if abs(b) < 1e38], dtype=np.float64)


def _histogram(rng: np.random.Generator, X: pd.DataFrame, y: np.ndarray) -> Any:
    options = {
        "max_iter": int(rng.integers(1, 6)),
        "max_leaf_nodes": int(rng.integers(2, 7)),
        "min_samples_leaf": int(rng.integers(1, 4)),
        "max_bins": 12,
        "early_stopping": False,
        "random_state": int(rng.integers(99)),
    }
    if rng.random() < 0.3 and len(np.unique(_two(rng, y))) == 2:
        return HistGradientBoostingClassifier(**options).fit(X, _two(rng, y))
    return HistGradientBoostingRegressor(**options).fit(X, y)


def _histogram_leaves(model: Any, X: pd.DataFrame) -> np.ndarray:
    """It names no leaves: the values of its single trees tell them apart, unless two of them have the same one."""
    seen = model._preprocess_X(X, reset=False)
    known, places = model._bin_mapper.make_known_categories_bitsets()
    columns = [
        predictor.predict(seen, known_cat_bitsets=known, f_idx_map=places, n_threads=1)
        for one in model._predictors
        for predictor in one
    ]
    return np.column_stack(columns)


def _histogram_splits(model: Any, column: int) -> np.ndarray:
    categorical = np.asarray(model.is_categorical_) if model.is_categorical_ is not None else np.zeros(0, dtype=bool)
    place = column if not categorical.any() else int(np.sum(categorical)) + int(np.sum(~categorical[:column]))
    return np.unique(np.asarray(model._bin_mapper.bin_thresholds_[place], dtype=np.float64))


def _sklearn(kind: Any) -> Callable[..., Any]:
    def make(rng: np.random.Generator, X: pd.DataFrame, y: np.ndarray) -> Any:
        depth = [1, 2, 3, None][int(rng.integers(4))]
        options: dict[str, Any] = {"n_estimators": int(rng.integers(1, 5)), "random_state": int(rng.integers(99))}
        if kind is GradientBoostingRegressor:
            depth = depth or 3
        return kind(max_depth=depth, **options).fit(X, y)

    return make


def _sklearn_leaves(model: Any, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(model.apply(X)).reshape(len(X), -1)


def _sklearn_splits(model: Any, column: int) -> np.ndarray:
    trees = [one.tree_ for one in np.ravel(model.estimators_)]
    found = np.unique(np.concatenate([tree.threshold[tree.feature == column] for tree in trees]))
    # A split that sets missing values apart from all numbers has an infinite threshold.
    return found[np.isfinite(found)]


LIBRARIES: dict[str, Library] = {
    "xgboost": Library(_xgboost, _xgboost_leaves, _xgboost_splits, single=True, strict=True, categories=True),
    # What is smaller than its smallest float32, about, is 0 for LightGBM.
    "lightgbm": Library(
        _lightgbm, _lightgbm_leaves, _lightgbm_splits, single=False, categories=True, zero=float(np.float32(1e-35))
    ),
    "catboost": Library(_catboost, _catboost_leaves, _catboost_splits, single=True, symmetric=True),
    "histogram": Library(_histogram, _histogram_leaves, _histogram_splits, single=False, categories=True),
    "gradient": Library(_sklearn(GradientBoostingRegressor), _sklearn_leaves, _sklearn_splits, True, missing=False),
    "forest": Library(_sklearn(RandomForestRegressor), _sklearn_leaves, _sklearn_splits, single=True),
    "extra": Library(_sklearn(ExtraTreesRegressor), _sklearn_leaves, _sklearn_splits, single=True),
    "quantile": Library(_sklearn(RandomForestQuantileRegressor), _sklearn_leaves, _sklearn_splits, True, missing=False),
}
#: Those that have a test module of their own, which puts them here.
OTHERS: dict[str, Library] = {}


def library_of(name: str) -> Library:
    """How the library of that name is made and asked."""
    return OTHERS[name] if name in OTHERS else LIBRARIES[name]


def _named(X: pd.DataFrame) -> list[str]:
    return [name for name in X.columns if isinstance(X[name].dtype, pd.CategoricalDtype)]


# ---- random questions ------------------------------------------------------------------------------------------------


@dataclass
class PredictorCase:
    """A policy on the leaves of a model, and a question about it."""

    library: str
    seed: int
    model: Any
    policy: Policy
    context: pd.Series
    decision: int
    instead: int
    kind: str
    fixed: tuple[str, ...] = ()
    bounds: dict[str, Any] = field(default_factory=dict)
    fill: tuple[str, ...] = ()

    def explained(self, **how: Any) -> Any:
        """The policy's own answer."""
        return self.policy.explain(
            self.context,
            self.instead,
            decision=self.decision,
            kind=self.kind,
            fixed=self.fixed,
            bounds=self.bounds,
            fill=self.fill,
            **how,
        )


#: What a number of the context is multiplied by and shifted by.
UNITS = ((1.0, 0.0), (1.0, 0.0), (1.0, -3.7), (1e-9, 0.0), (1e9, 0.0), (86400.0, 1.7e9), (0.1, 0.0))


def contexts(rng: np.random.Generator, n: int, library: Library) -> pd.DataFrame:
    """Past contexts: decimals, whole numbers, zeros, switches, categories and missing numbers."""
    columns: dict[str, Any] = {}
    for j in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(list("ccrrzdbk")))
        name = f"{kind}{j}"
        if kind == "k" and not library.categories:
            kind = "b"
            name = f"b{j}"
        if kind == "c":
            factor, offset = UNITS[int(rng.integers(len(UNITS)))]
            columns[name] = rng.normal(size=n) * factor + offset
        elif kind == "r":
            factor, offset = UNITS[int(rng.integers(len(UNITS)))]
            columns[name] = rng.normal(size=n).round(1) * factor + offset
        elif kind == "z":
            columns[name] = np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n).round(1))
        elif kind == "d":
            columns[name] = rng.integers(-2, 4, n)
        elif kind == "b":
            columns[name] = rng.random(n) < 0.5
        else:
            columns[name] = pd.Categorical(rng.choice(LEVELS[:3], n), categories=LEVELS)
    X = pd.DataFrame(columns)
    if library.missing and rng.random() < 0.4:
        for name in X.columns:
            if name[0] in "crz":
                X.loc[rng.random(n) < 0.2, name] = np.nan
                X.loc[int(rng.integers(n)), name] = 0.5
    return X


def case(library: str, seed: int) -> PredictorCase:
    """Return the question of a seed: always the same one."""
    how = library_of(library)
    rng = np.random.default_rng([seed, sum(map(ord, library))])
    n = int(rng.integers(8, 30))
    X = contexts(rng, n, how)
    numeric = np.column_stack([_codes(X[name]) for name in X.columns])
    spread = np.nan_to_num((numeric - np.nanmean(numeric, axis=0)) / (np.nanstd(numeric, axis=0) + 1e-12))
    target = spread @ rng.normal(size=spread.shape[1]) + 0.3 * rng.normal(size=n)
    model = how.make(rng, X, target)
    plans = int(rng.integers(2, 5))
    Y = (spread @ rng.normal(size=(spread.shape[1], plans)) + rng.random((n, plans)) + 3.0).round(int(rng.integers(4)))
    risk = Expectation() if rng.random() < 0.7 else CVaR(float(rng.choice([0.3, 0.5, 0.8])))
    weights = ForestWeights.of(model)
    policy = Policy(OneOf(), weights, risk, _schema(rng, X)).fit(X, Y)
    context = _start(rng, X, how, policy)
    risks = [policy.risk_.of(column, policy.weights_at(context)) for column in policy.Y_.T]
    decision = int(np.argmin(risks))
    instead = int(rng.choice([j for j in range(plans) if j != decision]))
    gone = [name for name in X.columns if name[0] in "crz" and pd.isna(context[name])]
    return PredictorCase(
        library,
        seed,
        model,
        policy,
        context,
        decision,
        instead,
        str(rng.choice(["relative", "absolute"])),
        tuple(name for name in X.columns if rng.random() < 0.05),
        _bounds(rng, X),
        tuple(gone) if rng.random() < 0.5 else (),
    )


def on_turns(library: str, seed: int) -> PredictorCase | None:
    """The same question from a context whose numbers are the last before a threshold, or the first beyond it."""
    asked, how = case(library, seed), library_of(library)
    rng = np.random.default_rng(seed)
    for j, name in enumerate(asked.policy.X_.columns):
        cuts = how.splits(asked.model, j) if name[0] in "crz" else np.zeros(0)
        if cuts.size and rng.random() < 0.8:
            asked.context[name] = float(_turn(float(rng.choice(cuts)), how)[int(rng.integers(2))])
    weights = asked.policy.weights_at(asked.context)
    asked.decision = int(np.argmin([asked.policy.risk_.of(column, weights) for column in asked.policy.Y_.T]))
    return None if asked.instead == asked.decision else asked


def _codes(values: pd.Series) -> np.ndarray:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy(dtype=np.float64)
    return values.to_numpy(dtype=np.float64)


def _schema(rng: np.random.Generator, X: pd.DataFrame) -> Schema:
    features: dict[str, Any] = {}
    for name in X.columns:
        options: dict[str, Any] = {"weight": float(rng.choice([1.0, 1.0, 0.5, 2.0]))}
        if rng.random() < 0.15 and name[0] != "k":
            options["change"] = str(rng.choice(["increase", "decrease"]))
        if name[0] in "crz":
            features[name] = Continuous(**options)
        elif name[0] == "d":
            features[name] = Discrete(**options)
        elif name[0] == "b":
            features[name] = Binary(**options)
        else:
            features[name] = Categorical(LEVELS, **options)
    return Schema(features)


def _start(rng: np.random.Generator, X: pd.DataFrame, how: Library, policy: Policy) -> pd.Series:
    """A past context, one between or outside them, or one that lies on thresholds; some numbers missing."""
    row = X.iloc[int(rng.integers(len(X)))].astype(object).copy()
    model = policy.weights.frozen if policy.weights is not None else None
    for j, name in enumerate(X.columns):
        if name[0] not in "crz":
            continue
        low, high = float(X[name].min()), float(X[name].max())
        drawn = rng.random()
        if drawn < 0.3:
            row[name] = float(rng.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low)))
        elif drawn < 0.5:
            cuts = how.splits(model, j)
            if cuts.size:
                row[name] = float(rng.choice(cuts))
        elif drawn < 0.6 and how.missing:
            row[name] = np.nan
    return policy.schema_.row(row)


def _bounds(rng: np.random.Generator, X: pd.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in X.columns:
        if rng.random() > 0.12:
            continue
        if name[0] == "k":
            found[name] = [str(level) for level in rng.choice(LEVELS, 2, replace=False)]
        elif name[0] in "crzd":
            low, high = float(X[name].min()), float(X[name].max())
            ends = np.sort(rng.uniform(low, high, 2)) if rng.random() < 0.5 else np.array([min(0.0, high), high])
            found[name] = (float(ends[0]), float(ends[1]))
    return found


# ---- brute force -----------------------------------------------------------------------------------------------------


def brute_force(asked: PredictorCase, judged: Any = None) -> float | None:
    """The nearest distance, infinite for none; None where there are too many cells.

    `judged` says of a case and rows which of them are explanations.
    """
    X = asked.policy.X_
    if judged is None and asked.library == "histogram" and _alike(asked.model):
        return None
    judged = judged or _judged
    if judged(asked, _rows(asked, [tuple(asked.context[name] for name in X.columns)]))[0]:
        return 0.0
    choices = [_choices(asked, j, name) for j, name in enumerate(X.columns)]
    if np.prod([len(c) for c in choices], dtype=float) > MOST_CELLS:
        return None
    combined = list(itertools.product(*choices))
    distance = np.array([sum(price for _, price in one) for one in combined])
    order = np.argsort(distance, kind="stable")
    for block in np.array_split(order, max(1, len(order) // 2000)):
        rows = _rows(asked, [tuple(value for value, _ in combined[i]) for i in block])
        holds = judged(asked, rows)
        if holds.any():
            return float(distance[block[int(np.argmax(holds))]])
    return np.inf


def _alike(model: Any) -> bool:
    """Whether two leaves of a tree have the same value, so that nothing tells them apart."""
    values = [one.nodes["value"][one.nodes["is_leaf"] == 1] for many in model._predictors for one in many]
    return any(np.unique(own).size < own.size for own in values)


def _rows(asked: PredictorCase, values: list[tuple[Any, ...]]) -> pd.DataFrame:
    X = asked.policy.X_
    rows = pd.DataFrame(values, columns=X.columns)
    for name in X.columns:
        rows[name] = rows[name].astype(X[name].dtype)
    return rows


def _judged(asked: PredictorCase, rows: pd.DataFrame) -> np.ndarray:
    """Whether each row is an explanation, by the library's own leaves and the risk measure."""
    how, policy = library_of(asked.library), asked.policy
    past, here = how.leaves(asked.model, policy.X_), how.leaves(asked.model, rows)
    counted = None if how.counted is None else how.counted(asked.model)
    costs = policy.Y_.T
    tau = TOLERANCE * float(np.abs(costs[asked.instead]).max())
    rivals = [asked.decision] if asked.kind == "relative" else list(range(len(costs)))
    known: dict[bytes, bool] = {}
    found = np.zeros(len(rows), dtype=bool)
    for i, leaves in enumerate(here):
        key = leaves.tobytes()
        if key not in known:
            weights = weights_by_leaves(past, leaves, how.symmetric, asked.model, counted)
            least = min(policy.risk_.of(costs[r], weights) for r in rivals)
            known[key] = bool(policy.risk_.of(costs[asked.instead], weights) <= least + tau)
        found[i] = known[key]
    return found


def weights_by_leaves(
    past: np.ndarray,
    leaves: np.ndarray,
    symmetric: bool = False,
    model: Any = None,
    counted: np.ndarray | None = None,
) -> np.ndarray:
    """Weights of the past observations where a context has these leaves.

    In a symmetric tree, the answers to its questions are the bits of a leaf; where nobody stands in it, the last
    questions are dropped until somebody agrees on the rest.
    """
    weights = np.zeros(len(past))
    for t in range(past.shape[1]):
        same = (past[:, t] == leaves[t]) & (True if counted is None else counted[:, t])
        bits = int(model.get_param("depth") or 6) if symmetric else 0
        while not same.any():
            bits -= 1
            assert bits >= 0
            same = (past[:, t].astype(int) % (1 << bits)) == (int(leaves[t]) % (1 << bits))
        weights[same] += 1.0 / same.sum()
    return weights / past.shape[1]


def _choices(asked: PredictorCase, j: int, name: str) -> list[tuple[Any, float]]:
    """The nearest allowed value between two thresholds, for each such pair, with what it costs to go there."""
    X, context = asked.policy.X_, asked.context
    feature = asked.policy.schema_.features[name]
    start, weight = context[name], float(feature.weight)
    if name in asked.fixed:
        return [(start, 0.0)]
    if name[0] == "k":
        allowed = [level for level in LEVELS if (X[name] == level).any() and level in asked.bounds.get(name, LEVELS)]
        return [(start, 0.0)] + [(level, weight) for level in allowed if level != start]
    if name[0] == "b":
        other = [not start] if feature.change == "free" or bool(start) == (feature.change == "decrease") else []
        return [(start, 0.0)] + [(value, weight) for value in other]
    gone = pd.isna(start)
    low, high = float(X[name].min()), float(X[name].max())
    scale = high - low if high > low else 1.0
    first, last = (low, high) if gone or low == high else (min(low, float(start)), max(high, float(start)))
    first, last = (
        max(first, asked.bounds.get(name, (first, last))[0]),
        min(last, asked.bounds.get(name, (first, last))[1]),
    )
    if low == high and name not in asked.bounds:
        first, last = low, high
    if not gone:
        first = max(first, start) if feature.change == "increase" else first
        last = min(last, start) if feature.change == "decrease" else last
    if gone and name not in asked.fill:
        return [(start, 0.0)]
    tried = [first, last]
    cuts = cuts_of(asked, j)
    if name[0] == "d":
        tried = sorted({float(v) for v in X[name].unique()})
    else:
        tried += [value for cut in cuts for value in _turn(float(cut), library_of(asked.library))]
    tried = [value for value in tried if first <= value <= last]
    if gone:
        return [(start, 0.0)] + [(value, weight) for value in tried]

    def coordinate(value: float) -> float:
        return (value - low) / scale

    best: dict[int, tuple[Any, float]] = {}
    for value in [float(start), *tried]:
        price = weight * abs(coordinate(value) - coordinate(float(start)))
        cell = int(np.sum([_right(value, float(cut), library_of(asked.library)) for cut in cuts]))
        if cell not in best or price < best[cell][1]:
            best[cell] = value, price
    return [(int(v), p) if name[0] == "d" else (v, p) for v, p in best.values()]


def cuts_of(asked: PredictorCase, j: int) -> np.ndarray:
    """The thresholds of a column, in the model or in all of several models."""
    models = asked.model if isinstance(asked.model, list) else [asked.model]
    return np.unique(np.concatenate([library_of(asked.library).splits(model, j) for model in models]))


def _right(value: float, cut: float, how: Library) -> bool:
    """Whether a number goes to the right of a threshold, as the library compares it."""
    seen = float(np.float32(value)) if how.single else value
    if how.zero and abs(value) <= how.zero:
        seen = 0.0
    return seen >= cut if how.strict else seen > cut


def _turn(cut: float, how: Library) -> tuple[float, float]:
    """The last number that goes to the left of a threshold, and the next one, by bisection."""
    low, high = cut - 1e-6 * (1.0 + abs(cut)), cut + 1e-6 * (1.0 + abs(cut))
    if abs(cut) < 1e-6:
        low, high = cut - max(abs(cut), 1e-12), cut + max(abs(cut), 1e-12)
    while True:
        middle = low + (high - low) / 2.0
        if middle in (low, high):
            return low, high
        low, high = (low, middle) if _right(middle, cut, how) else (middle, high)


def disagreement(asked: PredictorCase, **how: Any) -> str:
    """In what the policy's answer differs from brute force; empty where it does not."""
    return compared(asked, **how) or ""


def compared(asked: PredictorCase, **how: Any) -> str | None:
    """The same; None where there are too many cells to look at."""
    wanted = brute_force(asked)
    return None if wanted is None else differing(asked, wanted, asked.explained(**how))


def differing(asked: PredictorCase, wanted: float, why: Any) -> str:
    """In what an answer differs from the nearest distance by brute force."""
    if why.status not in ("optimal", "already", "none"):
        return f"status {why.status}"
    offset, scale = asked.policy.schema_.affine()
    weight = sum(float(f.weight) for f in asked.policy.schema_.features.values())
    rounding = 1e-11 * weight + 4.0 * weight * float(np.max(np.spacing(np.abs(offset) + scale) / scale))
    if why.distance == wanted or abs(why.distance - wanted) <= rounding * (1.0 + wanted):
        return ""
    return f"{why.status} at {why.distance!r}, brute force {wanted!r}"
