"""Plausible contexts: the trees of an isolation forest as further trees of the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from whence import _core
from whence.aliases import Floats
from whence.question import InputMap, Isolation, Question
from whence.search.grid import STEP, KeptGrid
from whence.weights import TreeWeights
from whence.weights.trees import turning_points

__all__ = ["isolated"]

Ints = NDArray[np.int32]

#: The last grid with the trees of an isolation forest, by the forest.
_joined: WeakKeyDictionary[IsolationForest, tuple[KeptGrid, KeptGrid]] = WeakKeyDictionary()


def isolated(
    question: Question, kept: KeptGrid, isolation: Isolation
) -> tuple[KeptGrid | None, _core.Plausibility | None]:
    """The grid with the isolation trees after the forest's own, and what their leaves say.

    Both are None where the question's time limit passes before the grid is built.
    """
    before, joined = _joined.get(isolation.forest, (None, None))
    if before is not kept:
        joined = _join(question, kept, isolation.forest)
        if joined is not None:
            _joined[isolation.forest] = (kept, joined)
    if joined is None:
        return None, None
    return joined, _core.Plausibility(joined.grid, kept.trees, isolation.short_by())


def _join(question: Question, kept: KeptGrid, forest: IsolationForest) -> KeptGrid | None:
    weights, inputs = cast(TreeWeights, question.weights), question.inputs
    column_of = np.empty(inputs.coordinate.size, dtype=np.int64)
    column_of[inputs.coordinate] = np.arange(inputs.coordinate.size)
    own = _nodes(list(weights.members_.trees), None)
    other = _nodes(
        [tree.tree_ for tree in forest.estimators_],
        [column_of[np.asarray(features)] for features in forest.estimators_features_],
    )
    faces = [_merged(kept, inputs, c, other.threshold[other.column == c]) for c in range(column_of.size)]
    face_start = np.concatenate([[0], np.cumsum([len(f.cut) for f in faces])]).astype(np.int32)
    for nodes, place in ((own, "old"), (other, "new")):
        for c, found in enumerate(faces):
            at = nodes.column == c
            cut = _rounded_down(nodes.threshold[at])
            first, last = kept.face_start[c], kept.face_start[c + 1]
            if place == "old" and kept.threshold is not None:
                nodes.split[at] = found.of_old[np.searchsorted(kept.threshold[first:last], nodes.threshold[at])]
            elif place == "old":
                nodes.split[at] = found.of_old[np.searchsorted(kept.cut[first:last], cut)]
            else:
                nodes.split[at] = found.of_new[np.searchsorted(found.new, cut)]
    shift = own.column.size
    grid = _core.Grid(
        face_start,
        np.concatenate([f.cut for f in faces]),
        np.concatenate([own.column, other.column]),
        np.concatenate([own.split, other.split]),
        np.concatenate([own.left, other.left + np.int32(shift)]),
        np.concatenate([own.right, other.right + np.int32(shift)]),
        np.concatenate([own.root, other.root + np.int32(shift)]),
    )
    while not grid.lay_paths(STEP):
        if question.limits.remaining <= 0:
            return None
    below = np.concatenate([f.below for f in faces])
    beyond = np.concatenate([f.beyond for f in faces])
    cut = np.concatenate([f.cut for f in faces])
    return KeptGrid(grid, face_start, cut, below, beyond, kept.samples, kept.first, kept.size, regular=kept.regular)


@dataclass(frozen=True)
class _Nodes:
    """The nodes of some trees, one tree after the other, numbered on."""

    column: Ints
    threshold: Floats
    split: Ints
    left: Ints
    right: Ints
    root: Ints


def _nodes(trees: list[Any], columns: list[NDArray[np.int64]] | None) -> _Nodes:
    """Columns of the grid by feature of each tree, where they are not the same."""
    counts = np.array([tree.node_count for tree in trees])
    root = np.cumsum(counts) - counts
    column = []
    for t, tree in enumerate(trees):
        feature = np.asarray(tree.feature)
        column.append(
            feature if columns is None else np.where(feature >= 0, columns[t][np.maximum(feature, 0)], feature)
        )
    return _Nodes(
        np.concatenate(column).astype(np.int32),
        np.concatenate([tree.threshold for tree in trees]),
        np.zeros(int(counts.sum()), dtype=np.int32),
        np.concatenate([tree.children_left + r for tree, r in zip(trees, root, strict=True)]).astype(np.int32),
        np.concatenate([tree.children_right + r for tree, r in zip(trees, root, strict=True)]).astype(np.int32),
        root.astype(np.int32),
    )


@dataclass(frozen=True)
class _Faces:
    """The faces of a column with those of the isolation trees: `new` are theirs, and where old and new ones are now."""

    cut: NDArray[np.float32]
    below: Floats
    beyond: Floats
    new: NDArray[np.float32]
    of_old: NDArray[np.int64]
    of_new: NDArray[np.int64]


def _merged(kept: KeptGrid, inputs: InputMap, column: int, thresholds: Floats) -> _Faces:
    """Isolation trees see coordinates; where the forest does not, their faces are told by coordinates alone."""
    own = slice(kept.face_start[column], kept.face_start[column + 1])
    cut, below, beyond = kept.cut[own], kept.below[own], kept.beyond[own]
    new = np.unique(_rounded_down(thresholds))
    last, first = turning_points(new.astype(np.float64))
    # A new face that separates the same coordinates as an old one is the old one.
    near = np.searchsorted(beyond, last, side="right")
    same = np.zeros(new.size, dtype=bool)
    inside = near < below.size
    same[inside] = last[inside] >= below[near[inside]]
    plain = inputs.scale[column] == 1.0 and inputs.offset[column] == 0.0
    fresh = new[~same] if plain else np.full(int((~same).sum()), np.nan, dtype=np.float32)
    order = np.argsort(np.concatenate([below, last[~same]]), kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    of_new = np.empty(new.size, dtype=np.int64)
    of_new[~same] = place[below.size :]
    of_new[same] = place[near[same]]
    return _Faces(
        np.concatenate([cut, fresh])[order],
        np.concatenate([below, last[~same]])[order],
        np.concatenate([beyond, first[~same]])[order],
        new,
        place[: below.size],
        of_new,
    )


def _rounded_down(thresholds: Floats) -> NDArray[np.float32]:
    """The largest float32 that is not above each threshold."""
    cut = thresholds.astype(np.float32)
    over = cut.astype(np.float64) > thresholds
    cut[over] = np.nextafter(cut[over], np.float32(-np.inf))
    return cut
