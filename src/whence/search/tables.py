"""What the leaves of a forest say about the plans: means for expected costs, tail integrals for CVaR."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.explain.question import Question
from whence.risk import tail_of
from whence.search.grid import KeptGrid, leaf_means
from whence.search.table_kernels import fill_rows

__all__ = ["MeanTables", "Tables", "TailTables", "empty_tables", "with_rival"]

Floats = NDArray[np.float64]

#: Numbers in the CVaR tables of one plan above which rows are computed when they are needed (12 bytes a number).
TABLE_LIMIT = 20_000_000
#: Costs of a plan count as one where they differ by at most this share of its largest: far more than rounding, far
#: less than any tolerance.
SAME = 1e-12


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
    above : ndarray of int of shape (plans, leaves, etas)
        How many samples of the leaf cost more than eta.
    etas : ndarray of shape (plans, etas)
        The sample costs of each plan, sorted, those that are equal up to rounding as one; `sizes` says how many.
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
    above: NDArray[np.int32]
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
    tail = tail_of(question.risk)
    if tail is None:
        return MeanTables(np.zeros((0, kept.size.size)))
    tables = TailTables(
        table=np.zeros((0, 0, 0)),
        above=np.zeros((0, 0, 0), dtype=np.int32),
        etas=np.zeros((0, 0)),
        sizes=np.zeros(0, dtype=np.int64),
        rank=np.zeros((0, question.alternative.size), dtype=np.int32),
        samples=kept.samples.ravel(),
        first=kept.first,
        size=kept.size,
        tail=tail,
        trees=kept.grid.root.size,
    )
    return _with_plan(tables, question.alternative)


def with_rival(tables: Tables, question: Question, kept: KeptGrid, costs: Floats) -> Tables:
    """`tables` with one more plan that the alternative must not cost more than."""
    if isinstance(tables, TailTables):
        return _with_plan(tables, costs)
    return MeanTables(np.vstack([tables.mean, leaf_means(kept, question.alternative - costs)]))


def _with_plan(tables: TailTables, costs: Floats) -> TailTables:
    """`tables` with the CVaR rows of one more plan."""
    etas, rank = _distinct(costs)
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
        return more._replace(
            table=np.zeros((plans + 1, 0, 0)), above=np.zeros((plans + 1, 0, 0), dtype=tables.above.dtype)
        )
    table = np.zeros((plans + 1, leaves, width))
    above = np.zeros((plans + 1, leaves, width), dtype=np.int32)
    if plans:
        table[:plans, :, : tables.table.shape[2]] = tables.table
        above[:plans, :, : tables.table.shape[2]] = tables.above
    fill_rows(more, plans, table[plans], above[plans])
    return more._replace(table=table, above=above)


def _distinct(costs: Floats) -> tuple[Floats, NDArray[np.int64]]:
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
    return values[first], group[rank.ravel()]
