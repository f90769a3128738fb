"""The numbers that the paper prints, to be set beside ours.

Retyped from the tables of A. Forel, A. Parmentier and T. Vidal, "Explainable Data-Driven Optimization: From Context to
Decision and Back Again", ICML 2023, into ``published.csv``: a label of the paper, a problem, the number of past
observations, the kind of explanation, the predictor, its setting (T: trees, k: neighbours, d_x: features) and the
value.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import pandas as pd

#: Columns that name a cell.
CELL = ["problem", "n", "kind", "predictor", "setting"]


@cache
def _everything() -> pd.DataFrame:
    with files("paper").joinpath("published.csv").open("r", encoding="utf-8") as file:
        return pd.read_csv(file, comment="#", dtype={"value": "str", "n": "Int64"})


def published(label: str) -> pd.DataFrame:
    """What the paper prints under `label`, one row per cell, values as text.

    Examples
    --------
    >>> printed = published("tab:uberExp")
    >>> printed.loc[printed["setting"] == "period", ["kind", "value"]].to_numpy().tolist()
    [['initial', 'Midday'], ['relative', 'AM'], ['absolute', 'AM']]
    """
    table = _everything()
    return table[table["label"] == label].drop(columns="label").reset_index(drop=True)


def numbers(label: str) -> pd.DataFrame:
    """What the paper prints under `label` as numbers, one row per cell; the value is in the column `paper`.

    Examples
    --------
    >>> numbers("tab:sparsity")["paper"].max()
    np.float64(3.6)
    """
    table = published(label).rename(columns={"value": "paper"})
    return table.astype({"paper": float, "n": int})[[*CELL, "paper"]]
