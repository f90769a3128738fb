"""The controls with which the page changes a context, one per feature."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from whence.features import Binary, Categorical, Continuous, Cyclic, Discrete, Schema
from whence.plain_values import to_plain
from whence.web.models import Feature

#: A continuous control has about this many steps.
STEPS = 100


def controls(schema: Schema, today: dict[str, Any], fixed: Collection[str] = ()) -> list[Feature]:
    """One control per feature of a fitted schema, in its order; `fixed` ones cannot change."""
    shown, kinds = [], schema.kinds()
    for name in schema.names:
        kind = schema.kind(name)
        common: dict[str, Any] = {
            "name": name,
            "kind": kinds[name],
            "unit": schema.unit(name),
            "change": "fixed" if name in fixed else kind.change,
            "weight": float(kind.weight),
        }
        shown.append(Feature(**common, **_offered(schema, name, today[name])))
    return shown


def _offered(schema: Schema, name: str, today: Any) -> dict[str, Any]:
    """What a control has to choose from, and what of it the history holds."""
    feature, levels = schema.kind(name), schema.levels(name)
    if isinstance(feature, Categorical):
        return {"values": to_plain(list(feature.categories or levels)), "recorded": to_plain(levels)}
    span = schema.dates(name)
    if span is not None:
        return {"recorded": to_plain(list(span))}
    low, high = schema.training_range(name)
    recorded = {"recorded": [low, high]}
    if isinstance(feature, Binary):
        return recorded
    low, high = min(low, float(today)), max(high, float(today))
    limits = {**recorded, "low": low, "high": high}
    if isinstance(feature, Continuous | Cyclic):
        handy = 1.0 if schema.kinds()[name] == "discrete" else handy_step(high - low)
        return {**limits, "step": handy if feature.step is None else float(feature.step)}
    if not levels and isinstance(feature, Discrete) and feature.step is not None:
        # Too many to choose from a list: a slider in whole steps.
        return {**limits, "step": feature.step}
    return {**limits, "values": sorted({*map(float, levels), float(today)})}


def handy_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that a hundred steps or somewhat more make up `span`.

    Examples
    --------
    >>> handy_step(37.0), handy_step(12.0), handy_step(600.0), handy_step(0.0)
    (0.2, 0.1, 5.0, 1.0)
    """
    if not 0 < span < math.inf:
        return 1.0
    lead, power = f"{span / STEPS:.6e}".split("e")
    return float(f"{max(step for step in (1, 2, 5) if step <= float(lead))}e{power}")
