"""Linear rules between numbers in the search over the cells of a forest.

In a cell, and in all cells in which every tree has the same leaf, the weights are the same: what is asked for is the
nearest point there that keeps the rows, a small linear program. Levels and gaps are decided by branching.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.features.relation_trees import Relations, RelationTree
from whence.features.space import Few, Space
from whence.question import Limits, Question
from whence.search.forest.grid import KeptGrid
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime

__all__ = ["Region", "nearest_under_rows", "staircases"]

Ints = NDArray[np.int32]

#: Intervals into which a staircase divides the range of a coordinate.
STAIRS = 16
#: By how much a row or a level may be missed.
MISSED = 1e-11
#: By how much a staircase is wider than the row: it may leave out nothing that rounding would let through.
WIDER = 1e-8


# ---- what rules out whole boxes ----------------------------------------------------------------------------------


def staircases(rules: Relations) -> tuple[RelationTree, ...]:
    """For every row over two coordinates, a tree whose broken leaves the row rules out as a whole.

    It leaves out nothing that keeps the row, and lets the search drop boxes long before they are small.

    Examples
    --------
    >>> rows = Relations(rows=np.array([[1.0, -1.0]]), limits=np.array([0.0]), texts=("a <= b",))
    >>> tree = staircases(rows)[0]
    >>> tree.keeps(np.array([[0.5, 0.5], [0.5, 0.1], [0.51, 0.5]])).tolist()
    [True, False, True]
    """
    found = []
    for row, limit, text in zip(rules.rows, rules.limits, rules.texts, strict=True):
        support = np.flatnonzero(row)
        if support.size == 2:
            i, j = (int(k) for k in support)
            found.append(_staircase(i, float(row[i]), j, float(row[j]), float(limit), text))
    return tuple(found)


def _staircase(i: int, first: float, j: int, second: float, limit: float, text: str) -> RelationTree:
    """Questions about coordinate `i` by bisection, then one about coordinate `j`."""
    edges = np.concatenate([[-np.inf], np.arange(0, STAIRS + 1) / STAIRS, [np.inf]])
    nodes: list[tuple[int, float, int, int]] = []
    broken: list[bool] = []

    def add(low: int, high: int) -> int:
        here = len(nodes)
        nodes.append((-1, 0.0, 0, 0))
        broken.append(False)
        if high - low > 1:
            middle = (low + high) // 2
            left, right = add(low, middle), add(middle, high)
            nodes[here] = (i, float(edges[middle]), left, right)
            return here
        # What the row leaves to coordinate j where coordinate i helps most.
        most = limit - min(first * edges[low], first * edges[high])
        if not np.isfinite(most):
            return here
        end = most / second + (WIDER if second > 0.0 else -WIDER) * max(1.0, abs(most / second))
        ok, bad = (False, True) if second > 0.0 else (True, False)
        nodes.extend([(-1, 0.0, 0, 0), (-1, 0.0, 0, 0)])
        broken.extend([ok, bad])
        nodes[here] = (j, float(end), here + 1, here + 2)
        return here

    add(0, edges.size - 1)
    return RelationTree.of(nodes, broken, text)


# ---- the nearest point of a region -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Region:
    """Cells in which every tree has the same leaf, and the nearest point of them without regard to rows."""

    low: Ints
    high: Ints
    point: Floats

    @classmethod
    def around(cls, question: Question, kept: KeptGrid, located: _core.Located, cells: Ints) -> Region:
        """The cells that all trees take for the same as `cells`."""
        low, high = kept.grid.cells_alike(cells)
        space, inputs = question.space, question.inputs
        group, start, value, distance = located.group, located.start, located.value, located.distance
        best = cells.copy()
        for c in np.flatnonzero(group < 0).tolist():
            base = int(kept.face_start[c]) + c
            own = distance[base + low[c] : base + high[c] + 1]
            best[c] = low[c] + int(np.argmin(own))
        for g in np.unique(group[group >= 0]):
            members = np.flatnonzero(group == g)
            home = members[start[members] > 0]
            # The initial category costs least, where the region has it; all others cost the same.
            if home.size and high[home[0]] > 0 and not (low[members[members != home[0]]] > 0).any():
                best[members] = start[members]
        point = np.empty(space.start.size)
        point[inputs.coordinate] = value[kept.places(best)]
        return cls(low, high, point)

    def domain(self, question: Question, kept: KeptGrid, column: int) -> Floats:
        """The allowed values of a column in the region: intervals, one per row, ascending."""
        space, q = question.space, int(question.inputs.coordinate[column])
        first, last = int(kept.face_start[column]), int(kept.face_start[column + 1])
        bottom = -np.inf if self.low[column] == 0 else kept.beyond[first + self.low[column] - 1]
        top = np.inf if first + self.high[column] == last else kept.below[first + self.high[column]]
        return _allowed(space, q, float(bottom), float(top))


def _allowed(space: Space, q: int, bottom: float, top: float) -> Floats:
    levels = space.levels[q]
    parts = [(v, v) for v in levels.tolist()] if levels is not None else space.pieces(q)
    start = float(space.start[q])
    if not any(low <= start <= high for low, high in parts):
        parts = [*parts, (start, start)]
    cut = [(max(low, bottom), min(high, top)) for low, high in parts]
    return np.array(sorted((low, high) for low, high in cut if low <= high)).reshape(-1, 2)


def _holds(domain: Floats, value: float) -> bool:
    """Whether one of the intervals holds a value."""
    return bool(((domain[:, 0] <= value) & (value <= domain[:, 1])).any())


def nearest_under_rows(question: Question, kept: KeptGrid, region: Region, rules: Relations) -> Floats | None:
    """The nearest point of a region that keeps the rows; None where there is none."""
    support = np.flatnonzero(np.any(rules.rows != 0.0, axis=0))
    columns = np.empty(question.space.start.size, dtype=np.int64)
    columns[question.inputs.coordinate] = np.arange(columns.size)
    domains = [region.domain(question, kept, int(columns[j])) for j in support]
    if any(len(domain) == 0 for domain in domains):
        return None
    space = question.space
    others = np.delete(np.arange(space.start.size), support)
    moved = others[region.point[others] != space.start[others]]
    solver = _Branching(
        rules.rows[:, support], rules.limits, space.start[support], space.weight[support], question.limits,
        question.space.few, space.feature[support], frozenset(space.feature[moved].tolist()),
    )  # fmt: skip
    found = solver.solve(domains)
    if found is None:
        return None
    point = region.point.copy()
    point[support] = found
    return point


@dataclass
class _Branching:
    """Nearest points under rows by linear programs, branching where a coordinate lies between two intervals.

    Where only a few features may change, it is also branched on whether one does.
    """

    rows: Floats
    limits: Floats
    start: Floats
    weight: Floats
    until: Limits
    few: Few | None
    feature: NDArray[np.int64]
    #: Features beside those of the rows that change for certain.
    changed: frozenset[int]
    best: Floats | None = None
    distance: float = np.inf

    def solve(self, domains: list[Floats]) -> Floats | None:
        waiting = [(domains, self.changed)] if self.few is None or self.few.allows(self.changed) else []
        while waiting:
            if self.until.remaining <= 0:
                raise OutOfTime("The time limit has passed.")
            here, changed = waiting.pop()
            found = self._relaxed(here)
            if found is None or found[1] >= self.distance:
                continue
            point = found[0]
            off = self._off(here, point)
            if off is None:
                j = self._too_many(point, changed)
                if j is None:
                    self.best, self.distance = point, found[1]
                    continue
                kept = list(here)
                kept[j] = np.full((1, 2), self.start[j])
                more = changed | {int(self.feature[j])}
                if self.few is not None and self.few.allows(more):
                    waiting.append((here, more))
                if _holds(here[j], float(self.start[j])):
                    waiting.append((kept, changed))
                continue
            j, before = off
            lower, upper = list(here), list(here)
            lower[j], upper[j] = here[j][:before], here[j][before:]
            # The part that is nearer to the point is looked at first.
            nearer = point[j] - here[j][before - 1, 1] < here[j][before, 0] - point[j]
            halves = [(lower, changed), (upper, changed)]
            waiting += reversed(halves) if nearer else halves
        return self.best

    def _too_many(self, point: Floats, changed: frozenset[int]) -> int | None:
        """Where more features change than may: a coordinate of which it is not decided yet whether it does.

        What has moved by no more than rounding has not.
        """
        if self.few is None:
            return None
        still = np.abs(point - self.start) <= MISSED
        point[still] = self.start[still]
        moved = [j for j in np.flatnonzero(~still).tolist() if int(self.feature[j]) not in changed]
        if self.few.allows(changed.union(int(self.feature[j]) for j in moved)):
            return None
        return max(moved, key=lambda j: self.weight[j] * abs(point[j] - self.start[j]))

    def _off(self, domains: list[Floats], point: Floats) -> tuple[int, int] | None:
        """A coordinate that lies between two intervals, and how many lie before it; others are set to their ends."""
        for j, domain in enumerate(domains):
            inside = (domain[:, 0] - MISSED <= point[j]) & (point[j] <= domain[:, 1] + MISSED)
            if not inside.any():
                return j, int((domain[:, 1] < point[j]).sum())
            own = domain[int(np.argmax(inside))]
            point[j] = min(max(point[j], own[0]), own[1])
        return None

    def _relaxed(self, domains: list[Floats]) -> tuple[Floats, float] | None:
        """The nearest point of the hull that keeps the rows, and its distance."""
        low = np.array([domain[0, 0] for domain in domains])
        high = np.array([domain[-1, 1] for domain in domains])
        base = np.clip(self.start, low, high)
        fixed = float(np.abs(base - self.start) @ self.weight)
        upper = np.concatenate([high - base, base - low])
        cost = np.concatenate([self.weight, self.weight])
        simplex = _core.Simplex(upper, cost, np.zeros(upper.size), upper.size + len(self.rows) + 2)
        for row, limit in zip(self.rows, self.limits, strict=True):
            simplex.add_row(np.concatenate([row, -row]), float(limit - row @ base))
        status, value = simplex.minimise()
        if status is _core.SimplexStatus.INFEASIBLE:
            return None
        if status is not _core.SimplexStatus.SOLVED:
            return self._by_highs(low, high)
        moved = simplex.solution()
        half = base.size
        return base + moved[:half] - moved[half:], fixed + value

    def _by_highs(self, low: Floats, high: Floats) -> tuple[Floats, float] | None:
        """The same by another solver, where the small one gives up."""
        from scipy.optimize import linprog

        n = low.size
        cost = np.concatenate([np.zeros(n), self.weight])
        eye = np.eye(n)
        rows = np.vstack(
            [np.hstack([self.rows, np.zeros((len(self.rows), n))]), np.hstack([eye, -eye]), np.hstack([-eye, -eye])]
        )
        limits = np.concatenate([self.limits, self.start, -self.start])
        bounds = [*zip(low, high, strict=True), *[(0.0, None)] * n]
        found = linprog(cost, A_ub=rows, b_ub=limits, bounds=bounds)
        return None if found.x is None else (np.clip(found.x[:n], low, high), float(found.fun))
