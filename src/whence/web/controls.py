"""The controls with which the page changes a context, one per feature."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import pandas as pd

from whence.features import Categorical, Continuous, Discrete, Schema
from whence.plain_values import to_plain
from whence.web.models import Feature

__all__ = ["controls"]

#: A continuous control has about so many steps.
STEPS = 100


def controls(
    schema: Schema, today: dict[str, Any], fixed: Collection[str] = (), X: pd.DataFrame | None = None
) -> list[Feature]:
    """One control per feature of a fitted schema, in its order; `fixed` ones cannot change, and `X` is the history."""
    shown = [_control(schema, name, today[name]) for name in schema.names]
    for one in shown:
        one.recorded = _recorded(schema, one.name, X)
        if one.name in fixed:
            one.change = "fixed"
    return shown


def _recorded(schema: Schema, name: str, X: pd.DataFrame | None) -> list[Any] | None:
    """What the history holds of a feature: its range, or the categories that occur."""
    feature = schema.kind(name)
    if not isinstance(feature, Categorical):
        return list(schema.training_range(name))
    if X is None:
        return None
    levels = list(feature.categories or schema.levels(name))
    if feature.columns is not None:
        held = [level for level, column in zip(levels, feature.columns, strict=True) if X[column].any()]
    else:
        occurring = set(X[name].unique())
        held = [level for level in levels if level in occurring]
    plain: list[Any] = to_plain(held)
    return plain


def _control(schema: Schema, name: str, today: Any) -> Feature:
    feature = schema.kind(name)
    kind = type(feature).__name__.lower()
    common: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "unit": schema.unit(name),
        "change": feature.change,
        "weight": float(feature.weight),
    }
    if isinstance(feature, Categorical):
        return Feature(**common, values=to_plain(list(feature.categories or schema.levels(name))))
    if kind == "binary":
        return Feature(**common)
    low, high = schema.training_range(name)
    low, high = min(low, float(today)), max(high, float(today))
    if isinstance(feature, Continuous):
        return Feature(**common, low=low, high=high, step=handy_step(high - low))
    levels = schema.levels(name)
    if not levels and isinstance(feature, Discrete) and feature.step is not None:
        # Too many to choose from a list: a slider in whole steps.
        return Feature(**common, low=low, high=high, step=feature.step)
    return Feature(**common, low=low, high=high, values=sorted({*map(float, levels), float(today)}))


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
