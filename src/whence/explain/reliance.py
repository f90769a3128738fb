"""How far an explanation can be relied on: in how many refits of the weights it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from whence.explain.plans import sample_costs
from whence.explain.source import Source
from whence.plain_values import number_from_plain
from whence.question import Limits, Progress
from whence.report.model import RelianceEntry, ShownHeld
from whence.weights import Weights
from whence.weights.refits import RefitKind, refits_of

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation
    from whence.policy import Policy

__all__ = [
    "CHOOSING",
    "HOLDS",
    "JUDGING",
    "KAPPAS",
    "WITHIN",
    "Held",
    "Refitted",
    "Reliance",
    "Rung",
    "explained_reliably",
    "why_not_refitted",
]

#: Standard errors over the trees, or the neighbours, that are tried, one after the other. No formula for them transfers
#: from one kind of problem to another; what does is to try them on refits.
KAPPAS = (0.0, 1.2, 1.8, 2.3, 3.0, 4.0, 5.0, 7.0)
#: Refits by which a rung of the ladder is chosen, and others by which the choice is judged.
CHOOSING, JUDGING = range(10), range(10, 20)
#: The share of refits in which an answer to rely on must hold, unless somebody says otherwise.
HOLDS = 0.9
#: An absolute explanation holds in a refit where the alternative costs at most this share more than the best plan
#: there: the best plan itself is another one in nearly every refit.
WITHIN = 0.01


class Held(NamedTuple):
    """In how many of some refits an explanation holds."""

    times: int
    refits: int

    @property
    def share(self) -> float:
        """The share of the refits; 0 where there was no time for any."""
        return self.times / self.refits if self.refits else 0.0

    def with_others(self, other: Held) -> Held:
        """Together with other refits."""
        return Held(self.times + other.times, self.refits + other.refits)

    def __str__(self) -> str:
        return f"{self.times} of {self.refits} refits"


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: its standard errors, the distance of the nearest context, and how often it holds.

    Attributes
    ----------
    confidence : float
        Standard errors over the trees, or the neighbours, by which the alternative had to be better.
    status : str
        How the search for it ended.
    distance, bound : float
        Of the context found, and the proved lower bound on the nearest one.
    held : Held or None
        In how many of the refits that choose it holds; None where there is no context.
    """

    confidence: float
    status: str
    distance: float
    bound: float
    held: Held | None


@dataclass(frozen=True)
class Reliance:
    """What an explanation that had to hold in refits rests on.

    Attributes
    ----------
    wanted : float
        The share of the refits in which it had to hold.
    refits : {"seed", "bootstrap"}
        What was drawn anew: the random numbers of the forest, or the data.
    confidence : float
        Standard errors at which the ladder ended.
    chosen, judged : Held
        In how many of the refits that chose this rung it holds, and in how many others.
    ladder : tuple of Rung
        Every step that was tried.
    """

    wanted: float
    refits: RefitKind
    confidence: float
    chosen: Held
    judged: Held
    ladder: tuple[Rung, ...]

    @classmethod
    def of_entry(cls, entry: RelianceEntry) -> Reliance:
        """What a document says of it."""

        def held(found: ShownHeld) -> Held:
            return Held(found.times, found.refits)

        ladder = tuple(
            Rung(
                rung.confidence,
                rung.status,
                number_from_plain(rung.distance),
                number_from_plain(rung.bound),
                None if rung.held is None else held(rung.held),
            )
            for rung in entry.ladder
        )
        return cls(entry.wanted, entry.refits, entry.confidence, held(entry.chosen), held(entry.judged), ladder)

    @property
    def reached(self) -> bool:
        """Whether it holds in the share that was wanted, among the refits that choose."""
        return _enough(self.chosen, self.wanted)


class Refitted:
    """The refits of a policy's weights, and whether an explanation holds in them.

    Parameters
    ----------
    source : Source
        The parts of the policy.
    kind : {"seed", "bootstrap"}, optional
        What is drawn anew; the random numbers of the weights where they have any, otherwise the data.
    """

    def __init__(self, source: Source, kind: RefitKind | None = None) -> None:
        self.source = source
        self.refits = refits_of(source.weights, source.inputs(), source.Y, kind)

    @classmethod
    def of(cls, policy: Policy, kind: RefitKind | None = None) -> Refitted:
        """The refits of a fitted policy."""
        return cls(Source.of(policy), kind)

    def held(
        self, explanation: Explanation, numbers: Iterable[int], within: float = WITHIN, limits: Limits | None = None
    ) -> Held | None:
        """In how many of these refits the explanation holds; None where it has no context.

        Where `limits` do not leave the time to make all of them, it is counted on those that there are.
        """
        if explanation.context is None:
            return None
        source, decision, alternative = self.source, explanation.costs_decision, explanation.costs_alternative
        assert decision is not None and alternative is not None  # noqa: PT018
        risk, tau = source.risk, explanation.tolerance
        row = source.inputs(explanation.context)
        outcomes = []
        share, amount = explanation.margin
        for number in numbers:
            if limits is not None and (self._stopped(explanation, limits) or not self._in_time(number, limits)):
                break
            weights = self.refits.weights_at(number, row)
            cost = risk.of(alternative, weights)
            holds = True
            if explanation.kind == "absolute":
                best = sample_costs(source.problem, source.problem.solve(source.Y, weights, risk), source.Y)
                holds = cost <= (1.0 + max(within, explanation.within)) * risk.of(best, weights) + tau
            if explanation.kind == "relative" or share or amount:
                holds &= cost <= (1.0 - share) * risk.of(decision, weights) - amount + tau
            outcomes.append(bool(holds))
        return Held(sum(outcomes), len(outcomes))

    def _in_time(self, number: int, limits: Limits) -> bool:
        return self.refits.ready_within(number, limits.remaining)

    def _stopped(self, explanation: Explanation, limits: Limits) -> bool:
        """Whether the user has had enough; refits may take longer than the search."""
        if limits.on_progress is None:
            return False
        told = Progress(explanation.nodes, explanation.distance, explanation.bound, limits.seconds)
        return limits.on_progress(told) is False


def _enough(held: Held, wanted: float) -> bool:
    """Whether it holds in the wanted share of all refits that choose; `wanted` may be 0.7 and the share 7 / 10."""
    return held.refits >= len(CHOOSING) and held.share >= wanted - 1e-12


def explained_reliably(
    at: Callable[[float], Explanation],
    refitted: Refitted,
    wanted: float,
    limits: Limits | None = None,
    on_nearest: Callable[[Explanation], Any] | None = None,
) -> Explanation:
    """The nearest explanation on the ladder of confidence that holds in the wanted share of the refits.

    Where no rung does, the one that holds in most of them: its `reliance` says how often.

    Parameters
    ----------
    at : callable
        The nearest explanation by that many standard errors.
    refitted : Refitted
        The refits by which it is chosen and judged.
    wanted : float
        The share of the refits in which it has to hold.
    limits : Limits, optional
        Of the whole ladder, the making of refits included.
    on_nearest : callable, optional
        Called with the nearest explanation in this fit, as soon as it is found.
    """
    nearest = at(0.0)
    if on_nearest is not None:
        on_nearest(nearest)
    rungs: list[Rung] = []
    found: list[Explanation] = []
    for kappa in KAPPAS if refitted.source.weights.knows_spread(refitted.source.risk.tail) else KAPPAS[:1]:
        explanation = at(kappa) if kappa else nearest
        held = refitted.held(explanation, CHOOSING, limits=limits)
        rungs.append(Rung(kappa, explanation.status, explanation.distance, explanation.bound, held))
        found.append(explanation)
        # More standard errors are never nearer: where nothing is found, or time is up, the ladder ends.
        if held is None or _enough(held, wanted) or held.refits < len(CHOOSING):
            break
        if explanation.status in ("time_limit", "interrupted"):
            break
    shares = [-1.0 if rung.held is None else rung.held.share for rung in rungs]
    enough = (i for i, rung in enumerate(rungs) if rung.held is not None and _enough(rung.held, wanted))
    chosen = next(enough, shares.index(max(shares)))
    explanation, rung = found[chosen], rungs[chosen]
    if rung.held is None:
        return explanation
    judged = refitted.held(explanation, JUDGING, limits=limits)
    assert judged is not None
    explanation = replace(explanation, agreed=rung.held.with_others(judged))
    if chosen:
        first, others = rungs[0].held, refitted.held(nearest, JUDGING, limits=limits)
        assert first is not None and others is not None  # noqa: PT018
        nearest = replace(nearest, agreed=first.with_others(others))
    reliance = Reliance(wanted, refitted.refits.kind, rung.confidence, rung.held, judged, tuple(rungs))
    # The question was another one, with `holds`: that of the whole.
    near = replace(nearest, asked={}) if chosen else None
    return replace(explanation, reliance=reliance, nearest=near)


def why_not_refitted(weights: Weights, engine: str = "auto") -> str:
    """Why no explanation that holds in refits can be searched for, in a sentence; empty where one can.

    Examples
    --------
    >>> from whence.weights import ForestWeights
    >>> why_not_refitted(ForestWeights())
    ''
    """
    if not weights.can_refit:
        return (
            "How far you can rely on it is not known: the forest was given fitted and cannot be fitted again; ask with "
            "a confidence to see how far its trees agree."
        )
    if engine == "milp":
        return "How far you can rely on it was not searched for: the integer program cannot ask for confidence."
    return ""
