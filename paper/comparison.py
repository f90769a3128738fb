"""Our numbers beside the paper's: means with their standard errors, ratios, and whether a difference is chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from paper.experiment import Row
from paper.published import CELL, numbers

#: Runs of every cell in the paper.
PAPER_RUNS = 100
#: The public code's allowance in money for an absolute explanation, and ours, relative to costs, for rounding.
ABSOLUTE_SLACK, ROUNDING = 1e-3, 1e-12
#: A difference of more standard errors than this is not put down to chance.
ERRORS = 2.0


def counted(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that the paper counts: not symmetric, with an explanation."""
    kept: pd.DataFrame = rows[rows["status"].isin(["optimal", "time_limit"]) & np.isfinite(rows["distance"])]
    return kept


def means(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean of `column` over the counted rows of every cell, its standard error, and how many they are of how many."""
    asked = rows.groupby(CELL).size().rename("asked")
    grouped = counted(rows).groupby(CELL)[column]
    table = pd.DataFrame({"ours": grouped.mean(), "error": grouped.sem(), "runs": grouped.size()})
    table = table.join(asked, how="right").reset_index()
    return table.fillna({"runs": 0}).astype({"runs": int})


def beside(label: str, ours: pd.DataFrame, per: str = "paper / ours") -> pd.DataFrame:
    """The paper's cells in its order, with our values and the ratio; `ours` has a column of that name."""
    table = numbers(label).merge(ours, on=CELL, how="inner")
    table.insert(list(table.columns).index("ours") + 1, "ratio", table["paper"] / table["ours"])
    return table.rename(columns={"ratio": per})


def distances(label: str, rows: pd.DataFrame, symmetric: str) -> pd.DataFrame:
    """Mean distances in the paper's measure beside the paper's, and whether they differ by more than chance.

    The paper prints no standard errors: its runs are taken to spread as ours do, and to be as many as it did not find
    symmetric (`symmetric` names that table). Half a unit of its last printed digit is allowed for rounding.
    """
    table = beside(label, means(rows, "l1"), "ours / paper")
    table["ours / paper"] = 1.0 / table["ours / paper"]
    kept = PAPER_RUNS - table.merge(numbers(symmetric), on=CELL, how="left", suffixes=("", "_symmetric"))[
        "paper_symmetric"
    ].fillna(0.0)
    # The error of their mean is ours, scaled by the number of runs.
    both = table["error"] * np.sqrt(1.0 + table["runs"] / kept)
    beyond = np.maximum((table["ours"] - table["paper"]).abs() - 0.005, 0.0) / both
    table["errors apart"] = beyond
    return _judged(table, lambda row: _within(row["errors apart"], row["runs"]))


def shares(label: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Percentages of symmetric contexts beside the paper's, and whether they differ by more than chance.

    As in the paper's public code: the alternative costs no more than the decision for a relative explanation, and at
    most 0.001 more for an absolute one. Fisher's exact test at 5 percent, for the paper's 100 runs and ours.
    """
    slack = np.where(rows["kind"] == "absolute", ABSOLUTE_SLACK, ROUNDING * rows["cost"].abs())
    symmetric = (rows["lead"] <= slack).groupby([rows[name] for name in CELL])
    ours = pd.DataFrame({"ours": 100.0 * symmetric.mean(), "count": symmetric.sum(), "runs": symmetric.size()})
    table = numbers(label).merge(ours.reset_index(), on=CELL, how="inner")
    share = table["ours"] / 100.0
    table["error"] = 100.0 * np.sqrt(share * (1.0 - share) / table["runs"])
    table["p"] = [
        float(stats.fisher_exact([[c, r - c], [p, PAPER_RUNS - p]])[1])
        for c, r, p in zip(table["count"], table["runs"], table["paper"], strict=True)
    ]
    table = table.drop(columns="count")[[*CELL, "paper", "ours", "error", "runs", "p"]]
    return _judged(table, lambda row: "yes" if row["p"] >= 0.05 else "NO")


def outside(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of a judged table that differ by more than chance."""
    return table[table["within error"] == "NO"]


def chance(table: pd.DataFrame) -> str:
    """A sentence that says how many cells of a judged table differ by more than chance, and which."""
    judged = table[table["within error"] != "-"]
    bad = outside(table)
    total = len(judged)
    sentence = (
        f"{total - len(bad)} of {total} cells agree with the paper within sampling error "
        f"(by chance alone about {round(0.05 * total)} would not)."
    )
    if len(bad):
        named = "; ".join(
            f"{row['problem']} n={row['n']} {row['setting']} {row['kind']} "
            f"(paper {row['paper']:g}, ours {row['ours']:.2g})"
            for row in bad.to_dict("records")
        )
        sentence += f" Not: {named}."
    return sentence


def _within(errors: float, runs: int) -> str:
    # One or two runs have no spread worth the name.
    if runs < 3 or math.isnan(errors):
        return "-"
    return "yes" if errors <= ERRORS else "NO"


def _judged(table: pd.DataFrame, judge: Callable[[Row], str]) -> pd.DataFrame:
    records: list[dict[Any, Any]] = table.to_dict("records")
    return table.assign(**{"within error": [judge(row) for row in records]})
