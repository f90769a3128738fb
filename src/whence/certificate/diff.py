"""Two documents side by side: where they differ, one sentence per entry."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

from whence.util.json import quoted

__all__ = ["differing"]

#: What documents of this schema did not hold at first.
ADDED = ("risk_words", "spread", "shown", "usual", "best", "after", "after_text")
#: Entries of one part of a document that are listed before the rest is only counted.
LISTED = 3


def differing(written: Any, computed: Any, largest: float = 1.0, leave_out: Collection[str] = ()) -> list[str]:
    """A sentence for every entry in which a document differs from the one that was computed again.

    Entries in `leave_out` are not compared, here and in the document inside this one; costs may differ by the rounding
    of sums, against the `largest` of them.

    Examples
    --------
    >>> differing({"a": [1, 2], "b": "x"}, {"a": [1, 3], "b": "x"})
    ['a[1] is 2 in the document and 3 computed again.']
    """
    lines: list[str] = []
    for name in dict.fromkeys((*written, *computed)):
        if name in leave_out or (name in ADDED and name not in written):
            continue
        pair = written.get(name), computed.get(name)
        if name in ("unrestricted", "nearest") and isinstance(pair[0], dict) and isinstance(pair[1], dict):
            lines += [f"{name}.{line}" for line in differing(*pair, largest, leave_out)]
            continue
        if name not in computed:
            lines.append(f"{name} is in the document, but no entry of that name belongs there.")
            continue
        found = list(_entries(written.get(name), computed[name], name, largest))
        lines += found[:LISTED]
        if len(found) > LISTED:
            lines.append(f"{name}: {len(found) - LISTED} more of its entries differ.")
    return lines


def _entries(written: Any, computed: Any, path: str, largest: float) -> Iterator[str]:
    if isinstance(written, dict) and isinstance(computed, dict):
        for name in dict.fromkeys((*written, *computed)):
            if name in written or name not in ADDED:
                yield from _entries(written.get(name), computed.get(name), f"{path}.{name}", largest)
    elif isinstance(written, list) and isinstance(computed, list):
        if len(written) != len(computed):
            yield f"{path} has {len(written)} entries in the document and {len(computed)} computed again."
            return
        for i, (one, other) in enumerate(zip(written, computed, strict=True)):
            yield from _entries(one, other, f"{path}[{i}]", largest)
    elif not _same(written, computed, *_slack(path, largest)):
        yield f"{path} is {quoted(written)} in the document and {quoted(computed)} computed again."


def _slack(path: str, largest: float) -> tuple[float, float]:
    """The relative and the absolute difference that rounding may make in the number at `path`."""
    if "cost" in path or path.endswith((".decision", ".alternative")):
        return 1e-9, 1e-9 * largest
    return (1e-6, 1e-6) if path.endswith(".part") else (1e-9, 1e-12)


def _same(one: Any, other: Any, relative: float, absolute: float) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=relative, abs_tol=absolute)
    if isinstance(one, str) and isinstance(other, str):
        # Where lines are broken is not what a text says.
        return one.split() == other.split()
    return type(one) is type(other) and one == other
