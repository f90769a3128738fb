"""Solves of the decision problem that end when a search has no time left."""

from __future__ import annotations

import time

import numpy as np
import pytest

import whence as wh
from whence.util.linear_program import OutOfTime, check_time, seconds_left, until


def market_split() -> wh.LinearProblem:
    """Split customers evenly over regions: a small integer program that takes solvers very long."""
    rng = np.random.default_rng(0)
    rows, n = 5, 40
    shares = rng.integers(0, 100, (rows, n)).astype(float)
    # Slack on both sides is what costs.
    A = np.hstack([shares, np.eye(rows), -np.eye(rows)])
    bounds = [(0.0, 1.0)] * n + [(0.0, np.inf)] * (2 * rows)
    whole = [1] * n + [0] * (2 * rows)
    return wh.LinearProblem(A_eq=A, b_eq=np.floor(shares.sum(axis=1) / 2), bounds=bounds, integrality=whole)


def test_a_program_ends_when_the_time_is_up() -> None:
    """HiGHS is told how long it may take, and the end is an error that says so."""
    problem = market_split()
    costs = np.concatenate([np.zeros(40), np.ones(10)])[None, :]
    began = time.perf_counter()
    with pytest.raises(OutOfTime, match="time limit"), until(began + 0.3):
        problem.solve(costs, np.ones(1), wh.Expectation())
    assert time.perf_counter() - began < 1.5


def test_nothing_is_begun_after_the_end() -> None:
    """Where the moment has passed, a solve does not begin; outside, nothing is limited."""
    assert seconds_left() == np.inf
    with until(time.perf_counter() - 1.0):
        with pytest.raises(OutOfTime):
            check_time()
        with pytest.raises(OutOfTime):
            wh.LinearProblem(A_ub=[[1.0]], b_ub=[1.0]).solve(np.array([[-1.0]]), np.ones(1), wh.Expectation())
    check_time()
    assert seconds_left() == np.inf
