"""Random-forest weights: a past observation speaks as often as it shares a leaf with the context."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from whence.aliases import Floats
from whence.errors import InputError, InputTypeError, NotFittedError

__all__ = ["ForestWeights", "LeafMembers", "turning_points"]


#: Weights computed at once in a batch of contexts (rows times samples): what bounds its memory.
BATCH = 2_000_000

#: What may be frozen: estimators whose trees count alike and see all columns.
FITTED = (
    RandomForestRegressor,
    RandomForestClassifier,
    ExtraTreesRegressor,
    ExtraTreesClassifier,
    DecisionTreeRegressor,
    DecisionTreeClassifier,
)


class LeafMembers:
    """Which training samples stand in which leaf of which tree.

    Every tree keeps its samples sorted by leaf, so that the samples of a leaf are one slice: a context
    touches only the samples it shares a leaf with, whatever the size of the history.

    Attributes
    ----------
    order : ndarray of shape (trees, n)
        Samples of each tree, sorted by leaf.
    first, size : list of ndarray, one a tree
        Where the samples of a node begin in the tree's `order`, and how many there are (0 for inner nodes).
    """

    def __init__(self, trees: list[Any], inputs: NDArray[np.float32]) -> None:
        n = inputs.shape[0]
        self.trees = trees
        self.order = np.empty((len(trees), n), dtype=np.int32)
        nodes = np.cumsum([0] + [tree.node_count for tree in trees])
        self._root = nodes[:-1]
        self._size = np.empty(nodes[-1], dtype=np.int64)
        self._first = np.empty(nodes[-1], dtype=np.int64)
        # Views a tree into arrays of all nodes, from which one context is answered without a loop over the trees.
        self.size = np.split(self._size, nodes[1:-1])
        self.first = np.split(self._first, nodes[1:-1])
        for t, tree in enumerate(trees):
            leaves = tree.apply(inputs)
            # Numpy sorts short integers twenty times as fast.
            short = leaves.astype(np.uint16) if tree.node_count <= 2**16 else leaves
            self.order[t] = np.argsort(short, kind="stable")
            self.size[t][:] = np.bincount(leaves, minlength=tree.node_count)
            self.first[t][:] = np.cumsum(self.size[t]) - self.size[t]

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return int(self.order.shape[1])

    def slices(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For the nodes of all trees, one after the other: first place in ``order.ravel()``, and number of samples."""
        tree = np.repeat(np.arange(len(self.trees)), np.diff(np.append(self._root, self._size.size)))
        return self._first + self.n_samples * tree, self._size

    def empty_leaf(self) -> tuple[int, int] | None:
        """Tree and node of a leaf that holds no sample, if there is one."""
        for t, (tree, size) in enumerate(zip(self.trees, self.size, strict=True)):
            empty = np.flatnonzero((tree.children_left < 0) & (size == 0))
            if empty.size:
                return t, int(empty[0])
        return None

    def weights(self, inputs: NDArray[np.float32]) -> Floats:
        """Weights of every sample for each row of `inputs`, of shape (rows, n)."""
        leaves = np.array([tree.apply(inputs) for tree in self.trees])
        return np.array([self._at(column) for column in leaves.T])

    def _at(self, leaves: NDArray[np.int64]) -> Floats:
        """Weights of every sample for a context that falls into these leaves, one a tree."""
        n = self.n_samples
        size = self._size[self._root + leaves]
        first = self._first[self._root + leaves] + n * np.arange(leaves.size)
        skipped = first - (np.cumsum(size) - size)
        places = np.arange(int(size.sum())) + np.repeat(skipped, size)
        shares = np.repeat(1.0 / (leaves.size * size), size)
        return np.asarray(np.bincount(self.order.ravel()[places], shares, minlength=n), dtype=np.float64)


class ForestWeights(BaseEstimator):  # type: ignore[misc]
    """Weights of a random forest on past observations.

    Each tree gives equal weight to the training samples in the context's leaf; the forest averages its
    trees. Every training sample is dropped through every tree, not only those of its bootstrap.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    max_depth : int or None
        Depth limit of the trees.
    max_features : str, int or float
        As in scikit-learn's forests.
    random_state : int, RandomState or None
        Seed of the forest.
    min_samples_leaf : int
        Smallest number of bootstrap samples in a leaf.

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
        max_depth: int | None = 4,
        max_features: str | int | float = "sqrt",
        random_state: int | np.random.RandomState | None = None,
        min_samples_leaf: int = 1,
    ) -> None:
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.max_features = max_features
        self.random_state = random_state
        self.min_samples_leaf = min_samples_leaf

    frozen: Any = None

    @classmethod
    def of(cls, fitted: Any) -> ForestWeights:
        """Weights of a forest, extra-trees or single tree that scikit-learn has already fitted.

        It is frozen: ``fit`` only records which samples stand in which leaf. It sees the user's own
        columns in their own units.
        """
        if not isinstance(fitted, FITTED):
            raise InputTypeError(
                "'fitted' must be a fitted scikit-learn random forest, extra-trees or decision tree. "
                f"Got {type(fitted).__name__} instead."
            )
        try:
            check_is_fitted(fitted)
        except SklearnNotFittedError:
            raise NotFittedError(f"'fitted' must be fitted. Got an unfitted {type(fitted).__name__} instead.") from None
        trees = _trees_of(fitted)
        weights = cls(n_trees=len(trees), max_depth=getattr(fitted, "max_depth", None))
        weights.frozen = fitted
        return weights

    def __sklearn_clone__(self) -> ForestWeights:
        if self.frozen is not None:
            return ForestWeights.of(self.frozen)
        # Copied like scikit-learn's own clone does, so that two clones never share one random state.
        return type(self)(**copy.deepcopy(self.get_params(deep=False)))

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """Train the forest on contexts `X` (coordinates) and outcomes `Y`, or record the samples of a frozen one."""
        inputs = _matrix(X)
        if self.frozen is None:
            self._check_parameters()
            self.forest_ = self._trained(inputs, np.asarray(Y, dtype=np.float64))
        else:
            self.forest_ = self.frozen
            if inputs.shape[1] != self.forest_.n_features_in_:
                raise InputError(
                    f"'X' must have the {self.forest_.n_features_in_} columns that the fitted forest has seen. "
                    f"Got {inputs.shape[1]} instead."
                )
        self.members_ = LeafMembers(_trees_of(self.forest_), inputs)
        empty = self.members_.empty_leaf()
        if empty is not None:
            raise InputError(
                f"Every leaf of the fitted forest must hold at least one row of 'X'. Leaf {empty[1]} of tree "
                f"{empty[0]} holds none, so its weights are undefined: give the rows that the forest was trained on."
            )
        self.inputs_ = inputs
        self.n_samples_ = inputs.shape[0]
        self.n_features_in_ = inputs.shape[1]
        return self

    def _trained(self, inputs: NDArray[np.float32], outcomes: Floats) -> RandomForestRegressor:
        forest = RandomForestRegressor(
            n_estimators=self.n_trees,
            max_depth=self.max_depth,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        )
        try:
            return forest.fit(inputs, outcomes.ravel() if outcomes.ndim == 2 and outcomes.shape[1] == 1 else outcomes)
        except ValueError as error:
            raise InputError(str(error).replace("RandomForestRegressor", "ForestWeights")) from None

    def _check_parameters(self) -> None:
        for name in ("n_trees", "min_samples_leaf", "max_depth"):
            value = getattr(self, name)
            if name == "max_depth" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                wanted = "an int >= 1 or None" if name == "max_depth" else "an int >= 1"
                raise InputError(f"The {name!r} parameter of ForestWeights must be {wanted}. Got {value!r} instead.")

    def weights(self, X: ArrayLike, as_sparse: bool = False) -> Any:
        """Weights of every training sample for each row of `X`.

        Returns
        -------
        ndarray of shape (rows, n), or a CSR matrix where `as_sparse` is True.
        """
        self._check_fitted()
        inputs = _matrix(X, self.n_features_in_)
        step = max(1, BATCH // self.n_samples_)
        parts = [self.members_.weights(inputs[i : i + step]) for i in range(0, len(inputs), step)]
        if as_sparse:
            return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
        return np.concatenate(parts)

    def at(self, row: ArrayLike) -> Floats:
        """Weights for one context."""
        return np.asarray(self.weights(np.asarray(row, dtype=np.float64)[None, :])[0])

    @property
    def trees(self) -> list[Any]:
        """The fitted scikit-learn trees (their ``tree_``)."""
        self._check_fitted()
        return self.members_.trees

    def _check_fitted(self) -> None:
        if not hasattr(self, "members_"):
            raise NotFittedError("This ForestWeights is not fitted yet; call 'fit' before using it.")


def turning_points(thresholds: Floats) -> tuple[Floats, Floats]:
    """The last number that goes to the left of each threshold, and the first one that goes to the right.

    Trees compare the nearest float32 (the even one of a tie), so that a context turns half-way between the last
    float32 that is not above the threshold and the next one.

    Examples
    --------
    >>> last, first = turning_points(np.array([0.5]))
    >>> float(last[0]), bool(np.float32(last[0]) <= 0.5), bool(np.float32(first[0]) <= 0.5)
    (0.5000000298023224, True, False)
    """
    below = thresholds.astype(np.float32)
    over = below.astype(np.float64) > thresholds
    below[over] = np.nextafter(below[over], np.float32(-np.inf))
    above = np.nextafter(below, np.float32(np.inf))
    middle = 0.5 * (below.astype(np.float64) + above.astype(np.float64))
    last = np.where(middle.astype(np.float32) == below, middle, np.nextafter(middle, -np.inf))
    return last, np.nextafter(last, np.inf)


def _trees_of(fitted: Any) -> list[Any]:
    return [fitted.tree_] if hasattr(fitted, "tree_") else [tree.tree_ for tree in fitted.estimators_]


def _matrix(X: ArrayLike, columns: int | None = None) -> NDArray[np.float32]:
    inputs = np.ascontiguousarray(X, dtype=np.float32)
    if inputs.ndim != 2 or (columns is not None and inputs.shape[1] != columns):
        wanted = "2-D" if columns is None else f"of shape (rows, {columns})"
        raise InputError(f"'X' must be {wanted}. Got shape {inputs.shape} instead.")
    if not np.isfinite(inputs).all():
        raise InputError("'X' must be finite. Got NaN or infinity.")
    return inputs
