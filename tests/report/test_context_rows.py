"""A report says which day it is about, all values of its context, and which observations matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import whence as wh
from whence.report.html import context_rows, observation_named, page
from whence.report.observations import mattering_of

X = pd.DataFrame(
    {"warmth": np.linspace(0, 20, 60).round(1), "shop": ["north", "south"] * 30},
    index=[f"day {k}" for k in range(1, 61)],
)
Y = pd.DataFrame({"rolls": 10 + 5 * X["warmth"].to_numpy() + 7 * (X["shop"] == "south").to_numpy()})
POLICY = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=3), schema=wh.Schema({"warmth": wh.Continuous(unit="°C")})).fit(
    X, Y
)


def test_the_day_and_all_values_are_told(tmp_path: Path) -> None:
    """Of a past day its name; of every feature its value with its unit, and what it would have to be."""
    why = POLICY.explain(X.iloc[5], instead=[90.0])
    assert observation_named(why.report) == "day 6"
    rows = context_rows(why.report)
    assert [name for name, *_ in rows] == ["warmth", "shop"]
    assert rows[0][1] == "1.7 °C"
    assert rows[0][2].endswith(" °C")
    text = page(why)
    assert "Asked about day 6." in text
    assert "All values of the context" in text
    assert "Which plan is best along each feature" not in text
    assert observation_named(POLICY.explain({"warmth": 3.33, "shop": "north"}, instead=[90.0]).report) == ""


def test_with_the_policy_a_report_shows_strips() -> None:
    """One drawing per feature, also of an explanation that was read from a file."""
    why = wh.Explanation.from_json(POLICY.explain(X.iloc[5], instead=[90.0]).to_json())
    text = page(why, policy=POLICY)
    assert text.count("Best along ") == 2 * 2
    assert "Which plan is best along each feature" in text


def test_observations_are_listed_by_what_they_contribute() -> None:
    """The table is sorted by the share of the turn, and rows of 0 % are not in it."""
    why = POLICY.explain(X.iloc[5], instead=[90.0])
    assert why.report.shown is not None
    speaking = mattering_of(why.report, why.report.shown)
    assert speaking is not None
    [table] = speaking.tables
    assert table.heading == "They matter most"
    at = table.head.index("share")
    shares = [float(row[at].removesuffix(" %")) for row in table.rows]
    assert all(abs(share) >= 0.5 for share in shares)
    assert [abs(share) for share in shares] == sorted((abs(share) for share in shares), reverse=True)


def test_answers_of_several_tell_their_day_and_values_too(tmp_path: Path) -> None:
    """A menu, a front and reasons say which day they are about, with both plans; a comparison has both contexts."""
    mine = [90.0]
    for found in (POLICY.menu(X.iloc[5], mine), POLICY.front(X.iloc[5], mine), POLICY.reasons(X.iloc[5], mine)):
        found.to_html(tmp_path / "sheet.html")
        text = (tmp_path / "sheet.html").read_text("utf-8")
        assert "Asked about day 6." in text, found
        assert "<td>warmth</td><td>1.7 °C</td>" in text, found
        assert "The two plans. Filled: the decision. Dashed: yours." in text, found
        again = type(found).from_json(found.to_json())
        again.to_html(tmp_path / "again.html")
        assert "Asked about day 6." in (tmp_path / "again.html").read_text("utf-8"), found
    POLICY.compare(X.iloc[5], X.iloc[8]).to_html(tmp_path / "sheet.html")
    text = (tmp_path / "sheet.html").read_text("utf-8")
    assert "All values of both contexts" in text
    assert "<td>warmth</td><td>1.7 °C</td><td><b>2.7 °C</b></td>" in text
