"""`whence evaluate` and `whence tune`: what they print, and what they write."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from tests.cli.support import refused, run
from tests.project.samples import PROJECT, write_project

import whence as wh
from whence.project import Project


def jumping(folder: Path) -> Path:
    """A project whose demand jumps with the day, of which its 90 neighbours see little."""
    rng = np.random.default_rng(0)
    days = rng.choice(["Mon", "Tue", "Wed"], 160)
    warm = rng.random(160)
    sold = 20 + 60 * (days == "Tue") + 30 * warm + rng.normal(size=160)
    rows = [f"{temp:.3f},{day},{rolls:.2f}" for temp, day, rolls in zip(warm, days, sold, strict=True)]
    text = """[data]
history = "days.csv"
[outcomes]
columns = ["rolls"]
[weights]   # kept
kind = "knn"
k = 90      # many
[problem]
kind = "newsvendor"
holding = 1
backorder = 3
cost_unit = "€"
"""
    return write_project(folder, text, "temp,day,rolls\n" + "\n".join(rows) + "\n")


def test_evaluate_prints_what_python_gives(tmp_path: Path) -> None:
    """The table as JSON is that of `wh.evaluate`; in words, the sentence follows the table."""
    path = write_project(tmp_path, PROJECT)
    project = Project.load(path)
    expected = wh.evaluate({"policy": project.policy}, project.X, project.Y, cv=4)
    told = json.loads(run("evaluate", path, "--cv", "4", "--json").stdout)
    assert [line["name"] for line in told["table"]] == expected.frame.index.tolist()
    np.testing.assert_allclose([line["cost"] for line in told["table"]], expected.frame["cost"])
    assert (told["rows"], told["folds"], told["text"]) == (40, 4, str(expected))
    words = run("evaluate", path, "--cv", "4")
    assert words.exit_code == 0
    assert words.stdout.splitlines()[0].split() == [
        "out",
        "of",
        "sample",
        "expected",
        "cost",
        "worst",
        "tenth",
        "prescriptiveness",
        "against",
        "average",
    ]
    assert words.stdout.endswith(f"{expected}\n")


def test_evaluate_over_time_in_part_and_drawn(tmp_path: Path) -> None:
    """`--time` learns from earlier rows only, `--rows` holds out fewer, `--plot` draws."""
    path = write_project(tmp_path, PROJECT)
    picture = tmp_path / "costs.png"
    done = run("evaluate", path, "--time", "--cv", "3", "--rows", "15", "--plot", picture, "--json")
    told = json.loads(done.stdout)
    assert (told["rows"], told["folds"]) == (15, 3)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "'--plot' must be a file in a folder that exists" in refused(run("evaluate", path, "--plot", tmp_path))
    assert "must end in .png, .svg or .pdf" in refused(run("evaluate", path, "--plot", tmp_path / "costs.doc"))
    assert "'--jobs' must be a whole number other than 0" in refused(run("evaluate", path, "--jobs", "0"))


def test_tune_writes_its_choice_with_the_evidence(tmp_path: Path) -> None:
    """A dry run changes nothing; then the choice is in the file, with comments kept, and the project decides better."""
    path = jumping(tmp_path)
    before = path.read_text("utf-8")
    asked = ("tune", path, "--only", "knn", "--cv", "4")
    dry = run(*asked, "--dry-run")
    assert path.read_text("utf-8") == before
    assert 'was not changed. It would say: kind = "knn", k = ' in dry.stdout
    told = run(*asked)
    assert told.exit_code == 0, told.output
    assert 'Wrote to whence.toml: kind = "knn", k = ' in told.stdout
    after = path.read_text("utf-8")
    assert "[weights]   # kept\n# tuned: knn, k " in after
    assert "# many" in after
    chosen = tomllib.loads(after)["weights"]["k"]
    assert chosen < 90
    assert Project.load(path).policy.weights.k == chosen
    # What was chosen stays.
    again = json.loads(run(*asked, "--json").stdout)
    assert (again["chosen"], again["written"]) == ("as it is", False)
    assert path.read_text("utf-8") == after


def test_tune_leaves_a_file_it_cannot_change(tmp_path: Path) -> None:
    """Where [weights] is an inline table, the file stays and the sentence says what to write."""
    path = jumping(tmp_path)
    text = path.read_text("utf-8").replace('[weights]   # kept\nkind = "knn"\nk = 90      # many\n', "")
    path.write_text('weights = { kind = "knn", k = 90 }\n' + text, "utf-8")
    before = path.read_bytes()
    said = refused(run("tune", path, "--only", "knn", "--cv", "3"))
    assert 'write it yourself: kind = "knn", k = ' in said
    assert path.read_bytes() == before


def test_fit_says_how_good_the_policy_is(tmp_path: Path) -> None:
    """After fitting comes the cost on rows not seen, and a saved policy keeps it for its explanations."""
    path, saved = jumping(tmp_path), tmp_path / "policy.joblib"
    told = run("fit", path, "--save", saved)
    assert "Expected cost on 160 rows it had not seen: " in told.stdout
    assert "the average per day costs less" in told.stdout
    why = json.loads(run("explain", path, "-c", "1", "-i", "50", "--policy", saved, "--no-holds", "--json").stdout)
    assert why["quality"]["rows"] == 160
    assert why["quality"]["simple"]["name"] == "average per day"


@pytest.mark.parametrize("weights", ['kind = "knn"\nk = 90', 'kind = "forest"\nn_trees = 20\nmax_depth = 6'])
def test_report_says_how_good_the_policy_is(tmp_path: Path, weights: str) -> None:
    """The HTML report has a section on it, with a warning only where a simple rule does better."""
    path = jumping(tmp_path)
    text = path.read_text("utf-8").replace('kind = "knn"\nk = 90      # many', weights)
    path.write_text(text, "utf-8")
    page = tmp_path / "why.html"
    done = run("explain", path, "-c", "1", "-i", "50", "--no-holds", "--report", page)
    assert "had not seen" not in done.stdout
    html = page.read_text("utf-8")
    assert "How good the policy is" in html
    assert ('wh-warning">' in html) == ("knn" in weights)
