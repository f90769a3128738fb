"""What is wrong with a project is said in a sentence with file, line, and key or column, and all of it at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.project.samples import PROJECT, csv_text, days, write_city, write_project

from whence.project import Project, ProjectError, findings
from whence.project.source import Source


def said(path: Path) -> list[str]:
    """All findings of a project as texts."""
    return [str(finding) for finding in findings(path)]


def test_everything_at_once(tmp_path: Path) -> None:
    """Six mistakes in four places give six findings, and `load` lists the same ones."""
    text = (
        PROJECT.replace('kind = "knn"', 'kind = "kNN"')
        .replace("budget", "bugdet")
        .replace("holding = [1, 2]", "holding = -1")
    )
    text = text.replace('unit = "°C"', "unit = 3\nlow = 5\nhigh = 1")
    rows = days()
    rows[4][4] = "many"
    path = write_project(tmp_path, text, csv_text(rows))
    found = said(path)
    assert len(found) == 6, found
    lines = text.splitlines()
    for finding, line, words in [
        ("days.csv, line 5, column 'rolls'", None, "must be a number with a decimal point. Got 'many' instead."),
        ("weights.kind", 'kind = "kNN"', "must be 'forest' or 'knn'. Got 'kNN' instead."),
        ("features.temp.unit", "unit = 3", "must be a text in quotes. Got 3 instead."),
        ("features.temp", "[features.temp]", "must not exceed 'high'"),
        ("problem.bugdet", "bugdet = 100", "Did you mean 'budget'?"),
        ("problem.holding", "holding = -1", "must be finite and non-negative. Got -1 instead."),
    ]:
        where = finding if line is None else f"whence.toml, line {lines.index(line) + 1}, {finding}"
        assert any(f.startswith(where + ":") and words in f for f in found), (where, found)
    with pytest.raises(ProjectError) as refused:
        Project.load(path)
    assert str(refused.value).startswith("whence.toml cannot be used; 6 things are wrong:\n  ")
    assert all(text in str(refused.value) for text in found)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"days.csv"', '"dyas.csv"', "dyas.csv: The file '{}/dyas.csv' does not exist."),
        ('"days.csv"', '"."', "is a folder; a file was expected."),
        ("[data]", "[dta]", "whence.toml, line 4, dta: 'dta' is not known here. Did you mean 'data'?"),
        ('["rolls", "cakes"]', '["rolls", "cake"]', "which days.csv does not have. Did you mean 'cakes'?"),
        ('["rolls", "cakes"]', '["rolls", "rolls"]', "names 'rolls' twice"),
        ('["rolls", "cakes"]', '"rolls"', "outcomes.columns: must be a list of texts in quotes. Got 'rolls' instead."),
        ('["rolls", "cakes"]', "[]", "must name at least one column."),
        (
            "[features.temp]",
            "[features.tmp]",
            "'tmp' is not a column of the contexts, so it cannot be a feature. Did",
        ),
        ("[features.temp]", "[features.rolls]", "'rolls' is an outcome, so it cannot be a feature."),
        ('type = "continuous"', 'type = "number"', "must be 'continuous', 'discrete', 'categorical' or 'binary'."),
        ("k = 5", "k = 40", "weights.k: The 'k' parameter of KNNWeights must be an int in [1, n_samples)"),
        ("k = 5", "k = 0", "weights.k: must be a whole number of at least 1. Got 0 instead."),
        ("k = 5", "k = true", "weights.k: must be a whole number of at least 1. Got True instead."),
        (
            "[1, 2]",
            "[1, 2, 3]",
            "problem.holding: The 'holding' and 'backorder' parameters of Newsvendor must be of the",
        ),
        (
            "[1, 2]",
            "[1, -2]",
            "problem.holding: The 'holding' parameter of Newsvendor must be finite and non-negative.",
        ),
        ("cakes = 4", "cake = 4", "problem.backorder: names 'cake', which is not an outcome. Did you mean 'cakes'?"),
        ("cakes = 4", "cake = 4", "problem.backorder: needs a number for the outcome 'cakes'."),
        ("budget = 100", "budget = -1", "problem.budget: The 'budget' parameter of Newsvendor must be"),
        ("time_limit = 30", "time_limit = 0", "explain.time_limit: must be a positive number. Got 0 instead."),
        (
            "time_limit = 30",
            'fixed = ["tmp"]',
            "explain.fixed: names 'tmp', which is not a feature. Did you mean 'temp'?",
        ),
        ("title =", "title ==", "whence.toml: is not valid TOML: "),
        (
            'kind = "newsvendor"',
            "",
            "whence.toml, line 18, problem: needs 'kind', 'newsvendor', 'shipment', 'shortest_path' or 'linear'.",
        ),
        (
            'history = "days.csv"',
            'contexts = "days.csv"',
            "needs 'history', a CSV file of contexts and outcomes, or both",
        ),
        (
            '"days.csv"',
            '"days.csv"\nindex = "date"',
            "data.index: names the column 'date', which days.csv does not have.",
        ),
        ('"days.csv"', '"days.csv"\nencoding = "klingon"', "'klingon' is not a text encoding, such as 'utf-8'."),
        (
            '"days.csv"',
            '"days.csv"\nignore = ["temp", "rain", "day", "events"]',
            "leaves no column of days.csv for the",
        ),
    ],
)
def test_one_mistake(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """Every mistake in a project file is named where it stands, with what was expected."""
    assert old in PROJECT
    path = write_project(tmp_path, PROJECT.replace(old, new, 1))
    found = said(path)
    assert any(expected.format(tmp_path) in text for text in found), found


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


def test_a_category_that_is_not_declared(tmp_path: Path) -> None:
    """A cell that is none of the declared categories is named with its line."""
    path = write_project(
        tmp_path, PROJECT + '[features.day]\ntype = "categorical"\ncategories = ["Monday", "Tuesday"]\n'
    )
    assert said(path)[0] == (
        "days.csv, line 4, column 'day': must be one of the declared categories. Got 'Wednesday' instead."
    )


def test_files_that_do_not_match(tmp_path: Path) -> None:
    """Two files of different length, and an index that one of them lacks, are refused."""
    (tmp_path / "x.csv").write_text("date,temp\na,1\nb,2\nc,3\n", "utf-8")
    (tmp_path / "y.csv").write_text("date,sold\na,1\nb,2\nb,3\n", "utf-8")
    text = '[data]\ncontexts = "x.csv"\noutcomes = "y.csv"\nindex = "date"\n'
    text += '[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 1\n'
    path = tmp_path / "whence.toml"
    path.write_text(text, "utf-8")
    assert said(path) == [
        "y.csv, line 4, column 'date': occurs twice; an index that joins two files must not.",
        "x.csv, line 4, column 'date': has no row of outcomes in y.csv; 1 rows have none.",
    ]
    (tmp_path / "y.csv").write_text("sold\n1\n2\n", "utf-8")
    path.write_text(text.replace('index = "date"', 'ignore = ["date"]'), "utf-8")
    assert any("x.csv has 3 rows and y.csv 2; they must match." in text for text in said(path))


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (
            "city.toml",
            '"home"',
            '"hoem"',
            "problem.source: names 'hoem', which is not a node of streets.csv. Did you mean",
        ),
        ("streets.csv", "from,to", "fro,to", "streets.csv, line 1: needs a column 'from'. Did you mean 'fro'?"),
        (
            "streets.csv",
            "home,bridge",
            "tunnel,work",
            "streets.csv, line 3, column 'from': the edge tunnel -> work must",
        ),
        ("streets.csv", "home,bridge", ",bridge", "streets.csv, line 3, column 'from': is missing; an edge needs both"),
        ("streets.csv", "bridge out", "bridge off", "names 'bridge off', which trips.csv does not have. Did you mean"),
        ("places.csv", "node,", "place,", "places.csv, line 1: needs a column 'node'."),
        ("places.csv", "home,0", "home,west", "places.csv, line 2, column 'x': must be a number"),
        ("places.csv", "bridge,", "Bridge,", "does not say where 'bridge' is, so routes are not drawn."),
        ("city.toml", "alpha = 0.5", "alpha = 1", "risk.alpha: must be a number in [0, 1). Got 1 instead."),
        ("city.toml", "alpha = 0.5", "", "risk: needs 'alpha', a number in [0, 1)."),
        ("city.toml", 'source = "home"', "grid = 3", "needs 'network', 'source' and 'target', or 'grid' alone."),
    ],
)
def test_mistakes_in_a_network(tmp_path: Path, file: str, old: str, new: str, expected: str) -> None:
    """Faults of a network are named in the file in which they are."""
    path = write_city(tmp_path)
    text = (tmp_path / file).read_text("utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1), "utf-8")
    found = said(path)
    assert any(expected in text for text in found), found


def test_lines_of_keys() -> None:
    """A key's line is found in tables, dotted keys and quoted names; a key inside a value has its table's line."""
    text = '[a]\nb = 1\n[a."c d"]\ne.f = 2\n\n["a".g]\nh = { i = 3 }\n'
    source = Source(Path("p.toml"), text)
    assert source.at("a", "b") == "p.toml, line 2, a.b"
    assert source.at("a", "c d", "e", "f") == "p.toml, line 4, a.c d.e.f"
    assert source.at("a", "g", "h", "i") == "p.toml, line 7, a.g.h.i"
    assert source.at("z") == "p.toml, z"


def test_one_bad_cell_among_yes_and_no(tmp_path: Path) -> None:
    """The cell that is spelled unlike most of its column is named, and no other."""
    rows = days()
    rows[8][1] = "perhaps"
    project = PROJECT + '\n[features.rain]\ntype = "binary"\n'
    found = said(write_project(tmp_path, project, csv_text(rows)))
    assert len(found) == 1, found
    assert "line 9, column 'rain'" in found[0]
    assert "Got 'perhaps' instead." in found[0]
