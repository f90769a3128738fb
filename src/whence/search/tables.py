"""What the leaves of a forest say about the plans: means for expected costs, tail integrals for CVaR."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.explain.question import Question
from whence.risk import CVaR
from whence.search.grid import KeptGrid, leaf_means
from whence.search.table_kernels import fill_rows

__all__ = ["Tables", "empty_tables", "with_rival"]

Floats = NDArray[np.float64]

#: Numbers in the CVaR tables of one plan above which rows are computed when they are needed (8 bytes a number).
TABLE_LIMIT = 20_000_000


class Tables(NamedTuple):
    """Values of every leaf, which summed over trees give costs. Plan 0 is the alternative, the others its rivals.

    Attributes
    ----------
    tail : bool
        Whether the risk is a CVaR.
    mean : ndarray of shape (rivals, leaves)
        Expected cost: mean difference between the alternative and each rival.
    table : ndarray of shape (plans, leaves, etas)
        CVaR: eta + mean excess over eta / (1 - alpha), for every eta among the plan's sample costs; without
        leaves where that would take too much memory.
    etas : ndarray of shape (plans, etas)
        The sample costs of each plan, sorted; `sizes` says how many they are.
    rank : ndarray of shape (plans, n)
        Which of them the cost of each sample is.
    samples, first, size
        The samples of each leaf.
    share : float
        1 - alpha.
    trees : int
        Number of trees.
    """

    tail: bool
    mean: Floats
    table: Floats
    etas: Floats
    sizes: NDArray[np.int64]
    rank: NDArray[np.int32]
    samples: NDArray[np.int32]
    first: NDArray[np.int64]
    size: NDArray[np.int64]
    share: float
    trees: int


def empty_tables(question: Question, kept: KeptGrid) -> Tables:
    """Tables of the alternative, without any rival yet."""
    leaves = kept.size.size
    tables = Tables(
        tail=isinstance(question.risk, CVaR),
        mean=np.zeros((0, leaves)),
        table=np.zeros((0, 0, 0)),
        etas=np.zeros((0, 0)),
        sizes=np.zeros(0, dtype=np.int64),
        rank=np.zeros((0, question.alternative.size), dtype=np.int32),
        samples=kept.samples.ravel(),
        first=kept.first,
        size=kept.size,
        share=1.0 - float(question.risk.alpha) if isinstance(question.risk, CVaR) else 1.0,
        trees=kept.grid.root.size,
    )
    return _with_plan(tables, question.alternative) if tables.tail else tables


def with_rival(tables: Tables, question: Question, kept: KeptGrid, costs: Floats) -> Tables:
    """`tables` with one more plan that the alternative must not cost more than."""
    if tables.tail:
        return _with_plan(tables, costs)
    return tables._replace(mean=np.vstack([tables.mean, leaf_means(kept, question.alternative - costs)]))


def _with_plan(tables: Tables, costs: Floats) -> Tables:
    """`tables` with the CVaR rows of one more plan."""
    etas, rank = np.unique(costs, return_inverse=True)
    plans, leaves = tables.sizes.size, tables.size.size
    width = max(etas.size, tables.etas.shape[1])
    padded = np.zeros((plans + 1, width))
    padded[:plans, : tables.etas.shape[1]] = tables.etas
    padded[plans, : etas.size] = etas
    more = tables._replace(
        etas=padded,
        sizes=np.append(tables.sizes, etas.size),
        rank=np.vstack([tables.rank, rank[None, :].astype(np.int32)]),
    )
    if leaves * width > TABLE_LIMIT:
        return more._replace(table=np.zeros((plans + 1, 0, 0)))
    table = np.zeros((plans + 1, leaves, width))
    if plans:
        table[:plans, :, : tables.table.shape[2]] = tables.table
    fill_rows(more, plans, table[plans])
    return more._replace(table=table)
