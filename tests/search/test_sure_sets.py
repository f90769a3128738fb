"""Sets of plans with confidence: against every cell, every plan and every tree; neighbours against every vertex."""

from __future__ import annotations

import numpy as np
import pytest
from tests.context_cases import TooMany
from tests.set_soaking import set_case
from tests.sure_soaking import KAPPAS, sure_disagreement

import whence as wh
from whence.search import forest as forest_search
from whence.search.listed_best import ListedBest

#: Other ways to search, which large questions take.
WAYS = ({}, {"PATIENCE": (0, 0), "STALLED": 0, "STRONG_FROM": (1, 1), "SHARP_TO": 0})


@pytest.mark.parametrize("block", range(4))
def test_sure_sets_agree_with_brute_force(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """160 questions about lists, routes, quantities and rules, both kinds and all risks, by standard errors."""
    for name, value in WAYS[block // 2].items():
        monkeypatch.setattr(forest_search, name, value)
    looked = 0
    for seed in range(40 * block, 40 * (block + 1)):
        try:
            wrong = sure_disagreement(set_case(seed), KAPPAS[seed % len(KAPPAS)], every=block % 2 == 0)
        except TooMany:
            continue
        assert wrong == "", f"set_case({seed})"
        looked += 1
    assert looked >= 30


@pytest.mark.parametrize("tail", [None, 0.05, 0.3, 1.0])
def test_the_best_of_a_list(tail: float | None) -> None:
    """As the risk says, for weights of a leaf and for those of a forest."""
    rng = np.random.default_rng(0)
    risk = wh.Expectation() if tail is None else wh.CVaR(1.0 - tail)
    for _ in range(40):
        rows = rng.normal(size=(7, 30)).round(1)
        weights = rng.dirichlet(np.ones(30)) * (rng.random(30) < rng.choice([0.1, 0.9]))
        weights = weights / weights.sum() if weights.sum() else np.eye(30)[0]
        values = [risk.of(row, weights) for row in rows]
        assert risk.of(ListedBest(rows, tail)(weights), weights) == pytest.approx(min(values), abs=1e-12)
