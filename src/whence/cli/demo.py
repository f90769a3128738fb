"""`whence demo`: decide and explain on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from whence.cli.screen import console, waiting
from whence.errors import InputError
from whence.examples import Example, bakery, city
from whence.report.words import answer
from whence.util.aliases import Kind

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
            why = policy.explain(example.today, example.alternative, kind=kind)
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
