"""The question an engine answers, in coordinates and cost vectors, and the answer it gives.

Engines know nothing of problems, files or printing: a question holds where to look, the fitted weights,
what the two plans cost under each past observation, and a way to ask for a better plan.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from whence.claims.sets import Plans
from whence.features.space import Few, Space
from whence.problems._minimise import check_time, until
from whence.risk import Risk
from whence.util.aliases import Floats, Kind, Status
from whence.weights import InputMap, Weights
from whence.weights.plausibility import Isolation, Nearby

__all__ = ["Answer", "Limits", "Progress", "Question", "nearest_of"]


@dataclass(frozen=True)
class Progress:
    """How far a search has come: boxes (or solver nodes) seen, best distance found, proved lower bound.

    While the weights are fitted again, `refit` says which of `refits` is being made; both are None at other times.

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


#: Bytes that a search takes at most where nothing else is said.
MOST_MEMORY = 4 * 2**30


@cache
def usual_memory_limit() -> int:
    """Return half of the machine's memory in bytes, at most 4 GB."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not known on this system
        return MOST_MEMORY
    return min(MOST_MEMORY, whole // 2)


def memory_words(memory: int) -> str:
    """Say how much memory that is.

    >>> memory_words(2**30), memory_words(200_000_000), memory_words(1500)
    ('1.1 GB', '200 MB', '1.5 kB')
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
    def memory(self) -> int:
        """Bytes that the search may take."""
        return usual_memory_limit() if self.memory_limit is None else int(self.memory_limit)

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
class Question:
    """One explanation problem.

    Attributes
    ----------
    space : Space
        The initial context, where to look, and the distance.
    weights : Weights
        The fitted weights.
    inputs : InputMap
        From coordinates to what the weights' estimator sees.
    alternative, decision : ndarray of shape (n,)
        Cost of either plan under each past observation: what the policy's risk counts it for (`Risk.values`).
    risk : Risk
        What is taken of these costs: their mean, or the mean of their worst share (``risk.tail``).
    kind : {"relative", "absolute"}
        What is asked.
    tau : float
        Tolerance on costs, the same for pruning, cuts and tests.
    separation : float
        Least gap between the k-th and (k+1)-th neighbour distance.
    better : callable
        For absolute questions: given weights, the sample costs of a plan that beats the alternative by more
        than `tau`, times ``1 + within``, or None where the alternative is as good as asked for.
    limits : Limits
        When to stop.
    options : dict
        What only some engines understand.
    within : float
        For absolute questions: by which share of the best plan's cost the alternative may cost more.
    allowance : float
        For absolute questions: by which amount the alternative may cost more than the best plan. `alternative` holds
        the costs less this amount, so that no engine has to know of it.
    best : callable, optional
        For absolute questions: given weights, the sample costs of the best plan, times ``1 + within``.
    margin : pair of float
        By which share of the decision's cost, and by which amount, the alternative must cost less than the decision.
    confidence : float
        By how many standard errors over the trees of a forest, or over the neighbours, the alternative must be better.
        `better` is then `best`.
    plausible : Isolation or Nearby, optional
        Which contexts look enough like past ones to count.
    memo : dict
        What an engine may keep for the same question with another confidence.
    threads : int, optional
        Threads that may work on the question; what an engine takes by itself where left out.
    linear : callable, optional
        Gives, where plans form a polytope and costs are linear, that polytope, the cost vectors of the past
        observations, and the alternative as a vector; None where it is not so.
    few : Few, optional
        How many features may change, and which never together.
    plans : Plans, optional
        A set of plans, at least one of which must be better; `alternative` is then the best of them at the start.
    nearer_than : float
        Only contexts at less than this distance are of interest: "none" says that there is none of those.
    """

    space: Space
    weights: Weights
    inputs: InputMap
    alternative: Floats
    decision: Floats
    risk: Risk
    kind: Kind
    tau: float
    separation: float
    better: Callable[[Floats], Floats | None]
    limits: Limits
    options: dict[str, Any] = field(default_factory=dict)
    within: float = 0.0
    allowance: float = 0.0
    best: Callable[[Floats], Floats] | None = None
    margin: tuple[float, float] = (0.0, 0.0)
    confidence: float = 0.0
    plausible: Isolation | Nearby | None = None
    memo: dict[str, Any] = field(default_factory=dict)
    threads: int | None = None
    linear: Callable[[], tuple[Any, Floats, Floats] | None] | None = None
    few: Few | None = None
    plans: Plans | None = None
    nearer_than: float = np.inf

    @property
    def rival_decision(self) -> Floats:
        """What the alternative must not cost more than, under each past observation.

        That is what the decision costs there, times ``1 + within``, or less the margin: a risk of costs that are all
        scaled, or all lowered by one amount, is scaled and lowered as they are.
        """
        share, amount = self.margin
        if share or amount:
            return (1.0 - share) * self.decision - amount
        return self.decision if self.within == 0.0 else (1.0 + self.within) * self.decision

    @property
    def size(self) -> float:
        """How large costs are: the largest of either plan."""
        return max(float(np.abs(self.alternative).max()), float(np.abs(self.rival_decision).max()))

    @property
    def hopeless(self) -> bool:
        """Whether the alternative costs more than the decision under every past observation."""
        return bool((self.alternative - self.rival_decision > self.tau).all())

    def with_time(self, seconds: float | None) -> Question:
        """The same question with a clock of its own."""
        limits = Limits(seconds, None, self.limits.on_progress, self.limits.memory_limit)
        return replace(self, limits=limits)

    def holds(self, weights: Floats) -> bool:
        """Whether the alternative costs no more than the decision here, `within` and `margin` included."""
        return self.risk.of(self.alternative, weights) <= self.risk.of(self.rival_decision, weights) + self.tau

    def rival(self, weights: Floats) -> Floats | None:
        """What `better` says, for as long as the limits allow.

        Raises
        ------
        OutOfTime
            Where there is no time to begin, or where the solve could be interrupted when the time was up.
        """
        limits, began = self.limits, time.perf_counter()
        with until(began + limits.remaining):
            check_time()
            found = self.better(weights)
        limits.reserve = max(limits.reserve, time.perf_counter() - began)
        return found


@dataclass(frozen=True)
class Answer:
    """What an engine found, in coordinates.

    Attributes
    ----------
    status : {"optimal", "none", "time_limit", "interrupted"}
        How the search ended.
    point : ndarray or None
        The nearest context found.
    distance, bound : float
        Its distance, and a proved lower bound on the true optimum (both infinite for "none").
    nodes, cuts : int
        Boxes or solver nodes seen, and plans met on the way to an absolute explanation.
    cell : pair of ndarray, optional
        Lower and upper corner of a box around `point` in which every context is as good an answer, so that numbers
        may be rounded within it.
    note : str
        How it was proved, or which limit ended the search, where that is worth a word.
    """

    status: Status
    point: Floats | None
    distance: float
    bound: float
    nodes: int = 0
    cuts: int = 0
    cell: tuple[Floats, Floats] | None = None
    note: str = ""


def nearest_of(answers: Iterable[Answer]) -> Answer:
    """What several answers say together, where a context may answer any one of their questions."""
    best = Answer("none", None, np.inf, np.inf)
    stopped: Status | None = None
    note = ""
    bound, nodes, cuts = np.inf, 0, 0
    for one in answers:
        nodes, cuts, bound = nodes + one.nodes, cuts + one.cuts, min(bound, one.bound)
        if one.status in ("time_limit", "interrupted"):
            stopped, note = one.status, one.note
        if one.distance < best.distance:
            best = one
    status: Status = stopped or ("none" if best.point is None else "optimal")
    note = note if stopped else best.note
    return replace(best, status=status, bound=min(bound, best.distance), nodes=nodes, cuts=cuts, note=note)
