"""What an experiment is: tasks that yield rows, and a table or figure of the paper that is made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]


def nothing() -> None:
    """What needs no warming up."""


def _every(task: Task) -> bool:
    """All tasks."""
    return True


def _silent(rows: pd.DataFrame) -> list[str]:
    """No remarks."""
    return []


@dataclass(frozen=True)
class Setup:
    """What a user asks for.

    Attributes
    ----------
    runs : int
        Repetitions of every setting; a family that is too slow for so many says how many it made.
    data : Path or None
        Folder with the Los Angeles travel times.
    synthetic : bool
        Whether the built-in city stands in for Los Angeles.
    tiny : bool
        The smallest sizes that still take every branch, for tests.
    """

    runs: int = 5
    data: Path | None = None
    synthetic: bool = False
    tiny: bool = False


@dataclass(frozen=True)
class Task:
    """A piece of work that is done at once and in one process, such as one fit and all that is asked of it.

    Attributes
    ----------
    key : str
        Unique in its family, and the same in every process and for every number of runs.
    seed : int
        All that is random in it.
    sizes : mapping
        Everything else that it depends on; must pickle.
    """

    key: str
    seed: int
    sizes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """Runs that one or several labels share.

    Attributes
    ----------
    name : str
        Stem of the file of its rows.
    tasks : callable
        From a setup to its tasks. More runs only add tasks.
    run : callable
        A function of a module (it travels to other processes): the rows of one task, all with the same columns.
        Columns of measured time start with "seconds"; all others depend on the task alone.
    warm : callable
        A function of a module, called once a process before its first task: loads what tasks are timed on.
    depends : callable
        What else than the tasks the rows depend on, by name; rows made with other values are not mixed with these.
    """

    name: str
    tasks: Callable[[Setup], list[Task]]
    run: Callable[[Task], list[Row]]
    warm: Callable[[], None] = nothing
    depends: Callable[[Setup], dict[str, Any]] = field(default=lambda setup: {})


@dataclass(frozen=True)
class Label:
    """A table or a figure of the paper.

    Attributes
    ----------
    label : str
        The paper's own, such as "tab:fullDist".
    title : str
        A few words.
    statement : str
        What the paper says about it, in our words.
    table : callable
        From the rows of the family (each with its `key` and `seed`) to what is shown.
    family : Family or None
        Where the rows come from; None where nothing has to be run (the table then gets an empty frame).
    draw : callable or None
        From the same rows to a figure.
    remarks : callable
        From the same rows to sentences that stand below the table: what differs from the paper, and why.
    needs : callable
        Which tasks of the family it is made from; all by default.
    """

    label: str
    title: str
    statement: str
    table: Callable[[pd.DataFrame], pd.DataFrame]
    family: Family | None = None
    draw: Callable[[pd.DataFrame], Figure] | None = None
    remarks: Callable[[pd.DataFrame], list[str]] = _silent
    needs: Callable[[Task], bool] = _every

    @property
    def stem(self) -> str:
        """Stem of its files: the label without the colon."""
        return self.label.replace(":", "-")
