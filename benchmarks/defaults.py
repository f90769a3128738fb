"""Which forest, and how many neighbours: out-of-sample cost on three real data sets and three of the paper's.

    python benchmarks/defaults.py [--section NAME]... [--quick]

The tables go to ``docs/benchmarks/tables/defaults-forest.md`` and ``defaults-knn.md``; with ``--quick``, to
``.benchmarks``. Every entry is the coefficient of prescriptiveness: 0 is the sample average, 1 foresight.

The section "explained" measures the price on the same data sets, ``defaults-explained.md``: how many questions about a
policy of each kind are proved within ten seconds of processor time, and how long they take, beside how far the setting
is behind the best one in the table before.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import whence as wh
from _common import Report, Settings, main, milliseconds, shown
from paper.histories import PROBLEMS
from whence.project import Project
from whence.weights import Weights

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES / "airports"))

#: Rows that are held out in all.
ROWS = 500
FORESTS: dict[str, dict[str, Any]] = {
    "depth 4, sqrt": {"max_depth": 4, "max_features": "sqrt", "min_samples_leaf": 1},
    "depth 4, half": {"max_depth": 4, "max_features": 0.5, "min_samples_leaf": 1},
    "depth 4, all": {"max_depth": 4, "max_features": 1.0, "min_samples_leaf": 1},
    "depth 6, half": {"max_depth": 6, "max_features": 0.5, "min_samples_leaf": 1},
    "depth 8, half": {"max_depth": 8, "max_features": 0.5, "min_samples_leaf": 1},
    "any depth, leaf 1, sqrt": {"max_depth": None, "max_features": "sqrt", "min_samples_leaf": 1},
    "any depth, leaf 1, all": {"max_depth": None, "max_features": 1.0, "min_samples_leaf": 1},
    "any depth, leaf 5, sqrt": {"max_depth": None, "max_features": "sqrt", "min_samples_leaf": 5},
    "any depth, leaf 5, half": {"max_depth": None, "max_features": 0.5, "min_samples_leaf": 5},
    "any depth, leaf 20, half": {"max_depth": None, "max_features": 0.5, "min_samples_leaf": 20},
}
NEIGHBOURS = (3, 5, 10, 15, 20, 30, 50, 80)
#: Seconds of processor time within which a question ought to be proved.
SECONDS = 10.0
#: Contexts that are asked about on each data set: by a relative question, and every other one by an absolute one too.
ASKED = 4

#: Problem, risk, contexts, outcomes, schema.
Case = tuple[Any, Any, pd.DataFrame, pd.DataFrame, Any]


def project(name: str) -> Case:
    """A project among the examples."""
    found = Project.load(EXAMPLES / name)
    return found.policy.problem, found.policy.risk, found.X, found.Y, found.policy.schema


def airports() -> Case:
    """The departures of New York."""
    from departure import AIRPORTS, Departure

    table = pd.read_csv(EXAMPLES / "airports" / "history.csv", index_col="date")
    return Departure(), wh.CVaR(0.8), table.drop(columns=list(AIRPORTS)), table[list(AIRPORTS)], None


def paper(name: str, n: int) -> Case:
    """One of the paper's experiments."""
    history = PROBLEMS[name](n, np.random.default_rng([0, 0]))
    return history.problem, history.risk, pd.DataFrame(history.X).add_prefix("x"), pd.DataFrame(history.Y), None


CASES: dict[str, Callable[[], Case]] = {
    "restaurant": lambda: project("restaurant"),
    "bike share": lambda: project("bike-share"),
    "airports (CVaR)": airports,
    "paper: newsvendor": lambda: paper("newsvendor", 400),
    "paper: shipment": lambda: paper("shipment", 400),
    "paper: shortest path": lambda: paper("shortest_path", 400),
}


@cache
def case(name: str) -> Case:
    """The data, read once."""
    return CASES[name]()


def suited(schema: Any, weights: Weights) -> Any:
    """The schema for these weights: neighbours are told apart along a line, so that hours do not go round."""
    if schema is None or not isinstance(weights, wh.KNNWeights):
        return schema
    features = {
        name: wh.Discrete(step=1) if isinstance(feature, wh.Cyclic) else feature
        for name, feature in schema.features.items()
    }
    return wh.Schema(features, schema.relations)


def measured(name: str, weights: dict[str, Weights], rows: int) -> pd.DataFrame:
    """The table of an evaluation of all these weights on one data set."""
    problem, risk, X, Y, schema = case(name)
    policies = {label: wh.Policy(problem, found, risk, suited(schema, found)) for label, found in weights.items()}
    began = time.perf_counter()
    frame = wh.evaluate(policies, X, Y, cv=5, against=["average per category"], most_rows=rows).frame
    print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    return frame


def compared(table: str, settings: Settings, weights: dict[str, Weights]) -> None:
    """One row per setting, one column per data set."""
    report = Report(table, settings)
    rows = 60 if settings.quick else ROWS
    frames = {name: measured(name, weights, rows) for name in CASES}
    for label in weights:
        placed = {
            name.replace(" ", "_"): f"{frame.loc[label, 'prescriptiveness']:.2f}" for name, frame in frames.items()
        }
        lost = np.mean(
            [
                frame.loc[frame["kind"] == "policy", "prescriptiveness"].max() - frame.loc[label, "prescriptiveness"]
                for frame in frames.values()
            ]
        )
        report.row(setting=label, **placed, behind_the_best=shown(float(lost)))
    best = {}
    for name, frame in frames.items():
        simple = frame[[str(index).startswith("average per") for index in frame.index]]
        best[name.replace(" ", "_")] = f"{simple['prescriptiveness'].max():.2f}" if len(simple) else "-"
    report.row(setting="best average per category", **best, behind_the_best="-")
    report.write()


class Asked(NamedTuple):
    """Whether a question was proved in time, and how much processor time it took."""

    proved: bool
    seconds: float


def asked(name: str, weights: Weights, contexts: int) -> list[Asked]:
    """Questions about a policy that is fitted to a whole data set: why not what is decided in another context?"""
    problem, risk, X, Y, schema = case(name)
    policy = wh.Policy(problem, weights, risk, suited(schema, weights)).fit(X, Y)
    drawn = np.random.default_rng(0).permutation(len(X))
    found = []
    for i in range(contexts):
        context, other = X.iloc[drawn[i]], X.iloc[drawn[-1 - i]]
        for kind in ("relative", "absolute")[: 1 + (i % 2 == 0)]:
            began = time.process_time()

            def in_time(progress: Any, began: float = began) -> bool:
                return time.process_time() - began < SECONDS

            plan = policy.decide(other)
            why = policy.explain(context, instead=plan, kind=kind, on_progress=in_time)  # type: ignore[arg-type]
            seconds = time.process_time() - began
            if why.status != "already":
                found.append(Asked(why.status in ("optimal", "none"), seconds))
    return found


def behind(settings: Settings) -> dict[str, str]:
    """How far each setting is behind the best one, from the table of costs."""
    path = settings.tables / "defaults-forest.md"
    text = path.read_text("utf-8") if path.exists() else ""
    rows = re.findall(r"^\| (.+?) \|.*\| (\S+) \|$", text, flags=re.M)
    return dict(rows)


def explained(settings: Settings) -> None:
    """What questions about forests of each setting take."""
    report = Report("defaults-explained", settings)
    trees, contexts = (20, 1) if settings.quick else (100, ASKED)
    costs = behind(settings)
    for label, given in FORESTS.items():
        weights = wh.ForestWeights(n_trees=trees, random_state=0, **given)
        answers = {name: asked(name, weights, contexts) for name in CASES}
        every = [answer for found in answers.values() for answer in found]
        seconds = [answer.seconds for answer in every]
        slowest = max(answers, key=lambda name: statistics.median(a.seconds for a in answers[name] or every))
        report.row(
            setting=label,
            behind_the_best=costs.get(label, "-"),
            proved_in_10_s=f"{sum(answer.proved for answer in every)} of {len(every)}",
            median_ms=milliseconds(statistics.median(seconds)),
            nine_in_ten_ms=milliseconds(float(np.quantile(seconds, 0.9))),
            slowest_data_set=slowest,
        )
    report.write()


def forests(settings: Settings) -> None:
    """Depth, leaf size and features."""
    trees = 20 if settings.quick else 100
    compared(
        "defaults-forest",
        settings,
        {name: wh.ForestWeights(n_trees=trees, random_state=0, **given) for name, given in FORESTS.items()},
    )


def neighbours(settings: Settings) -> None:
    """How many."""
    compared("defaults-knn", settings, {f"k = {k}": wh.KNNWeights(k=k) for k in NEIGHBOURS})


if __name__ == "__main__":
    sections = {"forests": forests, "neighbours": neighbours, "explained": explained}
    main("Which defaults decide best.", sections, lambda: None, sys.argv[1:])
