"""Objects in files of whence's own: pickles that say what they are and which version wrote them.

A pickle can run any code when it is opened. Only a file that the user names as a saved policy is ever opened as one.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import joblib

from whence.checks import Rule
from whence.errors import InputError
from whence.util.files import complete, read_file

__all__ = ["read_saved", "write_saved"]

MARK = "whence policy"
#: Who writes such files.
WRITERS = "'whence fit --save' has written, or 'Policy.save'"
PATH = Rule("a path", lambda value: isinstance(value, str | PathLike) and not isinstance(value, bytes))


def write_saved(path: Any, policy: Any, **more: Any) -> None:
    """Write a policy, and what else is to be known of it, to `path`: complete, or not at all."""
    from whence import __version__

    target = Path(PATH.check("path", path))
    if not target.parent.is_dir() or target.is_dir():
        raise InputError(f"The policy must be saved in a folder that exists. Got {str(target)!r} instead.")
    content = {"mark": MARK, "version": __version__, **more, "policy": policy}
    try:
        with complete(target) as partial:
            joblib.dump(content, partial, compress=3)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"The policy must be made of what a pickle can hold, such as classes and functions of a module. {error}."
        ) from error


def read_saved(path: Any, kind: type) -> Mapping[str, Any]:
    """What :func:`write_saved` wrote, in which the policy is of this `kind`; opening a file runs the code in it."""
    from whence import __version__

    source = Path(PATH.check("path", path))
    read_file(source)  # which says what is wrong with a file that cannot be read
    try:
        content: Any = joblib.load(source)
    except Exception:  # whatever a damaged or foreign pickle does, it is no policy
        content = None
    if not isinstance(content, dict) or content.get("mark") != MARK:
        raise InputError(f"{str(source)!r} is not a policy that {WRITERS}.")
    saved = content.get("version")
    if saved != __version__:
        raise InputError(f"{str(source)!r} was saved by whence {saved}, this is {__version__}: fit the policy again.")
    if not isinstance(content.get("policy"), kind):
        raise InputError(f"{str(source)!r} is not a policy that {WRITERS}.")
    return content
