"""What the core refuses: arrays of another type or layout, and sizes that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.core.neighbour_scene import Scene

from whence._core import Axis, AxisKind, NeighbourSearch, Simplex, best_recourse, cutting_planes

TWO = np.zeros((6, 2))


def _axes() -> list[Axis]:
    return [Axis(AxisKind.CONTINUOUS, 0.5, 1.0, 0.0, 1.0), Axis(AxisKind.CONTINUOUS, 0.5, 1.0, 0.0, 1.0)]


def _search(**changed: Any) -> NeighbourSearch:
    given: dict[str, Any] = {
        "axes": _axes(), "points": np.random.default_rng(0).random((6, 2)), "base": np.zeros(6), "k": 2,
        "separation": 1e-6, "margin": 2e-6, "alternative": np.zeros(6), "tau": 0.0, "tail": None,
    }  # fmt: skip
    return NeighbourSearch(**{**given, **changed})


@pytest.mark.parametrize("array", ["points", "base", "alternative"])
@pytest.mark.parametrize("change", ["float32", "int64", "strided", "list", "None", "shape"])
def test_a_search_takes_arrays_only_as_they_are(array: str, change: str) -> None:
    """No array is converted or copied silently."""
    whole = TWO if array == "points" else np.zeros(6)
    wrong: Any = {
        "float32": whole.astype(np.float32),
        "int64": whole.astype(np.int64),
        "strided": np.repeat(whole, 2, axis=-1)[..., ::2],
        "list": whole.tolist(),
        "None": None,
        "shape": whole.reshape(1, *whole.shape),
    }[change]
    with pytest.raises(TypeError):
        _search(**{array: wrong})


@pytest.mark.parametrize(
    "changed",
    [
        {"points": np.zeros((6, 3))},
        {"points": np.full((6, 2), np.nan)},
        {"base": np.zeros(5)},
        {"base": np.full(6, np.inf)},
        {"alternative": np.zeros(7)},
        {"alternative": np.full(6, np.nan)},
        {"k": 0},
        {"k": 7},
        {"separation": -1.0},
        {"margin": 1e-7},
        {"tau": np.nan},
        {"tail": 0.0},
        {"tail": 2.5},
        {"widest": -1.0},
        {"widest": np.nan},
        {"confidence": -1.0},
        {"confidence": np.inf},
        {"axes": []},
    ],
    ids=str,
)
def test_a_search_refuses_what_does_not_fit(changed: dict[str, Any]) -> None:
    """Sizes and numbers that do not belong together are refused with a sentence."""
    with pytest.raises(ValueError, match="must"):
        _search(**changed)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((AxisKind.CONTINUOUS, np.nan, 1.0, 0.0, 1.0), {}),
        ((AxisKind.CONTINUOUS, 0.0, 1.0, 1.0, 0.0), {}),
        ((AxisKind.CONTINUOUS, 0.0, 0.0, 0.0, 1.0), {}),
        ((AxisKind.CONTINUOUS, 0.0, 1.0, 0.0, 1.0), {"gaps": np.array([[0.6, 0.4]])}),
        ((AxisKind.DISCRETE, 0.0, 1.0, 0.0, 1.0), {}),
        ((AxisKind.CATEGORY, 0.0, 1.0, 0.0, 1.0), {}),
        ((AxisKind.CATEGORY, 0.0, 1.0, 0.0, 2.0), {"costs": np.zeros(2)}),
        ((AxisKind.CATEGORY, 0.0, 1.0, -1.0, 1.0), {"costs": np.zeros(2)}),
        ((AxisKind.CATEGORY, 0.0, 1.0, 0.0, 0.5), {"costs": np.zeros(2)}),
    ],
)
def test_an_axis_refuses_what_cannot_be(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    """A range must not be empty, a weight must be positive, a category's ranks must exist."""
    with pytest.raises(ValueError, match="must"):
        Axis(*arguments, **options)


def test_an_axis_takes_arrays_only_as_they_are() -> None:
    """Levels and costs are arrays of float64."""
    with pytest.raises(TypeError):
        Axis(AxisKind.DISCRETE, 0.0, 1.0, 0.0, 1.0, levels=np.array([0, 1]))
    with pytest.raises(TypeError):
        Axis(AxisKind.CATEGORY, 0.0, 1.0, 0.0, 1.0, costs=[0.0, 1.0])  # type: ignore[arg-type]


def test_methods_of_a_search_refuse_what_does_not_fit() -> None:
    """Rivals, members, contexts and boxes of another size or place are refused, and the search goes on as before."""
    scene = Scene(0, "ck", n=9, k=3)
    search, ids = scene.search, np.arange(3)
    for wrong in (
        lambda: search.cut(np.zeros(9, dtype=np.float32)),
        lambda: search.exclude(ids.astype(np.int32)),
        lambda: search.standing(np.zeros((4, 2), order="F")),
        lambda: search.standing(np.zeros((4, 2), dtype=np.int64)),
        lambda: search.advance(1.5, 1.0),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            wrong()
    for beyond in (
        lambda: search.cut(np.zeros(8)),
        lambda: search.cut(np.full(9, np.nan)),
        lambda: search.exclude(np.arange(4)),
        lambda: search.exclude(np.array([0, 1, 9])),
        lambda: search.exclude(np.array([-1, 1, 2])),
        lambda: search.standing(np.zeros((4, 3))),
        lambda: search.advance(1, 1.0, 0),
        lambda: search.advance(1, 1.0, 2000),
    ):
        with pytest.raises(ValueError, match=r"must|more"):
            beyond()
    assert search.advance(1, 1.0) is not None


def test_the_simplex_refuses_what_does_not_fit() -> None:
    """The simplex takes arrays of float64 only, of matching sizes."""
    one = np.ones(1)
    with pytest.raises(TypeError):
        Simplex(np.ones(1, dtype=np.float32), one, one, 4)
    for arguments in ((one, np.ones(2), one, 4), (-one, one, one, 4), (one, -one, one, 4), (one, one, one, 1)):
        with pytest.raises(ValueError, match="must"):
            Simplex(*arguments)
    simplex = Simplex(one, one, 0.0 * one, 4)
    with pytest.raises(ValueError, match="must hold 1 entries"):
        simplex.add_row(np.ones(2), 1.0)
    with pytest.raises(TypeError):
        simplex.add_row(np.ones(1, dtype=np.int64), 1.0)


def test_the_shipment_kernels_refuse_what_does_not_fit() -> None:
    """Outputs must be writable arrays of float64 of the right size; nothing is written to a copy."""
    ship, plan, demands, costs = np.ones((2, 3)), np.ones(2), np.ones((4, 3)), np.zeros(4)
    fixed = np.zeros(4)
    fixed.setflags(write=False)
    for arguments in (
        (ship.astype(np.float32), 1.0, plan, demands, costs),
        (np.asfortranarray(ship), 1.0, plan, demands, costs),
        (ship, 1.0, plan, demands, np.zeros(8)[::2]),
        (ship, 1.0, plan, demands, costs.astype(np.float32)),
        (ship, 1.0, plan, demands, fixed),
        (ship, 1.0, plan, demands, [0.0] * 4),
    ):
        with pytest.raises(TypeError):
            best_recourse(*arguments)
    for arguments in (
        (np.empty((0, 3)), 1.0, np.empty(0), demands, costs),
        (np.ones((17, 3)), 1.0, np.ones(17), demands, costs),
        (np.full((2, 3), np.nan), 1.0, plan, demands, costs),
        (ship, -1.0, plan, demands, costs),
        (ship, 1.0, np.ones(3), demands, costs),
        (ship, 1.0, plan, np.ones((4, 2)), costs),
        (ship, 1.0, plan, np.full((4, 3), np.inf), costs),
        (ship, 1.0, plan, demands, np.zeros(3)),
    ):
        with pytest.raises(ValueError, match="must"):
            best_recourse(*arguments)
    weights = np.full(4, 0.25)
    with pytest.raises(TypeError):
        cutting_planes(ship, 1.0, 1.0, demands, weights, 1.0, 100, np.zeros(2, dtype=np.float32))
    for changed in (
        (ship, 1.0, 1.0, demands, np.ones(3), 1.0, 100, plan),
        (ship, 1.0, -1.0, demands, weights, 1.0, 100, plan),
        (ship, 1.0, 1.0, demands, weights, 0.0, 100, plan),
        (ship, 1.0, 1.0, demands, weights, 1.0, -1, plan),
        (ship, 1.0, 1.0, demands, weights, 1.0, 100, np.ones(3)),
    ):
        with pytest.raises(ValueError, match="must"):
            cutting_planes(*changed)
