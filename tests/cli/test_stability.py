"""`whence stability`, and sets of plans at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.support import refused, run
from tests.project.samples import write_city

import whence as wh
from whence.cli import options
from whence.project import Project


def test_a_table_of_the_history(small: Path, tmp_path: Path) -> None:
    """Every row of the history, the most fragile first; the same numbers as the policy's."""
    told = run("stability", small, "--csv", tmp_path / "fragile.csv", "--top", "3")
    assert told.exit_code == 0, told.output
    table = pd.read_csv(tmp_path / "fragile.csv")
    project = Project.load(small)
    assert len(table) == len(project.X)
    assert table["distance"].dropna().is_monotonic_increasing
    first = table.iloc[0]
    why = project.fitted().explain(project.context(int(first["row"])))
    assert why.distance == pytest.approx(first["distance"])
    assert "what would change the plan" in told.stdout


def test_some_rows_and_a_margin(small: Path) -> None:
    """Rows are chosen by their numbers."""
    told = run("stability", small, "--rows", "2-4", "--margin", "5%")
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("3 rows: ")


def test_as_json_and_in_refits(small: Path, tmp_path: Path) -> None:
    """The same table for programs, with how usual contexts are, and with --holds in how many refits answers hold."""
    told = json.loads(run("stability", small, "--rows", "2-4", "--json", "--csv", tmp_path / "all.csv").stdout)
    table = pd.read_csv(tmp_path / "all.csv")
    assert [one["row"] for one in told] == table["row"].tolist()
    assert [one["usual"] for one in told] == pytest.approx(table["usual"].tolist())
    assert "held" not in table
    project = Project.load(small)
    for one in told:
        why = project.fitted().explain(project.context(one["row"]))
        assert (one["status"], one["distance"]) == (why.status, pytest.approx(why.distance))
    sure = json.loads(
        run("stability", small, "--rows", "2-4", "--json", "--holds", "0.9", "--refits", "bootstrap").stdout
    )
    assert all(one["refits"] == 20 and 0 <= one["held"] <= 20 for one in sure)
    nearest = {one["row"]: one["distance"] for one in told}
    assert all(one["distance"] >= nearest[one["row"]] - 1e-9 for one in sure)
    true = json.loads(run("stability", small, "--rows", "2-2", "--json", "--holds", "0.5").stdout)
    assert 0.0 <= true[0]["true_share"] <= 1.0


@pytest.mark.parametrize("rows", ["0-3", "5-2", "one", "1-9999"])
def test_rows_that_are_not_there(small: Path, rows: str) -> None:
    """Refused in a sentence."""
    assert "'--rows' must" in refused(run("stability", small, "--rows", rows))


def test_explain_without_a_plan(small: Path, tmp_path: Path) -> None:
    """What would change the plan, in words, as JSON and as a report."""
    told = run("explain", small, "-c", "3", "--no-holds", "--report", tmp_path / "why.html")
    assert told.exit_code == 0, told.output
    assert "stays within 1 % of the best in every context nearer than" in told.stdout
    assert (tmp_path / "why.html").exists()
    as_json = run("explain", small, "-c", "3", "-i", "any", "--json", "--no-holds")
    assert wh.Explanation.from_json(as_json.stdout).among == "another plan"


def test_both_answers_about_a_set(small: Path) -> None:
    """Where it turns, and where to rely on it, by the command as for single plans; what a project asks for holds."""
    told = run("explain", small, "-c", "3").stdout
    assert "of such answers are true" in told
    assert "such answers" not in run("explain", small, "-c", "3", "--no-holds").stdout
    content = small.read_text("utf-8")
    assert content.count("time_limit = 30") == 1
    small.write_text(content.replace("time_limit = 30", "plausible = 0.2\nholds = false"), "utf-8")
    said = wh.Explanation.from_json(run("explain", small, "-c", "3", "--json").stdout)
    assert said.plausible == 0.2
    assert said.reliance is None
    assert said.usual is not None and said.usual >= 0.2  # noqa: PT018
    menu = wh.Menu.from_json(run("menu", small, "-c", "3", "-i", "any", "--json").stdout)
    assert all(why.plausible == 0.2 for why in menu)


def test_a_question_of_which_nobody_says_how_long_it_may_take_has_an_end(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a time limit a minute is one; "none" lifts it, in the project as on the command line."""
    monkeypatch.setattr(options, "SECONDS", 1e-9)
    said = small.read_text("utf-8")
    small.write_text(said.replace("time_limit = 30", ""), "utf-8")
    assert run("explain", small, "-c", "3", "--no-holds").exit_code == 4
    assert run("explain", small, "-c", "3", "--no-holds", "--time-limit", "none").exit_code == 0
    small.write_text(said.replace("time_limit = 30", 'time_limit = "none"'), "utf-8")
    told = run("explain", small, "-c", "3", "--no-holds")
    assert told.exit_code == 0, told.output
    assert "Proved nearest" in told.stdout
    assert "'time_limit' must be a positive number" in refused(run("explain", small, "-c", "3", "--time-limit", "soon"))


def test_the_rows_share_one_time_limit(small: Path) -> None:
    """Every row is asked about however little time there is; without a limit, all of them are proved."""
    for limit, statuses in (("1e-9", {"time_limit", "optimal", "none"}), ("none", {"optimal", "none"})):
        told = run("stability", small, "--rows", "1-3", "--time-limit", limit, "--json")
        assert told.exit_code == 0, told.output
        rows = json.loads(told.stdout)
        assert sorted(row["row"] for row in rows) == [1, 2, 3]
        assert {row["status"] for row in rows} <= statuses


def test_sets_of_quantities(small: Path) -> None:
    """Limits on quantities, several at once."""
    told = run("explain", small, "-c", "3", "-i", "at-least:cakes=10; between:rolls=1:90", "--no-holds")
    assert told.exit_code in (0, 3), told.output
    assert "lan with at least 10 cakes and between 1 and 90 rolls" in told.stdout
    assert "'part' must be among" in refused(run("explain", small, "-c", "3", "-i", "at-least:bagels=10"))
    assert "'through' is not for the plans of Newsvendor" in refused(
        run("explain", small, "-c", "3", "-i", "through:A")
    )
    assert "must have two numbers, low:high" in refused(run("explain", small, "-c", "3", "-i", "between:rolls=3"))


def test_sets_of_routes(tmp_path: Path) -> None:
    """By node, by edge and by street."""
    city = write_city(tmp_path)
    for text in ("through:tunnel", "using:B1", "avoiding:A1", "using:home > tunnel"):
        told = run("explain", city, "-c", "rain=2", "-i", text, "--kind", "absolute", "--no-holds")
        assert told.exit_code == 0, told.output
        assert "would have been the best plan if rain were" in told.stdout
    assert "must name nodes, edges or streets" in refused(run("explain", city, "-c", "rain=2", "-i", "through:C9"))


def test_sets_in_batches(small: Path, tmp_path: Path) -> None:
    """A column of sets, and one set for all rows."""
    (tmp_path / "asked.csv").write_text("context,instead\n3,any\n4,at-least:cakes=10\n5,row:9\n", "utf-8")
    told = run("batch", small, tmp_path / "asked.csv", tmp_path / "answered.csv")
    assert told.exit_code == 0, told.output
    answers = pd.read_csv(tmp_path / "answered.csv")
    assert set(answers["status"]) <= {"optimal", "already", "none"}
