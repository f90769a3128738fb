"""The question an engine answers, in coordinates and cost vectors, and the answer it gives.

Engines know nothing of problems, files or printing: a question holds where to look, the fitted weights,
what the two plans cost under each past observation, and a way to ask for a better plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats, Kind, Status
from whence.problems._deadline import check_time, until
from whence.question.space import Space
from whence.risk import Risk
from whence.weights import ForestWeights, KNNWeights

__all__ = ["Answer", "Engine", "InputMap", "Limits", "Progress", "Question"]


#: Steps by which a coordinate may miss its input: the rounding of a product and a sum.
ROUNDINGS = 4


@dataclass(frozen=True)
class Progress:
    """How far a search has come: boxes (or solver nodes) seen, best distance found, proved lower bound."""

    nodes: int
    distance: float
    bound: float
    seconds: float


@dataclass
class Limits:
    """When a search must stop, and whom it tells how far it has come."""

    time_limit: float | None = None
    node_limit: int | None = None
    on_progress: Callable[[Progress], Any] | None = None
    started: float = field(default_factory=time.perf_counter)
    #: Seconds set aside for the last check of an absolute answer, which solves the decision problem once more.
    reserve: float = 0.0

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

    def reached(self, nodes: int, distance: float, bound: float) -> Status | None:
        """The status to stop with, or None to go on; tells the progress on the way."""
        if self.on_progress is not None and (self.on_progress(Progress(nodes, distance, bound, self.seconds)) is False):
            return "interrupted"
        if self.remaining <= 0 or (self.node_limit is not None and nodes >= self.node_limit):
            return "time_limit"
        return None


@dataclass(frozen=True)
class InputMap:
    """How coordinates become the columns that the weights' estimator sees.

    Column c of the estimator's input is ``point[coordinate[c]] * scale[c] + offset[c]``: the identity, except
    for a frozen forest, which sees the user's own units.
    """

    coordinate: NDArray[np.int64]
    scale: Floats
    offset: Floats

    def sides(self, column: Any, last: Floats, first: Floats) -> tuple[Floats, Floats]:
        """Coordinates of the last input before a turn and of the first beyond it, each surely on its own side.

        Parameters
        ----------
        column : int or array of int
            Column of the estimator, or that of every turn.
        last, first : ndarray
            Neighbouring inputs between which the estimator turns.
        """
        scale, offset = self.scale[column], self.offset[column]
        below, beyond = (last - offset) / scale, (first - offset) / scale
        # Both inputs may have one coordinate; then its neighbours are clear of the turn.
        one = below >= beyond
        below, beyond = (
            np.where(one, np.nextafter(beyond, -np.inf), below),
            np.where(one, np.nextafter(below, np.inf), beyond),
        )
        for _ in range(ROUNDINGS):
            below = np.where(below * scale + offset > last, np.nextafter(below, -np.inf), below)
            beyond = np.where(beyond * scale + offset < first, np.nextafter(beyond, np.inf), beyond)
        return below, beyond


@dataclass(frozen=True)
class Question:
    """One explanation problem.

    Attributes
    ----------
    space : Space
        The initial context, where to look, and the distance.
    weights : ForestWeights or KNNWeights
        The fitted weights.
    inputs : InputMap
        From coordinates to what the weights' estimator sees.
    alternative, decision : ndarray of shape (n,)
        Cost of either plan under each past observation.
    risk : Risk
        Expectation or CVaR.
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
    threads : int
        Threads that may look at boxes side by side.
    within : float
        For absolute questions: by which share of the best plan's cost the alternative may cost more.
    """

    space: Space
    weights: ForestWeights | KNNWeights
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
    threads: int = 1

    @property
    def rival_decision(self) -> Floats:
        """What the alternative must not cost more than: the sample costs of the decision, times ``1 + within``."""
        return self.decision if self.within == 0.0 else (1.0 + self.within) * self.decision

    def holds(self, weights: Floats) -> bool:
        """Whether the alternative costs no more than the decision under these weights, or that share more."""
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
    room : pair of ndarray, optional
        Every point between these two (in coordinates) has the same weights as `point`: what rounding may use.
    note : str
        How it was proved, where that is worth a word.
    """

    status: Status
    point: Floats | None
    distance: float
    bound: float
    nodes: int = 0
    cuts: int = 0
    room: tuple[Floats, Floats] | None = None
    note: str = ""


class Engine(Protocol):
    """One signature for every engine."""

    def __call__(self, question: Question) -> Answer:
        """Answer the question, within its limits."""
        ...
