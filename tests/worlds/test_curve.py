"""How often answers are true by standard errors: a curve that never falls, and what a share needs."""

from __future__ import annotations

import numpy as np
import pytest

from whence.util.shares import wilson
from whence.worlds.curve import Curve, counted, mostly_answered


def curve(*true: int, answered: int = 60) -> Curve:
    kappas = tuple(4.0 * i for i in range(len(true)))
    return Curve(kappas, (answered,) * len(true), true, answered, 10, 12, "ridge", 0.5)


def test_shares_never_fall() -> None:
    """What was seen out of order is pooled, and stays between what was seen."""
    seen = curve(10, 30, 20, 50, 40, 60)
    assert (np.diff(seen.shares) >= 0).all()
    assert seen.shares[1] == seen.shares[2] == pytest.approx(25 / 60)
    assert seen.shares[0] == pytest.approx(10 / 60)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
def test_a_share_needs_the_fewest_standard_errors_that_reach_it_safely(share: float) -> None:
    """At the kappa the safe share is reached, and a grain below it is not."""
    seen = curve(10, 25, 40, 50, 57, 60)
    kappa = seen.kappa(share)
    assert kappa is not None
    safe = np.interp([kappa, kappa - seen.grain], seen.kappas, seen.safe_shares)
    assert safe[0] >= share - 1e-9
    assert kappa == 0.0 or safe[1] < share
    assert kappa % seen.grain == 0.0
    found = seen.share(kappa)
    assert found is not None
    assert found >= share


def test_more_share_never_needs_fewer_standard_errors() -> None:
    """So that more share asked for is never nearer; where none reach it, the best there is has as many."""
    seen = curve(10, 25, 40, 50, 57, 58)
    needed = [seen.kappa(share) for share in np.linspace(0.05, 1.0, 60)]
    known = [kappa for kappa in needed if kappa is not None]
    assert known == sorted(known)
    assert needed[-1] is None
    assert seen.best >= known[-1]


def test_few_answers_say_nothing() -> None:
    """Steps with few answers are left out, and a curve without any knows no share."""
    seen = Curve((0.0, 4.0, 8.0), (40, 30, 3), (20, 25, 3), 40, 8, 12, "ridge", 0.5)
    assert seen.shares.size == 2
    assert seen.is_coarse
    nothing = Curve((0.0, 4.0), (2, 1), (1, 1), 2, 2, 12, "ridge", 0.5)
    assert (nothing.share(0.0), nothing.interval(0.0), nothing.kappa(0.5), nothing.best) == (None, None, None, 0.0)


def test_steps_at_which_most_questions_have_no_answer_are_left_out() -> None:
    """Those that are left are alike; steps that were not asked do not count against it."""
    none, all_the_way = [1.0, 1.0, None, None], [np.inf, 1.0, 1.0, 1.0]
    unknown = [1.0, 1.0, np.nan, np.nan]
    assert mostly_answered([none, all_the_way]) == 4
    assert mostly_answered([none, none, all_the_way]) == 2
    assert mostly_answered([unknown, unknown, none, all_the_way]) == 4
    assert mostly_answered([[1.0, np.nan, np.nan, 1.0], all_the_way, none]) == 4
    assert mostly_answered([[None], [None]]) == 1
    assert mostly_answered([]) == 1


def test_intervals_hold_the_share_as_often_as_they_say() -> None:
    """Nine of ten intervals around what was seen hold the share that it was drawn with."""
    rng = np.random.default_rng(0)
    for share in (0.5, 0.9):
        drawn = rng.binomial(70, share, 2000) / 70
        inside = [low <= share <= high for low, high in (wilson(float(one), 70) for one in drawn)]
        assert 0.86 < np.mean(inside) < 0.95


def test_counting() -> None:
    """Answers are counted step by step; what has no answer is in neither count."""
    assert counted((0.0, 1.0, 2.0), [[1.0, 1.5, None], [np.inf, None, None], [0.0, 1.0, 0.3]]) == (
        (3, 2, 1),
        (2, 1, 1),
    )


def test_steps_that_were_not_asked_count_for_what_lies_between() -> None:
    """As near as they are to the answers on both sides, and not at all where there is none beyond."""
    between = [np.inf, np.nan, np.nan, 1.0, np.nan, None]
    assert counted((0.0, 1.0, 2.0, 4.0, 5.0, 6.0), 8 * [between]) == ((8, 8, 8, 8, 0, 0), (0, 2, 4, 8, 0, 0))
    assert counted((0.0, 1.0, 2.0), [[1.0, np.nan, np.nan], [np.nan, 1.0, np.nan]]) == ((1, 1, 0), (1, 1, 0))


def test_halves_of_the_questions_see_the_same_curve() -> None:
    """Answers that turn true at some step: asked at every other step, a question counts as if asked at all, about."""
    kappas = tuple(float(i) for i in range(9))
    turns = np.random.default_rng(2).uniform(0.0, 8.0, 4000)
    every = [[1.0 if kappa >= turn else np.inf for kappa in kappas] for turn in turns]
    half = [
        [one if i in (0, 8) or i % 2 == j % 2 else np.nan for i, one in enumerate(row)] for j, row in enumerate(every)
    ]
    (_, all_true), (answered, true) = counted(kappas, every), counted(kappas, half)
    assert set(answered) == {4000}
    assert np.abs(np.array(all_true) - true).max() < 0.02 * 4000
