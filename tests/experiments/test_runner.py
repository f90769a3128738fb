"""Runs: the same rows whatever the number of processes, and whether or not they were interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from whence.errors import InputError
from whence.experiments.catalogue import registry
from whence.experiments.cells import CELLS
from whence.experiments.experiment import Family, Label, Row, Setup, Task
from whence.experiments.runner import run

TINY = Setup(runs=2, tiny=True)
DISTANCES = next(label for label in registry() if label.label == "tab:fullDist")
#: The newsvendor's part of it.
LABEL = replace(DISTANCES, needs=lambda task: task.sizes["problem"] == "newsvendor")


def same(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns="seconds")


def test_jobs_do_not_change_the_rows(tmp_path: Path) -> None:
    """One process or two: the same rows in the same order, apart from seconds."""
    rows = []
    for jobs in (1, 2):
        (tmp_path / str(jobs)).mkdir()
        rows.append(run([LABEL], TINY, jobs, tmp_path / str(jobs))[0].rows)
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
    expected = run([LABEL], TINY, 1, whole)[0].rows
    with pytest.raises(Stopped):
        run([replace(LABEL, family=replace(CELLS, run=stopping_run))], TINY, 1, broken)
    before = (broken / "cells.csv").read_text("utf-8")
    assert 1 < before.count("\n") < len(expected)
    resumed = run([LABEL], TINY, 1, broken)[0].rows
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
    outcomes = run([few, every], Setup(runs=3), 1, tmp_path)
    assert [outcome.rows["value"].tolist() for outcome in outcomes] == [[0, 1], [0, 1, 2]]
    assert run([every], Setup(runs=5), 1, tmp_path)[0].rows["value"].tolist() == [0, 1, 2, 3, 4]
    assert run([every], Setup(runs=2), 1, tmp_path)[0].rows["value"].tolist() == [0, 1]
    assert log.read_text("utf-8").split() == ["0", "1", "2", "3", "4"]


def test_other_settings_are_refused_before_anything_runs(tmp_path: Path) -> None:
    """A folder with rows of another setting stops the run at its start."""
    log = tmp_path / "log"
    run([Label("fig:a", "", "", lambda rows: rows, family(log))], Setup(runs=1), 1, tmp_path)
    other = Label("fig:a", "", "", lambda rows: rows, family(log, size=20))
    with pytest.raises(InputError, match="'--out' must hold rows of the same settings"):
        run([other], Setup(runs=2), 1, tmp_path)
    assert log.read_text("utf-8").split() == ["0"]


@pytest.mark.parametrize(("runs", "jobs", "named"), [(0, 1, "runs"), (1, 0, "jobs"), (True, 1, "runs")])
def test_bad_numbers_are_named(tmp_path: Path, runs: int, jobs: int, named: str) -> None:
    """Runs and jobs must be positive ints."""
    with pytest.raises(InputError, match=f"'{named}' must be an int of at least 1"):
        run([LABEL], Setup(runs=runs, tiny=True), jobs, tmp_path)
