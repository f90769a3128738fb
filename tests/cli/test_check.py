"""`whence check` says everything that is wrong at once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.support import run
from tests.project.samples import PROJECT, csv_text, days, write_city, write_project


def test_check_says_everything(tmp_path: Path) -> None:
    """`check` lists all findings, in words or as JSON, and ends with exit code 2 where one is an error."""
    text = PROJECT.replace("budget", "bugdet").replace('kind = "knn"', 'kind = "kNN"')
    path = write_project(tmp_path, text)
    told = run("check", path)
    assert told.exit_code == 2
    assert told.stdout.splitlines() == [
        "whence.toml, line 15, weights.kind: must be 'forest', 'decision_forest', 'knn', 'kernel' or 'forecast'. "
        "Got 'kNN' instead.",
        "whence.toml, line 22, problem.bugdet: 'bugdet' is not known here. Did you mean 'budget'?",
        "2 errors: whence.toml cannot be used.",
    ]
    found = json.loads(run("check", path, "--json").stdout)
    assert [finding["severity"] for finding in found] == ["error", "error"]
    assert found[1]["where"] == "whence.toml, line 22, problem.bugdet"


def test_check_proposes_relations_that_hold_in_every_row(tmp_path: Path) -> None:
    """What the history shows without exception is listed as the project file would say it; a confirmed one is kept."""
    rows = csv_text(days()).splitlines()
    data = "\n".join([rows[0] + ",peak"] + [f"{row},{float(row.split(',')[0]) + 1.5}" for row in rows[1:]]) + "\n"
    told = run("check", write_project(tmp_path, PROJECT, data))
    assert told.exit_code == 0
    assert told.stdout.splitlines()[-1] == 'relations = ["temp <= peak"]'
    confirmed = 'relations = ["temp <= peak"]\n' + PROJECT
    told = run("check", write_project(tmp_path, confirmed, data))
    assert told.exit_code == 0
    assert "relations" not in told.stdout
    wrong = 'relations = ["temp <= peek"]\n' + PROJECT
    told = run("check", write_project(tmp_path, wrong, data))
    assert told.exit_code == 2
    assert told.stdout.startswith("whence.toml, line 1, relations: The relation 'temp <= peek' must name a feature")


#: A fault in every section and in the data; each can be seen whatever the others are.
FAULTS = """
relations = ["temp <= peek", "temp <= pick"]

[data]
history = "days.csv"
ignore = ["nothing"]

[outcomes]
columns = ["rolls", "cakes"]

[features.temp]
type = "continuous"
low = 5
high = 1

[features.events]
type = "discrete"
values = [1, 2]

[features.rain]
type = "binry"

[weights]
kind = "knn"
k = 0

[problem]
kind = "linear"
A_eq = [[1, 1, 1, 1]]
b_eq = [1]

[risk]
kind = "cvar"

[explain]
within = -1
instead = "1, 2"
"""


def test_check_offers_a_better_forecast(tmp_path: Path) -> None:
    """Where demand is linear, check and evaluate say that a linear forecast predicts better than neighbours do."""
    rows = [["temp", "wind", "sold"]]
    rows += [[str(i % 41), str(7 * i % 23), str(100 + 9 * (i % 41) - 5 * (7 * i % 23) + i % 3)] for i in range(120)]
    project = (
        '[data]\nhistory = "days.csv"\n[outcomes]\ncolumns = ["sold"]\n[weights]\nkind = "knn"\nk = 30\n'
        '[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 3\n'
    )
    path = write_project(tmp_path, project, csv_text(rows))
    assert "A linear forecast predicts rows not seen clearly better" in run("check", path).stdout
    found = json.loads(run("evaluate", path, "--cv", 3, "--json").stdout)
    assert found["offer"]["model"] == "linear"
    assert found["offer"]["costs"]["forecast"] < found["offer"]["costs"]["before"]


def test_check_says_what_only_shows_later(tmp_path: Path) -> None:
    """Faults of all sections and of the data are listed at once, each with its key or its line."""
    rows = days()
    rows[5][0], rows[7][4] = "warm", "many"
    told = run("check", write_project(tmp_path, FAULTS, csv_text(rows)))
    assert told.exit_code == 2
    places = [line.split(": ")[0] for line in told.stdout.splitlines()]
    assert places == [
        "whence.toml, line 6, data.ignore",
        "whence.toml, line 9, outcomes.columns",
        "whence.toml, line 11, features.temp",
        "whence.toml, line 21, features.rain.type",
        "whence.toml, line 25, weights.k",
        "whence.toml, line 32, risk",
        "whence.toml, line 36, explain.within",
        "whence.toml, line 37, explain.instead",
        "days.csv, line 6, column 'temp'",
        "days.csv, line 8, column 'rolls'",
        "10 errors",
    ]
    assert "must be 4 columns, as [problem] kind = 'linear' asks. Got 2." in told.stdout


def test_check_says_which_relations_and_features_do_not_fit(tmp_path: Path) -> None:
    """Where the columns are certain, each relation and each feature is tried by itself, whatever the cells are."""
    rows = days()
    rows[5][4] = "many"
    text = FAULTS.replace('ignore = ["nothing"]\n', "").replace('type = "binry"', 'type = "binary"')
    told = run("check", write_project(tmp_path, text.replace("low = 5\nhigh = 1\n", ""), csv_text(rows)))
    lines = told.stdout.splitlines()
    assert [line for line in lines if "peek" in line] == [lines[0]]
    assert [line for line in lines if "pick" in line] == [lines[1]]
    assert any(line.startswith("whence.toml, line 13, features.events: ") for line in lines), told.stdout
    assert any(line.startswith("days.csv, line 6, column 'rolls': ") for line in lines)


def test_both_ends_of_a_route_and_both_rates_are_looked_at(tmp_path: Path) -> None:
    """Of two keys that are wrong in the same section, neither hides the other."""
    text = PROJECT.replace("holding = [1, 2]", "holding = -1").replace("{ rolls = 3, cakes = 4 }", "-2")
    told = run("check", write_project(tmp_path / "rates", text))
    assert [line.split(": ")[0].split(".")[-1] for line in told.stdout.splitlines()[:2]] == ["holding", "backorder"]
    city = write_city(tmp_path)
    city.write_text(city.read_text("utf-8").replace('"home"', '"hme"').replace('"work"', '"wrk"'), "utf-8")
    told = run("check", city)
    assert [line.split(": ")[0].split(".")[-1] for line in told.stdout.splitlines()[:2]] == ["source", "target"]


def test_a_hard_program_does_not_hold_up_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An integer program that takes hours is tried for some seconds; that it was not solved is a warning."""
    monkeypatch.setattr("whence.project.project.TRIED_SECONDS", 1.0)
    # Market split: half of the sum of each row, which branch and bound finds only by trying nearly everything.
    rng = np.random.default_rng(0)
    A = rng.integers(0, 100, (6, 50))
    sums = [int(row.sum()) // 2 for row in A]
    slack = [[float(i == j) for j in range(6)] + [-float(i == j) for j in range(6)] for i in range(6)]
    rows = [[*map(float, row), *more] for row, more in zip(A.tolist(), slack, strict=True)]
    names = [f"y{i}" for i in range(62)]
    data = [["temp", *names]] + [[str(t), *["0"] * 50, *["1"] * 12] for t in range(20)]
    bounds = [[0, 1]] * 50 + [[0, "none"]] * 12
    project = f"""
[data]
history = "days.csv"
[outcomes]
columns = {names}
[weights]
kind = "knn"
k = 3
[problem]
kind = "linear"
A_eq = {rows}
b_eq = {sums}
bounds = {bounds}
integrality = {[1] * 50 + [0] * 12}
"""
    told = run("check", write_project(tmp_path, project, csv_text(data)))
    assert told.exit_code == 0, told.output
    assert "whence.toml, line 9, problem: (warning) was not solved within 1 s for 5 rows." in told.stdout
