"""How usual a context is: to nearest neighbours as they are near, to others by an isolation forest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import NearestNeighbors

from whence.util.aliases import Floats
from whence.weights.metrics import short_way, unrolled

if TYPE_CHECKING:
    import pandas as pd

    from whence.features import Schema
    from whence.weights import Weights

#: By how much farther than the radius engines may place a neighbour, so that contexts right on it count, and by how
#: much it may be found to be farther: rounding of a solver.
PLACED, SAME = 1e-9, 1e-8

#: How often a box is halved before none is given.
HALVINGS = 24


@dataclass(frozen=True, eq=False)
class Nearby:
    """Contexts whose k-th nearest past context is at most `radius` away, in the L1 norm of the coordinates.

    Without a radius, they are all contexts, in the order of how usual they are.

    >>> near = Nearby(np.array([[0.0], [0.4], [1.0]]), k=1, radius=0.1)
    >>> near.accepts(np.array([0.5])), near.accepts(np.array([0.6]))
    (True, False)
    >>> usual = Nearby(np.array([[0.0], [0.1], [0.3], [1.0]]), k=1)
    >>> usual.own.round(12).tolist()
    [0.7, 0.2, 0.1, 0.1]
    >>> usual.share(np.array([0.5])), round(usual.at_least(0.5).radius, 12)
    (0.5, 0.2)
    """

    #: Past contexts in coordinates, one per row, more than k of them.
    points: Floats
    #: Number of neighbours.
    k: int
    #: Largest distance of the k-th one.
    radius: float = np.inf
    #: Coordinates that go round, with their period.
    circles: Mapping[int, float] = field(default_factory=dict)

    @property
    def widest(self) -> float:
        """The radius as engines take it, a hair wider."""
        return self.radius + PLACED

    def accepts(self, point: Floats) -> bool:
        """Return whether a context, in coordinates, is near enough to the history."""
        return bool(kth_distance(self.points, self.k, point, self.circles) <= self.radius + SAME)

    def kept(self, point: Floats, box: tuple[Floats, Floats]) -> tuple[Floats, Floats] | None:
        """The part of a box around `point`, with the same neighbours in all of it, in which they are near enough."""
        low, high = box
        points = unrolled(self.points, point, self.circles)
        distance = np.abs(points - point).sum(axis=1)
        members = points[np.argsort(distance, kind="stable")[: self.k]]
        for _ in range(HALVINGS):
            if np.maximum(np.abs(members - low), np.abs(members - high)).sum(axis=1).max() <= self.radius + SAME:
                return low, high
            low, high = (low + point) / 2.0, (high + point) / 2.0
        return None

    @cached_property
    def own(self) -> Floats:
        """Distance of the k-th neighbour of every past context among the others, the largest first."""
        if self.circles:
            own = [kth_distance(self.points, self.k + 1, point, self.circles) for point in self.points]
            return -np.sort(-np.array(own))
        # The nearest of all is the past context itself, or one that is equal to it.
        finder = NearestNeighbors(n_neighbors=self.k + 1, algorithm="kd_tree", metric="manhattan").fit(self.points)
        with parallel_config(backend="sequential"):
            return -np.sort(-finder.kneighbors(self.points)[0][:, self.k])

    def share(self, point: Floats) -> float:
        """Return the share of the history that is not more usual than `point`: whose neighbours are no nearer."""
        return float((self.own >= kth_distance(self.points, self.k, point, self.circles) - SAME).mean())

    def at_least(self, share: float) -> Nearby:
        """Return the contexts that are not less usual than this share of the history."""
        place = max(0, int(np.ceil(share * self.own.size - 1e-9)) - 1)
        return replace(self, radius=float(self.own[place]))


def kth_distance(points: Floats, k: int, point: Floats, circles: Mapping[int, float]) -> float:
    """Return the distance of the k-th nearest past context."""
    return float(np.partition(short_way(points - point, circles).sum(axis=1), k - 1)[k - 1])


#: Trees of the isolation forest; scikit-learn's own number.
TREES = 100
#: By how much a score may miss the least one: rounding in the score's own exponential.
SCORE_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Isolation:
    """Contexts whose score under an isolation forest is at least `score`.

    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> usual = Isolation.of(points)
    >>> usual.share(np.zeros(2)) > 0.7, usual.share(np.full(2, 9.0)) < 0.02
    (True, True)
    """

    #: Fitted on coordinates.
    forest: IsolationForest
    #: Least ``forest.score_samples`` of a context that is usual enough, in (-1, 0); -1 for all contexts.
    score: float = -1.0
    #: The scores of the past contexts, ascending.
    past: Floats = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, points: Floats) -> Isolation:
        """Return all contexts, by a forest on past ones, one per row of `points` in coordinates."""
        forest = IsolationForest(n_estimators=TREES, random_state=0).fit(points)
        return cls(forest, past=np.sort(forest.score_samples(points)))

    @cached_property
    def _trees(self) -> list[tuple[Any, Floats]]:
        """Every tree, with the path lengths of its nodes."""
        return [(tree.tree_, path_lengths(tree.tree_)) for tree in self.forest.estimators_]

    @cached_property
    def _usual_length(self) -> float:
        """Mean path length of a context that is neither usual nor unusual, by which scores are measured."""
        return float(mean_path(np.array([self.forest.max_samples_]))[0])

    @property
    def least_depth(self) -> float:
        """Mean path length, over the trees, from which on a context is usual enough."""
        return -float(np.log2(-(self.score - SCORE_SLACK))) * self._usual_length

    def accepts(self, point: Floats) -> bool:
        """Return whether a context, in coordinates, is usual enough by the forest's own score."""
        return bool(self.forest.score_samples(point[None, :])[0] >= self.score - 2 * SCORE_SLACK)

    def short_by(self) -> Floats:
        """For the leaves of all trees: by how much each path falls short of that, divided by the number of trees."""
        lengths = [lengths[tree.children_left < 0] for tree, lengths in self._trees]
        return (self.least_depth - np.concatenate(lengths)) / len(lengths)

    def share(self, point: Floats) -> float:
        """Return the share of the history that is not more usual than `point`."""
        # scikit-learn takes ten times as long for a single context.
        row = point[None, :].astype(np.float32)
        length = np.mean([lengths[tree.apply(row)[0]] for tree, lengths in self._trees])
        return float((self.past <= SCORE_SLACK - 2.0 ** (-length / self._usual_length)).mean())

    def at_least(self, share: float) -> Isolation:
        """Return the contexts that are not less usual than this share of the history."""
        place = max(0, int(np.ceil(share * self.past.size)) - 1)
        return replace(self, score=float(self.past[place]))


def path_lengths(tree: Any) -> Floats:
    """Path length of every node: its depth, and what an unfinished leaf would still have needed on average."""
    depth = np.zeros(tree.node_count)
    inner = np.flatnonzero(tree.children_left >= 0)
    for node in inner.tolist():  # children stand behind their parent
        depth[tree.children_left[node]] = depth[tree.children_right[node]] = depth[node] + 1.0
    return depth + mean_path(tree.n_node_samples)


def mean_path(samples: NDArray[np.int64]) -> Floats:
    """Mean depth of an unsuccessful search in a random binary tree of that many samples (Liu et al., 2008)."""
    n = np.asarray(samples, dtype=np.float64)
    many = np.maximum(n, 3.0)
    value = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(n > 2, value, np.where(n == 2, 1.0, 0.0))


def usual_in(weights: Weights, schema: Schema, history: pd.DataFrame) -> Isolation | Nearby:
    """The usual contexts of a history, found out once for all questions to the weights that were fitted to it."""
    found = _KNOWN.get(weights)
    if found is None:
        points = schema.encode(history)
        found = _KNOWN[weights] = weights.usual_measure(points) or Isolation.of(points)
    return found


_KNOWN: WeakKeyDictionary[Any, Isolation | Nearby] = WeakKeyDictionary()
