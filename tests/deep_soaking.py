"""Random small questions to deep forests, three to six trees of any depth, claim by claim against brute force.

`deep_case(seed)` always gives the same question; its claim goes round with the seed. Every second one of a claim is
asked with the means of large forests, which small ones would never need.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from tests.asking import searching
from tests.cases import Case, OneOf, schema
from tests.forests import paper_forest
from tests.oracle import MOST_CELLS, cells
from tests.set_soaking import SetCase, question_of, set_case, set_disagreement
from tests.soaking import OUTSIDE, RISKS, asked, costs, disagreement, table, weighty

from whence.policy import Policy
from whence.risk import Expectation
from whence.weights import ForestWeights

CLAIMS = ("relative", "absolute", "within", "no plan", "set")
#: What a search does late, or in large forests only, at once.
LATE: dict[str, Any] = {
    "recall_after": 0, "recall_cuts": 0, "potentials_after": 1, "potentials_columns": 0, "stalled": 3,
    "exchange_from": 2, "strong_from": (1, 1), "sharp_from": (1, 1), "sharper_from": 4, "eager_from": 6,
    "first_look": 1, "common_rivals": 2, "set_large": 0, "large_forest": 0, "large_forest_seconds": 0.0,
    "many_leaves": 2,
}  # fmt: skip
#: Past contexts of so many features: all cells of the forest are looked at.
MOST_ROWS = (60, 40, 22, 14)


def deep_forest(rng: np.random.Generator) -> ForestWeights:
    """Few trees that grow until their leaves are small."""
    leaf = int(rng.choice([1, 1, 2, 3]))
    return paper_forest(int(rng.integers(3, 7)), None, random_state=int(rng.integers(2**31)), min_samples_leaf=leaf)


def deep_case(seed: int) -> Case | SetCase:
    """A question about one plan, about any plan, or about a set; half of them by expected cost."""
    rng, claim = np.random.default_rng([seed, 24]), CLAIMS[seed % len(CLAIMS)]
    if claim in ("no plan", "set"):
        drawn = (set_case(10_000_000 + 100 * seed + more) for more in count())
        case = next(one for one in drawn if (one.instead is None) == (claim == "no plan"))
        own = case.policy
        return replace(case, policy=Policy(own.problem, deep_forest(rng), own.risk, own.schema).fit(own.X_, own.Y_))
    kinds = "".join(rng.choice(list("cccrrrddbk"), int(rng.integers(1, 5))))
    n = int(rng.integers(8, MOST_ROWS[len(kinds) - 1]))
    X = table(rng, n, kinds, False)
    declared = weighty(seed, schema(rng, X, kinds))
    Y = costs(rng, declared.fit(X).encode(X), int(rng.integers(2, 6)))
    if claim == "within":
        Y = Y - min(0.0, float(Y.min()))  # a share of the best plan's cost is meant
    risk = Expectation() if rng.random() < 0.5 else RISKS[int(rng.integers(1, len(RISKS)))]
    policy = Policy(OneOf(), deep_forest(rng), risk, declared).fit(X, Y)
    within = float(rng.choice([0.01, 0.05, 0.2])) if claim == "within" else 0.0
    return asked(rng, seed, policy, OUTSIDE).but(kind="relative" if claim == "relative" else "absolute", within=within)


def deep_disagreement(seed: int) -> str | None:
    """In what the answer of the policy differs from brute force; empty where it does not, None where nobody knows."""
    case = deep_case(seed)
    try:
        looked_at = len(cells(question_of(case) if isinstance(case, SetCase) else case.question()))
    except AssertionError:
        return None
    if looked_at > (MOST_CELLS // 20 if isinstance(case, SetCase) else MOST_CELLS):
        return None
    with searching(**(LATE if seed // len(CLAIMS) % 2 else {})):
        return set_disagreement(case) if isinstance(case, SetCase) else disagreement(case)
