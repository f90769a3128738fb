"""Plans to try in every split of a decision-aware tree, for problems whose least cost the core cannot compute itself.

The plans are the best ones of random parts of the history: boxes of contexts, as the leaves of trees are, from the
whole history down to a few rows. A split is then judged by the best of these plans on either side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.errors import InputError
from whence.risk import Risk

__all__ = ["plan_values", "random_parts"]

#: Of a tail, levels at which it may begin, as quantiles of what a plan costs.
LEVELS = 10
#: Numbers in the table of what the plans cost (8 bytes each); more rows have fewer plans.
MOST_NUMBERS = 50_000_000


def plan_values(
    problem: Any,
    risk: Risk,
    contexts: NDArray[Any],
    outcomes: Floats,
    plans: int,
    rng: np.random.RandomState,
    mass: Floats | None = None,
) -> Floats:
    """What every row counts for under each of about `plans` plans, of shape (rows, plans).

    Rows count alike for the plans, or for as much as their `mass`. The least risk of some rows is the smallest mean of
    a column over them: for a tail there is a column for each plan and each of some levels at which it may begin.
    """
    levels = 1 if risk.tail is None else LEVELS
    most = max(1, min(plans, MOST_NUMBERS // (levels * len(outcomes))))
    found: dict[bytes, Floats] = {}
    for rows in random_parts(contexts, most, rng):
        weights = np.zeros(len(outcomes))
        weights[rows] = 1.0 if mass is None else mass[rows]
        if not weights.any():
            continue
        weights /= weights.sum()
        costs = np.asarray(problem.costs(problem.solve(outcomes, weights, risk), outcomes), dtype=np.float64)
        values = risk.values(costs)
        if values is None:
            raise InputError(
                "'risk' must be a weighted mean of 'values', or of their worst share, for splits to be judged by it. "
                f"Got {type(risk).__name__} instead.",
                parameter="risk",
            )
        values = np.asarray(values, dtype=np.float64)
        found[values.tobytes()] = values
    table = np.column_stack(list(found.values()))
    if risk.tail is None:
        return np.ascontiguousarray(table)
    shares = (np.arange(LEVELS) + 0.5) / LEVELS
    begins = np.quantile(table, shares, axis=0)
    return np.ascontiguousarray(np.hstack([level + np.maximum(table - level, 0.0) / risk.tail for level in begins]))


def random_parts(contexts: NDArray[Any], count: int, rng: np.random.RandomState) -> Iterator[NDArray[np.int64]]:
    """Rows of random boxes of contexts, the first one all of them; sizes are even on a logarithmic scale."""
    n, columns = contexts.shape
    yield np.arange(n)
    for _ in range(count - 1):
        rows, wanted = np.arange(n), np.exp(rng.uniform(0.0, np.log(n)))
        for _ in range(columns + int(np.log2(n)) * 2):
            if rows.size <= wanted:
                break
            seen = contexts[rows, rng.randint(columns)]
            cut = seen[rng.randint(rows.size)]
            side = seen <= cut if rng.randint(2) else seen > cut
            if side.any():
                rows = rows[side]
        yield rows
