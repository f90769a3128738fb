"""Runs: the same rows whatever the number of processes, and whether or not they were interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from paper.catalogue import registry
from paper.cells import CELLS
from paper.experiment import Family, Label, Row, Setup, Task
from paper.runner import run
from whence.errors import InputError

TINY = Setup(runs=2, tiny=True)
DISTANCES = next(label for label in registry() if label.label == "tab:fullDist")
#: The newsvendor's part of it.
LABEL = replace(DISTANCES, needs=lambda task: task.sizes["problem"] == "newsvendor")


def rows_of(label: Label, setup: Setup, out: Path, jobs: int = 1) -> pd.DataFrame:
    [outcome] = run([label], setup, jobs, out)
    return outcome.rows


def same(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns="seconds")


def test_jobs_do_not_change_the_rows(tmp_path: Path) -> None:
    """One process or two: the same rows in the same order, apart from seconds."""
    rows = []
    for jobs in (1, 2):
        (tmp_path / str(jobs)).mkdir()
        rows.append(rows_of(LABEL, TINY, tmp_path / str(jobs), jobs))
    assert len(rows[0]) == 2 * 7 * 2
    assert rows[0]["l1"].nunique() > 10
    pd.testing.assert_frame_equal(same(rows[0]), same(rows[1]))


class Stopped(Exception):
    """Stands for whatever ends a run in its midst."""


def stopping_run(task: Task) -> list[Row]:
    """As the cells, until the second run comes to the third predictor."""
    if task.key.endswith("depth=3 run=1"):
        raise Stopped
    return CELLS.run(task)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Rows made before the interruption stay as they are, and all together are those of a run without one."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    expected = rows_of(LABEL, TINY, whole)
    with pytest.raises(Stopped):
        rows_of(replace(LABEL, family=replace(CELLS, run=stopping_run)), TINY, broken)
    before = (broken / "cells.csv").read_text("utf-8")
    assert 1 < before.count("\n") < len(expected)
    resumed = rows_of(LABEL, TINY, broken)
    assert (broken / "cells.csv").read_text("utf-8").startswith(before)
    pd.testing.assert_frame_equal(same(expected), same(resumed))


def counting_run(task: Task) -> list[Row]:
    """Leaves a mark on disk for every task that is run."""
    with Path(task.sizes["log"]).open("a", encoding="utf-8") as file:
        file.write(f"{task.key}\n")
    return [{"value": task.seed}]


def family(log: Path, size: int = 10) -> Family:
    def tasks(setup: Setup) -> list[Task]:
        return [Task(str(number), number, {"log": str(log)}) for number in range(setup.runs)]

    return Family("counted", tasks, counting_run, depends=lambda setup: {"size": size})


def test_nothing_is_run_twice(tmp_path: Path) -> None:
    """Two labels share their family's rows, and more runs only add to those made before."""
    log = tmp_path / "log"
    shared = family(log)
    few = Label("fig:few", "", "", lambda rows: rows, shared, needs=lambda task: task.seed < 2)
    every = Label("fig:all", "", "", lambda rows: rows, shared)
    outcomes = list(run([few, every], Setup(runs=3), 1, tmp_path))
    assert [outcome.rows["value"].tolist() for outcome in outcomes] == [[0, 1], [0, 1, 2]]
    assert rows_of(every, Setup(runs=5), tmp_path)["value"].tolist() == [0, 1, 2, 3, 4]
    assert rows_of(every, Setup(runs=2), tmp_path)["value"].tolist() == [0, 1]
    assert log.read_text("utf-8").split() == ["0", "1", "2", "3", "4"]


def test_a_family_is_given_before_the_next_one_runs(tmp_path: Path) -> None:
    """The outcome of the first family is there while the second has not begun; what needs no runs comes before both."""
    log = tmp_path / "log"
    first, second = (replace(family(log), name=name) for name in ("first", "second"))
    labels = [
        Label(f"fig:{name}", "", "", lambda rows: rows, own) for name, own in zip("ab", (first, second), strict=True)
    ]
    outcomes = run([*labels, Label("tab:c", "", "", lambda rows: rows)], Setup(runs=2), 1, tmp_path)
    assert next(outcomes).label.label == "tab:c"
    assert not log.exists()
    assert next(outcomes).rows["value"].tolist() == [0, 1]
    assert log.read_text("utf-8").split() == ["0", "1"]
    assert [outcome.label.label for outcome in outcomes] == ["fig:b"]
    assert log.read_text("utf-8").split() == ["0", "1", "0", "1"]


def test_other_settings_are_refused_before_anything_runs(tmp_path: Path) -> None:
    """A folder with rows of another setting stops the run at its start."""
    log = tmp_path / "log"
    rows_of(Label("fig:a", "", "", lambda rows: rows, family(log)), Setup(runs=1), tmp_path)
    other = Label("fig:a", "", "", lambda rows: rows, family(log, size=20))
    with pytest.raises(InputError, match="'--out' must hold rows of the same settings"):
        rows_of(other, Setup(runs=2), tmp_path)
    assert log.read_text("utf-8").split() == ["0"]


@pytest.mark.parametrize(("runs", "jobs", "named"), [(0, 1, "runs"), (1, 0, "jobs"), (True, 1, "runs")])
def test_bad_numbers_are_named(tmp_path: Path, runs: int, jobs: int, named: str) -> None:
    """Runs and jobs must be positive ints."""
    with pytest.raises(InputError, match=f"'{named}' must be an int of at least 1"):
        rows_of(LABEL, Setup(runs=runs, tiny=True), tmp_path, jobs)
