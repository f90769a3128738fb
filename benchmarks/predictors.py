"""Explanations of models of other libraries: how long they take, and what share is proved in ten seconds.

    python benchmarks/predictors.py --questions 5
    python benchmarks/predictors.py --questions 20 --seconds 10 --json predictors.json
    python benchmarks/predictors.py --treecf --write

300 boosted trees of depth 6 (XGBoost) with 12 and with 50 features, and a quantile forest without a depth limit, on
1,000 past observations. Two questions each: in what context would a larger order have been better (leaf weights), and
in what context would the forecast reach the 80 % quantile of those in the history (the forecast itself). Then policies
that forecast and add the residuals of the past: a larger order of one product and of three, and another of three
suppliers, whose prices are forecast. Times are of the processor, for one question; the first question, which builds the
grid, is measured apart.

With ``--treecf`` the package treecf (``pip install treecf``) is put the same questions in the same run, with its exact
search: the forecast of the model itself, and for leaf weights a model whose leaves hold what they add to the difference
of both plans. Distances by the range of every feature, within that range; those that both prove must agree.

``--section neighbours`` asks the first question of Euclidean neighbours (k = 10 of 1,000 and of 5,000 observations)
and of kernels (1,000 observations, proved to 1 %), with 2, 4 and 6 features.

``--write`` makes ``docs/benchmarks/tables/predictors.md``.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from quantile_forest import RandomForestQuantileRegressor
from sklearn.linear_model import LinearRegression
from xgboost import XGBRegressor

import whence as wh
from _common import Report, Settings
from whence.models import read

SAMPLES = 1000


def history(features: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Contexts in which a few features matter, some of them together, and a demand."""
    rng = np.random.default_rng(seed)
    X = rng.random((SAMPLES, features))
    demand = 50 + 30 * X[:, 0] - 20 * X[:, 1] + 25 * X[:, 2] * X[:, 3] + 10 * np.sin(6 * X[:, 4])
    demand += 5 * X[:, 5:].mean(axis=1) + 3 * rng.normal(size=SAMPLES)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(features)]), pd.DataFrame({"demand": demand})


def prices(features: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same contexts, and three outcomes that depend on them in ways of their own."""
    X, Y = history(features, seed)
    rng = np.random.default_rng([seed, 3])
    for name in ("second", "third"):
        Y[name] = 60 + X.to_numpy()[:, :6] @ rng.normal(0, 15, 6) + 3 * rng.normal(size=SAMPLES)
    return X, Y


class TreeCf:
    """The same questions for the package treecf: a sum over trees that must reach a value."""

    def __init__(self, X: pd.DataFrame, trees: list[Any], values: list[Any], base: float) -> None:
        from treecf import Explainer, Range
        from treecf.ir.model import EnsembleIR, Link

        names = tuple(X.columns)
        model = EnsembleIR(
            tuple(self._tree(tree, own) for tree, own in zip(trees, values, strict=True)),
            base,
            Link.IDENTITY,
            len(names),
            names,
            {},
        )
        limits = [Range(name, float(X[name].min()), float(X[name].max())) for name in names]
        spread = (X.max() - X.min()).to_numpy(dtype=np.float64)
        self._explainer = Explainer(model, background=X.to_numpy(), constraints=limits, normalizers=spread)

    @staticmethod
    def _tree(tree: Any, values: Any) -> Any:
        from treecf.ir.model import Node, SplitOp, Tree

        nodes = []
        for i, feature in enumerate(tree.feature.tolist()):
            if feature < 0:
                nodes.append(Node(i, None, None, None, None, None, None, float(values[i])))
            else:
                to_left, cut = bool(tree.missing_left[i]), float(tree.threshold[i])
                nodes.append(Node(i, feature, cut, SplitOp.LE, to_left, int(tree.left[i]), int(tree.right[i]), None))
        return Tree(tuple(nodes))

    def explain(self, row: pd.Series, op: str, value: float, seconds: float) -> tuple[bool, float]:
        """Whether it was proved, and the distance."""
        from treecf import Target

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._explainer.explain(
                row.to_numpy(dtype=np.float64),
                Target.raw(op=op, value=value),
                backend="exact",
                time_budget_s=seconds,
                node_budget=10**9,
                seed=0,
            )
        return getattr(found, "proof", "") in ("optimal", "certified"), float(getattr(found, "distance", np.inf))


def leaf_differences(policy: wh.Policy, row: pd.Series, plan: Any) -> tuple[list[Any], float]:
    """What every leaf adds to the difference of both plans, and what is tolerated of their sum."""
    weights: Any = policy.weights_
    costs = [policy.problem.costs(one, policy.Y_) for one in (plan, policy.decide(row))]
    members, values = weights.members_, []
    for t, (first, size) in enumerate(members.slices_of):
        upto = np.concatenate([[0.0], np.cumsum((costs[0] - costs[1])[members.order[t]])])
        values.append((upto[first + size] - upto[first]) / np.maximum(size, 1) / len(members.raw))
    return values, 1e-6 * float(np.abs(costs[0]).max())


MODELS: dict[str, tuple[int, Callable[[], Any]]] = {
    "XGBoost 300 x depth 6, d = 12": (12, lambda: XGBRegressor(n_estimators=300, max_depth=6, n_jobs=1)),
    "XGBoost 300 x depth 6, d = 50": (50, lambda: XGBRegressor(n_estimators=300, max_depth=6, n_jobs=1)),
    "quantile forest 100, no depth limit, d = 12": (
        12,
        lambda: RandomForestQuantileRegressor(n_estimators=100, random_state=0),
    ),
}


#: Whether it was proved, and the distance.
Asked = Callable[[int], tuple[bool, float]]


def boosted() -> Any:
    """XGBoost, 100 trees of depth 4: three of them for three outcomes."""
    return XGBRegressor(n_estimators=100, max_depth=4, n_jobs=1)


RESIDUALS: dict[str, tuple[int, Callable[[], Any], str]] = {
    "XGBoost 300 x depth 6, d = 12, one product": (12, MODELS["XGBoost 300 x depth 6, d = 12"][1], "one"),
    "XGBoost 100 x depth 4 each, d = 12, three products": (12, boosted, "several"),
    "XGBoost 100 x depth 4 each, d = 12, three suppliers": (12, boosted, "suppliers"),
    "line, d = 12, one product": (12, LinearRegression, "one"),
    "line, d = 12, three products": (12, LinearRegression, "several"),
    "line, d = 50, three suppliers": (50, LinearRegression, "suppliers"),
}


def with_residuals(features: int, make: Callable[[], Any], kind: str, seconds: float) -> Asked:
    """Questions to a policy that forecasts: order a fifth more, or buy from the second supplier."""
    X, Y = history(features, seed=1) if kind == "one" else prices(features, seed=1)
    if kind == "suppliers":
        problem: Any = wh.LinearProblem(A_eq=np.ones((1, 3)), b_eq=[1.0], bounds=(0, 1))
    else:
        problem = wh.Newsvendor(holding=1, backorder=3)
    policy = wh.Policy(problem, wh.ForecastWeights(make(), residuals="cross")).fit(X, Y)
    rows = [i for i in range(200) if kind != "suppliers" or policy.decide(X.iloc[i])[1] < 0.5]

    def ask(i: int) -> tuple[bool, float]:
        today = X.iloc[rows[i]]
        instead = [0.0, 1.0, 0.0] if kind == "suppliers" else policy.decide(today) * 1.2
        return settled(policy.explain(today, instead=instead, time_limit=seconds))

    return ask


def measured(ask: Asked, questions: int, other: Asked | None = None) -> dict[str, Any]:
    """Ask `questions` questions; the first one once before, so that the grid is there."""
    began = time.process_time()
    ask(0)
    found: dict[str, Any] = {"first": time.process_time() - began, "questions": questions}
    answers = {"": _asked(ask, questions)} | ({} if other is None else {"treecf_": _asked(other, questions)})
    for label, (spent, proved, _) in answers.items():
        found[f"{label}median"], found[f"{label}largest"] = float(np.median(spent)), float(max(spent))
        found[f"{label}proved"] = sum(proved) / questions
    if other is not None:
        both = [i for i in range(questions) if answers[""][1][i] and answers["treecf_"][1][i]]
        apart = [abs(answers[""][2][i] - answers["treecf_"][2][i]) for i in both]
        found["same"] = f"{sum(a < 1e-5 for a in apart)} of {len(both)}"
    return found


def _asked(ask: Asked, questions: int) -> tuple[list[float], list[bool], list[float]]:
    spent, proved, distance = [], [], []
    for i in range(questions):
        began = time.process_time()
        settled, away = ask(i)
        spent.append(time.process_time() - began)
        proved.append(settled)
        distance.append(away)
    return spent, proved, distance


def settled(why: Any) -> tuple[bool, float]:
    """Whether an answer of whence is proved, and its distance."""
    return why.status in ("optimal", "none", "already"), float(why.distance)


#: Neighbours and kernels: past observations, and the weights.
SIMILAR: dict[str, tuple[int, Any]] = {
    "Euclidean neighbours, k = 10, n = 1,000": (1000, wh.KNNWeights(10, "euclidean")),
    "Euclidean neighbours, k = 10, n = 5,000": (5000, wh.KNNWeights(10, "euclidean")),
    "Gaussian kernel 0.1, n = 1,000": (1000, wh.KernelWeights(0.1)),
    "tricube kernel 0.3, n = 1,000": (1000, wh.KernelWeights(0.3, "tricube")),
}


def similar(questions: int, seconds: float) -> list[dict[str, Any]]:
    """What neighbours and kernels take, with more and more features."""
    rows = []
    for name, (samples, weights) in SIMILAR.items():
        for features in (2, 4, 6):
            rng = np.random.default_rng(1)
            X = rng.random((samples, features))
            demand = 50 + 30 * X[:, 0] - 20 * X[:, 1] + 10 * np.sin(6 * X[:, -1]) + 3 * rng.normal(size=samples)
            policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), weights).fit(X, demand[:, None])

            def ask(i: int, policy: Any = policy, X: Any = X) -> tuple[bool, float]:
                return settled(policy.explain(X[i], instead=policy.decide(X[i]) * 1.2, time_limit=seconds))

            rows.append({"model": f"{name}, d = {features}", "question": "weights", **measured(ask, questions)})
            show(rows[-1])
    return rows


def show(row: dict[str, Any]) -> None:
    """Print what was measured."""
    rival = ""
    if "same" in row:
        rival = f"  treecf proved {row['treecf_proved']:4.0%} median {row['treecf_median']:.3f} s, same {row['same']}"
    print(
        f"{row['model']:52s} {row['question']:13s} proved {row['proved']:4.0%}  median {row['median']:7.3f} s  "
        f"largest {row['largest']:7.3f} s  first {row['first']:6.2f} s{rival}",
        flush=True,
    )


def table(rows: list[dict[str, Any]], seconds: float) -> None:
    """Write the documentation's table."""
    report = Report("predictors", Settings())
    for row in rows:
        count = row["questions"]
        rival = dict.fromkeys(("treecf_proved", "treecf_median_s", "same_distance"), "-")
        if "same" in row:
            values = f"{row['treecf_proved'] * count:.0f} of {count}", f"{row['treecf_median']:.2f}", row["same"]
            rival = dict(zip(rival, values, strict=True))
        report.row(
            model=row["model"],
            question=row["question"],
            **{f"proved_in_{seconds:g}_s": f"{row['proved'] * count:.0f} of {count}"},
            median_s=f"{row['median']:.3f}",
            largest_s=f"{row['largest']:.3f}",
            **rival,
        )
    report.write()


def main() -> None:
    """Measure, print a table, and write it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5, help="questions per model and kind")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of one question")
    parser.add_argument("--treecf", action="store_true", help="put the same questions to treecf, where installed")
    parser.add_argument("--write", action="store_true", help="write the table of the documentation")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--section", choices=("trees", "neighbours"), help="measure one part alone")
    given = parser.parse_args()
    rows = similar(given.questions, given.seconds) if given.section in (None, "neighbours") else []
    for name, (features, make) in MODELS.items() if given.section in (None, "trees") else ():
        X, Y = history(features, seed=1)
        model = make().fit(X, Y["demand"])
        policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.ForestWeights.of(model)).fit(X, Y)
        ensemble = wh.Ensemble(model).fit(X)
        forecast = ensemble.predict(X)
        goal = float(np.quantile(forecast, 0.8))
        low = X[forecast < np.quantile(forecast, 0.5)].reset_index(drop=True)

        def weights(i: int, policy: Any = policy, low: Any = low) -> tuple[bool, float]:
            plan = policy.decide(low.iloc[i]) * 1.2
            return settled(policy.explain(low.iloc[i], instead=plan, time_limit=given.seconds))

        def itself(i: int, ensemble: Any = ensemble, low: Any = low, goal: float = goal) -> tuple[bool, float]:
            return settled(ensemble.explain(low.iloc[i], at_least=goal, time_limit=given.seconds))

        def their_weights(i: int, policy: Any = policy, low: Any = low, X: Any = X) -> tuple[bool, float]:
            values, tau = leaf_differences(policy, low.iloc[i], policy.decide(low.iloc[i]) * 1.2)
            return TreeCf(X, policy.weights_.read.trees, values, 0.0).explain(low.iloc[i], "<=", tau, given.seconds)

        def their_own(i: int, model: Any = model, low: Any = low, X: Any = X, goal: float = goal) -> tuple[bool, float]:
            one = read(model)
            assert one is not None
            said = one.forecast()
            trees = [one.trees[t] for t in said.trees]
            return TreeCf(X, trees, said.values, said.offset).explain(low.iloc[i], ">=", goal, given.seconds)

        for kind, ask, other in (("leaf weights", weights, their_weights), ("forecast", itself, their_own)):
            asked = other if given.treecf and (kind == "forecast" or hasattr(policy.weights_, "read")) else None
            rows.append({"model": name, "question": kind, **measured(ask, given.questions, asked)})
            show(rows[-1])
    for name, (features, make, kind) in RESIDUALS.items() if given.section in (None, "trees") else ():
        ask = with_residuals(features, make, kind, given.seconds)
        rows.append({"model": name, "question": "residuals", **measured(ask, given.questions)})
        show(rows[-1])
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if given.write:
        table(rows, given.seconds)


if __name__ == "__main__":
    main()
