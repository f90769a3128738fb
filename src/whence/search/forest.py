"""Nearest explanations of forest policies: best-first search over the cells of the forest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.explain.question import Answer, Question
from whence.risk import tail_of
from whence.search import driver
from whence.search.criteria import add_rival, criterion_of
from whence.search.grid import KeptGrid, grid_of, locate
from whence.search.proposals import climbed, looks, past_cells, pulled
from whence.search.shares import equal_shares
from whence.weights import ForestWeights

__all__ = ["ForestFrontier", "explain"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Boxes to examine before looking for a good explanation without proof: expected cost, CVaR.
PATIENCE = (500, 64)
#: Boxes after which the plain bound has stalled: proposals by climbing, and the strong bound.
STALLED = 2000
#: Coordinates from which the strong bound pays: expected cost, CVaR.
STRONG_FROM = (8, 25)
#: Coordinates up to which boxes are split where both halves gain most, and the distance of the best explanation known
#: from which that is done: as long as there is none.
SHARP_TO, SHARP_FROM = 24, np.inf
#: Seconds of which the first lesson of the strong bound takes a fifth at most, about.
LESSON = 10.0
#: Leaves above which a proposal is looked for before the first box is opened.
LARGE = 200_000
#: Seconds left below which that first look is left out.
SHORT = 0.25


class ForestFrontier:
    """Boxes of cells in the order of their distance."""

    def __init__(self, question: Question, kept: KeptGrid) -> None:
        self.question = question
        self.kept = kept
        self.located = locate(question, kept)
        self.value = self.located.value
        self.criterion = criterion_of(question, kept)
        self.search = _core.ForestSearch(self.located, self.criterion, float(question.tau))
        self.columns = kept.grid.columns
        self.shown = self.located.start
        self.bound = 0.0
        self.proposed = 0
        self.tail = tail_of(question.risk) is not None
        self.shares: _core.Shares | None = None

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        return self.search.examined

    def cut(self, rival: Floats) -> None:
        """Ask that the alternative cost no more than `rival`."""
        add_rival(self.criterion, self.question, self.kept, rival)
        self.proposed = 0

    def exclude(self, point: Floats) -> None:
        """Leave out the region in which every tree has the same leaf as at the point handed out last."""
        self.search.exclude(self.shown)

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Search on; the nearest candidate left, if it was reached."""
        if self._due():
            return None
        if self.shares is None and self.nodes >= STALLED and self.columns >= STRONG_FROM[self.tail]:
            self.shares = equal_shares(self.kept, self.located, min(cutoff, 2.0))
            # The first box has the longest lesson: a slice of its own.
            nodes = 1
        # What was looked for without proof and not found is far away, or does not exist.
        sharp = self.proposed > 0 and self.columns <= SHARP_TO and cutoff >= SHARP_FROM
        # Slices follow the clock; they end where the course of the search is decided, so that it does not.
        for milestone in (PATIENCE[self.tail], STALLED):
            if self.nodes < milestone:
                nodes = min(nodes, milestone - self.nodes)
        reached, bound = self.search.advance(nodes, cutoff, self.shares, sharp, self._lesson())
        self.bound = max(self.bound, bound)
        return self._point(self.search.cells) if reached else None

    def _lesson(self) -> int:
        """Rounds in which the strong bound first learns its shares: fewer for long paths, many etas or little time."""
        entries = self.kept.grid.path_entries
        one = 10e-9 * (entries + 1) + 2e-9 * self.kept.grid.leaves * (self.criterion.etas if self.tail else 0)
        longest = min(100, max(8, 4_000_000 // max(1, entries)))
        return int(np.clip(0.2 * min(self.question.limits.remaining, LESSON) / one, 1, longest))

    def _point(self, cells: Ints) -> Floats:
        """Coordinates of the nearest point of a cell."""
        self.shown = cells
        point = np.empty(cells.size)
        point[self.question.inputs.coordinate] = self.value[self.kept.places(cells)]
        return point

    def _due(self) -> int:
        """Which proposal should be looked for before the search goes on: 1 or 2, or 0 for none."""
        large = self.kept.grid.leaves > LARGE and self.question.limits.remaining > SHORT
        for stage, after in ((1, PATIENCE[self.tail]), (2, STALLED)):
            if self.proposed < stage:
                return stage if large or self.nodes >= after else 0
        return 0

    def propose(self, cutoff: float) -> Floats | None:
        """A context that satisfies all cuts: a past one pulled towards the start; where that stalls, by climbing."""
        stage = self._due()
        if stage == 0:
            return None
        self.proposed = stage
        proposals = _core.Proposals(self.located, self.criterion, float(self.question.tau), 0)
        proposals.looks = looks(self.kept, self.criterion, proposals, 0.25 * self.question.limits.remaining)
        if stage == 1:
            if self.kept.past is None:
                assert isinstance(self.question.weights, ForestWeights)
                self.kept.past = past_cells(self.kept, self.question.weights)
            cells = pulled(self.kept, self.located, proposals, self.kept.past, cutoff)
        else:
            cells = climbed(proposals, cutoff)
        return None if cells is None else self._point(cells)

    def weights(self, point: Floats) -> Floats:
        """Weights at the point handed out last, from the leaves of its cells."""
        leaves = self.kept.grid.leaves_at(self.shown)
        size = self.kept.size[leaves]
        places = np.arange(int(size.sum())) + np.repeat(self.kept.first[leaves] - np.cumsum(size) + size, size)
        shares = np.repeat(1.0 / (leaves.size * size), size)
        n = self.question.alternative.size
        return np.bincount(self.kept.samples.ravel()[places], shares, minlength=n).astype(np.float64)

    def room(self, point: Floats) -> tuple[Floats, Floats] | None:
        """The part of the cell around `point` that lies beyond it, seen from the start, along what moved."""
        kept, inputs, space = self.kept, self.question.inputs, self.question.space
        face_start = kept.face_start
        low, high = point.copy(), point.copy()
        for c in np.flatnonzero((point != space.start)[inputs.coordinate]).tolist():
            q, first, last = inputs.coordinate[c], face_start[c], face_start[c + 1]
            cell = int(np.searchsorted(kept.cut[first:last], np.float32(point[q] * inputs.scale[c] + inputs.offset[c])))
            if point[q] > space.start[q] and first + cell < last:
                high[q] = max(point[q], min(kept.below[first + cell], space.upper[q]))
            elif point[q] > space.start[q]:
                high[q] = max(point[q], space.upper[q])
            elif cell > 0:
                low[q] = min(point[q], max(kept.beyond[first + cell - 1], space.lower[q]))
            else:
                low[q] = min(point[q], space.lower[q])
        return low, high


def explain(question: Question) -> Answer:
    """Answer a question about a forest policy."""
    kept = grid_of(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    return driver.run(question, ForestFrontier(question, kept))
