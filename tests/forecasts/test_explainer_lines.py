"""Forecasts that are lines: nearest contexts in which they cross a value, against filling up the steepest features."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVR
from tests.blocks import seeds

import whence as wh
from whence.errors import InputError, InputTypeError
from whence.models.lines import PipedTrees

KINDS = ["plain", "scaled", "logistic", "poisson", "margin", "classes", "outputs"]
UNITS = [(1.0, 0.0), (1.0, 5.0), (1e-9, 0.0), (1e9, 0.0), (86400.0, 1.7e9)]


class LineCase:
    """A random question about a linear model, and its answer from what the model itself says."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 191])
        self.rng, self.kind, n = rng, KINDS[seed % len(KINDS)], 40
        raw = rng.random((n, int(rng.integers(1, 4)))).round(3)
        self.numbers = [f"x{j}" for j in range(raw.shape[1])]
        units = [UNITS[int(rng.integers(len(UNITS)))] for _ in self.numbers]
        X = pd.DataFrame({name: raw[:, j] * units[j][0] + units[j][1] for j, name in enumerate(self.numbers)})
        features: dict[str, Any] = {name: wh.Continuous() for name in self.numbers}
        parts = [raw @ rng.normal(size=raw.shape[1])]
        self.levels: dict[str, list[Any]] = {}
        if rng.random() < 0.5:
            X["level"] = rng.permutation(np.resize([1, 2, 3, 4], n))
            parts.append(0.2 * X["level"].to_numpy() * rng.normal())
            features["level"], self.levels["level"] = wh.Discrete(range(1, 5)), [1, 2, 3, 4]
        if rng.random() < 0.5:
            X["on"] = rng.permutation(np.resize([True, False], n))
            parts.append(0.5 * X["on"].to_numpy() * rng.normal())
            self.levels["on"] = [False, True]
        if rng.random() < 0.5:
            X["shop"] = rng.permutation(np.resize(["a", "b", "c"], n))
            parts.append(X["shop"].map(dict(zip("abc", rng.normal(size=3), strict=True))).to_numpy())
            self.levels["shop"] = ["a", "b", "c"]
        self.X, self.y = X, np.sum(parts, axis=0) + 0.1 * rng.normal(size=n)
        self.label: Any = None
        self.model = self._model()
        self.ensemble = wh.Ensemble(self.model, wh.Schema(features), self.label).fit(X)
        self.start = self._start()
        low, high = np.sort(rng.choice(self.said(X), 2, replace=False))
        asked = ["at_most", "at_least", "between"][int(rng.integers(3))]
        self.limits: dict[str, Any] = {asked: (float(low), float(high))}
        if asked != "between":
            self.limits = {asked: float(low if asked == "at_most" else high)}
        self.fixed = [name for name in X.columns if rng.random() < 0.1]
        self.most = int(rng.integers(1, 3)) if rng.random() < 0.3 else None
        self.bounds = {}
        for name in self.numbers:
            if rng.random() < 0.2:
                ends = [float(self.start[name]), float(rng.uniform(X[name].min(), X[name].max()))]
                self.bounds[name] = (min(ends), max(ends))

    def _model(self) -> Any:
        numeric = [name for name in self.X.columns if name != "shop"]
        scaler = StandardScaler() if self.rng.random() < 0.5 else MinMaxScaler()
        steps = [make_column_transformer((OneHotEncoder(), ["shop"]), (scaler, numeric))]
        steps = steps if "shop" in self.X else [scaler]
        y, plain = self.y, self.kind == "plain" and "shop" not in self.X
        third = (y > np.quantile(y, 0.3)).astype(int) + (y > np.quantile(y, 0.7))
        if self.kind in ("classes", "outputs"):
            self.label = 1
        last, goal = {
            "plain": (LinearRegression(), y),
            "scaled": (Ridge(0.1), y),
            "logistic": (LogisticRegression(), (y > np.median(y)).astype(int)),
            "poisson": (PoissonRegressor(), np.exp(y)),
            "margin": (RidgeClassifier(), np.where(y > np.median(y), "late", "early")),
            "classes": (LogisticRegression(), third),
            "outputs": (LinearRegression(), np.column_stack([y, y[::-1] + self.y])),
        }[self.kind]
        return (last if plain else make_pipeline(*steps, last)).fit(self.X, goal)

    def _start(self) -> pd.Series:
        row = self.X.iloc[int(self.rng.integers(len(self.X)))].astype(object).copy()
        for name in self.numbers:
            if self.rng.random() < 0.5:
                low, high = float(self.X[name].min()), float(self.X[name].max())
                row[name] = float(self.rng.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low)))
        return row

    def said(self, rows: pd.DataFrame) -> np.ndarray:
        """What limits are limits of."""
        rows = rows.astype(self.X.dtypes)
        if self.kind == "logistic":
            return self.model.predict_proba(rows)[:, 1]
        if self.kind in ("margin", "classes"):
            found = self.model.decision_function(rows)
            return found if found.ndim == 1 else found[:, 1]
        found = self.model.predict(rows)
        return found if found.ndim == 1 else found[:, 1]

    def linear(self, value: Any) -> Any:
        """A forecast as a point of the line behind it."""
        if self.kind == "logistic":
            return np.log(value / (1 - value))
        return np.log(value) if self.kind == "poisson" else value

    def nearest(self) -> float:
        """For every choice of what is not continuous, the steepest numbers are moved first, as far as they may."""
        low, high = self.limits.get("between", (self.limits.get("at_least"), self.limits.get("at_most")))
        ends = [-np.inf if low is None else self.linear(low), np.inf if high is None else self.linear(high)]
        spans = {name: float(np.ptp(self.X[name])) for name in self.X.columns if name not in ("shop", "on")}
        best = np.inf
        names = list(self.levels)
        free = [[self.start[n]] if n in self.fixed else self.levels[n] for n in names]
        for chosen in itertools.product(*free):
            row = self.start.copy()
            paid, changed = 0.0, 0
            for name, value in zip(names, chosen, strict=True):
                differs = value != self.start[name]
                changed += differs
                paid += abs(value - self.start[name]) / spans[name] if name == "level" else float(differs)
                row[name] = value
            here = float(self.linear(self.said(row.to_frame().T))[0])
            need = max(ends[0] - here, here - ends[1], 0.0)
            way = 1.0 if here < ends[0] else -1.0
            left = None if self.most is None else self.most - changed
            if left is None or left >= 0:
                best = min(best, paid + self._filled(row, here, need, way, left, spans))
        return best

    def _filled(
        self, row: pd.Series, here: float, need: float, way: float, left: int | None, spans: dict[str, float]
    ) -> float:
        if need == 0.0:
            return 0.0
        moves = []
        for name in self.numbers:
            if name in self.fixed:
                continue
            there = row.copy()
            there[name] = row[name] + spans[name]
            slope = way * (float(self.linear(self.said(there.to_frame().T))[0]) - here)
            value = float(self.start[name])
            low, high = min(float(self.X[name].min()), value), max(float(self.X[name].max()), value)
            low, high = (
                max(low, self.bounds.get(name, (low, high))[0]),
                min(high, self.bounds.get(name, (low, high))[1]),
            )
            moves.append((abs(slope), (high - value if slope > 0 else value - low) / spans[name]))
        best = np.inf
        for size in range(1, len(moves) + 1 if left is None else min(left, len(moves)) + 1):
            for some in itertools.combinations(moves, size):
                short, paid = need, 0.0
                for slope, room in sorted(some, reverse=True):
                    step = min(room, short / slope) if slope > 0 else 0.0
                    short, paid = short - slope * step, paid + step
                if short <= 1e-9 * max(1.0, abs(here), need):
                    best = min(best, paid)
        return best


def test_the_nearest_crossing_of_a_line() -> None:
    """Random linear models, alone and behind scalers and encoders, in any units, with restrictions: what is found is
    as near as what filling up the steepest features finds, kept by the model, and the same when it is read again."""
    statuses = set()
    for seed in seeds(24, 49):
        case = LineCase(seed)
        wanted = case.nearest()
        how = {"fixed": case.fixed, "bounds": case.bounds, "max_changes": case.most}
        why = case.ensemble.explain(case.start, **case.limits, **how)
        statuses.add(why.status)
        assert why.distance == pytest.approx(wanted, rel=2e-5, abs=2e-5), (seed, why.status, wanted)
        assert why.bound == why.distance
        if why.context is not None:
            after = float(case.said(why.context.to_frame().T)[0])
            assert after == pytest.approx(why.forecast_after, rel=1e-9, abs=1e-12)
            low, high = case.limits.get("between", (case.limits.get("at_least"), case.limits.get("at_most")))
            slack = 3e-6 * max(1.0, abs(after))
            assert low is None or after >= low - slack, seed
            assert high is None or after <= high + slack, seed
        assert why.verify(case.ensemble), seed
        again = wh.Crossing.from_json(why.to_json())
        assert (again.text, again.distance, again.intact) == (why.text, why.distance, True)
        assert again.verify(case.ensemble), seed
    assert {"optimal", "none", "already"} <= statuses


def test_trees_behind_scalers_and_encoders() -> None:
    """Of all contexts there are, the nearest one for which the pipeline itself forecasts enough is found."""
    for seed in range(6):
        rng = np.random.default_rng([seed, 192])
        n, unit = 40, float(rng.choice([1.0, 1e-6, 1e9]))
        X = pd.DataFrame({"a": rng.integers(0, 6, n) * 0.1 * unit + unit, "shop": rng.choice(list("pqrs"), n)})
        X["b"] = rng.integers(1, 5, n)
        y = X["a"] / unit + X["shop"].map(dict(zip("pqrs", rng.normal(size=4), strict=True))) + rng.normal(size=n) * 0.3
        scaler = [StandardScaler(), MinMaxScaler(), "passthrough"][seed % 3]
        encoder = OneHotEncoder(drop="first" if seed % 2 else None)
        columns = make_column_transformer((encoder, ["shop"]), (scaler, ["a", "b"]))
        forest = [RandomForestRegressor(4, max_depth=4, random_state=seed), GradientBoostingRegressor(n_estimators=5)]
        model = make_pipeline(columns, forest[seed // 2 % 2]).fit(X, y + 0.1 * X["b"])
        schema = wh.Schema({"a": wh.Discrete(sorted(X["a"].unique())), "b": wh.Discrete([1, 2, 3, 4])})
        ensemble = wh.Ensemble(model, schema).fit(X)
        np.testing.assert_allclose(ensemble.predict(X), model.predict(X))
        every = pd.DataFrame(
            itertools.product(sorted(X["a"].unique()), sorted(X["shop"].unique()), [1, 2, 3, 4]),
            columns=["a", "shop", "b"],
        )
        said = model.predict(every)
        goal, start = float(np.quantile(said, 0.93)) - 1e-6, X.iloc[int(np.argmin(y))]
        away = np.abs(every["a"] - start["a"]) / np.ptp(X["a"]) + np.abs(every["b"] - start["b"]) / np.ptp(X["b"])
        away += every["shop"] != start["shop"]
        why = ensemble.explain(start, at_least=goal)
        assert why.distance == pytest.approx(away[said >= goal].min(), abs=1e-9), seed
        assert why.verify(ensemble)
        # On every threshold, and on the next number beyond it, the trees lead to the leaves of the pipeline's own.
        piped = PipedTrees.of(model).in_columns(X, ensemble.schema_.seen_columns())
        cuts = np.unique(np.concatenate([tree.threshold[tree.feature == 0] for tree in piped.trees]))
        both = np.concatenate([cuts, np.nextafter(cuts, np.inf)])
        rows = every.iloc[rng.integers(0, len(every), both.size)].assign(a=both)
        codes = [piped.categories[1].index(shop) for shop in rows["shop"]]
        leaves = [tree.apply(np.column_stack([both, codes, rows["b"]])) for tree in piped.trees]
        own = model[-1].apply(model[:-1].transform(rows))
        np.testing.assert_array_equal(np.column_stack(leaves), own.reshape(len(rows), -1))
        assert cuts.size


def days(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"heat": rng.uniform(0, 30, n).round(1), "rain": rng.uniform(0, 9, n).round(1)})
    return X, (40 + 2 * X["heat"] - 3 * X["rain"]).to_numpy()


def test_a_pipeline_of_one_step_is_that_step() -> None:
    """Trees alone in a pipeline are read like the trees themselves; labels in messages are plain numbers."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    forest = RandomForestRegressor(3, random_state=0)
    whys = [
        wh.Ensemble(model.fit(X, X[:, 0])).fit(X).explain(X[0], at_least=1.0)
        for model in (make_pipeline(forest), forest)
    ]
    assert whys[0].status == "optimal"
    assert whys[0].distance == whys[1].distance
    classes = make_pipeline(RandomForestClassifier(2, random_state=0)).fit(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(InputError, match=r"'label' must be one of 0, 1\. Got 'a' instead\."):
        wh.Ensemble(classes, label="a")


def test_relations_and_usual_contexts_of_a_line() -> None:
    """What holds between features holds in the answer; one that is usual is no nearer."""
    X, y = days()
    numbers = wh.Schema({"heat": wh.Continuous(), "rain": wh.Continuous()})
    ensemble = wh.Ensemble(LinearRegression().fit(X, y), numbers, unit="cones").fit(X)
    start = {"heat": 5.0, "rain": 2.0}
    near = ensemble.explain(start, at_least=60)
    # Two cones per degree: 60 = 40 + 2 * 13 - 3 * 2.
    assert near.context.to_dict() == {"heat": pytest.approx(13.0), "rain": 2.0}
    assert near.engine == "integer program (forecast)"
    assert near.model == "LinearRegression, a line through 2 columns"
    assert str(near).startswith("The forecast would be at least 60 cones if heat were ")
    related = ensemble.explain(start, at_least=60, relations=["heat <= 20 - 5 * rain"])
    assert related.context["heat"] == pytest.approx(20 - 5 * related.context["rain"], abs=1e-6)
    assert related.distance > near.distance
    few = wh.Ensemble(ensemble.model).fit(X[:12])
    usual = few.explain(X.iloc[0], at_least=60, plausible=0.4)
    assert usual.distance >= few.explain(X.iloc[0], at_least=60).distance - 1e-6
    assert usual.verify(few)
    none = ensemble.explain(start, at_least=60, fixed=["heat"])
    assert (none.status, none.blocking) == ("none", ["heat"])
    again = pickle.loads(pickle.dumps(ensemble))
    assert again.explain(start, at_least=60).distance == near.distance
    changed = near.to_dict() | {"distance": 0.1}
    assert not wh.Crossing.from_dict(changed).verify(ensemble)
    with pytest.raises(InputError, match=r"The entry 'status' of the answer must be one of 'optimal'"):
        wh.Crossing.from_dict(changed | {"status": "fine"})


def test_the_forecast_of_a_policy_by_a_line() -> None:
    """Of each outcome that a policy forecasts by a line, as of one that it forecasts by trees."""
    X, y = days()
    Y = pd.DataFrame({"cones": y, "cups": 90 - y})
    policy = wh.Policy(wh.Newsvendor([1, 1], [3, 3]), wh.ForecastWeights("linear")).fit(
        X.assign(day=["Mon", "Sat"] * 60), Y
    )
    ensemble = wh.Ensemble.of(policy, "cups", unit="cups")
    why = ensemble.explain({"heat": 5.0, "rain": 2.0, "day": "Mon"}, at_most=30)
    assert why.context["heat"] == pytest.approx(13.0, abs=1e-6)
    assert str(why).startswith("The forecast of cups would be at most 30 cups if heat were ")
    assert why.verify(ensemble)


def test_what_is_no_line_is_refused() -> None:
    """Steps that bend a line, features that the model bends, other models and other columns, a sentence each."""
    X, y = days()
    bent = make_pipeline(PolynomialFeatures(2), LinearRegression()).fit(X, y)
    with pytest.raises(InputError, match=r"'model' must be a pipeline of scalers.* Got PolynomialFeatures"):
        wh.Ensemble(bent)
    cut = make_pipeline(MinMaxScaler(clip=True), LinearRegression()).fit(X, y)
    with pytest.raises(InputError, match=r"'model' must be a pipeline of scalers.* Got MinMaxScaler\(clip=True\)"):
        wh.Ensemble(cut)
    months = X.assign(month=np.arange(120) % 5)
    coded = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["month"]), remainder="passthrough"), LinearRegression()
    ).fit(months, y + 10 * (months["month"] == 2))
    with pytest.raises(InputError, match=r"'model' must be a line in 'month', or know it as a category."):
        wh.Ensemble(coded).fit(months)
    named = wh.Ensemble(coded, wh.Schema({"month": wh.Categorical()})).fit(months)
    assert named.explain(months.iloc[0], at_least=float(named.predict(months).max())).status == "optimal"
    with pytest.raises(InputTypeError, match=r"'model' must be a fitted tree ensemble .* or a linear model"):
        wh.Ensemble(SVR().fit(X, y))
    mixed = make_pipeline(StandardScaler(), PCA(2), RandomForestRegressor(3)).fit(X, y)
    with pytest.raises(InputError, match=r"'model' must be a pipeline of scalers.* Got PCA"):
        wh.Ensemble(mixed)
    with pytest.raises(InputError, match=r"'X' must have the 2 columns that the fitted LinearRegression"):
        wh.Ensemble(LinearRegression().fit(X.to_numpy(), y)).fit(X.to_numpy()[:, :1])
    with pytest.raises(InputError, match=r"'X' must have the columns that the fitted .* has seen, in their order"):
        wh.Ensemble(LinearRegression().fit(X, y)).fit(X[["rain", "heat"]])


@pytest.mark.parametrize("seed", seeds(20, 99))
def test_numbers_that_go_in_steps(seed: int) -> None:
    """The nearest of all contexts of the steps, listed one by one: restrictions, circles, starts between steps."""
    rng = np.random.default_rng([seed, 613])
    unit, offset = UNITS[seed % len(UNITS)]
    step, names = unit / 8, list("abc")
    X = pd.DataFrame(rng.integers(0, 9, (30, 3)) * step + offset, columns=names)
    model = LinearRegression().fit(X, (X.to_numpy() - offset) @ rng.normal(size=3) / unit + rng.normal(size=30))
    schema = {name: wh.Continuous(step=step) for name in names}
    low = offset - step * float(rng.integers(3))
    if rng.random() < 0.5:
        schema["b"] = wh.Continuous(low=low, high=offset + unit, step=step, change="increase")
    if offset == 0.0 and rng.random() < 0.5:
        schema["c"] = wh.Cyclic(period=1.25 * unit, step=step)
    ensemble = wh.Ensemble(model, wh.Schema(schema)).fit(X)
    start = X.iloc[int(rng.integers(30))].copy()
    if rng.random() < 0.3:
        start["c"] += 0.3 * step
    asked: dict[str, Any] = {"fixed": ["a"]} if rng.random() < 0.2 else {}
    asked["max_changes"] = [None, 1, 2][int(rng.integers(3))]
    asked["relations"] = ["a <= c"] if start["a"] <= start["c"] and rng.random() < 0.5 else ()
    said = ensemble.predict(X)
    low, high = sorted(rng.choice(said, 2, replace=False))
    asked |= [{"at_least": high}, {"at_most": low}, {"between": (low, high)}][int(rng.integers(3))]
    why = ensemble.explain(start, **asked)
    assert why.distance == pytest.approx(nearest_in_steps(ensemble, X, start, step, asked), abs=1e-7)


def nearest_in_steps(ensemble: wh.Ensemble, X: pd.DataFrame, start: pd.Series, step: float, asked: dict) -> float:
    """How far the nearest context is among all of them."""
    ends = asked.get("between", (asked.get("at_least", -np.inf), asked.get("at_most", np.inf)))
    places = []
    for name in X.columns:
        feature = ensemble.schema_.features[name]
        if name in asked.get("fixed", ()):
            places.append(np.array([start[name]]))
            continue
        low, high = X[name].min(), X[name].max()
        if isinstance(feature, wh.Continuous):
            low, high = (
                low if feature.low is None else max(low, feature.low),
                high if feature.high is None else min(high, feature.high),
            )
        grid = step * np.arange(np.ceil(low / step - 1e-6), np.floor(high / step + 1e-6) + 1)
        grid = grid[grid >= start[name] - 1e-9 * step] if feature.change == "increase" else grid
        places.append(np.append(grid, start[name]))
    rows = pd.DataFrame(list(itertools.product(*places)), columns=X.columns)
    away = np.abs(rows - start)
    kept = (away > 1e-6 * step).sum(axis=1) <= (asked["max_changes"] or 9)
    kept &= (rows["a"] <= rows["c"] + 1e-6 * step) | (not asked["relations"])
    said, slack = ensemble.predict(rows), 1e-6
    kept &= (said >= ends[0] - slack) & (said <= ends[1] + slack)
    spans = [float(np.ptp(X[name])) for name in X.columns]
    if isinstance(ensemble.schema_.features["c"], wh.Cyclic):
        spans[-1] = 5 * step
        away["c"] = np.minimum(away["c"], 10 * step - away["c"])
    return float((away[kept] / spans).sum(axis=1).min()) if kept.any() else np.inf
