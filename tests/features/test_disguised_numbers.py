"""Numbers in disguise are read or refused, never taken for levels of a category; what is dropped is said."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import InputError
from whence.util.frames import written_number

VALUES = np.random.default_rng(3).integers(0, 100, 60) / 10
Y = 10 + 3 * VALUES[:, None]


def fitted(column: Any, weights: wh.Weights | None = None, **more: Any) -> wh.Policy:
    X = pd.DataFrame({"a": pd.Series(list(column)), "b": np.linspace(0, 1, len(VALUES))})
    return wh.Policy(wh.Newsvendor(1, 3), weights or wh.KNNWeights(k=5), **more).fit(X, Y)


@pytest.mark.parametrize("make", [Decimal, Fraction], ids=["decimal", "fraction"])
def test_exact_numbers_are_numbers(make: Callable[[str], Any]) -> None:
    plain = fitted(VALUES).explain({"a": 2.5, "b": 0.5}, instead=[30.0])
    policy = fitted([make(str(value)) for value in VALUES])
    why = policy.explain({"a": make("2.5"), "b": 0.5}, instead=[30.0])
    assert policy.schema_.kinds()["a"] == "continuous"
    assert (why.status, why.distance) == (plain.status, plain.distance)
    assert isinstance(why.context["a"], float)
    assert policy.X_["a"].dtype == np.float64


def test_exact_numbers_among_others_and_missing() -> None:
    mixed = [Decimal(str(v)) if i % 3 else (None if i % 2 else float(v)) for i, v in enumerate(VALUES)]
    policy = fitted(mixed, wh.ForestWeights(5, random_state=0, missing=True))
    assert policy.schema_.kinds()["a"] == "continuous"
    with pytest.raises(InputError, match="must not hold missing values"):
        fitted([Decimal("NaN"), *map(Decimal, range(59))])
    with pytest.raises(InputError, match=r"'a' must hold numbers below 1\.8e308\. Got Decimal\('1E\+400'\)"):
        fitted([Decimal("1e400"), *map(Decimal, range(59))])


def test_exact_numbers_of_an_array_and_of_outcomes() -> None:
    X = np.array([[Decimal(str(v)), Decimal(1)] for v in VALUES], dtype=object)
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=5)).fit(X, [[Decimal(str(v))] for v in VALUES])
    assert policy.schema_.kinds()["x0"] == "continuous"


def test_declared_categories_may_be_decimals() -> None:
    levels = [Decimal("0.1"), Decimal("0.2")]
    policy = fitted([levels[i % 2] for i in range(60)], schema=wh.Schema({"a": wh.Categorical(levels)}))
    assert policy.decide({"a": Decimal("0.1"), "b": 0.5}).shape == (1,)
    assert policy.schema_.kinds()["a"] == "categorical"


WRITTEN = {
    "thousands": lambda v: f"{int(1000 * v):,}",
    "points": lambda v: f"{int(1000 * v) + 1000:,}".replace(",", "."),
    "blanks": lambda v: f"{int(1000 * v) + 1000:,}".replace(",", "\u202f"),
    "percent": lambda v: f"{v} %",
    "dollars": lambda v: f"${v}",
    "euros": lambda v: f"{v} €",
    "name of a currency": lambda v: f"EUR {v}",
    "decimal comma": lambda v: str(v).replace(".", ","),
    "losses": lambda v: f"({v})",
    "minus": lambda v: f"-{v}",
}


@pytest.mark.parametrize("write", WRITTEN.values(), ids=list(WRITTEN))
def test_numbers_as_text_are_refused(write: Callable[[float], str]) -> None:
    texts = [write(float(value)) for value in VALUES]
    with pytest.raises(InputError, match=r"The column 'a' holds numbers as text, such as '.*Categorical\(\)"):
        fitted(texts)
    declared = fitted(texts, schema=wh.Schema({"a": wh.Categorical()}))
    assert declared.schema_.kinds()["a"] == "categorical"


@pytest.mark.parametrize(
    "texts",
    [
        ["101", "102"],
        ["007", "12"],
        ["north", "8,420"],
        ["5 kg", "6 kg"],
        ["10-20", "20-30"],
        ["A 1", "B 2"],
        ["2024-01-05"],
        ["12:30"],
        ["01.02.2024"],
        ["12,34,567"],
        [""],
        [],
    ],
    ids=str,
)
def test_names_are_no_numbers(texts: list[str]) -> None:
    assert written_number(texts) is None


def test_a_number_that_the_weights_cannot_hold_is_called_so() -> None:
    X = np.linspace(0, 1, 20)[:, None]
    X[3] = 1e300
    with pytest.raises(InputError, match=r"at most 3\.4e\+38, since these weights compare float32\. Got 1e\+300\."):
        wh.ForestWeights(3).fit(X, X)
    X[3] = np.inf
    with pytest.raises(InputError, match=r"must be finite\. Got NaN or infinity\."):
        wh.ForestWeights(3).fit(X, X)


def test_missing_values_come_with_a_way_out() -> None:
    gone = [*VALUES[:-1], np.nan]
    with pytest.raises(InputError, match=r"Got 1 of them\. .*ForestWeights\(missing=True\)"):
        fitted(gone, wh.ForestWeights(5, random_state=0))
    with pytest.raises(InputError, match=r"^Input X contains NaN.*ForestWeights\(missing=True\)"):
        wh.Policy(wh.Newsvendor(1, 3)).fit(np.column_stack([gone, gone]), Y)
    assert fitted(gone, wh.ForestWeights(5, random_state=0, missing=True)).schema_.kinds()["a"] == "continuous"
    with pytest.raises(InputError, match=r"Got 1 of them\. .*category of their own"):
        fitted([*"xy" * 29, "x", None])


def test_times_of_day_that_nobody_sees_are_told() -> None:
    days = pd.date_range("2024-01-01", periods=60, freq="17h")
    with pytest.warns(UserWarning, match="The column 'a' holds times of day, of which a Date sees nothing"):
        fitted(days)


def test_whole_days_are_not_told(recwarn: pytest.WarningsRecorder) -> None:
    fitted(pd.date_range("2024-01-01", periods=60))
    assert not recwarn.list


def test_dates_in_the_index_are_told(recwarn: pytest.WarningsRecorder) -> None:
    days = pd.date_range("2024-01-01", periods=60)
    X = pd.DataFrame({"a": VALUES}, index=days)
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=5))
    with pytest.warns(UserWarning, match=r"The dates in the index of 'X' name its rows, .* X\.reset_index\(\)"):
        policy.fit(X, Y)
    policy.fit(X.assign(day=days), Y)
    wh.evaluate(policy, X, Y, cv=2)
    assert not recwarn.list
