"""What must hold at a context: the claim that a question is about; and claims about one plan.

A claim is judged *at* a context by what the predictor says there: the weights of the past observations, or a forecast.
Whatever is asked of plans lives here and nowhere else: margins, shares, tolerances on costs and standard errors. One
plan beats the decision, or is the best plan there is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from whence.risk import Risk
from whence.util.aliases import Floats, Kind

if TYPE_CHECKING:
    from whence.claims.sets import Plans

#: The argument by which a user asks for standard errors.
BY_ERRORS = "confidence"


@dataclass(frozen=True, eq=False, kw_only=True)
class Claim(ABC):
    """What must hold at a context."""

    #: Whether one other plan must be beaten ("relative"), or all there are ("absolute").
    kind: ClassVar[Kind] = "relative"

    #: Tolerance on costs, the same for pruning, cuts and tests.
    tau: float
    #: By how many standard errors over the trees of a forest, or over the neighbours, it must hold.
    kappa: float = 0.0

    @abstractmethod
    def excess(self, at: Floats) -> float:
        """Return by how much the claim is missed at a context, standard errors and `tau` left aside."""

    def is_satisfied(self, at: Floats) -> bool:
        """Whether the claim holds at a context, up to `tau`; of a plan that must be the best, against the decision."""
        return self.excess(at) <= self.tau

    def rival(self, at: Floats) -> Any:
        """Return what refutes the claim at a context besides what it names itself; None where nothing does."""
        return None

    @abstractmethod
    def with_confidence(self, kappa: float) -> Self:
        """Return the claim that must hold by this many standard errors."""

    def plain(self) -> Self:
        """Return the claim that must hold without standard errors, refuted by the same plans as before."""
        return replace(self, kappa=0.0)


C = TypeVar("C", bound=Claim)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanBeats(Claim):
    """The alternative costs no more than the decision, less a margin or with a share more."""

    #: The set of plans, one of which must be better; None where it is a single plan.
    plans: ClassVar[Plans | None] = None

    #: Cost of either plan under each past observation: what the policy's risk counts it for (`Risk.values`).
    alternative: Floats
    decision: Floats
    #: What is taken of these costs: their mean, or the mean of their worst share (``risk.tail``).
    risk: Risk
    #: By which share of the decision's cost, and by which amount, the alternative must cost less than the decision.
    margin: tuple[float, float] = (0.0, 0.0)
    #: By which share of the best plan's cost, or of the decision's, the alternative may cost more.
    within: float = 0.0
    #: Of a plan that must be the best: by which amount it may cost more than the best plan. `alternative` holds the
    #: costs less this amount, so that no engine has to know of it.
    allowance: float = 0.0

    @cached_property
    def rival_decision(self) -> Floats:
        """What the alternative must not cost more than, under each past observation.

        That is what the decision costs there, times ``1 + within``, or less the margin: a risk of costs that are all
        scaled, or all lowered by one amount, is scaled and lowered as they are.
        """
        factor, amount = self.of_decision
        return self.decision if factor == 1.0 and not amount else factor * self.decision - amount

    @property
    def of_decision(self) -> tuple[float, float]:
        """What the decision's cost is multiplied by, and what is then taken off it, to be compared."""
        share, amount = self.margin
        return (1.0 - share, amount) if share or amount else (1.0 + self.within, 0.0)

    @property
    def must_be_cheaper(self) -> bool:
        """Whether the alternative must cost less than the decision by a share or an amount."""
        return any(self.margin)

    @property
    def compared(self) -> tuple[Any, ...]:
        """What the two costs are made of: the very same objects in claims that compare the same costs."""
        return self.alternative, self.decision, self.within, self.margin

    @property
    def size(self) -> float:
        """How large costs are: the largest of either plan."""
        return max(float(np.abs(self.alternative).max()), float(np.abs(self.rival_decision).max()))

    @property
    def hopeless(self) -> bool:
        """Whether the alternative costs more than the decision under every past observation."""
        return bool((self.alternative - self.rival_decision > self.tau).all())

    def excess(self, at: Floats) -> float:
        """Return by how much the alternative costs more than the decision, `within` and `margin` included."""
        return self.risk.of(self.alternative, at) - self.risk.of(self.rival_decision, at)

    def is_satisfied(self, at: Floats) -> bool:
        """Whether the alternative costs no more than the decision here, `within` and `margin` included."""
        return self.risk.of(self.alternative, at) <= self.risk.of(self.rival_decision, at) + self.tau

    def with_confidence(self, kappa: float) -> Self:
        """Return the claim that must hold by this many standard errors."""
        return replace(self, kappa=kappa)

    def relative(self) -> PlanBeats:
        """Return the claim against the decision alone."""
        return self

    def against(self, costs: Floats) -> Self:
        """Return the claim that the alternative costs no more than these sample costs, as they are."""
        return replace(self, decision=costs, within=0.0, margin=(0.0, 0.0))

    def cheaper_by(self, share: float, amount: float) -> Self:
        """Return the claim that the alternative costs less than the decision by a share and an amount."""
        return replace(self, margin=(share, amount))

    def of_plan(self, alternative: Floats) -> PlanBeats:
        """Return the claim about one plan with these sample costs."""
        return replace(self, alternative=alternative)

    def refuted_by(self, better: Callable[[Floats], Floats | None]) -> Self:
        """Return the claim that only those plans refute which `better` names; nothing else refutes a relative one."""
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanIsBest(PlanBeats):
    """The alternative costs no more than any plan there is, up to the share `within`, and no more than the decision."""

    kind: ClassVar[Kind] = "absolute"

    #: Given weights, the sample costs of a plan that beats the alternative by more than `tau`, times ``1 + within``, or
    #: None where the alternative is as good as asked for.
    better: Callable[[Floats], Floats | None]
    #: Given weights, the sample costs of the best plan, times ``1 + within``.
    best: Callable[[Floats], Floats] | None = None
    #: Gives, where plans form a polytope and costs are linear, that polytope, the cost vectors of the past
    #: observations, and the alternative as a vector; None where it is not so. Under CVaR all its points are plans.
    linear: Callable[[], tuple[Any, Floats, Floats] | None] | None = None

    def rival(self, at: Floats) -> Floats | None:
        """Return the sample costs of a plan that is better than the alternative may be; None where there is none."""
        return self.better(at)

    def with_confidence(self, kappa: float) -> Self:
        """Return the claim by this many standard errors: how many the best plan is away is for engines to judge."""
        return replace(self, kappa=kappa, better=self.best or self.better)

    def relative(self) -> PlanBeats:
        """Return the claim against the decision alone."""
        return taken_over(PlanBeats, self)

    def refuted_by(self, better: Callable[[Floats], Floats | None]) -> Self:
        """Return the claim that only those plans refute which `better` names."""
        return replace(self, better=better)


def taken_over(kind: type[C], claim: Claim, **more: Any) -> C:
    """Return a claim of another kind with what it shares with `claim`."""
    own = {one.name for one in fields(claim)}
    return kind(**{one.name: getattr(claim, one.name) for one in fields(kind) if one.name in own} | more)
