"""Kernel weights: every past observation counts, the less the farther away it is (Nadaraya and Watson, 1964)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whence.checks import FLAG, POSITIVE, Rule, share
from whence.errors import InputError, parameter_error
from whence.util.aliases import Floats
from whence.weights.base import Capabilities, Weights, as_matrix
from whence.weights.metrics import Metric, check_metric

__all__ = ["KERNELS", "LEAST", "KernelWeights"]

#: The kernels, as functions of the distance in bandwidths. All but the first end there.
KERNELS: dict[str, Callable[[Floats], Floats]] = {
    "gaussian": lambda u: np.exp(-0.5 * u**2),
    "epanechnikov": lambda u: np.maximum(1.0 - u**2, 0.0),
    "biweight": lambda u: np.maximum(1.0 - u**2, 0.0) ** 2,
    "tricube": lambda u: np.maximum(1.0 - u**3, 0.0) ** 3,
}

#: Where a kernel ends, the least that all past observations together must count for, as a share of what one counts for
#: that lies right there: in other contexts there are no weights.
LEAST = 1e-3


class KernelWeights(Weights):
    """Weights that fall with the distance from the context, as a kernel says, and add up to one.

    Explanations are proved up to a gap: no context is nearer than the one found by more than this share of its
    distance.

    Parameters
    ----------
    bandwidth : float
        The distance at which a Gaussian kernel has fallen to 0.61 of its height, and at which any other ends.
    kernel : {"gaussian", "epanechnikov", "biweight", "tricube"}
        How weights fall. Where all past observations lie beyond the end of a kernel there are no weights: such a
        context is refused, and no explanation lies there.
    metric : {"euclidean", "l1"} or array of shape (columns, columns)
        What distances are taken by, as for :class:`KNNWeights`; a matrix is for the Gaussian kernel.
    scaled : bool
        Whether distances, and the bandwidth, are in coordinates, where every number ranges from 0 to 1 in the history;
        otherwise in the columns' own units, a category by 0/1 columns.
    gap : float
        By which share of its distance an explanation may be farther than the nearest one, above 0 and below 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.4], [1.0]])
    >>> KernelWeights(bandwidth=0.5).fit(X).weights([[0.0]]).round(3)
    array([[0.537, 0.39 , 0.073]])
    >>> KernelWeights(bandwidth=0.5, kernel="epanechnikov").fit(X).weights([[0.0]]).round(3)
    array([[0.735, 0.265, 0.   ]])
    """

    kind: ClassVar[str] = "kernel"
    label: ClassVar[str] = "kernel"

    def __init__(
        self,
        bandwidth: float = 0.2,
        kernel: str = "gaussian",
        metric: Any = "euclidean",
        scaled: bool = True,
        gap: float = 0.01,
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.metric = metric
        self.scaled = scaled
        self.gap = gap

    @property
    def capabilities(self) -> Capabilities:
        """Return what a kernel can do: where it is not scaled, it sees units and a 0/1 column per category."""
        by_units = not FLAG.check("scaled", self.scaled, "KernelWeights")
        return Capabilities(sees_units=by_units, sees_levels=by_units, proof_gap=self.gap)

    def fit(self, X: ArrayLike, Y: ArrayLike | None = None) -> Self:
        """Remember the contexts `X`; `Y` is not needed."""
        points = as_matrix(X, self.dtype)
        self._check_parameters(points.shape[1])
        self.points_ = points
        # A bandwidth is said in the metric's own units.
        self.metric_ = Metric(Metric.of(self.metric, points, bool(self.scaled)).matrix, 1.0)
        self.n_samples_, self.n_features_in_ = points.shape
        return self

    def _check_parameters(self, columns: int) -> None:
        finite = Rule("a positive float", lambda value: POSITIVE.fits(value) and value < np.inf)
        finite.check_all("KernelWeights", self, "bandwidth")
        share("()", "a float above 0 and below 1").check_all("KernelWeights", self, "gap")
        FLAG.check_all("KernelWeights", self, "scaled")
        if not isinstance(self.kernel, str) or self.kernel not in KERNELS:
            names = ", ".join(map(repr, KERNELS))
            raise parameter_error("KernelWeights", "kernel", f"be one of {names}", repr(self.kernel))
        check_metric(self.metric, columns, "KernelWeights")
        if not isinstance(self.metric, str) and self.kernel != "gaussian":
            wanted = "be 'gaussian' where 'metric' is a matrix"
            raise parameter_error("KernelWeights", "kernel", wanted, repr(self.kernel))

    def rows(self, X: NDArray[Any]) -> Floats:
        return np.array([self._row(row) for row in X]).reshape(len(X), self.n_samples_)

    def _row(self, row: Floats) -> Floats:
        far = self.metric_.far(self.points_, row)
        away = np.sqrt(np.maximum(far, 0.0)) if self.metric_.squared else far
        away = away / self.bandwidth
        if self.kernel == "gaussian":
            # A common factor cancels, and far away nothing else keeps the largest from vanishing.
            values: Floats = np.exp(-0.5 * (away**2 - away.min() ** 2))
        else:
            values = KERNELS[self.kernel](away)
            if values.sum() < LEAST:
                raise InputError(
                    "The context must lie near enough to the history for weights: past observations count only within "
                    f"the bandwidth, {self.bandwidth:g}, and the nearest is {away.min() * self.bandwidth:.6g} away.",
                    parameter="context",
                )
        weights: Floats = values / values.sum()
        return weights

    def state(self) -> Iterator[Any]:
        known = {name: getattr(self, name) for name in ("kernel", "scaled")}
        yield {"kind": self.kind, **known, "bandwidth": float(self.bandwidth), "shape": list(self.points_.shape)}
        yield self.points_.ravel()
        if self.metric_.matrix is not None:
            yield self.metric_.matrix.ravel()

    def describe(self) -> str:
        name = self.kernel if self.kernel != "gaussian" else "Gaussian"
        return f"a{'n' if name[0] == 'e' else ''} {name} kernel of bandwidth {self.bandwidth:g}"
