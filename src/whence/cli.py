"""The command `whence`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from whence.errors import InputError, WhenceError
from whence.examples import Example, bakery, city
from whence.explain.question import Kind
from whence.report.versions import versions

__all__ = ["app", "main"]

#: Exit codes: bad input, and stopped by Ctrl-C (128 + SIGINT).
BAD_INPUT = 2
STOPPED = 130

HELP = """
Explains data-driven decisions: in what context would your plan have been the better one?

[bold]Examples[/bold]

  whence demo                 decide and explain on built-in data
  whence demo --out reports   the same, with the reports in ./reports
  whence version              versions of everything, for a bug report
"""

app = typer.Typer(
    name="whence",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=True,
)


@app.callback()
def _whence() -> None:
    """A group of commands, also where there is only one to choose."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the reports.", show_default=True)] = Path("whence-demo"),
) -> None:
    """Decide and explain on built-in data.

    A bakery's order and a courier's route: prints the decision, the planner's own plan and two explanations, and
    writes an HTML report of each. Needs no data and no network.

    [bold]Example[/bold]

      whence demo --out reports
    """
    console = _console()
    _make_folder(out)
    written: list[Path] = []
    for module in (bakery, city):
        written += _shown(console, module.load(), out)
    console.print("Reports, to be opened in any browser:")
    for path in written:
        console.print(f"  {path}", markup=False)


@app.command()
def version() -> None:
    """Print versions of everything that has a part in a result, for a bug report."""
    for name, number in versions().items():
        print(f"{name:14}{number}")


def main() -> None:
    """Run the command: an expected error is one sentence and exit code 2, Ctrl-C is silent and exit code 130."""
    for stream in (sys.stdout, sys.stderr):
        # A pipe may know fewer letters than the plans: better a question mark than no answer.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except WhenceError as error:
        print(f"whence: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(f"whence: A file cannot be written: {error.strerror or error}{where}.", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        # Rich and typer have put the terminal back; all that is missing is the end of the line with ^C.
        print("whence: stopped.", file=sys.stderr)
        sys.exit(STOPPED)


def _shown(console: Console, example: Example, out: Path) -> list[Path]:
    """Fit, decide, explain and write the reports of one example."""
    console.print(f"[bold]{escape(example.title)}[/bold]")
    console.print("=" * len(example.title))
    console.print(example.question, markup=False)
    policy = example.policy.fit(example.X, example.Y)
    problem, names = example.problem, list(example.Y.columns)
    console.print()
    console.print(f"[bold]Decision[/bold]   {escape(problem.describe(policy.decide(example.today), names))}")
    console.print(f"[bold]Your plan[/bold]  {escape(problem.describe(example.alternative, names))}")
    written = []
    kinds: tuple[tuple[Kind, str], ...] = (
        ("relative", "When would your plan have been better than the decision?"),
        ("absolute", "When would it have been the best of all plans?"),
    )
    for kind, question in kinds:
        why = policy.explain(example.today, example.alternative, kind=kind)
        if why.status == "interrupted":
            # A search keeps what it has found on Ctrl-C; a demo that was told to stop stops.
            raise KeyboardInterrupt
        # Both plans have been printed above.
        told = str(why).split("\n", 2)[2]
        console.print()
        console.print(f"[bold]{question}[/bold]")
        console.print(told, markup=False, highlight=False)
        path = out / f"{example.name}-{kind}.html"
        why.to_html(path, title=example.title, question=f"{example.question} {question}")
        written.append(path)
    console.print()
    return written


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder given as '--out' cannot be made: {error.strerror} ({out}).") from None


def _console() -> Console:
    """A console that keeps colours to terminals (NO_COLOR is heeded) and does not break lines in a pipe."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=100_000, soft_wrap=True)
    return console


if __name__ == "__main__":
    main()
