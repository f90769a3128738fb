"""What rules out cells besides their distance: trees of an isolation forest and of relations, and linear rows.

Further trees stand on the grid after those of the forest. In a cell, and in all cells in which every tree has the same
leaf, the weights are the same: of linear relations between numbers, what is asked for is the nearest point there that
keeps the rows, a small linear program. Levels and gaps are decided by branching.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from whence import _core
from whence.features.relation_trees import Relations, RelationTree
from whence.features.space import ChangeLimit, Space
from whence.models.tree_arrays import floor32, single_turns
from whence.question import Limits, Question
from whence.search.grid import KeptGrid
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime
from whence.weights import InputMap, TreeWeights
from whence.weights.plausibility import Isolation

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
        group, start, distance = located.group, located.start, located.distance
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
        return cls(low, high, kept.nearest_point(located, best, question.inputs))

    def domain(self, question: Question, kept: KeptGrid, column: int) -> Floats:
        """The allowed values of a column in the region: intervals, one per row, ascending."""
        space, q = question.space, int(question.inputs.coordinate[column])
        return _allowed(space, q, *kept.span(column, int(self.low[column]), int(self.high[column])))


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


def nearest_under_rows(
    question: Question, kept: KeptGrid, located: _core.Located, cells: Ints, rules: Relations
) -> Floats | None:
    """The nearest point that keeps the rows, where all trees have the leaves of these cells; None where none does."""
    region = Region.around(question, kept, located, cells)
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
    few: ChangeLimit | None
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


@dataclass(frozen=True)
class Family:
    """The nodes of some trees, one tree after the other, numbered on, and how they compare coordinates."""

    #: Column of the grid that each node splits; negative in a leaf.
    column: Ints
    #: What each node compares with.
    threshold: Floats
    #: Children of each node, and the first node of each tree.
    left: Ints
    right: Ints
    root: Ints
    #: Whether coordinates are rounded to float32 first.
    rounded: bool

    def keys(self, thresholds: Floats) -> Floats:
        """Thresholds as the trees compare with them: the same for those that split alike."""
        return floor32(thresholds).astype(np.float64) if self.rounded else thresholds

    def sides(self, keys: Floats) -> tuple[Floats, Floats]:
        """The last coordinate left of each threshold, and the first to its right."""
        return single_turns(keys) if self.rounded else (keys, np.nextafter(keys, np.inf))


def isolation_family(trees: Sequence[Any], features: Sequence[Any], inputs: InputMap) -> Family:
    """Trees of an isolation forest, each of which sees some coordinates."""
    column_of = _column_of(inputs)
    return _family(trees, [column_of[np.asarray(names)] for names in features], True)


def relation_family(trees: Sequence[RelationTree], inputs: InputMap) -> Family:
    """Trees of rules."""
    column_of = _column_of(inputs)
    counts = np.array([tree.coordinate.size for tree in trees])
    root = np.cumsum(counts) - counts
    coordinate = np.concatenate([tree.coordinate for tree in trees])
    shifted = [
        np.concatenate([getattr(tree, side) + r for tree, r in zip(trees, root, strict=True)])
        for side in ("left", "right")
    ]
    column = np.where(coordinate >= 0, column_of[np.maximum(coordinate, 0)], -1)
    threshold = np.concatenate([tree.threshold for tree in trees])
    ints = [part.astype(np.int32) for part in (column, *shifted, root)]
    return Family(ints[0], threshold, ints[1], ints[2], ints[3], False)


def joined(question: Question, kept: KeptGrid, families: Sequence[Family]) -> KeptGrid | None:
    """The grid with the trees of the families after the forest's own; None where the time passes before it is built."""
    weights, inputs = cast(TreeWeights, question.weights), question.inputs
    own = _family(list(weights.members_.trees), None, True)
    splits = [np.zeros(family.column.size, dtype=np.int32) for family in (own, *families)]
    faces = [_Faces.of(kept, c) for c in range(inputs.coordinate.size)]
    for c, found in enumerate(faces):
        for family in families:
            found.add(family, family.threshold[family.column == c], _plain(inputs, c) and family.rounded)
        at = own.column == c
        cuts = kept.cut[kept.face_start[c] : kept.face_start[c + 1]]
        if kept.threshold is None:
            splits[0][at] = found.of_old[np.searchsorted(cuts, floor32(own.threshold[at]))]
        else:
            told = kept.threshold[kept.face_start[c] : kept.face_start[c + 1]]
            splits[0][at] = found.of_old[np.searchsorted(told, own.threshold[at])]
        for number, family in enumerate(families):
            at = family.column == c
            keys, places = found.of_new[number]
            splits[number + 1][at] = places[np.searchsorted(keys, family.keys(family.threshold[at]))]
    face_start = np.concatenate([[0], np.cumsum([len(f.cut) for f in faces])]).astype(np.int32)
    parts = (own, *families)
    shifts = np.cumsum([0, *(part.column.size for part in parts[:-1])]).astype(np.int32)
    nodes = [
        np.concatenate([getattr(part, side) + shift for part, shift in zip(parts, shifts, strict=True)])
        for side in ("left", "right", "root")
    ]
    cut, below, beyond = (np.concatenate([getattr(f, name) for f in faces]) for name in ("cut", "below", "beyond"))
    columns = np.concatenate([part.column for part in parts])
    grid = _core.Grid(face_start, cut, columns, np.concatenate(splits), *nodes)
    while not grid.lay_paths(question.settings.grid_step):
        if question.limits.remaining <= 0:
            return None
    return KeptGrid(
        grid, face_start, cut, below, beyond, kept.samples, kept.first, kept.size, regular=kept.regular, mass=kept.mass
    )


def _column_of(inputs: InputMap) -> NDArray[np.int64]:
    """For every coordinate, the column in which the forest sees it."""
    column_of = np.empty(inputs.coordinate.size, dtype=np.int64)
    column_of[inputs.coordinate] = np.arange(inputs.coordinate.size)
    return column_of


def _plain(inputs: InputMap, column: int) -> bool:
    """Whether the forest sees a coordinate as it is."""
    return bool(inputs.scale[column] == 1.0 and inputs.offset[column] == 0.0)


def _family(trees: Sequence[Any], columns: Sequence[NDArray[np.int64]] | None, rounded: bool) -> Family:
    """Nodes of trees as scikit-learn lays them out; `columns` by feature of each tree, where they are not the same."""
    counts = np.array([tree.node_count for tree in trees])
    root = np.cumsum(counts) - counts
    column = []
    for t, tree in enumerate(trees):
        feature = np.asarray(tree.feature)
        column.append(
            feature if columns is None else np.where(feature >= 0, columns[t][np.maximum(feature, 0)], feature)
        )
    return Family(
        np.concatenate(column).astype(np.int32),
        np.concatenate([tree.threshold for tree in trees]),
        np.concatenate([tree.children_left + r for tree, r in zip(trees, root, strict=True)]).astype(np.int32),
        np.concatenate([tree.children_right + r for tree, r in zip(trees, root, strict=True)]).astype(np.int32),
        root.astype(np.int32),
        rounded,
    )


@dataclass
class _Faces:
    """The faces of a column, and where the old ones and those of each family are among them."""

    cut: NDArray[np.float32]
    below: Floats
    beyond: Floats
    of_old: NDArray[np.int64]
    of_new: list[tuple[Floats, NDArray[np.int64]]]

    @classmethod
    def of(cls, kept: KeptGrid, column: int) -> _Faces:
        own = slice(kept.face_start[column], kept.face_start[column + 1])
        old = np.arange(kept.face_start[column + 1] - kept.face_start[column])
        return cls(kept.cut[own], kept.below[own], kept.beyond[own], old, [])

    def add(self, family: Family, thresholds: Floats, seen: bool) -> None:
        """Add the faces of a family; where the forest does not see them, they are told by coordinates alone."""
        new = np.unique(family.keys(thresholds))
        last, first = family.sides(new)
        # A new face that separates the same coordinates as an old one is the old one.
        near = np.searchsorted(self.beyond, last, side="right")
        same = np.zeros(new.size, dtype=bool)
        inside = near < self.below.size
        same[inside] = last[inside] >= self.below[near[inside]]
        fresh = new[~same].astype(np.float32) if seen else np.full(int((~same).sum()), np.nan, dtype=np.float32)
        order = np.argsort(np.concatenate([self.below, last[~same]]), kind="stable")
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        count = self.below.size
        of_new = np.empty(new.size, dtype=np.int64)
        of_new[~same], of_new[same] = place[count:], place[near[same]]
        self.cut = np.concatenate([self.cut, fresh])[order]
        self.below = np.concatenate([self.below, last[~same]])[order]
        self.beyond = np.concatenate([self.beyond, first[~same]])[order]
        self.of_old = place[self.of_old]
        self.of_new = [(keys, place[places]) for keys, places in self.of_new] + [(new, of_new)]


#: The last grid with further trees, by the rules, or the isolation forest where there are none; and what it is made of.
_extended: WeakKeyDictionary[Any, tuple[KeptGrid, IsolationForest | None, KeptGrid]] = WeakKeyDictionary()

#: What a relation that is broken adds: far more than any isolation forest makes up for.
BROKEN = 100.0


def extended(
    question: Question, kept: KeptGrid, isolation: Isolation | None, rules: Relations | None = None
) -> tuple[KeptGrid | None, _core.Plausibility | None]:
    """The grid with isolation trees and those of rules after the forest's own, and what leaves say: broken ones never.

    Both are None where the question's time limit passes before the grid is built.
    """
    forest = None if isolation is None else isolation.forest
    trees = () if rules is None else rules.trees + staircases(rules)
    owner = forest if rules is None else rules
    before, with_forest, found = _extended.get(owner, (None, None, None))
    if before is not kept or with_forest is not forest:
        families = [] if isolation is None else [_family_of(question, isolation)]
        families += [relation_family(trees, question.inputs)] if trees else []
        found = joined(question, kept, families)
        if found is not None:
            _extended[owner] = (kept, forest, found)
    if found is None:
        return None, None
    says = [] if isolation is None else [isolation.short_by()]
    says += [np.where(tree.broken, BROKEN, 0.0)[tree.coordinate < 0] for tree in trees]
    return found, _core.Plausibility(found.grid, kept.trees, np.concatenate(says))


def _family_of(question: Question, isolation: Isolation) -> Family:
    forest = isolation.forest
    return isolation_family([tree.tree_ for tree in forest.estimators_], forest.estimators_features_, question.inputs)
