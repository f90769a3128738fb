"""The search among contexts that a kernel weighs: its sums, bounds and refusals, against plain arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence._core import Axis, AxisKind, KernelMeasure, KernelSearch, KernelShape

KERNELS = {
    KernelShape.GAUSSIAN: lambda u: np.exp(-0.5 * u**2),
    KernelShape.EPANECHNIKOV: lambda u: np.maximum(1 - u**2, 0),
    KernelShape.BIWEIGHT: lambda u: np.maximum(1 - u**2, 0) ** 2,
    KernelShape.TRICUBE: lambda u: np.maximum(1 - u**3, 0) ** 3,
}
WAYS = [(KernelMeasure.SUMS, shape) for shape in KERNELS] + [
    *((KernelMeasure.SQUARES, shape) for shape in KERNELS if shape is not KernelShape.GAUSSIAN),
    (KernelMeasure.SCORES, KernelShape.GAUSSIAN),
]
LEAST = 1e-3


class _Scene:
    """Past contexts in a square, and a plan with a rival."""

    def __init__(self, seed: int, measure: KernelMeasure, shape: KernelShape) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.measure, self.shape, self.n = measure, shape, 10
        self.points, self.base = rng.random((self.n, 2)), 0.05 * rng.random(self.n)
        self.factors = rng.uniform(1.0, 12.0, 2)
        self.axes = [Axis(AxisKind.CONTINUOUS, float(rng.random()), float(rng.uniform(0.5, 2)), 0.0, 1.0) for _ in "xy"]
        self.alternative, self.rival = rng.random(self.n), rng.random(self.n) - 0.1
        self.rows = np.ascontiguousarray(-2.0 * self.points * self.factors) if self.scored else self.points
        if self.scored:
            self.base = self.base + self.points**2 @ self.factors
        self.search = self.made()
        self.search.cut(self.rival)

    @property
    def scored(self) -> bool:
        return self.measure is KernelMeasure.SCORES

    def made(self, **changes: Any) -> KernelSearch:
        least = 0.0 if self.shape is KernelShape.GAUSSIAN else LEAST
        given = {
            "axes": self.axes, "measure": self.measure, "shape": self.shape, "rows": self.rows, "base": self.base,
            "factors": self.factors, "entries": None, "least": least, "alternative": self.alternative, "tau": 1e-9,
        }  # fmt: skip
        return KernelSearch(**{**given, **changes})

    def excess(self, contexts: np.ndarray) -> np.ndarray:
        """Mean excess of the alternative, infinite where nothing counts."""
        gaps = contexts[:, None, :] - self.points
        if self.measure is KernelMeasure.SUMS:
            u = self.base + np.abs(gaps) @ self.factors
        elif self.scored:
            u = np.sqrt(self.base - self.points**2 @ self.factors + gaps**2 @ self.factors)
        else:
            u = np.sqrt(self.base + gaps**2 @ self.factors)
        values = KERNELS[self.shape](u)
        total = values.sum(axis=1)
        mean = values @ (self.alternative - self.rival) / np.maximum(total, 1e-300) - 1e-9
        return np.where(total >= LEAST, mean, np.inf) if self.shape is not KernelShape.GAUSSIAN else mean

    def distance(self, contexts: np.ndarray) -> np.ndarray:
        start, weight = np.array([a.start for a in self.axes]), np.array([a.weight for a in self.axes])
        return np.asarray(np.abs(contexts - start) @ weight)


@pytest.mark.parametrize(("measure", "shape"), WAYS)
def test_contexts_stand_as_the_weights_say(measure: KernelMeasure, shape: KernelShape) -> None:
    """Whether a context is an explanation is told by the mean over the kernel's values, which common factors leave."""
    for seed in range(10):
        scene = _Scene(seed, measure, shape)
        contexts = scene.rng.random((500, 2))
        excess = scene.excess(contexts)
        clear = np.abs(excess) > 1e-9
        np.testing.assert_array_equal(scene.search.standing(contexts)[clear], (excess <= 0.0)[clear])


@pytest.mark.parametrize(("measure", "shape"), WAYS)
def test_the_bound_is_never_above_an_explanation(measure: KernelMeasure, shape: KernelShape) -> None:
    """After every box no context of a fine grid that is one lies nearer than the bound; at the end the gap is kept."""
    line = np.linspace(0, 1, 201)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    for seed in range(12):
        scene = _Scene(seed, measure, shape)
        nearest = scene.distance(grid)[scene.excess(grid) <= -1e-9].min(initial=np.inf)
        for _ in range(20_000):
            ended = scene.search.advance(1, np.inf, 0.02)
            assert min(scene.search.bound, scene.search.met_distance) <= nearest + 1e-9
            if ended:
                break
        assert ended
        if np.isinf(scene.search.met_distance):
            assert np.isinf(nearest)
            continue
        assert scene.excess(scene.search.met[None, :])[0] <= 1e-9
        assert scene.search.met_distance * 0.98 <= scene.search.bound + 1e-9
        np.testing.assert_allclose(scene.distance(scene.search.met[None, :])[0], scene.search.met_distance, atol=1e-9)


def test_a_cut_brings_back_what_was_put_off() -> None:
    """A further rival takes away what was met; the answer is then that of both, as if they had been there at once."""
    for seed in range(20):
        one, both = (_Scene(seed, KernelMeasure.SCORES, KernelShape.GAUSSIAN) for _ in "ab")
        other = one.rng.random(one.n) - 0.2
        while not one.search.advance(50, np.inf, 0.01):
            pass
        one.search.cut(other)
        both.search.cut(other)
        for scene in (one, both):
            while not scene.search.advance(50, np.inf, 0.01):
                pass
        if np.isinf(both.search.met_distance):
            assert np.isinf(one.search.met_distance)
        else:
            assert one.search.met_distance == pytest.approx(both.search.met_distance, rel=0.0102)


@pytest.mark.parametrize(("measure", "shape"), [way for way in WAYS if way[1] is not KernelShape.GAUSSIAN])
def test_a_ball_that_grows_meets_again_what_did_not_count_in_it(measure: KernelMeasure, shape: KernelShape) -> None:
    """Asked for within one distance after the other, the answer is that of a search that was not kept back."""
    for seed in range(30):
        slowly, once = (_Scene(seed, measure, shape) for _ in "ab")
        for scene in (slowly, once):
            # Few past contexts count in any one place.
            scene.factors = scene.factors * 8.0
            scene.search = scene.made()
            scene.search.cut(scene.rival)
        for cutoff in (0.05, 0.1, 0.2, 0.4, 0.8, np.inf):
            while not slowly.search.advance(50, cutoff, 0.01):
                pass
        while not once.search.advance(50, np.inf, 0.01):
            pass
        if np.isinf(once.search.met_distance):
            assert np.isinf(slowly.search.met_distance), seed
        else:
            assert slowly.search.met_distance == pytest.approx(once.search.met_distance, rel=0.0102), seed


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rows": np.zeros((3, 2))}, "'base' array must hold 3 entries"),
        ({"factors": np.zeros(3)}, "'factors' array must hold 2 entries"),
        ({"entries": np.zeros((10, 2))}, "'entries' must have a row for every point"),
        ({"shape": KernelShape.TRICUBE}, "Scores are for a Gaussian kernel"),
        ({"least": 0.1}, "'least' must be positive for a kernel that ends"),
        ({"tau": np.nan}, "'tau' must be a number"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], words: str) -> None:
    """Arrays that do not belong to the axes, and kernels that do not belong to the measure, are refused."""
    with pytest.raises(ValueError, match=words):
        _Scene(0, KernelMeasure.SCORES, KernelShape.GAUSSIAN).made(**changes)
