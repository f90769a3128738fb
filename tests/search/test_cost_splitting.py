"""The shares of the strong bound."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.cases import cases

from whence.search.forest import forest_search as forest
from whence.search.forest import forest_search as shares
from whence.search.forest.forest_search import explain

Floats = NDArray[np.float64]


def test_forest_answers_do_not_depend_on_the_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """The strong bound from the first box on, with two buckets a column or twelve, gives the plain answer."""
    monkeypatch.setattr(forest, "STALLED", 0)
    for buckets in (2, 12):
        monkeypatch.setattr(shares, "BUCKETS", buckets)
        for seed in range(12):
            question = cases(seed, 1)[0].question()
            with monkeypatch.context() as plain:
                plain.setattr(forest, "STRONG_FROM", (10**9, 10**9))
                expected = explain(question).distance
            monkeypatch.setattr(forest, "STRONG_FROM", (0, 0))
            assert explain(cases(seed, 1)[0].question()).distance == pytest.approx(expected, abs=1e-9)
