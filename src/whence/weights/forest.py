"""Random-forest weights: a past observation speaks as often as it shares a leaf with the context."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_regressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.ensemble._forest import ForestClassifier, ForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from whence.checks import FLAG, JOBS, whole
from whence.errors import InputError, InputTypeError
from whence.models.tree_arrays import check_fitted, check_order, check_width, names_known_to
from whence.util.aliases import Floats
from whence.weights.base import Capabilities, Weights, as_mass, as_matrix
from whence.weights.trees import OF_TREES, TreeWeights

#: What may be frozen as it is: estimators of scikit-learn's own trees, all of which see all columns. Random forests,
#: extra-trees and the quantile forests of another package derive from the first two.
FORESTS = (ForestRegressor, ForestClassifier, GradientBoostingRegressor, GradientBoostingClassifier)
FITTED = (*FORESTS, DecisionTreeRegressor, DecisionTreeClassifier)


@cache
def _capabilities(frozen: bool, missing: bool) -> Capabilities:
    """Return what a forest can do; an explanation asks for it a dozen times."""
    return replace(OF_TREES, can_refit=not frozen, takes_sample_weight=True, sees_units=frozen, knows_missing=missing)


class ForestWeights(TreeWeights):
    """Weights of a random forest on past observations.

    Each tree gives equal weight to the training samples in the context's leaf, or weight in proportion to their
    ``sample_weight``; the forest averages its trees. Every training sample is dropped through every tree, not only
    those of its bootstrap.

    The defaults are what decided best on average over six data sets. Those of the paper are ``max_depth=4``,
    ``max_features="sqrt"`` and ``min_samples_leaf=1``; a depth of 4 to 6 is also quicker to explain.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    max_depth : int or None
        Depth limit of the trees; none by default.
    max_features : str, int or float
        Features to look at for a split, as in scikit-learn's forests; a float is their share.
    random_state : int, RandomState or None
        Seed of the forest.
    min_samples_leaf : int
        Smallest number of bootstrap samples in a leaf.
    missing : bool
        Whether numbers of a context may be missing (NaN): every split then sends them to a side of its own.
    n_jobs : int, optional
        Threads that grow trees, as in scikit-learn; the forest is the same whatever their number.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> w = ForestWeights(n_trees=10, random_state=0).fit(X, X).weights([[0.5]])
    >>> w.shape, round(float(w.sum()), 12)
    ((1, 20), 1.0)
    """

    def __init__(
        self,
        n_trees: int = 100,
        max_depth: int | None = None,
        max_features: str | int | float = 0.5,
        random_state: int | np.random.RandomState | None = None,
        min_samples_leaf: int = 5,
        missing: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.max_features = max_features
        self.random_state = random_state
        self.min_samples_leaf = min_samples_leaf
        self.missing = missing
        self.n_jobs = n_jobs

    kind: ClassVar[str] = "forest"
    label: ClassVar[str] = "forest"

    #: The estimator that was given fitted (see `of`).
    frozen: Any = None

    @property
    def capabilities(self) -> Capabilities:
        """Return what the forest can do: one that was given fitted sees the user's own columns and stays as it is."""
        return _capabilities(self.frozen is not None, self._takes_missing())

    def _takes_missing(self) -> bool:
        """Return whether that was asked for, or a forest that was given fitted takes NaN."""
        if self.frozen is not None:
            return bool(get_tags(self.frozen).input_tags.allow_nan)
        return bool(FLAG.check("missing", self.missing, "ForestWeights"))

    def _as_read(self) -> TreeWeights:
        from whence.models import read
        from whence.models.fitted_forest import ReadForestWeights

        found = read(self.forest_)
        assert found is not None
        return ReadForestWeights.view(self.forest_, found, self)

    def check_columns(self, names: Sequence[str]) -> None:
        check_order(names_known_to(self.frozen), names, "forest has")

    @classmethod
    def of(cls, fitted: Any, counted: ArrayLike | None = None) -> ForestWeights:
        """Return weights of a tree ensemble that is already fitted.

        It is frozen: ``fit`` only records which samples stand in which leaf. It sees the user's own
        columns in their own units. Every tree counts alike, whatever it adds to a forecast.

        Parameters
        ----------
        fitted : estimator
            A random forest, extra-trees, decision tree, GradientBoosting or HistGradientBoosting of scikit-learn, a
            quantile forest of the package quantile-forest (all samples of a leaf count), a model of XGBoost, LightGBM
            or CatBoost, or a forest of econml (the samples that each of its trees was not grown on count).
        counted : array of bool of shape (trees, n), optional
            Which past observations count in which tree. In an honest forest, those that the tree was not grown on.
            A leaf without any of them has those of the smallest branch around it that holds some.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.ensemble import GradientBoostingRegressor
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> boosted = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, X.ravel() ** 2)
        >>> ForestWeights.of(boosted).fit(X, X).weights([[0.5]]).sum().round(12)
        np.float64(1.0)
        """
        if isinstance(fitted, FITTED) and counted is None:
            check_fitted(fitted)
            made = cls(n_trees=len(_trees_of(fitted)), max_depth=getattr(fitted, "max_depth", None))
            made.frozen = fitted
            return made
        from whence.models import read
        from whence.models.fitted_forest import ReadForestWeights

        found = read(fitted)
        if found is None or not found.trees:
            raise InputTypeError(
                "'fitted' must be a fitted scikit-learn random forest, extra-trees or decision tree, a gradient "
                "boosting model of scikit-learn, XGBoost, LightGBM or CatBoost, a quantile forest, or a forest of "
                f"econml. Got {type(fitted).__name__} instead."
            )
        some = None if counted is None else np.asarray(counted, dtype=np.bool_)
        return ReadForestWeights.made(fitted, found, some)

    def __sklearn_clone__(self) -> ForestWeights:
        if self.frozen is not None:
            return ForestWeights.of(self.frozen)
        # Copied like scikit-learn's own clone does, so that two clones never share one random state.
        return type(self)(**copy.deepcopy(self.get_params(deep=False)))

    def fit(self, X: ArrayLike, Y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the forest on contexts `X` (coordinates) and outcomes `Y`, or record the samples of a frozen one.

        With a `sample_weight`, the trees are grown with it, as scikit-learn does, and the samples of a leaf share its
        weight in proportion to it. A frozen forest stays as it was grown.
        """
        inputs = as_matrix(X, self.dtype, missing=self._takes_missing())
        if self.frozen is None:
            self._check_parameters()
            mass = as_mass(sample_weight, len(inputs))
            self.forest_ = self._trained(inputs, np.asarray(Y, dtype=np.float64), mass)
        else:
            self.forest_ = self.frozen
            check_width(self.forest_.n_features_in_, inputs.shape[1], "forest")
        return self.record(_trees_of(self.forest_), inputs, sample_weight)

    def _trained(self, inputs: NDArray[np.float32], outcomes: Floats, mass: Floats | None) -> RandomForestRegressor:
        forest = RandomForestRegressor(
            n_estimators=self.n_trees,
            max_depth=self.max_depth,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        try:
            return forest.fit(
                inputs, outcomes.ravel() if outcomes.ndim == 2 and outcomes.shape[1] == 1 else outcomes, mass
            )
        except (ValueError, OverflowError) as error:
            raise InputError(str(error).replace("RandomForestRegressor", "ForestWeights")) from None

    def _check_parameters(self) -> None:
        whole(1).check_all("ForestWeights", self, "n_trees", "min_samples_leaf")
        whole(1).or_none().check_all("ForestWeights", self, "max_depth")
        JOBS.or_none(", or None").check_all("ForestWeights", self, "n_jobs")

    def describe(self) -> str:
        depth = "of any depth" if self.max_depth is None else f"of depth up to {self.max_depth}"
        return f"a forest of {len(self.trees)} trees {depth}"

    def for_outcomes(self, X: Floats, Y: Floats, seed: int) -> Weights:
        """Return an unfitted forest like this one; of one that was given fitted, as its library would fit it."""
        if self.frozen is not None and self.takes_outcomes(Y.shape[1]):
            return ForestWeights.of(fitted_again(self.frozen, X, Y, seed))
        return super().for_outcomes(X, Y, seed)

    def takes_outcomes(self, columns: int) -> bool:
        """Return whether a forest like this one can be; one that was given fitted, where it predicts as many."""
        return super().takes_outcomes(columns) or (self.frozen is not None and predicts(self.frozen, columns))

    def for_trial(self) -> Self:
        trial: Self = clone(self)
        trial.n_trees = 1
        return trial


def predicts(fitted: Any, columns: int) -> bool:
    """Return whether a user's model is a regressor of this many columns, which its library can fit again."""
    return hasattr(fitted, "get_params") and is_regressor(fitted) and getattr(fitted, "n_outputs_", 1) == columns


def fitted_again(fitted: Any, X: Floats, Y: Floats, seed: int) -> Any:
    """Return a user's model as it would be with other outcomes.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [1.0, 2.0])
    >>> float(fitted_again(tree, np.array([[0.0], [1.0]]), np.array([[3.0], [4.0]]), 0).predict([[1.0]])[0])
    4.0
    """
    fresh = clone(fitted)
    if "random_state" in fresh.get_params(deep=False):
        fresh.set_params(random_state=seed)
    return fresh.fit(X, Y.ravel() if Y.shape[1] == 1 else Y)


def _trees_of(fitted: Any) -> list[Any]:
    return [fitted.tree_] if hasattr(fitted, "tree_") else [tree.tree_ for tree in np.ravel(fitted.estimators_)]
