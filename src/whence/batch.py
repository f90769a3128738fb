"""Many explanations at once, on one core, on all of them, or on a cluster, and how they are returned."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, overload
from uuid import uuid4

import cloudpickle
import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from msgspec import structs
from threadpoolctl import ThreadpoolController

from whence.checks import FLAG, FUNCTION, JOBS, collected, whole
from whence.errors import InputError, InputTypeError, RowError, UnansweredError, WhenceError
from whence.explain.ask import Request
from whence.explain.explanation import Explanation
from whence.explain.recheck import Source
from whence.problems.plan_sets import PlanSet
from whence.report.build import changes_of
from whence.report.words import changes_shown
from whence.util.frames import TableKind, as_pandas, as_table, in_kind, kind_of

if TYPE_CHECKING:
    from whence.policy import Policy

Entry = Explanation | WhenceError


class Explanations(Sequence[Entry]):
    """Explanations in the order of their contexts; where a row could not be explained, the error that says why.

    Attributes
    ----------
    labels : Index
        Labels of the rows: those of the table of contexts, otherwise 0, 1, ...

    Tables are of polars where the contexts were, or the history of the policy where they were no table.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[10.0], [11.0], [20.0], [21.0]])
    >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=1), wh.KNNWeights(k=2)).fit(X, Y)
    >>> whys = policy.explain_many([[0.2], [2.8], [float("nan")]], instead=[10.0])
    >>> whys
    <Explanations of 3 rows: 1 already, 1 optimal, 1 error>
    >>> whys.frame["status"].tolist()
    ['already', 'optimal', 'error']
    >>> str(whys.errors[2]).partition(".")[0]
    "The column 'x0' must not hold missing values (NaN)"
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        labels: pd.Index | None = None,
        tables: TableKind = "pandas",
        like: Any = None,
    ) -> None:
        self._entries = list(entries)
        #: The kind of its tables, and a table of polars with the types of the user's columns.
        self._tables, self._like = tables, like
        self.labels: pd.Index = pd.RangeIndex(len(self._entries)) if labels is None else labels

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> Explanations: ...
    def __getitem__(self, at: int | slice) -> Entry | Explanations:
        if isinstance(at, slice):
            return Explanations(self._entries[at], self.labels[at], self._tables, self._like)
        return self._entries[at]

    @property
    def errors(self) -> dict[int, WhenceError]:
        """The rows that could not be explained, by their position."""
        return {i: entry for i, entry in enumerate(self._entries) if isinstance(entry, WhenceError)}

    @cached_property
    def frame(self) -> Any:
        """One row per context: how it ended, distance and bound, what changes, costs before and after, how far it
        can be relied on, the error."""
        return in_kind(self._frame, self._tables)

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return pd.DataFrame([_record(entry) for entry in self._entries], index=self.labels, columns=list(COLUMNS))

    @cached_property
    def contexts(self) -> Any:
        """The contexts found, in the user's columns; rows without one are missing.

        A table of polars has the numbers of the rows as its first column where some are missing.
        """
        found = [None if isinstance(entry, WhenceError) else entry.context for entry in self._entries]
        rows = {i: context for i, context in enumerate(found) if context is not None}
        table = pd.DataFrame(list(rows.values()), index=self.labels[list(rows)]).infer_objects()
        return in_kind(table, self._tables, self._like)

    def __repr__(self) -> str:
        counts = Counter("error" if isinstance(e, WhenceError) else str(e.status) for e in self._entries)
        by_name = sorted(counts.items(), key=lambda pair: (pair[0] == "error", pair[0]))
        told = ", ".join(f"{count} {status}" for status, count in by_name)
        return f"<Explanations of {len(self)} row{'s' * (len(self) != 1)}{': ' * bool(told)}{told}>"

    def _repr_html_(self) -> str:
        return str(self._frame.to_html())


#: The columns of `Explanations.frame`, and what they hold where a row has an error.
COLUMNS: dict[str, Any] = {
    "status": "error",
    "distance": np.nan,
    "bound": np.nan,
    "gap": np.nan,
    "changes": "",
    "cost_decision": np.nan,
    "cost_alternative": np.nan,
    "cost_decision_after": np.nan,
    "cost_alternative_after": np.nan,
    "cost_best_after": np.nan,
    "decision": "",
    "alternative": "",
    "held": np.nan,
    "refits": np.nan,
    "true_share": np.nan,
    "reliable": False,
    "confidence": np.nan,
    "usual": np.nan,
    "rule": "",
    "nodes": 0,
    "seconds": np.nan,
    "error": "",
}
#: Those that tell how far an answer may be relied on, by what it was judged by.
JUDGED = {"worlds": ["true_share", "reliable", "confidence"], "refits": ["held", "refits", "confidence"]}
#: Those that an explanation has as attributes.
SAME = ("status", "distance", "bound", "gap", "confidence", "nodes", "seconds")


def _record(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, WhenceError):
        return {**COLUMNS, "error": str(entry)}
    record = COLUMNS | {name: getattr(entry, name) for name in SAME}
    changes = changes_shown(changes_of(entry.changes), entry.kinds, entry.units, entry.room)
    record["changes"] = "; ".join(f"{one.feature}: {one.from_} -> {one.to}" for one in changes)
    record["decision"], record["alternative"] = entry.decision_text, entry.alternative_text
    for costs, when in ((entry.cost_before, ""), (entry.cost_after, "_after")):
        if costs is not None:
            record |= {f"cost_{plan}{when}": getattr(costs, plan) for plan in ("decision", "alternative", "best")}
    if entry.agreed is not None:
        record |= {"held": entry.agreed.times, "refits": entry.agreed.refits}
    if entry.reliance is not None:
        record["reliable"] = entry.reliable
        if entry.reliance.share is not None:
            record["true_share"] = entry.reliance.share
    if entry.usual is not None:
        record["usual"] = entry.usual
    record["rule"] = "" if entry.rule is None else entry.rule.sentence
    return record


#: Policies that a worker keeps, so that batches of the same call find theirs already set up.
POLICIES_KEPT = 2


class Shipped:
    """A policy on its way to the workers: pickled once, and set up once in each of them.

    In the process it comes from it is the policy itself.
    """

    def __init__(self, policy: Policy) -> None:
        self.token = uuid4().hex
        self.policy = policy

    @cached_property
    def _parcel(self) -> bytes:
        parcel: bytes = cloudpickle.dumps(self.policy)
        return parcel

    def __reduce__(self) -> tuple[Any, ...]:
        return Parcel, (self.token, self._parcel, os.getpid())

    def answered(self, entries: list[Entry]) -> list[Entry]:
        """Return what is handed back: here, nothing travels."""
        return entries


class Parcel:
    """What a worker receives for a `Shipped`."""

    kept: dict[str, Policy] = {}  # noqa: RUF012 - one for the process, on purpose

    def __init__(self, token: str, parcel: bytes, caller: int) -> None:
        self.token, self._parcel = token, parcel
        end_with(caller)

    @property
    def policy(self) -> Policy:
        """The policy, unpacked by the first batch of a call that comes to this process."""
        found = self.kept.get(self.token)
        if found is None:
            while len(self.kept) >= POLICIES_KEPT:
                self.kept.pop(next(iter(self.kept)), None)
            found = self.kept[self.token] = cloudpickle.loads(self._parcel)
        return found

    def answered(self, entries: list[Entry]) -> Answered:
        """Return what is handed back, without what the caller has anyway."""
        return Answered(self.policy, entries)


class Answered:
    """Answers on their way to the caller, in which the policy and its parts are only named.

    An explanation knows its question, so that it can tell its rule later, and a question refers to the fitted weights
    and the history: they would travel back, and be kept, with every row.
    """

    def __init__(self, policy: Policy, entries: list[Entry]) -> None:
        file = io.BytesIO()
        _Packer(file, _names(policy)).dump(entries)
        self._packed = file.getvalue()

    def entries(self, policy: Policy) -> list[Entry]:
        """Return the answers, about the caller's own policy."""
        found: list[Entry] = _Unpacker(io.BytesIO(self._packed), policy).load()
        return found


def _names(policy: Policy) -> dict[int, str]:
    """Return the parts of a policy by their address, each with a name that is the same in every process."""
    parts = {
        name: part for name, part in vars(policy).items() if name.endswith("_") or name in policy.get_params(False)
    }
    large = {id(part): name for name, part in parts.items() if hasattr(part, "__dict__") or hasattr(part, "nbytes")}
    return {id(policy): "", **large}


class _Packer(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO, names: dict[int, str]) -> None:
        super().__init__(file)
        self._names = names

    def persistent_id(self, one: Any) -> str | None:
        return self._names.get(id(one))


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, policy: Policy) -> None:
        super().__init__(file)
        self._policy = policy

    def persistent_load(self, name: str) -> Any:
        return getattr(self._policy, name) if name else self._policy


#: Seconds between two looks at who the parent is.
EVERY = 0.25

_watched: set[int] = set()


def end_with(parent: int) -> None:
    """Let this process end when its parent, the process `parent`, does: by a signal, or killed without a word.

    It does nothing in the process `parent` itself, nor in a worker that somebody else has started, as in a cluster.
    An orphan is handed to another parent, which is how it learns of its loss; the kernel's own signal for that
    (PR_SET_PDEATHSIG) would come with the end of the thread that started the worker.
    """
    own = os.getppid() == parent or multiprocessing.current_process().name.startswith("LokyProcess")
    if os.getpid() == parent or parent in _watched or not own or os.name == "nt":
        return
    _watched.add(parent)
    threading.Thread(target=_watch, args=(parent,), name="whence-parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)
    os._exit(1)


#: A context, the plan instead, the plan to be explained (or None), and contexts in which the plan is known to do.
Row = tuple[Any, Any, Any, Any]
Answers = Generator[list[Entry], None, None]

#: Every worker gets about this many batches, so that a slow one holds up little at the end.
BATCHES_PER_WORKER = 8
#: Most rows that travel together: what a lost worker costs, and how often progress is reported.
ROWS_PER_BATCH = 50
#: Rows, at most, that are answered before others to learn from simulated worlds once for all workers.
LEARNING = 3
#: Batches that wait for each worker, so that it never waits for one.
ON_THEIR_WAY = 2


@dataclass(frozen=True)
class Batch:
    """What the user asked for: contexts, plans, how to share the work, and what is the same for all rows."""

    contexts: Any
    instead: Any
    decision: Any = None
    plan_per_row: bool | None = None
    n_jobs: int | None = None
    batch_size: int | None = None
    on_progress: Callable[[int, int], Any] | None = None
    resume: Explanations | None = None
    #: Keyword arguments of `Policy.explain`.
    options: dict[str, Any] = field(default_factory=dict)
    #: Where each row has its own, the contexts that are handed over as `known`.
    known: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        whole(1).or_none().check("batch_size", self.batch_size)
        JOBS.or_none(", or None").check("n_jobs", self.n_jobs)
        FLAG.or_none().check("plan_per_row", self.plan_per_row)
        FUNCTION.or_none().check("on_progress", self.on_progress)


def explain_many(policy: Policy, asked: Batch) -> Explanations:
    """Return one explanation per context, or its error, in their order."""
    contexts, labels = _contexts(policy, asked.contexts)
    total, kind = len(contexts), kind_of(asked.contexts, policy.tables_)
    if total == 0:
        return Explanations([], tables=kind)
    # What would fail in every row is refused before the first one.
    request = Request.of(contexts[0], None, asked.options)
    request.space(policy.schema_, policy.X_, policy.X_.iloc[0])
    plans = (_plans(policy, name, getattr(asked, name), total, asked.plan_per_row) for name in ("instead", "decision"))
    known = [asked.options.get("known")] * total if asked.known is None else asked.known
    rows = list(zip(contexts, *plans, known, strict=True))
    source = Source.of(policy)
    found: dict[int, Entry] = _kept(policy, asked.resume, contexts)
    todo = [i for i in range(total) if i not in found]
    left = iter(todo)
    try:
        with closing(_despite_lost_workers(policy, [rows[i] for i in todo], asked)) as batches:
            for batch in batches:
                # The batch first: `zip` would otherwise take one from what is left before it sees the end of the batch.
                found |= {i: _with_source(entry, source) for entry, i in zip(batch, left, strict=False)}
                if asked.on_progress is not None:
                    asked.on_progress(len(found), total)
    except _ClusterLost:
        said = f"The cluster was lost after {len(found)} of {total} rows: ask for the others with 'resume'."
        found |= {i: UnansweredError(said) for i in todo if i not in found}
    entries = [found[i] for i in range(total)]
    return Explanations(entries, labels, kind, asked.contexts if kind == "polars" else None)


def _kept(policy: Policy, before: Explanations | None, contexts: Sequence[Any]) -> dict[int, Entry]:
    """Return the explanations of an earlier call, by their rows; rows that had an error are to be asked again."""
    if before is None:
        return {}
    if not isinstance(before, Explanations):
        raise InputTypeError(
            f"'resume' must be what 'explain_many' returned before, or None. Got {type(before).__name__} instead."
        )
    if len(before) != len(contexts):
        raise InputError(
            f"'resume' must be about the same contexts, of which there are {len(contexts)}. Got {len(before)} instead."
        )
    found: dict[int, Entry] = {i: entry for i, entry in enumerate(before) if isinstance(entry, Explanation)}
    for i, entry in found.items():
        assert isinstance(entry, Explanation)
        if not policy.schema_.row(contexts[i]).equals(entry.initial):
            raise InputError(f"'resume' must be about the same contexts. Got another one in row {i}.")
    return found


def _contexts(policy: Policy, contexts: Any) -> tuple[list[Any], pd.Index | None]:
    """Return the contexts one by one, and their labels where they have any."""
    contexts = as_pandas(contexts)
    if isinstance(contexts, pd.DataFrame):
        if len(contexts):
            # A missing column is one error, not one per row.
            as_table(contexts.iloc[:1], "contexts", policy.schema_.columns)
        named = contexts.set_axis(list(map(str, contexts.columns)), axis="columns")
        return named.to_dict("records"), contexts.index
    if isinstance(contexts, pd.Series | Mapping | str | bytes) or not isinstance(contexts, Iterable):
        raise InputTypeError(
            "'contexts' must be a DataFrame, a 2-D array or a list of contexts; 'explain' takes a single one. "
            f"Got {type(contexts).__name__} instead."
        )
    if isinstance(contexts, np.ndarray) and contexts.ndim != 2:
        raise InputError(f"'contexts' must be 2-D, one row per context. Got shape {contexts.shape} instead.")
    return list(contexts), None


# ---- one plan, or one per row ----------------------------------------------------------------------------------------


def _plans(policy: Policy, name: str, given: Any, total: int, per_row: bool | None) -> list[Any]:
    """Return `given` as one plan per row: either it is, or it is one plan for all of them."""
    if given is None or isinstance(given, PlanSet):
        return [given] * total
    given = as_pandas(given)
    if isinstance(given, pd.DataFrame):
        # Rows keep the names of their parts, which may be in any order.
        given, per_row = [row for _, row in given.iterrows()], True
    several = isinstance(given, Sequence | np.ndarray | pd.Series) and collected(given) is not None
    as_rows = list(given) if several else []
    matching = len(as_rows) == total
    if per_row is None:
        per_row = _is_per_row(policy, name, given, as_rows, matching)
    if not per_row:
        return [given] * total
    if not matching:
        got = f"{len(as_rows)} of them" if several else repr(given)
        raise InputError(f"{name!r} must hold one plan per row of 'contexts' ({total}). Got {got} instead.")
    return as_rows


def _is_per_row(policy: Policy, name: str, given: Any, as_rows: list[Any], matching: bool) -> bool:
    """Find out what `given` is: what the problem accepts as a plan is one."""
    unfit = _unfit(policy, given)
    some_fit = any(_unfit(policy, plan) is None for plan in as_rows)
    if unfit is None:
        if matching and some_fit and len(as_rows) > 1:
            raise InputError(
                f"{name!r} could be one plan for all rows or one plan per row: say which it is with "
                "plan_per_row=False or plan_per_row=True."
            )
        return False
    if not some_fit:
        raise InputError(
            f"{name!r} must be one feasible plan for all rows, or one plan per row of 'contexts'. As one plan: {unfit}"
        )
    return True


def _unfit(policy: Policy, plan: Any) -> str | None:
    """Return why `plan` is not a plan of the policy's problem; None where it is one."""
    try:
        reason = policy.problem.check(plan)
        if reason is not None:
            return reason
        costs = np.asarray(policy.problem.costs(plan, policy.Y_[:1]), dtype=np.float64)
    except Exception as error:  # a problem of the user's own may fail in any way on what is no plan
        return str(error)
    return None if costs.shape == (1,) and np.isfinite(costs).all() else "it does not have one finite cost per outcome."


# ---- sharing the work ----------------------------------------------------------------------------------------------


def _despite_lost_workers(policy: Policy, rows: list[Row], asked: Batch) -> Answers:
    """Return the explanations of the rows, batch by batch, in their order, also where worker processes die.

    Which row killed a worker is not known, so the rows that were on their way are asked again one at a
    time; the row that ends a worker all by itself gets the error.
    """
    try:
        workers = effective_n_jobs(asked.n_jobs)
    except Exception as error:
        if _cluster_lost(error):
            raise _ClusterLost from error
        raise
    size = 1 if workers == 1 else min(ROWS_PER_BATCH, -(-len(rows) // (BATCHES_PER_WORKER * workers)))
    size = asked.batch_size or size
    if workers > 1:
        _learn(policy, rows, asked.options)
    shipped = Shipped(policy)
    done = careful = 0
    while done < len(rows):
        part = rows[done : done + 1] if careful else rows[done:]
        try:
            with closing(_shared_out(shipped, part, size, asked)) as batches:
                for batch in batches:
                    done += len(batch)
                    yield batch
            careful = max(0, careful - 1)
        except Exception as error:
            if _cluster_lost(error):
                raise _ClusterLost from error
            if not _worker_died(error):
                raise
            if careful:
                done += 1
                yield [RowError(f"The worker process died while it explained the row: {type(error).__name__}.")]
            careful = careful - 1 if careful > 1 else ON_THEIR_WAY * workers * size


def _learn(policy: Policy, rows: list[Row], options: Mapping[str, Any]) -> None:
    """Learn here how often answers are true, so that the workers take it along and do not learn it once each."""
    if options.get("holds") is None or options.get("refits") not in (None, "worlds"):
        return
    with _threads().limit(limits=1):
        # Where there is no answer, nothing is learnt; the next row may have one.
        for row in rows[:LEARNING]:
            if not isinstance(_answer(policy, row, options), WhenceError) and getattr(policy, "worlds_", None):
                return


def _shared_out(shipped: Shipped, rows: list[Row], size: int, asked: Batch) -> Answers:
    """Return the explanations of the rows by the workers of joblib's backend."""
    # Arrays travel with the policy and are not mapped from files; batches are cut here.
    parallel = Parallel(
        n_jobs=asked.n_jobs, return_as="generator", batch_size=1, pre_dispatch=f"{ON_THEIR_WAY}*n_jobs", max_nbytes=None
    )
    ask = delayed(_answers)
    with closing(parallel(ask(shipped, rows[i : i + size], asked.options) for i in range(0, len(rows), size))) as found:
        for batch in found:
            yield batch.entries(shipped.policy) if isinstance(batch, Answered) else batch


class _ClusterLost(Exception):
    """The scheduler of a cluster is gone, and with it the rows that were on their way."""


def _cluster_lost(error: Exception) -> bool:
    """Return whether Dask has lost its scheduler: it then cancels what it was asked for, or cannot ask any more."""
    of_dask = type(error).__module__.partition(".")[0] == "distributed"
    return isinstance(error, CancelledError) or (of_dask and isinstance(error, OSError))


def _worker_died(error: Exception) -> bool:
    """Return whether joblib's own workers, or those of Dask in spite of its retries, were lost."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


def _answers(shipped: Shipped | Parcel, rows: Sequence[Row], options: Mapping[str, Any]) -> list[Entry] | Answered:
    """Return explanations of one batch, each or its error."""
    policy = shipped.policy
    # With one thread everywhere, sums come out the same everywhere.
    with _threads().limit(limits=1):
        return shipped.answered([_answer(policy, row, options) for row in rows])


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def _answer(policy: Policy, row: Row, options: Mapping[str, Any]) -> Entry:
    context, instead, decision, known = row
    try:
        why = policy.explain(context, instead, decision=decision, **{**options, "known": known})
    except WhenceError as error:
        return error
    except Exception as error:  # whatever happens in a problem of the user's own concerns this row only
        return RowError(f"The row could not be explained: {type(error).__name__}: {error}")
    if why.status == "interrupted":
        # A search ends well on Ctrl-C; a batch must not go on to its next row.
        raise KeyboardInterrupt
    return _with_source(why, None)


def _with_source(entry: Entry, source: Source | None) -> Entry:
    """Return an explanation that speaks of other parts of a policy, or of none; an error as it is."""
    return entry if isinstance(entry, WhenceError) else _sourced(entry, source)


def _sourced(why: Explanation, source: Source | None) -> Explanation:
    free = None if why.unrestricted is None else _sourced(why.unrestricted, source)
    near = None if why.nearest is None else _sourced(why.nearest, source)
    # What an engine keeps for other standard errors is of no use to a rule.
    question = None if why.question is None else replace(why.question, memo={})
    return structs.replace(why, unrestricted=free, nearest=near, source=source, question=question)
