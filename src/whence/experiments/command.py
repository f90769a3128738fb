"""The command ``whence reproduce``."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from whence.errors import InputError
from whence.experiments.catalogue import registry
from whence.experiments.experiment import Label, Setup
from whence.experiments.output import print_outcome, summarise, write_outcome
from whence.experiments.runner import Outcome, run

__all__ = ["reproduce", "reproduce_labels"]


def reproduce(
    label: Annotated[
        str | None, typer.Argument(help="Label of a table or figure in the paper, or 'all'; none: list them.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Repetitions of every setting; the paper has 100.")] = 5,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0: as many as there are cores.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for rows, tables and figures.")] = Path("whence-reproduction"),
    data: Annotated[
        Path | None, typer.Option(help="Folder with the Los Angeles travel times; by default, $WHENCE_UBER_DATA.")
    ] = None,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="A built-in city in place of Los Angeles.")] = False,
) -> None:
    """Reproduce the paper's tables and figures.

    Without a label, lists every experiment. Rows are kept in the folder as they come: a run that was stopped goes on
    where it was, and more runs add to those made before.

    [bold]Examples[/bold]

      whence reproduce
      whence reproduce tab:fullDist --runs 20
      whence reproduce all --runs 100 --jobs 2 --out reproduction
    """
    console = _console()
    if label is None:
        _list(console)
        return
    setup = Setup(runs=runs, data=data, synthetic=synthetic)
    for path in reproduce_labels(_chosen(label), setup, jobs or os.cpu_count() or 1, out, console):
        console.print(f"  {path}", markup=False)


def reproduce_labels(
    labels: list[Label], setup: Setup, jobs: int, out: Path, console: Console | None = None
) -> list[Path]:
    """Run `labels`, write their tables and figures to `out`, print them, and give the paths written.

    Parameters
    ----------
    labels : list of Label
        As in the catalogue.
    setup : Setup
        Runs, data and sizes.
    jobs : int
        Processes.
    out : Path
        Folder; made if it is not there.
    console : rich.console.Console, optional
        Where to print; nothing is printed by default.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder given as '--out' cannot be made: {error.strerror} ({out}).") from None
    outcomes: list[Outcome] = run(labels, setup, jobs, out)
    paths: list[Path] = []
    for outcome in outcomes:
        table = outcome.label.table(outcome.rows)
        if console is not None:
            print_outcome(console, outcome, table)
        paths += write_outcome(outcome, table, out)
    paths.append(summarise(outcomes, setup, jobs, out))
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


def _list(console: Console) -> None:
    table = Table("label", "what", box=None)
    for one in registry():
        table.add_row(one.label, one.title)
    console.print(table)
    console.print("Run one with: whence reproduce LABEL; everything with: whence reproduce all --runs 100")


def _console() -> Console:
    """A console that does not break lines in a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=200, soft_wrap=True)
