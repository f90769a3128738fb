"""How usual a context is to nearest neighbours: as usual as they are near."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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

    >>> near = Nearby(np.array([[0.0], [0.4], [1.0]]), k=1, radius=0.1)
    >>> near.accepts(np.array([0.5])), near.accepts(np.array([0.6]))
    (True, False)
    """

    #: Past contexts in coordinates, one per row.
    points: Floats
    #: Number of neighbours.
    k: int
    #: Largest distance of the k-th one.
    radius: float
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


class UsuallyNear:
    """The past contexts in the order of how usual they are: by the distance of their k-th neighbour among the others.

    `points` are past contexts in coordinates, one per row, more than k of them.

    >>> usual = UsuallyNear(np.array([[0.0], [0.1], [0.3], [1.0]]), k=1)
    >>> usual.own.round(12).tolist()
    [0.7, 0.2, 0.1, 0.1]
    >>> usual.share(np.array([0.5])), round(usual.at_least(0.5).radius, 12)
    (0.5, 0.2)
    """

    def __init__(self, points: Floats, k: int, circles: Mapping[int, float] | None = None) -> None:
        self.points, self.k, self.circles = points, k, dict(circles or {})
        if self.circles:
            own = [kth_distance(points, k + 1, point, self.circles) for point in points]
            self.own: Floats = -np.sort(-np.array(own))
            return
        # The nearest of all is the past context itself, or one that is equal to it.
        finder = NearestNeighbors(n_neighbors=k + 1, algorithm="kd_tree", metric="manhattan").fit(points)
        with parallel_config(backend="sequential"):
            self.own = -np.sort(-finder.kneighbors(points)[0][:, k])

    def share(self, point: Floats) -> float:
        """Return the share of the history that is not more usual than `point`: whose neighbours are no nearer."""
        return float((self.own >= kth_distance(self.points, self.k, point, self.circles) - SAME).mean())

    def at_least(self, share: float) -> Nearby:
        """Return the contexts that are not less usual than this share of the history."""
        place = max(0, int(np.ceil(share * self.own.size - 1e-9)) - 1)
        return Nearby(self.points, self.k, float(self.own[place]), self.circles)


def kth_distance(points: Floats, k: int, point: Floats, circles: Mapping[int, float]) -> float:
    """Return the distance of the k-th nearest past context."""
    return float(np.partition(short_way(points - point, circles).sum(axis=1), k - 1)[k - 1])


#: By how much a score may miss the least one: rounding in the score's own exponential.
SCORE_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Isolation:
    """Contexts whose score under an isolation forest is at least `score`."""

    #: Fitted on coordinates.
    forest: IsolationForest
    #: Least ``forest.score_samples`` of a context that is usual enough, in (-1, 0).
    score: float

    @property
    def least_depth(self) -> float:
        """Mean path length, over the trees, from which on a context is usual enough."""
        return -float(np.log2(-(self.score - SCORE_SLACK))) * self.usual_length

    @property
    def usual_length(self) -> float:
        """Mean path length of a context that is neither usual nor unusual, by which scores are measured."""
        return float(_mean_path(np.array([self.forest.max_samples_]))[0])

    def accepts(self, point: Floats) -> bool:
        """Return whether a context, in coordinates, is usual enough by the forest's own score."""
        return bool(self.forest.score_samples(point[None, :])[0] >= self.score - 2 * SCORE_SLACK)

    def short_by(self) -> Floats:
        """For the leaves of all trees: by how much each path falls short of that, divided by the number of trees."""
        trees = [tree.tree_ for tree in self.forest.estimators_]
        lengths = [path_lengths(tree)[tree.children_left < 0] for tree in trees]
        return (self.least_depth - np.concatenate(lengths)) / len(trees)


def path_lengths(tree: Any) -> Floats:
    """Path length of every node: its depth, and what an unfinished leaf would still have needed on average."""
    depth = np.zeros(tree.node_count)
    inner = np.flatnonzero(tree.children_left >= 0)
    for node in inner.tolist():  # children stand behind their parent
        depth[tree.children_left[node]] = depth[tree.children_right[node]] = depth[node] + 1.0
    return depth + _mean_path(tree.n_node_samples)


def _mean_path(samples: NDArray[np.int64]) -> Floats:
    """Mean depth of an unsuccessful search in a random binary tree of that many samples (Liu et al., 2008)."""
    n = np.asarray(samples, dtype=np.float64)
    many = np.maximum(n, 3.0)
    value = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(n > 2, value, np.where(n == 2, 1.0, 0.0))


#: Trees of the isolation forest; scikit-learn's own number.
TREES = 100
#: By how much scores of one context may differ: rounding in an exponential.
SAME_SCORE = 1e-9


class Usual:
    """The past contexts, one per row of `points` in coordinates, in the order of how usual they are.

    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> usual = Usual(points)
    >>> usual.share(np.zeros(2)) > 0.7, usual.share(np.full(2, 9.0)) < 0.02
    (True, True)
    """

    def __init__(self, points: Floats) -> None:
        self.forest = IsolationForest(n_estimators=TREES, random_state=0).fit(points)
        self.scores: Floats = np.sort(self.forest.score_samples(points))
        # scikit-learn takes ten times as long for a single context.
        isolation = Isolation(self.forest, -0.5)
        self._trees = [tree.tree_ for tree in self.forest.estimators_]
        self._lengths = [path_lengths(tree) for tree in self._trees]
        self._usual_length = isolation.usual_length

    def share(self, point: Floats) -> float:
        """Return the share of the history that is not more usual than `point`."""
        row = point[None, :].astype(np.float32)
        length = np.mean(
            [lengths[tree.apply(row)[0]] for tree, lengths in zip(self._trees, self._lengths, strict=True)]
        )
        score = -(2.0 ** (-length / self._usual_length))
        return float((self.scores <= score + SAME_SCORE).mean())

    def at_least(self, share: float) -> Isolation:
        """Return the contexts that are not less usual than this share of the history."""
        place = max(0, int(np.ceil(share * self.scores.size)) - 1)
        return Isolation(self.forest, float(self.scores[place]))


def usual_in(weights: Weights, schema: Schema, history: pd.DataFrame) -> Usual | UsuallyNear:
    """The usual contexts of a history, found out once for all questions to the weights that were fitted to it."""
    found = _KNOWN.get(weights)
    if found is None:
        points = schema.encode(history)
        found = _KNOWN[weights] = weights.usual_measure(points) or Usual(points)
    return found


_KNOWN: WeakKeyDictionary[Any, Usual | UsuallyNear] = WeakKeyDictionary()
