"""Good explanations found without proof: past contexts that satisfy the criterion, pulled towards the start."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.question import Question
from whence.search.grid import KeptGrid
from whence.settings import SearchSettings
from whence.weights import InputMap, TreeWeights

Ints = NDArray[np.int32]


def past_cells(kept: KeptGrid, seen: NDArray[np.float32], inputs: InputMap | None = None) -> Ints:
    """Cells of every past context, given as the trees see it."""
    start = kept.face_start
    cells = np.empty(seen.shape, dtype=np.int32)
    for c in range(seen.shape[1]):
        cut = kept.cut[start[c] : start[c + 1]]
        if inputs is not None and np.isnan(cut).any():
            # Some faces are told by coordinates alone; those of a past context are known up to rounding.
            cells[:, c] = kept.cells_of(c, (seen[:, c] - inputs.offset[c]) / inputs.scale[c], inputs)
        else:
            cells[:, c] = np.searchsorted(cut, seen[:, c], side="left")
    return cells


def cells_of_past(question: Question, kept: KeptGrid) -> Ints:
    """Cells of every past context, which are kept with the forest."""
    if kept.past is None:
        kept.past = past_cells(kept, cast(TreeWeights, question.weights).inputs_, question.inputs)
    return kept.past


def contexts_in_time(kept: KeptGrid, criterion: _core.Criterion, seconds: float) -> int:
    """Return how many contexts can be looked at in about this many seconds."""
    depth = np.log2(max(2, kept.grid.leaves / kept.grid.trees))
    values: float = criterion.all_etas if isinstance(criterion, _core.TailCriterion) else criterion.rivals
    if isinstance(criterion, _core.PlanList):
        # The cheapest of all routes is found by what edges cost; plans of a list lie far apart in memory.
        values = criterion.edges or 4.0 * (criterion.plans + criterion.rival_rows)
    elif isinstance(criterion, _core.StockCriterion):
        # Breakpoints are added up once, whatever the number of trees.
        values = 4.0 * criterion.breakpoints / kept.grid.trees + 50.0
    elif isinstance(criterion, _core.LinearPlans):
        values = criterion.numbers
    one = kept.grid.trees * (10e-9 * depth + 1e-9 * values) + 1e-7
    return int(max(1, seconds / one))


def pulled(
    proposals: _core.Proposals, starts: Ints, cutoff: float, improved: int, exchange: tuple[int, int] | None = None
) -> Ints | None:
    """Cells of a context nearer than `cutoff` that satisfies the criterion, from `starts` and from single changes.

    This many of the starts that satisfy it are improved, and the best context by exchanges, if wanted.
    """
    proposals.found = cutoff
    proposals.pull_back(starts, improved)
    # Only as far as what is known by now.
    proposals.try_lines()
    if exchange is not None and proposals.found < cutoff:
        proposals.exchange(proposals.best[None, :], 1, *exchange)
    return proposals.best if proposals.found < cutoff else None


def exchanged(
    proposals: _core.Proposals, starts: Ints, known: Ints | None, cutoff: float, settings: SearchSettings
) -> Ints | None:
    """Cells of a context nearer than `cutoff` that satisfies the criterion, from what is known and from `starts`.

    Where pulling single columns towards the start ends, one is pulled while another one makes up for it.
    """
    proposals.found = cutoff
    if known is not None:
        proposals.exchange(known[None, :], 1, *settings.exchange_long)
    half = proposals.looks // 2
    proposals.looks -= half
    proposals.exchange(starts, settings.exchanged, *settings.exchange_long)
    proposals.looks += half
    best = proposals.best if proposals.found < cutoff else known
    if best is not None:
        proposals.exchange(best[None, :], 1, *settings.exchange_fine)
    return proposals.best if proposals.found < cutoff else None


def nearest_first(kept: KeptGrid, located: _core.Located, past: Ints, most: int = SearchSettings.tried) -> Ints:
    """Allowed cells like those of the nearest past contexts."""
    cells = allowed_cells(kept, located, past)
    order = np.argsort(located.distance[kept.places(cells)].sum(axis=1), kind="stable")[:most]
    return np.ascontiguousarray(cells[order])


def allowed_cells(kept: KeptGrid, located: _core.Located, past: Ints) -> Ints:
    """Cells like those of past contexts that the question allows."""
    start, group, distance = located.start, located.group, located.distance
    inside = np.clip(past, located.first, located.last)
    allowed = np.isfinite(distance[kept.places(inside)])
    # A value that may not be taken stays as it is today; so does a category as a whole.
    for g in np.unique(group[group >= 0]):
        members = group == g
        allowed[:, members] &= (allowed[:, members] & (inside[:, members] == past[:, members])).all(axis=1)[:, None]
    return np.asarray(np.where(allowed, inside, start), dtype=np.int32)


def climbed(proposals: _core.Proposals, cutoff: float) -> Ints | None:
    """Cells of a context reached from the start by the steps that gain most, then pulled back, or None."""
    half = proposals.looks // 2
    proposals.looks -= half
    if not proposals.climb(2.0 * cutoff):
        return None
    proposals.found = cutoff
    proposals.looks += half
    proposals.pull_back(proposals.cells[None, :], 1)
    return proposals.best if proposals.found < cutoff else None


def descended(proposals: _core.Proposals, starts: Ints) -> Ints | None:
    """Cells of a context that satisfies the criterion, however far away, or None: where all starts miss it.

    From every start one column after the other is set to where the criterion is missed by least.
    """
    for cells in starts:
        if proposals.descend(cells):
            proposals.pull_back(proposals.cells[None, :], 1)
    return proposals.best if np.isfinite(proposals.found) else None
