"""`whence stability`: which decisions are fragile?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from whence.batch.explanations import Explanations
from whence.cli import options
from whence.cli.exits import BAD_INPUT
from whence.cli.question_options import QuestionOptions, asking
from whence.cli.screen import console, counting, note, print_json, print_text
from whence.errors import InputError
from whence.project import Project
from whence.project.batches import as_text
from whence.util.files import write_text
from whence.util.json import to_plain

#: Rows that are printed unless somebody says otherwise.
SHOWN = 10
#: Seconds for a row, unless somebody says otherwise.
SECONDS = 10.0
#: Columns of the table, and what they are called.
COLUMNS = {
    "distance": "distance",
    "status": "status",
    "changes": "what would change the plan",
    "alternative": "takes over",
}


@asking
def stability(
    project: options.ProjectArgument,
    rows: Annotated[
        str | None, typer.Option(metavar="FIRST-LAST", help="Rows of the history, such as 1-50; all of them otherwise.")
    ] = None,
    instead: Annotated[
        str, typer.Option("--instead", "-i", metavar="SET", help="Any plan, or a set such as through:Ring Road.")
    ] = "any",
    *,
    asked: QuestionOptions,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; -1 for as many as there are cores.")] = 1,
    top: Annotated[int, typer.Option(help="How many rows to print, the most fragile ones first.", min=1)] = SHOWN,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the whole table here.", show_default=False)
    ] = None,
    policy: options.PolicyOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Which decisions are fragile: how far every past context is from one in which its plan changes.

    The time limit is for every row, 10 s unless said otherwise. The margin is how far from the best a plan may be, 1 %
    unless said otherwise. A distance of 0.02 is a change of 2 % of one feature's range; where a row says
    "none", no context of the history's range changes its plan. With --holds, the table says in how many refits each
    row's answer holds.

    [bold]Examples[/bold]

      whence stability whence.toml
      whence stability whence.toml --margin 5% --csv fragile.csv --jobs 2
      whence stability whence.toml --rows 1-30 -i "through:Ring Road"
      whence stability whence.toml --holds 0.9 --json
    """
    if jobs == 0:
        raise InputError("'--jobs' must be a whole number other than 0. Got 0 instead.")
    if csv is not None and (csv.is_dir() or not csv.parent.is_dir()):
        raise InputError(f"'--csv' must be a file in a folder that exists. Got {str(csv)!r} instead.")
    ready = options.open_project(project, policy)
    arguments = asked.arguments(ready)
    if asked.time_limit is None:
        arguments["time_limit"] = SECONDS
    for name in ("holds", "confidence", "refits"):
        # How far a plan is from changing is told of this fit, unless somebody asks for more.
        if getattr(asked, name) is None:
            arguments.pop(name, None)
    chosen, plans = _rows(ready, rows), ready.plan(instead)
    with counting("Asking", len(chosen), 0) as show:
        found = ready.fitted().explain_many(
            chosen, plans, n_jobs=jobs, on_progress=lambda done, total: show(done), **arguments
        )
    table = _table(found)
    if as_json:
        rows_told = [{"row": int(number), **row} for number, row in zip(table.index, to_plain(table), strict=True)]
        print_json(json.dumps(rows_told, indent=2, ensure_ascii=False))
    else:
        _print(table, top)
    if csv is not None:
        safe = table.map(lambda cell: as_text(cell, "."))
        write_text(csv, safe.to_csv(index_label="row", lineterminator="\n"), "the table")
        note(f"The table is in {csv}.")
    if found.errors:
        note(f"{len(found.errors)} of {len(found)} rows could not be asked about; the column 'error' says why.")
        raise typer.Exit(BAD_INPUT)


def _rows(project: Project, rows: str | None) -> pd.DataFrame:
    """The rows of the history that are asked about, under their numbers."""
    history = project.fitted().X_.copy()
    history.index = pd.RangeIndex(1, len(history) + 1)
    if rows is None:
        return history
    first, dash, last = rows.partition("-")
    if not first.strip().isdigit() or (dash and not last.strip().isdigit()):
        raise InputError(f"'--rows' must be two numbers of rows, such as 1-50. Got {rows!r} instead.")
    begin, end = int(first), int(last) if dash else int(first)
    if not 1 <= begin <= end <= len(history):
        raise InputError(f"'--rows' must lie in 1-{len(history)}. Got {rows!r} instead.")
    return history.loc[begin:end]


def _table(found: Explanations) -> pd.DataFrame:
    frame: pd.DataFrame = found.frame
    kept = ["status", "distance", "bound", "changes", "decision", "alternative", "cost_decision_after"]
    kept += ["cost_alternative_after", "usual"]
    if frame["held"].notna().any():
        kept += ["held", "refits", "confidence"]
    return frame[[*kept, "error"]].sort_values("distance", kind="stable", na_position="last")


def _print(table: pd.DataFrame, top: int) -> None:
    distances = table["distance"].to_numpy(dtype=float)
    known = distances[np.isfinite(distances)]
    counts: Any = table["status"].value_counts()
    print_text(f"{len(table)} rows: " + ", ".join(f"{count} {status}" for status, count in counts.items()) + ".")
    if known.size:
        low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
        between = f"80 % between {low:.3g} and {high:.3g}"
        print_text(f"Distance to a context in which the plan changes: median {middle:.3g}, {between}.")
    from rich.table import Table

    drawn = Table("row", *COLUMNS.values(), box=None, pad_edge=False)
    for label, row in table.head(top).iterrows():
        shown = "" if pd.isna(row["distance"]) else f"{row['distance']:.4g}"
        drawn.add_row(
            str(label), shown, str(row["status"]), str(row["changes"] or row["error"]), str(row["alternative"])
        )
    console().print(drawn)
