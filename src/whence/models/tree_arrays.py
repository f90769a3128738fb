"""Fitted ensembles of any library, and their trees as arrays: read once, in the columns that the searches see.

A library's tree may split a category by a set, and sends a missing value to a side of its own. The searches know trees
that compare numbers, so `laid` resolves both: a category has a 0/1 column per level, and a column that is missing in a
context asks nothing. Branches that no context reaches are left out on the way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import check_is_fitted

from whence.errors import InputError, NotFittedError
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from whence.weights.base import SeenColumn

#: Half of the distance between 1 and the next number, by whether that is a float32.
ROUNDING = {True: 6e-8, False: 1.2e-16}
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

    def sums(self, leaves: NDArray[np.int64]) -> Floats:
        """Return what the trees add up to, one after the other, by the leaf of every row in every tree of the model."""
        total = np.full(len(leaves), self.offset)
        for t, values in zip(self.trees, self.values, strict=True):
            total += values[leaves[:, t]]
        return total

    def precision(self, single: bool) -> float:
        """Return by how much that may be off in another order, where the model adds up float32 or float64."""
        largest = [float(np.abs(values).max()) for values in self.values]
        return ROUNDING[single] * (len(largest) + 2) * (abs(self.offset) + sum(largest))


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
            return with_names(X, self.names)
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


def with_names(rows: Floats, names: Sequence[str] | None) -> Any:
    """Return rows as a model that has seen columns of these names takes them."""
    return rows if names is None else pd.DataFrame(rows, columns=list(names))


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


Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: The largest number, by whether float32 are compared: splits beyond it set missing values apart from all numbers.
LARGEST = {True: float(np.finfo(np.float32).max), False: float(np.finfo(np.float64).max)}
#: Nodes that a tree may have once its splits on categories are taken apart.
MOST_NODES = 1_000_000


@dataclass(frozen=True, eq=False)
class RawTree:
    """A tree as a library holds it, node 0 the root."""

    #: The column that a node asks for, -1 in a leaf.
    feature: Ints
    #: A number goes to the left where it is at most this, compared as the library does.
    threshold: Floats
    #: Children, -1 in a leaf.
    left: Ints
    right: Ints
    #: Whether a missing value goes to the left.
    missing_left: Bools
    #: What a leaf adds to the forecast.
    value: Floats
    #: For nodes that split a category: the codes that go to the left.
    sets: Mapping[int, frozenset[int]] = field(default_factory=dict)
    #: For such nodes: whether a category that the library does not know goes to the left; `missing_left` by default.
    unknown_left: Bools | None = None

    @property
    def leaves(self) -> Ints:
        """The leaves from left to right, so that those of a branch stand side by side."""
        found, todo = [], [0]
        while todo:
            node = todo.pop()
            if self.feature[node] < 0:
                found.append(node)
            else:
                todo += [int(self.right[node]), int(self.left[node])]
        return np.array(found, dtype=np.int64)

    def apply(self, X: Floats) -> Ints:
        """Leaf of every row, by these arrays; NaN is missing, a category is its code, and one that is negative unknown.

        Numbers are compared as they are given.
        """
        at = np.zeros(len(X), dtype=np.int64)
        rows = np.flatnonzero(self.feature[at] >= 0)
        unknown = self.missing_left if self.unknown_left is None else self.unknown_left
        while rows.size:
            node = at[rows]
            seen = X[rows, self.feature[node]]
            left = np.where(np.isnan(seen), self.missing_left[node], seen <= self.threshold[node])
            for k in np.flatnonzero(np.isin(node, list(self.sets))) if self.sets else ():
                code = seen[k]
                if not np.isnan(code):
                    left[k] = unknown[node[k]] if code < 0 else int(code) in self.sets[int(node[k])]
            at[rows] = np.where(left, self.left[node], self.right[node])
            rows = rows[self.feature[at[rows]] >= 0]
        return at

    def side(self, node: int, code: int | None) -> bool:
        """Whether a category, by its code (None where the library does not know it), goes to the left of a node."""
        if code is not None:
            return code in self.sets[node]
        unknown = self.missing_left if self.unknown_left is None else self.unknown_left
        return bool(unknown[node])


@dataclass(frozen=True, eq=False)
class ArrayTree:
    """A tree in the columns that the searches see (see :class:`whence.weights.trees.Tree`).

    `leaf` is the node of the library's tree that a leaf stands for; a split on a category may need several leaves for
    one of them. `single` says whether numbers are compared as float32.
    """

    feature: Ints
    threshold: Floats
    children_left: Ints
    children_right: Ints
    leaf: Ints
    single: bool

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.feature.size)

    def apply(self, X: NDArray[Any]) -> Ints:
        """Return the leaf of every row."""
        seen = self._seen(X)
        at = np.zeros(len(seen), dtype=np.int64)
        rows = np.flatnonzero(self.feature[at] >= 0)
        while rows.size:
            node = at[rows]
            left = seen[rows, self.feature[node]] <= self.threshold[node]
            at[rows] = np.where(left, self.children_left[node], self.children_right[node])
            rows = rows[self.feature[at[rows]] >= 0]
        return at

    def _seen(self, X: NDArray[Any]) -> Floats:
        seen = np.asarray(X, dtype=np.float32) if self.single else np.asarray(X)
        return seen.astype(np.float64)

    def turns(self, thresholds: Floats) -> tuple[Floats, Floats]:
        """Return the last number to the left of each threshold, and the first one to the right."""
        return single_turns(thresholds) if self.single else double_turns(thresholds)


def double_turns(thresholds: Floats) -> tuple[Floats, Floats]:
    """Return the last number before each threshold and the first beyond it, compared as float64."""
    return thresholds, np.nextafter(thresholds, np.inf)


def floor32(thresholds: Floats) -> NDArray[np.float32]:
    """Return the largest float32 not above each threshold: as scikit-learn compares, ``float32(x) <= threshold``."""
    below = thresholds.astype(np.float32)
    over = below.astype(np.float64) > thresholds
    below[over] = np.nextafter(below[over], np.float32(-np.inf))
    return below


def single_turns(thresholds: Floats) -> tuple[Floats, Floats]:
    """Return the last number before each threshold and the first beyond it, compared as the nearest float32.

    Of a tie the even one is nearest, so that a context turns half-way to the next float32.

    >>> last, first = single_turns(np.array([0.5]))
    >>> float(last[0]), bool(np.float32(last[0]) <= 0.5), bool(np.float32(first[0]) <= 0.5)
    (0.5000000298023224, True, False)
    """
    below = floor32(thresholds)
    above = np.nextafter(below, np.float32(np.inf))
    middle = 0.5 * (below.astype(np.float64) + above.astype(np.float64))
    last = np.where(middle.astype(np.float32) == below, middle, np.nextafter(middle, -np.inf))
    return last, np.nextafter(last, np.inf)


@dataclass(frozen=True)
class Place:
    """Where a column of a library stands among those that the searches see.

    A category has a 0/1 column per level, from `at` on; `codes` are the library's, None for a level it does not know.
    """

    at: int
    codes: tuple[int | None, ...] | None = None


def laid(raw: RawTree, places: Sequence[Place], single: bool, missing: frozenset[int] = frozenset()) -> ArrayTree:
    """A tree of a library in the columns that the searches see, for contexts in which some columns are missing."""
    made = _Laying(raw, places, missing, single)
    made.run()
    arrays = (np.array(column) for column in (made.feature, made.threshold, made.left, made.right, made.leaf))
    feature, threshold, left, right, leaf = arrays
    return ArrayTree(feature, threshold.astype(np.float64), left, right, leaf, single)


#: What is known on the way to a node: for a column the interval of numbers, or the levels of a category that are left.
_Known = dict[int, Any]


class _Laying:
    """One pass over a tree, parents before their children."""

    def __init__(self, raw: RawTree, places: Sequence[Place], missing: frozenset[int], single: bool) -> None:
        self.raw, self.places, self.missing, self.largest = raw, places, missing, LARGEST[single]
        # Thresholds between two neighbouring float32 are one and the same: no number lies between them.
        self.turn = floor32(raw.threshold) if single else raw.threshold
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.leaf: list[int] = []
        #: Nodes to come: node of the library, what is known there, parent, and whether it is the left child.
        self.todo: list[tuple[int, _Known, int, bool]] = []

    def run(self) -> None:
        self.todo = [(0, {}, -1, True)]
        while self.todo:
            node, known, parent, is_left = self.todo.pop()
            node, known, splits = self._next(node, known)
            at = self._add(parent, is_left)
            if not splits:
                self.leaf[at] = node
                continue
            column, threshold, left, right = splits
            self.feature[at], self.threshold[at] = column, threshold
            self.todo.append((*right, at, False))
            self.todo.append((*left, at, True))

    def _add(self, parent: int, is_left: bool) -> int:
        at = len(self.feature)
        if at >= MOST_NODES:
            raise InputError(
                f"The trees must have fewer than {MOST_NODES:,} nodes once their splits on categories are taken apart. "
                "Got more; give the categories as 0/1 columns.",
                parameter="fitted",
            )
        for array, value in zip(
            (self.feature, self.threshold, self.left, self.right, self.leaf), (-1, -2.0, -1, -1, -1), strict=True
        ):
            array.append(value)  # type: ignore[attr-defined]
        if parent >= 0:
            (self.left if is_left else self.right)[parent] = at
        return at

    def _next(self, node: int, known: _Known) -> tuple[int, _Known, tuple[Any, ...]]:
        """Return the next node that really asks something, with what it asks and what both sides then know."""
        raw = self.raw
        while raw.feature[node] >= 0:
            column = int(raw.feature[node])
            left, right = int(raw.left[node]), int(raw.right[node])
            if column in self.missing:
                node = left if raw.missing_left[node] else right
                continue
            place = self.places[column]
            if place.codes is not None:
                levels = known.get(column, tuple(range(len(place.codes))))
                sides = [raw.side(node, place.codes[level]) for level in levels]
                if all(sides) or not any(sides):
                    node = left if sides[0] else right
                    continue
                return node, known, self._asked(node, known, column, place, levels, sides)
            low, high = known.get(column, (-self.largest, self.largest))
            threshold = float(self.turn[node])
            if threshold >= high or threshold <= low:
                node = left if threshold >= high else right
                continue
            splits = (left, {**known, column: (low, threshold)}), (right, {**known, column: (threshold, high)})
            return node, known, (place.at, threshold, *splits)
        return node, known, ()

    def _asked(
        self, node: int, known: _Known, column: int, place: Place, levels: Sequence[int], sides: Sequence[bool]
    ) -> tuple[Any, ...]:
        """One level of the smaller side at a time: whether the category is that one, or else the same node again."""
        fewer = sum(sides) * 2 <= len(sides)
        level = next(level for level, side in zip(levels, sides, strict=True) if side == fewer)
        on = int(self.raw.left[node] if fewer else self.raw.right[node]), {**known, column: (level,)}
        off = node, {**known, column: tuple(other for other in levels if other != level)}
        return place.at + level, 0.5, off, on


@dataclass(frozen=True)
class Layout:
    """The place of every column of a model; a category has a 0/1 column per level."""

    places: tuple[Place, ...]

    @classmethod
    def plain(cls, columns: int) -> Layout:
        """Return the model's columns themselves."""
        return cls(tuple(Place(j) for j in range(columns)))

    @classmethod
    def of(cls, read: FittedTrees, columns: Sequence[SeenColumn]) -> Layout:
        """The layout of a model for these columns of the user's table, which have to be what the model has seen."""
        check_width(read.n_features, len(columns), f"{read.kind} model")
        places = []
        for j, column in enumerate(columns):
            levels = read.categories.get(j)
            if levels is None and column.categories is None:
                places.append(Place(column.coordinate))
            elif levels is None or column.categories is None:
                known = "a category" if levels is not None else "a number"
                raise InputError(
                    f"The column {column.name!r} must be {known}, as the fitted {read.kind} model has seen it; "
                    "declare it so in the schema.",
                    parameter="X",
                )
            else:
                places.append(Place(column.coordinate, read.codes(j, column.categories)))
        return cls(tuple(places))

    def trees(self, read: FittedTrees, missing: frozenset[int] = frozenset()) -> list[ArrayTree]:
        """Return the model's trees in this layout, for contexts in which some of its columns are missing."""
        return [laid(tree, self.places, read.single, missing) for tree in read.trees]

    def model_rows(self, X: NDArray[Any]) -> Floats:
        """What the model is shown: its own columns, a category by its code (-1 for one that it does not know)."""
        columns = []
        for place in self.places:
            if place.codes is None:
                columns.append(np.asarray(X[:, place.at], dtype=np.float64))
                continue
            codes = np.array([-1.0 if code is None else float(code) for code in place.codes])
            on = X[:, place.at : place.at + codes.size]
            columns.append(np.where(on.any(axis=1), codes[np.argmax(on, axis=1)], -1.0))
        return np.column_stack(columns)


def check_width(seen: int, columns: int, who: str) -> None:
    """Refuse another number of columns than a fitted model has seen."""
    if columns != seen:
        raise InputError(f"'X' must have the {seen} columns that the fitted {who} has seen. Got {columns} instead.")


def check_order(seen: Sequence[str] | None, names: Sequence[str], who: str) -> None:
    """Refuse columns in another order than a fitted model has seen them: it would mistake one for another."""
    if seen is not None and list(seen) != list(names):
        raise InputError(
            f"'X' must have the columns that the fitted {who} seen, in their order: "
            f"{', '.join(map(repr, seen))}. Got {', '.join(map(repr, names))} instead."
        )
