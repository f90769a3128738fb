"""Few changes in the search, beside confidence, plausible contexts, barred sets and threads: against every cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.asking import varied
from tests.blocks import seeds
from tests.cases import Case, cases
from tests.changing import several_case
from tests.search.holding import all_cells, excess
from tests.search.test_confidence import WAYS, assert_nearest
from tests.search.test_plausible import isolation, least_score, small

from whence.features.space import ChangeLimit
from whence.question import Question
from whence.search.forest_search import explain
from whence.weights.plausibility import Isolation


def features(question: Question) -> list[np.ndarray]:
    """The coordinates of every feature, in the order of their numbers: single ones first, then categories."""
    group = question.space.group
    return [np.array([j]) for j in np.flatnonzero(group < 0)] + [
        np.flatnonzero(group == g) for g in np.unique(group[group >= 0])
    ]


def ruled_out(question: Question, few: ChangeLimit, points: np.ndarray) -> np.ndarray:
    """At which points too many features differ from the start, or all of a barred set do."""
    moved = np.array([(points[:, own] != question.space.start[own]).any(axis=1) for own in features(question)]).T
    out = moved.sum(axis=1) > few.most
    for one in few.barred:
        out |= moved[:, list(one)].all(axis=1)
    return np.asarray(out)


def any_few(rng: np.random.Generator, question: Question) -> ChangeLimit:
    """A limit on the changes, and sets that must not all change."""
    count = len(features(question))
    barred = [rng.choice(count, int(rng.integers(1, min(3, count) + 1)), replace=False) for _ in range(rng.integers(3))]
    return ChangeLimit(int(rng.integers(1, count + 1)), tuple(tuple(sorted(one.tolist())) for one in barred))


@pytest.mark.parametrize("block", seeds(5, 8))
def test_the_nearest_of_all_cells(block: int) -> None:
    """Both risks, with and without confidence, a usual context and threads: the nearest cell with so few changes."""
    way = WAYS[block % len(WAYS)]
    farther = 0
    for seed in range(25 * block, 25 * (block + 1)):
        case: Case = several_case(seed) if seed % 2 else cases(seed, 1)[0]
        question = varied(case.question(), kind="relative", threads=1 + seed // 4 % 2, **way)
        rng = np.random.default_rng([seed, 31])
        kappa = float(rng.choice([0.0, 0.0, 1.0, 3.0]))
        asked: dict[str, Any] = {"kappa": kappa}
        forest = isolation(seed, case) if rng.random() < 0.4 else None
        if forest is not None and not small(question, forest):
            forest = None
        few = any_few(rng, question)
        at = all_cells(question, forest)
        over = np.where(ruled_out(question, few, at.points), np.inf, excess(question, at, kappa))
        if forest is not None:
            score = least_score(forest, case, 0.3)
            over = np.where(forest.score_samples(at.points) >= score, over, np.inf)
            asked["plausibility"] = Isolation(forest, score)
        answer = explain(varied(question, **asked, few=few))
        assert_nearest(question, answer, at, over)
        farther += answer.distance > explain(varied(question, **asked)).distance
    assert farther > 0


def test_nothing_ruled_out_changes_nothing() -> None:
    """Where as many features may change as there are, the same boxes are opened and the same point is found."""
    for seed in range(40):
        question = several_case(seed).question()
        plain, few = (explain(varied(question, few=one)) for one in (None, ChangeLimit(len(features(question)))))
        assert (plain.status, plain.distance, plain.bound, plain.nodes) == (
            few.status,
            few.distance,
            few.bound,
            few.nodes,
        )
        assert plain.point is None or np.array_equal(plain.point, few.point)
