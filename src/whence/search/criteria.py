"""The criterion of a question: what the leaves of a forest say about the alternative and the plans it must not exceed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.explain.question import Question
from whence.risk import CVaR
from whence.search.grid import KeptGrid, leaf_means

__all__ = ["add_rival", "criterion_of", "rival_row"]

Floats = NDArray[np.float64]

#: Numbers in the CVaR table of a plan above which rows are computed when they are needed (12 bytes a number).
TABLE_LIMIT = 20_000_000
#: Costs of a plan count as one where they differ by at most this share of its largest: far more than rounding, far
#: less than any tolerance.
SAME = 1e-12


def criterion_of(question: Question, kept: KeptGrid) -> _core.Criterion:
    """The criterion of the question's risk, without any rival yet."""
    if not isinstance(question.risk, CVaR):
        return _core.MeanCriterion(kept.grid.leaves)
    criterion = _core.TailCriterion(
        kept.samples.ravel(),
        kept.first,
        kept.size,
        tail=1.0 - float(question.risk.alpha),
        trees=kept.grid.trees,
        table_limit=TABLE_LIMIT,
    )
    criterion.add_plan(*_distinct(question.alternative))
    return criterion


def add_rival(criterion: _core.Criterion, question: Question, kept: KeptGrid, costs: Floats) -> None:
    """Ask that the alternative cost no more than one more plan with these sample costs."""
    if isinstance(criterion, _core.TailCriterion):
        criterion.add_plan(*_distinct(costs))
    else:
        assert isinstance(criterion, _core.MeanCriterion)
        criterion.add_rival(leaf_means(kept, question.alternative - costs))


def rival_row(question: Question, kept: KeptGrid, costs: Floats, weights: Floats) -> Floats:
    """What each leaf adds to the criterion against a plan with these sample costs.

    Any threshold bounds the CVaR of the plan from above; the one that is taken is the best under `weights`.
    """
    risk = question.risk
    if not isinstance(risk, CVaR):
        return leaf_means(kept, question.alternative - costs)
    tail = 1.0 - float(risk.alpha)
    order = np.argsort(-costs, kind="stable")
    begins = order[min(int(np.searchsorted(np.cumsum(weights[order]), tail)), order.size - 1)]
    level = float(costs[begins])
    return -leaf_means(kept, level + np.maximum(costs - level, 0.0) / tail)


def _distinct(costs: Floats) -> tuple[Floats, NDArray[np.int32]]:
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
