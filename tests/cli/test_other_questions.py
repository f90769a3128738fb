"""`whence front`, `menu`, `reasons` and `compare`: in words, as JSON, as reports, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.support import refused, run

import whence as wh
from whence.project import Project

QUESTION = ("-c", "2024-01-04", "-i", "context:2024-07-13")


@pytest.mark.parametrize(
    ("command", "said", "schema"),
    [
        ("front", "With one change", "whence/front/1"),
        ("menu", "would do:", "whence/menu/1"),
        ("reasons", "As long as ", "whence/reasons/1"),
    ],
)
def test_in_words_as_json_and_as_a_report(bakery: Path, tmp_path: Path, command: str, said: str, schema: str) -> None:
    """The sentences are on stdout, the report in its file; JSON tells the same; proved is exit code 0."""
    told = run(command, bakery, *QUESTION, "--report", tmp_path / "page.html")
    assert told.exit_code == 0, told.output
    assert said in told.stdout
    assert "The report is in" in told.stderr
    assert told.stdout.split("\n")[0][:30] in (tmp_path / "page.html").read_text("utf-8")
    document = json.loads(run(command, bakery, *QUESTION, "--json").stdout)
    assert document["schema"] == schema
    assert said in document["text"]
    verified(document, bakery, tmp_path)


def test_prices(bakery: Path, tmp_path: Path) -> None:
    """Prices in words, as a report and as JSON that is verified; no such prices is exit code 3."""
    asked = ("prices", bakery, *QUESTION, "--kind", "relative", "--fix", "holding", "--weight", "backorder=2")
    told = run(*asked, "--report", tmp_path / "prices.html")
    assert told.exit_code == 0, told.output
    assert "Your plan is right today" in told.stdout
    assert "At which prices?" in (tmp_path / "prices.html").read_text("utf-8")
    document = json.loads(run(*asked, "--json").stdout)
    assert document["schema"] == "whence/prices/1"
    verified(document, bakery, tmp_path)
    assert run("prices", bakery, *QUESTION, "--fix", "holding", "--fix", "backorder").exit_code == 3
    for option, said in [
        (("--bound", "backorder=1"), "'--bound' must be given as price=low:high"),
        (("--weight", "backorder"), "'--weight' must be given as price=value"),
        (("--weight", "backorder=much"), "'--weight' must hold numbers"),
        (("--fix", "rent"), "'fixed' must name parameters among"),
    ]:
        assert said in refused(run("prices", bakery, *QUESTION, *option))


def test_implied(bakery: Path, tmp_path: Path) -> None:
    """Planners who plan as if every unit short cost twice as much are found out; a row that is wrong is named."""
    project = Project.load(bakery)
    policy, days = project.fitted(), project.X.head(20)
    twice = wh.Newsvendor(policy.problem.holding, 2 * np.asarray(policy.problem.backorder), 560.0)
    plans = wh.Policy(twice, policy.weights, schema=policy.schema).fit(project.X, project.Y).predict(days)
    planned = tmp_path / "planned.csv"
    made = pd.DataFrame(np.asarray(plans), index=days.index, columns=project.Y.columns)
    pd.concat([days, made], axis=1).to_csv(planned, index=False)
    asked = ("implied", bakery, planned, "--fix", "holding")
    told = run(*asked, "--report", tmp_path / "implied.html")
    assert told.exit_code == 0, told.output
    assert "not 1.9 €" in told.stdout
    assert "Proved: no other prices explain them better." in told.stdout
    assert "backorder of rye bread" in (tmp_path / "implied.html").read_text("utf-8")
    document = json.loads(run(*asked, "--json").stdout)
    assert document["schema"] == "whence/implied/1"
    verified(document, bakery, tmp_path)
    for wrong, said in (("temperature\n1\n", "must have"), ("context,instead\n1,row:2\n2,any\n", "Row 2 of wrong.csv")):
        (tmp_path / "wrong.csv").write_text(wrong, "utf-8")
        assert said in refused(run("implied", bakery, tmp_path / "wrong.csv"))


def test_rules(bakery: Path, tmp_path: Path) -> None:
    """Rules in words, as a report and as JSON."""
    told = run("rules", bakery, "--up-to", "2", "--time-limit", "3", "--report", tmp_path / "rules.html")
    assert told.exit_code == 0, told.output
    assert "2 rules stand for the policy." in told.stdout
    assert "What does the policy do in general?" in (tmp_path / "rules.html").read_text("utf-8")
    document = json.loads(run("rules", bakery, "--up-to", "2", "--time-limit", "3", "--json").stdout)
    assert document["schema"] == "whence/rules/1"
    assert "'min_share' must be" in refused(run("rules", bakery, "--min-share", "3"))


def test_compare(bakery: Path, tmp_path: Path) -> None:
    """Both plans, contributions that add up, and a report."""
    asked = ("compare", bakery, "--before", "2024-01-04", "--after", "2024-07-13")
    told = run(*asked, "--report", tmp_path / "since.html")
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("Before: ")
    assert "<svg" in (tmp_path / "since.html").read_text("utf-8")
    document = json.loads(run(*asked, "--json").stdout)
    assert sum(one["contribution"] for one in document["contributions"]) == pytest.approx(document["turn"])
    verified(document, bakery, tmp_path)


def verified(document: dict[str, Any], project: Path, folder: Path) -> None:
    """`whence verify` agrees with the document, and notices where it was changed."""
    file = folder / "answer.json"
    file.write_text(json.dumps(document), "utf-8")
    told = run("verify", file, project)
    assert told.exit_code == 0, told.output
    assert f"answer.json agrees with {project.name if project.suffix else 'whence.toml'}" in told.stdout
    file.write_text(json.dumps({**document, "text": "Trust me."}), "utf-8")
    told = run("verify", file, project)
    assert told.exit_code == 1
    assert "changed after it was written" in told.stdout


def test_few_changes(bakery: Path) -> None:
    """`--max-changes` limits the changes of an explanation, and so does the project file."""
    told = run("explain", bakery, *QUESTION, "--max-changes", "1", "--no-holds", "--json")
    assert told.exit_code == 0, told.output
    document = json.loads(told.stdout)
    assert (document["max_changes"], len(document["changes"])) == (1, 1)
    folder = bakery if bakery.is_dir() else bakery.parent
    file = folder / "whence.toml"
    text = file.read_text("utf-8")
    file.write_text(text.replace("[explain]", "[explain]\nmax_changes = 1"), "utf-8")
    try:
        again = json.loads(run("explain", bakery, *QUESTION, "--no-holds", "--json").stdout)
        assert again["max_changes"] == 1
        # A limit for single explanations is nothing that a menu could keep to.
        assert run("menu", bakery, *QUESTION).exit_code == 0
        file.write_text(text.replace("[explain]", "[explain]\nmax_changes = 0"), "utf-8")
        assert "max_changes" in refused(run("explain", bakery, *QUESTION))
    finally:
        file.write_text(text, "utf-8")


def test_limits_and_refusals(bakery: Path, tmp_path: Path) -> None:
    """A time limit that is too short is exit code 4; what is wrong is told in a sentence, and nothing is written."""
    assert run("menu", bakery, *QUESTION, "--time-limit", "0.000001").exit_code == 4
    assert "'--report' must be a file" in refused(run("reasons", bakery, *QUESTION, "--report", tmp_path / "no" / "x"))
    assert "'--report' must be a file" in refused(
        run("compare", bakery, "-b", "2024-01-04", "-a", "2024-07-13", "--report", tmp_path)
    )
    assert list(tmp_path.iterdir()) == [bakery.parent]
