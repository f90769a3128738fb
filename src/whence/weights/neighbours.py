"""Weights by distance: of the k nearest past observations, alike or the less the farther away, or by a kernel of all.

Kernel weights are those of Nadaraya and Watson (1964).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors

from whence.checks import FLAG, POSITIVE, Rule, one_of, share, whole
from whence.errors import InputError, InternalError, parameter_error
from whence.models.tree_arrays import check_order, names_known_to
from whence.util.aliases import Floats
from whence.weights.base import Box, Capabilities, InputMap, Weights, as_mass, as_matrix
from whence.weights.metrics import (
    Metric,
    check_metric,
    check_shares,
    inverse_shares,
    seen_in_coordinates,
    turning,
    unrolled,
)
from whence.weights.plausibility import Nearby

#: Distances that agree to this many decimals count as equal, whatever the order in which they were summed.
TIE_DECIMALS = 12

#: Distances are known to 16 digits: how far outside the history a context may lie, in ranges for a separation of 1, so
#: that the rounding of a distance stays a thousand times below the separation; and the least separation that counts.
FARTHEST, LEAST_SEPARATION = 1e12, 1e-9

#: Numbers are rounded away from where they started, by no more than this share of their change.
FURTHER = 0.05
#: In a rounding box, neighbours stay this much nearer than all others: more than the rounding of distances.
CLEAR = 2e-7
#: How often a rounding box is halved before none is given.
HALVINGS = 24


class KNNWeights(Weights):
    """Weight 1/k on each of the k nearest observations, in the L1 norm of the coordinates or another one.

    With ``weights="distance"`` they count by the inverse of their distance instead; explanations are then proved up to
    a gap. With a ``sample_weight``, the k nearest share in proportion to it; which ones they are does not depend on it.
    Ties go to the earlier observation: neighbours are ordered by distance, then by row number.

    Parameters
    ----------
    k : int
        Number of neighbours, at least 1 and less than the number of observations.
    metric : {"l1", "euclidean"} or array of shape (columns, columns)
        What neighbours are near by: sums of absolute differences, Euclidean distance, or the matrix M of a Mahalanobis
        or learned metric, whose squared distance is ``(x - y) @ M @ (x - y)``. By the latter two, the ``separation`` of
        an explanation counts in squared distances.
    scaled : bool
        Whether distances are taken in coordinates (every number divided by its range in the history, a category by
        entries of 0 and 1/2); otherwise in the columns' own units, a category by 0/1 columns. The separation is then in
        units of the column with the largest range, as the metric measures it.
    weights : {"uniform", "distance"}
        Whether the k nearest count alike, or each by the inverse of its distance, as in scikit-learn: whoever is at
        distance 0 then counts alone.
    gap : float
        For ``weights="distance"``: by which share of its distance an explanation may be farther than the nearest one,
        above 0 and below 1.

    Examples
    --------
    >>> import numpy as np
    >>> KNNWeights(k=2).fit(np.array([[0.0], [0.4], [1.0]]), np.zeros((3, 1))).weights([[0.1]])
    array([[0.5, 0.5, 0. ]])
    >>> corner = np.array([[0.0, 0.0], [0.6, 0.6], [0.0, 1.0]])
    >>> KNNWeights(k=2, metric="euclidean").fit(corner).neighbours([0.0, 0.0]).tolist()
    [0, 1]
    >>> KNNWeights(k=2, weights="distance").fit(np.array([[0.0], [0.4], [1.0]])).weights([[0.1]])
    array([[0.75, 0.25, 0.  ]])
    """

    kind: ClassVar[str] = "neighbours"

    #: What each observation counts for; None where all count alike.
    mass_: Floats | None = None

    #: The model that was given fitted (see `of`).
    frozen: Any = None

    #: Coordinates that go round, with their period.
    _circles: Mapping[int, float] = MappingProxyType({})

    def __init__(
        self, k: int = 20, metric: Any = "l1", scaled: bool = True, weights: str = "uniform", gap: float = 0.01
    ) -> None:
        self.k = k
        self.metric = metric
        self.scaled = scaled
        # `weights` is a method of all Weights: the parameter of that name is kept under another one.
        self.sharing = weights
        self.gap = gap

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn asks for them."""
        names = {"k": "k", "metric": "metric", "scaled": "scaled", "weights": "sharing", "gap": "gap"}
        return {name: getattr(self, attribute) for name, attribute in names.items()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as scikit-learn does."""
        if "weights" in params:
            self.sharing = params.pop("weights")
        super().set_params(**params)
        return self

    @classmethod
    def of(cls, fitted: Any, gap: float = 0.01) -> KNNWeights:
        """Return weights of nearest neighbours that are already fitted.

        They are frozen: their number, their metric, what they count by and the units of the columns stay as they are,
        and the policy must be fitted on the rows that they remember.

        Parameters
        ----------
        fitted : KNeighborsRegressor or KNeighborsClassifier
            A model of scikit-learn with ``weights="uniform"`` or ``"distance"``, whose metric is Euclidean, Manhattan,
            standardised Euclidean or Mahalanobis.
        gap : float
            As for :class:`KNNWeights`, where neighbours count by their distance.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.neighbors import KNeighborsRegressor
        >>> X = np.array([[10.0], [14.0], [20.0]])
        >>> KNNWeights.of(KNeighborsRegressor(2).fit(X, X.ravel())).fit(X).weights([[11.0]])
        array([[0.5, 0.5, 0. ]])
        """
        from whence.models.scikit_learn import read_neighbours

        found = read_neighbours(fitted)
        weights = cls(found.k, found.metric, scaled=False, weights=found.weights, gap=gap)
        weights.frozen = fitted
        return weights

    def __sklearn_clone__(self) -> KNNWeights:
        if self.frozen is not None:
            return KNNWeights.of(self.frozen, self.gap)
        copied = type(self)(**copy.deepcopy(self.get_params(deep=False)))
        copied.take_circles(self._circles)
        return copied

    @property
    def by_distance(self) -> bool:
        """Whether neighbours count by the inverse of their distance."""
        return isinstance(self.sharing, str) and self.sharing == "distance"

    @property
    def capabilities(self) -> Capabilities:
        """Return what the neighbours can do.

        Plain distances can be taken the short way round. The neighbours disagree about a mean, and about a tail that
        begins where it does for all of them; by how much is not known where they do not count alike. A model that was
        given fitted has seen the user's own columns.
        """
        by_units = not FLAG.check("scaled", self.scaled, "KNNWeights")
        return Capabilities(
            can_refit=self.frozen is None,
            takes_sample_weight=True,
            sees_units=by_units,
            sees_levels=by_units and self.frozen is None,
            follows_circles=self.plain,
            needs_separation=True,
            knows_spread=self.mass_ is None and not self.by_distance,
            proof_gap=self.gap if self.by_distance else 0.0,
        )

    def take_circles(self, circles: Mapping[int, float]) -> None:
        """Take distances along these coordinates, each with its period, the short way round."""
        self._circles = dict(circles)

    @property
    def label(self) -> str:  # type: ignore[override]
        """What an engine's name says of it: what neighbours are near by, and so what their separation counts in."""
        plain = isinstance(self.metric, str) and self.metric == "l1"
        return "nearest neighbours" if plain else "nearest neighbours by squared distance"

    @property
    def plain(self) -> bool:
        """Whether distances are those of the coordinates themselves, in the L1 norm."""
        return bool(self.scaled) and isinstance(self.metric, str) and self.metric == "l1"

    def check_columns(self, names: Sequence[str]) -> None:
        check_order(names_known_to(self.frozen), names, "neighbours have")

    def fit(self, X: ArrayLike, Y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Remember the contexts `X` (coordinates), and what they count for; `Y` is not needed."""
        points = as_matrix(X, self.dtype)
        n = points.shape[0]
        whole(1, n - 1, f"an int in [1, n_samples) with n_samples = {n}").check_all("KNNWeights", self, "k")
        FLAG.check_all("KNNWeights", self, "scaled")
        check_metric(self.metric, points.shape[1])
        check_shares(self.sharing, self.gap)
        if self.frozen is not None:
            from whence.models.scikit_learn import check_same_rows, read_neighbours

            check_same_rows(read_neighbours(self.frozen).points, points)
        mass = as_mass(sample_weight, n)
        if mass is not None and not (mass > 0.0).all():
            raise InputError(
                "'sample_weight' must be positive in every row for nearest neighbours: k of them might count for "
                f"nothing. Got 0 in {int((mass <= 0.0).sum())} rows; leave these out."
            )
        self.points_ = points
        self.metric_ = replace(Metric.of(self.metric, points, bool(self.scaled)), circles=dict(self._circles))
        self.n_samples_, self.n_features_in_ = points.shape
        self.mass_ = mass
        return self

    def far(self, row: ArrayLike) -> Floats:
        """How far every observation is from `row`: its distance, or its squared distance, in units of the metric."""
        return self.metric_.far(self.points_, np.asarray(row, dtype=np.float64))

    @property
    def counts(self) -> Floats | None:
        return self.mass_

    def shared(self, members: NDArray[np.integer], distance: Floats | None = None) -> Floats:
        """Return weights of all observations where these are the nearest, at such distances."""
        out = np.zeros(self.n_samples_)
        if distance is not None and self.by_distance:
            out[members] = inverse_shares(distance, None if self.mass_ is None else self.mass_[members])
        elif self.mass_ is None:
            out[members] = 1.0 / self.k
        else:
            # In one order, so that the same neighbours always get the same weights.
            own = np.sort(members)
            out[own] = self.mass_[own] / self.mass_[own].sum()
        return out

    def neighbours(self, row: ArrayLike) -> NDArray[np.int64]:
        """Return the row numbers of the k nearest observations, nearest first."""
        return np.argsort(np.round(self.far(row), TIE_DECIMALS), kind="stable")[: self.k]

    def rows(self, X: NDArray[Any]) -> Floats:
        return np.array([self._row(row) for row in X]).reshape(-1, self.n_samples_)

    def _row(self, row: Floats) -> Floats:
        members = self.neighbours(row)
        if not self.by_distance:
            return self.shared(members)
        far = self.far(row)[members]
        return self.shared(members, np.sqrt(np.maximum(far, 0.0)) if self.metric_.squared else far)

    def check_start(self, start: Floats, separation: float, names: Sequence[str]) -> None:
        least = max(separation, LEAST_SEPARATION)
        most = FARTHEST * least
        if self.plain:
            away = np.maximum(self.points_.min(axis=0) - start, start - self.points_.max(axis=0))
        else:
            # In coordinates the history lies between 0 and 1, whatever the units that distances are taken in.
            away = np.maximum(-start, start - 1.0)
            most = float(np.sqrt(most)) if self.metric_.squared else most
            self._check_rounding(least)
        j = int(np.argmax(away))
        if away[j] > most:
            raise InputError(
                f"The context must lie near enough to the history to tell its neighbours apart: {names[j]!r} lies "
                f"{away[j]:.3g} times its range outside. At most {most:.3g} times is possible with "
                f"separation={separation:g}.",
                parameter="context",
            )

    def _check_rounding(self, separation: float) -> None:
        """Refuse a model that was given fitted and whose own distances are too inexact to tell neighbours apart."""
        if self.frozen is None or not self.metric_.squared:
            return
        from whence.models.scikit_learn import own_rounding

        off = own_rounding(self.frozen, self.points_) / self.metric_.unit**2
        if off * 1e3 > separation:
            raise InputError(
                f"'separation' must be at least {1e3 * off:.3g} for the fitted neighbours, whose own squared distances "
                f"are exact to {off:.3g} only. Got {separation:g} instead; a model fitted with algorithm='kd_tree' on "
                "double precision is the most exact."
            )

    def confirmed(self, row: Floats, separation: float) -> Floats:
        """Return weights at `row` by scikit-learn's own distances, which must set the k nearest apart from the rest."""
        if self.frozen is None:
            distance, index = self._found_afresh(row)
        else:
            from whence.models.scikit_learn import own_neighbours

            distance, index = own_neighbours(self.frozen, row, self.k + 1)
            distance = distance / self.metric_.unit
        nearest = distance[:-1]
        if self.metric_.squared:
            distance = distance**2
        gap = float(distance[-1] - distance[-2])
        if gap < separation - 1e-9:
            raise InternalError(f"The k-th and (k+1)-th neighbour are only {gap:.3g} apart in the context found.")
        return self.shared(index[:-1], nearest)

    def _found_afresh(self, row: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Return distances and row numbers of the k + 1 nearest observations, nearest first."""
        metric = "euclidean" if self.metric_.squared else "manhattan"
        points, at = self.points_, row
        if self._circles:
            points = unrolled(points, at, self._circles)
        if not self.plain:
            # Seen from the middle of the history, numbers lose least where they are combined.
            middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
            points, at = self.metric_.stretched(points - middle), self.metric_.stretched((row - middle)[None, :])[0]
        # A tree answers one context in one thread; brute force would wake all cores for it.
        finder = NearestNeighbors(n_neighbors=self.k + 1, algorithm="kd_tree", metric=metric).fit(points)
        # In a worker of a cluster scikit-learn would otherwise send this single row round the cluster.
        with parallel_config(backend="sequential"):
            distance, index = finder.kneighbors(at[None, :])
        return distance[0], index[0]

    def per_tree(self, row: Floats) -> Floats:
        found = np.zeros((self.k, self.n_samples_))
        found[np.arange(self.k), self.neighbours(row)] = 1.0
        return found

    def usual_measure(self, points: Floats) -> Nearby | None:
        """Return how usual a context is: as its neighbours are near, where they are plain ones."""
        return Nearby(points, int(self.k), circles=self._circles) if self.plain else None

    def rounding_box(
        self, start: Floats, point: Floats, row: Floats, inputs: InputMap, free: NDArray[np.bool_]
    ) -> Box | None:
        """Return a box from `point` away from `start`, along what is free, in which the neighbours stay the same.

        Examples
        --------
        >>> weights = KNNWeights(k=1).fit(np.array([[0.0], [1.0]]))
        >>> point, free = np.array([0.6]), np.array([True])
        >>> low, high = weights.rounding_box(np.array([0.2]), point, point, InputMap.identity(1), free)
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([0.6], [0.62])
        """
        if self.by_distance:
            # Weights change everywhere.
            return None
        step = np.where(free, FURTHER * (point - start), 0.0)
        if self.metric_.squared:
            return self._box_by_scores(point, row, inputs, step)
        points = self.points_
        if not self.plain:
            points, stretch = seen_in_coordinates(points, inputs, point.size)
            stretch /= self.metric_.unit
            found = KNNWeights(self.k).fit(points * stretch)
            box = found.rounding_box(start * stretch, point * stretch, point * stretch, inputs, free)
            return None if box is None else (box[0] / stretch, box[1] / stretch)
        points = unrolled(points, point, self._circles)
        distance = np.abs(points - point).sum(axis=1)
        members = self.neighbours(point)
        others = np.setdiff1d(np.arange(len(points)), members)
        moving = np.flatnonzero(step)
        for _ in range(HALVINGS if moving.size else 0):
            # Observations farther away than all steps together can bridge are never candidates.
            reach = distance[members].max() + 2.0 * np.abs(step).sum() + CLEAR
            rivals = others[distance[others] <= reach]
            here, there = point[moving], point[moving] + step[moving]
            nearer = np.abs(points[:, moving] - there) - np.abs(points[:, moving] - here)
            if any(turned.any() for turned in turning(points, point, point + step, self._circles).values()):
                # What goes round turns back: shorter steps leave the opposite of all points aside.
                step /= 2.0
                continue
            # The lead of i over j changes monotonically along every coordinate, so that it is least in a corner.
            least = (
                np.minimum(nearer[rivals] - nearer[i], 0.0).sum(axis=1) + distance[rivals] - distance[i]
                for i in members
            )
            if all(float(lead.min(initial=np.inf)) > CLEAR for lead in least):
                return np.minimum(point, point + step), np.maximum(point, point + step)
            step /= 2.0
        return None

    def _box_by_scores(self, point: Floats, row: Floats, inputs: InputMap, step: Floats) -> Box | None:
        """Return the box where scores stand for squared distances: their differences are linear."""
        scores = self.metric_.scores(self.points_, inputs, point.size)
        here, members = scores.at(point), self.neighbours(row)
        others = np.setdiff1d(np.arange(self.n_samples_), members)
        change = scores.slopes * step
        for _ in range(HALVINGS if step.any() else 0):
            lead = (here[others] - here[i] + np.minimum(change[others] - change[i], 0.0).sum(axis=1) for i in members)
            if all(float(least.min(initial=np.inf)) > CLEAR for least in lead):
                return np.minimum(point, point + step), np.maximum(point, point + step)
            step, change = step / 2.0, change / 2.0
        return None

    def state(self) -> Iterator[Any]:
        known: dict[str, Any] = {"kind": self.kind, "k": int(self.k), "shape": list(self.points_.shape)}
        if not self.plain:
            known |= {"scaled": bool(self.scaled), "frozen": self.frozen is not None, "unit": self.metric_.unit}
        if self.by_distance:
            known |= {"weights": "distance"}
        if self._circles:
            known |= {"circles": sorted(self._circles.items())}
        yield known
        yield self.points_.ravel()
        if self.metric_.matrix is not None:
            yield self.metric_.matrix.ravel()
        if self.mass_ is not None:
            yield self.mass_

    def describe(self) -> str:
        by = "" if self.metric_.matrix is None else " by Euclidean distance"
        if not isinstance(self.metric, str):
            by = " by a metric of your own"
        counted = ", each by the inverse of its distance" if self.by_distance and self.k > 1 else ""
        rows = "nearest row" if self.k == 1 else f"{self.k} nearest rows"
        return f"the {rows}{by}{'' if self.scaled else ' in your units'}{counted}"


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
        known = Rule(f"one of {', '.join(map(repr, KERNELS))}", one_of(*KERNELS).fits)
        known.check_all("KernelWeights", self, "kernel")
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
