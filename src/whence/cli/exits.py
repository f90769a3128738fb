"""How a command ends: what its exit codes mean, and whether Ctrl-C is behind an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.util.aliases import Status

FOUND = 0
UNEXPECTED = 1
#: Of `whence verify`, as of `diff` and `cmp`.
DIFFERS = 1
BAD_INPUT = 2
NONE = 3
TIME_LIMIT = 4
#: As shells do it: 128 and the number of the signal.
STOPPED = 130

#: For the help texts.
EXIT_CODES = """
[bold]Exit codes[/bold]

  0    done; for an explanation: found and proved
  1    an unexpected error, which is a bug in whence; for verify: something differs
  2    bad input, explained in one sentence on stderr
  3    proved: there is no such context
  4    the time limit was reached before the proof
  130  stopped by Ctrl-C
"""


def exit_code(status: Status) -> int:
    """The exit code for how an explanation ended."""
    return {"optimal": FOUND, "already": FOUND, "none": NONE, "time_limit": TIME_LIMIT, "interrupted": STOPPED}[status]


def interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: a library that is interrupted may raise an error of its own.

    Examples
    --------
    >>> error = RuntimeError("solving failed")
    >>> error.__context__ = KeyboardInterrupt()
    >>> interrupted(error), interrupted(RuntimeError())
    (True, False)
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
