"""Two documents side by side: what one says and the other says otherwise, one sentence per entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

from whence.plain_values import quoted

__all__ = ["Slack", "differing"]

#: From the place of a number to the relative and the absolute difference that rounding may make there.
Slack = Callable[[str], tuple[float, float]]
#: Entries of one part of a document that are listed before the rest is only counted.
LISTED = 3


def differing(
    written: Any, computed: Any, slack: Slack, leave_out: Collection[str] = (), added: Collection[str] = ()
) -> list[str]:
    """A sentence for every entry in which a document differs from the one that was computed again.

    Parameters
    ----------
    written, computed : dict
        The documents.
    slack : callable
        How much numbers may differ.
    leave_out : collection of str
        Entries that are not compared, here and in the document inside this one.
    added : collection of str
        Entries that an older document does not have.

    Examples
    --------
    >>> def exact(path):
    ...     return 0.0, 0.0
    >>> differing({"a": [1, 2], "b": "x"}, {"a": [1, 3], "b": "x"}, exact)
    ['a[1] is 2 in the document and 3 computed again.']
    """
    lines: list[str] = []
    for name in dict.fromkeys((*written, *computed)):
        if name in leave_out or (name in added and name not in written):
            continue
        pair = written.get(name), computed.get(name)
        if name in ("unrestricted", "nearest") and isinstance(pair[0], dict) and isinstance(pair[1], dict):
            lines += [f"{name}.{line}" for line in differing(*pair, slack, leave_out, added)]
            continue
        if name not in computed:
            lines.append(f"{name} is in the document, where nothing of that name belongs.")
            continue
        found = list(_entries(written.get(name), computed[name], name, slack))
        lines += found[:LISTED]
        if len(found) > LISTED:
            lines.append(f"{name}: {len(found) - LISTED} more of its entries differ.")
    return lines


def _entries(written: Any, computed: Any, path: str, slack: Slack) -> Iterator[str]:
    if isinstance(written, dict) and isinstance(computed, dict):
        for name in dict.fromkeys((*written, *computed)):
            yield from _entries(written.get(name), computed.get(name), f"{path}.{name}", slack)
    elif isinstance(written, list) and isinstance(computed, list):
        if len(written) != len(computed):
            yield f"{path} has {len(written)} entries in the document and {len(computed)} computed again."
            return
        for i, (one, other) in enumerate(zip(written, computed, strict=True)):
            yield from _entries(one, other, f"{path}[{i}]", slack)
    elif not _same(written, computed, *slack(path)):
        yield f"{path} is {quoted(written)} in the document and {quoted(computed)} computed again."


def _same(one: Any, other: Any, relative: float, absolute: float) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=relative, abs_tol=absolute)
    if isinstance(one, str) and isinstance(other, str):
        # Where lines are broken is not what a text says.
        return one.split() == other.split()
    return type(one) is type(other) and one == other
