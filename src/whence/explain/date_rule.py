"""What a region asks of a date, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.features import Schema
from whence.search.regions import Region as Box

__all__ = ["date_conditions"]

#: Values of a part that are told one by one; of more, the first and the last.
FEW = 4
#: Coordinates that differ by less are the same.
EQUAL = 1e-9


def date_conditions(schema: Schema, name: str, box: Box, before: Any, after: Any) -> list[dict[str, Any]]:
    """The fields of one condition for every part of the date `name` that a box does not leave free.

    `before` and `after` are the days of the initial context and of the one found.
    """
    found = []
    was, now = (schema.parts_of(name, day) for day in (before, after))
    for part, at, known in schema.date_parts(name):
        if box.full[at].all():
            continue
        held = _held(schema, at, known, box)
        levels = [level for level, inside in zip(known, held.tolist(), strict=True) if inside]
        text = f"{name} {_words(part, levels)}"
        found.append(
            {
                "feature": f"{name}: {part}",
                "low": None,
                "high": None,
                "values": tuple(levels),
                "text": text,
                "was": was[part],
                "found": now[part],
                "known": tuple(known),
            }
        )
    return found


def _held(schema: Schema, at: slice, known: list[Any], box: Box) -> Any:
    """Which values of a part a box holds."""
    if at.stop - at.start > 1:
        return box.categories[at]
    offset, scale = schema.affine()
    j = at.start
    numbers = [float(level) if isinstance(level, int) else float(i) for i, level in enumerate(known)]
    place = (np.array(numbers) - offset[j]) / scale[j]
    return (place >= box.lower[j] - EQUAL) & (place <= box.upper[j] + EQUAL)


def _words(part: str, levels: list[Any]) -> str:
    """A condition on one part in words: what follows the name of the date."""
    if part == "holiday":
        return "is a holiday" if levels == [True] else "is no holiday"
    texts = [str(level) for level in levels]
    if len(texts) > FEW and part != "weekday":
        said = f"{texts[0]} to {texts[-1]}"
    else:
        said = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
    if part == "weekday":
        return f"is a {said}"
    return f"is in {said}" if part in ("month", "quarter", "year") else f"has {part} {said}"
