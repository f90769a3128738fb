"""Putting a question of an experiment, with the clock on."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper.experiment import Row
from paper.instances import Instance
from whence import Explanation
from whence.util.aliases import Kind

KINDS: tuple[Kind, Kind] = ("relative", "absolute")
#: What an alternative may cost more and still count, in units of cost: the feasibility tolerance of the paper's solver,
#: and what its public code allows for an absolute explanation.
TOLERATED: dict[Kind, float] = {"relative": 1e-6, "absolute": 1e-3}
#: Seconds after which a question that ought to be answered at once is given up.
PATIENCE = 60.0


@dataclass(frozen=True, eq=False)
class Answered:
    """An explanation, and the seconds of the whole call: tables, search and re-check."""

    asked: Instance
    why: Explanation
    seconds: float

    @property
    def status(self) -> str:
        """As the explanation's, except that an optimum at distance 0 counts as "already"."""
        symmetric = self.why.status == "optimal" and not self.why.distance > 0
        return "already" if symmetric else self.why.status

    @property
    def step(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """From the context to the explanation, feature by feature, in the units of the data; NaN where none is."""
        if self.why.context is None:
            return np.full(len(self.asked.context), np.nan)
        return self.why.context.to_numpy(dtype=np.float64) - self.asked.context

    @property
    def published_step(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The same as the paper's public code measures it: to an explanation inside the range of the history.

        There a feature that lies outside that range has to come inside. That changes no weights: no threshold of a
        tree lies beyond the range, and all neighbours come nearer by the same.
        """
        past = np.asarray(self.asked.policy.X_, dtype=np.float64)
        there = np.clip(self.asked.context + self.step, past.min(axis=0), past.max(axis=0))
        return np.where(np.isnan(self.step), np.nan, there - self.asked.context)

    @property
    def row(self) -> Row:
        """What is kept of it: how it ended, how long it took, and how far away the explanation is.

        `l1` is the distance in the paper's tables: the sum of absolute changes in the units of the data, divided by
        the number of features, to a context inside the range of the history. `distance` is the one that is minimised.
        `lead` is what the decision costs less than the alternative in the initial context, where it costs `cost`.
        """
        before = self.why.cost_before
        return {
            "kind": self.why.kind,
            "status": self.status,
            "seconds": self.seconds,
            "distance": self.why.distance,
            "bound": self.why.bound,
            "l1": float(np.abs(self.published_step).mean()),
            "changed": len(self.why.changes),
            "nodes": self.why.nodes,
            "cost": before.decision,
            "lead": before.alternative - before.decision,
        }


def ask(asked: Instance, kind: Kind, **options: Any) -> Answered:
    """Put the question to a copy of the policy that was never asked, and time the whole call.

    What the search sets up once a fitted forest is thereby included.

    Parameters
    ----------
    asked : Instance
        The question.
    kind : {"relative", "absolute"}
        Of the explanation.
    **options
        To ``policy.explain``; the time limit is a minute unless named.
    """
    largest = float(np.abs(asked.policy.problem.costs(asked.alternative, asked.policy.Y_)).max())
    tolerance = TOLERATED[kind] / largest if largest > 0 else TOLERATED[kind]
    policy = copy.copy(asked.policy)
    policy.weights_ = copy.copy(asked.policy.weights_)
    usual = {"time_limit": PATIENCE, "tolerance": tolerance}
    began = time.perf_counter()
    why = policy.explain(asked.context, asked.alternative, kind=kind, **{**usual, **options})
    seconds = time.perf_counter() - began
    if why.status == "interrupted":
        # A search keeps what it has found on Ctrl-C; an experiment that was told to stop stops.
        raise KeyboardInterrupt
    return Answered(asked, why, seconds)
