"""Sets of plans and nearest neighbours: a search for every plan of a list, or candidates that foresight allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whence.aliases import Floats
from whence.problems._deadline import check_time, until
from whence.question import Answer, Question
from whence.search import driver
from whence.search.driver import Frontier
from whence.search.knn import NeighbourFrontier

__all__ = ["explain"]

#: Plans that get a search each.
LISTED = 400


def explain(question: Question) -> Answer:
    """Answer a question about a set of plans and a nearest-neighbour policy."""
    plans = question.plans
    assert plans is not None
    rows = plans.every(LISTED)

    def better(weights: Floats) -> Floats | None:
        assert plans is not None
        assert plans.rival is not None
        rival = plans.rival(weights)
        over = question.risk.of(plans.best(weights), weights) - question.risk.of(rival, weights)
        return rival if over > question.tau else None

    if question.kind == "absolute":
        question = replace(question, better=better)
    if rows is not None:
        return driver.run(question, _OneByOne(question, rows))
    with until(question.limits.started + question.limits.seconds + question.limits.remaining):
        return driver.run(question, _Foreseen(question))


class _Several:
    """What frontiers of several plans have in common: the point that was handed out last."""

    question: Question

    def __init__(self, question: Question) -> None:
        self.question = question

    def weights(self, point: Floats) -> Floats:
        """Weights of the past observations at `point`."""
        return self.question.weights.at(self.question.inputs.row(point))

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        """No box is known in which the neighbours stay the same."""
        return None


class _OneByOne(_Several):
    """A search for every plan; that with the smallest bound goes on."""

    def __init__(self, question: Question, rows: Floats) -> None:
        super().__init__(question)
        self.each: list[Frontier] = [NeighbourFrontier(replace(question, alternative=row)) for row in rows]
        self.met: list[Floats | None] = [None] * len(rows)
        self.proposal: Floats | None = None

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        return sum(one.nodes for one in self.each)

    def _bound(self, i: int) -> float:
        met = self.met[i]
        return self.each[i].bound if met is None else self.question.space.distance(met)

    @property
    def bound(self) -> float:
        """No context that satisfies all cuts lies nearer."""
        return min(self._bound(i) for i in range(len(self.each)))

    def cut(self, rival: Floats) -> None:
        """From now on no plan may cost more than a rival with these sample costs."""
        self._again()
        for one in self.each:
            one.cut(rival)

    def exclude(self, point: Floats) -> None:
        """Leave out the contexts that have the same neighbours as `point`."""
        self._again()
        for one in self.each:
            one.exclude(point)

    def _again(self) -> None:
        self.met = [None] * len(self.each)
        self.proposal = None

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Let the plan with the smallest bound go on; its nearest context, if no other plan can have a nearer one."""
        i = min(range(len(self.each)), key=self._bound)
        found = self.met[i]
        if found is not None:
            return found
        found = self.each[i].advance(nodes, cutoff)
        if found is None:
            return None
        self.met[i] = found
        if self._bound(i) <= self.bound:
            return found
        self.proposal = found
        return None

    def propose(self, cutoff: float) -> Floats | None:
        """What one plan has found while others may still find something nearer."""
        found, self.proposal = self.proposal, None
        if found is not None:
            return found
        i = min(range(len(self.each)), key=self._bound)
        return None if self.met[i] is not None else self.each[i].propose(cutoff)


class _Foreseen(_Several):
    """Contexts in which foresight would do: whoever knew the outcome could not do better than its best plan.

    No plan costs less under an observation than the best one for it, so that every explanation is among them.
    """

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        assert question.plans is not None
        self.plans = question.plans
        n = question.alternative.size
        foreseen = np.array([self.plans.best(row)[i] for i, row in enumerate(np.eye(n))])
        self.inner = NeighbourFrontier(replace(question, alternative=foreseen))

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        return self.inner.nodes

    @property
    def bound(self) -> float:
        """No context that satisfies all cuts lies nearer."""
        return self.inner.bound

    def cut(self, rival: Floats) -> None:
        """From now on the set's best plan must cost no more than a plan with these sample costs."""
        self.inner.cut(rival)

    def exclude(self, point: Floats) -> None:
        """Leave out the contexts that have the same neighbours as `point`."""
        self.inner.exclude(point)

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
        cost = question.risk.of(self.plans.best(weights), weights)
        return all(cost <= question.risk.of(rival, weights) + question.tau for rival in self.inner.rivals)
