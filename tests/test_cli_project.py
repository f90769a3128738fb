"""The commands that work on a project: init, check, fit, decide, explain and batch."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.project.samples import PROJECT, SAMPLE, csv_text, days, write_city, write_project
from typer.testing import CliRunner

import whence as wh
from whence import cli
from whence.project import Project

PIECES = ("1", "row:2", "context:3", "20,30", "rolls=20, cakes=30", "[20, 30]", "[]", "{}", "temp=1", "0", "row:", "-1")
ENGINEERS = {**os.environ, "PYTHONUTF8": "1", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}


def run(*arguments: Any) -> Result:
    """The command in this process."""
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def refused(result: Result) -> str:
    """The sentence of a command that was refused, without a traceback."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def bakery(tmp_path: Path) -> Path:
    """A copy of the sample project; its project file."""
    shutil.copytree(SAMPLE, tmp_path / "bakery")
    return tmp_path / "bakery" / "whence.toml"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The project of the days; its project file."""
    return write_project(tmp_path / "small")


# ---- init, check and fit -----------------------------------------------------------------------------------------


def test_init_then_check_then_fit(tmp_path: Path) -> None:
    """From a CSV file to a fitted policy without touching the project file in between."""
    (tmp_path / "days.csv").write_text(csv_text(days()), "utf-8")
    made = run("init", tmp_path / "days.csv", "--outcomes", "rolls, cakes")
    assert made.exit_code == 0, made.output
    project = tmp_path / "whence.toml"
    assert run("check", project).stdout == "whence.toml can be used: 40 rows, 4 columns of context, 2 outcomes.\n"
    fitted = run("fit", project)
    assert fitted.exit_code == 0
    assert "to 40 rows of 4 columns and 2 outcomes." in fitted.stdout
    assert "events" in fitted.stdout
    again = run("init", tmp_path / "days.csv")
    assert "is there already; write over it with --force" in refused(again)
    assert run("init", tmp_path / "days.csv", "--force").exit_code == 0


def test_init_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project file in another folder names the data from there; without a name the only CSV file is taken."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "days.csv").write_text(csv_text(days()), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("init", "data/days.csv", "--out", "whence.toml").exit_code == 0
    assert 'history = "data/days.csv"' in Path("whence.toml").read_text("utf-8")
    assert run("check", "whence.toml").exit_code == 0
    assert "Name the CSV file: 'whence init days.csv'. This folder has none." in refused(run("init"))
    monkeypatch.chdir(tmp_path / "data")
    assert run("init").exit_code == 0
    assert "must lie in a folder that exists" in refused(run("init", "--out", "no/such/whence.toml"))


def test_check_says_everything(tmp_path: Path) -> None:
    """`check` lists all findings, in words or as JSON, and ends with exit code 2 where one is an error."""
    text = PROJECT.replace("budget", "bugdet").replace('kind = "knn"', 'kind = "kNN"')
    path = write_project(tmp_path, text)
    told = run("check", path)
    assert told.exit_code == 2
    assert told.stdout.splitlines() == [
        "whence.toml, line 15, weights.kind: must be 'forest' or 'knn'. Got 'kNN' instead.",
        "whence.toml, line 22, problem.bugdet: 'bugdet' is not known here. Did you mean 'budget'?",
        "2 errors: whence.toml cannot be used.",
    ]
    found = json.loads(run("check", path, "--json").stdout)
    assert [finding["severity"] for finding in found] == ["error", "error"]
    assert found[1]["where"] == "whence.toml, line 22, problem.bugdet"


@pytest.mark.parametrize("command", ["check", "fit", "decide", "explain", "batch"])
def test_a_project_that_is_not_there(tmp_path: Path, command: str) -> None:
    """A missing project file, and a folder without one, are sentences with exit code 2."""
    more = {"decide": ["-c", "1"], "explain": ["-c", "1", "-i", "row:2"], "batch": ["in.csv", tmp_path / "out.csv"]}
    for path, expected in ((tmp_path / "absent.toml", "absent.toml' does"), (tmp_path, "whence.toml' does not exist")):
        result = run(command, path, *more.get(command, []))
        assert result.exit_code == 2
        assert expected in (result.stdout if command == "check" else refused(result))


@pytest.mark.skipif(sys.platform == "win32", reason="pipes that are files are a matter of POSIX")
def test_a_pipe_is_no_file(small: Path) -> None:
    """A pipe as project, history, context, plan or input is refused in a sentence; nobody waits for it."""
    pipe = small.parent / "pipe.csv"
    os.mkfifo(pipe)
    said = "pipe.csv' is a pipe; a file was expected."
    other = small.with_name("other.toml")
    other.write_text(small.read_text("utf-8").replace("days.csv", "pipe.csv"), "utf-8")
    for path in (other, pipe):
        told = run("check", path)
        assert told.exit_code == 2
        assert said in told.stdout
    assert said in refused(run("decide", small, "-c", pipe))
    assert said in refused(run("explain", small, "-c", "3", "-i", pipe))
    assert said in refused(run("batch", small, pipe, small.with_name("out.csv")))
    assert said in refused(run("init", pipe, "--out", small.with_name("new.toml")))
    assert said in refused(run("verify", pipe, small))
    assert "is a folder; a file was expected" in refused(run("verify", small.parent, small))


# ---- decide and explain ----------------------------------------------------------------------------------------------


def test_decide(small: Path) -> None:
    """The plan is the policy's own, in words and as JSON."""
    project = Project.load(small)
    told = run("decide", small, "-c", "3", "-c", "temp=20")
    assert told.exit_code == 0
    assert "temp 20 °C" in told.stdout
    answer = json.loads(run("decide", small, "-c", "3", "-c", "temp=20", "--json").stdout)
    np.testing.assert_array_equal(answer["plan"], project.fitted().decide(project.context(["3", "temp=20"])))
    assert answer["parts"] == ["rolls", "cakes"]
    assert answer["context"]["temp"] == 20.0
    assert small.name == "whence.toml"
    assert run("decide", small.parent, "-c", "3", "-c", "temp=20").stdout == told.stdout


def test_a_context_outside_the_history_is_pointed_out(small: Path) -> None:
    """What lies beyond the past is decided as at its edge; the command says so on stderr, for every such feature."""
    held = Project.load(small).X["temp"]
    told = run("decide", small, "-c", "3", "-c", "temp=200")
    assert told.exit_code == 0
    assert f"temp 200 °C lies outside the history, which has {held.min():g} to {held.max():g} °C." in " ".join(
        told.stderr.split()
    )
    assert "outside" not in run("decide", small, "-c", "3").stderr


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
    told = run("explain", small, "-c", "3", "-i", "rolls=20, cakes=30", "--kind", "absolute", "--json")
    why = wh.Explanation.from_json(told.stdout)
    project = Project.load(small)
    expected = project.fitted().explain(project.context(3), project.plan("20,30"), kind="absolute")
    assert (why.status, why.distance, why.kind) == (expected.status, expected.distance, "absolute")
    assert told.exit_code == {"optimal": 0, "already": 0, "none": 3}[why.status]


def test_the_answer_comes_before_the_report(small: Path, tmp_path: Path) -> None:
    """Where the report cannot be written the answer is printed all the same, then the error with its exit code."""
    resource = pytest.importorskip("resource")
    asked = ("explain", small, "-c", "3", "-i", "row:9")
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
    command = [sys.executable, "-m", "whence", "explain", str(small), "-c", "3", "-i", "row:9"]
    report = subprocess.run(
        [*command, "--report", "/dev/full"], capture_output=True, text=True, env=ENGINEERS, check=False
    )
    assert report.returncode == 2
    assert report.stdout.startswith("Decision: ")
    said = "whence: A file cannot be read or written: No space left on device"
    assert f"{said} (/dev/full)." in report.stderr
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=ENGINEERS, check=False)
    assert answer.returncode == 2
    assert answer.stderr == f"{said}.\n"


def test_a_share_of_the_best_from_the_command_line_and_the_project(small: Path) -> None:
    """`--within` and the project's `within` reach the policy; a relative question of the command line has none."""
    asked = ("explain", small, "-c", "3", "-i", "rolls=20, cakes=30", "--json")
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


def test_bounds_and_fixed_features_reach_the_policy(small: Path) -> None:
    """What the command line allows is what `Policy.explain` allows."""
    arguments = ("explain", small, "-c", "3", "-i", "rolls=20, cakes=30", "--json")
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
    arguments = ("explain", city, "-c", "rain=1", "-i", "home > tunnel > work", "--json")
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


def test_a_saved_policy(small: Path, tmp_path: Path) -> None:
    """A policy saved by `fit` is used by the other commands, and only where it is named."""
    policy = tmp_path / "policy.joblib"
    assert run("fit", small, "--save", policy).exit_code == 0
    fresh = run("decide", small, "-c", "3", "--json")
    assert run("decide", small, "-c", "3", "--json", "--policy", policy).stdout == fresh.stdout
    (small.parent / "days.csv").write_text(csv_text(days(seed=5)), "utf-8")
    old = run("decide", small, "-c", "temp=3, rain=no, day=Monday, events=1", "--policy", policy)
    assert old.exit_code == 0
    assert "was fitted before whence.toml or its data changed" in old.stderr
    policy.write_bytes(b"rubbish")
    assert "is not a policy that 'whence fit --save' has written" in refused(
        run("decide", small, "-c", "3", "--policy", policy)
    )


@settings(derandomize=True, deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    context=st.one_of(st.text(max_size=20), st.sampled_from(PIECES)),
    plan=st.one_of(st.text(max_size=20), st.sampled_from(PIECES)),
)
def test_any_text_on_the_command_line(small: Path, context: str, plan: str) -> None:
    """Whatever stands for context and plan, the command ends with one of its exit codes, never with a traceback."""
    told = run("explain", small, f"--context={context}", f"--instead={plan}")
    assert told.exit_code in (0, 2, 3), (told.output, told.exception)
    assert (told.stderr.strip() != "") == (told.exit_code == 2)


# ---- batch -----------------------------------------------------------------------------------------------------------


def test_batch(bakery: Path, tmp_path: Path) -> None:
    """The sample's questions are answered row by row; the bad one has its error, and exit code 2 says so."""
    answers = tmp_path / "answered.csv"
    told = run("batch", bakery, bakery.with_name("asked.csv"), answers)
    assert told.exit_code == 2
    assert f"Wrote {answers}: 4 rows, 3 optimal, 1 error." in told.stdout
    table = pd.read_csv(answers)
    assert table["id"].tolist() == ["a", "b", "c", "d"]
    assert table["changes"].tolist()[0] == "weekday: Thursday -> Saturday"
    assert "more than the budget" in table["error"].tolist()[3]
    assert "must be another file than INPUT.csv" in refused(run("batch", bakery, answers, answers, "--force"))
    questions = tmp_path / "more.csv"
    questions.write_text("context\n4\n12\n", "utf-8")
    assert "is there already; write over it with --force" in refused(run("batch", bakery, questions, answers))
    forced = run("batch", bakery, questions, answers, "--force", "-i", "row:13")
    assert forced.exit_code == 0, forced.output
    assert len(pd.read_csv(answers)) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a process alone are a matter of POSIX")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", -9), ("SIGINT", 130)])
def test_batch_leaves_nobody_behind(small: Path, tmp_path: Path, name: str, code: int) -> None:
    """A batch on two workers that is ended by a signal to it alone leaves no process, and goes on where it was."""
    asked, answers = tmp_path / "asked.csv", tmp_path / "answered.csv"
    rows = "".join(f"{1 + i % 40},{20 + i % 30},{10 + i % 20}\n" for i in range(2000))
    asked.write_text(f"context,rolls,cakes\n{rows}", "utf-8")
    command = [sys.executable, "-m", "whence", "batch", str(small), str(asked), str(answers), "--jobs", "2"]
    running = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=ENGINEERS,
        start_new_session=True,
        preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGINT, signal.SIGHUP)],
    )
    notes = tmp_path / "answered.csv.partial"
    until = time.monotonic() + 120
    while not (notes.exists() and notes.stat().st_size > 1000) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(alive(running.pid)) >= 3
    running.send_signal(getattr(signal, name))
    assert running.wait(timeout=60) == code
    until = time.monotonic() + 20
    while alive(running.pid) and time.monotonic() < until:
        time.sleep(0.1)
    left = alive(running.pid)
    if left:
        os.killpg(running.pid, signal.SIGKILL)
    assert left == []
    assert running.stderr is not None
    said = running.stderr.read()
    running.stderr.close()
    assert "Traceback" not in said
    if name != "SIGKILL":
        assert "the same command goes on from there" in said
    assert not answers.exists()


def alive(group: int) -> list[int]:
    """Processes of a group that are still running, zombies apart."""
    listing = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [int(pid) for pid, of, state in rows if int(of) == group and not state.startswith("Z")]


def test_batch_goes_on_after_ctrl_c(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that Ctrl-C ends keeps its rows, and the same command does only the others."""
    questions, answers = tmp_path / "asked.csv", tmp_path / "answered.csv"
    questions.write_text("context,instead\n" + "".join(f'{row},"20,30"\n' for row in range(1, 7)), "utf-8")
    explained: list[int] = []
    original = wh.Policy.explain_many

    def counting(self: wh.Policy, *arguments: Any, **options: Any) -> Any:
        explained.append(1)
        if len(explained) == 4:
            raise KeyboardInterrupt
        return original(self, *arguments, **options)

    monkeypatch.setattr(wh.Policy, "explain_many", counting)
    stopped = run("batch", small, questions, answers)
    assert stopped.exit_code == 130
    assert "stopped after 3 of 6 rows; the same command goes on from there." in stopped.stderr
    assert not answers.exists()
    done = run("batch", small, questions, answers)
    assert "3 of 6 rows were done before." in done.stderr
    assert len(explained) == 4 + 3
    assert pd.read_csv(answers)["row"].tolist() == [1, 2, 3, 4, 5, 6]


# ---- as a program of its own -------------------------------------------------------------------------------------


def hard_project(folder: Path) -> Path:
    """A project with a question that takes minutes."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 12))
    Y = np.abs(10 + 20 * X[:, :3] + 5 * np.sin(9 * X[:, 3:6]) + rng.normal(0, 3, (600, 3)))
    names = [f"x{j}" for j in range(12)] + ["a", "b", "c"]
    pd.DataFrame(np.round(np.hstack([X, Y]), 3), columns=names).to_csv(folder / "days.csv", index=False)
    path = folder / "whence.toml"
    path.write_text(
        '[data]\nhistory = "days.csv"\n[outcomes]\ncolumns = ["a", "b", "c"]\n[weights]\nkind = "knn"\nk = 30\n'
        '[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 3\n[explain]\nkind = "absolute"\n',
        "utf-8",
    )
    return path


#: The command, with a word on stderr as soon as its search is under way.
UNDER_WAY = """
import sys
from whence.cli import main, screen
original = screen._Search.__call__
def told(self, progress):
    print("under way", file=sys.stderr, flush=True)
    return original(self, progress)
screen._Search.__call__ = told
main()
"""


def test_ctrl_c_gives_the_best_found_so_far(tmp_path: Path) -> None:
    """A real interrupt during a search ends it with what is proved by then: valid JSON on stdout, exit code 130.

    The progress that is shown meanwhile, here as on a terminal, does not get in the way.
    """
    project = hard_project(tmp_path)
    running = subprocess.Popen(
        [sys.executable, "-c", UNDER_WAY, "explain", str(project), "-c", "3", "-i", "row:300", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**ENGINEERS, "FORCE_COLOR": "1", "TERM": "xterm"},
        # Tests that run in the background inherit that Ctrl-C is ignored; the command must not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stderr is not None
    shown = ""
    while shown.count("under way") < 5:
        line = running.stderr.readline()
        assert line, shown
        shown += line
    running.send_signal(signal.SIGINT)
    told, more = running.communicate(timeout=120)
    assert running.returncode == 130, shown + more
    answer = json.loads(told)
    assert answer["status"] == "interrupted"
    assert answer["bound"] >= 0
    assert "boxes, " in shown + more
    assert "Stopping with the best found so far" in more


def test_in_a_pipe(bakery: Path) -> None:
    """As a program: plain letters on stdout, nothing on stderr, and `python -m whence.cli` is the command."""
    command = [sys.executable, "-m", "whence.cli", "decide", str(bakery), "--context", "2024-01-04"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=ENGINEERS)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["Context", "Decision", "Cost"]


@pytest.mark.parametrize("command", ["demo", "init", "check", "fit", "decide", "explain", "batch", "serve", "version"])
def test_every_command_has_help_with_examples(command: str) -> None:
    """The help of every command shows how it is called; those that explain say what their exit codes mean."""
    told = run(command, "--help")
    assert told.exit_code == 0
    # Indented by two, after the one that every line of a help has.
    assert f"\n   whence {command}" in told.stdout.split("Example", 1)[1]
    assert ("Exit codes" in told.stdout) == (command == "explain")


def test_shell_completion() -> None:
    """The shell is offered commands, and the features of the project for `--fix`."""
    environment = {
        "_WHENCE_COMPLETE": "complete_bash",
        "COMP_WORDS": f"whence explain {SAMPLE}/whence.toml --fix t",
        "COMP_CWORD": "4",
    }
    told = CliRunner().invoke(cli.app, [], env=environment, prog_name="whence")
    assert told.stdout.split() == ["temperature"]
    environment |= {"COMP_WORDS": "whence ch", "COMP_CWORD": "1"}
    assert CliRunner().invoke(cli.app, [], env=environment, prog_name="whence").stdout.split() == ["check"]


def test_serve_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the page's packages are missing, `serve` says what to install."""
    monkeypatch.setitem(sys.modules, "whence.web.server", None)
    assert "pip install 'whence[web]'" in refused(run("serve"))


# ---- verify ------------------------------------------------------------------------------------------------------


@pytest.fixture
def certificate(bakery: Path) -> Path:
    """An explanation of the sample project, as the command prints it."""
    path = bakery.with_name("why.json")
    path.write_text(run("explain", bakery, "-c", "4", "-i", "row:13", "--json").stdout, "utf-8")
    return path


def test_verify(bakery: Path, certificate: Path) -> None:
    """A certificate agrees with its project, named by its file or its folder, also when it is proved again."""
    for where in (bakery, bakery.parent):
        told = run("verify", certificate, where)
        assert told.exit_code == 0
        assert told.stdout == "why.json agrees with whence.toml: relative, optimal at distance 1.\n"
        assert "Whether anything is nearer was not searched for again." in told.stderr
    proved = run("verify", certificate, bakery, "--prove", "--json")
    assert proved.exit_code == 0
    assert json.loads(proved.stdout) == {"agrees": True, "differences": [], "remarks": [], "proved": True}
    hasty = run("verify", certificate, bakery, "--prove", "--time-limit", "1e-9")
    assert hasty.exit_code == 4
    saved = bakery.with_name("policy.joblib")
    assert run("fit", bakery, "--save", saved).exit_code == 0
    assert run("verify", certificate, bakery, "--policy", saved).exit_code == 0


def test_verify_says_what_differs(bakery: Path, certificate: Path) -> None:
    """A changed file and a changed project are told line by line, with exit code 1."""
    text = certificate.read_text("utf-8")
    certificate.write_text(text.replace('"distance": 1.0', '"distance": 0.5'), "utf-8")
    told = run("verify", certificate, bakery)
    assert told.exit_code == 1
    assert told.stdout.splitlines()[0] == (
        "The document was changed after it was written: its fingerprint does not fit its content."
    )
    assert "distance is 0.5 in the document and 1.0 computed again." in told.stdout
    assert told.stdout.splitlines()[-1].startswith("why.json does not agree with whence.toml: ")
    certificate.write_text(text, "utf-8")
    data = bakery.with_name("history.csv")
    first, second, *rest = data.read_text("utf-8").splitlines()
    data.write_text("\n".join([first, second[:-1] + "9", *rest]) + "\n", "utf-8")
    told = run("verify", certificate, bakery)
    assert told.exit_code == 1
    assert "The history is another one than that of the explanation." in told.stdout.splitlines()


def test_verify_refuses(bakery: Path, certificate: Path) -> None:
    """What is no explanation is a sentence with exit code 2."""
    certificate.write_text("{}", "utf-8")
    assert "The entry 'schema' of the explanation must be" in refused(run("verify", certificate, bakery))
    assert "does not exist" in refused(run("verify", bakery.with_name("absent.json"), bakery))
    assert "'--time-limit' must be a positive number" in refused(run("verify", certificate, bakery, "--time-limit", 3))
