"""The search as an engine: which one answers, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from tests.asking import varied
from tests.cases import cases

from whence.errors import InputTypeError
from whence.search.search_engine import Search
from whence.weights import Weights


class Alike(Weights):
    """Every observation counts the same everywhere: weights that no search is made for."""

    def fit(self, X, Y=None):  # type: ignore[no-untyped-def]
        """Count the rows."""
        self.n_samples_, self.n_features_in_ = np.shape(X)
        return self

    def rows(self, X):  # type: ignore[no-untyped-def]
        """Equal shares."""
        return np.full((len(X), self.n_samples_), 1.0 / self.n_samples_)


def test_the_weights_choose_the_search() -> None:
    """Questions about forests and about neighbours are both answered, each under its own name."""
    for weights, label in (("forest", "search (forest)"), ("knn", "search (nearest neighbours)")):
        question = cases(3, 1, weights=weights)[0].question()
        assert Search().label(question.weights, {}) == label
        Search().check(question)
        assert Search().answer(question).status in ("optimal", "none")


def test_other_weights_are_refused() -> None:
    """The sentence names the weights that came and those that the engine knows."""
    question = varied(cases(0, 1)[0].question(), weights=Alike().fit(np.zeros((3, 1))))
    with pytest.raises(InputTypeError, match=r"'weights' must be TreeWeights, KNNWeights, .*, or derive .* Got Alike"):
        Search().check(question)
