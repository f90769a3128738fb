"""The criterion of a question: what the leaves of a forest say about the alternative and its rivals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.question import Question
from whence.search.grid import KeptGrid, leaf_means
from whence.util.aliases import Floats

__all__ = [
    "add_plan",
    "add_rival",
    "confident_excess",
    "confidently",
    "criterion_of",
    "distinct",
    "rival_row",
]


#: Seconds that a number takes, about; a table that would take a fifth of the time left is not made.
ONE_NUMBER = 1e-8
#: Costs of a plan count as one where they differ by at most this share of its largest: far more than rounding, far
#: less than any tolerance.
SAME = 1e-12


def criterion_of(question: Question, kept: KeptGrid) -> _core.Criterion:
    """The criterion of the question's risk, without any rival yet, with the claim's standard errors over the trees."""
    tail, kappa = question.claim.risk.tail, question.claim.kappa
    if tail is None and kappa == 0.0:
        return _core.MeanCriterion(kept.leaves)
    if tail is None:
        return _core.ConfidentMeanCriterion(kept.leaves, kappa)
    leaves = (kept.samples.ravel(), kept.first, kept.size)
    criterion = _core.TailCriterion(*leaves, tail=tail, trees=kept.trees, mass=kept.mass)
    add_plan(criterion, question, kept, question.claim.alternative)
    return criterion if kappa == 0.0 else _core.ConfidentTailCriterion(criterion, kappa)


def add_rival(criterion: _core.Criterion, question: Question, kept: KeptGrid, costs: Floats) -> None:
    """Ask that the alternative cost no more than one more plan with these sample costs."""
    if isinstance(criterion, _core.TailCriterion):
        add_plan(criterion, question, kept, costs)
    else:
        assert isinstance(criterion, _core.MeanCriterion)
        criterion.add_rival(leaf_means(kept, question.claim.alternative - costs))


def rival_row(question: Question, kept: KeptGrid, costs: Floats, weights: Floats | None) -> Floats:
    """What each leaf adds to the criterion against a plan with these sample costs.

    Any threshold bounds the CVaR of the plan from above; the one that is taken is the best under `weights`, which
    expected costs do not need.
    """
    tail = question.claim.risk.tail
    if tail is None or weights is None:
        return leaf_means(kept, question.claim.alternative - costs)
    order = np.argsort(-costs, kind="stable")
    begins = order[min(int(np.searchsorted(np.cumsum(weights[order]), tail)), order.size - 1)]
    level = float(costs[begins])
    return -leaf_means(kept, level + np.maximum(costs - level, 0.0) / tail)


def add_plan(criterion: _core.TailCriterion, question: Question, kept: KeptGrid, costs: Floats) -> None:
    """Add the table of a plan with these sample costs."""
    etas, rank = distinct(costs)
    numbers = kept.leaves * etas.size
    in_time = 0.2 * max(question.limits.remaining, 0.0) / ONE_NUMBER
    room = question.settings.tail_tables - kept.leaves * criterion.all_etas
    criterion.add_plan(etas, rank, kept=numbers <= min(question.settings.tail_table, in_time, room))


def distinct(costs: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """The distinct costs in ascending order, and which of them each cost is.

    Sums such as 0.1 + 0.2 and 0.3 are one number that was computed in two ways. A group reaches as far as `SAME` from
    its smallest cost and no farther, so that a chain of close costs does not become one.
    """
    values, rank = np.unique(costs, return_inverse=True)
    width = SAME * float(np.abs(values).max())
    first = np.flatnonzero(np.diff(values, prepend=-np.inf) > width)
    last = np.append(first[1:], values.size) - 1
    if (values[last] - values[first] > width).any():
        begins = [0]
        while begins[-1] < values.size:
            begins.append(int(np.searchsorted(values, values[begins[-1]] + width, side="right")))
        first = np.array(begins[:-1])
    group = np.searchsorted(first, np.arange(values.size), side="right") - 1
    return values[first], group[rank.ravel()].astype(np.int32)


Ints = NDArray[np.int32]


def confident_excess(question: Question, kept: KeptGrid, leaves: Ints, rival: Floats) -> float:
    """By how much the alternative costs more than a rival, standard errors included, where trees have these leaves.

    Expected cost: the value of a tree is the mean difference in its leaf, and the standard error is that of the mean
    over the trees. CVaR: both plans are judged at the thresholds that suit the whole forest, so that the trees' values
    add up to the difference of both CVaR, and to first order say how it changes with the trees.
    """
    criterion = criterion_of(question, kept)
    add_rival(criterion, question, kept, rival)
    return criterion.excess(leaves).over


def confidently(question: Question, kept: KeptGrid, leaves: Callable[[], Ints]) -> Question:
    """The question whose `better` refuses the alternative where the best plan beats it within its standard errors.

    An absolute explanation by standard errors stands, by so many of them, against the best plan at its context
    and against every plan met on the way; all of these are necessary for standing against every plan there is, so
    that the distance is a lower bound on that too.

    Parameters
    ----------
    question : Question
        Whose `better` names the best plan at any weights.
    kept : KeptGrid
        The grid of its forest.
    leaves : callable
        Leaves of the forest where the plan was asked for last.
    """

    def better(weights: Floats) -> Floats | None:
        best: Floats | None = question.claim.rival(weights)
        if best is None or confident_excess(question, kept, leaves(), best) <= question.claim.tau:
            return None
        return best

    return question.refuted_by(better)
