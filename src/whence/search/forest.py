"""Nearest explanations of forest policies: best-first search over the cells of the forest."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from whence.explain.question import Answer, Question
from whence.risk import CVaR, Expectation, Risk, tail_of
from whence.search import box_kernels, driver, forest_kernels, grid_kernels, proposal_kernels, table_kernels
from whence.search.grid import KeptGrid, grid_of, living, locate
from whence.search.proposals import climbed, looks, past_cells, pulled
from whence.search.scratch import Field, hard_scratch, new_queue, new_scratch
from whence.search.shares import NO_SHARES, equal_shares
from whence.search.tables import empty_tables, with_rival
from whence.search.warming import Stage, compile_once, tiny_question
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
#: Leaves above which a proposal is looked for before the first box is opened.
LARGE = 200_000


class ForestFrontier:
    """Boxes of cells in the order of their distance."""

    def __init__(self, question: Question, kept: KeptGrid) -> None:
        self.question = question
        self.kept = kept
        located, self.value = locate(question, self.kept)
        self.field = Field(
            grid=self.kept.grid,
            located=located,
            bits=living(self.kept.grid, self.kept.bits, located),
            tables=empty_tables(question, self.kept),
            excluded=np.zeros((0, self.kept.grid.root.size), dtype=np.int32),
            tau=float(question.tau),
        )
        self.queue = new_queue()
        self.scratch = new_scratch(self.field.grid, self.field.bits, self.field.tables)
        self.cells = np.zeros(located.column.shape[1], dtype=np.int32)
        self.shown = self.cells
        self.bound = 0.0
        self.proposed = 0
        self.strong = False
        self.tail = tail_of(question.risk) is not None
        self.shares = NO_SHARES
        self.hard: tuple[Floats, Floats] | None = None

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        return int(self.queue.state[2])

    def cut(self, rival: Floats) -> None:
        """Ask that the alternative cost no more than `rival`."""
        tables = with_rival(self.field.tables, self.question, self.kept, rival)
        self.field = self.field._replace(tables=tables)
        self.scratch = new_scratch(self.field.grid, self.field.bits, tables)
        self.proposed = 0

    def exclude(self, point: Floats) -> None:
        """Leave out the region in which every tree has the same leaf as at the point handed out last."""
        leaves = np.empty(self.field.grid.root.size, dtype=np.int32)
        box_kernels.leaves_at(self.field.grid, self.shown, leaves)
        self.field = self.field._replace(excluded=np.vstack([self.field.excluded, leaves]))

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Search on; the nearest candidate left, if it was reached."""
        if self._due():
            return None
        if not self.strong and self.nodes >= STALLED and self.cells.size >= STRONG_FROM[self.tail]:
            self.strong = True
            self.shares = equal_shares(self.field.grid, self.field.located, min(cutoff, 2.0))
        # What was looked for without proof and not found is far away, or does not exist.
        sharp = self.proposed > 0 and self.cells.size <= SHARP_TO and cutoff >= SHARP_FROM
        hard = self.strong or sharp
        if hard:
            _compile("stalled forest", self.question)
        # Slices follow the clock; they end where the course of the search is decided, so that it does not.
        for milestone in (PATIENCE[self.tail], STALLED):
            if self.nodes < milestone:
                nodes = min(nodes, milestone - self.nodes)
        target = self.nodes + nodes
        while True:
            work, rest = (self.field, self.queue, self.scratch), (target - self.nodes, cutoff, self.cells)
            if hard:
                if self.hard is None:
                    self.hard = hard_scratch(self.field.grid, self.field.bits)
                code, bound = forest_kernels.advance_hard(*work, self.shares, *self.hard, self.strong, sharp, *rest)
            else:
                code, bound = forest_kernels.advance(*work, *rest)
            self.bound = max(self.bound, bound)
            if code != forest_kernels.GROW:
                break
            self._grow()
        return self._point(self.cells) if code == forest_kernels.CANDIDATE else None

    def _grow(self) -> None:
        size = self.queue.keys.size + self.cells.size
        more = new_queue(size)
        self.queue = self.queue._replace(
            chain=np.vstack([self.queue.chain, more.chain]),
            keys=np.concatenate([self.queue.keys, more.keys]),
            items=np.concatenate([self.queue.items, more.items]),
        )

    def _point(self, cells: Ints) -> Floats:
        """Coordinates of the nearest point of a cell."""
        self.shown = cells.copy()
        at = self.field.grid.face_start[:-1] + np.arange(cells.size) + cells
        point = np.empty(cells.size)
        point[self.question.inputs.coordinate] = self.value[at]
        return point

    def _due(self) -> int:
        """Which proposal should be looked for before the search goes on: 1 or 2, or 0 for none."""
        large = self.field.bits.leaf_at.size > LARGE
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
        _compile("longer forest", self.question)
        left = looks(self.field, 0.5 * self.question.limits.remaining)
        if stage == 1:
            if self.kept.past is None:
                assert isinstance(self.question.weights, ForestWeights)
                self.kept.past = past_cells(self.kept, self.question.weights)
            cells = pulled(self.field, self.scratch, self.kept.past, cutoff, left)
        else:
            cells = climbed(self.field, self.scratch, cutoff, left)
        return None if cells is None else self._point(cells)

    def weights(self, point: Floats) -> Floats:
        """Weights at the point handed out last, from the leaves of its cells."""
        leaves = np.empty(self.field.grid.root.size, dtype=np.int32)
        box_kernels.leaves_at(self.field.grid, self.shown, leaves)
        size = self.kept.size[leaves]
        places = np.arange(int(size.sum())) + np.repeat(self.kept.first[leaves] - np.cumsum(size) + size, size)
        shares = np.repeat(1.0 / (leaves.size * size), size)
        n = self.question.alternative.size
        return np.bincount(self.kept.samples.ravel()[places], shares, minlength=n).astype(np.float64)

    def room(self, point: Floats) -> tuple[Floats, Floats] | None:
        """The part of the cell around `point` that lies beyond it, seen from the start, along what moved."""
        kept, inputs, space = self.kept, self.question.inputs, self.question.space
        face_start = kept.grid.face_start
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
    _compile("forest", question)
    kept = grid_of(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    return driver.run(question, ForestFrontier(question, kept))


def _tiny(risk: Risk) -> ForestFrontier:
    """A frontier of two past contexts, whose kernels have the types of all others with that risk."""
    points = np.array([[0.0], [1.0]])
    weights = ForestWeights(n_trees=1, random_state=0).fit(points, points)
    question = tiny_question(weights, risk)
    kept = grid_of(question)
    assert kept is not None
    frontier = ForestFrontier(question, kept)
    frontier.cut(frontier.question.decision)
    return frontier


def _use(risk: Risk) -> None:
    """Call the kernels that every question needs."""
    frontier = _tiny(risk)
    frontier.advance(1, np.inf)
    frontier.exclude(frontier.question.space.start)


def _use_proposals(risk: Risk) -> None:
    """Call the kernels that look for an explanation without proof."""
    frontier, left = _tiny(risk), np.ones(1, dtype=np.int64)
    weights = frontier.question.weights
    assert isinstance(weights, ForestWeights)
    pulled(frontier.field, frontier.scratch, past_cells(frontier.kept, weights), np.inf, left)
    climbed(frontier.field, frontier.scratch, np.inf, left)


def _use_hard(risk: Risk) -> None:
    """Call the search with what only hard questions need."""
    frontier = _tiny(risk)
    field = frontier.field
    shares, hard = equal_shares(field.grid, field.located, 1.0), hard_scratch(field.grid, field.bits)
    work = (field, frontier.queue, frontier.scratch)
    forest_kernels.advance_hard(*work, shares, *hard, True, True, 1, np.inf, frontier.cells)


def _stages(risk: Risk, suffix: str) -> dict[str, Stage]:
    plain = (forest_kernels.advance, grid_kernels.locate, *((table_kernels.fill_rows,) if suffix else ()))
    return {
        f"forest{suffix}": (plain, partial(_use, risk)),
        f"longer forest{suffix}": ((proposal_kernels.climb, proposal_kernels.pull_back), partial(_use_proposals, risk)),
        f"stalled forest{suffix}": ((forest_kernels.advance_hard,), partial(_use_hard, risk)),
    }


#: What is compiled when a question first needs it: the kernels, and a call that uses them.
STAGES: dict[str, Stage] = {**_stages(Expectation(), ""), **_stages(CVaR(0.5), " CVaR")}


def _compile(stage: str, question: Question) -> None:
    """Compile a stage for the risk of the question, where it has not been yet."""
    name = stage if tail_of(question.risk) is None else f"{stage} CVaR"
    compile_once(name, *STAGES[name], question.limits)
