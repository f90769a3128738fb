"""Frontiers made of others: around one, one for each of several plans, and those of which only sure contexts count.

Each plan of a list has a search of its own, and that with the smallest bound goes on. With standard errors, each has a
spread of its own as well; of other sets the plan that is best in a context has to be sure. More standard errors never
make a plan better, so that the search without them hands out every context that may do, nearest first, and each is
judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whence import _core
from whence.claims.sets import APART, rivals_there, worst_rival
from whence.question import Answer, Question
from whence.search import driver
from whence.search.driver import Frontier
from whence.search.grid import alive_leaves
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime, check_time, until

if TYPE_CHECKING:
    from whence.search.forest_search import ForestFrontier


class Around:
    """All of a :class:`whence.search.driver.Frontier` but `advance` and `propose`, as the `inner` one has it."""

    def __init__(self, inner: Frontier) -> None:
        self.inner = inner

    @property
    def nodes(self) -> int:
        return self.inner.nodes

    @property
    def memory(self) -> int:
        return self.inner.memory

    @property
    def bound(self) -> float:
        return self.inner.bound

    def cut(self, rival: Floats) -> None:
        self.inner.cut(rival)

    def exclude(self, point: Floats) -> None:
        self.inner.exclude(point)

    def weights(self, point: Floats) -> Floats:
        return self.inner.weights(point)

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        return self.inner.cell(point)


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
        return sum(one.nodes for one in self.each)

    @property
    def memory(self) -> int:
        return sum(one.memory for one in self.each)

    def _bound(self, i: int) -> float:
        met = self.met[i]
        return self.each[i].bound if met is None else self.question.space.distance(met)

    @property
    def bound(self) -> float:
        return min(self._bound(i) for i in range(len(self.each)))

    def cut(self, rival: Floats) -> None:
        self._again()
        for one in self.each:
            one.cut(rival)

    def exclude(self, point: Floats) -> None:
        self._again()
        for one in self.each:
            one.exclude(point)

    def _again(self) -> None:
        self.met = [None] * len(self.each)
        self.proposal = None

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        # The plan with the smallest bound goes on; its context counts once no other plan can have a nearer one.
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
        found, self.proposal = self.proposal, None
        if found is not None:
            return found
        i = min(range(len(self.each)), key=self._bound)
        return None if self.met[i] is not None else self.each[i].propose(cutoff)

    def weights(self, point: Floats) -> Floats:
        return self.question.weights.at(self.question.inputs.row(point))

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        return self.each[0].cell(point)


class PlanByPlan(Around):
    """A frontier for a set of plans and expected costs: first all of them together, then, where that takes long, each.

    Boxes that carry all plans left settle most questions soon. In the others the strong bound would have to suit all
    plans of a box, and no prices do. By itself, nearly every plan is proved to be out of reach at the first box, by
    potentials (``core/bounds/potentials.hpp``), and the few others need hundreds of boxes where all of them together
    need tens of thousands. A question about one plan that takes long ends in the same way.

    Given a number, `worth` is what each leaf adds to the excess of each plan over the decision, one row a plan; None
    where there are more plans.
    """

    def __init__(self, together: ForestFrontier, worth: Callable[[int], Floats | None]) -> None:
        super().__init__(together)
        self.together, self.worth, self.settings = together, worth, together.question.settings
        self.apart: _core.PotentialSearch | None = None
        self.tried = False
        self.told = np.inf
        self.bound_apart = 0.0

    @property
    def memory(self) -> int:
        return self.together.memory + (0 if self.apart is None else self.apart.bytes)

    @property
    def nodes(self) -> int:
        return self.together.nodes + (0 if self.apart is None else self.apart.examined)

    @property
    def bound(self) -> float:
        return max(self.together.bound, self.bound_apart)

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        if not self.tried:
            if self.together.nodes < self.settings.potentials_after:
                # The course does not depend on the clock, which slices follow.
                return self.together.advance(min(nodes, self.settings.potentials_after - self.together.nodes), cutoff)
            self.tried = True
            self.apart = self._taken_apart(cutoff)
        if self.apart is None:
            return self.together.advance(nodes, cutoff)
        behind = self.settings.potentials_plain * (self.apart.examined - self.settings.potentials_both_from) - (
            self.together.nodes - self.settings.potentials_after
        )
        if self._both() and behind > 0:
            return self.together.advance(min(self.settings.potentials_plain * nodes, behind), cutoff)
        proved, bound = self.apart.advance(
            min(nodes, self.settings.potentials_slice), cutoff, self.together.question.limits.remaining
        )
        self.bound_apart = max(self.bound_apart, bound)
        return self.together.point_of(self.apart.cells) if proved else None

    def propose(self, cutoff: float) -> Floats | None:
        if self.apart is not None and self.apart.distance < min(cutoff, self.told):
            self.told = self.apart.distance
            return self.together.point_of(self.apart.cells)
        # The search without potentials waits for its proposals as long as it goes on.
        return self.together.propose(cutoff) if self.apart is None or self._both() else None

    def _both(self) -> bool:
        """Whether the search goes on without potentials as well."""
        return (
            self.together.question.claim.plans is None and self.together.columns < self.settings.potentials_many_columns
        )

    def _taken_apart(self, cutoff: float) -> _core.PotentialSearch | None:
        """The search for the plans that are possible nearer than the cutoff; None where there are too many plans."""
        together = self.together
        question, kept, tau = together.question, together.kept, float(together.question.claim.tau)
        many = (
            together.columns >= self.settings.potentials_many_columns
            and question.limits.remaining > self.settings.potentials_seconds
        )
        worth = self.worth(
            min(
                self.settings.potentials_most_plans if many else self.settings.potentials_plans,
                self.settings.set_table // kept.leaves,
            )
        )
        if worth is None or not np.isfinite(worth).all():
            return None
        leaves, tree = alive_leaves(together.located, kept, cutoff)
        first = np.flatnonzero(np.diff(tree, prepend=-1))
        if first.size < kept.trees:  # a tree has no leaf that is nearer
            return None
        least = np.minimum.reduceat(worth[:, leaves], first, axis=1).sum(axis=1)
        # Sums of the same numbers in another order differ by less than this.
        slack = 1e-12 * np.abs(worth[:, leaves]).max(initial=0.0) * kept.trees
        possible = np.flatnonzero(least <= tau + slack)
        return _core.PotentialSearch(together.located, np.ascontiguousarray(worth[possible]), tau, together.bound)


class Nowhere:
    """In place of a frontier: no plan of the set is good enough anywhere, under any threshold of its tail."""


def confidently(
    question: Question, alone: Callable[[Question], Frontier], together: Callable[[Question], Frontier | Nowhere | None]
) -> Answer:
    """Answer a question about a set by standard errors.

    `alone` is the frontier of a relative question about one plan; `together` that of a set without standard errors,
    None where the time is up before there is one.
    """
    assert question.claim.plans is not None
    try:
        with until(question.limits.ends):
            rows, others = question.claim.plans.every(APART), question.claim.plans.others
            listed = others is None or others.every() is not None
            if rows is not None and listed:
                return driver.run(*_one_by_one(question, rows, alone))
            inner = together(question.plain())
    except OutOfTime:
        inner = None
    if inner is None:
        return Answer("time_limit", None, np.inf, 0.0)
    if isinstance(inner, Nowhere):
        return Answer("none", None, np.inf, np.inf)
    # Whatever stands against its rivals is part of that search; for the driver the question is a relative one.
    return driver.run(question.relative(), _Standing(question, inner, rows, apart=False))


def _one_by_one(question: Question, rows: Floats, alone: Callable[[Question], Frontier]) -> tuple[Question, Frontier]:
    """A frontier for every plan, and the question that the driver is to ask."""
    if question.claim.kind == "relative":
        each = [alone(replace(question, claim=question.claim.of_plan(row), memo={})) for row in rows]
        return question, OneByOne(question, each)
    first = rivals_there(question.claim, question.weights.at(question.inputs.row(question.space.start)))[0]
    # The rivals are sample costs as they are to be compared; the first one stands in the place of the decision.
    against = replace(question, claim=question.claim.relative().against(first))
    standing = [
        _Standing(
            question, alone(replace(against, claim=against.claim.of_plan(row), memo={})), row[None, :], apart=True
        )
        for row in rows
    ]
    return against, OneByOne(against, standing)


class _Standing(Around):
    """A frontier (see :class:`whence.search.driver.Frontier`) of which only contexts count in which a plan is sure.

    It is one of the plans with these sample costs, or the best one of the set where there are none. A frontier that is
    about one plan `apart` from others takes notice of the rivals that it does not stand against.
    """

    def __init__(self, question: Question, inner: Frontier, rows: Floats | None, apart: bool) -> None:
        super().__init__(inner)
        self.question, self.rows, self.apart = question, rows, apart
        self.refused: Floats | None = None

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """The nearest context left, if it was reached and a plan is sure there."""
        point = self.inner.advance(nodes, cutoff)
        if point is None:
            return None
        rival = self._refuting(point)
        if rival is None:
            return point
        again = self.refused is not None and np.array_equal(point, self.refused)
        self.refused = point
        if self.apart and not again:
            self.inner.cut(rival)
        else:
            self.inner.exclude(point)
        return None

    def propose(self, cutoff: float) -> Floats | None:
        """A context in which a plan is sure, found without proof."""
        point = self.inner.propose(cutoff)
        return point if point is not None and self._refuting(point) is None else None

    def _refuting(self, point: Floats) -> Floats | None:
        """The rival that the plan is not sure to beat at the point handed out last, if there is one."""
        question, plans = self.question, self.question.claim.plans
        assert plans is not None
        trees = question.weights.per_tree(question.inputs.row(point))
        assert trees is not None
        with until(question.limits.ends):
            check_time()
            weights = self.inner.weights(point)
            rivals = rivals_there(question.claim, weights)
            found = None
            for costs in [plans.best(weights)] if self.rows is None else self.rows:
                found = worst_rival(question.claim, costs, rivals, trees)[1]
                if found is None:
                    break
            return found
