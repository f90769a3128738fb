"""CSV files as people have them, and what is wrong with them."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.project.samples import PROJECT, csv_text, days, write_project

from whence.project import Project, findings
from whence.project.csv_files import CsvFormat, load_csv
from whence.project.findings import ProjectError


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


def test_a_file_larger_than_memory_is_refused_at_once(tmp_path: Path) -> None:
    """A file of 8 TB, nearly all of which is a hole, is a sentence, and takes neither time nor memory."""
    path = tmp_path / "days.csv"
    path.write_text("temp,sold\n1,2\n", "utf-8")
    os.truncate(path, 8 << 40)
    with pytest.raises(ProjectError, match=r"has 8,796 GB, more than the memory of this machine \(\d+ GB\)"):
        load_csv(path, CsvFormat())


def test_null_bytes_are_found_where_they_begin(tmp_path: Path) -> None:
    """Of a file of 2 GB that is mostly a hole, no more is read than it takes to see that it is no text."""
    path = tmp_path / "days.csv"
    path.write_text("temp,sold\n1,2\n", "utf-8")
    os.truncate(path, 2 << 30)
    assert peak(lambda: refusal(path)) < 20e6
    assert refusal(path) == "days.csv: is not a text file: it holds null bytes."


def refusal(path: Path) -> str:
    """Why a file is refused."""
    with pytest.raises(ProjectError) as error:
        load_csv(path, CsvFormat())
    return str(error.value)


def peak(act: Callable[[], Any]) -> int:
    """Bytes that Python holds at most while something runs, beyond those before."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def write_large(path: Path, rows: int) -> int:
    """A table whose cells repeat themselves, as they do; its bytes."""
    path.write_text(
        "temp,day,sold\n" + "".join(f"{i % 400 / 10},day {i % 7},{i * i % 1000}\n" for i in range(rows)), "utf-8"
    )
    return path.stat().st_size


def test_a_table_takes_little_more_memory_than_its_file(tmp_path: Path) -> None:
    """Texts are read a part at a time, and cells that repeat themselves are kept once."""
    path = tmp_path / "days.csv"
    size = write_large(path, 150_000)
    assert size > 2e6
    assert peak(lambda: load_csv(path, CsvFormat())) < 10 * size


def test_rows_from_all_over_a_large_file(tmp_path: Path) -> None:
    """Where a part of the rows is enough, it is taken from the whole file, with the lines on which they stand."""
    path = tmp_path / "days.csv"
    size = write_large(path, 150_000)
    whole, part = load_csv(path, CsvFormat()), load_csv(path, CsvFormat(), size / 9.5)
    assert (whole.every, part.every) == (1, 10)
    assert part.cells.equals(whole.cells.iloc[::10].reset_index(drop=True))
    assert part.lines.tolist() == whole.lines[::10].tolist()
    assert peak(lambda: load_csv(path, CsvFormat(), size / 9.5)) < 2 * size


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_characters_reach_over_the_ends_of_parts(
    tmp_path: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the parts in which a file is read, its text is the same."""
    monkeypatch.setattr("whence.util.files.CHUNK", 3)
    path = tmp_path / "days.csv"
    path.write_bytes("größe;tag\n1,5;Käse\n2,5;Öl\n".encode(encoding))
    table = load_csv(path, CsvFormat())
    assert table.cells.to_dict("list") == {"größe": ["1,5", "2,5"], "tag": ["Käse", "Öl"]}
    assert (table.separator, table.decimal) == (";", ",")


def test_the_line_of_a_byte_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A declared encoding that a file is not written in is refused with the line, in whatever part that is."""
    monkeypatch.setattr("whence.util.files.CHUNK", 4)
    path = tmp_path / "days.csv"
    path.write_bytes(b"a,b\n1,2\n3,\xff\n")
    with pytest.raises(ProjectError, match="line 3 holds bytes that do not exist in it"):
        load_csv(path, CsvFormat(encoding="utf-8"))
