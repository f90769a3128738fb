"""What the leaves of a forest say about two plans: means for expected costs, tail integrals for CVaR."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.explain.question import Question
from whence.risk import CVaR
from whence.search.grid import KeptGrid, leaf_means
from whence.search.table_kernels import tail_table

__all__ = ["Tables", "empty_tables", "with_rival"]

Floats = NDArray[np.float64]


class Tables(NamedTuple):
    """Values of every leaf, summed over trees to give costs.

    Attributes
    ----------
    tail : bool
        Whether the risk is a CVaR.
    mean : ndarray of shape (rivals, leaves)
        Expected cost: mean difference between the alternative and each rival.
    alternative : ndarray of shape (leaves, etas)
        CVaR: eta + mean excess over eta / (1 - alpha) of the alternative, for every eta among its costs.
    rival : ndarray of shape (rivals, leaves, etas)
        The same for each rival, with its own etas; `sizes` says how many.
    rival_of : ndarray of shape (rivals, etas, leaves)
        The same, leaves last.
    sizes : ndarray of shape (rivals,)
        Number of etas of each rival.
    """

    tail: bool
    mean: Floats
    alternative: Floats
    rival: Floats
    rival_of: Floats
    sizes: NDArray[np.int64]


def empty_tables(question: Question, kept: KeptGrid) -> Tables:
    """Tables of the alternative, without any rival yet."""
    leaves = int(kept.grid.leaf_start[-1])
    tail = isinstance(question.risk, CVaR)
    alternative = _tail(question, kept, question.alternative) if tail else np.zeros((leaves, 1))
    etas = np.unique(question.decision).size if tail else 1
    none = np.zeros((0, leaves, etas)), np.zeros((0, etas, leaves))
    return Tables(tail, np.zeros((0, leaves)), alternative, *none, np.zeros(0, dtype=np.int64))


def with_rival(tables: Tables, question: Question, kept: KeptGrid, costs: Floats) -> Tables:
    """`tables` with one more plan that the alternative must not cost more than."""
    if not tables.tail:
        mean = np.vstack([tables.mean, leaf_means(kept, question.alternative - costs)])
        return tables._replace(mean=mean)
    table = _tail(question, kept, costs)
    width = max(table.shape[1], tables.rival.shape[2])
    rivals, leaves = tables.sizes.size, table.shape[0]
    rival = np.zeros((rivals + 1, leaves, width))
    rival[:rivals, :, : tables.rival.shape[2]] = tables.rival
    rival[rivals, :, : table.shape[1]] = table
    rival_of = np.ascontiguousarray(rival.transpose(0, 2, 1))
    mean = np.zeros((rivals + 1, leaves))
    return tables._replace(mean=mean, rival=rival, rival_of=rival_of, sizes=np.append(tables.sizes, table.shape[1]))


def _tail(question: Question, kept: KeptGrid, costs: Floats) -> Floats:
    assert isinstance(question.risk, CVaR)
    etas, rank = np.unique(costs, return_inverse=True)
    share = 1.0 - float(question.risk.alpha)
    table: Floats = tail_table(
        kept.samples.ravel(), kept.first, kept.size, rank.astype(np.int32), etas, share, kept.grid.root.size
    )
    return table
