"""What lies outside the history, in sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd

import whence as wh
from whence.report.reliance import outside

HISTORY = pd.DataFrame(
    {"temp": [-4.0, 31.0, 7.5], "level": [1, 3, 2], "shop": [10, 20, 10], "rain": [True, False, True]}
)
SCHEMA = wh.Schema(
    {
        "temp": wh.Continuous(unit="°C"),
        "level": wh.Discrete([1, 2, 3, 4]),
        "shop": wh.Categorical(),
        "rain": wh.Binary(),
    }
).fit(HISTORY)


def context(**changes: object) -> pd.Series:
    return pd.Series({"temp": 7.5, "level": 2, "shop": 10, "rain": True, **changes}, dtype=object)


def test_what_lies_inside_is_not_mentioned() -> None:
    """The ends of the history belong to it, and categories have none, even where they are numbers."""
    assert outside(SCHEMA, context()) == []
    assert outside(SCHEMA, context(temp=31, level=1, shop=20, rain=False)) == []


def test_every_number_outside_has_its_sentence() -> None:
    """Feature, value and what the history has, with the unit, in the order of the features."""
    assert outside(SCHEMA, context(temp=-40, level=4)) == [
        "temp -40 °C lies outside the history, which has -4 to 31 °C.",
        "level 4 lies outside the history, which has 1 to 3.",
    ]


def test_a_value_just_outside_is_not_rounded_inside() -> None:
    """Where rounding would make the value that of the end, all digits are shown."""
    [sentence] = outside(SCHEMA, context(temp=float(np.nextafter(31.0, 32.0))))
    assert sentence == "temp 31.000000000000004 °C lies outside the history, which has -4 to 31 °C."
