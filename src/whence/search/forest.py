"""Nearest explanations of forest policies: best-first search over the cells of the forest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.explain.question import Answer, Question
from whence.search import driver, forest_kernels
from whence.search.grid import Located, grid_of, locate
from whence.search.proposals import climbed, propose, sample_cells
from whence.search.shares import Shares, equal_shares
from whence.search.tables import empty_tables, with_rival
from whence.weights import ForestWeights

__all__ = ["ForestFrontier", "explain"]

Floats = NDArray[np.float64]

#: Boxes to examine before looking for a good explanation without proof: expected cost, CVaR.
PATIENCE = (500, 64)
#: Boxes after which the plain bound has stalled and the strong one takes over.
STALLED = 2000
#: Coordinates from which the strong bound pays.
STRONG_FROM = 8


_none = np.zeros(0, dtype=np.int32)
NO_SHARES = Shares(_none, np.zeros(0), _none, np.zeros((0, 0)), np.zeros((0, 0)), _none, np.zeros(1))


class ForestFrontier:
    """Boxes of cells in the order of their distance, for expected costs."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.kept = grid_of(question)
        self.grid = self.kept.grid
        self.located: Located = locate(question, self.grid)
        self.tables = empty_tables(question, self.kept)
        self.excluded = np.zeros((0, self.grid.root.size), dtype=np.int32)
        self.chain = np.zeros((1024, 7), dtype=np.int32)
        self.keys = np.zeros(1024)
        self.items = np.zeros(1024, dtype=np.int32)
        self.state = np.array([0, 1, 0, 0], dtype=np.int64)
        self.items[0] = -1
        self.cells = np.zeros(self.located.start.size, dtype=np.int32)
        self.bound = 0.0
        self.proposed = 0
        self.strong = False
        self.shares = NO_SHARES
        if (self.located.low < 0).any():
            self.state[1] = 0

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        return int(self.state[2])

    def cut(self, rival: Floats) -> None:
        """Ask that the alternative cost no more than `rival`."""
        self.tables = with_rival(self.tables, self.question, self.kept, rival)
        self.proposed = 0

    def exclude(self, point: Floats) -> None:
        """Leave out the region in which every tree has the same leaf as at the last candidate."""
        leaves = np.empty(self.grid.root.size, dtype=np.int32)
        forest_kernels.leaves_at(self.grid, self.cells, leaves)
        self.excluded = np.vstack([self.excluded, leaves])

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Search on; the nearest candidate left, if it was reached."""
        target = self.state[2] + nodes
        if not self.strong and self.nodes >= STALLED and self.located.start.size >= STRONG_FROM:
            self.strong = True
            self.shares = equal_shares(self.grid, self.located, min(cutoff, 2.0))
        while True:
            code, bound = forest_kernels.advance(
                self.grid,
                self.located,
                self.kept.bits,
                self.tables,
                self.excluded,
                self.question.tau,
                self.shares,
                self.strong,
                self.chain,
                self.keys,
                self.items,
                self.state,
                target - self.state[2],
                cutoff,
                self.cells,
            )
            self.bound = max(self.bound, bound)
            if code != forest_kernels.GROW:
                break
            self._grow()
        return self._point(self.cells) if code == forest_kernels.CANDIDATE else None

    def _grow(self) -> None:
        size = self.chain.shape[0] + self.cells.size
        self.chain = np.vstack([self.chain, np.zeros((size, 7), dtype=np.int32)])
        self.keys = np.concatenate([self.keys, np.zeros(size)])
        self.items = np.concatenate([self.items, np.zeros(size, dtype=np.int32)])

    def _point(self, cells: NDArray[np.int32]) -> Floats:
        """Coordinates of the nearest point of a cell."""
        at = self.grid.face_start[:-1] + np.arange(cells.size) + cells
        point = np.empty(cells.size)
        point[self.question.inputs.coordinate] = self.located.value[at]
        return point

    def propose(self, cutoff: float) -> Floats | None:
        """A context that satisfies all cuts: a past one pulled towards the start; where that stalls, by climbing."""
        if self.proposed < 1 and self.nodes >= PATIENCE[self.tables.tail]:
            self.proposed = 1
            if self.kept.past is None:
                assert isinstance(self.question.weights, ForestWeights)
                self.kept.past = sample_cells(self.grid, self.question.weights)
            cells = propose(self.grid, self.located, self.tables, self.question.tau, self.kept.past, cutoff)
        elif self.proposed < 2 and self.nodes >= STALLED:
            self.proposed = 2
            cells = climbed(self.grid, self.located, self.tables, self.question.tau, cutoff)
        else:
            cells = None
        return None if cells is None else self._point(cells)

    def weights(self, point: Floats) -> Floats:
        """Weights at `point` from the fitted forest."""
        inputs = self.question.inputs
        return self.question.weights.at(point[inputs.coordinate] * inputs.scale + inputs.offset)

    def room(self, point: Floats) -> tuple[Floats, Floats] | None:
        """The cell around `point`, in coordinates."""
        grid, inputs = self.grid, self.question.inputs
        low, high = point.copy(), point.copy()
        for c in range(point.size):
            q, first, last = inputs.coordinate[c], grid.face_start[c], grid.face_start[c + 1]
            cell = int(np.searchsorted(grid.cut[first:last], np.float32(point[q] * inputs.scale[c] + inputs.offset[c])))
            bottom = -np.inf if cell == 0 else float(grid.above[first + cell - 1])
            top = np.inf if first + cell == last else float(grid.cut[first + cell])
            low[q] = (bottom - inputs.offset[c]) / inputs.scale[c]
            high[q] = (top - inputs.offset[c]) / inputs.scale[c]
        space = self.question.space
        moved = point != space.start
        low = np.where(moved & (point > space.start), point, np.maximum(low, np.minimum(space.lower, point)))
        high = np.where(moved & (point < space.start), point, np.minimum(high, np.maximum(space.upper, point)))
        return low, high


def explain(question: Question) -> Answer:
    """Answer a question about a forest policy."""
    return driver.run(question, ForestFrontier(question))
