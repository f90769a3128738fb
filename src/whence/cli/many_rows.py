"""`whence batch` and `whence stability`: the same question about many contexts, and tables of what came out."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
import pandas as pd
import typer
from joblib import effective_n_jobs

from whence.batch import JUDGED, Entry, Explanations
from whence.cli import STOPPED
from whence.cli.options import (
    JobsOption,
    JsonOption,
    PolicyOption,
    ProjectArgument,
    QuestionOptions,
    asking,
    check_jobs,
    check_target,
    open_project,
)
from whence.cli.screen import BAD_INPUT, console, counting, ending_well, note, print_json, print_text, waiting
from whence.errors import InputError, MissingDependencyError
from whence.explain.ask import EITHER
from whence.policy import Policy
from whence.project import Project
from whence.project.batches import BatchRun, as_text, read_questions
from whence.util.files import claimed, write_text
from whence.util.json import to_plain


@asking
def batch(
    project: ProjectArgument,
    questions: Annotated[Path, typer.Argument(metavar="INPUT.csv", help="Contexts and plans, one per row.")],
    answers: Annotated[Path, typer.Argument(metavar="OUTPUT.csv", help="Where the explanations go.")],
    instead: Annotated[
        str | None,
        typer.Option("--instead", "-i", metavar="PLAN", help="Your plan in every row, where INPUT.csv has none."),
    ] = None,
    jobs: JobsOption = 1,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, whose workers do the rows instead.")
    ] = None,
    *,
    asked: QuestionOptions,
    rule: Annotated[bool, typer.Option("--rule", help="Find the rule of every explanation as well.")] = False,
    policy: PolicyOption = None,
    allow_files: Annotated[
        bool, typer.Option("--allow-files", help="Let cells of INPUT.csv name files, which are then opened.")
    ] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Discard what an earlier run did.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", "--force", help="Replace an OUTPUT.csv that already exists.")
    ] = False,
) -> None:
    """Explain many: a CSV of contexts and plans to a CSV of explanations.

    INPUT.csv has a column for every feature, or a column 'context' with what '--context' takes; and a column
    'instead' with what '--instead' takes, or a column for every part of the plan. Names of files are taken only with
    '--allow-files'. Other columns are carried over. A row that is wrong gets its error in the output and does not
    stop the others (the exit code is then 2; the column 'status' says how the other rows ended). A run that was
    stopped picks up where it left off when the same command is given again.

    [bold]Examples[/bold]

      whence batch whence.toml asked.csv answered.csv
      whence batch whence.toml asked.csv answered.csv --jobs 2 -i row:40
      whence batch whence.toml asked.csv answered.csv --holds 0.9 --rule
      whence batch whence.toml asked.csv answered.csv --dask tcp://10.0.0.1:8786
    """
    check_target("OUTPUT.csv", answers)
    check_jobs(jobs)
    with ending_well() as ended, claimed(answers):
        _check_target(questions, answers, overwrite)
        run: BatchRun | None = None
        try:
            ready = open_project(project, policy)
            arguments = {**asked.arguments(ready), "rule": rule}
            with waiting(f"Reading {questions.name} ..."):
                rows = read_questions(ready, questions, instead, allow_files)
                run = BatchRun(ready, rows, answers, arguments, restart)
            if run.done:
                note(f"{run.done} of {run.total} rows were done before.")
            with _workers(dask), counting("Explaining", run.total, run.done) as show:
                for count in run.work(jobs if dask is None else -1):
                    show(count)
        except KeyboardInterrupt:
            done = "" if run is None else f" after {run.done} of {run.total} rows"
            note(f"stopped{done}; run the same command again to continue.")
            raise typer.Exit(128 + ended[0] if ended else STOPPED) from None
        table = run.finish()
    counts = table["status"].value_counts()
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    print_text(f"Wrote {answers}: {len(table)} rows, {told}.")
    if failed := counts.get("error"):
        note(f"{failed} of {len(table)} rows could not be explained; the column 'error' says why.")
        raise typer.Exit(BAD_INPUT)


@contextmanager
def _workers(address: str | None) -> Iterator[None]:
    """Let the rows go to the cluster at `address`, if there is one, while the block runs."""
    if address is None:
        yield
        return
    try:
        import distributed
    except ImportError:
        raise MissingDependencyError(
            "'--dask' needs dask.distributed, which is not installed: pip install 'whence[dask]'."
        ) from None
    # What it has to say of a lost connection, it says in tracebacks; each of its loggers has a level of its own.
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError):
        raise InputError(
            "'--dask' must be the address of a Dask scheduler that runs, such as 'tcp://10.0.0.1:8786'. "
            f"None answers at {address!r}."
        ) from None
    try:
        if not client.nthreads():
            raise InputError(f"The Dask scheduler at {address!r} has no workers: start some with 'dask worker'.")
        with joblib.parallel_config(backend="dask"):
            yield
    finally:
        client.close(timeout=2)


def _check_target(questions: Path, answers: Path, overwrite: bool) -> None:
    if answers.exists() and questions.exists() and answers.samefile(questions):
        raise InputError(f"OUTPUT.csv must not be INPUT.csv itself. Got {str(answers)!r} for both.")
    if answers.exists() and not overwrite:
        raise InputError(f"{str(answers)!r} already exists; use --overwrite, or choose another name.")


#: Rows that are printed unless somebody says otherwise.
SHOWN = 10
#: Rows per process that are asked together where they share a time limit, and the least seconds for one.
TOGETHER, LEAST = 4, 0.05
#: Columns of the table, and what they are called.
COLUMNS = {
    "distance": "distance",
    "status": "status",
    "changes": "what would change the plan",
    "alternative": "takes over",
}


@asking
def stability(
    project: ProjectArgument,
    rows: Annotated[
        str | None, typer.Option(metavar="FIRST-LAST", help="Rows of the history, such as 1-50; all of them otherwise.")
    ] = None,
    instead: Annotated[
        str, typer.Option("--instead", "-i", metavar="SET", help="Any plan, or a set such as through:Ring Road.")
    ] = "any",
    *,
    asked: QuestionOptions,
    jobs: JobsOption = 1,
    top: Annotated[int, typer.Option(help="How many rows to print, the most fragile ones first.", min=1)] = SHOWN,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the whole table here.", show_default=False)
    ] = None,
    policy: PolicyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Which decisions are fragile: how far every past context is from one in which its plan changes.

    The time limit is for all rows together, 60 s unless said otherwise: each gets its share of what is left. The
    margin is how far from the best a plan may be, 1 % unless said otherwise. A distance of 0.02 is a change of 2 % of
    one feature's range; where a row says "none", no context of the history's range changes its plan. With --holds,
    --json and --csv say what share of such answers is true, or in how many refits each row's answer holds.

    [bold]Examples[/bold]

      whence stability whence.toml
      whence stability whence.toml --margin 5% --csv fragile.csv --jobs 2
      whence stability whence.toml --rows 1-30 -i "through:Ring Road"
      whence stability whence.toml --holds 0.9 --json
    """
    check_jobs(jobs)
    check_target("'--csv'", csv)
    ready = open_project(project, policy)
    arguments = asked.arguments(ready)
    for name in (*EITHER, "refits"):
        # How far a plan is from changing is told of this fit, unless somebody asks for more.
        if name not in asked.given:
            arguments.pop(name, None)
    chosen, plans = _rows(ready, rows), ready.plan(instead)
    arguments["known"] = ready.contexts_of(instead)
    with counting("Asking", len(chosen), 0) as show:
        found = _asked(ready.fitted(), chosen, plans, jobs, show, arguments)
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


def _asked(
    policy: Policy, rows: pd.DataFrame, plans: Any, jobs: int, show: Callable[[int], None], arguments: dict[str, Any]
) -> Explanations:
    """Return an explanation of every row; where there is a time limit, each has its share of what is left of it."""
    limit = arguments.pop("time_limit")
    if limit is None:
        return policy.explain_many(rows, plans, n_jobs=jobs, on_progress=lambda done, total: show(done), **arguments)
    workers = effective_n_jobs(jobs)
    until, size = time.monotonic() + limit, 1 if workers == 1 else TOGETHER * workers
    entries: list[Entry] = []
    for start in range(0, len(rows), size):
        left = (until - time.monotonic()) * workers / (len(rows) - start)
        part = rows.iloc[start : start + size]
        entries += policy.explain_many(part, plans, n_jobs=jobs, time_limit=max(LEAST, left), **arguments)
        show(len(entries))
    return Explanations(entries, rows.index)


def _rows(project: Project, rows: str | None) -> pd.DataFrame:
    """Return the rows of the history that are asked about, under their numbers."""
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
    if frame["true_share"].notna().any():
        kept += JUDGED["worlds"]
    if frame["held"].notna().any():
        kept += JUDGED["refits"]
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
