"""Further trees on the grid of a forest: those of an isolation forest, and those of rules between features."""

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
from whence.question import Question
from whence.search.forest.grid import KeptGrid
from whence.search.forest.linear_rows import staircases
from whence.util.aliases import Floats
from whence.weights import InputMap, TreeWeights
from whence.weights.plausibility import Isolation
from whence.weights.trees import turning_points

__all__ = ["Family", "isolated", "isolation_family", "joined", "related", "relation_family"]


Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Family:
    """The nodes of some trees, one tree after the other, numbered on, and how they compare coordinates.

    Attributes
    ----------
    column : ndarray of int32
        Column of the grid that each node splits; negative in a leaf.
    threshold : ndarray
        What the node compares with.
    left, right, root : ndarray of int32
        Children of each node, and the first node of each tree.
    rounded : bool
        Whether coordinates are rounded to float32 first.
    """

    column: Ints
    threshold: Floats
    left: Ints
    right: Ints
    root: Ints
    rounded: bool

    def keys(self, thresholds: Floats) -> Floats:
        """Thresholds as the trees compare with them: the same for those that split alike."""
        return rounded_down(thresholds).astype(np.float64) if self.rounded else thresholds

    def sides(self, keys: Floats) -> tuple[Floats, Floats]:
        """The last coordinate left of each threshold, and the first to its right."""
        return turning_points(keys) if self.rounded else (keys, np.nextafter(keys, np.inf))


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
            splits[0][at] = found.of_old[np.searchsorted(cuts, rounded_down(own.threshold[at]))]
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
        grid,
        face_start,
        cut,
        below,
        beyond,
        kept.samples,
        kept.first,
        kept.size,
        regular=kept.regular,
        mass=kept.mass,
    )


def rounded_down(thresholds: Floats) -> NDArray[np.float32]:
    """The largest float32 that is not above each threshold."""
    cut = thresholds.astype(np.float32)
    over = cut.astype(np.float64) > thresholds
    cut[over] = np.nextafter(cut[over], np.float32(-np.inf))
    return cut


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


#: The last grid with the trees of an isolation forest, by the forest.
_joined: WeakKeyDictionary[IsolationForest, tuple[KeptGrid, KeptGrid]] = WeakKeyDictionary()
#: The last grid with the trees of rules, by the rules, and the isolation forest that it was made with.
_related: WeakKeyDictionary[Relations, tuple[KeptGrid, IsolationForest | None, KeptGrid]] = WeakKeyDictionary()

#: What a relation that is broken adds: far more than any isolation forest makes up for.
BROKEN = 100.0


def isolated(
    question: Question, kept: KeptGrid, isolation: Isolation
) -> tuple[KeptGrid | None, _core.Plausibility | None]:
    """The grid with the isolation trees after the forest's own, and what their leaves say.

    Both are None where the question's time limit passes before the grid is built.
    """
    before, found = _joined.get(isolation.forest, (None, None))
    if before is not kept:
        found = joined(question, kept, [_family_of(question, isolation)])
        if found is not None:
            _joined[isolation.forest] = (kept, found)
    if found is None:
        return None, None
    return found, _core.Plausibility(found.grid, kept.trees, isolation.short_by())


def related(
    question: Question, kept: KeptGrid, rules: Relations, isolation: Isolation | None
) -> tuple[KeptGrid | None, _core.Plausibility | None]:
    """The grid with the trees of rules after all others, and what leaves say: broken ones never are.

    Both are None where the question's time limit passes before the grid is built.
    """
    forest = None if isolation is None else isolation.forest
    trees = rules.trees + staircases(rules)
    before, with_forest, found = _related.get(rules, (None, None, None))
    if before is not kept or with_forest is not forest:
        families = [] if isolation is None else [_family_of(question, isolation)]
        found = joined(question, kept, [*families, relation_family(trees, question.inputs)])
        if found is not None:
            _related[rules] = (kept, forest, found)
    if found is None:
        return None, None
    says = [] if isolation is None else [isolation.short_by()]
    says += [np.where(tree.broken, BROKEN, 0.0)[tree.coordinate < 0] for tree in trees]
    return found, _core.Plausibility(found.grid, kept.trees, np.concatenate(says))


def _family_of(question: Question, isolation: Isolation) -> Family:
    forest = isolation.forest
    return isolation_family([tree.tree_ for tree in forest.estimators_], forest.estimators_features_, question.inputs)
