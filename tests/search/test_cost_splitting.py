"""The shares of the strong bound."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.asking import varied
from tests.cases import cases

from whence.search.forest_search import explain

Floats = NDArray[np.float64]


def test_forest_answers_do_not_depend_on_the_shares() -> None:
    """The strong bound from the first box on, with two buckets a column or twelve, gives the plain answer."""
    for buckets in (2, 12):
        for seed in range(12):
            plain, strong = (
                varied(cases(seed, 1)[0].question(), stalled=0, buckets=buckets, strong_from=(first, first))
                for first in (10**9, 0)
            )
            assert explain(strong).distance == pytest.approx(explain(plain).distance, abs=1e-9)
