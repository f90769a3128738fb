"""Other fits of the same weights: with other random numbers, or on data drawn anew."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from whence import _core
from whence.checks import one_of
from whence.errors import InputError
from whence.util.aliases import Floats
from whence.weights.base import Weights
from whence.weights.trees import LeafMembers, TreeWeights, shares_of

#: "seed": the same data, other random numbers. "bootstrap": as many past observations, drawn with replacement.
RefitKind: TypeAlias = Literal["seed", "bootstrap"]
KINDS: tuple[RefitKind, ...] = ("seed", "bootstrap")
#: Rows on which one tree is fitted to guess how long a forest takes.
PROBED = 1000


class Refits:
    """Refits of fitted weights, made when they are first asked for and kept with the weights from then on.

    Refit number i is the same in every process: it follows from the random state of the weights, the kind and i alone.
    `X` and `Y` are what the weights were fitted on, as the estimator sees it; `X` may be a function that gives it when
    it is needed.

    >>> from whence.weights import KNNWeights
    >>> X = np.array([[0.0], [0.4], [1.0]])
    >>> refits = Refits(KNNWeights(k=1).fit(X, X), X, X, "bootstrap")
    >>> float(refits.weights_at(0, np.array([0.1])).sum())
    1.0
    """

    def __init__(self, weights: Weights, X: Floats | Callable[[], Floats], Y: Floats, kind: RefitKind) -> None:
        one_of(*KINDS).check("refits", kind)
        if weights.capabilities.forecasts:
            raise InputError("Forecasts with residuals are not held against refits.", parameter="refits")
        if not weights.capabilities.can_refit:
            raise InputError(
                "A model that was given fitted cannot be fitted again, so that nothing is known of its refits; "
                "ask with 'confidence' instead of 'holds'.",
                parameter="refits",
            )
        if kind == "seed" and not _draws(weights):
            raise InputError(
                f"{type(weights).__name__} has no random numbers to draw anew: use refits='bootstrap'.",
                parameter="refits",
            )
        self._weights, self._contexts, self._Y, self.kind = weights, X, Y, kind
        kept: dict[tuple[str, int], _Refit] = weights.__dict__.setdefault("_refits", {})
        self._kept = kept

    @property
    def _X(self) -> Floats:
        if callable(self._contexts):
            self._contexts = self._contexts()
        return self._contexts

    def weights_at(self, number: int, row: Floats) -> Floats:
        """Return weights of the past observations in a context, by refit `number`; `row` is what the estimator sees."""
        return self.of(number).at(row, self._weights.n_samples_)

    def weights_of(self, numbers: Sequence[int], row: Floats) -> list[Floats]:
        """Return the weights in a context by each of several refits."""
        refits = tuple(self.of(number) for number in numbers)
        known = _DESCENTS.setdefault(self._weights, {})
        key = (self.kind, *numbers)
        if key not in known or known[key][0] != refits:
            if not refits or not all(refit.is_forest for refit in refits):
                return [refit.at(row, self._weights.n_samples_) for refit in refits]
            known[key] = refits, Descent([refit.weights.members_ for refit in refits])
        found = known[key][1].weights(row)
        if self.kind == "seed":
            return list(found)
        return [refit.on_history(own, self._weights.n_samples_) for refit, own in zip(refits, found, strict=True)]

    def of(self, number: int) -> _Refit:
        """Refit `number`, made now if it is not there yet."""
        refit = self._kept.get((self.kind, number))
        if refit is None:
            began = time.perf_counter()
            refit = self._kept[self.kind, number] = self._made(number)
            _SECONDS[self._weights] = max(_SECONDS.get(self._weights, 0.0), time.perf_counter() - began)
        return refit

    def is_made(self, number: int) -> bool:
        """Return whether refit `number` is there already."""
        return (self.kind, number) in self._kept

    def are_made(self, numbers: Sequence[int]) -> bool:
        """Return whether all these refits are."""
        return all(map(self.is_made, numbers))

    def ready_within(self, number: int, seconds: float) -> bool:
        """Whether refit `number` exists, or can be made within about `seconds`: fitting cannot be interrupted."""
        if self.is_made(number) or seconds == math.inf:
            return True
        if seconds <= 0.0:
            return False
        if self._weights not in _SECONDS:
            _SECONDS[self._weights] = self._guessed()
        return _SECONDS[self._weights] <= seconds

    def _guessed(self) -> float:
        """Seconds that a refit may take: as the fit itself, or from one tree on some rows; sorting takes n log n."""
        if self._weights.fit_seconds is not None:
            return self._weights.fit_seconds
        probe, rows = clone(self._weights), min(len(self._X), PROBED)
        trees = probe.get_params().get("n_trees", 1)
        if "n_trees" in probe.get_params():
            probe.set_params(n_trees=1)
        elif rows < len(self._X):
            return 0.0  # neighbours are only put in a table
        began = time.perf_counter()
        probe.fit(self._X[:rows], self._Y[:rows])
        growth = len(self._X) * math.log(len(self._X) + 1) / (rows * math.log(rows + 1))
        return (time.perf_counter() - began) * int(trees) * growth

    def _made(self, number: int) -> _Refit:
        state = self._weights.get_params().get("random_state")
        base = int(state) if isinstance(state, int | np.integer) else 0
        sequence = np.random.SeedSequence([base, KINDS.index(self.kind), number])
        rng = np.random.default_rng(sequence)
        fresh = clone(self._weights)
        if "random_state" in fresh.get_params():
            fresh.set_params(random_state=int(rng.integers(2**31)))
        counts = self._weights.counts
        if self.kind == "seed":
            return _Refit(fresh.fitted_to(self._X, self._Y, counts), None)
        rows = rng.integers(len(self._X), size=len(self._X))
        drawn = None if counts is None else counts[rows]
        return _Refit(fresh.fitted_to(self._X[rows], self._Y[rows], drawn), rows)


def _draws(weights: Weights) -> bool:
    """Return whether fitting draws random numbers: by scikit-learn's rules, every parameter is an attribute."""
    return hasattr(weights, "random_state")


#: Seconds that the longest refit of some weights took, or may take.
_SECONDS: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
#: Of weights, by kind and numbers: refits, and their trees laid out side by side. Not saved with them.
_DESCENTS: WeakKeyDictionary[Any, dict[tuple[Any, ...], tuple[tuple[_Refit, ...], Descent]]] = WeakKeyDictionary()


class _Refit:
    """Weights fitted once more, and which past observations they were fitted on (None for all of them, in order)."""

    def __init__(self, weights: Weights, rows: NDArray[np.int64] | None) -> None:
        self.weights, self.rows = weights, rows

    @property
    def is_forest(self) -> bool:
        """Whether its weights follow from the leaves of its trees alone."""
        return isinstance(self.weights, TreeWeights) and type(self.weights).rows is TreeWeights.rows

    def at(self, row: Floats, n_samples: int) -> Floats:
        return self.on_history(self.weights.at(row), n_samples)

    def on_history(self, found: Floats, n_samples: int) -> Floats:
        """Return weights of what it was fitted on, as those of the past observations."""
        if self.rows is None:
            return found
        return np.bincount(self.rows, found, minlength=n_samples).astype(np.float64)


def refits_of(weights: Weights, X: Floats | Callable[[], Floats], Y: Floats, kind: RefitKind | None = None) -> Refits:
    """Return the refits of fitted weights; where no kind is named, other random numbers where there are any."""
    if kind is None:
        kind = "seed" if _draws(weights) else "bootstrap"
    return Refits(weights, X, Y, kind)


class Descent:
    """Forests, of as many samples each, laid out for contexts that come one at a time.

    >>> from whence.weights import ForestWeights
    >>> X = np.arange(12.0)[:, None]
    >>> forest = ForestWeights(n_trees=5, random_state=0).fit(X, X)
    >>> bool((Descent([forest.members_]).weights(X[3])[0] == forest.at(X[3])).all())
    True
    """

    def __init__(self, forests: Sequence[LeafMembers]) -> None:
        self.forests = tuple(forests)
        trees = [tree for forest in forests for tree in forest.trees]
        counts = np.array([tree.node_count for tree in trees])
        roots = np.cumsum(counts) - counts
        first, size = (np.concatenate(part) for part in zip(*(f.slices() for f in forests), strict=True))
        left, right = (
            np.concatenate([getattr(tree, name) + root for tree, root in zip(trees, roots, strict=True)])
            for name in ("children_left", "children_right")
        )
        self._core = _core.Descent(
            np.concatenate([tree.feature for tree in trees]).astype(np.int64),
            np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
            left.astype(np.int64),
            right.astype(np.int64),
            np.concatenate([_missing_left(tree) for tree in trees]).astype(np.int64),
            roots.astype(np.int64),
            first.astype(np.int64),
            size.astype(np.int64),
            tuple(np.ascontiguousarray(forest.order, dtype=np.int32) for forest in forests),
        )
        self._mass: Floats | None = None
        if any(f.mass is not None for f in forests):
            self._mass = np.concatenate([np.ones(f.n_samples) if f.mass is None else f.mass for f in forests])
            own = np.array([len(forest.trees) for forest in forests])
            self._last, self._count = np.cumsum(own) - 1, np.repeat(own, own)
            self._first, self._size = first, size

    def weights(self, row: Floats) -> Floats:
        """Return the weights of the samples in a context that the trees see as `row`, a row for each forest."""
        seen = np.ascontiguousarray(row, dtype=np.float32)
        return self._core.weights(seen) if self._mass is None else self._by_mass(seen, self._mass)

    def _by_mass(self, seen: NDArray[np.float32], mass: Floats) -> Floats:
        """Return the weights by forest where samples do not count alike."""
        leaf = self._core.leaves(seen)
        size, first = self._size[leaf], self._first[leaf]
        ends = np.cumsum(size)
        places = np.arange(ends[-1]) + np.repeat(first - (ends - size), size)
        parts = np.split(places, ends[self._last[:-1]])
        n = self.forests[0].n_samples
        samples = np.concatenate(
            [
                f.order.ravel()[part].astype(np.int64) + i * n
                for i, (f, part) in enumerate(zip(self.forests, parts, strict=True))
            ]
        )
        shares = shares_of(samples, size, mass) / np.repeat(self._count, size)
        found = np.bincount(samples, shares, minlength=n * len(self.forests))
        return found.astype(np.float64, copy=False).reshape(-1, n)


def _missing_left(tree: Any) -> NDArray[np.bool_]:
    """By node, whether it sends a missing number to the left, as scikit-learn's trees and those grown here say it."""
    found = getattr(tree, "missing_go_to_left", None)
    return np.zeros(tree.node_count, dtype=np.bool_) if found is None else np.asarray(found, dtype=np.bool_)
