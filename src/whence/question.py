"""The question an engine answers, in coordinates and cost vectors, and the answer it gives.

Engines know nothing of problems, files or printing: a question holds where to look, the fitted weights,
the claim that must hold there, when to stop and how to search.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

import numpy as np

from whence.claims.plans import PlanBeats
from whence.features.space import Part, Space
from whence.settings import SearchSettings
from whence.util.aliases import Floats, Status
from whence.util.files import machine_memory
from whence.util.linear_program import check_time, until
from whence.weights import InputMap, Weights


@dataclass(frozen=True)
class Progress:
    """How far a search has come: boxes (or solver nodes) seen, best distance found, proved lower bound.

    While the weights are fitted again, `refit` says which of `refits` is being made; both are None at other times.
    Those of `simulated` worlds begin with 0, the model that the worlds are drawn from.

    Examples
    --------
    >>> told = Progress(nodes=12, distance=0.4, bound=0.4, seconds=1.5, refit=7, refits=10)
    >>> f"refit {told.refit} of {told.refits}"
    'refit 7 of 10'
    """

    nodes: int
    distance: float
    bound: float
    seconds: float
    refit: int | None = None
    refits: int | None = None
    simulated: bool = False


#: Bytes that a search takes at most where nothing else is said.
MOST_MEMORY = 4 * 2**30


@cache
def usual_memory_limit() -> int:
    """Return half of the machine's memory in bytes, at most 4 GB."""
    return int(min(MOST_MEMORY, machine_memory() / 2))


def memory_words(memory: int) -> str:
    """Say how much memory that is.

    >>> memory_words(2**30), memory_words(200_000_000), memory_words(1500)
    ('1.07 GB', '200 MB', '1.5 kB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if memory >= size:
            return f"{memory / size:.3g} {unit}" if memory < 10 * size else f"{memory / size:.0f} {unit}"
    return f"{memory} bytes"


@dataclass
class Limits:
    """When a search must stop, and whom it tells how far it has come."""

    time_limit: float | None = None
    node_limit: int | None = None
    on_progress: Callable[[Progress], Any] | None = None
    #: Bytes that a search may take; None for `usual_memory_limit`.
    memory_limit: int | None = None
    started: float = field(default_factory=time.perf_counter)
    #: Seconds set aside for the last check of an absolute answer, which solves the decision problem once more.
    reserve: float = 0.0
    #: Whether the search had to stop because its boxes took too much memory.
    full: bool = False

    def __post_init__(self) -> None:
        # Searches count in whole boxes: 2.5 of them are over after the third.
        if self.node_limit is not None:
            self.node_limit = None if math.isinf(self.node_limit) else math.ceil(self.node_limit)

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.started

    @property
    def remaining(self) -> float:
        """Seconds left for the search, infinite without a time limit."""
        if self.time_limit is None:
            return np.inf
        return self.time_limit - min(self.reserve, 0.5 * self.time_limit) - self.seconds

    @property
    def ends(self) -> float:
        """When the time is up, by the clock that `until` takes."""
        return self.started + self.seconds + self.remaining

    @property
    def memory(self) -> int:
        """Bytes that the search may take."""
        return usual_memory_limit() if self.memory_limit is None else int(min(self.memory_limit, sys.maxsize))

    @property
    def note(self) -> str:
        """Which limit ended the search, where that was not time or nodes."""
        return f"the search had used its memory of {memory_words(self.memory)}" if self.full else ""

    def reached(self, nodes: int, distance: float, bound: float, memory: int = 0) -> Status | None:
        """The status to stop with, or None to go on; reports progress on the way.

        The contract has one status for all limits: where it was the memory, `full` and `note` say so.
        """
        if self.on_progress is not None and (self.on_progress(Progress(nodes, distance, bound, self.seconds)) is False):
            return "interrupted"
        self.full = memory > self.memory
        if self.full or self.remaining <= 0 or (self.node_limit is not None and nodes >= self.node_limit):
            return "time_limit"
        return None


@dataclass(frozen=True)
class Known:
    """What is known before a search begins."""

    #: Only contexts at less than this distance are of interest: "none" says that there is none of those.
    nearer_than: float = np.inf
    #: Contexts, in coordinates, in which the claim is said to hold: where it does, the nearest one is an answer.
    contexts: tuple[Floats, ...] = ()
    #: Given a distance, a context that is nearer and in which the claim holds, found without a search, or None.
    recall: Callable[[float], Floats | None] | None = None


@dataclass(frozen=True)
class Question:
    """One explanation problem: where is the nearest context at which a claim holds?"""

    #: The initial context, where to look, and the distance.
    space: Space
    #: The predictor: what it says at a context is what the claim is judged by.
    weights: Weights
    #: From coordinates to what the weights' estimator sees.
    inputs: InputMap
    #: What must hold at a context.
    claim: PlanBeats
    #: When to stop.
    limits: Limits = field(default_factory=Limits)
    #: How to search.
    settings: SearchSettings = field(default_factory=SearchSettings)
    #: What an engine may keep for the same question with more standard errors.
    memo: dict[str, Any] = field(default_factory=dict)
    #: What is known before the search begins.
    known: Known = field(default_factory=Known)

    def knowing(self, **more: Any) -> Question:
        """Return the same question with these parts of what is known."""
        return replace(self, known=replace(self.known, **more))

    def with_time(self, seconds: float | None) -> Question:
        """Return the same question with a clock of its own."""
        limits = Limits(seconds, None, self.limits.on_progress, self.limits.memory_limit)
        return replace(self, limits=limits)

    def claiming(self, **changes: Any) -> Question:
        """Return the question about the same claim but for these of its parts."""
        return replace(self, claim=replace(self.claim, **changes))

    def plain(self) -> Question:
        """Return the question about the claim without standard errors."""
        return replace(self, claim=self.claim.plain())

    def relative(self) -> Question:
        """Return the question about the claim against the decision alone."""
        return replace(self, claim=self.claim.relative())

    def refuted_by(self, better: Callable[[Floats], Floats | None]) -> Question:
        """Return the question about a claim that only those plans refute which `better` names."""
        return replace(self, claim=self.claim.refuted_by(better))

    def in_space(self, space: Space) -> Question:
        """Return the question in another space, with the same limit on changes and contexts as usual."""
        own = self.space
        return replace(self, space=replace(space, few=own.few, plausibility=own.plausibility))

    def rival(self, weights: Floats) -> Floats | None:
        """Return what refutes the claim at a context with these weights; OutOfTime where the limits do not allow it."""
        limits, began = self.limits, time.perf_counter()
        with until(began + limits.remaining):
            check_time()
            found: Floats | None = self.claim.rival(weights)
        limits.reserve = max(limits.reserve, time.perf_counter() - began)
        return found


@dataclass(frozen=True)
class Answer:
    """What an engine found, in coordinates."""

    #: How the search ended.
    status: Status
    #: The nearest context found.
    point: Floats | None
    #: Its distance, and a proved lower bound on the true optimum (both infinite for "none").
    distance: float
    bound: float
    #: Boxes or solver nodes seen, and plans met on the way to an absolute explanation.
    nodes: int = 0
    cuts: int = 0
    #: Lower and upper corner of a box around `point` in which every context is as good an answer, so that numbers may
    #: be rounded within it.
    cell: tuple[Floats, Floats] | None = None
    #: How it was proved, or which limit ended the search, where that is worth a word.
    note: str = ""

    def or_known(self, point: Floats, distance: float) -> Answer:
        """Return the answer beside a context that is known: the nearer one, and what is proved of both."""
        if self.point is not None and self.distance <= distance:
            return self
        status: Status = "optimal" if self.status == "none" else self.status
        bound = min(self.bound, distance)
        return replace(self, status=status, point=point, distance=distance, bound=bound, cell=None)


class _Nearest:
    """The nearest of the answers to several questions, and what is proved of all of them."""

    def __init__(self) -> None:
        self.best = Answer("none", None, np.inf, np.inf)
        self.stopped: Status | None = None
        self.bound, self.nodes, self.cuts, self.note = np.inf, 0, 0, ""

    def take(self, found: Answer, fee: float = 0.0) -> bool:
        """Take an answer whose distance counts from a fee on, and return whether it is the nearest so far."""
        self.nodes, self.cuts = self.nodes + found.nodes, self.cuts + found.cuts
        self.bound = min(self.bound, found.bound + fee)
        if found.status in ("time_limit", "interrupted"):
            self.stopped, self.note = found.status, found.note
        nearer = found.point is not None and found.distance + fee < self.best.distance
        if nearer:
            self.best = replace(found, distance=found.distance + fee)
        return nearer

    def leave(self, fee: float) -> None:
        """Leave a question out for want of time: its answers are at least the fee away."""
        self.stopped, self.bound = self.stopped or "time_limit", min(self.bound, fee)

    def answer(self) -> Answer:
        """Return what they say together."""
        status: Status = self.stopped or ("none" if self.best.point is None else "optimal")
        bound, note = min(self.bound, self.best.distance), self.note if self.stopped else self.best.note
        return replace(self.best, status=status, bound=bound, nodes=self.nodes, cuts=self.cuts, note=note)


def nearest_of(answers: Iterable[Answer]) -> Answer:
    """Return what several answers say together, where a context may answer any one of their questions."""
    nearest = _Nearest()
    for one in answers:
        nearest.take(one)
    return nearest.answer()


def nearest_at_fees(questions: Iterable[Question], search: Callable[[Question], Answer]) -> tuple[Question, Answer]:
    """Return the nearest answer to questions that fill in different numbers, each for a fee, and which one it answers.

    What is filled in may change the predictor, so that every one of them is a question of its own.
    """
    nearest, answered = _Nearest(), None
    for question in questions:
        fee = 0.0 if question.space.fee is None else float(question.space.fee.sum())
        answered = answered or question
        if fee >= nearest.best.distance:
            continue
        if question.limits.remaining <= 0:
            nearest.leave(fee)
        elif nearest.take(search(replace(question, space=replace(question.space, fee=None))), fee):
            answered = question
    assert answered is not None
    return answered, nearest.answer()


def combine(question: Question, parts: Sequence[Part], search: Callable[[Question], Answer]) -> Answer:
    """Return the nearest answer in any part of a question's space, nearest parts first.

    A later part has to be nearer than what was found before, with the limits that are left.
    """
    nearest, limits = _Nearest(), question.limits
    for i, part in enumerate(parts):
        best = nearest.best
        if part.fee >= best.distance:
            break
        spent = limits.node_limit is not None and nearest.nodes >= limits.node_limit
        if nearest.stopped is not None or limits.remaining <= 0 or spent:
            nearest.leave(part.fee)
            continue
        beyond = question.known.nearer_than
        if part.fee or best.point is not None:
            beyond = min(beyond, best.distance) - part.fee
        bound = min([nearest.bound, *(later.fee for later in parts[i + 1 :])])
        left = _left_of(limits, part.fee, best.distance, bound, nearest.nodes)
        nearest.take(search(replace(question.knowing(nearer_than=beyond), space=part.space, limits=left)), part.fee)
    return nearest.answer()


def _left_of(limits: Limits, fee: float, distance: float, bound: float, nodes: int) -> Limits:
    """Return what is left of the limits after this many boxes, and tell progress as that of the whole question."""
    tell = limits.on_progress

    def told(progress: Progress) -> object:
        assert tell is not None
        found = min(progress.distance + fee, distance)
        return tell(Progress(nodes + progress.nodes, found, min(progress.bound + fee, bound, found), progress.seconds))

    most = None if limits.node_limit is None else max(1, limits.node_limit - nodes)
    return replace(limits, node_limit=most, on_progress=None if tell is None else told)


#: What may differ between the steps of a ladder: what is asked for, how hard it is tried, and what only absolute
#: questions need.
BESIDE = ("kappa", "better", "best", "linear")


@dataclass(frozen=True)
class Earlier:
    """What a question was about, its standard errors and its answer, and what its engine knows of the point found."""

    about: tuple[Any, ...]
    kappa: float
    answer: Answer
    there: Any

    def settles(self, holds: Callable[[Any], bool]) -> bool:
        """Whether the answer is that with more standard errors, too: there is none, or it `holds` by these."""
        status = self.answer.status
        return status == "none" or (status == "optimal" and holds(self.there))


def remember(question: Question, answer: Answer, there: Any) -> None:
    """Keep the answer for the same question with more standard errors; `there` is for the engine to say."""
    if question.claim.kind == "relative":
        known = Earlier(_about(question), question.claim.kappa, answer, there)
        question.memo.setdefault("earlier", []).append(known)


def earlier(question: Question) -> Earlier | None:
    """What was proved with at most as many standard errors and says most, if anything was.

    Only of relative questions: which plans refute an absolute one depends on the course of the search.
    """
    about = _about(question)
    found: list[Earlier] = question.memo.get("earlier", [])
    known = [
        one
        for one in found
        if one.kappa <= question.claim.kappa
        and all(mine is other for mine, other in zip(one.about, about, strict=True))
    ]
    return max(known, key=lambda one: one.answer.bound, default=None)


def _about(question: Question) -> tuple[Any, ...]:
    """All that answers depend on beside standard errors: the very same objects where a question is the same."""
    claim, settings = question.claim, question.settings
    claimed = (getattr(claim, one.name) for one in fields(claim) if one.name not in BESIDE)
    searched = settings.separation, settings.options
    return (
        question.space,
        question.weights,
        question.inputs,
        question.known.nearer_than,
        type(claim),
        *claimed,
        *searched,
    )
