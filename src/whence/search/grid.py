"""A fitted forest as a grid: cells between thresholds, faces between cells, leaves as bits.

Contexts that fall between the same thresholds have the same weights, so the search walks over cells. What
depends on the forest alone is built once a fitted policy (`ForestGrid`); what depends on the question, the
allowed cells and their distances, is laid over it (`Located`).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from whence.explain.question import InputMap, Question
from whence.search import grid_kernels as kernels
from whence.search.places import GROUP, NODE_COLUMN, NODE_LEFT, NODE_RIGHT, NODE_SPLIT
from whence.weights import ForestWeights
from whence.weights.forest import LeafMembers, turning_points

__all__ = ["ForestGrid", "KeptGrid", "LeafBits", "Located", "grid_of", "leaf_means", "living", "locate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Nodes or thresholds that one step of building a grid deals with.
STEP = 200_000


class ForestGrid(NamedTuple):
    """The forest in cells. Column j has cells ``0..n`` and faces between them; faces of all columns are concatenated.

    Attributes
    ----------
    face_start : ndarray of shape (d + 1,)
        Where the faces of each column begin; cells of column j begin at ``face_start[j] + j``.
    node : ndarray of shape (4, nodes)
        The trees: column, split, left, right. A context goes left where its cell in the column is at most the
        split; the column is -1 in a leaf, and left is then the number of the leaf.
    root : ndarray of shape (trees,)
        Root node of each tree.
    path_start : ndarray of shape (leaves + 1,)
        Where the path of each leaf begins.
    path : ndarray of shape (3, entries)
        Column, first and last cell that a leaf allows in the columns on its path.
    """

    face_start: Ints
    node: Ints
    root: Ints
    path_start: Ints
    path: Ints


class Located(NamedTuple):
    """The cells of a question: which are allowed, and how far they are from the initial context.

    Attributes
    ----------
    distance : ndarray of shape (cells,)
        Weighted distance of each cell from the start, infinite where it is not allowed.
    step : ndarray of shape (2, cells)
        Nearest allowed cell at or above, and at or below, each cell, within its column; -1 where there is none.
    column : ndarray of shape (4, d)
        Cell of the initial context, first and last allowed cell, and group of one-hot columns (-1 for numbers).
    """

    distance: Floats
    step: Ints
    column: Ints


class LeafBits(NamedTuple):
    """A bit for every leaf: 64 a word, the words of a tree together.

    Attributes
    ----------
    tree_word : ndarray of shape (trees + 1,)
        Words of each tree.
    word_leaf : ndarray of shape (64 * words,)
        Leaf of every bit, -1 where there is none.
    leaf_at : ndarray of shape (leaves,)
        Bit of every leaf.
    """

    tree_word: Ints
    word_leaf: Ints
    leaf_at: Ints


@dataclass
class KeptGrid:
    """What is kept with the fitted weights between questions."""

    grid: ForestGrid
    #: Largest float32 value on the lower side of every face, in forest units.
    cut: NDArray[np.float32]
    #: Last coordinate below every face, and the first one beyond it: what rounds to either side.
    below: Floats
    beyond: Floats
    samples: Ints
    first: NDArray[np.int64]
    size: NDArray[np.int64]
    bits: LeafBits
    past: Ints | None = None


Building = Generator[None, None, KeptGrid]

#: Grids that a time limit has interrupted, by the weights that they belong to: the next question goes on with them.
_unfinished: WeakKeyDictionary[ForestWeights, tuple[Ints, Building]] = WeakKeyDictionary()


def grid_of(question: Question) -> KeptGrid | None:
    """The grid of the question's forest, built on first use and kept with the fitted weights.

    None where the question's time limit passes before it is built.
    """
    weights = question.weights
    assert isinstance(weights, ForestWeights)
    kept: KeptGrid | None = getattr(weights, "_grid", None)
    if kept is not None and kept.samples is weights.members_.order:
        return kept
    samples, steps = _unfinished.pop(weights, (None, None))
    if steps is None or samples is not weights.members_.order:
        steps = _build(weights.members_, question.inputs, question.space.group)
    while question.limits.remaining > 0:
        try:
            next(steps)
        except StopIteration as done:
            weights._grid = done.value
            return grid_of(question)
    _unfinished[weights] = (weights.members_.order, steps)
    return None


def _build(members: LeafMembers, inputs: InputMap, group: NDArray[np.int64]) -> Building:
    """The grid, in steps of at most about a twentieth of a second, so that a time limit is kept on large forests."""
    trees = members.trees
    counts = np.array([tree.node_count for tree in trees])
    ends = np.cumsum(counts)
    root = (ends - counts).astype(np.int32)
    node = np.empty((4, ends[-1]), dtype=np.int32)
    threshold = np.empty(ends[-1])
    # Whole trees at a time, as many as have about so many nodes.
    parts = np.split(np.arange(len(trees)), np.flatnonzero(np.diff(ends // STEP)) + 1)
    for part in parts:
        for t in part.tolist():
            at, tree = slice(root[t], ends[t]), trees[t]
            node[NODE_COLUMN, at], threshold[at] = tree.feature, tree.threshold
            node[NODE_LEFT, at], node[NODE_RIGHT, at] = tree.children_left + root[t], tree.children_right + root[t]
        yield
    inner = np.flatnonzero(node[NODE_COLUMN] >= 0)
    leaves = node[NODE_COLUMN] < 0
    node[NODE_COLUMN, leaves] = -1
    node[NODE_LEFT, leaves] = np.arange(int(leaves.sum()))
    yield
    face_start, cuts, face = yield from _faces(node[NODE_COLUMN, inner], threshold[inner], inputs, group)
    node[NODE_SPLIT] = 0
    node[NODE_SPLIT, inner] = face - face_start[node[NODE_COLUMN, inner]]
    yield
    leaf_start = np.concatenate([[0], np.cumsum(np.add.reduceat(leaves.astype(np.int32), root))]).astype(np.int32)
    path_start, path = np.zeros(leaf_start[-1] + 1, dtype=np.int32), np.empty((3, face_start.size), dtype=np.int32)
    parent = np.full(node.shape[1], -1, dtype=np.int32)
    for write in (False, True):
        for part in parts:
            kernels.leaf_paths(node, face_start, parent, root[part[0]], ends[part[-1]], path_start, path, write)
            yield
        if not write:
            path_start = np.cumsum(path_start, dtype=np.int32)
            path = np.empty((3, path_start[-1]), dtype=np.int32)
    grid = ForestGrid(face_start, node, root, path_start, path)
    first, size = members.slices()
    yield
    column = np.repeat(np.arange(face_start.size - 1), np.diff(face_start))
    below, beyond = inputs.sides(column, *turning_points(cuts.astype(np.float64)))
    return KeptGrid(grid, cuts, below, beyond, members.order, first[leaves], size[leaves], _bits(leaf_start))


def _faces(
    column: Ints, threshold: Floats, inputs: InputMap, group: NDArray[np.int64]
) -> Generator[None, None, tuple[Ints, NDArray[np.float32], NDArray[np.int64]]]:
    """Where the faces of every column begin, their cuts, and the face of every threshold, in steps."""
    cut = threshold.astype(np.float32)
    over = cut.astype(np.float64) > threshold
    cut[over] = np.nextafter(cut[over], np.float32(-np.inf))
    yield
    d = inputs.coordinate.size
    order = np.argsort(column.astype(np.uint16) if d <= 2**16 else column, kind="stable")
    begin = np.searchsorted(column[order], np.arange(d + 1))
    face = np.empty(cut.size, dtype=np.int64)
    found: list[NDArray[np.float32]] = []
    face_start = np.zeros(d + 1, dtype=np.int32)
    yield
    for c in range(d):
        own = order[begin[c] : begin[c + 1]]
        cuts = np.unique(cut[own])
        if group[inputs.coordinate[c]] >= 0:
            # A category that no tree asks for still needs its off and on cells: one is always on.
            middle = 0.25 * inputs.scale[c] + inputs.offset[c]
            cuts = np.union1d(cuts, np.array([middle], dtype=np.float32))
        for part in np.array_split(own, 1 + own.size // STEP):
            face[part] = face_start[c] + np.searchsorted(cuts, cut[part])
            yield
        found.append(cuts)
        face_start[c + 1] = face_start[c] + cuts.size
    return face_start, np.concatenate(found), face


def _bits(leaf_start: Ints) -> LeafBits:
    sizes = np.diff(leaf_start)
    tree_word = np.concatenate([[0], np.cumsum(-(-sizes // 64))]).astype(np.int32)
    within = np.arange(leaf_start[-1]) - np.repeat(leaf_start[:-1], sizes)
    leaf_at = (64 * np.repeat(tree_word[:-1], sizes) + within).astype(np.int32)
    word_leaf = np.full(64 * tree_word[-1], -1, dtype=np.int32)
    word_leaf[leaf_at] = np.arange(leaf_at.size)
    return LeafBits(tree_word, word_leaf, leaf_at)


def leaf_means(kept: KeptGrid, values: Floats) -> Floats:
    """Mean of `values` over the samples of every leaf, divided by the number of trees."""
    trees = kept.grid.root.size
    sums = np.add.reduceat(values[kept.samples.ravel()], kept.first)
    means: Floats = sums / (kept.size * trees)
    return means


def locate(question: Question, kept: KeptGrid) -> tuple[Located, Floats]:
    """The allowed cells of the question with their distances, and the coordinate of each one's nearest point."""
    space, inputs = question.space, question.inputs
    order = inputs.coordinate
    levels = [space.levels[q] for q in order]
    level_start = np.concatenate([[0], np.cumsum([0 if v is None else v.size for v in levels])]).astype(np.int32)
    given = [v for v in levels if v is not None]
    level = np.concatenate(given) if given else np.zeros(0)
    cells = kept.cut.size + order.size
    value = np.zeros(cells)
    located = Located(
        distance=np.full(cells, np.inf),
        step=np.full((2, cells), -1, dtype=np.int32),
        column=np.zeros((4, order.size), dtype=np.int32),
    )
    located.column[GROUP] = space.group[order]
    kernels.locate(
        kept.grid.face_start,
        kept.cut,
        kept.below,
        kept.beyond,
        np.array([v is not None for v in levels], dtype=np.bool_),
        level_start,
        level,
        np.stack([space.start[order], space.lower[order], space.upper[order]]),
        np.stack([space.weight[order], inputs.scale, inputs.offset]),
        value=value,
        **located._asdict(),
    )
    return located, value


def living(grid: ForestGrid, bits: LeafBits, located: Located) -> LeafBits:
    """`bits` without the leaves that hold no allowed cell."""
    if np.isfinite(located.distance).all() and (located.column[GROUP] < 0).all():
        return bits
    dead = kernels.dead_leaves(grid, located)
    return bits._replace(leaf_at=np.where(dead, np.int32(-1), bits.leaf_at)) if dead.any() else bits
