"""`whence init` on tables of real shapes: which outcomes, features, row names and remarks come out."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from whence.errors import InputError
from whence.project import Project, findings
from whence.project.starter import starter

ROWS = 120


class Table(NamedTuple):
    """A table, how its file is written, and what the project file for it says."""

    columns: dict[str, Any]
    outcomes: list[str]
    #: Feature to its type, and perhaps one more key with its value.
    features: dict[str, dict[str, Any]]
    index: str | None = None
    ignore: tuple[str, ...] = ()
    write: Callable[[pd.DataFrame], bytes] = lambda table: table.to_csv(index=False).encode()


def _semicolons(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, sep=";", decimal=",").encode("cp1252")


def _utf16(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, sep="\t").encode("utf-16")


def _with_mark(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode("utf-8-sig")


def _report(table: pd.DataFrame) -> bytes:
    # Excel fills up lines, and keeps columns that have been emptied.
    text = table.assign(**{"": "", " ": ""}).to_csv(index=False, sep=";", decimal=",", lineterminator="\r\n")
    return f"Sales of the spring;;;;\r\n;;;;\r\n{text};;;;\r\n".encode("utf-8-sig")


def _named_separator(table: pd.DataFrame) -> bytes:
    return f"sep=;\r\n{table.to_csv(index=False, sep=';')}".encode()


def _with_corner(table: pd.DataFrame) -> bytes:
    return table.to_csv().encode()


RNG = np.random.default_rng(0)
DAYS = pd.date_range("2024-01-01", periods=ROWS)
TEMP = (10 + 8 * np.sin(np.arange(ROWS) / 20) + RNG.normal(0, 3, ROWS)).round(1)
SOLD = (200 + 5 * TEMP + RNG.normal(0, 20, ROWS)).round().astype(int)
OTHER = (150 + 3 * TEMP + RNG.normal(0, 15, ROWS)).round().astype(int)
THIRD = (90 + 2 * TEMP + RNG.normal(0, 10, ROWS)).round().astype(int)
LEFT = RNG.integers(5, 60, ROWS)
PRICE = RNG.uniform(1, 9, ROWS).round(2)
DATE = {"type": "date", "parts": ["weekday", "month"]}
NUMBER = {"type": "continuous", "step": 0.1}
CELSIUS = {**NUMBER, "unit": "°C"}

TABLES = {
    "airports": Table(
        {"date": DAYS.strftime("%Y-%m-%d"), "temp": TEMP, "demand_JFK": SOLD, "demand_LGA": OTHER, "demand_EWR": THIRD},
        ["demand_JFK", "demand_LGA", "demand_EWR"],
        {"date": DATE, "temp": NUMBER},
        "date",
    ),
    "total": Table(
        {"temp": TEMP, "demand A": SOLD, "demand B": OTHER, "demand C": THIRD, "total": SOLD + OTHER + THIRD},
        ["demand A", "demand B", "demand C"],
        {"temp": NUMBER},
        ignore=("total",),
    ),
    "bikes": Table(
        {"temp": TEMP, "casual": OTHER, "registered": SOLD, "cnt": SOLD + OTHER},
        ["cnt"],
        {"temp": NUMBER},
        ignore=("casual", "registered"),
    ),
    "revenue": Table(
        {"temp": TEMP, "sold": SOLD, "revenue": (2.5 * SOLD + RNG.normal(0, 2, ROWS)).round(2)},
        ["sold"],
        {"temp": NUMBER},
        ignore=("revenue",),
    ),
    "german": Table(
        {"Datum": DAYS.strftime("%d.%m.%Y"), "Temperatur (°C)": TEMP, "Käse": SOLD},
        ["Käse"],
        {"Datum": DATE, "Temperatur (°C)": CELSIUS},
        "Datum",
        write=_semicolons,
    ),
    "american": Table(
        {"day": DAYS.strftime("%m/%d/%Y"), "temp": TEMP, "orders": [f"{1000 + n:,}" for n in SOLD]},
        ["orders"],
        {"day": DATE, "temp": NUMBER},
        "day",
        write=_with_mark,
    ),
    "spreadsheet": Table(
        {"when": DAYS.strftime("%d-%b-%Y"), "temp °C": TEMP, "guests": SOLD},
        ["guests"],
        {"when": DATE, "temp °C": CELSIUS},
        "when",
        write=_utf16,
    ),
    "words": Table(
        {"date": DAYS.strftime("%B %d, %Y"), "temp": TEMP, "rolls": SOLD, "cakes": OTHER},
        ["rolls", "cakes"],
        {"date": DATE, "temp": NUMBER},
        "date",
    ),
    "slashes": Table(
        {"date": DAYS.strftime("%Y/%m/%d"), "weekday": DAYS.day_name(), "temp": TEMP, "sold": SOLD},
        ["sold"],
        {
            "date": {"type": "date", "parts": ["month"]},
            "weekday": {"type": "categorical"},
            "temp": NUMBER,
        },
        "date",
    ),
    "money": Table(
        {"price": [f"{n:.2f} €" for n in RNG.uniform(2, 3, ROWS)], "share": [f"{n} %" for n in OTHER], "sold": SOLD},
        ["sold"],
        {
            "price": {"type": "continuous", "step": 0.01, "unit": "€"},
            "share": {"type": "discrete", "step": 1, "unit": "%"},
        },
        write=_semicolons,
    ),
    "names": Table(
        {"shift": [f"shift {n}" for n in range(ROWS)], "rain": ["yes", "no"] * (ROWS // 2), "temp": TEMP, "sold": SOLD},
        ["sold"],
        {"rain": {"type": "binary"}, "temp": NUMBER},
        "shift",
    ),
    "lags": Table(
        {"sales_yesterday": np.roll(SOLD, 1), "temp": TEMP, "sales": SOLD, "leftover": (0.2 * SOLD).round(1)},
        ["sales"],
        {"sales_yesterday": {"type": "discrete", "step": 1}, "temp": NUMBER},
        ignore=("leftover",),
    ),
    "report": Table(
        {"date": DAYS.strftime("%d.%m.%Y"), "Temp.\n(°C)": TEMP, "Units\nsold": SOLD},
        ["Units sold"],
        {"date": DATE, "Temp. (°C)": CELSIUS},
        "date",
        write=_report,
    ),
    "separator": Table(
        {"day": DAYS.strftime("%A, %d %B %Y"), "temp": [f"{n:.0f} °F" for n in TEMP], "sold": SOLD},
        ["sold"],
        {"day": DATE, "temp": {"type": "discrete", "step": 1, "unit": "°F"}},
        "day",
        write=_named_separator,
    ),
    "corner": Table({"temp": TEMP, "sold": SOLD}, ["sold"], {"temp": NUMBER}, ignore=("index",), write=_with_corner),
    "crosses": Table(
        {"No": range(1, ROWS + 1), "fair": np.where(SOLD % 9, "", "x"), "open": ["ja", "nein"] * 60, "sold": SOLD},
        ["sold"],
        {"fair": {"type": "binary"}, "open": {"type": "binary"}},
        ignore=("No",),
    ),
    "long": Table(
        {
            "date": [*DAYS.strftime("%Y-%m-%d")] * 2,
            "product": np.repeat(["rolls", "rye"], ROWS),
            "temp": [*TEMP, *TEMP],
            "qty": [*SOLD, *OTHER],
        },
        ["qty"],
        {"date": DATE, "product": {"type": "categorical"}, "temp": NUMBER},
    ),
    "measured": Table(
        {
            "wind": [f"{n:.1f} km/h".replace(".", ",") for n in RNG.uniform(2, 30, ROWS)],
            "rain": [f"{n:.0f} mm" for n in RNG.uniform(0, 30, ROWS)],
            "sold": [f"{5 * n:,}".replace(",", ".") for n in SOLD],
        },
        ["sold"],
        {
            "wind": {"type": "continuous", "step": 0.1, "unit": "km/h"},
            "rain": {"type": "discrete", "step": 1, "unit": "mm"},
        },
        write=_semicolons,
    ),
    "thousands": Table(
        {"day": DAYS.strftime("%d.%m.%Y"), "guests": [f"{5 * n:,}".replace(",", ".") for n in SOLD]},
        ["guests"],
        {"day": DATE},
        "day",
        write=_semicolons,
    ),
    "stock": Table(
        {"temp": TEMP, "opening stock": SOLD + LEFT, "sold": SOLD, "closing stock": LEFT},
        ["sold"],
        {"temp": NUMBER, "opening stock": {"type": "discrete", "step": 1}},
        ignore=("closing stock",),
    ),
    "dates": Table(
        {
            "date": DAYS.strftime("%Y-%m-%d"),
            "ordered": (DAYS - pd.Timedelta(days=2)).strftime("%d %b %Y"),
            "temp": TEMP,
            "sold": SOLD,
            "paid": (DAYS + pd.to_timedelta(LEFT % 7, unit="D")).strftime("%m/%d/%Y"),
        },
        ["sold"],
        {"date": DATE, "temp": NUMBER},
        "date",
        ignore=("ordered", "paid"),
    ),
    "income": Table(
        {"price": PRICE, "temp": TEMP, "income": (PRICE * SOLD).round(2), "sold": SOLD},
        ["sold"],
        {"price": {"type": "continuous"}, "temp": NUMBER},
        ignore=("income",),
    ),
    "ranges": Table(
        {
            "grade": pd.cut(SOLD, 4, labels=["D", "C", "B", "A"]).astype(str),
            "full": (np.median(SOLD) < SOLD).astype(int),
            "temp": TEMP,
            "sold": SOLD,
        },
        ["sold"],
        {"temp": NUMBER},
        ignore=("grade", "full"),
    ),
    "ahead": Table(
        {"A": np.roll(SOLD, -1), "B": np.cumsum(SOLD), "C": np.roll(SOLD, -7), "temp": TEMP, "sold": SOLD},
        ["sold"],
        {"temp": NUMBER},
        ignore=("A", "B", "C"),
    ),
    "wasted": Table(
        {"temp": TEMP, "sold": SOLD, "thrown away and wasted": np.maximum(250 - SOLD, 0)},
        ["sold"],
        {"temp": NUMBER},
        ignore=("thrown away and wasted",),
    ),
    "same": Table(
        {"store": ["Ulm"] * ROWS, "days": [6] * ROWS, "temp": TEMP, "sold": SOLD},
        ["sold"],
        {"temp": NUMBER},
        ignore=("store", "days"),
    ),
    "months": Table(
        {
            "month": pd.date_range("2014-01-01", periods=24, freq="MS").strftime("%b %Y"),
            "temp": TEMP[:24],
            "sold": SOLD[:24],
        },
        ["sold"],
        {"temp": NUMBER},
        "month",
    ),
    "shifts": Table(
        {
            "shift": [f"{day} {part}" for part in ("early", "late") for day in DAYS.strftime("%Y-%m-%d")],
            "temp": [*TEMP, *TEMP],
            "shop": np.repeat(["a", "b"], ROWS),
            "guests": [*SOLD, *OTHER],
        },
        ["guests"],
        {"temp": NUMBER, "shop": {"type": "categorical"}},
        "shift",
    ),
    "hours": Table(
        {"Zeit": pd.date_range("2024-01-01", periods=ROWS, freq="h").strftime("%d.%m.%Y %H:%M"), "Verkauf": SOLD},
        ["Verkauf"],
        {"Zeit": {"type": "date", "parts": ["weekday"]}},
        "Zeit",
        write=_semicolons,
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_project_file_that_comes_out(tmp_path: Path, name: str) -> None:
    """Outcomes, features with types, steps and units, row names and what is left out, with a word about each."""
    table = TABLES[name]
    data = tmp_path / "days.csv"
    data.write_bytes(table.write(pd.DataFrame(table.columns)))
    made = starter(data)
    said = tomllib.loads(made.text)
    assert said["outcomes"]["columns"] == table.outcomes
    assert list(said["features"]) == list(table.features)
    for feature, keys in table.features.items():
        assert said["features"][feature].items() >= keys.items()
    assert said["data"].get("index") == table.index
    assert tuple(said["data"].get("ignore", ())) == table.ignore
    assert said["explain"] == {"time_limit": 60}
    for column in (*table.outcomes, *table.ignore):
        assert any(repr(column) in remark for remark in made.remarks)
    project = tmp_path / "whence.toml"
    project.write_text(made.text, "utf-8")
    assert findings(project) == []
    if table.ignore and not {"index", "No", "paid", "store"} & {*table.ignore}:
        seeing = "\n".join(line for line in made.text.splitlines() if not line.startswith("ignore"))
        project.write_text(seeing, "utf-8")
        warned = [str(one) for one in findings(project)]
        assert all(any(f"column {column!r}" in one for one in warned) for column in table.ignore), warned


def test_what_is_no_leak(tmp_path: Path) -> None:
    """Products that sell differently, days on which nothing is open, and what was sold before, are features."""
    columns = {
        "product": np.repeat(["rolls", "cake"], ROWS),
        "open": ["yes" if i % 7 else "no" for i in range(ROWS)] * 2,
        "sold last week": [*np.roll(SOLD, 7), *np.roll(LEFT, 7)],
        "sold": [*np.where(np.arange(ROWS) % 7, SOLD, 0), *np.where(np.arange(ROWS) % 7, LEFT, 0)],
    }
    (tmp_path / "days.csv").write_text(pd.DataFrame(columns).to_csv(index=False), "utf-8")
    made = starter(tmp_path / "days.csv", ["sold"])
    assert made.remarks == []
    assert list(tomllib.loads(made.text)["features"]) == ["product", "open", "sold last week"]


def test_a_column_that_may_be_one_more_outcome_is_named(tmp_path: Path) -> None:
    """Where only the last of two columns of counts was taken for the outcome, the other one is named."""
    few = LEFT % 9
    columns = {"temp": TEMP, "fish": few, "shrimp": SOLD // 20}
    (tmp_path / "days.csv").write_text(pd.DataFrame(columns).to_csv(index=False), "utf-8")
    made = starter(tmp_path / "days.csv")
    assert tomllib.loads(made.text)["outcomes"]["columns"] == ["shrimp"]
    assert any(one.startswith("'fish' stands beside 'shrimp' and looks like it.") for one in made.remarks)
    assert starter(tmp_path / "days.csv", ["shrimp"]).remarks == []


def test_days_as_contexts(tmp_path: Path) -> None:
    """A row named after a date is found however the date is written; one that no row has is called so."""
    table = TABLES["german"]
    (tmp_path / "days.csv").write_bytes(table.write(pd.DataFrame(table.columns)))
    (tmp_path / "whence.toml").write_text(starter(tmp_path / "days.csv").text, "utf-8")
    project = Project.load(tmp_path / "whence.toml")
    for text in ("14.02.2024", "2024-02-14", "14 Feb 2024"):
        assert project.context(text)["Datum"] == pd.Timestamp("2024-02-14")
    with pytest.raises(InputError, match="No row of the history is of 2025-02-14: it has days from 2024-01-01 to"):
        project.context("2025-02-14")


def test_what_spreadsheets_put_into_cells(tmp_path: Path) -> None:
    """A sum below the table is no row; cells that could not be computed are missing; lost times of day are named."""
    ratio = ["#DIV/0!", *map(str, TEMP[1:])]
    text = pd.DataFrame({"date": DAYS.strftime("%Y-%m-%d"), "ratio": ratio, "sold": SOLD}).to_csv(index=False)
    (tmp_path / "t.csv").write_text(f"{text}Total:,,{SOLD.sum()}\n", "utf-8")
    made = starter(tmp_path / "t.csv")
    assert '[features.ratio]\ntype = "continuous"' in made.text
    (tmp_path / "whence.toml").write_text(made.text.replace('# missing = "drop"', 'missing = "drop"'), "utf-8")
    project = Project.load(tmp_path / "whence.toml")
    assert len(project.Y) == ROWS - 1
    assert project.Y["sold"].max() < 1000
    said = [str(one) for one in project.warnings]
    assert any("line 122: is left out: it sums up the rows above it" in one for one in said), said
    table = TABLES["hours"]
    (tmp_path / "hours.csv").write_bytes(table.write(pd.DataFrame(table.columns)))
    assert any("times of day (the hour)" in remark for remark in starter(tmp_path / "hours.csv").remarks)


def test_a_unit_is_read_with_its_column_and_no_other(tmp_path: Path) -> None:
    """A cell in another unit is an error, not a number; contexts may be typed in the column's own unit."""
    table = TABLES["measured"]
    columns = pd.DataFrame(table.columns)
    (tmp_path / "days.csv").write_bytes(table.write(columns))
    (tmp_path / "whence.toml").write_text(starter(tmp_path / "days.csv").text, "utf-8")
    project = Project.load(tmp_path / "whence.toml")
    assert project.Y["sold"].tolist() == [5 * n for n in SOLD.tolist()]
    assert project.context("wind=13,2 km/h, rain=4")["wind"] == 13.2
    with pytest.raises(InputError, match="'wind' must be a finite number"):
        project.context("wind=4,1 m/s, rain=4")
    columns.loc[3, "rain"] = "0,4 cm"
    (tmp_path / "days.csv").write_bytes(table.write(columns))
    [error] = [str(one) for one in findings(tmp_path / "whence.toml")]
    assert "line 5, column 'rain'" in error
    assert "'0,4 cm'" in error


def test_a_missing_cell_says_what_to_do(tmp_path: Path) -> None:
    """The finding about a gap names the key that leaves such rows out."""
    columns = {"temp": ["", *map(str, TEMP[1:])], "sold": SOLD}
    (tmp_path / "days.csv").write_text(pd.DataFrame(columns).to_csv(index=False), "utf-8")
    (tmp_path / "whence.toml").write_text(starter(tmp_path / "days.csv").text, "utf-8")
    assert 'missing = "drop" in [data]' in str(findings(tmp_path / "whence.toml")[0])
