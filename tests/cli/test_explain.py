"""`whence explain`: in words, as JSON, as a report, and its exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.support import ENVIRONMENT, refused, run
from tests.forests import PAPER_KEYS
from tests.project.samples import PROJECT, write_city

import whence as wh
from whence.project import Project


def test_explain_in_words_and_as_a_report(bakery: Path, tmp_path: Path) -> None:
    """The sentences are on stdout, the report in its file under the project's title; found is exit code 0."""
    arguments = ("explain", bakery, "-c", "2024-01-04", "-i", "context:2024-07-13")
    told = run(*arguments, "--report", tmp_path / "why.html")
    assert told.exit_code == 0, told.output
    assert (
        "Your plan would have been better than the decision if weekday were Saturday rather than Thursday."
        in told.stdout
    )
    assert f"The report is in {tmp_path / 'why.html'}." in told.stderr
    assert "Why not bake as on a warm Saturday?" in (tmp_path / "why.html").read_text("utf-8")


def test_explain_as_json(small: Path) -> None:
    """The JSON on stdout is the explanation that the policy gives, and can be read back."""
    told = run("explain", small, "-c", "3", "-i", "rolls=20, cakes=30", "--kind", "absolute", "--json", "--no-holds")
    why = wh.Explanation.from_json(told.stdout)
    project = Project.load(small)
    expected = project.fitted().explain(project.context(3), project.plan("20,30"), kind="absolute")
    assert (why.status, why.distance, why.kind) == (expected.status, expected.distance, "absolute")
    assert told.exit_code == {"optimal": 0, "already": 0, "none": 3}[why.status]


def test_the_answer_comes_before_the_report(small: Path, tmp_path: Path) -> None:
    """Where the report cannot be written the answer is printed all the same, then the error with its exit code."""
    resource = pytest.importorskip("resource")
    asked = ("explain", small, "-c", "3", "-i", "row:9", "--no-holds")
    answer = run(*asked)
    assert answer.exit_code == 0
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        result = run(*asked, "--report", tmp_path / "why.html")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.exit_code == 2
    assert result.stdout == answer.stdout
    assert f"A file cannot be read or written: File too large ({tmp_path / 'why.html'})." in result.stderr
    assert list(tmp_path.glob("*.html*")) == list(tmp_path.glob(".*partial")) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is a matter of Linux")
def test_a_full_disk(small: Path) -> None:
    """A full disk under the report or under the answer itself is a sentence and exit code 2, without a traceback."""
    command = [sys.executable, "-m", "whence", "explain", str(small), "-c", "3", "-i", "row:9", "--no-holds"]
    report = subprocess.run(
        [*command, "--report", "/dev/full"], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert report.returncode == 2
    assert report.stdout.startswith("Decision: ")
    said = "whence: A file cannot be read or written: No space left on device"
    assert f"{said} (/dev/full)." in report.stderr
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False)
    assert answer.returncode == 2
    assert answer.stderr == f"{said}.\n"


def test_a_share_of_the_best_from_the_command_line_and_the_project(small: Path) -> None:
    """`--within` and the project's `within` reach the policy; a relative question of the command line has none."""
    asked = ("explain", small, "-c", "3", "-i", "rolls=20, cakes=30", "--json", "--no-holds")
    project = Project.load(small)
    expected = project.fitted().explain(project.context(3), [20.0, 30.0], kind="absolute", within=0.2)
    told = json.loads(run(*asked, "--kind", "absolute", "--within", "0.2").stdout)
    assert (told["status"], told["within"]) == (expected.status, 0.2)
    small.write_text(PROJECT.replace("time_limit = 30", 'time_limit = 30\nkind = "absolute"\nwithin = 0.2'), "utf-8")
    assert json.loads(run(*asked).stdout)["within"] == 0.2
    assert "within" not in json.loads(run(*asked, "--kind", "relative").stdout)
    refused = run(*asked, "--kind", "relative", "--within", "0.2")
    assert refused.exit_code == 2
    assert "use it with kind='absolute'" in refused.output
    small.write_text(PROJECT.replace("time_limit = 30", 'time_limit = 30\nwithin = "2 %"'), "utf-8")
    assert "a number of at least 0, such as 0.02 for 2 %" in run(*asked).output


FOREST = PROJECT.replace('kind = "knn"\nk = 5', f'kind = "forest"\nn_trees = 20\n{PAPER_KEYS}')
SEED = ("--holds", "0.9", "--refits", "seed")
NEAR = "rolls=262, rye bread=79, croissants=77, fruit cake=31"


def test_where_it_turns_and_where_to_rely_on_it(bakery: Path, tmp_path: Path) -> None:
    """The nearest comes first with how few refits agree, then what most of them agree on, its costs and its rule."""
    told = run(
        "explain",
        bakery,
        "-c",
        "4",
        "-i",
        NEAR,
        "--refits",
        "seed",
        "--holds",
        "0.9",
        "--report",
        tmp_path / "why.html",
    )
    assert told.exit_code == 0, told.output
    nearest, reliable = told.stdout.split("It turns narrowly: only 13 of 20 refits agree.")
    assert "if temperature were" in nearest
    assert "Proved nearest, at distance" in nearest
    for expected in (
        "Where refits agree: your plan would have been better than the decision if promotion were on",
        "Proved nearest by 1.2 standard errors over the trees, at distance 1",
        "It is stable, which is not to say true: 20 of 20 refits agree (other random numbers, same data).",
        "The context found is less usual than most: 22 % of past contexts are as unusual.",
        "Your plan is better whenever temperature is at most 15.7",
    ):
        assert expected in reliable
    # Each answer has its rule.
    assert "whenever" not in nearest
    assert re.match(r"\n(Your plan is better whenever|No short rule|No rule) .*\n\nWhere refits agree", reliable)
    page = (tmp_path / "why.html").read_text("utf-8")
    for expected in ("Where it turns", "Where refits agree", "How far you can rely on it", "13 of 20", "7 of 10"):
        assert expected in page


def test_one_document_with_the_nearest_inside(bakery: Path) -> None:
    """`--json` prints what may be relied on, the nearest inside it, and the rule; `verify` agrees with all of it."""
    document = json.loads(run("explain", bakery, "-c", "4", "-i", NEAR, *SEED, "--json").stdout)
    assert document["reliance"]["wanted"] == 0.9
    assert (document["held"], document["nearest"]["held"]["times"]) == ({"times": 20, "refits": 20}, 13)
    assert document["region"]["short"]
    assert document["nearest"]["distance"] < document["distance"]
    why = wh.Explanation.from_dict(document)
    assert why.rule is not None
    assert why.nearest is not None
    assert str(why.nearest.rule) == document["nearest"]["region"]["sentence"]
    assert (str(why.rule), why.agreed) == (document["region"]["sentence"], (20, 20))
    assert why.verify(Project.load(bakery).fitted()).differences == []


def test_only_the_nearest_and_other_criteria(small: Path) -> None:
    """`--no-holds` asks no refits; margin, confidence and plausibility reach the policy."""
    small.write_text(FOREST, "utf-8")
    asked = ("explain", small, "-c", "3", "-i", "rolls=20, cakes=30")
    assert "refits" not in run(*asked, "--no-holds").stdout
    document = json.loads(run(*asked, "--margin", "1%", "--confidence", "0.5", "--plausible", "0.05", "--json").stdout)
    assert (document["margin"], document["confidence"], document["plausible"]) == ([0.01, 0.0], 0.5, 0.05)
    assert "reliance" not in document
    assert json.loads(run(*asked, "--no-holds", "--margin", "2cost", "--json").stdout)["margin"] == [0.0, 2.0]
    assert "'margin' must be a share" in refused(run(*asked, "--margin", "5 euros"))
    assert "'--no-holds' asks for no refits" in refused(run(*asked, "--no-holds", "--holds", "0.9"))
    assert "'holds' must be a share of such answers" in refused(run(*asked, "--holds", "2"))


def test_criteria_of_the_project(small: Path) -> None:
    """What `[explain]` says of margin, holds and plausible is asked, unless the command line says otherwise."""
    asked = ("explain", small, "-c", "3", "-i", "rolls=20, cakes=30", "--json")
    more = 'time_limit = 30\nmargin = "1 %"\nholds = false\nplausible = 0.05'
    small.write_text(FOREST.replace("time_limit = 30", more), "utf-8")
    document = json.loads(run(*asked).stdout)
    assert (document["margin"], document["plausible"]) == ([0.01, 0.0], 0.05)
    assert document["question"]["holds"] is None
    assert json.loads(run(*asked, "--holds", "0.5").stdout)["question"]["holds"] == 0.5
    small.write_text(FOREST.replace("time_limit = 30", "holds = 0.9\nconfidence = 2\nmargin = -1"), "utf-8")
    said = refused(run(*asked))
    assert "explain.confidence: must not be given with 'holds'" in said
    assert "explain.margin: must be a share of the decision's cost" in said


def test_what_cannot_be_asked_is_said(bakery: Path) -> None:
    """The integer program knows no confidence: the nearest is told, and why there is no more."""
    told = run("explain", bakery, "-c", "4", "-i", "row:13", "--engine", "milp")
    assert told.exit_code == 0, told.output
    assert "How far you can rely on it was not searched for" in told.stdout


def test_none_is_exit_code_three(bakery: Path) -> None:
    """A proof that there is no such context is exit code 3; restrictions of the command line count."""
    told = run("explain", bakery, "-c", "4", "-i", "row:13", "--fix", "weekday", "--bound", "temperature=0:20")
    assert told.exit_code == 3, told.output
    assert "Proved: no such context exists." in told.stdout


def test_time_limit_is_exit_code_four(small: Path) -> None:
    """A search that ends at its time limit is exit code 4, whether it is the project's or the command line's."""
    told = run("explain", small, "-c", "3", "-i", "rolls=20, cakes=30", "--kind", "absolute", "--time-limit", "1e-9")
    assert told.exit_code == 4, told.output
    small.write_text(PROJECT.replace("time_limit = 30", 'time_limit = 1e-9\nkind = "absolute"'), "utf-8")
    assert run("explain", small, "-c", "3", "-i", "rolls=20, cakes=30").exit_code == 4


def test_so_is_a_memory_limit(small: Path) -> None:
    """What ended the search is said."""
    asked = ("explain", small, "-c", "3", "-i", "rolls=20, cakes=30", "--kind", "absolute", "--no-holds")
    told = run(*asked, "--memory-limit", "10")
    assert told.exit_code == 4, told.output
    assert "the search had used its memory of 10 bytes" in " ".join(told.output.split())
    small.write_text(PROJECT.replace("time_limit = 30", "memory_limit = 10"), "utf-8")
    assert run(*asked).exit_code == 4


def test_bounds_and_fixed_features_reach_the_policy(small: Path) -> None:
    """What the command line allows is what `Policy.explain` allows."""
    arguments = ("explain", small, "-c", "3", "-i", "rolls=20, cakes=30", "--json", "--no-holds")
    project = Project.load(small)
    expected = project.fitted().explain(
        project.context(3), [20.0, 30.0], fixed=["day", "rain"], bounds={"temp": (None, 20.0)}
    )
    told = json.loads(run(*arguments, "--fix", "day,rain", "--bound", "temp=:20").stdout)
    assert told["status"] == expected.status
    assert told["distance"] == (expected.distance if expected.found else "Infinity")


def test_the_integer_program(tmp_path: Path) -> None:
    """`--engine milp` asks the integer program, which agrees with the search on a route."""
    city = write_city(tmp_path)
    arguments = ("explain", city, "-c", "rain=1", "-i", "home > tunnel > work", "--json", "--no-holds")
    search, milp = (json.loads(run(*arguments, "--engine", engine).stdout) for engine in ("search", "milp"))
    assert milp["engine"].startswith("milp")
    assert abs(milp["distance"] - search["distance"]) < 1e-4


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("-c", "99", "-i", "row:1"), "The history has the rows 1 to 40. Got row 99 instead."),
        (("-c", "temp=1", "-i", "row:1"), "The context must give 'rain', 'day', 'events' as well."),
        (("-c", "1", "-i", "rolls=99, cakes=9"), "The plan orders 108 in total, 8 more than the budget of 100."),
        (("-c", "1", "-i", "row:2", "--fix", "tmp"), "must name features among"),
        (("-c", "1", "-i", "row:2", "--bound", "temp=1"), "must be given as low:high, two numbers."),
        (("-c", "1", "-i", "row:2", "--time-limit", "-1"), "'time_limit' must be a positive number"),
        (
            ("-c", "1", "-i", "row:2", "--report", "no/such/why.html"),
            "'--report' must be a file in a folder that exists.",
        ),
        (("-c", "1", "-i", "row:2", "--policy", "absent.joblib"), "The file 'absent.joblib' does not exist."),
        (("-c", "1 ", "-i", "row:2", "--decision", "[1]"), "The plan must hold 2 numbers"),
    ],
)
def test_explain_refuses(small: Path, arguments: tuple[str, ...], expected: str) -> None:
    """Bad input is a sentence on stderr, nothing on stdout, and exit code 2."""
    assert expected in refused(run("explain", small, *arguments))


def test_threads_change_nothing_but_the_time(small: Path) -> None:
    """The answer is the same with several threads, said on the command line or in the project."""
    asked = ("explain", small, "-c", "3", "-i", "row:20", "--json", "--no-holds")
    alone = json.loads(run(*asked).stdout)
    together = json.loads(run(*asked, "--threads", "2").stdout)
    small.write_text(small.read_text("utf-8") + "threads = 2\n", "utf-8")
    in_project = json.loads(run(*asked).stdout)
    for told in (together, in_project):
        assert (told["status"], told["distance"]) == (alone["status"], alone["distance"])
    small.write_text(small.read_text("utf-8").replace("threads = 2", "threads = 0"), "utf-8")
    assert "explain.threads: must be a whole number from 1 to 256. Got 0 instead." in refused(run(*asked))
