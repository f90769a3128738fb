"""What a predictor of weights must offer: how a context weighs the past observations, and what follows from that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from whence.errors import InputError, NotFittedError
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from whence.weights.plausibility import Nearby

#: Weights computed at once in a batch of contexts (rows times samples): what bounds its memory.
BATCH = 2_000_000

#: Steps by which a coordinate may miss its input: the rounding of a product and a sum.
ROUNDINGS = 4

#: Lower and upper corner, in coordinates.
Box = tuple[Floats, Floats]


@dataclass(frozen=True)
class InputMap:
    """How coordinates become the columns that the weights' estimator sees.

    Column c of the estimator's input is ``point[coordinate[c]] * scale[c] + offset[c]``: the identity, except
    for a frozen forest, which sees the user's own units.
    """

    coordinate: NDArray[np.int64]
    scale: Floats
    offset: Floats

    @classmethod
    def identity(cls, coordinates: int) -> InputMap:
        """Return the map of an estimator that sees the coordinates themselves."""
        return cls(np.arange(coordinates), np.ones(coordinates), np.zeros(coordinates))

    def row(self, point: Floats) -> Floats:
        """Return what the estimator sees at `point`."""
        return point[self.coordinate] * self.scale + self.offset

    def sides(self, column: Any, last: Floats, first: Floats) -> tuple[Floats, Floats]:
        """Return coordinates of the last input before a turn and of the first beyond it, each surely on its own side.

        `column` is that of the estimator, one for all turns or one for each.
        """
        scale, offset = self.scale[column], self.offset[column]
        below, beyond = self.turns(column, last, first)
        for _ in range(ROUNDINGS):
            below = np.where(below * scale + offset > last, np.nextafter(below, -np.inf), below)
            beyond = np.where(beyond * scale + offset < first, np.nextafter(beyond, np.inf), beyond)
        return below, beyond

    def turns(self, column: Any, last: Floats, first: Floats) -> tuple[Floats, Floats]:
        """Coordinates of the last input before a turn and of the first beyond it, where inputs are the user's own.

        Whatever number the user writes has one coordinate, and greater numbers none that is smaller: a number lies
        before the turn where its coordinate is at most the first that is given here. Where both inputs have one
        coordinate, its neighbours are given, and what lies just there is for others to say.
        """
        scale, offset = self.scale[column], self.offset[column]
        below, beyond = (last - offset) / scale, (first - offset) / scale
        one = below >= beyond
        apart = np.nextafter(beyond, -np.inf), np.nextafter(below, np.inf)
        return np.where(one, apart[0], below), np.where(one, apart[1], beyond)


@dataclass(frozen=True)
class Capabilities:
    """What weights can do, for others to know before they ask."""

    #: Whether the weights are made of trees.
    made_of_trees: bool = False
    #: Whether a context moves the outcomes themselves, by a forecast, and not their weights (see `Weights.outcomes`).
    forecasts: bool = False
    #: Whether the estimator can be fitted again, on these data or others.
    can_refit: bool = True
    #: Whether `fit` takes a ``sample_weight``: what each past observation counts for.
    takes_sample_weight: bool = False
    #: Whether the estimator sees the user's own columns in their units; otherwise it sees coordinates.
    sees_units: bool = False
    #: Whether such an estimator knows categories: it is then shown a 0/1 column per level for each of them.
    sees_levels: bool = False
    #: Whether numbers of a context may be missing (NaN).
    knows_missing: bool = False
    #: Whether numbers may go round: trees see the number itself, others must measure the short way.
    follows_circles: bool = False
    #: Whether weights are ambiguous where neighbours lie equally far: contexts then keep a ``separation``.
    needs_separation: bool = False
    #: Whether `Weights.per_tree` tells by how much a mean cost, or the mean of a worst tail, may be off.
    knows_spread: bool = False
    #: By which share of its distance an explanation may be farther than the nearest one; 0 where none may.
    proof_gap: float = 0.0


class SeenColumn(NamedTuple):
    """A column of the user's table: its name, its first coordinate, and its categories where these are names."""

    name: str
    coordinate: int
    categories: tuple[Hashable, ...] | None


class Weights(BaseEstimator, ABC):  # type: ignore[misc]
    """Weights of the past observations in a context.

    A subclass defines `fit` and `rows`; the methods below have defaults that suit weights which change anywhere and
    need no further care. Predictors made of trees derive from :class:`~whence.weights.TreeWeights`, which both engines
    know; for any other kind, ``whence.engines.TABLE`` names the modules that search it.

    Parameters are those of ``__init__``, as scikit-learn's estimators keep them (`get_params`, `clone`).

    Attributes
    ----------
    kind : str
        One word, for fingerprints.
    label : str
        What the predictor is called in the name of an engine, such as "search (forest)".
    n_samples_, n_features_in_ : int
        Set by `fit`: past observations, and columns that the estimator sees.
    """

    kind: ClassVar[str] = ""
    label: ClassVar[str] = ""

    #: How long the last fit took, where that says how long another one takes.
    fit_seconds: float | None = None

    n_samples_: int
    n_features_in_: int

    # ---- what must be written ----------------------------------------------------------------------

    @abstractmethod
    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """Learn from contexts `X`, as the estimator sees them, and outcomes `Y`; set the attributes above."""

    def fitted_to(self, X: Floats, Y: Floats, sample_weight: Any) -> Self:
        """Return the weights fitted to rows that count alike (None), or for as much as is said."""
        if sample_weight is None:
            # Weights of the user's own may know nothing of that.
            return self.fit(X, Y)
        if not self.capabilities.takes_sample_weight:
            raise InputError(f"'sample_weight' must be left out: {type(self).__name__} has no use for it.")
        return self.fit(X, Y, sample_weight=sample_weight)  # type: ignore[call-arg]

    @abstractmethod
    def rows(self, X: NDArray[Any]) -> sparse.csr_matrix | Floats:
        """Return weights of shape ``(rows of X, n_samples_)``, each row summing to one, sparse or dense."""

    @property
    def capabilities(self) -> Capabilities:
        """Return what these weights can do; by default, as little as any."""
        return Capabilities()

    # ---- how a context is seen ---------------------------------------------------------------------

    #: The type that contexts are compared in.
    dtype: DTypeLike = np.float64

    @property
    def compared_as(self) -> DTypeLike:
        """The type in which thresholds are compared with what the estimator sees."""
        return self.dtype

    def lacking(self, columns: frozenset[int]) -> Weights:
        """Return these weights for contexts in which some columns that the estimator sees are missing."""
        return self

    def take_columns(self, columns: Sequence[SeenColumn]) -> None:
        """Take note of what the user's columns are, before `fit`."""

    def take_circles(self, circles: Mapping[int, float]) -> None:
        """Take note of the coordinates that go round, and their periods, before `fit`."""

    def take_problem(self, problem: Any, risk: Any) -> None:
        """Take note of what the policy decides and minimises, before `fit`."""

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse a table whose columns are not those, in their order, that an already fitted estimator has seen."""

    def thresholds(self, column: int) -> Floats | None:
        """Return where the weights can turn along a column of the input; None where they may turn anywhere."""
        return None

    def outcomes(self, row: Floats, Y: Floats) -> Floats:
        """What may come in a context that the estimator sees as `row`, by past observation: what came then, `Y`."""
        return Y

    # ---- weights -----------------------------------------------------------------------------------

    def weights(self, X: ArrayLike, as_sparse: bool = False) -> Any:
        """Weights of every training sample for each row of `X`: an array (rows, n), or a CSR matrix if `as_sparse`."""
        self._check_fitted()
        inputs = as_matrix(X, self.dtype, self.n_features_in_, self.capabilities.knows_missing)
        step = max(1, BATCH // self.n_samples_)
        parts = [self.rows(inputs[i : i + step]) for i in range(0, len(inputs), step)]
        if as_sparse:
            return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
        return np.concatenate([part if isinstance(part, np.ndarray) else part.toarray() for part in parts])

    def in_distinct(self, X: ArrayLike) -> tuple[sparse.csr_array, NDArray[np.int64]]:
        """Return weights in the rows of `X`, those of several rows only once, and which of them each row has."""
        found, place = distinct(self.weights(X))
        return sparse.csr_array(found), place

    def at(self, row: ArrayLike) -> Floats:
        """Return weights for one context."""
        return np.asarray(self.weights(np.asarray(row, dtype=np.float64)[None, :])[0])

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_samples_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call 'fit' before using it.")

    @property
    def counts(self) -> Floats | None:
        """What each past observation counts for, scaled to a mean of 1; None where all count alike."""
        return None

    # ---- explanations ------------------------------------------------------------------------------

    def check_start(self, start: Floats, separation: float, names: Sequence[str]) -> None:
        """Refuse to explain from a context, in coordinates, whose weights cannot be computed reliably.

        `separation` is the least gap that neighbours must keep, `names` has the feature of every coordinate.
        """

    def confirmed(self, row: Floats, separation: float) -> Floats:
        """Return weights in a context that was found, by the fitted estimator itself and no code of an engine.

        Where they are ambiguous, though they should not be, it raises an InternalError.
        """
        return self.at(row)

    def per_tree(self, row: Floats) -> Floats | None:
        """Weights in a context by each tree, or each neighbour, alone, one per row; None where none can disagree."""
        return None

    def usual_measure(self, points: Floats) -> Nearby | None:
        """Return how usual contexts are among past ones, `points` in coordinates; None to ask an isolation forest."""
        return None

    def cell(self, point: Floats, row: Floats, inputs: InputMap) -> Box | None:
        """Return the largest box around `point` (as the estimator sees it, `row`) in which the weights stay the same.

        None where the weights are not constant on boxes.
        """
        return None

    def rounding_box(
        self, start: Floats, point: Floats, row: Floats, inputs: InputMap, free: NDArray[np.bool_]
    ) -> Box | None:
        """Return a box around `point` in which the weights stay the same, so that its numbers may be rounded.

        `start` is the initial context, `point` the one that was found (as the estimator sees it, `row`), and `free`
        says which coordinates may take any value.
        """
        return self.cell(point, row, inputs)

    # ---- what others need to know ------------------------------------------------------------------

    def state(self) -> Iterator[Any]:
        """Yield the values that make the fitted weights what they are, from which a fingerprint is taken."""
        yield {"kind": self.kind or type(self).__name__, "parameters": self.get_params(deep=False)}
        yield {name: value for name, value in sorted(vars(self).items()) if name.endswith("_")}

    def describe(self) -> str:
        """Return the fitted weights in a few words."""
        return f"{type(self).__name__} of {self.n_samples_} observations"

    def takes_outcomes(self, columns: int) -> bool:
        """Return whether weights like these can be fitted to other outcomes of this many columns."""
        return self.capabilities.can_refit and not self.capabilities.forecasts

    def check_outcomes(self, columns: int) -> None:
        """Refuse weights that cannot be fitted to other outcomes of this many columns, as simulated worlds have."""
        if not self.takes_outcomes(columns):
            raise InputError(
                "'holds' needs weights that can be fitted again, in simulated worlds: ask with 'confidence'. Got "
                f"{'forecasts with residuals' if self.capabilities.forecasts else 'a model that was given fitted'}."
            )

    def for_outcomes(self, X: Floats, Y: Floats, seed: int) -> Weights:
        """Return unfitted weights like these, with other random numbers, for these contexts and outcomes."""
        self.check_outcomes(Y.shape[1])
        fresh: Weights = clone(self)
        if "random_state" in fresh.get_params(deep=False):
            fresh.set_params(random_state=seed)
        return fresh

    def for_trial(self) -> Self:
        """Return these weights with parameters that make them quick to fit, to see whether data can be used at all."""
        return self


def as_matrix(X: ArrayLike, dtype: DTypeLike, columns: int | None = None, missing: bool = False) -> NDArray[Any]:
    """`X` as a finite 2-D array, with that many columns where their number is given; with `missing`, NaN is allowed."""
    with np.errstate(over="ignore"):  # what is too large is said below
        matrix = np.ascontiguousarray(X, dtype=dtype)
    if matrix.ndim != 2 or (columns is not None and matrix.shape[1] != columns):
        wanted = "2-D" if columns is None else f"of shape (rows, {columns})"
        raise InputError(f"'X' must be {wanted}. Got shape {matrix.shape} instead.")
    if not np.isfinite(matrix).all() and (not missing or np.isinf(matrix).any()):
        given = np.asarray(X, dtype=np.float64)
        if np.isfinite(given).all() or (missing and not np.isinf(given).any()):
            most, largest = np.finfo(matrix.dtype).max, np.nanmax(np.abs(given))
            raise InputError(
                f"'X' must hold numbers of at most {most:.2g}, since these weights compare {matrix.dtype.name}. "
                f"Got {largest:.2g}."
            )
        raise InputError("'X' must be finite. Got NaN or infinity.")
    return matrix


def as_mass(sample_weight: ArrayLike | None, rows: int) -> Floats | None:
    """Return what each of this many past observations counts for, scaled to a mean of 1; None where all count alike.

    >>> as_mass([1, 3], 2).tolist(), as_mass([2, 2], 2)
    ([0.5, 1.5], None)
    """
    if sample_weight is None:
        return None
    try:
        found = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.full(1, np.nan)
    if found.shape != (rows,) or not np.isfinite(found).all() or (found < 0.0).any() or not (found > 0.0).any():
        got = f"shape {found.shape}" if found.shape != (rows,) else "other numbers"
        raise InputError(
            f"'sample_weight' must hold one number of at least 0 per row of 'X' ({rows}), not all of them zero. "
            f"Got {got} instead."
        )
    if (found == found[0]).all():
        return None
    # By the largest first, whose sum with others cannot overflow.
    found = found / found.max()
    return np.asarray(found / found.mean())


def distinct(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the rows of a matrix without those that came before, and which of them each row is.

    >>> rows, place = distinct(np.array([[2, 1], [0, 0], [2, 1]]))
    >>> rows.tolist(), place.tolist()
    ([[2, 1], [0, 0]], [0, 1, 0])
    """
    known: dict[bytes, int] = {}
    place = np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.int64)
    return rows[np.unique(place, return_index=True)[1]], place
