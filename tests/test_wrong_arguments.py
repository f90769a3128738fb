"""Every argument of a question refuses whatever cannot be one, of whatever type, in one sentence of whence's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

import whence as wh
from whence.errors import InputError, RowError

#: Values of types that hardly any argument has.
WRONG: dict[str, Any] = {
    "None": None,
    "float": 3.5,
    "zero": 0,
    "text": "a",
    "list": [1],
    "empty list": [],
    "list of None": [None],
    "mapping": {"a": 1},
    "array": np.array([1.0, 2.0]),
    "array without a dimension": np.array(3.0),
    "object": object(),
    "True": True,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "complex": 1 + 2j,
    "bytes": b"x",
    "triple": (1, 2, 3),
    "frame": pd.DataFrame({"a": [1.0, 2.0]}),
    "empty frame": pd.DataFrame(),
    "empty series": pd.Series(dtype=float),
    "series": pd.Series([1.0, 2.0]),
    "set": {1},
    "number of numpy's": np.int8(3),
    "int that no float holds": 10**400,
    "NaT": pd.NaT,
    "generator": (i for i in range(3)),
    "frame with two columns of a name": pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
}
TODAY = {"a": 0.2, "b": 0.5, "c": "x"}
EXPLAIN = ("context", "instead", "kind", "within", "margin", "confidence", "holds", "refits", "plausible", "decision",
           "max_changes", "fixed", "bounds", "fill", "relations", "engine", "time_limit", "node_limit", "tolerance",
           "separation", "threads", "on_progress", "on_nearest", "rule", "memory_limit", "least_gain",
           "world", "known")  # fmt: skip
ENSEMBLE = ("context", "at_least", "at_most", "between", "fixed", "bounds", "fill", "relations", "plausible",
            "max_changes", "time_limit", "node_limit", "tolerance", "threads", "on_progress")  # fmt: skip


@pytest.fixture(scope="module")
def history() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(40), "b": rng.random(40), "c": rng.choice(["x", "y"], 40)})
    return X, pd.DataFrame({"y": 10 + 20 * X["a"] + rng.random(40)})


@pytest.fixture(scope="module")
def policies(history: tuple[pd.DataFrame, pd.DataFrame]) -> dict[str, wh.Policy]:
    weights = {"forest": wh.ForestWeights(4, random_state=0), "neighbours": wh.KNNWeights(k=4)}
    return {name: wh.Policy(wh.Newsvendor(1, 3), made).fit(*history) for name, made in weights.items()}


@pytest.fixture(scope="module")
def ensemble(history: tuple[pd.DataFrame, pd.DataFrame]) -> wh.Ensemble:
    X = history[0][["a", "b"]]
    model = RandomForestRegressor(4, random_state=0).fit(X, history[1]["y"])
    return wh.Ensemble(model).fit(X)


def refused(ask: Callable[..., Any], **arguments: Any) -> str:
    """What is said where the arguments are refused; any error that is not whence's own goes through."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ask(**arguments)
    except wh.WhenceError as error:
        return str(error)
    return ""


def sentences(ask: Callable[..., Any], name: str, **others: Any) -> Iterator[str]:
    """What is said to each wrong value of the argument `name`."""
    for words, value in WRONG.items():
        try:
            said = refused(ask, **{**others, name: value})
        except Exception as error:
            pytest.fail(f"{name} as {words}: {type(error).__name__}: {error}")
        if said:
            yield said


@pytest.mark.parametrize("name", EXPLAIN)
@pytest.mark.parametrize("weights", ["forest", "neighbours"])
def test_explain(policies: dict[str, wh.Policy], weights: str, name: str) -> None:
    asked = {"context": TODAY, "instead": [15.0], "time_limit": 5.0}
    said = list(sentences(policies[weights].explain, name, **asked))
    assert len(said) >= 5
    assert all(text.count("\n") < 12 and text.rstrip().endswith((".", "?", ")")) for text in said)


@pytest.mark.parametrize("name", [name for name in EXPLAIN if name not in ("context", "instead")])
@pytest.mark.parametrize("question", ["front", "menu", "reasons"])
def test_other_questions(policies: dict[str, wh.Policy], question: str, name: str) -> None:
    asked = {"context": TODAY, "instead": [15.0], "time_limit": 5.0}
    assert list(sentences(getattr(policies["neighbours"], question), name, **asked))


@pytest.mark.parametrize("name", [*EXPLAIN[2:-1], "n_jobs", "plan_per_row", "batch_size", "contexts", "instead"])
def test_batches(policies: dict[str, wh.Policy], name: str) -> None:
    asked = {"contexts": [TODAY], "instead": [15.0], "time_limit": 5.0}
    assert list(sentences(policies["neighbours"].explain_many, name, **asked))


@pytest.mark.parametrize("name", ["up_to", "apart"])
def test_menu(policies: dict[str, wh.Policy], name: str) -> None:
    assert len(list(sentences(policies["forest"].menu, name, context=TODAY, instead=[15.0]))) >= 10


@pytest.mark.parametrize("name", ["before", "after", "tolerance", "time_limit", "on_progress"])
def test_compare(policies: dict[str, wh.Policy], name: str) -> None:
    asked = {"before": TODAY, "after": {**TODAY, "a": 0.9}}
    assert len(list(sentences(policies["forest"].compare, name, **asked))) >= 10


@pytest.mark.parametrize("name", ENSEMBLE)
def test_ensemble(ensemble: wh.Ensemble, name: str) -> None:
    asked: dict[str, Any] = {"context": [0.2, 0.5], "time_limit": 5.0}
    if name not in ("at_least", "at_most", "between"):
        asked["at_least"] = 20.0
    assert len(list(sentences(ensemble.explain, name, **asked))) >= 5


@pytest.mark.parametrize("name", ["features", "relations"])
def test_schema(name: str) -> None:
    assert len(list(sentences(wh.Schema, name))) >= 10


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (wh.Newsvendor, {"holding": 1, "backorder": 3, "budget": None, "names": None}),
        (wh.Shipment, {"production_cost": 5, "spot_cost": 50, "shipping_cost": 10, "distances": [[1.0]]}),
        (wh.LinearProblem, {"A_eq": [[1.0]], "b_eq": [1.0], "bounds": (0, 1)}),
        (wh.CVaR, {"alpha": 0.5}),
        (wh.Date, {"low": None, "high": None}),
        (wh.load, {"path": "x" * 5000}),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_problems_risks_dates_and_files(history: tuple[pd.DataFrame, pd.DataFrame], make: Any, given: Any) -> None:
    def fitted(**asked: Any) -> None:
        made = make(**asked)
        if isinstance(made, wh.DecisionProblem):
            wh.Policy(made, wh.KNNWeights(k=4)).fit(*history).decide(TODAY)

    for name in given:
        assert list(sentences(fitted, name, **given)), name
    if make is wh.Newsvendor:
        assert "'names'" in refused(make, **{**given, "names": dict})
    if make is wh.load:
        assert "cannot be read" in refused(make, **given)


@pytest.mark.parametrize(("method", "name"), [("verify", "policy"), ("verify", "prove"), ("to_json", "indent")])
def test_answers(policies: dict[str, wh.Policy], method: str, name: str) -> None:
    policy = policies["neighbours"]
    why = policy.explain(TODAY, instead=[20.0])
    others = {"policy": policy} if name == "prove" else {}
    assert len(list(sentences(getattr(why, method), name, **others))) >= 10
    for path in (3.5, [1], "a\0b"):
        assert "must be a path" in refused(why.to_json, path=path)
        assert "must be a path" in refused(policy.save, path=path)


def test_seeds_and_weights_that_cannot_be_copied(history: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    for weights in (wh.DecisionForest(n_trees=2, random_state="a"), wh.KNNWeights(k=(i for i in range(3)))):
        with pytest.raises(wh.WhenceError, match=r"'random_state'|'weights' must be weights that can"):
            wh.Policy(wh.Newsvendor(1, 3), weights).fit(history[0][["a", "b"]], history[1])


@pytest.mark.parametrize("name", ["X", "Y", "sample_weight"])
def test_fit(history: tuple[pd.DataFrame, pd.DataFrame], name: str) -> None:
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=4))
    assert len(list(sentences(policy.fit, name, X=history[0], Y=history[1]))) >= 10


@pytest.mark.parametrize("name", ["problem", "weights", "risk", "schema", "unknown"])
def test_policy(history: tuple[pd.DataFrame, pd.DataFrame], name: str) -> None:
    def fitted(**given: Any) -> wh.Policy:
        return wh.Policy(**{"problem": wh.Newsvendor(1, 3), "weights": wh.KNNWeights(k=4), **given}).fit(*history)

    assert len(list(sentences(fitted, name))) >= 10


@pytest.mark.parametrize(
    "make",
    [
        wh.ForestWeights,
        wh.KNNWeights,
        wh.KernelWeights,
        wh.DecisionForest,
        wh.ForecastWeights,
    ],
    ids=lambda made: made.__name__,
)
def test_weights(history: tuple[pd.DataFrame, pd.DataFrame], make: Any) -> None:
    X = history[0][["a", "b"]].to_numpy()

    def fitted(**given: Any) -> Any:
        if make is wh.ForecastWeights:
            given = {"model": "linear", **given}
        return wh.Policy(wh.Newsvendor(1, 3), make(**given)).fit(X, history[1])

    for name in set(make._get_param_names()) - {"random_state"}:
        assert list(sentences(fitted, name)), name


@pytest.mark.parametrize("name", ["cv", "risk", "against", "most_rows", "time_limit", "n_jobs", "on_progress"])
def test_evaluate(history: tuple[pd.DataFrame, pd.DataFrame], name: str) -> None:
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=4))
    asked = {"policies": policy, "X": history[0], "Y": history[1], "cv": 2, "against": []}
    assert list(sentences(wh.evaluate, name, **asked))


@pytest.mark.parametrize("name", ["X", "Y", "only", "simplest", "most_rows", "time_limit", "on_progress"])
def test_tune(history: tuple[pd.DataFrame, pd.DataFrame], name: str) -> None:
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=4))
    asked = {"policy": policy, "X": history[0], "Y": history[1], "only": "knn", "time_limit": 0.01}
    assert list(sentences(wh.tune, name, **asked))


@pytest.mark.parametrize("name", ["context", "instead", "kind", "fixed", "bounds", "weights", "common", "time_limit"])
def test_prices(policies: dict[str, wh.Policy], name: str) -> None:
    asked = {"context": TODAY, "instead": [15.0], "time_limit": 5.0}
    assert len(list(sentences(policies["forest"].prices, name, **asked))) >= 5


@pytest.mark.parametrize("name", ["contexts", "plans", "fixed", "bounds", "common", "time_limit"])
def test_implied(policies: dict[str, wh.Policy], name: str) -> None:
    asked = {"contexts": [TODAY, TODAY], "plans": [[15.0], [20.0]], "time_limit": 5.0}
    assert len(list(sentences(policies["forest"].implied, name, **asked))) >= 5


@pytest.mark.parametrize("name", ["up_to", "min_share", "time_limit", "on_progress"])
def test_rules(policies: dict[str, wh.Policy], name: str) -> None:
    assert len(list(sentences(policies["forest"].rules, name, time_limit=0.05))) >= 5


@pytest.mark.parametrize(
    ("make", "name"),
    [(wh.Continuous, "change"), (wh.Continuous, "scale"), (wh.Continuous, "weight"), (wh.Date, "parts"),
     (wh.Date, "column"), (wh.Categorical, "change")],
)  # fmt: skip
def test_features(make: Any, name: str) -> None:
    assert len(list(sentences(make, name))) >= 10


@pytest.mark.parametrize("name", ["refits", "kind", "within"])
def test_held(policies: dict[str, wh.Policy], name: str) -> None:
    why = policies["forest"].explain(TODAY, instead=[20.0])
    assert len(list(sentences(why.held, name, **{"refits": 1, name: None}))) >= 8


@pytest.mark.parametrize("limit", WRONG.values(), ids=list(WRONG))
@pytest.mark.parametrize("feature", ["a", "c"])
def test_bounds_of_a_feature(policies: dict[str, wh.Policy], feature: str, limit: Any) -> None:
    for policy in policies.values():
        refused(policy.explain, context=TODAY, instead=[15.0], bounds={feature: limit}, time_limit=5.0)


def test_a_row_that_is_no_context_is_the_error_of_its_row(policies: dict[str, wh.Policy]) -> None:
    rows = [TODAY, *WRONG.values(), TODAY]
    whys = policies["neighbours"].explain_many(rows, instead=[15.0])
    assert [isinstance(why, wh.WhenceError) for why in whys] == [False, *[True] * len(WRONG), False]
    assert not [why for why in whys if isinstance(why, RowError)]


def test_a_plan_that_is_none_is_the_error_of_its_row(policies: dict[str, wh.Policy]) -> None:
    wrong = [
        value for words, value in WRONG.items() if words not in ("None", "list", "array", "array without a dimension")
    ]
    whys = policies["neighbours"].explain_many([TODAY] * (len(wrong) + 2), instead=[[15.0], *wrong, [15.0]])
    assert not isinstance(whys[0], wh.WhenceError)
    assert not isinstance(whys[-1], wh.WhenceError)
    assert not [why for why in whys if isinstance(why, RowError)]


@pytest.mark.parametrize(
    ("argument", "value", "sentence"),
    [
        (
            "bounds",
            [1],
            "'bounds' must be a mapping from names of features to what they may be, or None. Got [1]",
        ),
        ("fixed", None, "'fixed' must be a list of names of features. Got None instead."),
        ("fill", 2, "'fill' must be a list of names of features. Got 2 instead."),
        ("kind", np.array([1]), "'kind' must be 'relative' or 'absolute'. Got array([1]) instead."),
        ("options", {}, "'explain' has no parameter 'options'."),
    ],
)
def test_sentences(policies: dict[str, wh.Policy], argument: str, value: Any, sentence: str) -> None:
    for ask in (policies["forest"].explain, policies["forest"].front):
        with pytest.raises(InputError) as caught:
            ask(TODAY, [15.0], **{argument: value})
        assert str(caught.value).startswith(sentence)
        assert caught.value.parameter == argument


@pytest.mark.parametrize("jobs", [0, "a", 1.5])
def test_jobs(policies: dict[str, wh.Policy], jobs: Any) -> None:
    with pytest.raises(InputError, match=r"'n_jobs' must be an int other than 0, or None\. Got"):
        policies["forest"].explain_many([TODAY], [15.0], n_jobs=jobs)


def test_a_limit_of_nodes_need_not_be_whole(policies: dict[str, wh.Policy]) -> None:
    for policy in policies.values():
        whys = [policy.explain(TODAY, [25.0], node_limit=limit) for limit in (2.5, 3, np.inf, None)]
        assert whys[0].status == whys[1].status
        assert whys[2].distance == whys[3].distance
