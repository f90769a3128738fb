"""What relations between features cost: the same questions with none, three and ten of them.

    python benchmarks/contexts.py [--section NAME]... [--instances N] [--start SEED] [--quick]

The relations are orders between two features, shifted so that three quarters of the history keep them, and today's
context does: they bite. The section "real" asks about the three real cases instead: there the relations are what the
history shows without exception (`Schema.proposals`, and `observed` for every category and every other feature, such as
the temperatures of each month), and contexts that break one of them are counted.
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

import whence as wh
from _common import Report, Settings, main, milliseconds
from defaults import case
from holds import CLASSES, Asked, nearest_of, warm

#: Numbers of relations that are tried, and seconds after which a question is given up.
COUNTS, LIMIT = (0, 3, 10), 60.0
NAMES = ("newsvendor n=200 d=2", "path n=200 d=4", "path n=1000 d=10", "CVaR path n=200 d=4")


def orders(one: Any, count: int) -> list[str]:
    """Orders between two numbers that most past contexts keep, and that of the question."""
    X, today = one.policy.X_, one.policy.schema_.row(one.context)
    numbers = [name for name in X.columns if pd.api.types.is_float_dtype(X[name].dtype)]
    pairs = list(permutations(numbers, 2))
    picked = np.random.default_rng(0).permutation(len(pairs))[:count]
    found = []
    for a, b in (pairs[i] for i in picked):
        shift = max(float((X[a] - X[b]).quantile(0.75)), float(today[a] - today[b]))
        found.append(f"`{a}` - {abs(shift)!r} <= `{b}`" if shift >= 0 else f"`{a}` + {abs(shift)!r} <= `{b}`")
    return found


def asked(one: Any, relations: list[str]) -> tuple[float, Any]:
    """Seconds of processor time of one question, and its answer; what relations need is laid out before."""
    one.policy.explain(one.context, one.instead, relations=relations, time_limit=LIMIT, node_limit=1)
    began = time.process_time()
    why = one.policy.explain(one.context, one.instead, relations=relations, time_limit=LIMIT)
    return time.process_time() - began, why


def paper(settings: Settings) -> None:
    """The classes of the paper."""
    report = Report("contexts-paper", settings)
    for name in NAMES:
        measure(name, report, settings)
    report.write()


def measure(name: str, report: Report, settings: Settings) -> None:
    """One class of questions."""
    count = settings.instances or 30
    rows: dict[int, list[tuple[float, Any]]] = {number: [] for number in COUNTS}
    impossible = 0
    for one, _ in nearest_of(CLASSES[name], settings):
        for number in COUNTS:
            rows[number].append(asked(one, orders(one, number)))
        plain = rows[0][-1][1]
        bound = one.policy.schema_.related(orders(one, COUNTS[-1]), one.policy.X_)
        if plain.context is not None and bound is not None:
            impossible += not bound.keeps(one.policy.schema_.encode_row(plain.context))
    base = statistics.median(seconds for seconds, _ in rows[0])
    for number, found in rows.items():
        median = statistics.median(seconds for seconds, _ in found)
        pairs = zip(rows[0], found, strict=True)
        ratios = [b.distance / a.distance for (_, a), (_, b) in pairs if 0 < a.distance < np.inf]
        report.row(
            problem=name,
            relations=number,
            median_ms=milliseconds(median),
            times_that_without=f"{median / base:.2f}",
            longest_ms=milliseconds(max(seconds for seconds, _ in found)),
            proved=f"{sum(why.status in ('optimal', 'already', 'none') for _, why in found)} of {count}",
            times_the_distance=f"{statistics.median(ratios):.2f}" if ratios else "-",
            break_one_of_ten=f"{impossible} of {count}" if number == 0 else "-",
        )


REAL = ("restaurant", "bike share", "airports (CVaR)")
#: The paper's forest, and a deep one.
FORESTS: dict[str, dict[str, Any]] = {
    "depth 4, sqrt": {"max_depth": 4, "max_features": "sqrt", "min_samples_leaf": 1},
    "any depth, leaf 5, half": {"max_depth": None, "max_features": 0.5, "min_samples_leaf": 5},
}


def real(settings: Settings) -> None:
    """The three real cases: which contexts cannot exist, with and without the relations that their history shows."""
    report = Report("contexts-real", settings)
    count = settings.instances or 30
    for name in REAL:
        problem, risk, X, Y, schema = case(name)
        shown = without_exception(X, schema)
        for label, given in FORESTS.items():
            weights = wh.ForestWeights(n_trees=100, random_state=0, **given)
            policy = wh.Policy(problem, weights, risk, schema).fit(X, Y)
            rows = np.random.default_rng(settings.start).permutation(len(X))
            found: dict[int, list[tuple[float, Any]]] = {number: [] for number in (*COUNTS, len(shown))}
            for i in range(count):
                one = Asked(policy, X.iloc[rows[i]], policy.decide(X.iloc[rows[-1 - i]]))
                for number in found:
                    found[number].append(asked(one, shown[:number]))
            base = statistics.median(seconds for seconds, _ in found[0])
            times = {
                f"times_with_{number}": f"{statistics.median(s for s, _ in found[number]) / base:.2f}"
                for number in COUNTS[1:]
            }
            report.row(
                case=name,
                forest=label,
                relations_of_the_history=len(shown),
                impossible_without=f"{impossible(policy, shown, found[0])} of {count}",
                impossible_with=f"{impossible(policy, shown, found[len(shown)])} of {count}",
                proved=sum(why.status in ("optimal", "already", "none") for _, why in found[len(shown)]),
                median_ms=milliseconds(base),
                **times,
                times_with_all=f"{statistics.median(s for s, _ in found[len(shown)]) / base:.2f}",
            )
    report.write()


def without_exception(X: pd.DataFrame, schema: Any) -> list[str]:
    """What the history shows without exception: proposals first, then what every number was seen to be."""
    fitted = (schema or wh.Schema()).fit(X)
    few = [name for name in fitted.names if fitted.levels(name)]
    numbers = [name for name in fitted.names if name not in few]
    pairs = [(by, of) for of in (*numbers, *few) for by in few if by != of]
    return list(dict.fromkeys([*fitted.proposals(X), *(str(wh.observed(*pair)) for pair in pairs)]))


def impossible(policy: Any, relations: list[str], found: list[tuple[float, Any]]) -> int:
    """How many of the contexts found break a relation, in the user's units and to the last digit."""
    related = policy.schema_.related(relations, policy.X_)
    contexts = [why.context for _, why in found if why.context is not None and why.status != "already"]
    values = (policy.schema_.related_values(context) for context in contexts)
    return sum(not all(one.holds(row, typed=True) for one in related.statements) for row in values)


if __name__ == "__main__":
    main("What relations cost.", {"paper": paper, "real": real}, warm, sys.argv[1:])
