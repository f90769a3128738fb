"""By how much a plan must be cheaper, as people write it."""

from __future__ import annotations

from typing import Any

import pytest

from whence.errors import InputError
from whence.explain.ask import read_margin


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (0.05, 0.05),
        (0, 0.0),
        ("0.05", 0.05),
        ("5%", 0.05),
        (" 10 cost ", (10.0, "cost")),
        ("1e3COST", (1000.0, "cost")),
    ],
)
def test_margins_that_are_read(written: Any, expected: Any) -> None:
    """Shares, shares in per cent, and amounts."""
    assert read_margin(written) == expected


@pytest.mark.parametrize("written", [1, -0.1, True, "1", "100 %", "cost", "1.2.3", "5 euros", "-1 cost", None, [0.1]])
def test_margins_that_are_refused(written: Any) -> None:
    """The sentence says what a margin may be."""
    with pytest.raises(InputError, match="'margin' must be a share of the decision's cost") as caught:
        read_margin(written)
    assert caught.value.parameter == "margin"
