"""A fitted forest as a grid: cells between thresholds, faces between cells, leaves as bits.

Contexts that fall between the same thresholds have the same weights, so the search walks over cells. What
depends on the forest alone is built once per fitted policy (`KeptGrid`); what depends on the question, the
allowed cells and their distances, is laid over it (`locate`).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.features.relation_trees import Relations
from whence.features.space import Space, settled
from whence.models.tree_arrays import ArrayTree, floor32, single_turns
from whence.question import Question
from whence.util.aliases import Floats
from whence.weights import InputMap, TreeWeights
from whence.weights.trees import LeafMembers, shares_of

Ints = NDArray[np.int32]


@dataclass
class KeptGrid:
    """A forest in cells, and what is kept with it between questions."""

    #: The trees in cells. Column j has cells ``0..n`` and faces between them; faces of all columns are concatenated.
    grid: _core.Grid
    #: Where the faces of each column begin, and the last one ends; cells of column j begin at ``face_start[j] + j``.
    face_start: Ints
    #: Largest float32 value on the lower side of every face, in forest units.
    cut: NDArray[np.float32]
    #: Last coordinate below every face, and the first one beyond it: what rounds to either side.
    below: Floats
    beyond: Floats
    #: The samples of all leaves, a row for each tree; those of a leaf are ``samples.ravel()[first:first + size]``.
    samples: Ints
    #: Where the samples of each leaf begin, and how many there are.
    first: NDArray[np.int64]
    size: NDArray[np.int64]
    #: Cells of the past contexts, one context per row, once they were needed.
    past: Ints | None = None
    #: Whether the samples of each leaf begin where those of the leaf before it end, and the leaves hold them all.
    regular: bool = True
    #: For trees of other libraries, whose faces are told by coordinates alone: the threshold of every face.
    threshold: Floats | None = None
    #: For these: the last number before the face, in the model's units.
    last: Floats | None = None
    #: What each sample counts for in its leaves, where they do not count alike.
    mass: Floats | None = None
    #: The leaf of every tree in each past context, one context per row, once they were needed.
    past_leaves: Ints | None = None
    #: What the best plan costs at most in each past context, and where that is exact.
    past_least: tuple[Floats, NDArray[np.bool_]] | None = None
    #: Tables of quantities that questions about sets of plans have needed, the latest one last.
    tables: dict[bytes, _core.StockTable] = field(default_factory=dict)

    @cached_property
    def total(self) -> Floats:
        """What the samples of every leaf count for together: by how much a sum over them is divided for their mean."""
        return self.size.astype(np.float64) if self.mass is None else leaf_sums(self, self.mass)

    @cached_property
    def leaf_samples(self) -> _core.LeafSamples:
        """Return the samples of every leaf, as the core takes them."""
        return _core.LeafSamples(self.samples.ravel(), self.first, self.size, self.trees, self.mass)

    @property
    def trees(self) -> int:
        """Trees of the weights' forest: the first ones of the grid."""
        return int(self.samples.shape[0])

    @property
    def leaves(self) -> int:
        """Leaves of these trees."""
        return self.first.size

    def cells_of(self, column: int, values: Floats, inputs: InputMap) -> NDArray[np.int64]:
        """Cells of coordinates in a column of the forest."""
        own = slice(self.face_start[column], self.face_start[column + 1])
        told = ~np.isnan(self.cut[own])
        seen = (values * inputs.scale[column] + inputs.offset[column]).astype(np.float32)
        found: NDArray[np.int64] = np.searchsorted(self.cut[own][told], seen, side="left")
        if not told.all():
            found = found + np.searchsorted(self.below[own][~told], values, side="left")
        return found

    def cells_at(self, point: Floats, inputs: InputMap) -> Ints:
        """Cells of a point."""
        found = [self.cells_of(c, point[[q]], inputs)[0] for c, q in enumerate(inputs.coordinate.tolist())]
        return np.array(found, dtype=np.int32)

    def places(self, cells: Ints) -> NDArray[np.int64]:
        """Where cells, one per column, stand among all cells of all columns."""
        places: NDArray[np.int64] = self.face_start[:-1] + np.arange(cells.shape[-1]) + cells
        return places

    def span(self, column: int, low: int, high: int) -> tuple[float, float]:
        """The first and last coordinate of some cells of a column, infinite beyond its faces."""
        first, last = self.face_start[column], self.face_start[column + 1]
        bottom = -np.inf if low == 0 else float(self.beyond[first + low - 1])
        return bottom, np.inf if first + high == last else float(self.below[first + high])

    def nearest_point(self, located: _core.Located, cells: Ints, inputs: InputMap) -> Floats:
        """Coordinates of the nearest point of some cells, one per column."""
        point = np.empty(cells.size)
        point[inputs.coordinate] = located.value[self.places(cells)]
        return point

    def leaves_at(self, cells: Ints) -> Ints:
        """Leaves of the weights' trees at some cells; those of further trees on the grid are left out."""
        return self.grid.leaves_at(np.ascontiguousarray(cells))[: self.trees]


Building = Generator[None, None, KeptGrid]

#: Grids by the weights that they belong to, and those that a time limit has interrupted: the next question goes on.
_kept: WeakKeyDictionary[TreeWeights, KeptGrid] = WeakKeyDictionary()
_unfinished: WeakKeyDictionary[TreeWeights, tuple[Ints, Building]] = WeakKeyDictionary()


def grid_of(question: Question) -> KeptGrid | None:
    """The grid of the question's forest, built on first use and kept with the fitted weights.

    None where the question's time limit passes before it is built.
    """
    weights = cast(TreeWeights, question.weights)
    kept = _kept.get(weights)
    if kept is not None and kept.samples is weights.members_.order:
        return kept if kept.last is None else _settled(question, kept)
    samples, steps = _unfinished.pop(weights, (None, None))
    if steps is None or samples is not weights.members_.order:
        steps = _build(weights.members_, question.inputs, question.space.group, question.settings.grid_step)
    while question.limits.remaining > 0:
        try:
            next(steps)
        except StopIteration as done:
            _kept[weights] = done.value
            return grid_of(question)
    _unfinished[weights] = (weights.members_.order, steps)
    return None


def _build(members: LeafMembers, inputs: InputMap, group: NDArray[np.int64], step: int) -> Building:
    """The grid, in steps of at most about a twentieth of a second, so that a time limit is kept on large forests."""
    trees = members.trees
    counts = np.array([tree.node_count for tree in trees])
    ends = np.cumsum(counts)
    root = (ends - counts).astype(np.int32)
    column, left, right = (np.empty(ends[-1], dtype=np.int32) for _ in range(3))
    threshold = np.empty(ends[-1])
    # Whole trees at a time, as many as have about this many nodes.
    for part in np.split(np.arange(len(trees)), np.flatnonzero(np.diff(ends // step)) + 1):
        some, at = [trees[t] for t in part], slice(root[part[0]], ends[part[-1]])
        up = np.repeat(root[part], counts[part])
        np.concatenate([tree.feature for tree in some], out=column[at], casting="same_kind")
        np.concatenate([tree.threshold for tree in some], out=threshold[at])
        np.concatenate([tree.children_left for tree in some], out=left[at], casting="same_kind")
        np.concatenate([tree.children_right for tree in some], out=right[at], casting="same_kind")
        left[at] += up
        right[at] += up
        yield
    inner = np.flatnonzero(column >= 0)
    leaves = column < 0
    yield
    read = isinstance(trees[0], ArrayTree)
    # Trees of other libraries have their own rule of comparing: their thresholds are the cuts.
    cut = threshold[inner] if read else floor32(threshold[inner])
    yield
    face_start, cuts, face = yield from _faces(column[inner], cut, inputs, group, step)
    split = np.zeros(ends[-1], dtype=np.int32)
    split[inner] = face - face_start[column[inner]]
    yield
    told = np.full(cuts.size, np.nan, dtype=np.float32) if read else cuts.astype(np.float32)
    grid = _core.Grid(face_start, told, column, split, left, right, root)
    while not grid.lay_paths(step):
        yield
    first, size = members.slices()
    yield
    place = np.repeat(np.arange(face_start.size - 1), np.diff(face_start))
    begin, many = first[leaves], size[leaves]
    follow = np.diff(np.append(begin, members.order.size))
    regular = bool(begin[0] == 0 and (follow == many).all())
    thresholds = cuts.astype(np.float64)
    last, after = trees[0].turns(thresholds) if read else single_turns(thresholds)
    below, beyond = (inputs.turns if read else inputs.sides)(place, last, after)
    kept = KeptGrid(
        grid, face_start, told, below, beyond, members.order, begin, many, regular=regular, mass=members.mass
    )
    return replace(kept, threshold=thresholds, last=last) if read else kept


def _faces(
    column: Ints, cut: NDArray[Any], inputs: InputMap, group: NDArray[np.int64], step: int
) -> Generator[None, None, tuple[Ints, NDArray[Any], NDArray[np.int64]]]:
    """Where the faces of every column begin, their cuts, and the face of every split, in steps."""
    d = inputs.coordinate.size
    order = np.argsort(column.astype(np.uint16) if d <= 2**16 else column, kind="stable")
    begin = np.searchsorted(column[order], np.arange(d + 1))
    face = np.empty(cut.size, dtype=np.int64)
    found: list[NDArray[Any]] = []
    face_start = np.zeros(d + 1, dtype=np.int32)
    yield
    for c in range(d):
        own = order[begin[c] : begin[c + 1]]
        cuts = np.unique(cut[own])
        if group[inputs.coordinate[c]] >= 0:
            # A category that no tree asks for still needs its off and on cells: one is always on.
            middle = 0.25 * inputs.scale[c] + inputs.offset[c]
            cuts = np.union1d(cuts, np.array([middle], dtype=cut.dtype))
        for part in np.array_split(own, 1 + own.size // step):
            face[part] = face_start[c] + np.searchsorted(cuts, cut[part])
            yield
        found.append(cuts)
        face_start[c + 1] = face_start[c] + cuts.size
    return face_start, np.concatenate(found), face


def _settled(question: Question, kept: KeptGrid) -> KeptGrid:
    """The grid of trees of another library, as its faces lie for this question (see `settled`)."""
    assert kept.last is not None
    column = np.repeat(np.arange(kept.face_start.size - 1), np.diff(kept.face_start))
    ends = settled(question.space, question.inputs, column, kept.last, kept.below, kept.beyond)
    return kept if ends[0] is kept.below else replace(kept, below=ends[0], beyond=ends[1])


def leaf_means(kept: KeptGrid, values: Floats) -> Floats:
    """Return the mean of `values` over the samples of every leaf, divided by the number of trees."""
    sums = leaf_sums(kept, values if kept.mass is None else values * kept.mass)
    means: Floats = sums / (kept.total * kept.trees)
    return means


def leaf_sums(kept: KeptGrid, values: Floats) -> Floats:
    """Sum of `values`, one or one row per sample, over the samples of every leaf."""
    in_order = values[kept.samples.ravel()]
    if kept.regular:
        return np.add.reduceat(in_order, kept.first, axis=0)
    # Leaves may share samples, and some samples may count in no leaf: every leaf is summed from end to end.
    ends = np.stack([kept.first, kept.first + kept.size], axis=1).ravel()
    padded = np.concatenate([in_order, np.zeros((1, *in_order.shape[1:]))])
    return np.add.reduceat(padded, ends, axis=0)[::2]


def weights_at(kept: KeptGrid, leaves: Ints, samples: int) -> Floats:
    """Weights of this many samples where the trees of the forest have these leaves."""
    size = kept.size[leaves]
    places = np.arange(int(size.sum())) + np.repeat(kept.first[leaves] - np.cumsum(size) + size, size)
    among = kept.samples.ravel()[places]
    if kept.mass is None:
        shares = np.repeat(1.0 / (leaves.size * size), size)
    else:
        shares = shares_of(among, size, kept.mass) / leaves.size
    return np.bincount(among, shares, minlength=samples).astype(np.float64)


def locate(question: Question, kept: KeptGrid) -> _core.Located:
    """The allowed cells of the question with their distances, and the coordinate of each one's nearest point."""
    space, inputs = question.space, question.inputs
    order = inputs.coordinate
    levels = [space.levels[q] for q in order]
    if space.gap is not None:
        for c, q in enumerate(order.tolist()):
            if levels[c] is None and space.gap[0][q] < space.gap[1][q]:
                levels[c] = _around(space, q, kept, c)
    given = [v for v in levels if v is not None]
    limits = (space.start[order], space.lower[order], space.upper[order], space.weight[order])
    return _core.Located(
        kept.grid,
        below=kept.below,
        beyond=kept.beyond,
        limits=np.stack([*limits, inputs.scale, inputs.offset], axis=1),
        group=space.group[order].astype(np.int32),
        discrete=np.array([v is not None for v in levels], dtype=np.bool_),
        level_start=np.concatenate([[0], np.cumsum([0 if v is None else v.size for v in levels])]).astype(np.int64),
        level=np.concatenate(given) if given else np.zeros(0),
    )


def _around(space: Space, q: int, kept: KeptGrid, column: int) -> Floats:
    """Of a coordinate with a gap around its start, the values that may be the nearest allowed one of a cell."""
    own = slice(kept.face_start[column], kept.face_start[column + 1])
    faces = np.concatenate([kept.below[own], kept.beyond[own]])
    return space.among(q, faces)


def few_changes(question: Question) -> _core.FewChanges | None:
    """Which columns of the forest may change together, where the question says so."""
    few = question.space.few
    if few is None:
        return None
    feature = question.space.feature[question.inputs.coordinate].astype(np.int32)
    return _core.FewChanges(feature, few.most, [list(one) for one in few.barred], sorted(few.free))


def alive_leaves(located: _core.Located, kept: KeptGrid, cutoff: float) -> tuple[Ints, Ints]:
    """The leaves of the forest that hold an allowed context nearer than `cutoff`, and the tree of each."""
    box = _core.Box(located)
    leaves = np.sort(box.leaves(cutoff - box.project()[0]))
    leaves = leaves[leaves < kept.leaves]
    tree = np.searchsorted(kept.grid.first_leaf[: kept.trees + 1], leaves, side="right") - 1
    return leaves, tree.astype(np.int32)


#: By how much a number that a row of rules is about may be rounded.
HAIR = 1e-11


def cell_beyond(question: Question, kept: KeptGrid, rows: Relations | None, point: Floats) -> tuple[Floats, Floats]:
    """The part of the cell around `point` that lies beyond it, seen from the start, along what moved.

    Only the grid knows on which side of a threshold a coordinate lies: two numbers of the user's may have the same one.
    """
    inputs, space, face_start = question.inputs, question.space, kept.face_start
    low, high = point.copy(), point.copy()
    tied = set() if rows is None else rows.row_coordinates
    for c in np.flatnonzero((point != space.start)[inputs.coordinate]).tolist():
        q, first, last = inputs.coordinate[c], face_start[c], face_start[c + 1]
        cell = int(kept.cells_of(c, point[q : q + 1], inputs)[0])
        if q in tied:
            # Rounded by more, it might break a row.
            bottom, top = kept.span(c, cell, cell)
            low[q], high[q] = max(bottom, point[q] - HAIR), min(top, point[q] + HAIR)
            continue
        if point[q] > space.start[q] and first + cell < last:
            high[q] = max(point[q], min(kept.below[first + cell], space.upper[q]))
        elif point[q] > space.start[q]:
            high[q] = max(point[q], space.upper[q])
        elif cell > 0:
            low[q] = min(point[q], max(kept.beyond[first + cell - 1], space.lower[q]))
        else:
            low[q] = min(point[q], space.lower[q])
    return low, high
