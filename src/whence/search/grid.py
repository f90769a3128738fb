"""A fitted forest as a grid: cells between thresholds, faces between cells, leaves as bits.

Contexts that fall between the same thresholds have the same weights, so the search walks over cells. What
depends on the forest alone is built once a fitted policy (`ForestGrid`); what depends on the question, the
allowed cells and their distances, is laid over it (`Located`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.explain.question import InputMap, Question
from whence.search import grid_kernels as kernels
from whence.weights import ForestWeights

__all__ = ["ForestGrid", "KeptGrid", "LeafBits", "Located", "grid_of", "leaf_means", "living", "locate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


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
    #: Largest float32 value on the lower side of every face, and the next float32 above it, in forest units.
    cut: NDArray[np.float32]
    above: NDArray[np.float32]
    samples: Ints
    first: NDArray[np.int64]
    size: NDArray[np.int64]
    bits: LeafBits
    past: Ints | None = None


def grid_of(question: Question) -> KeptGrid:
    """The grid of the question's forest, built on first use and kept with the fitted weights."""
    weights = question.weights
    assert isinstance(weights, ForestWeights)
    kept = getattr(weights, "_grid", None)
    if kept is None or kept.samples is not weights.members_.order:
        kept = _build(weights, question.inputs, question.space.group)
        weights._grid = kept
    return kept


def _build(weights: ForestWeights, inputs: InputMap, group: NDArray[np.int64]) -> KeptGrid:
    trees = weights.trees
    counts = np.array([tree.node_count for tree in trees])
    root = (np.cumsum(counts) - counts).astype(np.int32)
    column = np.concatenate([tree.feature for tree in trees]).astype(np.int32)
    threshold = np.concatenate([tree.threshold for tree in trees])
    left = np.concatenate([tree.children_left + r for tree, r in zip(trees, root, strict=True)]).astype(np.int32)
    right = np.concatenate([tree.children_right + r for tree, r in zip(trees, root, strict=True)]).astype(np.int32)
    inner = np.flatnonzero(column >= 0)
    column[column < 0] = -1
    cut = threshold[inner].astype(np.float32)
    over = cut.astype(np.float64) > threshold[inner]
    cut[over] = np.nextafter(cut[over], np.float32(-np.inf))
    # A category that no tree asks for still needs its off and on cells: one is always on.
    d = weights.n_features_in_
    silent = [c for c in range(d) if group[inputs.coordinate[c]] >= 0]
    columns = np.concatenate([column[inner], np.array(silent, dtype=np.int32)])
    middle = np.float32(0.25) * inputs.scale[silent] + inputs.offset[silent]
    values = np.concatenate([cut, middle.astype(np.float32)])
    order = np.lexsort((values, columns))
    fresh = np.ones(order.size, dtype=np.bool_)
    fresh[1:] = (np.diff(columns[order]) != 0) | (np.diff(values[order]) != 0)
    face = np.empty(order.size, dtype=np.int64)
    face[order] = np.cumsum(fresh) - 1
    kept = order[fresh]
    face_start = np.searchsorted(columns[kept], np.arange(d + 1)).astype(np.int32)
    split = np.zeros(column.size, dtype=np.int32)
    split[inner] = (face[: inner.size] - face_start[column[inner]]).astype(np.int32)
    leaves = column < 0
    left[leaves] = np.cumsum(leaves)[leaves] - 1
    per_tree = np.add.reduceat(leaves.astype(np.int32), root)
    leaf_start = np.concatenate([[0], np.cumsum(per_tree)]).astype(np.int32)
    path = kernels.leaf_paths(column, split, left, right, face_start, int(leaf_start[-1]))
    cuts = values[kept]
    grid = ForestGrid(face_start, np.stack([column, split, left, right]), root, path[0], np.stack(path[1:]))
    first, size = weights.members_.slices()
    above = np.nextafter(cuts, np.float32(np.inf))
    return KeptGrid(grid, cuts, above, weights.members_.order, first[leaves], size[leaves], _bits(leaf_start))


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
    group = space.group[order].astype(np.int32)
    distance, value, step, column = kernels.locate(
        kept.grid.face_start,
        kept.cut,
        kept.above,
        np.array([v is not None for v in levels], dtype=np.bool_),
        level_start,
        level,
        space.start[order],
        space.lower[order],
        space.upper[order],
        space.weight[order],
        inputs.scale,
        inputs.offset,
        group,
    )
    return Located(distance, step, np.vstack([column, group])), value


def living(grid: ForestGrid, bits: LeafBits, located: Located) -> LeafBits:
    """`bits` without the leaves that hold no allowed cell."""
    dead = kernels.dead_leaves(grid, located)
    return bits._replace(leaf_at=np.where(dead, np.int32(-1), bits.leaf_at)) if dead.any() else bits
