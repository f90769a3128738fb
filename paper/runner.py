"""Running experiments: tasks over processes, rows to disk as they come, and to the caller family by family."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import joblib
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Task as Bar
from rich.text import Text

from paper.experiment import Family, Label, Row, Setup, Task, nothing
from paper.records import Records
from whence.errors import InputError

_warmed: set[Callable[[], None]] = set()


@dataclass(frozen=True)
class Outcome:
    """The rows of a label, and what they took.

    Attributes
    ----------
    label : Label
        Of the paper.
    rows : DataFrame
        Of its family, in the order of the tasks.
    seconds : float
        Wall time of the whole family, also of earlier runs that this one took up.
    """

    label: Label
    rows: pd.DataFrame
    seconds: float


def run(labels: Sequence[Label], setup: Setup, jobs: int, out: Path) -> Iterator[Outcome]:
    """Run what is missing for `labels`, every family once, and give the rows of each label when its family is done.

    Labels that need no runs come first, the others family by family; nothing is shown on the screen while the caller
    has an outcome in hand.

    Parameters
    ----------
    labels : sequence of Label
        What to reproduce.
    setup : Setup
        How.
    jobs : int
        Processes; the rows do not depend on it, apart from seconds.
    out : Path
        Existing folder for the rows. Rows that are there already are kept.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError(f"'jobs' must be an int of at least 1. Got {jobs!r} instead.")
    if isinstance(setup.runs, bool) or not isinstance(setup.runs, int) or setup.runs < 1:
        raise InputError(f"'runs' must be an int of at least 1. Got {setup.runs!r} instead.")
    families = list(dict.fromkeys(label.family for label in labels if label.family is not None))
    # All tasks and all files first: bad settings are refused before hours are spent.
    offered = {family: family.tasks(setup) for family in families}
    needed = {label: _needed(label, offered) for label in labels}
    plans = []
    for family in families:
        store = Records(out, family.name, {"tiny": setup.tiny, **family.depends(setup)})
        keys = {task.key for label in labels if label.family == family for task in needed[label]}
        missing = [task for task in offered[family] if task.key in keys - store.keys()]
        warm = nothing if setup.tiny else family.warm
        plans.append(_Plan(replace(family, warm=warm), store, missing, len(keys)))
    for label in labels:
        if label.family is None:
            yield Outcome(label, pd.DataFrame(), 0.0)
    for place, (family, plan) in enumerate(zip(families, plans, strict=True)):
        _fill(plans[place:], jobs)
        for label in labels:
            if label.family == family:
                yield Outcome(label, plan.store.rows(needed[label]), plan.store.seconds)


@dataclass(frozen=True)
class _Plan:
    """What is to be run of a family: its missing tasks, of how many in all, and where their rows go."""

    family: Family
    store: Records
    missing: list[Task]
    total: int


def _needed(label: Label, offered: Mapping[Family, list[Task]]) -> list[Task]:
    return [] if label.family is None else [task for task in offered[label.family] if label.needs(task)]


def _fill(plans: Sequence[_Plan], jobs: int) -> None:
    """Run the tasks of the first plan and keep their rows as they come; the others wait below it on the screen.

    At the end a line with the finished bar stays, so that tables can be printed below.
    """
    store, family, tasks = plans[0].store, plans[0].family, plans[0].missing
    with _progress() as progress:
        bars = [progress.add_task(p.family.name, False, p.total, p.total - len(p.missing)) for p in plans]
        progress.start_task(bars[0])
        began = time.perf_counter()
        try:
            work = joblib.Parallel(n_jobs=max(1, min(jobs, len(tasks))), batch_size=1, return_as="generator_unordered")
            for task, rows in work(joblib.delayed(_run)(family.run, family.warm, task) for task in tasks):
                store.append(task, rows)
                progress.advance(bars[0])
        finally:
            if tasks:
                store.spent(time.perf_counter() - began)
    progress.console.print(progress.make_tasks_table(progress.tasks[:1]))


def _run(run: Callable[[Task], list[Row]], warm: Callable[[], None], task: Task) -> tuple[Task, list[Row]]:
    """In a worker: one task, after what compiles its search has been called once in this process."""
    if warm not in _warmed:
        warm()
        _warmed.add(warm)
    return task, run(task)


class _Left(TimeRemainingColumn):
    """Time left in words that need no heading."""

    def render(self, task: Bar) -> Text:
        """Nothing before the start and after the end."""
        if task.finished or not task.started:
            return Text("")
        return Text.assemble(super().render(task), " left")


def _progress() -> Progress:
    """Bars on stderr, so that tables on stdout can be piped; they go away when they are left."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        _Left(),
        console=Console(file=sys.stderr),
        transient=True,
    )
