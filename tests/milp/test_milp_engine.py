"""Limits, gaps, progress, options: what a caller may rely on besides the optimum."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

import numpy as np
import pytest
from tests import cases
from tests.asking import varied
from tests.blocks import count
from tests.forests import paper_forest
from tests.milp.asked import agree, answered, asked, expected, explain, forests
from tests.timing import at_most

from whence.errors import InputError
from whence.milp import criterion_rows as criteria
from whence.milp.model import Row
from whence.policy import Policy
from whence.question import Limits, Progress, Question
from whence.risk import CVaR


def hard(seed: int = 0, kind: str = "relative") -> Question:
    """A CVaR question that takes any solver a good while."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    Y = 10.0 + X @ rng.normal(size=(4, 5)) + rng.normal(size=(80, 5))
    policy = Policy(cases.OneOf(), paper_forest(40, 4, random_state=seed), CVaR(0.7)).fit(X, Y)
    context = policy.schema_.row(X[0])
    decision = policy.decide(context)
    case = cases.Case(seed, policy, context, decision, (decision + 1) % 5, kind)
    return case.question()


def test_time_limit_ends_the_search_with_a_bound() -> None:
    """A search that is cut short says so in time, and its bound does not exceed what it found."""
    for solver in ("highs", "scip"):
        question = varied(hard(), limits=Limits(time_limit=1.0), options={"solver": solver})
        with at_most(6.0):
            answer = explain(question)
        assert answer.status == "time_limit"
        assert 0.0 <= answer.bound <= answer.distance
        if answer.point is not None:
            assert question.claim.is_satisfied(question.weights.at(answer.point))


def test_node_limit_ends_the_search() -> None:
    """One node is not enough for a hard question."""
    answer = explain(varied(hard(), limits=Limits(node_limit=1, time_limit=20.0)))
    assert answer.status == "time_limit"
    assert answer.bound <= answer.distance


def test_progress_is_told_and_may_stop_the_search() -> None:
    """Bounds and distances arrive while a solver runs; False ends it as interrupted."""
    told: list[Progress] = []

    def stop_at_third(progress: Progress) -> bool:
        told.append(progress)
        return len(told) < 3

    answer = explain(varied(hard(), limits=Limits(time_limit=20.0, on_progress=stop_at_third)))
    assert answer.status == "interrupted"
    assert len(told) >= 3
    assert all(p.bound <= p.distance for p in told)
    assert answer.bound <= answer.distance


def test_an_error_in_the_callback_comes_through() -> None:
    """What the caller's function raises is not swallowed by a solver."""

    def fail(progress: Progress) -> bool:
        raise RuntimeError("enough")

    limits = Limits(time_limit=20.0, on_progress=fail)
    with pytest.raises(RuntimeError, match="enough"):
        explain(varied(hard(), limits=limits))


@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_an_error_in_the_decision_problem_comes_through(solver: str) -> None:
    """So does what the decision problem raises from within lazy rows."""

    def fail(weights: np.ndarray) -> np.ndarray | None:
        raise RuntimeError("no plan")

    case = next(c for c in forests(range(50), samples=12, kind="absolute") if expected(c, asked(c)) < np.inf)
    question = varied(asked(case), better=fail, options={"solver": solver, "method": "lazy"})
    with pytest.raises(RuntimeError, match="no plan"):
        explain(question)


def test_a_gap_loosens_the_optimum_but_not_the_bound() -> None:
    """With a gap of one half the distance may double, and the bound stays below the optimum."""
    for case in forests(range(700, 700 + count(15, 40)), samples=12):
        question = asked(case)
        distance = expected(case, question)
        answer = answered(question, mip_gap=0.5)
        assert (answer.status == "none") == (distance == np.inf)
        if distance < np.inf:
            assert answer.bound - 1e-7 <= distance <= answer.distance + 1e-7
            assert answer.distance <= 2.0 * distance + 1e-6


def test_threads_may_change_from_call_to_call() -> None:
    """HiGHS keeps its threads from one call to the next unless told otherwise; the answer stays."""
    question = asked(next(forests(range(3, 4))))
    found = [answered(question, threads=threads).distance for threads in (1, 2, None, 1)]
    assert len({round(distance, 9) for distance in found}) == 1


def test_single_solves_can_be_asked_for() -> None:
    """Without confirmation HiGHS solves once, with fewer nodes or as many."""
    question = asked(next(forests(range(5, 6))))
    assert answered(question, confirm=False).nodes <= answered(question).nodes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "cplex"}, "The 'solver' parameter must be 'highs', 'gurobi' or 'scip'. Got 'cplex' instead."),
        ({"method": "magic"}, "The 'method' parameter must be 'iterative', 'lazy' or 'dual'. Got 'magic' instead."),
        ({"method": "lazy"}, "which has no lazy constraints. Got 'lazy' instead."),
        ({"mip_gap": -1.0}, "The 'mip_gap' parameter must be a float >= 0. Got -1.0 instead."),
        ({"threads": 0}, "The 'threads' parameter must be an int >= 1 or None. Got 0 instead."),
        ({"threads": 2, "solver": "scip"}, "must be 1 or None with solver='scip'. Got 2 instead."),
        ({"log": "yes"}, "The 'log' parameter must be True or False. Got 'yes' instead."),
        ({"w_max": 3}, "The 'w_max' parameter must be 'sample', 'path', 'mean' or 'unit'. Got 3 instead."),
        ({"presolve": True}, "Got 'presolve' instead."),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    """One sentence that names the option and what came."""
    question = asked(next(forests(range(1), kind="absolute")))
    with pytest.raises(InputError) as error:
        answered(question, **options)
    assert message in str(error.value)


@pytest.mark.parametrize("solver", ["highs", "scip"])
@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_ctrl_c_ends_a_solver(solver: str, kind: str) -> None:
    """A real SIGINT, without any progress asked for, ends the solver soon with status, point and bound."""
    question = varied(hard(kind=kind), limits=Limits(time_limit=20.0), options={"solver": solver})
    # Tests that run in the background inherit that Ctrl-C is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # A process of its own: a solver may keep the threads of this one waiting.
    sender = subprocess.Popen(["sh", "-c", f"sleep 0.7; kill -INT {os.getpid()}"])
    try:
        answer = explain(question)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        sender.wait(timeout=10)
        signal.signal(signal.SIGINT, before)
    assert answer.status == "interrupted"
    assert 0.0 <= answer.bound <= answer.distance
    if answer.point is not None:
        assert question.claim.is_satisfied(question.weights.at(answer.point))


def test_an_error_of_the_signal_handler_comes_through() -> None:
    """What a handler of the caller's own raises on SIGINT ends the solver and reaches the caller."""

    def fail(signum: int, frame: object) -> None:
        raise RuntimeError("signalled")

    before = signal.signal(signal.SIGINT, fail)
    sender = subprocess.Popen(["sh", "-c", f"sleep 0.7; kill -INT {os.getpid()}"])
    try:
        with pytest.raises(RuntimeError, match="signalled"):
            explain(varied(hard(), limits=Limits(time_limit=20.0)))
    finally:
        sender.wait(timeout=10)
        signal.signal(signal.SIGINT, before)


def test_what_the_rows_let_through_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solution is only an answer where the criterion holds: rows that say nothing make it slower, not wrong."""
    monkeypatch.setattr(criteria, "scaled", lambda expression, upper: Row(expression, -np.inf, np.inf))
    away = 0
    for case in forests(range(60), samples=10, kind="relative"):
        question = asked(case)
        if question.weights.n_samples_ > 8 or len(question.weights.trees) > 3:
            continue
        distance = expected(case, question)
        agree(answered(question), distance, case)
        away += 0 < distance < np.inf
    assert away >= 3
