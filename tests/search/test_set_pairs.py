"""Sets of plans and few changes beside whatever else may be asked, in pairs, against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.asking import searching, varied
from tests.blocks import seeds
from tests.cases import Case, cases
from tests.search.holding import all_cells, excess
from tests.search.test_confidence import WAYS, assert_nearest, scaled
from tests.search.test_plausible import isolation, least_score, small
from tests.set_soaking import set_case, set_disagreement

from whence.claims.sets import Plans
from whence.milp import criterion_rows as milp_sets
from whence.question import Question
from whence.search.set_search import explain
from whence.weights.plausibility import Isolation

#: Ways to search for a set: without and with an explanation that is known before tables are made.
SET_WAYS: list[dict[str, Any]] = [{}, {"set_large": 0}]


def some_plans(case: Case, question: Question, rows: np.ndarray, listed: bool) -> Question:
    """The question about some plan of several, which are listed or only solved for."""

    def best(weights: np.ndarray) -> np.ndarray:
        return min(rows, key=lambda row: question.claim.risk.of(row, weights))

    return varied(question, plans=Plans(best, lambda most: rows if listed and len(rows) <= most else None))


@pytest.mark.parametrize("block", seeds(5, 8))
def test_confident_and_plausible_sets(block: int) -> None:
    """Some plan better by standard errors, in usual contexts, both risks: the nearest cell, by every plan and tree."""
    way = WAYS[block % len(WAYS)] | SET_WAYS[block // 2 % len(SET_WAYS)]
    looked = found = 0
    for seed in range(7000 + 16 * block, 7000 + 16 * (block + 1)):
        for i, case in enumerate(cases(seed, 2)):
            factor = (1.0, 1e9, 1e-9)[(seed + i) % 3]
            question = scaled(varied(case.question(), kind="relative", **way), factor)
            forest = isolation(seed, case)
            if not small(question, forest):
                continue
            kappa = (0.0, 0.0, 1.0, 2.5)[(seed + i) % 4]
            share = (None, 0.4)[(seed // 4 + i) % 2]
            rows = factor * np.array([row for j, row in enumerate(case.policy.Y_.T) if j != case.decision])
            asked = some_plans(case, question, rows, listed=kappa > 0.0 or seed % 3 > 0)
            at = all_cells(question, forest)
            over = np.min([excess(varied(question, alternative=row), at, kappa) for row in rows], axis=0)
            if share is not None:
                score = least_score(forest, case, share)
                over = np.where(forest.score_samples(at.points) >= score, over, np.inf)
                asked = varied(asked, plausibility=Isolation(forest, score))
            answer = explain(varied(asked, kappa=kappa))
            assert_nearest(question, answer, at, over)
            looked, found = looked + 1, found + (answer.point is not None)
    assert looked >= 12
    assert found >= 4


@pytest.mark.parametrize("block", seeds(2, 6))
def test_tables_about_what_is_nearer_than_a_known_explanation(block: int) -> None:
    """Routes, quantities, lists and rules, both kinds and all risks, with tables that leave out what is farther."""
    with searching(set_large=0):
        for seed in range(4000 + 30 * block, 4000 + 30 * (block + 1)):
            assert set_disagreement(set_case(seed, ("stock", "own", "grid")[seed % 3])) == "", f"set_case({seed})"


#: Sets as the integer program sees them: in lists, as routes, quantities and pairs, or by nothing but their `solve`.
MILP_WAYS: list[dict[str, int]] = [{}, {"LISTED": 0}, {"PAIRS": 0}, {"LISTED": 0, "NUMBERS": 0}]


@pytest.mark.parametrize("way", range(len(MILP_WAYS)))
def test_the_integer_program_agrees_about_sets(way: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists, rules, routes and quantities, both kinds and all risks, by the other engine."""
    for name, value in MILP_WAYS[way].items():
        monkeypatch.setattr(milp_sets, name, value)
    found = 0
    for seed in range(5000 + 30 * way, 5030 + 30 * way):
        case = set_case(seed)
        assert set_disagreement(case, engine="milp") == "", f"set_case({seed})"
        found += case.policy.risk_.tail is not None
    assert 0 < found < 30
