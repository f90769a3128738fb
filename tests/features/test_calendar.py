"""Ordered categories, numbers that go round, and dates: what they are, and what is refused."""

from __future__ import annotations

import gc
import warnings
import weakref
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.features.dates import fitted_date
from whence.features.relation_trees import table_tree

DAYS = pd.DataFrame({"date": pd.date_range("2023-02-01", "2024-11-30"), "x": 0.5})
SIZES = pd.DataFrame({"size": list("SLMS"), "x": [0.0, 1.0, 2.0, 3.0]})
ORDER = wh.Ordered(["S", "M", "L", "XL"])
TURNS = wh.Schema({"x": wh.Cyclic(9)})


def distance(schema: wh.Schema, start: dict[str, Any], end: dict[str, Any]) -> float:
    return schema.space(schema.row(start)).distance(schema.encode_row(schema.row(end)))


def test_levels_are_numbers_to_the_model_and_names_to_people() -> None:
    """Coordinates go in steps, values are the user's own, and levels that were not seen lie between those that were."""
    schema = wh.Schema({"size": ORDER}).fit(SIZES)
    assert schema.encode(SIZES)[:, 0].tolist() == [0.0, 2 / 3, 1 / 3, 0.0]
    assert schema.kinds()["size"] == "categorical"
    assert (schema.levels("size"), schema.categories("size")) == (["S", "M", "L"], ["S", "M", "L", "XL"])
    context = schema.row({"size": "S", "x": 1.0})
    assert schema.decode(np.array([1 / 3, 1 / 3]), context).tolist() == ["M", 1.0]
    assert distance(schema, {"size": "S", "x": 1.0}, {"size": "L", "x": 1.0}) == pytest.approx(2 / 3)
    levels = schema.space(context, bounds={"size": ["L", "XL"]}).levels[0]
    assert levels is not None
    assert levels.tolist() == [0.0, 2 / 3]
    fewer = wh.Schema({"size": wh.Ordered(["S", "M", "L"], change="decrease")}).fit(SIZES)
    assert fewer.space(fewer.row({"size": "M", "x": 1.0})).levels[0].tolist() == [0.0, 0.5]  # type: ignore[union-attr]


def test_numbers_as_names_of_levels() -> None:
    """A level is known by its name, also where that is a number: 500 is the third, not the 500th."""
    X = pd.DataFrame({"watt": [50, 500, 100]})
    schema = wh.Schema({"watt": wh.Ordered([50, 100, 500])}).fit(X)
    assert schema.encode_row(schema.row({"watt": 500})).tolist() == [1.0]
    assert schema.decode(np.array([0.5]), schema.row({"watt": 500})).tolist() == [100]


def test_relations_about_levels() -> None:
    """A relation names them; they cannot be compared with numbers."""
    schema = wh.Schema({"size": ORDER}, ["size in (S, M) => x <= 2"]).fit(SIZES)
    assert schema.broken({"size": "M", "x": 2.5}) == ["size in (S, M) => x <= 2"]
    assert schema.broken({"size": "L", "x": 2.5}) == []
    for text, says in (("size <= x", "is a category"), ("size is XXL", "name a value of 'size'")):
        with pytest.raises(wh.WhenceError, match=says):
            wh.Schema({"size": ORDER}, [text]).fit(SIZES)
    shown = wh.Schema({"size": ORDER}, [wh.observed("size", "x")]).fit(SIZES)
    assert shown.broken({"size": "M", "x": 0.0}) == ["observed(size, x)"]


@pytest.mark.parametrize(
    ("start", "end", "short"), [(23, 1, 2), (1, 23, 2), (0, 12, 12), (6, 18, 12), (5, 18, 11), (3.5, 3.5, 0)]
)
def test_the_short_way_round(start: float, end: float, short: float) -> None:
    """Half the period counts 1, and no way is longer."""
    X = pd.DataFrame({"hour": np.arange(0, 24, 0.5)})
    schema = wh.Schema({"hour": wh.Cyclic(24)}).fit(X)
    assert distance(schema, {"hour": start}, {"hour": end}) == pytest.approx(short / 12)
    space = schema.space(schema.row({"hour": start}))
    for part in space.parts():
        inside = schema.encode(X)
        inside = inside[(inside[:, 0] >= part.space.lower[0]) & (inside[:, 0] <= part.space.upper[0])]
        assert len(inside)
        for point in inside:
            assert part.fee + part.space.distance(point) == pytest.approx(space.distance(point))


def test_whole_hours_stay_whole() -> None:
    """In a column of integers every whole number may be suggested; in one of floats, any."""
    hours = pd.DataFrame({"hour": np.arange(24)})
    schema = wh.Schema({"hour": wh.Cyclic(24)}).fit(hours)
    assert schema.kinds() == {"hour": "discrete"}
    levels = schema.space(schema.row({"hour": 5})).levels[0]
    assert levels is not None
    assert len(levels) == 24
    assert schema.levels("hour") == list(range(24))
    quarters = wh.Schema({"hour": wh.Cyclic(24, step=0.25)}).fit(pd.DataFrame({"hour": [0.3, 1.1]}))
    assert quarters.levels("hour") == [0.5, 0.75, 1.0]
    assert wh.Schema({"hour": wh.Cyclic(24)}).fit(hours.astype(float)).kinds() == {"hour": "continuous"}


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: wh.Cyclic(0), "'period' parameter of Cyclic must be a positive number. Got 0 instead."),
        (lambda: wh.Cyclic(24, change="increase"), "must be 'free' or 'fixed', since a value that rises"),
        (lambda: wh.Cyclic(24, scale=-1), "'scale' parameter of Cyclic must be a positive number or None"),
        (lambda: wh.Cyclic(24, low=np.nan), "'low' parameter of Cyclic must be a finite number"),
        (lambda: wh.Cyclic(24, step=0), "'step' parameter of Cyclic must be a positive number"),
        (lambda: wh.Schema({"x": wh.Cyclic(2)}).fit(SIZES), "numbers from 0 up to, but without, 2. Got 2 instead."),
        (lambda: wh.Schema({"size": wh.Ordered()}).fit(SIZES), "The 'categories' of 'size' must be given"),
        (lambda: wh.Schema({"size": wh.Ordered("SML")}).fit(SIZES), "'categories' parameter of Ordered must be a list"),
        (lambda: wh.Schema({"size": wh.Ordered(["S", "M"])}).fit(SIZES), "must hold one of 'S', 'M'. Got 'L' instead."),
        (lambda: wh.Date(parts=("moon",)), "'parts' parameter of Date must be some of 'weekday'"),
        (lambda: wh.Date(holidays=["2024-01-01"]), "must be None unless 'parts' names 'holiday'"),
        (lambda: wh.Date(parts=("holiday",), holidays=["soon"]), "such as '2025-06-14'. Got 'soon' instead"),
        (lambda: wh.Date(low="2025-01-02", high="2025-01-01"), "'low' parameter of Date must not be after 'high'"),
        (lambda: wh.Schema({"x": wh.Date()}).fit(SIZES), "'x' must hold dates, such as 2025-06-14. Got 0.0 instead."),
        (lambda: wh.Schema({"day": wh.Date("date")}).fit(SIZES), "names the column 'date', which 'X' does not have"),
        (
            lambda: (one := wh.Schema().fit(DAYS)).space(one.row(DAYS.iloc[:1]), (), {"date": 3}),
            "The 'bounds' of 'date' must be a pair",
        ),
        (
            lambda: wh.Policy(wh.Newsvendor(1, 3), wh.KernelWeights(), schema=TURNS).fit(SIZES, SIZES[["x"]]),
            "What goes round, here 'x', needs weights made of trees, forecasts, or neighbours .* Got KernelWeights",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(made: Any, says: str) -> None:
    """One sentence names the setting or the column, what was expected and what came."""
    with pytest.raises(wh.WhenceError, match=says):
        made()


def test_days_that_exist() -> None:
    """The relation between the parts of a date holds for all of its days, and for no other combination."""
    parts = ("day of year", "weekday", "month", "holiday", "year", "quarter", "week", "day")
    kind = wh.Date(parts=parts, holidays=lambda day: day.month == day.day)
    schema = wh.Schema({"date": kind}).fit(DAYS)
    assert schema.dates("date") == (date(2023, 1, 1), date(2024, 12, 31))
    space = schema.space(schema.row({"date": "2024-06-14", "x": 0.5}))
    assert space.rules is not None
    (tree,) = space.rules.trees
    days = [date(2023, 1, 1) + timedelta(k) for k in range(731)]
    points = schema.encode(pd.DataFrame({"date": days, "x": 0.5}))
    assert tree.keeps(points).all()
    known = {point[:-1].tobytes() for point in points}
    rng = np.random.default_rng(0)
    for _ in range(400):
        one, other = (points[i] for i in rng.integers(0, 731, 2))
        _, at, _ = schema.date_parts("date")[int(rng.integers(8))]
        mixed = one.copy()
        mixed[at] = other[at]
        assert tree.keeps(mixed[None, :])[0] == (mixed[:-1].tobytes() in known)


@pytest.mark.parametrize(
    ("kind", "bounds", "ends"),
    [
        (wh.Date(), None, ("2023-01-01", "2024-12-31")),
        (wh.Date(low="2023-06-01"), None, ("2023-06-01", "2024-12-31")),
        (wh.Date(low="2023-06-01", high="2024-08-31"), ("2023-05-01", "2024-06-30"), ("2023-06-01", "2024-06-30")),
        (wh.Date(low="2023-06-01"), ("2023-07-01", None), ("2023-07-01", "2024-12-31")),
        (wh.Date(change="increase"), ("2023-07-01", None), ("2024-06-14", "2024-12-31")),
        (wh.Date(change="decrease"), ("2023-07-01", None), ("2023-07-01", "2024-06-14")),
    ],
)
def test_days_that_may_be_suggested(kind: wh.Date, bounds: Any, ends: tuple[str, str]) -> None:
    """The latest of all first days and the earliest of all last ones, and no day before today where only later ones."""
    found = fitted_date("date", kind, DAYS, 0).range_from(date(2024, 6, 14), bounds, restricted=True)
    assert tuple(map(str, found)) == ends


def test_holidays_that_nobody_named() -> None:
    """Without a list no day is a holiday, which a warning says once."""
    with pytest.warns(UserWarning, match="No day counts as a holiday"):
        kind = wh.Date("date", parts=("weekday", "month", "day of year", "holiday"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = wh.Schema({"date": replace(kind, weight=2.0)}).fit(DAYS)
    assert schema.parts_of("date", date(2023, 12, 25))["holiday"] is False


def test_a_table_with_gaps() -> None:
    """Values between two that are allowed, or beyond them, are not."""
    rows = np.array([[0.0, 0.2], [0.0, 0.4], [0.6, 0.2], [1.0, 1.0]])
    tree = table_tree(rows, [(0,), (1,)], np.full(2, 0.2), 0, "allowed")
    every = np.array([[a, b] for a in np.arange(6) / 5 for b in np.arange(6) / 5])
    allowed = [(np.abs(rows - point) < 1e-9).all(axis=1).any() for point in every]
    assert tree.keeps(every).tolist() == allowed


def test_the_day_that_is_named() -> None:
    """Of days that look alike the nearest one, in the form in which today's was given."""
    schema = wh.Schema({"day": wh.Date("date", ("weekday",))}).fit(DAYS)
    for given, named in (("2024-06-14", "2024-06-15"), (date(2024, 6, 14), date(2024, 6, 15))):
        row = schema.row({"date": given, "x": 0.5})
        saturday = schema.encode_row(schema.row({"date": "2023-03-04", "x": 0.5}))
        assert schema.decode(saturday, row)["date"] == named
        assert schema.feature_values(row)["day"] == date(2024, 6, 14)


def test_columns_that_look_as_if_they_went_round() -> None:
    """By name and range; nothing is taken for that unasked."""
    X = pd.DataFrame(
        {"Hour": np.arange(48) % 24, "month": np.arange(48) % 12 + 1, "wind_direction": np.linspace(0, 359, 48)}
    )
    X["hours worked"], X["week"] = np.arange(48), np.arange(48) % 3
    schema = wh.Schema.infer(X)
    assert schema.cyclic == []
    found = schema.suggestions(X)
    assert {name: (kind.period, kind.low) for name, kind in found.items()} == {
        "Hour": (24, 0), "month": (12, 1), "wind_direction": (360, 0),
    }  # fmt: skip
    assert wh.Schema(found).fit(X).suggestions(X) == {}


def test_days_of_questions_are_not_kept_for_ever() -> None:
    """Days that may be suggested differ from context to context: what was made of them is gone after many others."""
    schema = wh.Schema({"day": wh.Date("date", ("weekday", "month"))}).fit(DAYS)
    row = schema.row(DAYS.iloc[0])

    def related(last: int) -> Any:
        high = DAYS["date"].iloc[0] + pd.Timedelta(days=last)
        return schema.space(row, bounds={"day": (DAYS["date"].iloc[0], high)}).rules

    alive = weakref.ref(related(3))
    assert alive() is not None
    for last in range(4, 104):
        related(last)
    gc.collect()
    assert alive() is None
