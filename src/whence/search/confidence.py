"""Absolute questions with confidence: which plan refutes the alternative at a context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.question import Question
from whence.search.criteria import add_rival, criterion_of
from whence.search.grid import KeptGrid

__all__ = ["confident_excess", "confidently"]

Ints = NDArray[np.int32]


def confident_excess(question: Question, kept: KeptGrid, confidence: float, leaves: Ints, rival: Floats) -> float:
    """By how much the alternative costs more than a rival, standard errors included, where trees have these leaves.

    Expected cost: the value of a tree is the mean difference in its leaf, and the standard error is that of the mean
    over the trees. CVaR: both plans are judged at the thresholds that suit the whole forest, so that the trees' values
    add up to the difference of both CVaR, and to first order say how it changes with the trees.
    """
    criterion = criterion_of(question, kept, confidence)
    add_rival(criterion, question, kept, rival)
    return criterion.excess(leaves).over


def confidently(question: Question, kept: KeptGrid, confidence: float, leaves: Callable[[], Ints]) -> Question:
    """The question whose `better` refuses the alternative where the best plan beats it within its standard errors.

    An absolute explanation with confidence stands, by this many standard errors, against the best plan at its context
    and against every plan met on the way; all of these are necessary for standing against every plan there is, so
    that the distance is a lower bound on that too.

    Parameters
    ----------
    question : Question
        Whose `better` names the best plan at any weights.
    kept : KeptGrid
        The grid of its forest.
    confidence : float
        Standard errors.
    leaves : callable
        Leaves of the forest where the plan was asked for last.
    """

    def better(weights: Floats) -> Floats | None:
        best = question.better(weights)
        if best is None or confident_excess(question, kept, confidence, leaves(), best) <= question.tau:
            return None
        return best

    return replace(question, better=better)
