"""What is read from a fitted ensemble of any library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import check_is_fitted

from whence.errors import NotFittedError
from whence.models.tree_arrays import RawTree
from whence.util.aliases import Floats

__all__ = ["FittedTrees", "Forecast", "Link", "check_fitted", "names_known_to", "nested", "raw_tree", "unfitted"]

#: What a model makes of the sum over its trees: itself, its exponential, or a probability.
Link = Literal["identity", "log", "logit"]


@dataclass(frozen=True, eq=False)
class Forecast:
    """One number that a model forecasts as a sum over its trees: an offset and a value of every leaf."""

    #: The trees that count, by their number.
    trees: list[int]
    #: For each of them, the value of every node (only those of leaves are of use).
    values: list[Floats]
    #: What is added.
    offset: float
    #: The forecast is the sum, its exponential, or the probability whose log-odds it is.
    link: Link = "identity"


class FittedTrees(ABC):
    """The trees of a fitted model, and how the model itself uses them."""

    #: Whether it compares numbers as float32.
    single: ClassVar[bool] = True
    #: Whether a number may be missing.
    takes_missing: ClassVar[bool] = True
    #: What it is, in a few words.
    kind: ClassVar[str] = "trees"

    #: The fitted model.
    model: Any
    #: Its trees.
    trees: list[RawTree]
    #: Columns that it has seen.
    n_features: int
    #: Their names, where it knows them.
    names: list[str] | None = None
    #: For columns that it takes for categories: their values, in the order of its codes.
    categories: dict[int, list[Hashable]]

    @classmethod
    @abstractmethod
    def of(cls, fitted: Any) -> Self | None:
        """Return what is read of a model; None where it is none of this library's that has trees."""

    @abstractmethod
    def leaves(self, X: Floats) -> NDArray[np.int64]:
        """Return the leaf, as a node of `trees`, of every row in every tree: by the model itself where it tells them.

        Categories are codes; NaN is missing and a negative code unknown.
        """

    def counted(self, leaves: NDArray[np.int64], mass: Floats | None = None) -> NDArray[np.bool_] | None:
        """Return which past observations count in which tree, of shape (trees, n), where the model says so by itself.

        `leaves` are those of the past observations, and `mass` what each of them counts for, where they do not count
        alike. None where all of them count in every tree.
        """
        return None

    def codes(self, column: int, levels: Sequence[Hashable]) -> tuple[int | None, ...]:
        """Return the codes of categories of a column; None for one that the model does not know."""
        known = {level: code for code, level in enumerate(self.categories[column])}
        return tuple(known.get(level) for level in levels)

    @property
    def has_second_class(self) -> bool:
        """Whether one of two classes may be left unnamed: the second one is meant, as where there is one score."""
        return False

    def labels(self) -> list[Any]:
        """What a model with several scores calls them: its classes; empty where there is one number to forecast."""
        return []

    @abstractmethod
    def forecast(self, label: Any = None) -> Forecast:
        """Return the number that the model forecasts, or the score of one of its classes, as a sum over its trees."""

    @abstractmethod
    def predicted(self, X: Floats, label: Any = None) -> Floats:
        """Return that number for every row by the model itself."""

    def _place(self, label: Any) -> int:
        """Return which output is meant by a label; the first one by none."""
        return 0 if label is None else self.labels().index(label)

    def _sum(self, own: list[int], label: Any, offset: float, link: Link, share: float = 1.0) -> Forecast:
        """Return the sum over some of the trees; the score of a class is that sum itself."""
        return Forecast(own, [share * self.trees[t].value for t in own], offset, link if label is None else "identity")

    def table(self, X: Floats) -> Any:
        """Return rows as the model takes them: an array, or a table where it knows names or categories."""
        if not self.categories:
            return X if self.names is None else pd.DataFrame(X, columns=self.names)
        columns: dict[str, Any] = {}
        for j in range(self.n_features):
            name = f"x{j}" if self.names is None else self.names[j]
            columns[name] = X[:, j]
            if j in self.categories:
                codes = np.where(np.isnan(X[:, j]), -1, X[:, j]).astype(np.int64)
                columns[name] = pd.Categorical.from_codes(codes, categories=pd.Index(self.categories[j]))
        return pd.DataFrame(columns)


def unfitted(fitted: Any) -> NotFittedError:
    """Return the error for a model that was given unfitted."""
    return NotFittedError(f"'fitted' must be fitted. Got an unfitted {type(fitted).__name__} instead.")


def check_fitted(fitted: Any) -> None:
    """Refuse a model of scikit-learn's kind that is not fitted."""
    try:
        check_is_fitted(fitted)
    except SklearnNotFittedError:
        raise unfitted(fitted) from None


def names_known_to(model: Any) -> list[str] | None:
    """Return the names of the columns that a model of scikit-learn's kind has seen, where it knows them."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def raw_tree(tree: Any, values: Any = None) -> RawTree:
    """Return a tree that is laid out as scikit-learn's, and the first of the values of its nodes."""
    leaf = tree.children_left < 0
    missing = getattr(tree, "missing_go_to_left", None)
    return RawTree(
        np.where(leaf, -1, tree.feature).astype(np.int64),
        np.asarray(tree.threshold, dtype=np.float64),
        np.asarray(tree.children_left, dtype=np.int64),
        np.asarray(tree.children_right, dtype=np.int64),
        np.zeros(leaf.size, dtype=np.bool_) if missing is None else np.asarray(missing).astype(np.bool_),
        np.zeros(leaf.size) if values is None else np.asarray(values, dtype=np.float64)[:, 0, 0],
    )


def nested(root: Any, children: Any, split: Any) -> tuple[RawTree, list[Any]]:
    """Return a tree that a library gives as objects within objects, and its leaves in the order in which they were met.

    `children` gives the left and the right object of an inner one, None for a leaf; `split` the value of a leaf, and of
    an inner one feature, threshold, whether missing values go left, and the codes that go left (None for numbers).
    """
    feature: list[int] = []
    threshold: list[float] = []
    links: list[list[int]] = [[], []]
    missing: list[bool] = []
    value: list[float] = []
    sets: dict[int, frozenset[int]] = {}
    leaves: list[Any] = []
    todo: list[tuple[Any, int, int]] = [(root, -1, 0)]
    while todo:
        item, parent, side = todo.pop()
        at = len(feature)
        if parent >= 0:
            links[side][parent] = at
        both = children(item)
        for link in links:
            link.append(-1)
        if both is None:
            feature.append(-1)
            threshold.append(-2.0)
            missing.append(False)
            value.append(float(split(item)))
            leaves.append((at, item))
            continue
        column, cut, to_left, codes = split(item)
        feature.append(int(column))
        threshold.append(float(cut))
        missing.append(bool(to_left))
        value.append(0.0)
        if codes is not None:
            sets[at] = frozenset(codes)
        todo += [(both[1], at, 1), (both[0], at, 0)]
    tree = RawTree(
        np.array(feature, dtype=np.int64),
        np.array(threshold, dtype=np.float64),
        np.array(links[0], dtype=np.int64),
        np.array(links[1], dtype=np.int64),
        np.array(missing, dtype=np.bool_),
        np.array(value, dtype=np.float64),
        sets,
    )
    return tree, leaves
