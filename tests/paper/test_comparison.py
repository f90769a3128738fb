"""Ours beside the paper's: means over what counts, and differences judged by their errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from paper import comparison
from paper.published import numbers, published

CELL = {"problem": "newsvendor", "n": 100, "kind": "relative", "predictor": "forest", "setting": "T=100"}


def rows(values: list[float], status: list[str] | None = None) -> pd.DataFrame:
    """Questions of one cell with these distances; infinite where there is no explanation."""
    told = status or ["optimal"] * len(values)
    return pd.DataFrame([{**CELL, "status": s, "distance": v, "l1": v} for s, v in zip(told, values, strict=True)])


def leading(leads: list[float], kind: str = "relative") -> pd.DataFrame:
    """Questions of one cell in which the decision costs 100, and the alternative so much more."""
    return rows([1.0] * len(leads)).assign(cost=100.0, lead=leads, kind=kind)


@pytest.mark.parametrize(("kind", "share"), [("relative", 50.0), ("absolute", 75.0)])
def test_symmetric_is_what_the_public_code_calls_so(kind: str, share: float) -> None:
    """Equal up to rounding for a relative explanation, within 0.001 for an absolute one."""
    table = comparison.shares("tab:percSymm", leading([0.0, 1e-13, 5e-4, 2e-3], kind))
    assert table["ours"].item() == share


def test_every_table_of_numbers_is_complete() -> None:
    """As many printed values as the paper's tables have cells."""
    cells = {label: len(numbers(label)) for label in ("tab:compTimes", "tab:fullCompTimes", "tab:depthCompTimes")}
    assert cells == {"tab:compTimes": 48, "tab:fullCompTimes": 96, "tab:depthCompTimes": 96}
    assert len(numbers("tab:percSymm")) == len(numbers("tab:fullDist")) == 96
    assert len(published("tab:expDim")) == 12
    assert len(published("tab:uberExp")) == 21
    assert len(numbers("tab:sparsity")) == 12


def test_the_short_table_is_part_of_the_long_one() -> None:
    """tab:compTimes repeats the default predictors of tab:fullCompTimes, value by value."""
    both = numbers("tab:compTimes").merge(numbers("tab:fullCompTimes"), on=list(CELL), suffixes=("", "_long"))
    assert len(both) == 48
    assert np.array_equal(both["paper"], both["paper_long"])


def test_symmetric_contexts_and_missing_answers_are_not_counted() -> None:
    """The mean is over explanations that were needed and exist."""
    table = comparison.means(rows([1.0, 0.0, np.inf, 3.0], ["optimal", "already", "none", "optimal"]), "l1")
    assert table[["ours", "runs", "asked"]].to_numpy().tolist() == [[2.0, 2, 4]]
    assert table["error"].item() == pytest.approx(1.0)


def test_a_cell_without_anything_counted_stays() -> None:
    """Where every context was symmetric, the cell says so instead of vanishing."""
    table = comparison.means(rows([0.0, 0.0], ["already", "already"]), "l1")
    assert table["runs"].item() == 0
    assert np.isnan(table["ours"].item())


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "yes"), (0.05, "yes"), (0.4, "NO")])
def test_distances_are_judged_by_both_errors(shift: float, verdict: str) -> None:
    """The paper's 0.37 is met within two standard errors of both means, and missed beyond."""
    spread = np.linspace(-0.5, 0.5, 101)
    table = comparison.distances("tab:fullDist", rows(list(0.37 + shift + spread)), "tab:percSymm")
    ours = table.iloc[0]
    # 99 of the paper's runs were not symmetric in this cell.
    both = spread.std(ddof=1) * np.sqrt(1 / 101 + 1 / 99)
    assert ours["errors apart"] == pytest.approx(max(shift - 0.005, 0.0) / both)
    assert ours["ours / paper"] == pytest.approx((0.37 + shift) / 0.37)
    assert ours["within error"] == verdict


def test_two_runs_are_not_judged() -> None:
    """With fewer than three runs there is no verdict."""
    table = comparison.distances("tab:fullDist", rows([9.0, 9.1]), "tab:percSymm")
    assert table["within error"].item() == "-"


@pytest.mark.parametrize(("symmetric", "verdict"), [(1, "yes"), (5, "yes"), (30, "NO")])
def test_shares_are_judged_by_the_exact_test(symmetric: int, verdict: str) -> None:
    """One percent in the paper: five in a hundred may be chance, thirty cannot."""
    table = comparison.shares("tab:percSymm", leading([0.0] * symmetric + [1.0] * (100 - symmetric)))
    assert table["ours"].item() == symmetric
    assert table["within error"].item() == verdict


def test_the_sentence_names_what_differs() -> None:
    """The count of cells within error, and each that is not with both values."""
    told = comparison.chance(comparison.shares("tab:percSymm", leading([0.0] * 30 + [1.0] * 70)))
    assert told.startswith("0 of 1 cells agree")
    assert "newsvendor n=100 T=100 relative (paper 1, ours 30)" in told
