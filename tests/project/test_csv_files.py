"""CSV files as people have them, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.project.samples import PROJECT, csv_text, days, write_project

from whence.project import Project, findings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), (";", ","), ("\t", ","), (";", ".")])
def test_csv_as_people_have_it(tmp_path: Path, encoding: str, separator: str, decimal: str) -> None:
    """Encoding, separator and decimal sign are found out, and the numbers and letters are the same in all of them."""
    rows = [[cell.replace("day", "Wochentag ü") for cell in row] for row in days()]
    write_project(tmp_path)
    (tmp_path / "days.csv").write_bytes(csv_text(rows, separator, decimal).encode(encoding))
    project = Project.load(tmp_path / "whence.toml")
    assert list(project.X.columns) == ["temp", "rain", "Wochentag ü", "events"]
    assert project.X["temp"].tolist() == [float(row[0]) for row in rows[1:]]
    assert project.decimal == decimal


def said(path: Path) -> list[str]:
    """All findings of a project as texts."""
    return [str(finding) for finding in findings(path)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("", "days.csv: is empty: a line of column names and at least one row were expected."),
        ("\n\n  \n", "days.csv: is empty"),
        ("temp,rain,day,events,rolls,cakes\n", "days.csv: has a line of column names but no row that can be read."),
        (
            "temp,temp,rolls,cakes\n1,2,3,4\n",
            "days.csv, line 1: the column 'temp' must occur only once. Got it 2 times.",
        ),
        ("temp,,rolls,cakes\n1,2,3,4\n", "days.csv, line 1, column 2: has no name."),
        ("temp,rolls,cakes\n1,2,3\n1,2\n1,2,3,4\n", "days.csv, line 3: has 2 cells where the first line has 3."),
        ("temp,rolls,cakes\n1,2,3\n1,2\n1,2,3,4\n", "days.csv, line 4: has 4 cells where the first line has 3."),
        (
            "temp,rolls,cakes\n1,2,3\n,2,3\n",
            "days.csv, line 3, column 'temp': is missing; every cell must hold a number.",
        ),
        ("temp,rolls,cakes\n1,2,3\n1,inf,3\n", "days.csv, line 3, column 'rolls': must be a finite number. Got 'inf'"),
        ("temp,rolls,cakes\n1,NaN,3\n1,2,3\n", "days.csv, line 2, column 'rolls': is missing"),
        ("temp,when,rolls,cakes\n1,2024-05-01,2,3\n2,2024-05-02,2,3\n", "column 'when': holds dates or times of day"),
        ("temp,when,rolls,cakes\n1,13:30,2,3\n2,07:15,2,3\n", "column 'when': holds dates or times of day"),
        ("temp,gone,rolls,cakes\n1,,2,3\n2,,2,3\n", "column 'gone': holds no value; leave it out with [data] ignore"),
        ('temp,rolls,cakes\n1,"2,3\n1,2,3\n', "days.csv"),
        ("PK\x03\x04\x14\x00", "days.csv: is a spreadsheet or another packed file: save it as CSV first."),
        ("temp,rolls\x00,cakes\n1,2,3\n", "days.csv: is not a text file: it holds null bytes."),
    ],
)
def test_bad_data(tmp_path: Path, data: str, expected: str) -> None:
    """Faults in a CSV file are named with line and column, and what to do about dates."""
    found = said(write_project(tmp_path, data=data))
    assert any(expected in text for text in found), found


def test_the_first_few_of_many_faults(tmp_path: Path) -> None:
    """Of many faults of one kind the first three are listed and the others counted."""
    rows = days()
    for row in rows[1:11]:
        row[0] = "warm"
    found = said(write_project(tmp_path, data=csv_text(rows)))
    assert len(found) == 4
    assert found[-1] == "days.csv, column 'temp': 7 more cells have the same fault."


def test_declared_encoding_that_is_wrong(tmp_path: Path) -> None:
    """Bytes that do not exist in the declared encoding are refused with their line."""
    path = write_project(tmp_path, PROJECT.replace('"days.csv"', '"days.csv"\nencoding = "utf-8"'))
    (tmp_path / "days.csv").write_bytes(csv_text(days()).replace("Tuesday", "Dienstäg").encode("latin-1"))
    assert said(path) == ["days.csv: is not written in 'utf-8': line 3 holds bytes that do not exist in it."]
