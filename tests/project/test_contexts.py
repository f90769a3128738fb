"""Contexts as people give them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.project.samples import csv_text, days, write_project

from whence.errors import InputError
from whence.project import Project

PAIRS = "temp=3.5, rain=yes, day=Monday, events=2"


VALUES = {"temp": 3.5, "rain": True, "day": "Monday", "events": 2}


def test_a_context_in_every_form(project: Project, tmp_path: Path) -> None:
    """Pairs, JSON, a mapping, a JSON file and a CSV file give one and the same context."""
    (tmp_path / "c.json").write_text(json.dumps(VALUES), "utf-8")
    (tmp_path / "c.csv").write_text("day;temp;rain;events\nMonday;3,5;yes;2\n", "utf-8")
    forms = [PAIRS, PAIRS.split(", "), json.dumps(VALUES), VALUES, str(tmp_path / "c.json"), str(tmp_path / "c.csv")]
    for form in forms:
        assert project.context(form).to_dict() == VALUES, form
    assert isinstance(project.context(PAIRS)["events"], int)


def test_rows_of_the_history(project: Project) -> None:
    """Rows count from 1, and what follows a row is laid over it."""
    first = project.X.iloc[0].to_dict()
    assert project.context("1").to_dict() == project.context(1).to_dict() == project.context("row:1").to_dict() == first
    assert project.context(["1", "temp=20"]).to_dict() == {**first, "temp": 20.0}


def test_rows_by_name(tmp_path: Path) -> None:
    """Where the rows are named after a column, a name is a context; a number is still the number of a row."""
    rows = [["date", *days()[0]], *([f"2024-01-{i:02}", *row] for i, row in enumerate(days(20)[1:], start=1))]
    path = write_project(tmp_path, data=csv_text(rows))
    path.write_text(path.read_text("utf-8").replace('"days.csv"', '"days.csv"\nindex = "date"'), "utf-8")
    project = Project.load(path)
    assert project.context("2024-01-07").to_dict() == project.context("7").to_dict()
    np.testing.assert_array_equal(project.plan("row:2024-01-07"), project.plan("row:7"))


def test_decimal_commas_are_typed_as_the_data_has_them(tmp_path: Path) -> None:
    """In a project whose data has decimal commas they may be typed, and points too."""
    project = Project.load(write_project(tmp_path, data=csv_text(days(), ";", ",")))
    for text in ("temp=3,5, rain=yes, day=Monday, events=2", PAIRS):
        assert project.context(text).to_dict() == VALUES
    np.testing.assert_array_equal(project.plan("rolls=3,5, cakes=4"), [3.5, 4.0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "The history has the rows 1 to 40. Got row 0 instead."),
        ("41", "The history has the rows 1 to 40. Got row 41 instead."),
        ("temp=3", "The context must give 'rain', 'day', 'events' as well."),
        (PAIRS + ", sun=1", "The context gives 'sun', which is not a feature."),
        (PAIRS.replace("temp", "tmp"), "The context gives 'tmp', which is not a feature. Did you mean 'temp'?"),
        (PAIRS + ", temp=1", "The context gives 'temp' twice."),
        (
            PAIRS.replace("Monday", "monday"),
            "'day' must be one of Monday, Tuesday, Wednesday. Got 'monday' instead. Did",
        ),
        (PAIRS.replace("yes", "perhaps"), "'rain' must be yes or no. Got 'perhaps' instead."),
        (PAIRS.replace("3.5", "warm"), "'temp' must be a finite number. Got 'warm' instead."),
        (PAIRS.replace("3.5", "nan"), "'temp' must be a finite number. Got 'nan' instead."),
        (PAIRS.replace("3.5", "inf"), "'temp' must be a finite number. Got 'inf' instead."),
        (PAIRS.replace("=3.5", "="), "must be given as name=value. Got 'temp=' instead."),
        ('{"temp": 1', "The context is not valid JSON: "),
        ("[1, 2]", "A context must be the number of a row, name=value pairs, JSON, or a CSV or JSON file."),
        (
            '{"temp": null, "rain": 1, "day": "Monday", "events": 1}',
            "'temp' must be a finite number. Got None instead.",
        ),
        ("absent.csv", "absent.csv: The file 'absent.csv' does not exist."),
        ("absent.json", "The file 'absent.json' does not exist."),
        ("", "A context must be the number of a row"),
    ],
)
def test_contexts_that_are_refused(project: Project, text: str, expected: str) -> None:
    """A context that cannot be used is refused in a sentence that says what was expected."""
    with pytest.raises(InputError) as refused:
        project.context(text)
    assert expected in str(refused.value)
