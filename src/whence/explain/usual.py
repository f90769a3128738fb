"""How usual a context is: how many past contexts are at least as unusual.

Weights may have a measure of their own; where they have none, an isolation forest of the history is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.ensemble import IsolationForest

from whence.aliases import Floats
from whence.question.isolation import Isolation, path_lengths
from whence.weights.nearby import UsuallyNear

if TYPE_CHECKING:
    import pandas as pd

    from whence.features import Schema
    from whence.weights import Weights

__all__ = ["Usual", "usual_in"]

#: Trees of the isolation forest; scikit-learn's own number.
TREES = 100
#: By how much scores of one context may differ: rounding in an exponential.
SAME = 1e-9


class Usual:
    """The past contexts in the order of how usual they are.

    Parameters
    ----------
    points : ndarray
        Past contexts in coordinates, one per row.

    Examples
    --------
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
        """The share of the history that is not more usual than `point`."""
        row = point[None, :].astype(np.float32)
        length = np.mean(
            [lengths[tree.apply(row)[0]] for tree, lengths in zip(self._trees, self._lengths, strict=True)]
        )
        score = -(2.0 ** (-length / self._usual_length))
        return float((self.scores <= score + SAME).mean())

    def at_least(self, share: float) -> Isolation:
        """The contexts that are not less usual than this share of the history."""
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
