"""`whence init`, `check` and `fit`: a first project file, whether it can be used, and its policy; and `whence demo`."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from whence.cli.options import SECONDS, JsonOption, ProjectArgument
from whence.cli.screen import BAD_INPUT, console, note, print_json, print_text, waiting
from whence.errors import InputError, WhenceError
from whence.evaluation.evaluating import is_frozen, judged
from whence.evaluation.offers import better_forecast
from whence.examples import Example, bakery, city
from whence.features import Cyclic, Ordered, Schema
from whence.problems.base import cost_unit_of
from whence.project import Project
from whence.project.leaks import Guess
from whence.project.project import read_project, save_policy
from whence.project.starter import starter
from whence.report.numbers import plain, value
from whence.report.words import answer, quality_in_words
from whence.util.aliases import Kind
from whence.util.files import write_text


def check(project: ProjectArgument, as_json: JsonOption = False) -> None:
    """List everything that is wrong with a project, all at once.

    Reads the project file and all the data it names, and lists what is wrong with file, line, and key or column.

    [bold]Examples[/bold]

      whence check whence.toml
      whence check whence.toml --json
    """
    with waiting(f"Checking {project.name} ..."):
        ready, found = read_project(project)
    errors = [finding for finding in found if finding.severity == "error"]
    if as_json:
        print_json(json.dumps([vars(finding) for finding in found], ensure_ascii=False, indent=2))
    else:
        for finding in found:
            print_text(str(finding) if finding.severity == "error" else f"{finding.where}: (warning) {finding.text}")
        print_text(_verdict(project, ready, len(errors), len(found) - len(errors)))
        if ready is not None and not errors:
            _propose(ready)
    if errors:
        raise typer.Exit(BAD_INPUT)


def _propose(project: Project) -> None:
    """List what the history shows: numbers that go round, a better forecast, relations without exception."""
    schema = (project.policy.schema or Schema()).fit(project.X)
    for name, cycle in schema.suggestions(project.X).items():
        print_text(
            f"{name!r} looks as if it went round; for distances the short way: type = 'cyclic', "
            f"period = {plain(cycle.period)}, low = {plain(cycle.low)} in [features.{name}]."
        )
    with suppress(WhenceError):  # what weights do not take is a finding already
        offer = None if is_frozen(project.policy) else better_forecast(project.policy, project.X, project.Y.to_numpy())
        if offer is not None:
            print_text(f"{offer.sentence} 'whence evaluate' tells what that would cost.")
    found = schema.proposals(project.X)
    if not found:
        return
    print_text(
        "These relations hold in every row. Explanations keep to those that you put at the top of the project file:"
    )
    print_text("relations = [" + ", ".join(f'"{text}"' for text in [*schema.relations, *found]) + "]")


def _verdict(path: Path, project: Project | None, errors: int, warnings: int) -> str:
    if errors or project is None:
        return f"{errors} error{'s' * (errors != 1)}: {path.name} cannot be used."
    worth = f" {warnings} warning{'s' * (warnings != 1)}." if warnings else ""
    rows, features, outcomes = len(project.X), project.X.shape[1], project.Y.shape[1]
    columns = f"{features} column{'s' * (features != 1)} of context, {outcomes} outcome{'s' * (outcomes != 1)}"
    return f"{path.name} can be used: {rows:,} rows, {columns}.{worth}"


def fit(
    project: ProjectArgument,
    save: Annotated[Path | None, typer.Option(help="Save the fitted policy here.")] = None,
) -> None:
    """Fit the policy to the history, and show what it was fitted to and how good it is on rows that it has not seen.

    A saved policy is used with '--policy' by decide, explain and batch, which then need not fit again. It is a
    pickle, and opening a pickle runs the code in it: open only files that you have saved yourself.

    [bold]Examples[/bold]

      whence fit whence.toml
      whence fit whence.toml --save policy.joblib
    """
    with waiting(f"Reading {project.name} ...") as say:
        opened = Project.load(project)
        say(f"Fitting to {len(opened.X):,} rows ...")
        began = time.perf_counter()
        policy = opened.fitted()
        seconds = time.perf_counter() - began
        say("Judging the policy ...")
        quality = judged(policy)
        if save is not None:
            say("Saving ...")
            save_policy(opened, save)
    for warning in opened.warnings:
        note(str(warning))
    X, Y = opened.X, opened.Y
    print_text(f"Fitted in {seconds:.2g} s to {len(X):,} rows of {X.shape[1]} columns and {Y.shape[1]} outcomes.")
    console().print(_features(policy.schema_))
    problem, weights = type(policy.problem).__name__, policy.weights_.describe()
    print_text(f"Problem: {problem}. Minimised: {policy.risk_.name}. Weights: {weights}.")
    if quality is not None:
        print_text(quality_in_words(quality, policy.risk_.words, cost_unit_of(policy.problem)))
    if save is not None:
        print_text(f"Saved to {save}.")


def _features(schema: Schema) -> Table:
    table = Table("feature", "kind", "values", "change", "weight", box=None, pad_edge=False)
    for name, kind in schema.kinds().items():
        feature = schema.kind(name)
        shown = type(feature).__name__.lower() if isinstance(feature, Ordered | Cyclic) else kind
        table.add_row(name, shown, _values(schema, name, kind), feature.change, f"{feature.weight:g}")
    return table


def _values(schema: Schema, name: str, kind: str) -> str:
    levels = [value(level, kind) for level in schema.levels(name)]
    if levels:
        return ", ".join(levels[:8]) + (f", … ({len(levels)})" if len(levels) > 8 else "")
    span = schema.dates(name)
    if span is not None:
        return f"{span[0]} to {span[1]}: {', '.join(getattr(schema.kind(name), 'parts', ()))}"
    low, high = schema.training_range(name)
    step = getattr(schema.kind(name), "step", None) or (1 if kind == "discrete" else None)
    said = f"{plain(low)} to {plain(high)} {schema.unit(name)}".rstrip()
    return said if step is None else f"{said}, {'whole numbers' if step == 1 else f'in steps of {plain(step)}'}"


def init(
    data: Annotated[Path | None, typer.Argument(help="A CSV file of past contexts and outcomes.")] = None,
    outcomes: Annotated[
        list[str] | None,
        typer.Option(help="Columns that hold outcomes, with commas between them; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The project file to write \\[default: whence.toml beside the data].")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", "--force", help="Replace a project file that already exists.")
    ] = False,
) -> None:
    """Write a first project file for a CSV file, with column types detected and everything commented.

    Without a file, takes the only CSV file in this folder.

    [bold]Examples[/bold]

      whence init days.csv --outcomes "rolls, rye bread"
      whence init days.csv --out bakery.toml --overwrite
    """
    table = data if data is not None else _only_csv()
    target = out if out is not None else table.parent / "whence.toml"
    if target.exists() and not (overwrite and target.is_file()):
        raise InputError(f"{str(target)!r} already exists; use --overwrite, or choose another name with --out.")
    names = [name.strip() for given in outcomes or () for name in given.split(",") if name.strip()]
    seen = _seen_from(table, target.parent)
    if not names and sys.stdin.isatty() and sys.stderr.isatty():
        made = starter(table, names, seen, _ask)
    else:
        with waiting(f"Reading {table.name} ..."):
            made = starter(table, names, seen)
    write_text(target, made.text, "a project file")
    for remark in made.remarks:
        note(remark)
    print_text(f"Wrote {target}. Say under [problem] what is decided, then run: whence check {target}")


def _ask(guess: Guess) -> list[str]:
    """Ask on the terminal which columns hold outcomes."""
    note(f"These columns look like outcomes ({guess.reason}): what is not known when the decision is made.")
    given: str = typer.prompt("Outcomes, with commas between them", default=", ".join(guess.columns), err=True)
    return [name.strip() for name in given.split(",") if name.strip()] or guess.columns


def _only_csv() -> Path:
    files = sorted(path for path in Path().glob("*.csv") if path.is_file())
    if len(files) != 1:
        what = "none" if not files else ", ".join(path.name for path in files[:5])
        raise InputError(f"Name the CSV file: 'whence init days.csv'. This folder has {what}.")
    return files[0]


def _seen_from(table: Path, folder: Path) -> str:
    """Return the CSV file as the project file names it."""
    try:
        return Path(os.path.relpath(table, folder)).as_posix()
    except ValueError:  # on another drive
        return table.resolve().as_posix()


QUESTIONS: dict[Kind, str] = {
    "relative": "When would your plan have been better than the decision?",
    "absolute": "When would it have been the best of all plans?",
}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the reports.")] = Path("whence-demo"),
) -> None:
    """Decide and explain on built-in data.

    A bakery's order and a courier's route: prints the decision, the planner's own plan and two explanations, and
    writes an HTML report of each. Needs no data and no network.

    [bold]Example[/bold]

      whence demo --out reports
    """
    screen = console()
    _make_folder(out)
    written: list[Path] = []
    for module in (bakery, city):
        with waiting("Reading the data ..."):
            example = module.load()
        written += _shown(screen, example, out)
    screen.print("Reports, to be opened in any browser:")
    for path in written:
        screen.print(f"  {path}", markup=False)


def _shown(console: Console, example: Example, out: Path) -> list[Path]:
    """Fit, decide, explain and write the reports of one example."""
    console.print(f"[bold]{escape(example.title)}[/bold]\n{'=' * len(example.title)}")
    console.print(example.question, markup=False)
    with waiting(f"Fitting to {len(example.X):,} rows ..."):
        policy = example.policy.fit(example.X, example.Y)
        decision = policy.decide(example.today)
    problem, names = example.problem, list(example.Y.columns)
    console.print(f"\n[bold]Decision[/bold]   {escape(problem.describe(decision, names))}")
    console.print(f"[bold]Your plan[/bold]  {escape(problem.describe(example.alternative, names))}")
    written = []
    for kind, question in QUESTIONS.items():
        with waiting("Searching ..."):
            why = policy.explain(example.today, example.alternative, kind=kind, time_limit=SECONDS)
        if why.status == "interrupted":
            # A search keeps what it has found on Ctrl-C; a demo that was told to stop stops.
            raise KeyboardInterrupt
        console.print(f"\n[bold]{question}[/bold]")
        # Both plans have been printed above.
        assert why.report.shown is not None
        console.print(answer(why.report.shown), markup=False, highlight=False)
        path = out / f"{example.name}-{kind}.html"
        with waiting(f"Writing {path.name} ..."):
            why.to_html(path, title=example.title, question=f"{example.question} {question}")
        written.append(path)
    console.print()
    return written


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder given as '--out' cannot be made: {error.strerror} ({out}).") from None
