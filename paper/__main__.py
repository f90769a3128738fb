"""``python -m paper``: reproduce the paper, or open its Los Angeles question on the what-if page."""

from __future__ import annotations

import sys

import typer

from paper.command import reproduce
from paper.page import serve
from whence import WhenceError
from whence.cli.screen import BAD_INPUT

app = typer.Typer(
    name="paper",
    help="The experiments of the paper: its tables and figures, and Los Angeles on the what-if page.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.command()(reproduce)
app.command()(serve)


def main() -> None:
    """Run the command; an error that was to be expected is one sentence and exit code 2."""
    try:
        app(prog_name="python -m paper")
    except WhenceError as error:
        print(f"paper: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
