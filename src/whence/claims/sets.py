"""Claims about a set of plans: one of them beats the decision, or is the best plan there is.

A set is what an engine sees of it: what its plans cost, and which of them is best under given weights. With standard
errors over the trees or the neighbours, some plan of the set has to be better by this many of them than the decision,
or than every plan outside the set; of a set that cannot be listed it is the best plan in the context that has to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence.claims.plans import PlanBeats, PlanIsBest, taken_over
from whence.problems.base import Routes, Stock
from whence.risk import Risk
from whence.util.aliases import Floats


@dataclass(frozen=True)
class Others:
    """The plans outside a set, which a plan of it must beat by standard errors where it has to be the best of all."""

    #: The sample costs of all of them, one row per plan, times ``1 + within``; None where they cannot be listed.
    every: Callable[[], Floats | None]
    #: The same for those that are decided in past contexts.
    past: Callable[[], Floats]
    #: Given weights, the sample costs of the best plan of all, times ``1 + within``; None where it is in the set.
    best: Callable[[Floats], Floats | None]
    #: Whether the decision is one of them, or has to be beaten by a share or an amount.
    decided: Callable[[], bool]


@dataclass(frozen=True)
class Plans:
    """The plans at least one of which must be better."""

    #: Given weights, the sample costs of the best plan of the set.
    best: Callable[[Floats], Floats]
    #: Given a number, the sample costs of all plans of the set, one row per plan, where there are at most this many.
    every: Callable[[int], Floats | None]
    #: For absolute questions: given weights, the sample costs of the best plan of all, times ``1 + within``.
    rival: Callable[[Floats], Floats] | None = None
    #: For absolute questions: as `every`, of all plans there are, times ``1 + within``.
    rivals: Callable[[int], Floats | None] | None = None
    #: The set, and all plans there are, as quantities that are chosen one by one.
    stock: Stock | None = None
    all_stock: Stock | None = None
    #: The set, and all plans there are, as routes of a network.
    routes: Routes | None = None
    all_routes: Routes | None = None
    #: For absolute questions: the plans outside the set.
    others: Others | None = None
    #: Gives, where plans form a polytope and costs are linear, a polytope that holds all plans of the set, and the cost
    #: vectors of the past observations; None where it is not so.
    linear: Callable[[], tuple[Any, Floats] | None] | None = None
    #: As `best`, for each row of weights, one row a plan; for problems that solve for many at once.
    many: Callable[[Floats], Floats | None] | None = None

    def limit(self, claim: PlanBeats, weights: Floats) -> float:
        """Return what the decision, and of an absolute question the best plan of all, cost under these weights."""
        limit = claim.risk.of(claim.rival_decision, weights)
        return limit if self.rival is None else min(limit, claim.risk.of(self.rival(weights), weights))

    def beaten(self, risk: Risk, tau: float) -> Callable[[Floats], Floats | None]:
        """Of an absolute question: given weights, the best plan of all where it beats the set by more than tau."""

        def better(weights: Floats) -> Floats | None:
            assert self.rival is not None
            rival = self.rival(weights)
            over = risk.of(self.best(weights), weights) - risk.of(rival, weights)
            return rival if over > tau else None

        return better


@dataclass(frozen=True, eq=False, kw_only=True)
class SetBeats(PlanBeats):
    """Some plan of a set beats the decision; `alternative` is the best of them in the initial context."""

    plans: Plans  # type: ignore[misc]

    def relative(self) -> PlanBeats:
        """Return the claim that some plan of the set beats the decision."""
        return taken_over(SetBeats, self)

    def of_plan(self, alternative: Floats) -> PlanBeats:
        """Return the claim about one plan of the set."""
        return taken_over(PlanBeats, self, alternative=alternative)


@dataclass(frozen=True, eq=False, kw_only=True)
class SetIsBest(SetBeats, PlanIsBest):
    """Some plan of a set costs no more than any plan there is, and no more than the decision."""

    def of_plan(self, alternative: Floats) -> PlanBeats:
        """Return the claim about one plan of the set."""
        return taken_over(PlanIsBest, self, alternative=alternative)


def about_set(claim: PlanBeats, plans: Plans) -> SetBeats:
    """Return a claim about a set of plans in the place of one about its best plan in the initial context."""
    kind = SetIsBest if isinstance(claim, PlanIsBest) else SetBeats
    return taken_over(kind, claim, plans=plans)


#: Plans of a set, at most, of which each may be the one that is better.
APART = 400


def excess(claim: PlanBeats, costs: Floats, rival: Floats, trees: Floats) -> float:
    """By how much a plan costs more than a rival, standard errors included: over weights by each tree, a row each."""
    apart = claim.risk.by_tree(costs, trees) - claim.risk.by_tree(rival, trees)
    spread = float(apart.std(ddof=1)) / np.sqrt(apart.size) if apart.size > 1 else 0.0
    return float(apart.mean()) + claim.kappa * spread


def rivals_there(claim: PlanBeats, weights: Floats) -> list[Floats]:
    """What a plan of the set has to beat in a context with these weights, as sample costs.

    Relative: the decision. Absolute: every plan outside the set, or where they cannot be listed those that are decided
    in past contexts and the best plan there; and the decision, where it is outside the set or there is nothing else.
    """
    assert claim.plans is not None
    others = claim.plans.others if claim.kind == "absolute" else None
    if others is None:
        return [claim.rival_decision]
    known = others.every()
    found = [] if known is None else list(known)
    if known is None:
        best = others.best(weights)
        found = [*([] if best is None else [best]), *others.past()]
    return [claim.rival_decision, *found] if others.decided() or not found else found


def worst_rival(
    claim: PlanBeats, costs: Floats, rivals: Sequence[Floats], trees: Floats
) -> tuple[float, Floats | None]:
    """By how much a plan misses being better than all rivals, and the one that refutes it most, if any does."""
    if claim.risk.tail is None and len(rivals) > 1:
        apart = (costs - np.asarray(rivals)) @ trees.T
        spread = apart.std(axis=1, ddof=1) / np.sqrt(len(trees)) if len(trees) > 1 else 0.0
        over = apart.mean(axis=1) + claim.kappa * spread
    else:
        over = np.array([excess(claim, costs, rival, trees) for rival in rivals])
    worst = int(np.argmax(over))
    return float(over[worst]), rivals[worst] if over[worst] > claim.tau else None
