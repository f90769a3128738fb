"""`whence check` says everything that is wrong at once."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.support import run
from tests.project.samples import PROJECT, csv_text, days, write_project


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
