"""The isolation-forest constraint: the nearest explanation among the inliers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from tests import oracle
from tests.asking import varied
from tests.blocks import count, seeds
from tests.forests import paper_forest
from tests.milp.asked import answered, asked, forests, neighbours

import whence as wh
from whence.errors import InputError, InputTypeError
from whence.milp import Plausibility
from whence.question import Question
from whence.weights import KNNWeights


def isolation(points: np.ndarray, seed: int, share: float = 1.0) -> IsolationForest:
    """A small isolation forest."""
    return IsolationForest(n_estimators=5, max_samples=min(8, len(points)), max_features=share, random_state=seed).fit(
        points
    )


def inliers_only(question: Question, plausibility: Plausibility) -> float:
    """Nearest explanation among the inliers, over the common cells of both forests."""
    both = [*question.weights.trees, *(tree.tree_ for tree in plausibility.forest.estimators_)]
    with_both = varied(question, weights=_WithTrees(question.weights, both))
    points = oracle.cells(with_both)
    points = points[plausibility.forest.score_samples(points) >= plausibility.score - 1e-9]
    distances = np.abs(points - question.space.start) @ question.space.weight
    weights = question.weights.weights(points)
    for i in np.argsort(distances, kind="stable"):
        better = question.claim.kind == "absolute" and question.claim.better(weights[i]) is not None
        if question.claim.is_satisfied(weights[i]) and not better:
            return float(distances[i])
    return np.inf


class _WithTrees:
    """Fitted weights as the oracle sees them, with further trees whose thresholds matter."""

    def __init__(self, weights: object, trees: list[object]) -> None:
        self.trees = trees


def test_least_depth_is_the_threshold_of_scikit_learn() -> None:
    """Mean path lengths above the bound are exactly those of contexts that the forest predicts to be inliers."""
    rng = np.random.default_rng(0)
    forest = isolation(rng.normal(size=(60, 2)), 1)
    plausibility = Plausibility(forest, -0.52)
    points = 2.0 * rng.normal(size=(200, 2))
    scores = forest.score_samples(points)
    expected = scores >= -0.52
    assert expected.any()
    assert not expected.all()
    assert [plausibility.accepts(p) for p in points] == expected.tolist()


def test_forest_explanations_are_the_nearest_inliers() -> None:
    """Enumeration over the cells of both forests finds the same distance."""
    changed = 0
    for case in forests(range(160), samples=14):
        question = asked(case)
        if question.weights.frozen is not None or question.space.start.size > 3:
            continue
        forest = isolation(case.policy.schema_.encode(case.policy.X_), case.seed)
        plausibility = Plausibility(forest, float(np.quantile(forest.score_samples(oracle.cells(question)), 0.85)))
        expected = inliers_only(question, plausibility)
        answer = answered(question, plausibility=plausibility)
        assert answer.distance == expected or abs(answer.distance - expected) < 1e-6
        changed += expected != answered(question).distance
    assert changed > 5


def test_neighbour_explanations_are_inliers() -> None:
    """The constraint holds for neighbours too, brings no explanation nearer, and costs nothing when idle."""
    changed = 0
    for case in neighbours(range(count(40, 100))):
        question = asked(case)
        assert isinstance(question.weights, KNNWeights)
        forest = isolation(question.weights.points_, case.seed, share=0.7)
        strict = Plausibility(forest, float(np.quantile(forest.score_samples(question.weights.points_), 0.5)))
        idle = Plausibility(forest, -0.999)
        free = answered(question)
        bound = answered(question, plausibility=strict)
        same = answered(question, plausibility=idle)
        assert same.distance == free.distance or abs(same.distance - free.distance) < 1e-6
        assert bound.distance >= free.distance - 1e-7
        if bound.point is not None:
            assert forest.score_samples(bound.point[None, :])[0] >= strict.score - 1e-9
        changed += bound.distance > free.distance + 1e-6
    assert changed > 0


def test_what_is_no_isolation_forest_is_refused() -> None:
    """Other objects, forests over other columns and scores out of range: one sentence each."""
    question = asked(next(forests(range(1))))
    points = np.random.default_rng(0).normal(size=(20, question.space.start.size + 1))
    with pytest.raises(InputTypeError, match=r"fitted IsolationForest\. Got str instead"):
        answered(question, plausibility="inliers")
    with pytest.raises(InputTypeError, match="fitted IsolationForest"):
        Plausibility(IsolationForest())
    with pytest.raises(InputError, match="coordinates of a context"):
        answered(question, plausibility=isolation(points, 0))
    with pytest.raises(InputError, match="'score' parameter of Plausibility"):
        Plausibility(isolation(points, 0), 0.5)


@pytest.mark.parametrize("seed", seeds(3, 4))
def test_rounding_to_few_digits_does_not_make_an_outlier(seed: int) -> None:
    """The context returned, in the user's units, is one that the isolation forest accepts: next to its splits too."""
    rng = np.random.default_rng(seed)
    # Programs about neighbours grow quickly: few past contexts, so that they are solved.
    knn = seed % 3 == 0
    n = 14 if knn else 60
    X = np.round(rng.uniform(0.0, 10.0, (n, 2)), 1)
    weights = wh.KNNWeights(k=3) if knn else paper_forest(n_trees=10, max_depth=3, random_state=seed)
    policy = wh.Policy(wh.Newsvendor(1.0, 3.0), weights).fit(X, 5.0 + X[:, :1] + rng.random((n, 1)))
    forest = IsolationForest(n_estimators=10, random_state=seed).fit(policy.schema_.encode(X))
    plan = policy.decide(X[int(np.argmax(X[:, 0]))])
    start = X[int(np.argmin(X[:, 0]))]
    why = policy.explain(start, instead=plan, engine="milp", plausibility=forest, time_limit=60.0)
    assert why.status in ("optimal", "none")
    if why.status == "optimal":
        assert forest.predict(policy.schema_.encode(why.context.to_frame().T))[0] == 1
