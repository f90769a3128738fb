"""Files that are there complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from whence.errors import InputError

__all__ = ["write_text"]


def write_text(path: Any, text: str, what: str) -> None:
    """Write `text` to `path` in one go: whoever looks sees the old file or the new one, never half of it.

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
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, "utf-8")
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
