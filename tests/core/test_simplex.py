"""The dual simplex, held against HiGHS on small linear programs whose rows arrive one by one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from tests.blocks import seeds

from whence._core import Simplex, SimplexStatus

Floats = NDArray[np.float64]


class Program:
    """A small linear program: some upper bounds infinite, some costs 0, whole numbers in half of them for ties."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        v, r = int(rng.integers(1, 7)), int(rng.integers(1, 12))
        whole = seed % 2 == 0
        self.cost = rng.integers(0, 4, v).astype(float) if whole else rng.uniform(0.1, 2.0, v)
        self.upper = np.where(rng.random(v) < 0.3, np.inf, rng.integers(1, 5, v) if whole else rng.uniform(0.2, 3.0, v))
        self.rows = rng.integers(-3, 3, (r, v)).astype(float) if whole else rng.normal(size=(r, v))
        self.limits = rng.integers(-4, 2, r).astype(float) if whole else rng.normal(-0.5, 1.0, r)
        self.second = rng.uniform(0.5, 2.0, v)

    def least(self, count: int, cost: Floats | None = None, at_most: float | None = None) -> float:
        """Least cost under the first rows; with `at_most` the least of another cost among plans of that cost."""
        rows, limits = self.rows[:count], self.limits[:count]
        if at_most is not None:
            rows, limits = np.vstack([rows, self.cost]), np.append(limits, at_most)
        bounds = [(0.0, None if np.isinf(high) else high) for high in self.upper]
        found = linprog(self.cost if cost is None else cost, rows, limits, bounds=bounds, method="highs")
        assert found.status in (0, 2), found.message
        return float(found.fun) if found.status == 0 else np.inf

    def holds(self, u: Floats, count: int) -> bool:
        """Whether values satisfy bounds and the first rows."""
        inside = bool((u >= 0.0).all() and (u <= self.upper).all())
        return inside and bool((self.rows[:count] @ u <= self.limits[:count] + 1e-8).all())


@pytest.mark.parametrize("block", seeds(3, 10))
def test_same_optimum_as_highs_after_every_row(block: int) -> None:
    """On 400 programs the least cost after each row is HiGHS's, at values that satisfy all rows so far."""
    ends = set()
    for seed in range(40 * block, 40 * block + 40):
        program = Program(seed)
        simplex = Simplex(program.upper, program.cost, 0.0 * program.cost, 50)
        for count in range(1, len(program.rows) + 1):
            simplex.add_row(program.rows[count - 1], program.limits[count - 1])
            status, cost = simplex.minimise()
            expected = program.least(count)
            ends.add(status)
            if expected == np.inf:
                assert status is SimplexStatus.INFEASIBLE, seed
                break
            assert status is SimplexStatus.SOLVED, seed
            assert cost == pytest.approx(expected, abs=1e-8), seed
            u = simplex.solution()
            assert program.holds(u, count), seed
            assert program.cost @ u == pytest.approx(cost, abs=1e-8), seed
    assert ends == {SimplexStatus.SOLVED, SimplexStatus.INFEASIBLE}


@pytest.mark.parametrize("block", seeds(2, 5))
def test_second_costs_decide_ties(block: int) -> None:
    """With second costs the values are cheapest, and of all such the cheapest by the second costs."""
    for seed in range(40 * block, 40 * block + 40):
        program = Program(2 * seed)
        simplex = Simplex(program.upper, program.cost, program.second, 50)
        for row, limit in zip(program.rows, program.limits, strict=True):
            simplex.add_row(row, limit)
        status, cost = simplex.minimise()
        expected = program.least(len(program.rows))
        assert (status is SimplexStatus.SOLVED) == (expected < np.inf), seed
        if expected < np.inf:
            assert cost == pytest.approx(expected, abs=1e-8), seed
            second = program.least(len(program.rows), program.second, expected + 1e-9)
            assert program.second @ simplex.solution() == pytest.approx(second, abs=1e-6), seed


def test_a_cost_above_the_cutoff_counts_as_infeasible() -> None:
    """The search stops as soon as its lower bound exceeds what is asked for."""
    simplex = Simplex(np.array([5.0]), np.array([2.0]), np.zeros(1), 4)
    simplex.add_row(np.array([-1.0]), -3.0)
    assert simplex.minimise(7.0) == (SimplexStatus.SOLVED, 6.0)
    simplex.add_row(np.array([-1.0]), -4.0)
    assert simplex.minimise(7.0)[0] is SimplexStatus.INFEASIBLE


def test_rows_that_do_not_bind_make_room() -> None:
    """With little room the cost never falls and never exceeds that under all rows, and the newest row holds."""
    for seed in range(100):
        program = Program(2 * seed + 1)
        v = program.cost.size
        simplex = Simplex(program.upper, program.cost, 0.0 * program.cost, v + 1)
        before = 0.0
        for count, row in enumerate(np.repeat(program.rows, 3, axis=0), start=1):
            limit = program.limits[(count - 1) // 3]
            simplex.add_row(row, limit)
            status, cost = simplex.minimise()
            expected = program.least((count + 2) // 3)
            if status is SimplexStatus.INFEASIBLE:
                assert expected == np.inf
                break
            assert before - 1e-9 <= cost <= expected + 1e-8
            assert row @ simplex.solution() <= limit + 1e-8
            before = cost


def test_without_rows_everything_is_at_zero() -> None:
    """Rows that are forgotten no longer count."""
    simplex = Simplex(np.array([5.0, 1.0]), np.array([2.0, 1.0]), np.zeros(2), 8)
    simplex.add_row(np.array([-1.0, -1.0]), -3.0)
    assert simplex.minimise() == (SimplexStatus.SOLVED, 5.0)
    assert simplex.solution().tolist() == [2.0, 1.0]
    simplex.clear_rows()
    assert simplex.minimise() == (SimplexStatus.SOLVED, 0.0)
    assert simplex.solution().tolist() == [0.0, 0.0]


def test_the_cutoff_decides_at_the_least_cost_itself() -> None:
    """On 60 programs a cutoff just above the least cost lets it through, and one just below does not."""
    decided = 0
    for seed in range(60):
        program = Program(seed)
        expected = program.least(len(program.rows))
        if not 0.0 < expected < np.inf:
            continue
        for factor in (1.01, 0.99):
            simplex = Simplex(program.upper, program.cost, 0.0 * program.cost, 50)
            for row, limit in zip(program.rows, program.limits, strict=True):
                simplex.add_row(row, limit)
            solved = simplex.minimise(factor * expected)[0] is SimplexStatus.SOLVED
            assert solved == (factor > 1.0), seed
            decided += 1
    assert decided > 20
