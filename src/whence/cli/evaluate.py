"""`whence evaluate` and `whence tune`: how good the policy is, and which weights would decide better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from sklearn.model_selection import TimeSeriesSplit

from whence.cli.options import (
    JobsOption,
    JsonOption,
    LimitOption,
    ProjectArgument,
    check_jobs,
    check_target,
    read_limit,
)
from whence.cli.screen import console, counting, note, print_json, print_text, waiting
from whence.errors import InputError
from whence.evaluation import Evaluation
from whence.evaluation import evaluate as evaluated
from whence.evaluation.offers import Offer
from whence.evaluation.tuning import Tuning
from whence.evaluation.tuning import tune as tuned
from whence.project import Project
from whence.project.sections import settings_of, write_weights
from whence.report.numbers import plain, share
from whence.util.json import to_plain

FoldsOption = Annotated[int, typer.Option("--cv", min=2, metavar="FOLDS", help="Parts in which rows are held out.")]
TimeOption = Annotated[
    bool,
    typer.Option("--time", help="The rows follow each other in time: judge by later rows than those learned from."),
]
RowsOption = Annotated[
    int | None, typer.Option(min=1, metavar="ROWS", help="Hold out at most this many rows in all, drawn at random.")
]
#: Seconds for all folds, unless somebody says otherwise.
SECONDS = 600
#: What a chart may be written as.
DRAWN = (".png", ".svg", ".pdf")
#: Lines of the table that `whence tune` prints.
LISTED = 10


def evaluate(
    project: ProjectArgument,
    cv: FoldsOption = 5,
    time: TimeOption = False,
    jobs: JobsOption = 1,
    rows: RowsOption = None,
    time_limit: LimitOption = f"{SECONDS}",
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the costs into this PNG, SVG or PDF.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Evaluate: what the policy's decisions cost on rows that it has not seen.

    The rows are held out in parts, and the policy is fitted to the others each time. Beside it stand the plan that is
    best on average, the best plan on average per category or part of a date, the best plan for a point forecast, and
    foresight.

    [bold]Examples[/bold]

      whence evaluate whence.toml
      whence evaluate whence.toml --time --cv 8
      whence evaluate whence.toml --plot costs.png --json
    """
    seconds = read_limit(time_limit)
    ready = _opened(project, jobs)
    check_target("'--plot'", plot)
    if plot is not None and plot.suffix.lower() not in DRAWN:
        raise InputError(f"'--plot' must end in {', '.join(DRAWN[:-1])} or {DRAWN[-1]}. Got {plot.name!r} instead.")
    with counting("Evaluating", None, 0) as show:
        found = evaluated(
            {"policy": ready.policy}, ready.X, ready.Y, on_progress=show, **_how(ready, cv, time, jobs, rows, seconds)
        )
    if as_json:
        print_json(json.dumps(_document(found), ensure_ascii=False, indent=2))
    else:
        console().print(_table(found))
        print_text(str(found))
    if plot is not None:
        figure: Any = found.plot().figure
        figure.savefig(plot, dpi=150)
        note(f"The chart is in {plot}.")


def tune(
    project: ProjectArgument,
    cv: FoldsOption = 5,
    time: TimeOption = False,
    only: Annotated[str | None, typer.Option(metavar="forest|knn", help="Try one kind of weights alone.")] = None,
    best: Annotated[
        bool, typer.Option("--best", help="Take the best, not the simplest within a standard error of it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, only say what would be written.")] = False,
    jobs: JobsOption = 1,
    rows: RowsOption = None,
    time_limit: LimitOption = f"{SECONDS}",
    as_json: JsonOption = False,
) -> None:
    """Tune: find weights that decide better, and write them into the project file with the evidence.

    Tries forests of several depths, leaf sizes and shares of features, and several numbers of neighbours. Of those
    within a standard error of the best the simplest is chosen, on which explanations are quickest. It is written into
    [weights] only where it is clearly better than what stands there; comments and everything else in the file stay.

    [bold]Examples[/bold]

      whence tune whence.toml --dry-run
      whence tune whence.toml --only forest --time
      whence tune whence.toml --time-limit 60 --jobs 2
    """
    seconds = read_limit(time_limit)
    ready = _opened(project, jobs)
    with counting("Tuning", None, 0) as show:
        found = tuned(
            ready.policy,
            ready.X,
            ready.Y,
            only=only,
            simplest=not best,
            on_progress=show,
            **_how(ready, cv, time, jobs, rows, seconds),
        )
    writes = found.changed and not dry_run
    if writes:
        write_weights(ready.path, found.weights, found.evidence)
    if as_json:
        print_json(json.dumps(_choice(found, writes), ensure_ascii=False, indent=2))
        return
    console().print(_table(found.tried, LISTED))
    if found.afresh:
        print_text("The table is of the folds that chose, what follows of others: 'as it is' has a figure in each.")
    print_text(str(found))
    for remark in dict.fromkeys((*found.tried.remarks, *found.judged.remarks)):
        note(remark)
    if not found.changed:
        print_text(f"{ready.path.name} stays as it is.")
    elif dry_run:
        print_text(f"{ready.path.name} was not changed. It would say: {_keys(found)}.")
    else:
        print_text(f"Wrote to {ready.path.name}: {_keys(found)}.")


def _opened(path: Path, jobs: int) -> Project:
    check_jobs(jobs)
    with waiting(f"Reading {path.name} ..."):
        ready = Project.load(path)
    for warning in ready.warnings:
        note(str(warning))
    return ready


def _how(ready: Project, cv: int, time: bool, jobs: int, rows: int | None, seconds: float | None) -> dict[str, Any]:
    """Return how policies are judged, as arguments."""
    folds = {"cv": TimeSeriesSplit(cv) if time else cv, "most_rows": rows}
    return {**folds, "time_limit": seconds, "n_jobs": jobs, "sample_weight": ready.weight}


def _keys(found: Tuning) -> str:
    return ", ".join(f"{key} = {json.dumps(to_plain(value))}" for key, value in settings_of(found.weights).items())


def _table(found: Evaluation, most: int | None = None) -> Table:
    """The costs as a table for the screen; of more than `most` policies only the cheapest, and the policy itself."""
    frame = found.frame
    policies = [name for name in frame.index if frame.loc[name, "kind"] == "policy"]
    shown = set(policies[:most]) | {"as it is"}
    unit = f" ({found.cost_unit})" if found.cost_unit else ""
    heads = ("out of sample", f"{found.risk.name}{unit}", "worst tenth", "prescriptiveness", "against average")
    table = Table(*heads, box=None, pad_edge=False)
    for name, row in frame.iterrows():
        if row["kind"] == "policy" and name not in shown:
            continue
        placed = "" if row["prescriptiveness"] != row["prescriptiveness"] else _hundredths(row["prescriptiveness"])
        spread = "" if not placed or row["spread"] != row["spread"] else f" ± {row['spread']:.2f}"
        verdict = f"{row['verdict']} ({share(abs(row['saves']))})" if row["verdict"] else ""
        table.add_row(str(name), plain(row["cost"], 4), plain(row["worst_tenth"], 4), placed + spread, verdict)
    return table


def _hundredths(number: float) -> str:
    """Return a number with two decimals, and without a sign where they are 0.

    Examples
    --------
    >>> _hundredths(-0.001), _hundredths(-0.25)
    ('0.00', '-0.25')
    """
    return f"{round(number, 2) + 0.0:.2f}"


def _document(found: Evaluation) -> dict[str, Any]:
    return {
        "risk": found.risk.name,
        **({"cost_unit": found.cost_unit} if found.cost_unit else {}),
        "rows": len(found.costs),
        "folds": len(found.folds),
        "text": found.sentence,
        "table": _records(found),
        "remarks": list(found.remarks),
        **_offered(found.offer),
    }


def _offered(offer: Offer | None) -> dict[str, Any]:
    """A forecast that predicts clearly better than the weights, where there is one."""
    if offer is None:
        return {}
    costs = None if offer.costs is None else {"forecast": offer.costs[0], "before": offer.costs[1]}
    found = {"model": offer.model, "explained": offer.explained, "own": offer.own, "costs": costs}
    return {"offer": {**found, "verdict": offer.verdict, "text": offer.sentence}}


def _records(found: Evaluation) -> list[dict[str, Any]]:
    records = found.frame.rename_axis("name").reset_index().to_dict("records")
    return [{str(key): None if value != value else to_plain(value) for key, value in one.items()} for one in records]


def _choice(found: Tuning, written: bool) -> dict[str, Any]:
    return {
        "chosen": found.name,
        "weights": {key: to_plain(value) for key, value in settings_of(found.weights).items()},
        "written": written,
        "evidence": found.evidence,
        "judged": _document(found.judged),
        "tried": _records(found.tried),
        **_offered(found.offer),
    }
