"""`whence init`: a first project file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from whence.cli.screen import note, print_text, waiting
from whence.errors import InputError
from whence.project.starter import starter
from whence.util.files import write_text


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
    with waiting(f"Reading {table.name} ..."):
        made = starter(table, names, _seen_from(table, target.parent))
    write_text(target, made.text, "a project file")
    for remark in made.remarks:
        note(remark)
    print_text(f"Wrote {target}. Say under [problem] what is decided, then run: whence check {target}")


def _only_csv() -> Path:
    files = sorted(path for path in Path().glob("*.csv") if path.is_file())
    if len(files) != 1:
        what = "none" if not files else ", ".join(path.name for path in files[:5])
        raise InputError(f"Name the CSV file: 'whence init days.csv'. This folder has {what}.")
    return files[0]


def _seen_from(table: Path, folder: Path) -> str:
    """The CSV file as the project file names it."""
    try:
        return Path(os.path.relpath(table, folder)).as_posix()
    except ValueError:  # on another drive
        return table.resolve().as_posix()
