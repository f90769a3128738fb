"""Whether any plan at all beats the alternative somewhere in a box of contexts.

It is a question about the set of all plans, asked the other way round: of the nearest context in which the best plan is
better than the alternative by more than it may be. Where there is none, the alternative stands in all of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from whence.aliases import Floats
from whence.question import Answer, Question, Space
from whence.question.plans import Plans

__all__ = ["beaten_within", "within_box"]


def within_box(space: Space, point: Floats, lower: Floats, upper: Floats) -> Space:
    """The allowed contexts between `lower` and `upper`, seen from `point`, which is one of them."""
    levels = tuple(
        None if own is None else own[((own >= lower[j]) & (own <= upper[j])) | (own == point[j])]
        for j, own in enumerate(space.levels)
    )
    low, high = np.maximum(space.lower, lower), np.minimum(space.upper, upper)
    # Where nothing but a start beyond the bounds is left, it is all there is.
    alone = low > high
    return replace(
        space,
        start=point,
        lower=np.where(alone, point, low),
        upper=np.where(alone, point, high),
        levels=levels,
        ends=None,
        gap=None,
        everywhere=None,
        initial=None,
        fee=None,
    )


def beaten_within(
    question: Question, box: Space, anything: Plans, sets: Callable[[Question], Answer]
) -> tuple[Floats | None, bool]:
    """A context of `box` in which some plan beats the alternative, if one was met, and whether all of it was covered.

    Parameters
    ----------
    question : Question
        Absolute, and without standard errors: ``within`` and tau say when the alternative is beaten.
    box : Space
        Where to look.
    anything : Plans
        All plans there are.
    sets : callable
        The search for sets of plans that belongs to the question's weights.
    """
    # Beaten: (1 + within) times the best costs less than the alternative, by more than tau. The search for sets
    # allows for tau by itself.
    factor = 1.0 + question.within
    more = float(np.nextafter(question.tau, np.inf))
    asked = replace(
        question,
        kind="relative",
        space=box,
        decision=question.alternative,
        plans=anything,
        within=0.0,
        margin=(question.within / factor, more / factor + question.tau),
        confidence=0.0,
        plausible=None,
        few=None,
        memo={},
    )
    answer = sets(asked)
    return answer.point, answer.status == "none"
