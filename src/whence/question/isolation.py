"""Contexts that look like past ones: those that an isolation forest needs many random splits to set apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from whence.aliases import Floats

__all__ = ["Isolation", "path_lengths"]

#: By how much a score may miss the least one: rounding in the score's own exponential.
SCORE_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Isolation:
    """Contexts whose score under an isolation forest is at least `score`.

    Attributes
    ----------
    forest : IsolationForest
        Fitted on coordinates.
    score : float
        Least ``forest.score_samples`` of a plausible context, in (-1, 0).
    """

    forest: IsolationForest
    score: float

    @property
    def least_depth(self) -> float:
        """Mean path length, over the trees, from which on a context is plausible."""
        return -float(np.log2(-(self.score - SCORE_SLACK))) * self.usual_length

    @property
    def usual_length(self) -> float:
        """Mean path length of a context that is neither usual nor unusual, by which scores are measured."""
        return float(_mean_path(np.array([self.forest.max_samples_]))[0])

    def accepts(self, point: Floats) -> bool:
        """Whether a context, in coordinates, is usual enough by the forest's own score."""
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
    lengths: Floats = depth + _mean_path(tree.n_node_samples)
    return lengths


def _mean_path(samples: NDArray[np.int64]) -> Floats:
    """Mean depth of an unsuccessful search in a random binary tree of that many samples (Liu et al., 2008)."""
    n = np.asarray(samples, dtype=np.float64)
    many = np.maximum(n, 3.0)
    value = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(n > 2, value, np.where(n == 2, 1.0, 0.0))
