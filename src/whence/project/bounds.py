"""Where a feature may go, as people type it: ``temp=0:20`` or ``day=Saturday|Sunday``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whence.errors import InputError
from whence.features import Schema
from whence.features.kinds import Categorical
from whence.project.findings import nearest, shown
from whence.typed_values import number

__all__ = ["read_bounds"]


def read_bounds(texts: Iterable[str], schema: Schema) -> dict[str, Any]:
    """The argument `bounds` of `Policy.explain`.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"temp": [1.0, 30.0], "day": ["Monday", "Sunday"]}))
    >>> read_bounds(["temp=0:20", "day=Monday|Sunday"], schema)
    {'temp': (0.0, 20.0), 'day': ['Monday', 'Sunday']}
    >>> read_bounds(["temp=:20"], schema)
    {'temp': (None, 20.0)}
    """
    bounds: dict[str, Any] = {}
    for text in texts:
        name, _, limits = (part.strip() for part in text.partition("="))
        if not limits:
            raise InputError(f"A bound must be given as name=low:high or name=this|that. Got {shown(text)} instead.")
        if name not in schema.names:
            raise InputError(f"A bound names {name!r}, which is not a feature.{nearest(name, schema.names)}")
        if name in bounds:
            raise InputError(f"The bounds of {name!r} must be given only once.")
        feature = schema.kind(name)
        bounds[name] = _categories(name, limits, feature) if isinstance(feature, Categorical) else _ends(name, limits)
    return bounds


def _categories(name: str, limits: str, feature: Categorical) -> list[Any]:
    known = {str(level): level for level in feature.categories or ()}
    wanted = [part.strip() for part in limits.split("|")]
    for part in wanted:
        if part not in known:
            raise InputError(f"A bound of {name!r} must be among {', '.join(known)}. Got {shown(part)} instead.")
    return [known[part] for part in wanted]


def _ends(name: str, limits: str) -> tuple[float | None, float | None]:
    low, colon, high = (part.strip() for part in limits.partition(":"))
    ends = [None if not end else number(end) for end in (low, high)]
    if not colon or any(given and end is None for given, end in zip((low, high), ends, strict=True)):
        raise InputError(f"The bounds of {name!r} must be given as low:high, two numbers. Got {shown(limits)} instead.")
    return ends[0], ends[1]
