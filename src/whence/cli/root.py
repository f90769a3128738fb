"""The commands of `whence`, and how its errors are told."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer
import typer.core
import typer.main

from whence.cli import STOPPED
from whence.cli.screen import BAD_INPUT, EXIT_CODES, UNEXPECTED, interrupted, shown
from whence.errors import WhenceError

HELP = f"""
Explains data-driven decisions: in what context would your plan have been better?

[bold]Examples[/bold]

  whence demo                      decide and explain on built-in data
  whence init days.csv             write a project file for your own data
  whence check whence.toml         list everything that is wrong with it
  whence evaluate whence.toml      how good its decisions are on rows not seen
  whence decide whence.toml --context 12
  whence explain whence.toml --context 12 --instead row:40
  whence explain --help            all of its options
{EXIT_CODES}"""


#: The commands in the order in which they are listed, each with the module that holds it: a module is imported when its
#: command is called, or when all of them are listed.
COMMANDS = {
    "demo": "projects",
    "init": "projects",
    "check": "projects",
    "fit": "projects",
    "evaluate": "evaluate",
    "tune": "evaluate",
    "decide": "explain",
    "explain": "explain",
    "front": "other_questions",
    "menu": "other_questions",
    "reasons": "other_questions",
    "forecast": "other_questions",
    "compare": "other_questions",
    "prices": "price_questions",
    "implied": "price_questions",
    "rules": "price_questions",
    "stability": "many_rows",
    "batch": "many_rows",
    "verify": "verifying",
    "serve": "serve",
    "mcp": "assistants_server",
    "version": "root",
}
#: Commands whose exit codes tell the answer.
QUESTIONS = ("explain", "front", "menu", "reasons", "forecast", "prices")


class Commands(typer.core.TyperGroup):
    """Import a command when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _loaded(cmd_name) if cmd_name in COMMANDS else None


@functools.cache
def _loaded(name: str) -> Any:
    """Return a command as typer runs it."""
    function = getattr(import_module(f"whence.cli.{COMMANDS[name]}"), name)
    more = EXIT_CODES if name in QUESTIONS else ""
    alone = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, add_completion=False)
    settings = {"help_option_names": ["--help", "-h"]}
    alone.command(name, help=f"{help_text(function.__doc__ or '')}\n{more}", context_settings=settings)(
        errors_told(function)
    )
    return typer.main.get_command(alone)


app = typer.Typer(
    name="whence",
    cls=Commands,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback(help=HELP)
def _root() -> None:
    """Stand for the group: its commands are found by name."""


def version() -> None:
    """Print the versions of everything that plays a part in a result, for a bug report.

    [bold]Example[/bold]

      whence version
    """
    from whence.report.fingerprint import versions

    for name, number in versions().items():
        print(f"{name:14}{number}")


def help_text(docstring: str) -> str:
    """Return a docstring as help text: paragraphs flow, and lines that are indented stay as they are.

    Examples
    --------
    >>> help_text("Bake.\\n\\nLong lines\\nflow.\\n\\n  kept\\n  as is")
    'Bake.\\n\\nLong lines flow.\\n\\n[bold][/bold]  kept\\n  as is'
    """
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(docstring))
    text = "\n\n".join(p if p.startswith(" ") else " ".join(p.split("\n")) for p in paragraphs)
    # typer takes away an indent that all lines after a heading share: one of them begins with markup.
    return text.replace("\n\n  ", "\n\n[bold][/bold]  ", 1)


def errors_told(command: Callable[..., None]) -> Callable[..., None]:
    """Return `command` with its errors told: an expected one is a sentence and exit code 2, Ctrl-C is exit code 130."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            try:
                command(*arguments, **options)
            finally:
                # Where the answer cannot be written, that is the result; and what was printed stays before an error.
                sys.stdout.flush()
            return
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise
        except WhenceError as error:
            said, code = str(error), BAD_INPUT
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            _give_up_on_stdout()
            said, code = f"A file cannot be read or written: {error.strerror or error}{where}.", BAD_INPUT
        except (Exception, KeyboardInterrupt) as error:
            if interrupted(error):
                # Rich and typer have put the terminal back; all that is missing is the end of the line with ^C.
                said, code = "stopped.", STOPPED
            elif os.environ.get("WHENCE_TRACEBACK"):
                raise
            else:
                said = f"An unexpected error, which is a bug in whence: {type(error).__name__}: {error}\n"
                said, code = f"{said}Set WHENCE_TRACEBACK=1 to see where it comes from.", UNEXPECTED
        print(f"whence: {shown(said)}", file=sys.stderr)
        raise typer.Exit(code)

    return run


def _give_up_on_stdout() -> None:
    """Leave nothing in a stdout that takes nothing: Python would fail once more over it when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
