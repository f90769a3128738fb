"""`whence batch`: a CSV of contexts and alternatives to a CSV of explanations."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import joblib
import typer

from whence.cli import options
from whence.cli.exits import BAD_INPUT, STOPPED
from whence.cli.question_options import QuestionOptions, asking
from whence.cli.screen import counting, ending_well, note, print_text, waiting
from whence.errors import InputError, MissingDependencyError
from whence.project.batches import BatchRun, read_questions
from whence.util.files import claimed


@asking
def batch(
    project: options.ProjectArgument,
    questions: Annotated[Path, typer.Argument(metavar="INPUT.csv", help="Contexts and plans, one per row.")],
    answers: Annotated[Path, typer.Argument(metavar="OUTPUT.csv", help="Where the explanations go.")],
    instead: Annotated[
        str | None,
        typer.Option("--instead", "-i", metavar="PLAN", help="Your plan in every row, where INPUT.csv has none."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; -1 for as many as there are cores.")] = 1,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, whose workers do the rows instead.")
    ] = None,
    *,
    asked: QuestionOptions,
    rule: Annotated[bool, typer.Option("--rule", help="Find the rule of every explanation as well.")] = False,
    policy: options.PolicyOption = None,
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
    if answers.is_dir() or not answers.parent.is_dir():
        raise InputError(f"OUTPUT.csv must be a file in a folder that exists. Got {str(answers)!r} instead.")
    if jobs == 0:
        raise InputError("'--jobs' must be a whole number other than 0. Got 0 instead.")
    with ending_well() as ended, claimed(answers):
        _check_target(questions, answers, overwrite)
        run: BatchRun | None = None
        try:
            ready = options.open_project(project, policy)
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
