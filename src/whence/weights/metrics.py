"""How far contexts are apart to their neighbours: by sums of differences, or by squares with an inner product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whence.checks import one_of, share
from whence.errors import InputError, InputTypeError
from whence.util.aliases import Floats
from whence.weights.base import InputMap

#: What neighbours count by: alike, or by the inverse of their distance.
SHARES = ("uniform", "distance")


def check_shares(weights: Any, gap: Any) -> None:
    """Refuse what neighbours cannot count by, and a gap that is none."""
    one_of(*SHARES).check("weights", weights, "KNNWeights")
    share("()", "a float above 0 and below 1").check("gap", gap, "KNNWeights")


def inverse_shares(distance: Floats, mass: Floats | None = None) -> Floats:
    """What each of some neighbours counts for at these distances, in all 1; those at distance 0 share it among them.

    >>> inverse_shares(np.array([1.0, 3.0])).tolist(), inverse_shares(np.array([0.0, 3.0, 0.0])).tolist()
    ([0.75, 0.25], [0.5, 0.0, 0.5])
    """
    nearest = distance.min()
    # In units of the nearest one nothing overflows.
    shares = (distance == 0.0).astype(np.float64) if nearest == 0.0 else nearest / distance
    if mass is not None:
        shares = shares * mass
    found: Floats = shares / shares.sum()
    return found


def short_way(gaps: Floats, circles: Mapping[int, float]) -> Floats:
    """Return absolute differences, a column a coordinate, of which those that go round are taken the short way.

    >>> short_way(np.array([[-0.9, 0.9]]), {0: 1.0}).round(3).tolist()
    [[0.1, 0.9]]
    """
    away = np.abs(gaps)
    for j, period in circles.items():
        away[..., j] = np.minimum(away[..., j], np.abs(period - away[..., j]))
    return away


def unrolled(points: Floats, at: Floats, circles: Mapping[int, float]) -> Floats:
    """The points with coordinates that go round moved by whole periods, so that they are as near to `at` as can be.

    >>> unrolled(np.array([[0.9, 0.9]]), np.zeros(2), {0: 1.0}).round(3).tolist()
    [[-0.1, 0.9]]
    """
    if not circles:
        return points
    near = points.copy()
    for j, period in circles.items():
        near[:, j] += period * np.round((at[j] - near[:, j]) / period)
    return near


def turning(points: Floats, low: Floats, high: Floats, circles: Mapping[int, float]) -> dict[int, np.ndarray]:
    """For every coordinate that goes round: of which points, unrolled, the opposite lies between `low` and `high`."""
    return {
        j: (np.abs(points[:, j] - low[j]) > period / 2.0) | (np.abs(points[:, j] - high[j]) > period / 2.0)
        for j, period in circles.items()
    }


#: The metrics that have a name.
METRICS = ("l1", "euclidean")
#: Share of the largest eigenvalue by which another may be negative: rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Scores:
    """What stands for squared distances: they differ as ``constant + slopes @ point`` does, `point` in coordinates."""

    constant: Floats
    slopes: Floats

    def at(self, point: Floats) -> Floats:
        """Return the score of every past context; the k nearest have the least."""
        return self.constant + self.slopes @ point


@dataclass(frozen=True, eq=False)
class Metric:
    """Distances between rows that an estimator sees, in units of its own.

    >>> Metric(None, 1.0).far(np.array([[0.0, 0.0], [3.0, 4.0]]), np.zeros(2)).tolist()
    [0.0, 7.0]
    >>> Metric(np.eye(2), 1.0).far(np.array([[0.0, 0.0], [3.0, 4.0]]), np.zeros(2)).tolist()
    [0.0, 25.0]
    """

    #: The inner product that squared distances come from; None for sums of absolute differences.
    matrix: Floats | None
    #: What counts as a distance of 1: the largest range of a column, as the metric measures it. Squared distances are
    #: divided by its square.
    unit: float
    #: Columns that go round, with their period: sums of differences take them the short way.
    circles: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, metric: Any, points: Floats, scaled: bool) -> Metric:
        """Return the metric called so, or given as a matrix, for past contexts `points`."""
        columns = points.shape[1]
        matrix: Floats | None = None
        if not isinstance(metric, str):
            matrix = np.asarray(metric, dtype=np.float64)
            matrix = (matrix + matrix.T) / 2.0
        elif metric == "euclidean":
            matrix = np.eye(columns)
        if scaled and isinstance(metric, str):
            return cls(matrix, 1.0)
        ranges = np.ptp(points, axis=0)
        widths = ranges if matrix is None else np.sqrt(np.maximum(np.diag(matrix), 0.0)) * ranges
        return cls(matrix, float(widths.max(initial=0.0)) or 1.0)

    @property
    def squared(self) -> bool:
        """Whether `far` gives squared distances."""
        return self.matrix is not None

    def far(self, points: Floats, row: Floats) -> Floats:
        """Return how far every one of `points` is from `row`: its distance, or its squared distance."""
        gaps = points - row
        if self.matrix is None:
            distance: Floats = short_way(gaps, self.circles).sum(axis=1) / self.unit
            return distance
        squares: Floats = np.einsum("ij,ij->i", gaps @ self.matrix, gaps) / self.unit**2
        return squares

    def stretched(self, points: Floats) -> Floats:
        """Return the points in a space where plain Euclidean distances, or plain L1 ones, are those of the metric."""
        if self.matrix is None:
            return points / self.unit
        values, vectors = np.linalg.eigh(self.matrix)
        stretched: Floats = (points @ vectors) * (np.sqrt(np.maximum(values, 0.0)) / self.unit)
        return stretched

    def scores(self, points: Floats, inputs: InputMap, coordinates: int) -> Scores:
        """Return what stands for the squared distances from `points`, in coordinates."""
        assert self.matrix is not None
        # Seen from the middle of the history, scores are no larger than they have to be, and so is their rounding.
        centre = (points.min(axis=0) + points.max(axis=0)) / 2.0
        away = points - centre
        pull = away @ (self.matrix / self.unit**2)
        constant = np.einsum("ij,ij->i", pull, away) - 2.0 * pull @ (inputs.offset - centre)
        slopes = np.zeros((len(points), coordinates))
        for column, j in enumerate(inputs.coordinate):
            slopes[:, j] -= 2.0 * pull[:, column] * inputs.scale[column]
        return Scores(constant, slopes)


def check_metric(metric: Any, columns: int, owner: str = "KNNWeights") -> None:
    """Refuse what is no metric on this many columns."""
    wanted = f"The 'metric' parameter of {owner} must be 'l1', 'euclidean', or a symmetric matrix without negative"
    if isinstance(metric, str):
        if metric not in METRICS:
            raise InputError(f"{wanted} eigenvalues. Got {metric!r} instead.")
        return
    try:
        matrix: NDArray[np.float64] = np.asarray(metric, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputTypeError(f"{wanted} eigenvalues. Got {metric!r} instead.") from None
    if matrix.shape != (columns, columns) or not np.isfinite(matrix).all():
        raise InputError(
            f"{wanted} eigenvalues, of shape ({columns}, {columns}) and finite. Got shape {matrix.shape} instead."
        )
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2.0)
    most = float(np.abs(values).max(initial=0.0))
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=ROUNDING * most) or values.min() < -ROUNDING * most:
        raise InputError(
            f"{wanted} eigenvalues. Got one that is not symmetric, or has the eigenvalue {values.min():.3g}."
        )


def seen_in_coordinates(points: ArrayLike, inputs: InputMap, coordinates: int) -> tuple[Floats, Floats]:
    """Return rows that an estimator sees, in coordinates, and by how much it sees each coordinate stretched."""
    rows = np.asarray(points, dtype=np.float64)
    back, stretch = np.zeros((len(rows), coordinates)), np.zeros(coordinates)
    back[:, inputs.coordinate] = (rows - inputs.offset) / inputs.scale
    stretch[inputs.coordinate] = np.abs(inputs.scale)
    return back, stretch
