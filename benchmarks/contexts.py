"""What relations between features cost: the same questions with none, three and ten of them.

    python benchmarks/contexts.py [--section NAME]... [--instances N] [--start SEED] [--quick]

The relations are orders between two features, shifted so that every past context keeps them and one of them just so.
"""

from __future__ import annotations

import statistics
import sys
import time
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from _common import Report, Settings, main, milliseconds
from holds import CLASSES, warm

#: Numbers of relations that are tried, and seconds after which a question is given up.
COUNTS, LIMIT = (0, 3, 10), 60.0
NAMES = ("newsvendor n=200 d=2", "path n=200 d=4", "path n=1000 d=10", "CVaR path n=200 d=4", "bakery")


def orders(X: pd.DataFrame, count: int) -> list[str]:
    """Orders between two numbers that all past contexts keep."""
    numbers = [name for name in X.columns if pd.api.types.is_float_dtype(X[name].dtype)]
    pairs = list(permutations(numbers, 2))
    picked = np.random.default_rng(0).permutation(len(pairs))[:count]
    found = []
    for a, b in (pairs[i] for i in picked):
        shift = float((X[a] - X[b]).max())
        found.append(f"`{a}` - {abs(shift)!r} <= `{b}`" if shift >= 0 else f"`{a}` + {abs(shift)!r} <= `{b}`")
    return found


def asked(one: Any, relations: list[str]) -> tuple[float, Any]:
    """Seconds of processor time of one question, and its answer; what relations need is laid out before."""
    one.policy.explain(one.context, one.instead, relations=relations, time_limit=LIMIT, node_limit=1)
    began = time.process_time()
    why = one.policy.explain(one.context, one.instead, relations=relations, time_limit=LIMIT)
    return time.process_time() - began, why


def measure(name: str, settings: Settings) -> None:
    """One class of questions."""
    report = Report(f"contexts-{name.replace(' ', '-').replace('=', '')}", settings)
    count = settings.instances or 30
    rows: dict[int, list[tuple[float, Any]]] = {number: [] for number in COUNTS}
    impossible = 0
    for one in CLASSES[name](count, settings.start):
        for number in COUNTS:
            rows[number].append(asked(one, orders(one.policy.X_, number)))
        plain = rows[0][-1][1]
        bound = one.policy.schema_.related(orders(one.policy.X_, COUNTS[-1]), one.policy.X_)
        if plain.context is not None and bound is not None:
            impossible += not bound.keeps(one.policy.schema_.encode_row(plain.context))
    report.text(f"{name}: without them, {impossible} of {count} contexts break one of ten relations.")
    base = statistics.median(seconds for seconds, _ in rows[0])
    for number, found in rows.items():
        median = statistics.median(seconds for seconds, _ in found)
        pairs = zip(rows[0], found, strict=True)
        ratios = [b.distance / a.distance for (_, a), (_, b) in pairs if 0 < a.distance < np.inf]
        report.row(
            relations=number,
            median=milliseconds(median),
            times_that_without=f"{median / base:.2f}",
            longest=milliseconds(max(seconds for seconds, _ in found)),
            proved=sum(why.status in ("optimal", "already", "none") for _, why in found),
            times_the_distance=f"{statistics.median(ratios):.2f}" if ratios else "",
        )
    report.write()


if __name__ == "__main__":
    main("What relations cost.", {name: partial(measure, name) for name in NAMES}, warm, sys.argv[1:])
