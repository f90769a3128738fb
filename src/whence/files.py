"""Files that are there complete or not at all, and what a folder stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from whence.errors import InputError

__all__ = ["complete", "project_file", "write_text"]


def project_file(path: Path) -> Path:
    """The project file that `path` names: a folder stands for the whence.toml in it."""
    return path / "whence.toml" if path.is_dir() else path


@contextmanager
def complete(path: Path) -> Iterator[Path]:
    """Where to write a file that takes the place of `path` once it is complete: whoever looks never sees half of it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "a.txt"
    ...     with complete(target) as partial:
    ...         _ = partial.write_text("all of it")
    ...         before = target.exists()
    ...     before, target.read_text()
    (False, 'all of it')
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Any, text: str, what: str) -> None:
    """Write `text` to `path`, complete or not at all.

    Parameters
    ----------
    path : str or path
        Where to write, in a folder that exists.
    text : str
        The content, written as UTF-8.
    what : str
        What the file is, for an error message: "a report".

    Examples
    --------
    >>> write_text("no/such/folder/why.html", "", "a report")
    Traceback (most recent call last):
    whence.errors.InputError: The 'path' of a report must lie in a folder that exists. Got 'no/such/folder/why.html'...
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"The 'path' of {what} must lie in a folder that exists. Got {str(target)!r} instead.")
    if target.is_dir():
        raise InputError(f"The 'path' of {what} must be a file. Got the folder {str(target)!r} instead.")
    with complete(target) as partial:
        partial.write_text(text, "utf-8")
