"""Values go to plain JSON and come back."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import InputError
from whence.util.json import number_from_plain, to_plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.int8(3), 3),
        (np.True_, True),
        (np.str_("a"), "a"),
        (math.nan, None),
        (pd.NaT, None),
        (pd.NA, None),
        (-np.inf, "-Infinity"),
        ((1, (2.5, "x")), [1, [2.5, "x"]]),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (pd.Timestamp("2024-05-01 10:00"), "2024-05-01T10:00:00"),
        (pd.Series([1, 2], index=["a", 7]), {"a": 1, "7": 2}),
        (pd.DataFrame({"a": [1, 2], "b": ["x", None]}), [{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
        (pd.Categorical(["u", "v"]), ["u", "v"]),
        (pd.Index([1, 2]), [1, 2]),
        (b"\x00", "b'\\x00'"),
    ],
)
def test_values_become_plain(value: Any, expected: Any) -> None:
    """Each sort of value has one plain form, of Python's own types."""
    plain = to_plain(value)
    assert plain == expected
    assert type(plain) is type(expected)
    json.dumps(plain, allow_nan=False)


@given(st.recursive(st.floats() | st.text() | st.integers(), st.lists, max_leaves=10))
@settings(derandomize=True, deadline=None)
def test_plain_is_strict_json(value: Any) -> None:
    """Whatever comes in, what comes out is JSON without NaN or infinity, and stays as it is the second time."""
    plain = to_plain(value)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert to_plain(plain) == plain


@given(st.floats())
@settings(derandomize=True, deadline=None)
def test_numbers_come_back(number: float) -> None:
    """A number read back is the number that was written."""
    back = number_from_plain(to_plain(number))
    assert back == number or (math.isnan(back) and math.isnan(number))


@pytest.mark.parametrize("value", ["inf", True, [1], {}, "1", 10**400])
def test_what_is_no_number_is_refused(value: Any) -> None:
    """Text, truth values, lists and numbers beyond floats are not taken for numbers."""
    with pytest.raises(InputError, match="A number must be a JSON number"):
        number_from_plain(value)
