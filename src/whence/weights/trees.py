"""Weights of trees: a past observation speaks as often as it shares a leaf with the context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from whence.errors import InputError
from whence.models.tree_arrays import ArrayTree, single_turns
from whence.util.aliases import Floats
from whence.weights.base import Box, Capabilities, InputMap, Weights, as_mass, as_matrix, distinct

#: Samples of leaves that are held at once, at most, for the weights of several contexts.
TOGETHER = 1 << 14


class Tree(Protocol):
    """A binary tree as scikit-learn lays it out (``tree_``): arrays over its nodes, node 0 the root.

    A context goes to the left child where ``float32(x[feature]) <= threshold``. Leaves have no children (-1).
    """

    node_count: int
    children_left: NDArray[np.int64]
    children_right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Floats

    def apply(self, X: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the leaf of every row."""


class LeafMembers:
    """Which training samples stand in which leaf of which tree.

    Every tree keeps its samples sorted by leaf (`order`), so that the samples of a leaf are one slice, given for every
    node by `first` and `size`: a context touches only the samples it shares a leaf with.

    The samples of a leaf share its weight alike, or in proportion to their `mass`. `counted`, of shape (trees, n), says
    which samples count in which tree: those that it was not grown on, for an honest forest.
    """

    #: What each sample counts for; None where all count alike.
    mass: Floats | None = None

    def __init__(
        self,
        trees: list[Any],
        inputs: NDArray[np.float32],
        counted: NDArray[np.bool_] | None = None,
        mass: Floats | None = None,
    ) -> None:
        n = inputs.shape[0]
        self.trees = trees
        self.order = np.empty((len(trees), n), dtype=np.int32)
        nodes = np.cumsum([0] + [tree.node_count for tree in trees])
        self._root = nodes[:-1]
        self._size = np.empty(nodes[-1], dtype=np.int64)
        self._first = np.empty(nodes[-1], dtype=np.int64)
        # Views per tree into arrays of all nodes, from which one context is answered without a loop over the trees.
        self.size = np.split(self._size, nodes[1:-1])
        self.first = np.split(self._first, nodes[1:-1])
        for t, tree in enumerate(trees):
            leaves = tree.apply(inputs)
            if counted is not None:
                # What does not count comes last, where no leaf begins.
                leaves = np.where(counted[t], leaves, tree.node_count)
            # Numpy sorts short integers twenty times as fast.
            short = leaves.astype(np.uint16) if tree.node_count < 2**16 else leaves
            self.order[t] = np.argsort(short, kind="stable")
            self.size[t][:] = np.bincount(leaves, minlength=tree.node_count)[: tree.node_count]
            self.first[t][:] = np.cumsum(self.size[t]) - self.size[t]
        self.mass = mass

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return int(self.order.shape[1])

    def leaf_of(self) -> NDArray[np.int64]:
        """Return the leaf of every sample in every tree, of shape (trees, n); -1 where it does not count."""
        leaf = np.full(self.order.shape, -1, dtype=np.int64)
        for t, size in enumerate(self.size):
            # Those that do not count come last.
            leaf[t, self.order[t, : size.sum()]] = np.repeat(np.arange(size.size), size)
        return leaf

    def slices(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For the nodes of all trees, one after the other: first place in ``order.ravel()``, and number of samples."""
        first = [own + self.n_samples * t for t, own in enumerate(self.first)]
        return np.concatenate(first), np.concatenate(self.size)

    def weights(self, inputs: NDArray[np.float32]) -> Floats:
        """Return weights of every sample for each row of `inputs`, of shape (rows, n)."""
        if len(inputs) == 1:
            return self.at_leaves(self.leaves_of(inputs[0])[None, :])
        return self.at_leaves(np.array([tree.apply(inputs) for tree in self.trees]).T)

    def leaves_of(self, row: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the leaf of one context in every tree, by the trees themselves."""
        # A context that was found is asked for its weights, for those of every tree, and for both once more.
        asked, leaves = _LAST.get(self, (None, None))
        if leaves is None or asked != row.tobytes():
            seen = row[None, :]
            leaves = np.array([tree.apply(seen)[0] for tree in self.trees])
            _LAST[self] = row.tobytes(), leaves
        return leaves

    def at_leaves(self, leaves: NDArray[np.int64]) -> Floats:
        """Return weights of every sample for contexts that fall into these leaves, one row of a leaf per tree each."""
        found = np.empty((len(leaves), self.n_samples))
        # Some contexts at a time: what they share a leaf with is held for all of them at once.
        step = max(1, TOGETHER // self.order.size)
        for first in range(0, len(leaves), step):
            found[first : first + step] = self._at_leaves(leaves[first : first + step])
        return found

    def _at_leaves(self, leaves: NDArray[np.int64]) -> Floats:
        """Return the same for as many contexts as fit together."""
        rows, trees = leaves.shape
        samples, size = self._standing_in(leaves)
        if self.mass is None:
            shares = np.repeat(1.0 / (trees * size), size)
        else:
            shares = shares_of(samples, size, self.mass) / trees
        row = np.repeat(np.arange(rows), size.reshape(rows, trees).sum(axis=1))
        flat = np.bincount(row * self.n_samples + samples, shares, minlength=rows * self.n_samples)
        return np.asarray(flat.reshape(rows, -1), dtype=np.float64)

    def sparse_at(self, leaves: NDArray[np.int64]) -> sparse.csr_array:
        """Return what :meth:`at_leaves` gives, but for rounding, for contexts that have most leaves in common."""
        nodes = leaves + self._root
        asked = np.zeros(self._size.size, dtype=np.bool_)
        asked[nodes] = True
        some = np.flatnonzero(asked)
        tree = np.searchsorted(self._root, some, side="right") - 1
        samples, size = self._standing_in(some - self._root[tree], tree)
        ends = np.concatenate(([0], np.cumsum(size)))
        shares = shares_of(samples, size, self.mass), samples, ends
        falls = np.full(nodes.size, 1.0 / len(self.trees)), (np.cumsum(asked) - 1)[nodes].ravel()
        every = np.arange(0, nodes.size + 1, len(self.trees))
        within = sparse.csr_array((*falls, every), shape=(len(nodes), some.size))
        return within @ sparse.csr_array(shares, shape=(some.size, self.n_samples))

    def by_tree(self, leaves: NDArray[np.int64]) -> Floats:
        """Return the same by each tree alone, one per row."""
        samples, size = self._standing_in(leaves[None, :])
        found = np.zeros((leaves.size, self.n_samples))
        found[np.repeat(np.arange(leaves.size), size), samples] = shares_of(samples, size, self.mass)
        return found

    def _standing_in(
        self, leaves: NDArray[np.int64], trees: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the samples in these leaves of `trees`, one after the other, and how many there are in each.

        Of all trees in turn where none are named.
        """
        trees = np.arange(len(self.trees)) if trees is None else trees
        nodes = self._root[trees] + leaves
        size = self._size[nodes].ravel()
        first = (self._first[nodes] + self.n_samples * trees).ravel()
        skipped = first - (np.cumsum(size) - size)
        places = np.arange(int(size.sum())) + np.repeat(skipped, size)
        return self.order.ravel()[places], size

    def totals(self) -> Floats | None:
        """Return, for the nodes of all trees, the mass of its samples (0 for branches); None where all count alike."""
        return None if self.mass is None else np.concatenate([self._total(t) for t in range(len(self.trees))])

    def _total(self, t: int) -> Floats:
        """Return the same for the nodes of one tree."""
        assert self.mass is not None
        # By differences of a running sum, rounding would make the mass of a light leaf behind a heavy one wrong.
        padded = np.append(self.mass[self.order[t]], 0.0)
        ends = np.stack([self.first[t], self.first[t] + self.size[t]], axis=1).ravel()
        return np.where(self.size[t] > 0, np.add.reduceat(padded, ends)[::2], 0.0)


class BareMembers:
    """Trees without samples, as a grid wants them."""

    #: Nothing counts for more than anything else.
    mass: Floats | None = None

    def __init__(self, trees: list[Any]) -> None:
        self.trees = trees
        self.order = np.zeros((len(trees), 1), dtype=np.int32)

    def slices(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the one sample that stands in all leaves."""
        nodes = sum(tree.node_count for tree in self.trees)
        return np.zeros(nodes, dtype=np.int64), np.ones(nodes, dtype=np.int64)


#: The context that members were asked about last, as its bytes, and its leaves. Not saved with them.
_LAST: WeakKeyDictionary[LeafMembers, tuple[bytes, NDArray[np.int64]]] = WeakKeyDictionary()


def shares_of(samples: NDArray[np.integer], size: NDArray[np.int64], mass: Floats | None) -> Floats:
    """Return what each sample of several leaves has of its leaf, given one leaf after the other with their sizes.

    >>> shares_of(np.array([0, 1, 2]), np.array([1, 2]), np.array([5.0, 1.0, 3.0])).tolist()
    [1.0, 0.25, 0.75]
    """
    if mass is None:
        return np.repeat(1.0 / size, size)
    own = mass[samples]
    found: Floats = own / np.repeat(np.add.reduceat(own, np.cumsum(size) - size), size)
    return found


#: What all weights that are made of trees can do.
OF_TREES = Capabilities(made_of_trees=True, follows_circles=True, knows_spread=True)


class TreeWeights(Weights):
    """Weights of any predictor made of trees that count alike and see all columns.

    Each tree gives equal weight to the training samples in the context's leaf, and the trees are averaged. A subclass
    defines ``fit``, which grows or takes trees (see :class:`Tree`) and hands them to `record`. Both engines need
    nothing but what is here.

    Attributes
    ----------
    members_ : LeafMembers
        Which training samples stand in which leaf.
    inputs_ : ndarray of float32
        The training contexts as the trees see them.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> class OneTree(TreeWeights):
    ...     def fit(self, X, Y):
    ...         return self.record([DecisionTreeRegressor(max_depth=1).fit(X, Y).tree_], X)
    >>> OneTree().fit([[0.0], [1.0], [5.0]], [0.0, 0.0, 9.0]).weights([[0.3], [4.0]])
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    kind: ClassVar[str] = "trees"
    label: ClassVar[str] = "trees"
    dtype: DTypeLike = np.float32

    members_: LeafMembers
    inputs_: NDArray[np.float32]

    def record(
        self,
        trees: Sequence[Tree],
        X: ArrayLike,
        sample_weight: ArrayLike | None = None,
        counted: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Keep fitted trees, and which rows of `X` stand in which of their leaves; returns the object itself.

        The rows of a leaf share its weight alike, or in proportion to their `sample_weight`. `counted` says which rows
        count in which tree, of shape (trees, rows); by default all of them do.
        """
        inputs = as_matrix(X, self.dtype, missing=self.capabilities.knows_missing)
        self.members_ = LeafMembers(list(trees), inputs, counted, as_mass(sample_weight, len(inputs)))
        for t, (tree, size) in enumerate(zip(trees, self.members_.size, strict=True)):
            for leaf in np.flatnonzero((tree.children_left < 0) & (size == 0)):
                raise InputError(
                    f"Every leaf of the fitted forest must hold at least one row of 'X'. Leaf {leaf} of tree {t} holds "
                    "none, so its weights are undefined: give the rows that the forest was trained on.",
                    parameter="X",
                )
        self._check_mass()
        self.inputs_ = inputs
        self.n_samples_, self.n_features_in_ = inputs.shape
        return self

    def _check_mass(self) -> None:
        """Refuse a leaf in which nothing counts."""
        total = self.members_.totals()
        if total is None:
            return
        leaf = np.concatenate([tree.children_left < 0 for tree in self.members_.trees])
        if (total[leaf] <= 0.0).any():
            raise InputError(
                "'sample_weight' must leave something that counts in every leaf of the forest. Got a leaf in which all "
                "past observations have weight 0."
            )

    @property
    def counts(self) -> Floats | None:
        # Trees that only stand for a forecast have no samples of their own.
        return getattr(self.members_, "mass", None)

    @property
    def trees(self) -> list[Any]:
        """The fitted trees (see :class:`Tree`)."""
        self._check_fitted()
        return self.members_.trees

    def rows(self, X: NDArray[Any]) -> Floats:
        return self.members_.weights(X)

    @property
    def capabilities(self) -> Capabilities:
        """Return what trees can do: they disagree, on a mean or a tail, and see a number that goes round as it is."""
        return OF_TREES

    def in_distinct(self, X: ArrayLike) -> tuple[sparse.csr_array, NDArray[np.int64]]:
        if type(self).rows is not TreeWeights.rows:
            return super().in_distinct(X)
        inputs = as_matrix(X, self.dtype, self.n_features_in_, self.capabilities.knows_missing)
        first, place = distinct(np.array([tree.apply(inputs) for tree in self.trees]).T.copy())
        return self.members_.sparse_at(first), place

    def per_tree(self, row: Floats) -> Floats | None:
        """Return weights in a context by each tree alone: those in the same leaf speak alike."""
        return self.members_.by_tree(self.members_.leaves_of(np.asarray(row, dtype=np.float32)))

    def lacking(self, columns: frozenset[int]) -> TreeWeights:
        """Return weights by trees in which splits on missing columns are decided.

        Trees are read once, in any case where a context may lie on a face of theirs, told by the user's own numbers, or
        where something is missing in the history: a split that sets missing values apart from all numbers has an
        infinite threshold, and is to be left out.
        """
        known: dict[str, Any] = self.__dict__.setdefault("_lacking", {})
        if known.get("of") is not self.members_:
            able = self.capabilities
            gaps = able.knows_missing and bool(np.isnan(self.inputs_).any())
            known.clear()
            known |= {"of": self.members_, "read": gaps or able.sees_units}
        if not columns and not known["read"]:
            return self
        if "view" not in known:
            known["view"] = self._as_read()
        view: TreeWeights | None = known["view"]
        return self if view is None else view.lacking(columns)

    def _as_read(self) -> TreeWeights | None:
        """Return the same weights by trees that can be laid out anew; None where there is nothing to read them from."""
        return None

    def thresholds(self, column: int) -> Floats:
        return np.concatenate([tree.threshold[tree.feature == column] for tree in self.trees])

    def cell(self, point: Floats, row: Floats, inputs: InputMap) -> Box:
        return common_cell([(tree, inputs, row) for tree in self.trees], point.size)

    def state(self) -> Iterator[Any]:
        yield {"kind": self.kind, "trees": len(self.trees), "frozen": self.capabilities.sees_units}
        for tree in self.trees:
            for name in ("children_left", "children_right", "feature", "threshold"):
                yield getattr(tree, name)
        yield self.members_.order.ravel()
        yield from self.members_.size
        if self.members_.mass is not None:
            yield self.members_.mass

    def describe(self) -> str:
        return f"{len(self.trees)} trees"


def common_cell(trees: Iterable[tuple[Tree, InputMap, Floats]], coordinates: int) -> Box:
    """The box of coordinates in which every tree keeps the leaf that its row (what it sees of a context) falls into."""
    low, high = np.full(coordinates, -np.inf), np.full(coordinates, np.inf)
    for tree, inputs, row in trees:
        compared = np.float64 if isinstance(tree, ArrayTree) and not tree.single else np.float32
        seen: NDArray[Any] = np.asarray(row, dtype=compared)
        split = _splits_on_the_way(tree, seen)
        feature, threshold = tree.feature[split], tree.threshold[split]
        left, at = seen[feature] <= threshold, inputs.coordinate[feature]
        if isinstance(tree, ArrayTree):
            below, beyond = inputs.turns(feature, *tree.turns(threshold))
        else:
            below, beyond = inputs.sides(feature, *single_turns(threshold))
        np.minimum.at(high, at[left], below[left])
        np.maximum.at(low, at[~left], beyond[~left])
    return low, high


def _splits_on_the_way(tree: Tree, seen: NDArray[Any]) -> list[int]:
    """Return the inner nodes between the root and the leaf of a context."""
    # Each array is looked up once: scikit-learn makes a new view of a tree every time.
    feature, threshold, left, right = tree.feature, tree.threshold, tree.children_left, tree.children_right
    found, node = [], 0
    while left[node] >= 0:
        found.append(node)
        node = int(left[node] if seen[feature[node]] <= threshold[node] else right[node])
    return found
