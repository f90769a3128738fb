"""Several plans, a search for each: that with the smallest bound goes on."""

from __future__ import annotations

from collections.abc import Sequence

from whence.question import Question
from whence.search.driver import Frontier
from whence.util.aliases import Floats

__all__ = ["LISTED", "OneByOne"]

#: Plans that get a search each, at most.
LISTED = 400


class OneByOne:
    """A frontier of several others (see :class:`whence.search.driver.Frontier`), one a plan."""

    def __init__(self, question: Question, each: Sequence[Frontier]) -> None:
        self.question, self.each = question, each
        self.met: list[Floats | None] = [None] * len(each)
        self.proposal: Floats | None = None

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        return sum(one.nodes for one in self.each)

    @property
    def memory(self) -> int:
        """Bytes that boxes and what was learned on the way take, about."""
        return sum(one.memory for one in self.each)

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

    def weights(self, point: Floats) -> Floats:
        """Weights of the past observations at `point`."""
        return self.question.weights.at(self.question.inputs.row(point))

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        """A box around `point` in which the weights stay the same, where the engine knows one."""
        return self.each[0].cell(point)
