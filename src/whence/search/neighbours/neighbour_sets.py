"""Sets of plans and nearest neighbours: a search for every plan of a list, or candidates that foresight allows."""

from __future__ import annotations

import numpy as np

from whence.errors import InputError
from whence.question import Answer, Question
from whence.search import driver
from whence.search.frontier import Around
from whence.search.neighbours.neighbour_search import NOWHERE, NeighbourFrontier, nothing_moves, within_gap
from whence.search.sets.confident_sets import confidently
from whence.search.sets.per_plan import LISTED, OneByOne
from whence.util.aliases import Floats
from whence.util.linear_program import check_time, until

__all__ = ["explain"]


def explain(question: Question) -> Answer:
    """Answer a question about a set of plans and a nearest-neighbour policy."""
    plans = question.claim.plans
    assert plans is not None
    if nothing_moves(question):
        return NOWHERE
    if question.claim.confidence:
        return confidently(question, alone=NeighbourFrontier, together=_Best)
    rows, gap = plans.every(LISTED), question.weights.capabilities.proof_gap
    if question.claim.kind == "absolute":
        question = question.refuted_by(plans.beaten(question.claim.risk, question.claim.tau))
    if rows is not None:
        each = [NeighbourFrontier(question.claiming(alternative=row)) for row in rows]
        answer = driver.run(question, OneByOne(question, each))
        return within_gap(answer, min(one.proved for one in each)) if gap else answer
    if gap:
        raise InputError(
            f"'instead' must be one plan, or a set of at most {LISTED} plans that can be listed, where neighbours "
            "count by their distance. Got a larger set.",
            parameter="instead",
        )
    with until(question.limits.started + question.limits.seconds + question.limits.remaining):
        return driver.run(question, _Foreseen(question))


class _Foreseen(Around):
    """Contexts in which foresight would do: whoever knew the outcome could not do better than its best plan.

    No plan costs less under an observation than the best one for it, so that every explanation is among them.
    """

    inner: NeighbourFrontier

    def __init__(self, question: Question) -> None:
        self.question = question
        assert question.claim.plans is not None
        self.plans = question.claim.plans
        n = question.claim.alternative.size
        foreseen = np.array([self.plans.best(row)[i] for i, row in enumerate(np.eye(n))])
        super().__init__(NeighbourFrontier(question.claiming(alternative=foreseen)))

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """The nearest context left, once the set's own best plan stands there."""
        last = self.nodes + nodes
        while self.nodes < last:
            found = self.inner.advance(last - self.nodes, cutoff)
            if found is None or self._stands(found):
                return found
            check_time()
            self.inner.exclude(found)
        return None

    def propose(self, cutoff: float) -> Floats | None:
        """Some context that foresight allows, where the set's own best plan stands."""
        found = self.inner.propose(cutoff)
        return found if found is not None and self._stands(found) else None

    def _stands(self, point: Floats) -> bool:
        question, weights = self.question, self.weights(point)
        cost = question.claim.risk.of(self.plans.best(weights), weights)
        return all(
            cost <= question.claim.risk.of(rival, weights) + question.claim.tau for rival in self._rivals(weights)
        )

    def _rivals(self, weights: Floats) -> list[Floats]:
        """What the set's best plan must not cost more than, as sample costs."""
        return self.inner.rivals


class _Best(_Foreseen):
    """The same where an absolute question is not left to the driver: the best plan there is among the rivals."""

    def _rivals(self, weights: Floats) -> list[Floats]:
        best = [] if self.plans.rival is None else [self.plans.rival(weights)]
        return [*self.inner.rivals, *best]
