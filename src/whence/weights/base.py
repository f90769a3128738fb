"""What a predictor of weights must offer: how a context weighs the past observations, and what follows from that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from whence.aliases import Floats
from whence.errors import InputError, NotFittedError
from whence.weights.inputs import InputMap
from whence.weights.nearby import UsuallyNear

__all__ = ["Box", "Weights", "as_matrix"]

#: Weights computed at once in a batch of contexts (rows times samples): what bounds its memory.
BATCH = 2_000_000

#: Lower and upper corner, in coordinates.
Box = tuple[Floats, Floats]


class Weights(BaseEstimator, ABC):  # type: ignore[misc]
    """Weights of the past observations in a context.

    A subclass defines `fit` and `rows`; the methods below have defaults that suit weights which change anywhere and
    need no further care. Predictors made of trees derive from :class:`~whence.weights.TreeWeights`, which both engines
    know; for any other kind, ``whence.engines.PARTS`` names the modules that search it.

    Parameters are those of ``__init__``, as scikit-learn's estimators keep them (`get_params`, `clone`).

    Attributes
    ----------
    kind : str
        One word, for fingerprints.
    label : str
        What the predictor is called in the name of an engine, such as "search (forest)".
    needs_separation : bool
        Whether weights are ambiguous where neighbours lie equally far: contexts then keep a ``separation``.
    n_samples_, n_features_in_ : int
        Set by `fit`: past observations, and columns that the estimator sees.
    """

    kind: ClassVar[str] = ""
    label: ClassVar[str] = ""
    needs_separation: ClassVar[bool] = False

    n_samples_: int
    n_features_in_: int

    # ---- what must be written ----------------------------------------------------------------------

    @abstractmethod
    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """Learn from contexts `X`, as the estimator sees them, and outcomes `Y`; set the attributes above."""

    @abstractmethod
    def rows(self, X: NDArray[Any]) -> sparse.csr_matrix | Floats:
        """Weights of shape (rows of `X`, n_samples_), each row summing to one, sparse or dense."""

    # ---- how a context is seen ---------------------------------------------------------------------

    #: The type that contexts are compared in.
    dtype: ClassVar[DTypeLike] = np.float64

    @property
    def sees_units(self) -> bool:
        """Whether the estimator sees the user's own columns in their units; otherwise it sees coordinates."""
        return False

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse a table whose columns are not those, in their order, that an already fitted estimator has seen."""

    def thresholds(self, column: int) -> Floats | None:
        """Where the weights can turn along a column of the input; None where they may turn anywhere."""
        return None

    # ---- weights -----------------------------------------------------------------------------------

    def weights(self, X: ArrayLike, as_sparse: bool = False) -> Any:
        """Weights of every training sample for each row of `X`.

        Returns
        -------
        ndarray of shape (rows, n), or a CSR matrix where `as_sparse` is True.
        """
        self._check_fitted()
        inputs = as_matrix(X, self.dtype, self.n_features_in_)
        step = max(1, BATCH // self.n_samples_)
        parts = [self.rows(inputs[i : i + step]) for i in range(0, len(inputs), step)]
        if as_sparse:
            return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
        return np.concatenate([part if isinstance(part, np.ndarray) else part.toarray() for part in parts])

    def at(self, row: ArrayLike) -> Floats:
        """Weights for one context."""
        return np.asarray(self.weights(np.asarray(row, dtype=np.float64)[None, :])[0])

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_samples_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call 'fit' before using it.")

    # ---- explanations ------------------------------------------------------------------------------

    def check_start(self, start: Floats, separation: float, names: Sequence[str]) -> None:
        """Refuse to explain from a context whose weights cannot be computed reliably.

        Parameters
        ----------
        start : ndarray
            The context, in coordinates.
        separation : float
            Least gap that neighbours must keep.
        names : sequence of str
            The feature of every coordinate.
        """

    def confirmed(self, row: Floats, separation: float) -> Floats:
        """Weights in a context that was found, by the fitted estimator itself and no code of an engine.

        Raises
        ------
        InternalError
            Where the weights are ambiguous there, though they should not be.
        """
        return self.at(row)

    @property
    def per_tree_known(self) -> bool:
        """Whether the weights are made of trees."""
        return False

    def knows_spread(self, tail: float | None) -> bool:
        """Whether `per_tree` tells by how much a mean cost, or the mean of a worst `tail`, may be off."""
        return False

    def per_tree(self, row: Floats) -> Floats | None:
        """Weights in a context by each tree, or each neighbour, alone, one per row; None where none can disagree."""
        return None

    def usual_measure(self, points: Floats) -> UsuallyNear | None:
        """How usual contexts are among past ones, `points` in coordinates; None where an isolation forest is to say."""
        return None

    def cell(self, point: Floats, row: Floats, inputs: InputMap) -> Box | None:
        """The largest box around `point` (as the estimator sees it, `row`) in which the weights stay the same.

        None where the weights are not constant on boxes.
        """
        return None

    def rounding_box(
        self, start: Floats, point: Floats, row: Floats, inputs: InputMap, free: NDArray[np.bool_]
    ) -> Box | None:
        """A box around `point` in which the weights stay the same, so that its numbers may be rounded.

        Parameters
        ----------
        start, point : ndarray
            The initial context and the one that was found, in coordinates.
        row : ndarray
            The one that was found, as the estimator sees it.
        inputs : InputMap
            From coordinates to what the estimator sees.
        free : ndarray of bool
            The coordinates that may take any value.
        """
        return self.cell(point, row, inputs)

    # ---- what others need to know ------------------------------------------------------------------

    def state(self) -> Iterator[Any]:
        """The values that make the fitted weights what they are, from which a fingerprint is taken."""
        yield {"kind": self.kind or type(self).__name__, "parameters": self.get_params(deep=False)}
        yield {name: value for name, value in sorted(vars(self).items()) if name.endswith("_")}

    def describe(self) -> str:
        """The fitted weights in a few words."""
        return f"{type(self).__name__} of {self.n_samples_} observations"

    @property
    def can_refit(self) -> bool:
        """Whether the estimator can be fitted again, on these data or others."""
        return True

    def for_trial(self) -> Self:
        """These weights with parameters that make them quick to fit, to see whether data can be used at all."""
        return self


def as_matrix(X: ArrayLike, dtype: DTypeLike, columns: int | None = None) -> NDArray[Any]:
    """`X` as a finite 2-D array, of so many columns where that is known."""
    matrix = np.ascontiguousarray(X, dtype=dtype)
    if matrix.ndim != 2 or (columns is not None and matrix.shape[1] != columns):
        wanted = "2-D" if columns is None else f"of shape (rows, {columns})"
        raise InputError(f"'X' must be {wanted}. Got shape {matrix.shape} instead.", parameter="X")
    if not np.isfinite(matrix).all():
        raise InputError("'X' must be finite. Got NaN or infinity.", parameter="X")
    return matrix
