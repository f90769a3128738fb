"""What the leaves of a forest say about the plans: means for expected costs, tail integrals for CVaR."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.explain.question import Question
from whence.risk import CVaR
from whence.search.grid import KeptGrid, leaf_means
from whence.search.table_kernels import fill_rows

__all__ = ["MeanTables", "Tables", "TailTables", "empty_tables", "with_rival"]

Floats = NDArray[np.float64]

#: Numbers in the CVaR tables of one plan above which rows are computed when they are needed (8 bytes a number).
TABLE_LIMIT = 20_000_000
#: The same for all plans together, which are copied whenever one is added.
TABLES_LIMIT = 60_000_000
#: Seconds that a number takes, about; tables that would take a fifth of the time left are not made.
ONE_NUMBER = 1e-8


class MeanTables(NamedTuple):
    """Expected cost: the mean difference between the alternative and each rival in every leaf, by rival and leaf.

    Divided by the number of trees, so that sums over trees give costs; so are the values of `TailTables`.
    """

    mean: Floats


class TailTables(NamedTuple):
    """CVaR: values of every leaf under every threshold. Plan 0 is the alternative, the others its rivals.

    Attributes
    ----------
    table : ndarray of shape (plans, leaves, etas)
        eta + mean excess over eta / (1 - alpha), for every eta among the plan's sample costs; without leaves where
        that would take too much memory.
    etas : ndarray of shape (plans, etas)
        The sample costs of each plan, sorted; `sizes` says how many they are.
    rank : ndarray of shape (plans, n)
        Which of them the cost of each sample is.
    samples, first, size
        The samples of each leaf.
    tail : float
        1 - alpha.
    trees : int
        Number of trees.
    """

    table: Floats
    etas: Floats
    sizes: NDArray[np.int64]
    rank: NDArray[np.int32]
    samples: NDArray[np.int32]
    first: NDArray[np.int64]
    size: NDArray[np.int64]
    tail: float
    trees: int


Tables = MeanTables | TailTables


def empty_tables(question: Question, kept: KeptGrid) -> Tables:
    """Tables of the alternative, without any rival yet."""
    if not isinstance(question.risk, CVaR):
        return MeanTables(np.zeros((0, kept.size.size)))
    tables = TailTables(
        table=np.zeros((0, 0, 0)),
        etas=np.zeros((0, 0)),
        sizes=np.zeros(0, dtype=np.int64),
        rank=np.zeros((0, question.alternative.size), dtype=np.int32),
        samples=kept.samples.ravel(),
        first=kept.first,
        size=kept.size,
        tail=1.0 - float(question.risk.alpha),
        trees=kept.grid.root.size,
    )
    return _with_plan(tables, question.alternative, question.limits.remaining)


def with_rival(tables: Tables, question: Question, kept: KeptGrid, costs: Floats) -> Tables:
    """`tables` with one more plan that the alternative must not cost more than."""
    if isinstance(tables, TailTables):
        return _with_plan(tables, costs, question.limits.remaining)
    return MeanTables(np.vstack([tables.mean, leaf_means(kept, question.alternative - costs)]))


def _with_plan(tables: TailTables, costs: Floats, seconds: float) -> TailTables:
    """`tables` with the CVaR rows of one more plan, as far as `seconds` are enough to fill in its numbers."""
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
    one, all_ = leaves * width, (plans + 1) * leaves * width
    given_up = plans > 0 and tables.table.shape[1] == 0
    if given_up or one > min(TABLE_LIMIT, 0.2 * max(seconds, 0.0) / ONE_NUMBER) or all_ > TABLES_LIMIT:
        return more._replace(table=np.zeros((plans + 1, 0, 0)))
    table = np.zeros((plans + 1, leaves, width))
    if plans:
        table[:plans, :, : tables.table.shape[2]] = tables.table
    fill_rows(more, plans, table[plans])
    return more._replace(table=table)
