"""The forecast itself: nearest contexts in which it crosses a value, against brute force with the model's forecasts."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from tests.blocks import seeds
from tests.predictors import LIBRARIES, PredictorCase, brute_force, case, differing

import whence as wh
from whence.errors import InputError, InputTypeError, NotFittedError

LIMITS = ("at_most", "at_least", "between")


def asked_of(library: str, seed: int) -> tuple[PredictorCase, wh.Ensemble, dict[str, Any]] | None:
    """A question about the forecast of a small model: limits half-way between two of its forecasts."""
    asked = case(library, seed)
    rng = np.random.default_rng([seed, 5])
    ensemble = wh.Ensemble(asked.model, asked.policy.schema).fit(asked.policy.X_)
    levels = np.unique(ensemble.predict(asked.policy.X_).round(5))
    if levels.size < 3:
        return None
    low, high = np.sort(rng.choice(0.5 * (levels[1:] + levels[:-1]), 2, replace=False)).tolist()
    limit = LIMITS[int(rng.integers(3))]
    return asked, ensemble, {limit: (low, high) if limit == "between" else (low if limit == "at_most" else high)}


def forecast_of(asked: PredictorCase, rows: pd.DataFrame) -> np.ndarray:
    """The model's own forecast; a quantile forest is asked for the mean of its trees."""
    model = asked.model
    if asked.library == "quantile":
        return np.mean([one.predict(rows.to_numpy(dtype=np.float32)) for one in model.estimators_], axis=0)
    return model.predict_proba(rows)[:, 1] if hasattr(model, "predict_proba") else np.ravel(model.predict(rows))


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_nearest_crossing_agrees_with_brute_force(library: str) -> None:
    """Random models, restrictions and missing numbers: the answer is the one found by looking at every cell."""
    looked = 0
    for seed in (drawn := seeds(7, 20)):
        made = asked_of(library, seed)
        if made is None:
            continue
        asked, ensemble, limits = made
        low, high = limits.get("between", (limits.get("at_least", -np.inf), limits.get("at_most", np.inf)))

        def judged(asked: PredictorCase, rows: pd.DataFrame, low: float = low, high: float = high) -> np.ndarray:
            found = forecast_of(asked, rows)
            return (found >= low) & (found <= high)

        wanted = brute_force(asked, judged)
        if wanted is None:
            continue
        why = ensemble.explain(asked.context, **limits, fixed=asked.fixed, bounds=asked.bounds, fill=asked.fill)
        assert differing(asked, wanted, why) == "", f"asked_of({library!r}, {seed})"
        looked += 1
        if why.context is not None:
            assert low <= why.forecast_after <= high
            assert why.verify(ensemble)
    assert looked >= len(drawn) // 4


RELATIONS = ("a <= b", "a + b <= 6", "b + c >= 2")


def test_what_else_is_asked_of_contexts_agrees_with_brute_force() -> None:
    """Few changes, usual contexts and relations, held against every context there is."""
    found = {"max_changes": 0, "plausible": 0, "relations": 0}
    every = pd.DataFrame(itertools.product(range(5), range(5), range(5), (0, 1)), columns=list("abcd"))
    for seed in range(18):
        rng = np.random.default_rng([seed, 9])
        X = every.sample(60, random_state=seed).reset_index(drop=True)
        X.iloc[0], X.iloc[1] = 0, [4, 4, 4, 1]
        y = X.to_numpy() @ rng.normal(size=4) + rng.normal(size=60)
        model = GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=0).fit(X, y)
        numbers = {name: wh.Discrete(range(5)) for name in "abc"}
        ensemble = wh.Ensemble(model, wh.Schema({**numbers, "d": wh.Binary()})).fit(X)
        asked: dict[str, Any] = {}
        allowed, points = np.ones(len(every), dtype=bool), every.to_numpy() / [4, 4, 4, 1]
        start = X.iloc[int(rng.integers(60))]
        same = (every.to_numpy() == start.to_numpy()).all(axis=1)
        if seed % 3 == 0:
            asked["max_changes"] = int(rng.integers(1, 4))
            allowed &= (every.to_numpy() != start.to_numpy()).sum(axis=1) <= asked["max_changes"]
        elif seed % 3 == 1:
            asked["plausible"] = float(rng.choice([0.2, 0.5]))
            forest = IsolationForest(n_estimators=100, random_state=0).fit(X.to_numpy() / [4, 4, 4, 1])
            scores = np.sort(forest.score_samples(X.to_numpy() / [4, 4, 4, 1]))
            least = scores[int(np.ceil(asked["plausible"] * 60)) - 1]
            allowed &= forest.score_samples(points) >= least - 1e-9
        else:
            asked["relations"] = [str(text) for text in rng.choice(RELATIONS, 2, replace=False)]
            for text in asked["relations"]:
                allowed &= every.eval(text).to_numpy() | same
        goal = float(np.quantile(model.predict(every), rng.uniform(0.6, 0.95)))
        distance = np.abs(points - start.to_numpy() / [4, 4, 4, 1]).sum(axis=1)
        good = allowed & (model.predict(every) >= goal)
        why = ensemble.explain(start, at_least=goal, **asked)
        assert why.distance == pytest.approx(distance[good].min(initial=np.inf), abs=1e-9), seed
        if why.status == "optimal":
            found[next(iter(asked))] += 1
            assert why.verify(ensemble)
            assert why.to_dict()["question"][next(iter(asked))]
    assert min(found.values()) >= 2


def data(n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).round(1)
    return X, 20 + 4 * X[:, 0] + 2 * X[:, 1] ** 2


SMALL = {"n_estimators": 6, "n_jobs": 1}
QUIET = {"iterations": 6, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
REGRESSORS = [
    xgboost.XGBRegressor(**SMALL),
    xgboost.XGBRegressor(**SMALL, objective="count:poisson"),
    xgboost.XGBRegressor(**SMALL, objective="reg:gamma"),
    xgboost.XGBRFRegressor(**SMALL),
    lightgbm.LGBMRegressor(**SMALL, verbose=-1),
    lightgbm.LGBMRegressor(**SMALL, verbose=-1, objective="poisson"),
    lightgbm.LGBMRegressor(**SMALL, verbose=-1, boosting_type="rf", bagging_freq=1, bagging_fraction=0.7),
    catboost.CatBoostRegressor(**QUIET),
    catboost.CatBoostRegressor(**QUIET, loss_function="Poisson"),
    catboost.CatBoostRegressor(**QUIET, grow_policy="Lossguide"),
    HistGradientBoostingRegressor(max_iter=6),
    HistGradientBoostingRegressor(max_iter=6, loss="poisson"),
    GradientBoostingRegressor(n_estimators=6),
    RandomForestRegressor(6, random_state=0),
    DecisionTreeRegressor(max_depth=4),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: f"{type(m).__name__}")
def test_every_regressor_is_asked_in_the_unit_of_its_forecast(model: Any) -> None:
    """Whatever its objective makes of the sum over the trees, limits are limits of ``model.predict``."""
    X, y = data()
    model.fit(X, y)
    ensemble = wh.Ensemble(model).fit(X)
    forecast = model.predict(X)
    np.testing.assert_allclose(ensemble.predict(X), forecast if ensemble.link == "identity" else ensemble.predict(X))
    low, high = np.quantile(ensemble.predict(X), [0.3, 0.7])
    why = ensemble.explain(X[int(np.argmin(forecast))], at_least=high)
    assert why.status == "optimal"
    assert why.forecast_after >= high - why.tolerance * max(1.0, high)
    assert ensemble.explain(X[int(np.argmax(forecast))], at_most=low).forecast_after <= low * (1 + 1e-6)


CLASSIFIERS = [
    xgboost.XGBClassifier(**SMALL),
    lightgbm.LGBMClassifier(**SMALL, verbose=-1),
    catboost.CatBoostClassifier(**QUIET),
    HistGradientBoostingClassifier(max_iter=6),
    GradientBoostingClassifier(n_estimators=6),
    RandomForestClassifier(6, random_state=0),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: f"{type(m).__name__}")
def test_probabilities_and_scores_of_classes(model: Any) -> None:
    """Two classes: the probability of the second. Three: the score of one of them, which must be named."""
    X, y = data()
    model.fit(X, (y > np.median(y)).astype(int))
    ensemble = wh.Ensemble(model).fit(X)
    np.testing.assert_allclose(ensemble.predict(X), model.predict_proba(X)[:, 1], rtol=1e-6)
    start = X[int(np.argmin(ensemble.predict(X)))]
    goal = float(np.quantile(ensemble.predict(X), 0.8))
    why = ensemble.explain(start, at_least=goal)
    after = model.predict_proba(why.context.to_numpy(dtype=float)[None, :])[0, 1]
    assert after >= goal - 1e-5
    model.fit(X, (y > np.median(y)).astype(int) + (y > np.quantile(y, 0.7)))
    with pytest.raises(InputError, match=r"'label' must be one of .*2.* Got None instead"):
        wh.Ensemble(model)
    ensemble = wh.Ensemble(model, label=2).fit(X)
    goal = float(np.quantile(ensemble.predict(X), 0.9))
    assert ensemble.explain(start, at_least=goal).status in ("optimal", "already")


def test_the_answer_in_words_and_as_a_page(tmp_path: Path) -> None:
    """A sentence says what would have to change, to what forecast, and that it is proved; so does the page."""
    X, y = data()
    table = pd.DataFrame(X, columns=["heat", "rain", "wind"])
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(table, y)
    ensemble = wh.Ensemble(model, unit="loaves").fit(table)
    start = table.iloc[int(np.argmin(y))]
    why = ensemble.explain(start, at_least=25)
    assert str(why).startswith("The forecast would be at least 25 loaves if rain were ")
    assert "Proved nearest, at distance" in str(why)
    why.to_html(tmp_path / "why.html", title="When would it sell?")
    page = (tmp_path / "why.html").read_text("utf-8")
    assert "When would it sell?" in page
    assert "http" not in page
    assert "proved lower bound" in page
    assert why.to_dict()["question"] == {"fixed": [], "bounds": {}}
    none = ensemble.explain(start, at_least=25, fixed=["heat", "rain", "wind"])
    assert none.status == "none"
    assert none.blocking == why.changes["feature"].tolist()
    assert "in the way: rain" in str(none)
    assert ensemble.explain(start, at_most=1e9).status == "already"
    assert ensemble.explain(start, at_least=1e9).status == "none"
    assert "<table>" in why._repr_html_()


def test_missing_numbers_stay_so_or_are_filled_in() -> None:
    """What is missing stays missing, unless it may be filled in; that counts 1."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(200, 2)).round(1), columns=["heat", "rain"])
    X.loc[rng.random(200) < 0.3, "heat"] = np.nan
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, 10 * X["heat"].fillna(0.0))
    ensemble = wh.Ensemble(model).fit(X)
    start = {"heat": np.nan, "rain": 0.3}
    assert ensemble.explain(start, at_least=8).status == "none"
    why = ensemble.explain(start, at_least=8, fill=["heat"])
    assert why.status == "optimal"
    assert why.distance == 1.0
    assert "rather than missing" in str(why)
    assert model.predict(pd.DataFrame([why.context]).astype(float))[0] >= 8
    bounded = ensemble.explain(start, at_least=8, fill=["heat"], bounds={"heat": (None, -1)})
    assert bounded.status == "none"


def test_limits_are_kept_and_nothing_is_lost_by_a_pickle() -> None:
    """A search that is stopped says how far it came; a pickled ensemble gives the same answer."""
    X, y = data(400)
    model = xgboost.XGBRegressor(n_estimators=60, max_depth=5, n_jobs=1).fit(X, y)
    ensemble = wh.Ensemble(model).fit(X)
    start = X[int(np.argmin(y))]
    stopped = ensemble.explain(start, between=(24.0, 24.01), node_limit=3)
    assert stopped.status in ("time_limit", "optimal")
    assert stopped.bound <= stopped.distance
    assert ensemble.explain(start, at_least=25, on_progress=lambda progress: False).status in ("interrupted", "optimal")
    again = pickle.loads(pickle.dumps(ensemble))
    assert again.explain(start, at_least=25).distance == ensemble.explain(start, at_least=25, threads=2).distance


def test_questions_that_cannot_be_asked() -> None:
    """Limits that are no limits, models without trees and other columns are refused with a sentence."""
    X, y = data()
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    with pytest.raises(NotFittedError, match="call 'fit' with past contexts first"):
        wh.Ensemble(model).explain(X[0], at_most=1)
    ensemble = wh.Ensemble(model).fit(X)
    with pytest.raises(InputError, match=r"Give one of 'at_most', 'at_least' and 'between'. Got none of them."):
        ensemble.explain(X[0])
    with pytest.raises(InputError, match=r"Got 'at_most', 'at_least'."):
        ensemble.explain(X[0], at_most=1, at_least=0)
    with pytest.raises(InputError, match=r"'between' must be a pair low <= high of numbers. Got \(3, 1\) instead."):
        ensemble.explain(X[0], between=(3, 1))
    with pytest.raises(InputError, match=r"'at_most' must be a finite number. Got inf instead."):
        ensemble.explain(X[0], at_most=np.inf)
    with pytest.raises(InputError, match=r"'time_limit' must be a positive number or None. Got 0 instead."):
        ensemble.explain(X[0], at_most=1, time_limit=0)
    with pytest.raises(InputTypeError, match=r"'model' must be a fitted tree ensemble of .* Got LinearModel instead."):
        wh.Ensemble(type("LinearModel", (), {})())
    with pytest.raises(InputError, match=r"'X' must have the 3 columns that the fitted scikit-learn model has seen"):
        wh.Ensemble(model).fit(X[:, :2])
    with pytest.raises(InputError, match=r"'plausible' must be a share of the history in \(0, 1\).* Got 1.5 instead."):
        ensemble.explain(X[0], at_most=1, plausible=1.5)
    with pytest.raises(InputError, match=r"'max_changes' must be an int >= 1, or None. Got 0 instead."):
        ensemble.explain(X[0], at_most=1, max_changes=0)
    with pytest.raises(InputTypeError, match=r"'policy' must be a fitted Policy .* Got KNNWeights"):
        wh.Ensemble.of(wh.Policy(wh.Newsvendor(1, 2), wh.KNNWeights(k=3)).fit(X, y))
    with pytest.raises(InputError, match=r"'label' must be None: the model has one forecast. Got 1 instead."):
        wh.Ensemble(model, label=1)
    linear = lightgbm.LGBMRegressor(n_estimators=2, linear_tree=True, verbose=-1).fit(X, y)
    with pytest.raises(InputError, match=r"'model' must forecast one number per leaf. Got LightGBM with linear_tree"):
        wh.Ensemble(linear)


def test_a_forest_of_two_classes_may_name_either() -> None:
    """Without a name it is the second class, as for boosted trees, and the text calls it the probability."""
    X, y = data()
    model = RandomForestClassifier(6, random_state=0).fit(X, np.where(y > np.median(y), "late", "in time"))
    plain, late, early = (wh.Ensemble(model, label=name).fit(X) for name in (None, "late", "in time"))
    np.testing.assert_array_equal(plain.predict(X), late.predict(X))
    np.testing.assert_allclose(plain.predict(X), 1.0 - early.predict(X))
    start = X[int(np.argmin(plain.predict(X)))]
    one, other = (ensemble.explain(start, at_least=0.7) for ensemble in (plain, late))
    assert (one.status, one.distance) == (other.status, other.distance)
    assert str(one).startswith("The probability would be at least 0.7 if")
    with pytest.raises(InputError, match="'label' must be one of 'in time', 'late'"):
        wh.Ensemble(model, label=np.array([1, 2]))


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, HistGradientBoostingClassifier, LogisticRegression])
def test_the_second_of_two_classes_may_be_named(kind: Any) -> None:
    """A model with one score is asked about the same way as a forest of two classes."""
    X, y = data()
    model = kind().fit(X, np.where(y > np.median(y), "late", "in time"))
    plain, late = (wh.Ensemble(model, label=name).fit(X) for name in (None, "late"))
    start = X[int(np.argmin(plain.predict(X)))]
    one, other = (ensemble.explain(start, at_least=0.6, time_limit=20) for ensemble in (plain, late))
    assert (str(one), one.distance) == (str(other), other.distance)
    with pytest.raises(InputError, match=r"'label' must be None or 'late': the model has one forecast. Got 'in time'"):
        wh.Ensemble(model, label="in time")


@pytest.mark.parametrize(
    "model",
    [GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=0), LinearRegression()],
    ids=["trees", "line"],
)
def test_relations_with_few_changes(model: Any) -> None:
    """The nearest of all sets of so many features, each asked with the others fixed."""
    names, found = list("abcd"), 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.random((50, 4)).round(3), columns=names)
        X["b"] = np.maximum(X["a"], X["b"])
        model.fit(X, 3 * X["a"] + X["b"] - 2 * X["c"] + X["d"] * rng.normal() + 0.1 * rng.normal(size=50))
        ensemble, forecast = wh.Ensemble(model).fit(X), model.predict(X)
        asked: dict[str, Any] = {
            "context": X.iloc[int(forecast.argmin())],
            "at_least": float(np.quantile(forecast, 0.7)),
        }
        asked["relations"] = ["a <= b", "c + d <= 1.6"]
        for most in (1, 2, 3):
            few = ensemble.explain(**asked, max_changes=most)
            sets = itertools.combinations(names, most)
            each = [ensemble.explain(**asked, fixed=[n for n in names if n not in one]).distance for one in sets]
            assert few.distance == pytest.approx(min(each), abs=1e-6)
            found += np.isfinite(few.distance)
    assert found > 4
