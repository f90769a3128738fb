"""The cells of the paper's tables of computation times, beside the published seconds and HiGHS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from _common import KINDS, Cell, Report, Settings, against_highs, collect, milliseconds, shown
from paper import PROBLEMS, instance

#: A mean below this many seconds is fast enough, whatever the paper's.
INSTANT = 0.015
#: Seconds that HiGHS gets for a question: some hundred cells have to be gone through.
HIGHS_LIMIT = 20.0


@dataclass(frozen=True)
class Predictor:
    """A column of the paper's tables: how it is named there, and the weights it stands for."""

    keys: dict[str, int]
    weights: Any


def published() -> pd.DataFrame:
    """The paper's mean seconds."""
    return pd.read_csv(Path(__file__).with_name("paper_seconds.csv"), comment="#")


def published_seconds(table: pd.DataFrame, problem: str, n: int, kind: str, keys: dict[str, int]) -> float:
    """The paper's mean seconds of one cell."""
    chosen = (table["problem"] == problem) & (table["n"] == n) & (table["kind"] == kind)
    for name, value in keys.items():
        chosen &= table[name] == value
    return float(table.loc[chosen, "seconds"].item())


def cells(
    settings: Settings, report: Report, predictors: Sequence[Predictor], sizes: Sequence[int], goal: Callable[..., int]
) -> None:
    """One row a cell: the paper's mean, ours, their ratio, and whether it is `goal(problem, n, kind)` or instant."""
    table = published()
    missed: list[str] = []
    for problem in PROBLEMS:
        for n in sizes:
            for predictor in predictors:
                make = partial(_make, problem, n, predictor.weights)
                measured = collect(make, settings.instances, settings.start)
                for kind in KINDS:
                    cell = measured[kind]
                    paper = published_seconds(table, problem, n, kind, predictor.keys)
                    wanted = goal(problem, n, kind)
                    reached = cell.mean < INSTANT or paper / cell.mean >= wanted
                    if not reached or cell.open:
                        missed.append(f"{problem} n={n} {predictor.keys} {kind}")
                    report.row(
                        problem=problem.replace("_", " "),
                        n=n,
                        **predictor.keys,
                        kind=kind,
                        paper_s=shown(paper),
                        mean_ms=milliseconds(cell.mean),
                        median_ms=milliseconds(cell.median),
                        ratio=f"{paper / cell.mean:.0f}x",
                        goal=f"{wanted}x {'reached' if reached else 'MISSED'}",
                        proved=cell.share,
                        not_counted=cell.others,
                        HiGHS=_highs(make, cell, kind, settings.highs),
                    )
    report.text("Every goal was reached." if not missed else f"Missed: {'; '.join(missed)}.")


def _make(problem: str, n: int, weights: Any, seed: int) -> Any:
    return instance(problem, n, seed, predictor=weights)


def _highs(make: Any, cell: Cell, kind: str, count: int) -> str:
    rival = against_highs(make, cell, kind, count, HIGHS_LIMIT)
    return "-" if rival is None else rival.text
