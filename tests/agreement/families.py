"""Awkward questions of one kind each, known by their seeds, and what is wrong with the answers to them.

Beside `draw`, whose contexts can be listed, these have continuous numbers for every predictor, units from 1e-9 to 1e9,
models of other libraries, routes, quantities and forecasts, each with a reference of its own: every cell of a forest,
every vertex between neighbours, a fine grid of contexts, linear programs. `benchmarks/soak.py` goes on with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests import forecast_cases, predictors, soaking
from tests.circle_reference import circle_disagreement
from tests.deep_soaking import deep_disagreement
from tests.kernel_soaking import kernel_disagreement
from tests.metric_soaking import metric_case, metric_disagreement
from tests.nearness_soaking import nearness_disagreement
from tests.set_soaking import set_case, set_disagreement


@dataclass(frozen=True)
class Family:
    """Questions of one kind.

    Attributes
    ----------
    wrong : callable
        From a seed to what is wrong with the answer; empty where nothing is, None where nobody knows.
    short, full : int
        How many blocks of `each` questions a change is tried on, and how many every night.
    once : tuple of int
        Seeds of questions that were once answered wrongly.
    """

    wrong: Callable[[int], str | None]
    short: int
    full: int
    each: int
    once: tuple[int, ...] = ()


def _of_library(library: str) -> Family:
    return Family(lambda seed: predictors.compared(predictors.case(library, seed)), 1, 4, 24)


FAMILIES: dict[str, Family] = {
    # Costs that tie up to rounding once turned the search for a tail's beginning the wrong way.
    "forest": Family(
        lambda seed: soaking.disagreement(soaking.forest_case(seed)),
        *(2, 8, 50),
        once=(1348, 1484, 1587, 1892, 2170, 2243, 2562, 2607),
    ),
    "deep": Family(deep_disagreement, 1, 4, 50),
    "decision": Family(lambda seed: soaking.disagreement(soaking.decision_case(seed)), 1, 4, 60),
    "knn": Family(lambda seed: soaking.disagreement(soaking.neighbour_case(seed)), 1, 4, 15),
    "metrics": Family(lambda seed: metric_disagreement(*metric_case(seed)), 1, 4, 30),
    "circles": Family(circle_disagreement, 1, 3, 100),
    "nearness": Family(nearness_disagreement, 1, 3, 100),
    "kernels": Family(kernel_disagreement, 2, 5, 60),
    "sets": Family(lambda seed: set_disagreement(set_case(seed)), 5, 20, 50),
    "forecasts": Family(forecast_cases.disagreement, 2, 6, 45),
    **{f"{library} model": _of_library(library) for library in predictors.LIBRARIES},
}
