"""A set of plans: first all of them together, and where that takes long, each by itself.

Boxes that carry all plans left settle most questions soon. In the others the strong bound would have to suit all plans
of a box, and no prices do. By itself, nearly every plan is proved to be out of reach at the first box, by potentials
(``core/bounds/potentials.hpp``), and the few others need hundreds of boxes where all of them together need tens of
thousands.

A question about one plan that takes long ends in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from whence import _core
from whence.search.grid import alive_leaves
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from whence.search.forest_search import ForestFrontier

__all__ = ["PlanByPlan"]


class PlanByPlan:
    """A frontier (see :class:`whence.search.driver.Frontier`) for a set of plans and expected costs.

    Parameters
    ----------
    together : ForestFrontier
        The search for all plans together, which comes first.
    worth : callable
        Given a number, what each leaf adds to the excess of each plan over the decision, one row a plan; None where
        there are more plans.
    """

    def __init__(self, together: ForestFrontier, worth: Callable[[int], Floats | None]) -> None:
        self.together, self.worth, self.settings = together, worth, together.question.settings
        self.apart: _core.PotentialSearch | None = None
        self.tried = False
        self.told = np.inf
        self.bound_apart = 0.0

    @classmethod
    def suits(cls, together: ForestFrontier) -> bool:
        """Whether a question is one that plans by themselves can answer."""
        question, grid = together.question, together.kept.grid
        settings = question.settings
        plans = question.claim.plans
        return (
            (plans is None or (plans.rivals is None and plans.rival is None and plans.stock is None))
            and question.claim.kind == "relative"
            and not together.tail
            and not question.claim.is_confident
            and together.plausibility is None
            and together.few is None
            and not together.related
            and together.columns >= settings.potentials_columns
            and grid.leaves <= settings.potentials_leaves * grid.trees
        )

    @property
    def memory(self) -> int:
        """Bytes that boxes and what was learned on the way take, about."""
        return self.together.memory + (0 if self.apart is None else self.apart.bytes)

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        return self.together.nodes + (0 if self.apart is None else self.apart.examined)

    @property
    def bound(self) -> float:
        """No context in which one of the plans is good enough lies nearer."""
        return max(self.together.bound, self.bound_apart)

    def cut(self, rival: Floats) -> None:
        """The rival is part of the criterion."""
        self.together.cut(rival)

    def exclude(self, point: Floats) -> None:
        """Nothing is left out of a relative question."""
        self.together.exclude(point)

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Search on; the nearest context of any plan, once it is proved nearest."""
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
        """What was found without proof."""
        if self.apart is not None and self.apart.distance < min(cutoff, self.told):
            self.told = self.apart.distance
            return self.together.point_of(self.apart.cells)
        # The search without potentials waits for its proposals as long as it goes on.
        return self.together.propose(cutoff) if self.apart is None or self._both() else None

    def weights(self, point: Floats) -> Floats:
        """Weights of the past observations at the point handed out last."""
        return self.together.weights(point)

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        """A box around `point` in which the weights stay the same."""
        return self.together.cell(point)

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
