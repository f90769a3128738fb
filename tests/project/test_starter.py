"""`whence init`: the first project file can be used as it is, whatever the CSV file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.project.samples import csv_text, days

from whence.errors import InputError
from whence.project import Project, findings
from whence.project.starter import starter

MIXED = '''date;temp °C;open;size;town;note;"rolls ""big"""
2024-01-01;3,5;yes;1;Ulm;b;10
2024-01-02;4,5;no;2;Köln;b;12
2024-01-03;-1,0;yes;3;Ulm;b;9
2024-01-04;2,25;no;2;Köln;x;11
'''


def test_types_are_found_out(tmp_path: Path) -> None:
    """Every column gets its type, a date names the rows, and the file is valid and free of findings."""
    data = tmp_path / "days.csv"
    data.write_text(MIXED, "utf-8")
    made = starter(data)
    (tmp_path / "whence.toml").write_text(made.text, "utf-8")
    assert findings(tmp_path / "whence.toml") == []
    project = Project.load(tmp_path / "whence.toml")
    schema = project.fitted().schema_
    kinds = {name: type(schema.kind(name)).__name__ for name in schema.names}
    assert kinds == {
        "temp °C": "Continuous",
        "open": "Binary",
        "size": "Discrete",
        "town": "Categorical",
        "note": "Categorical",
    }
    assert list(project.Y.columns) == ['rolls "big"']
    assert project.X.index.tolist()[0] == "2024-01-01"
    assert any("'rolls \"big\"', as the outcome" in remark for remark in made.remarks)
    assert "Rows are named after 'date', which is no feature." in made.remarks


def test_outcomes_that_are_named(tmp_path: Path) -> None:
    """The outcomes named are no features; a name that no column has is refused with the nearest one."""
    data = tmp_path / "days.csv"
    data.write_text(csv_text(days()), "utf-8")
    made = starter(data, ["rolls", "cakes"])
    assert 'columns = ["rolls", "cakes"]' in made.text
    assert "[features.rolls]" not in made.text
    assert made.remarks == []
    with pytest.raises(InputError, match="Did you mean 'cakes'"):
        starter(data, ["cake"])
    with pytest.raises(InputError, match="'day', which does not hold numbers"):
        starter(data, ["day"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("day\nMonday\n", "has no column of numbers that could be an outcome"),
        ("sold\n3\n4\n", "has no column left for the context besides 'sold'"),
        ("a,a\n1,2\n", "the column 'a' must occur only once"),
    ],
)
def test_data_that_makes_no_project(tmp_path: Path, text: str, expected: str) -> None:
    """A CSV file from which no project can be made is refused in a sentence."""
    data = tmp_path / "days.csv"
    data.write_text(text, "utf-8")
    with pytest.raises(InputError, match=expected):
        starter(data)
