"""What sets of neighbours must satisfy, held against every set there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.core.neighbour_scene import Scene

from whence.risk import CVaR, Expectation, Risk

RISKS: list[Risk] = [Expectation(), CVaR(0.25), CVaR(0.5), CVaR(0.7), CVaR(0.95), CVaR(1.0 - 1e-12)]

Ids = NDArray[np.int64]


def _ids(members: tuple[int, ...] | list[int]) -> Ids:
    return np.array(members, dtype=np.int64)


@pytest.mark.parametrize("risk", RISKS, ids=str)
def test_a_set_is_judged_by_the_definition(risk: Risk) -> None:
    """Mean and CVaR of k equal weights decide every one of 8 over k sets as the definition does."""
    verdicts = set()
    for k in range(1, 8):
        scene = Scene(k, "c", n=8, k=k, rivals=2, risk=risk)
        for members in map(_ids, itertools.combinations(range(8), k)):
            expected = scene.holds(members)
            assert scene.search.satisfied(members) == expected
            assert scene.search.hopeless(members, _ids([])) != expected
            verdicts.add(expected)
    assert verdicts == {True, False}


@pytest.mark.parametrize("risk", RISKS, ids=str)
@pytest.mark.parametrize("rivals", [1, 3])
def test_no_set_that_stands_is_given_up(risk: Risk, rivals: int) -> None:
    """Where some completion of a partial set stands, it is not hopeless; with one rival and the mean, only then."""
    given_up = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, k = 8, int(rng.integers(1, 7))
        scene = Scene(seed, "c", n=n, k=k, rivals=rivals, risk=risk)
        order = rng.permutation(n)
        inside, undecided = np.split(order[: int(rng.integers(k, n + 1))], [int(rng.integers(0, k + 1))])
        completions = itertools.combinations(undecided.tolist(), k - len(inside)) if len(inside) <= k else []
        possible = any(scene.holds(_ids([*inside.tolist(), *more])) for more in completions)
        hopeless = scene.search.hopeless(inside, undecided)
        assert not (possible and hopeless), seed
        if isinstance(risk, Expectation) and rivals == 1:
            assert hopeless == (not possible), seed
        given_up += hopeless
    assert given_up > 5


def test_too_few_or_too_many_members_are_hopeless() -> None:
    """A set that cannot have k members satisfies nothing."""
    scene = Scene(0, "c", n=8, k=3)
    assert scene.search.hopeless(_ids([0, 1, 2, 3]), _ids([]))
    assert scene.search.hopeless(_ids([0]), _ids([1]))


def test_a_set_that_is_left_out_does_not_satisfy() -> None:
    """In whatever order its members are named, and only this set."""
    scene = Scene(4, "c", n=8, k=3, rivals=1)
    standing = [m for m in map(_ids, itertools.combinations(range(8), 3)) if scene.search.satisfied(m)]
    first, *others = standing
    scene.search.exclude(first[[2, 0, 1]])
    assert not scene.search.satisfied(first)
    assert not scene.search.satisfied(first[::-1].copy())
    assert all(scene.search.satisfied(members) for members in others)
    assert not scene.search.hopeless(first, _ids([]))


def test_every_cut_counts() -> None:
    """A rival that no set can stand against makes every set hopeless."""
    scene = Scene(4, "c", n=8, k=3, rivals=1)
    assert not scene.search.hopeless(_ids([]), np.arange(8))
    scene.search.cut(scene.alternative - 1.0)
    assert scene.search.hopeless(_ids([]), np.arange(8))
