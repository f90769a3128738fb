"""Relations that a history shows: found where they are, told as they hold, and none by chance."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.blocks import seeds

import whence as wh

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def proposed(X: pd.DataFrame) -> list[str]:
    """What is proposed of a history without a word about its features."""
    return wh.Schema.infer(X).proposals(X)


def one_value_each(X: pd.DataFrame, by: list[str], of: str) -> bool:
    """Whether a column has a single value wherever others are the same."""
    return bool((X.groupby(by)[of].nunique() == 1).all())


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_what_follows_from_two_others_is_found(seed: int) -> None:
    """A random table of two features, whatever stands beside it; gone with the first exception."""
    rng = np.random.default_rng(seed)
    n, sizes = int(rng.integers(200, 600)), rng.integers(2, 6, 4)
    X = pd.DataFrame({f"c{j}": rng.integers(0, size, n).astype(str) for j, size in enumerate(sizes)})
    # Both say something everywhere.
    follows = np.zeros((sizes[0], sizes[1]), dtype=int)
    while any(np.ptp(follows, axis=axis).min() == 0 for axis in (0, 1)):
        follows = rng.integers(0, 2, follows.shape)
    X["of"] = follows[X["c0"].astype(int), X["c1"].astype(int)].astype(str)
    X = X[rng.permutation(X.columns)]
    assert not any(one_value_each(X, [name], "of") for name in X.columns if name != "of")
    (text,) = proposed(X)
    *by, of = text.removeprefix("observed(").removesuffix(")").split(", ")
    # A table such as "the one or the other" can be told in more than one way.
    assert {*by, of} == {"c0", "c1", "of"}
    assert one_value_each(X, by, of)
    # Another value where there are others to compare it with.
    at = X.groupby(["c0", "c1"])["of"].transform("size").to_numpy().argmax()
    X.iloc[at, X.columns.get_loc("of")] = "1" if X["of"].iloc[at] == "0" else "0"
    assert proposed(X) == []


def test_nothing_follows_by_chance() -> None:
    """Features that have nothing to do with each other, and days that are told by a month and a weekday only once."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(30, 200))
        X = pd.DataFrame({f"c{j}": rng.integers(0, rng.integers(2, 40), n).astype(str) for j in range(6)})
        X["rare"] = rng.random(n) < 0.03
        assert proposed(X) == [], seed
    dates = pd.date_range("2025-01-01", periods=365, freq="D").repeat(24)
    holidays = dates.strftime("%m-%d").isin(["01-01", "05-01", "10-03", "12-25", "12-26"])
    table = pd.DataFrame({"month": dates.month_name(), "weekday": dates.day_name(), "holiday": holidays})
    few = table[dates.day_of_year % 24 == 1].reset_index(drop=True)
    assert one_value_each(few, ["month", "weekday"], "holiday")
    assert proposed(few) == []


def test_orders_are_judged_where_both_numbers_are_known() -> None:
    """A few missing numbers hide no order, and too few that are known show none."""
    rng = np.random.default_rng(1)
    low = rng.normal(0, 5, 200).round(1)
    X = pd.DataFrame({"low": low, "high": low + rng.gamma(2, 2, 200).round(1)})
    X.loc[::7, "low"] = np.nan
    X.loc[::5, "high"] = np.nan
    schema = wh.Schema({"low": wh.Continuous(), "high": wh.Continuous()})
    assert schema.fit(X, missing=True).proposals(X) == ["low <= high"]
    X.loc[20:, "low"] = np.nan
    assert schema.fit(X, missing=True).proposals(X) == []


def test_a_rare_value_hides_nothing() -> None:
    """One value that was seen once says little; all the others say enough."""
    day = np.append(np.arange(90) % 6, 6)
    X = pd.DataFrame({"day": np.array(DAYS)[day], "weekend": day > 4})
    assert proposed(X) == ["observed(day, weekend)"]


def test_a_working_day_follows_from_weekday_and_holiday() -> None:
    """On bike share, told by the definition of its source; the relation is kept, also by what was never seen."""
    X = pd.read_csv(EXAMPLES / "bike-share" / "history.csv", index_col="when").drop(columns="bikes")
    X["working day"] = (~X["weekday"].isin(["Sat", "Sun"]) & (X["holiday"] == 0)).astype(int)
    assert proposed(X) == ["observed(weekday, holiday, working day)"]
    schema = wh.Schema(relations=[wh.observed(["weekday", "holiday"], "working day")]).fit(X)
    seen = {tuple(row) for row in X[["weekday", "holiday", "working day"]].itertuples(index=False, name=None)}
    for weekday, holiday, working in product(DAYS, (0, 1), (0, 1)):
        context = {**X.iloc[0].to_dict(), "weekday": weekday, "holiday": holiday, "working day": working}
        told = any(row[:2] == (weekday, holiday) for row in seen)
        assert bool(schema.broken(context)) == (told and (weekday, holiday, working) not in seen)
