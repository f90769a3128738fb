"""Many explanations at once: the same as one by one, whatever the workers, whatever goes wrong in a row."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from tests.forests import paper_forest
from tests.processes import dask_cluster, usual_signals

import whence as wh
from whence.batch import Explanations
from whence.errors import InputError, InputTypeError, NotFittedError, RowError, UnansweredError, WhenceError
from whence.explain.explanation import Explanation

PLAN = [45.0]


def demand(n: int = 120) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Demand that is high on hot days and at weekends."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"heat": rng.uniform(0.0, 30.0, n), "day": rng.choice(["week", "weekend"], n)})
    return X, pd.DataFrame({"ice": 10 + X["heat"] + 20 * (X["day"] == "weekend") + rng.normal(0, 2, n)})


def fitted(problem: wh.DecisionProblem | None = None) -> wh.Policy:
    """A newsvendor (or another problem) on `demand`."""
    problem = problem or wh.Newsvendor(holding=1.0, backorder=2.0)
    return wh.Policy(problem, paper_forest(n_trees=20, max_depth=4, random_state=0)).fit(*demand())


@pytest.fixture(scope="module")
def policy() -> wh.Policy:
    """The policy that most tests ask."""
    return fitted()


@pytest.fixture(scope="module")
def contexts() -> pd.DataFrame:
    """Twenty contexts, labelled."""
    X = demand()[0].head(20)
    return X.set_axis([f"day {i}" for i in range(20)])


@pytest.fixture(scope="module")
def plan(policy: wh.Policy, contexts: pd.DataFrame) -> Any:
    """What is decided in the first of the contexts, so that it holds there already."""
    return policy.decide(contexts.iloc[[0]])


@pytest.fixture(scope="module")
def one_by_one(policy: wh.Policy, contexts: pd.DataFrame, plan: Any) -> list[Explanation]:
    """What `explain` says to each of the contexts."""
    return [policy.explain(contexts.iloc[[i]], plan) for i in range(len(contexts))]


def assert_same(found: Explanations, expected: list[Any]) -> None:
    """Every entry agrees with the expected one in everything but the time it took; an error in its text."""
    assert len(found) == len(expected)
    for entry, other in zip(found, expected, strict=True):
        if isinstance(other, WhenceError):
            assert (type(entry), str(entry)) == (type(other), str(other))
            continue
        assert isinstance(entry, Explanation)
        assert (entry.status, entry.distance, entry.bound, entry.nodes) == (
            other.status,
            other.distance,
            other.bound,
            other.nodes,
        )
        assert (entry.cost_before, entry.cost_after) == (other.cost_before, other.cost_after)
        pd.testing.assert_frame_equal(entry.changes, other.changes)
        np.testing.assert_array_equal(entry.weights_after, other.weights_after)


# ---- results -----------------------------------------------------------------------------------------------------


def test_agrees_with_explain(
    policy: wh.Policy, contexts: pd.DataFrame, one_by_one: list[Explanation], plan: Any
) -> None:
    """A batch gives what the rows give one by one, in their order, and rows of several kinds are among them."""
    found = policy.explain_many(contexts, plan)
    assert_same(found, one_by_one)
    assert {entry.status for entry in one_by_one} == {"optimal", "already"}
    assert len({entry.distance for entry in one_by_one}) > 5


def test_contexts_of_any_shape(
    policy: wh.Policy, contexts: pd.DataFrame, one_by_one: list[Explanation], plan: Any
) -> None:
    """A table, an array, a list of mappings and columns in another order all mean the same contexts."""
    for given in (
        contexts[["day", "heat"]],
        contexts.to_numpy(dtype=object),
        contexts.to_dict("records"),
        [row for _, row in contexts.iterrows()],
        (contexts.iloc[[i]] for i in range(len(contexts))),
    ):
        assert_same(policy.explain_many(given, plan), one_by_one)


def test_options_reach_every_row(policy: wh.Policy, contexts: pd.DataFrame, plan: Any) -> None:
    """Options hold for all rows: a fixed feature stays, the kind is the one asked for, limits end searches."""
    fixed = policy.explain_many(contexts, plan, fixed=["heat"], kind="absolute")
    assert all("heat" not in entry.changes["feature"].tolist() for entry in fixed if isinstance(entry, Explanation))
    assert set(fixed.frame["status"]) == {"already", "none", "optimal"}
    assert {entry.kind for entry in fixed if isinstance(entry, Explanation)} == {"absolute"}
    stopped = policy.explain_many(contexts, plan, node_limit=1)
    assert "time_limit" in set(stopped.frame["status"])


def test_a_bad_row_stops_no_other(
    policy: wh.Policy, contexts: pd.DataFrame, one_by_one: list[Explanation], plan: Any
) -> None:
    """Rows with missing values, unknown categories or plans that cannot be keep their errors to themselves."""
    given = contexts.copy()
    given.iloc[3, 0] = np.nan
    given.iloc[7, 1] = "holiday"
    plans: list[Any] = [plan] * len(given)
    plans[11] = [-5.0]
    found = policy.explain_many(given, plans)
    assert list(found.errors) == [3, 7, 11]
    assert all(isinstance(error, InputError) for error in found.errors.values())
    assert "must not hold missing values" in str(found.errors[3])
    assert "holiday" in str(found.errors[7])
    assert "must not be negative" in str(found.errors[11])
    good = [i for i in range(len(given)) if i not in found.errors]
    assert_same(Explanations([found[i] for i in good]), [one_by_one[i] for i in good])
    assert found.frame.loc["day 3", "error"] == str(found.errors[3])
    assert found.frame.loc["day 3", "status"] == "error"


class Touchy(wh.Newsvendor):
    """A newsvendor whose own code fails on one plan, and ends the process on another."""

    def costs(self, decision: Any, Y: Any) -> Any:
        """Costs, if the plan is to its liking."""
        if len(Y) > 1 and decision[0] == 13.0:
            raise ZeroDivisionError("thirteen")
        if len(Y) > 1 and decision[0] == 666.0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().costs(decision, Y)


def test_an_error_of_the_users_own_code_stays_in_its_row(contexts: pd.DataFrame) -> None:
    """What a problem of the user's own raises is told in its row, with its type."""
    found = fitted(Touchy(holding=1.0, backorder=2.0)).explain_many(contexts.head(3), [[45.0], [13.0], [45.0]])
    assert isinstance(found[1], RowError)
    assert "ZeroDivisionError: thirteen" in str(found[1])
    assert [entry.status for entry in (found[0], found[2])] == ["optimal", "optimal"]  # type: ignore[union-attr]


def test_frame_tells_everything(
    policy: wh.Policy, contexts: pd.DataFrame, one_by_one: list[Explanation], plan: Any
) -> None:
    """The table has a row a context under its label, and the figures of its explanation."""
    found = policy.explain_many(contexts, plan)
    frame = found.frame
    assert frame.index.tolist() == contexts.index.tolist()
    assert frame["distance"].tolist() == [entry.distance for entry in one_by_one]
    assert frame["cost_decision"].tolist() == [entry.cost_before.decision for entry in one_by_one]
    moved = frame.loc[frame["status"] == "optimal", "changes"]
    assert moved.str.contains(" -> ").all()
    assert (frame.loc[frame["status"] == "already", "changes"] == "").all()
    assert found.contexts.index.tolist() == frame.index.tolist()
    assert found.contexts["heat"].dtype == float
    np.testing.assert_array_equal(policy.weights_at(found.contexts.iloc[[5]]), one_by_one[5].weights_after)


def test_a_sequence(policy: wh.Policy, contexts: pd.DataFrame) -> None:
    """The result can be counted, sliced, iterated and printed; slices keep their labels."""
    found = policy.explain_many(contexts, PLAN)
    assert found[-1] is list(found)[-1]
    part = found[5:8]
    assert isinstance(part, Explanations)
    assert part.frame.index.tolist() == ["day 5", "day 6", "day 7"]
    assert repr(part).startswith("<Explanations of 3 rows: ")
    assert "<table" in part._repr_html_()
    empty = policy.explain_many(contexts.head(0), PLAN)
    assert len(empty) == 0
    assert empty.frame.empty
    assert empty.contexts.empty
    assert repr(empty) == "<Explanations of 0 rows>"


def test_progress_is_told(policy: wh.Policy, contexts: pd.DataFrame) -> None:
    """On one core progress is told after every row, or as often as the size of the batches says."""
    told: list[tuple[int, int]] = []
    policy.explain_many(contexts, PLAN, on_progress=lambda *done: told.append(done))
    assert told == [(i + 1, 20) for i in range(20)]
    told.clear()
    policy.explain_many(contexts, PLAN, batch_size=8, on_progress=lambda *done: told.append(done))
    assert told == [(8, 20), (16, 20), (20, 20)]


# ---- one plan, or one per row ----------------------------------------------------------------------------------------


def test_one_plan_or_one_a_row() -> None:
    """What the problem accepts is one plan for all rows; as many plans as rows are one per row, tables always so."""
    X, Y = demand()
    policy = wh.Policy(wh.Newsvendor([1.0, 2.0], [3.0, 4.0], budget=100)).fit(X, np.column_stack([Y, Y]))
    two = X.head(2)
    for_all = policy.explain_many(two, [20.0, 30.0])
    assert [list(entry.alternative) for entry in for_all] == [[20.0, 30.0], [20.0, 30.0]]  # type: ignore[union-attr]
    for plans in (
        [[20.0, 30.0], [30.0, 20.0]],
        np.array([[20.0, 30.0], [30.0, 20.0]]),
        pd.DataFrame([[20.0, 30.0], [30.0, 20.0]]),
    ):
        each = policy.explain_many(two, plans)
        assert [list(entry.alternative) for entry in each] == [[20.0, 30.0], [30.0, 20.0]]  # type: ignore[union-attr]


def test_decisions_one_a_row(policy: wh.Policy, contexts: pd.DataFrame) -> None:
    """The plans to be explained may be given, one per row."""
    carried_out = [[20.0 + i] for i in range(len(contexts))]
    found = policy.explain_many(contexts, PLAN, decision=carried_out)
    assert [entry.decision for entry in found] == carried_out  # type: ignore[union-attr]


class Lenient(wh.DecisionProblem):
    """A problem that takes any number or list of numbers for a plan: their sum counts."""

    def costs(self, decision: Any, Y: Any) -> Any:
        """Distance from the outcome."""
        return np.abs(Y[:, 0] - np.sum(decision))

    def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
        """The weighted mean, near enough."""
        return float(weights @ Y[:, 0])


def test_plans_that_could_be_either_must_be_told_apart(contexts: pd.DataFrame) -> None:
    """Where both readings are possible the error says how to tell, and the flag does tell."""
    policy, two = fitted(Lenient()), contexts.head(2)
    with pytest.raises(InputError, match="plan_per_row=False or plan_per_row=True"):
        policy.explain_many(two, [20.0, 25.0])
    each = policy.explain_many(two, [20.0, 25.0], plan_per_row=True)
    assert [entry.alternative for entry in each] == [20.0, 25.0]  # type: ignore[union-attr]
    both = policy.explain_many(two, [20.0, 25.0], plan_per_row=False)
    assert [entry.alternative for entry in both] == [[20.0, 25.0]] * 2  # type: ignore[union-attr]
    assert len(policy.explain_many(two, 45.0)) == 2


def test_plans_of_the_wrong_number(policy: wh.Policy, contexts: pd.DataFrame) -> None:
    """Neither a plan nor as many plans as rows: refused at once, with both possibilities and the reason."""
    with pytest.raises(InputError, match=r"one feasible plan for all rows, or one plan per row.*shape is \(3, 2\)"):
        policy.explain_many(contexts, [[45.0, 1.0], [40.0, 1.0], [35.0, 1.0]])
    with pytest.raises(InputError, match=r"'instead' must hold one plan per row of 'contexts' \(20\). Got 3 of them"):
        policy.explain_many(contexts, [[45.0], [40.0], [35.0]])
    with pytest.raises(InputError, match=r"'instead' must hold one plan per row of 'contexts' \(20\). Got 3 of them"):
        policy.explain_many(contexts, pd.DataFrame([[45.0], [40.0], [35.0]]))
    with pytest.raises(InputError, match=r"As one plan: .* must not be negative"):
        policy.explain_many(contexts, [-1.0])


# ---- refused before the first row ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kind": "relativ"}, "'kind' must be"),
        ({"time_limt": 5}, "'explain' has no parameter 'time_limt'. Did you mean 'time_limit'"),
        ({"fixed": ["heet"]}, "'fixed' must name features"),
        ({"bounds": {"heat": (3, 2)}}, "heat"),
        ({"batch_size": 0}, "'batch_size' must be an int >= 1 or None. Got 0 instead."),
    ],
)
def test_what_concerns_all_rows_is_refused_at_once(
    policy: wh.Policy, contexts: pd.DataFrame, options: dict[str, Any], sentence: str
) -> None:
    """A wrong option is one error of the call, not one per row."""
    with pytest.raises(WhenceError, match=sentence):
        policy.explain_many(contexts, PLAN, **options)


def test_contexts_that_are_none(policy: wh.Policy, contexts: pd.DataFrame) -> None:
    """A single context, a missing column and a policy that was not fitted are refused with a sentence."""
    with pytest.raises(InputTypeError, match="'explain' takes a single one"):
        policy.explain_many(contexts.iloc[0], PLAN)
    with pytest.raises(InputError, match="must be 2-D"):
        policy.explain_many(np.zeros(2), PLAN)
    with pytest.raises(InputError, match="column 'day' is missing from 'contexts'"):
        policy.explain_many(contexts[["heat"]], PLAN)
    with pytest.raises(NotFittedError):
        wh.Policy(wh.Newsvendor(1, 1)).explain_many(contexts, PLAN)


# ---- workers -----------------------------------------------------------------------------------------------------


def test_two_processes_find_the_same(policy: wh.Policy, contexts: pd.DataFrame, tmp_path: Path, plan: Any) -> None:
    """With two worker processes the rows, their order and their errors are those of one; reports can be written."""
    given = contexts.copy()
    given.iloc[3, 0] = np.nan
    told: list[tuple[int, int]] = []
    options: dict[str, Any] = {"kind": "absolute", "fixed": ["day"]}
    found = policy.explain_many(given, plan, n_jobs=2, on_progress=lambda *done: told.append(done), **options)
    assert_same(found, list(policy.explain_many(given, plan, **options)))
    assert told[-1] == (20, 20)
    assert told == sorted(set(told))
    assert list(found.errors) == [3]
    assert {entry.status for entry in found if isinstance(entry, Explanation)} > {"none"}
    for entry in found:
        if isinstance(entry, Explanation):
            assert entry.history is policy.X_
            assert entry.problem is policy.problem
            assert entry.unrestricted is None or entry.unrestricted.history is policy.X_
    found[0].to_html(tmp_path / "why.html")  # type: ignore[union-attr]
    assert (tmp_path / "why.html").stat().st_size > 5000


def test_a_worker_that_dies_takes_one_row_with_it(contexts: pd.DataFrame) -> None:
    """The row that ends its worker process gets an error; all the others come back."""
    policy = fitted(Touchy(holding=1.0, backorder=2.0))
    plans = [PLAN] * 8
    plans[4] = [666.0]
    found = policy.explain_many(contexts.head(8), plans, n_jobs=2, batch_size=2)
    assert list(found.errors) == [4]
    assert "worker process died" in str(found.errors[4])
    expected = policy.explain_many(contexts.head(8), PLAN)
    others = [i for i in range(8) if i != 4]
    assert_same(Explanations([found[i] for i in others]), [expected[i] for i in others])


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A client of a real Dask cluster: two worker processes, looked after by nannies."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="ERROR"
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def test_a_cluster_that_loses_a_worker_loses_no_row(cluster: Any, policy: wh.Policy) -> None:
    """On Dask, with one of two worker processes killed during the run, every row comes back as on one core."""
    X, _ = demand()
    before = cluster.run(os.getpid)
    assert len(set(before.values())) == 2
    killed: list[int] = []

    def kill_one(done: int, total: int) -> None:
        if not killed:
            assert done < total
            killed.append(next(iter(before.values())))
            os.kill(killed[0], signal.SIGKILL)

    with joblib.parallel_config(backend="dask"):
        found = policy.explain_many(X, PLAN, batch_size=2, on_progress=kill_one)
    assert killed
    assert killed[0] not in cluster.run(os.getpid).values()
    assert not found.errors
    assert_same(found, list(policy.explain_many(X, PLAN)))


@pytest.mark.long
def test_a_lost_scheduler_loses_no_answer(policy: wh.Policy, tmp_path: Path) -> None:
    """Where the scheduler of a cluster is killed, what it has answered stays, and another call does the rest."""
    import distributed

    X, _ = demand()
    with dask_cluster(tmp_path / "first") as (address, scheduler), distributed.Client(address) as client:

        def kill(done: int, total: int) -> None:
            if scheduler.poll() is None:
                assert done < total
                scheduler.kill()
                scheduler.wait()

        with joblib.parallel_config(backend="dask"):
            first = policy.explain_many(X, PLAN, batch_size=2, on_progress=kill)
        client.close(timeout=2)
    lost = first.errors
    assert 0 < len(lost) < len(X)
    assert {type(error) for error in lost.values()} == {UnansweredError}
    said = f"The cluster was lost after {len(X) - len(lost)} of {len(X)} rows: ask for the others with 'resume'."
    assert {str(error) for error in lost.values()} == {said}
    told: list[int] = []
    with (
        dask_cluster(tmp_path / "second") as (address, _),
        distributed.Client(address),
        joblib.parallel_config(backend="dask"),
    ):
        second = policy.explain_many(X, PLAN, resume=first, on_progress=lambda done, total: told.append(done))
    assert told[0] > len(X) - len(lost)
    assert told[-1] == len(X)
    assert all(second[i] is first[i] for i in range(len(X)) if i not in lost)
    assert_same(second, list(policy.explain_many(X, PLAN)))


def test_resume_asks_only_rows_with_an_error(policy: wh.Policy, contexts: pd.DataFrame) -> None:
    """Explanations of before are kept as they are; rows that could not be explained are asked anew."""
    broken = contexts.copy()
    broken.iloc[[1, 3], 0] = np.nan
    before = policy.explain_many(broken, PLAN)
    assert list(before.errors) == [1, 3]
    told: list[tuple[int, int]] = []
    after = policy.explain_many(contexts, PLAN, resume=before, on_progress=lambda *done: told.append(done))
    total = len(contexts)
    assert told == [(total - 1, total), (total, total)]
    assert all(after[i] is before[i] for i in range(total) if i not in (1, 3))
    assert_same(after, list(policy.explain_many(contexts, PLAN)))


def test_resume_is_about_the_same_contexts(policy: wh.Policy, contexts: pd.DataFrame) -> None:
    """What was asked about others, or is something else, is refused in a sentence."""
    before = policy.explain_many(contexts.head(3), PLAN)
    with pytest.raises(InputError, match=r"'resume' must be about the same contexts, of which there are 2. Got 3"):
        policy.explain_many(contexts.head(2), PLAN, resume=before)
    with pytest.raises(InputError, match=r"'resume' must be about the same contexts. Got another one in row 0"):
        policy.explain_many(contexts.tail(3), PLAN, resume=before)
    with pytest.raises(InputTypeError, match=r"must be what 'explain_many' returned before, or None. Got list"):
        policy.explain_many(contexts.head(3), PLAN, resume=list(before))  # type: ignore[arg-type]


LONG = """
import numpy as np, whence as wh
rng = np.random.default_rng(0)
X, Y = rng.random((300, 6)), rng.random((300, 3))
forest = wh.ForestWeights(max_depth=4, max_features="sqrt", min_samples_leaf=1, random_state=0)
policy = wh.Policy(wh.Newsvendor([1.0] * 3, [3.0] * 3), forest).fit(X, Y)
if __name__ == "__main__":
    policy.explain_many(np.vstack([X] * 100), [0.9, 0.1, 0.5], n_jobs=2, kind="absolute",
                        on_progress=lambda done, total: print(done, flush=True))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are a matter of POSIX")
def test_ctrl_c_leaves_no_workers(tmp_path: Path) -> None:
    """Ctrl-C ends the batch with a KeyboardInterrupt, and its worker processes with it."""
    script = tmp_path / "long.py"
    script.write_text(LONG, "utf-8")
    running = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=usual_signals,
    )
    assert running.stdout is not None
    assert running.stdout.readline().strip().isdigit()
    assert len(alive(running.pid)) >= 3
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode != 0
    assert "KeyboardInterrupt" in said
    until = time.monotonic() + 60
    while alive(running.pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert alive(running.pid) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a process alone are a matter of POSIX")
@pytest.mark.parametrize(
    "name",
    [
        "SIGTERM",
        "SIGKILL",
        pytest.param("SIGHUP", marks=pytest.mark.long),
        pytest.param("SIGINT", marks=pytest.mark.long),
    ],
)
def test_workers_end_with_the_process_that_they_work_for(tmp_path: Path, name: str) -> None:
    """However the calling process alone is ended, also killed without a word, none of its workers stays behind."""
    script = tmp_path / "long.py"
    script.write_text(LONG, "utf-8")
    running = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=usual_signals,
    )
    assert running.stdout is not None
    assert running.stdout.readline().strip().isdigit()
    assert len(alive(running.pid)) >= 3
    running.send_signal(getattr(signal, name))
    assert running.wait(timeout=60) != 0
    running.stdout.close()
    until = time.monotonic() + 60
    while alive(running.pid) and time.monotonic() < until:
        time.sleep(0.1)
    left = alive(running.pid)
    if left:
        os.killpg(running.pid, signal.SIGKILL)
    assert left == []


def alive(group: int) -> list[int]:
    """Processes of a group that are still running (zombies, which only wait to be counted, are not)."""
    listing = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [int(pid) for pid, of, state in rows if int(of) == group and not state.startswith("Z")]
