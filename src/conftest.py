"""What examples in docstrings leave behind: charts that nobody closes, of which matplotlib bears twenty."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def charts_closed() -> Iterator[None]:
    """Close what an example has drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
