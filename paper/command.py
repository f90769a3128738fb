"""The command ``python -m paper reproduce``."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from paper.catalogue import registry
from paper.experiment import Family, Label, Setup
from paper.output import print_outcome, summarise, write_outcome
from paper.runner import Outcome, run
from whence.cli import STOPPED
from whence.cli.screen import interrupted
from whence.errors import InputError, MissingDataError


def reproduce(
    label: Annotated[
        str | None, typer.Argument(help="Label of a table or figure in the paper, or 'all'; leave it out to list them.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs per setting; the paper has 100.")] = 5,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0 means one per core.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for rows, tables and figures.")] = Path("reproduction"),
    data: Annotated[
        Path | None, typer.Option(help="Folder with the Los Angeles travel times; by default, $WHENCE_UBER_DATA.")
    ] = None,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Use a built-in city instead of Los Angeles.")] = False,
) -> None:
    """Reproduce the paper's tables and figures.

    Without a label, every experiment is listed. Rows are kept in the folder as they come: a run that was stopped picks
    up where it left off, and further runs are added to the earlier ones. Without the Los Angeles data, 'all' leaves out
    what needs it.
    """
    console = _console()
    if label is None:
        _list(console)
        return
    setup = Setup(runs=runs, data=data, synthetic=synthetic)
    labels, left_out = _chosen(label), ""
    if label == "all" and data is None:
        labels, left_out = _possible(labels, setup)
    if left_out:
        _say(left_out)
    try:
        paths = reproduce_labels(labels, setup, jobs or os.cpu_count() or 1, out, console, left_out)
    except BaseException as error:
        if interrupted(error):
            _say("stopped; the same command picks up where it left off.")
            raise typer.Exit(STOPPED) from None
        raise
    for path in paths:
        console.print(f"  {path}", markup=False)
    if left_out:
        _say(left_out)


def reproduce_labels(
    labels: list[Label], setup: Setup, jobs: int, out: Path, console: Console | None = None, left_out: str = ""
) -> list[Path]:
    """Run `labels`, write their tables and figures to `out`, print them, and give the paths written.

    The tables and figures of a family are written and printed as soon as its runs are done.

    Parameters
    ----------
    labels : list of Label
        From the catalogue.
    setup : Setup
        Runs, data and sizes.
    jobs : int
        Processes.
    out : Path
        Folder; created if it does not exist.
    console : rich.console.Console, optional
        Where to print; nothing is printed by default.
    left_out : str
        What the summary says about labels that could not be run.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder given as '--out' cannot be created: {error.strerror} ({out}).") from None
    outcomes: list[Outcome] = []
    paths: list[Path] = []
    for outcome in run(labels, setup, jobs, out):
        table = outcome.label.table(outcome.rows)
        if console is not None:
            print_outcome(console, outcome, table)
        paths += write_outcome(outcome, table, out)
        outcomes.append(outcome)
    outcomes.sort(key=lambda outcome: labels.index(outcome.label))
    paths.append(summarise(outcomes, setup, jobs, out, left_out))
    if console is not None and importlib.util.find_spec("matplotlib") is None:
        console.print("No figures were drawn: matplotlib is not installed (pip install 'whence[plot]').", markup=False)
    return paths


def _chosen(label: str) -> list[Label]:
    known = {one.label: one for one in registry()}
    if label == "all":
        return list(known.values())
    if label not in known:
        raise InputError(f"'label' must be 'all' or one of {', '.join(known)}. Got {label!r} instead.")
    return [known[label]]


def _possible(labels: list[Label], setup: Setup) -> tuple[list[Label], str]:
    """The labels whose data is there, and a sentence about the others; empty where there are none."""
    reasons: dict[Family, str] = {}
    for family in dict.fromkeys(label.family for label in labels if label.family is not None):
        try:
            family.tasks(setup)
        except MissingDataError as error:
            reasons[family] = str(error)
    left = [label.label for label in labels if label.family in reasons]
    told = f"Left out: {' and '.join(left)}. {' '.join(reasons.values())}" if left else ""
    return [label for label in labels if label.family not in reasons], told


def _say(text: str) -> None:
    """Print to stderr, because it is not part of a result."""
    print(f"paper: {text}", file=sys.stderr)


def _list(console: Console) -> None:
    table = Table("label", "what", box=None)
    for one in registry():
        table.add_row(one.label, one.title)
    console.print(table)
    console.print('Run one with: make paper ARGS="LABEL --runs 20"; everything with: make paper ARGS="all --runs 100"')


def _console() -> Console:
    """A console that does not break lines in a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=200, soft_wrap=True)
