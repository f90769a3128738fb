"""Explanations to rely on: nearest of those that are true in the world, or hold in refits, as often as was asked for.

How many standard errors a share of truth needs is learnt once for a policy and a kind of question, in simulated worlds
(:mod:`whence.worlds`). An answer is then one search with that many, proved nearest for them. Refits are another judge:
a ladder of standard errors is climbed until the answer holds in enough of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from msgspec import structs
from scipy.special import stdtr, stdtrit

from whence.errors import InputError
from whence.explain.ask import Judge, Request
from whence.explain.recheck import Source
from whence.problems.base import sample_costs
from whence.question import Limits, Progress
from whence.report.document import RelianceEntry, ShownHeld, WorldsEntry
from whence.util.aliases import Floats
from whence.util.json import number_from_plain
from whence.weights.refits import RefitKind, refits_of
from whence.worlds import WORLDS, Calibration, Curve, Kind, Worlds, node_limit

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation
    from whence.policy import Policy
    from whence.problems.base import DecisionProblem
    from whence.problems.plan_sets import PlanSet

#: Refits by which a rung of the ladder is chosen, and others by which the choice is judged.
CHOOSING, JUDGING = range(10), range(10, 20)
#: The share of refits in which an answer to rely on must hold, unless somebody says otherwise.
HOLDS = 0.9
#: No more than this share is expected of further refits: a prediction reaches 1 nowhere.
SUREST = 0.99
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

    @property
    def sentence(self) -> str:
        """ "It holds in 18 of 20 refits.", or that there was nothing to ask them."""
        return f"It holds in {self.times} of {self.refits} refits." if self.refits else "No refit was asked."

    @classmethod
    def of(cls, over: Floats, tolerance: float) -> Held:
        """Counted by how much the alternative costs more than it may, one number for each refit."""
        return cls(int((over <= tolerance).sum()), over.size)

    def enough(self, wanted: float) -> bool:
        """Whether it is the wanted share of all refits that choose; `wanted` may be 0.7 and the share 7 / 10."""
        return self.refits >= len(CHOOSING) and self.share >= wanted - 1e-12

    def with_others(self, other: Held) -> Held:
        """Together with other refits."""
        return Held(self.times + other.times, self.refits + other.refits)

    def __str__(self) -> str:
        return f"{self.times} of {self.refits} refits"


def further(refits: int) -> float:
    """By how much more a further refit varies than these seem to: their mean is known no better than so."""
    return float(np.sqrt(1.0 + 1.0 / refits))


def expected_share(over: Floats, tolerance: float) -> float | None:
    """In which share of further refits an explanation is expected to hold, by how far these keep or miss the criterion.

    Nine of ten say little: so many hold by luck, and of several rungs a lucky one is met first. By how much they hold
    says more. With the mean and the spread of the ten, a further one follows Student's distribution.

    Examples
    --------
    >>> round(expected_share(np.array([-3.0, -2.0, -1.0, -2.0]), 0.0), 3)
    0.942
    """
    if over.size < 2:
        return None
    spread = float(over.std(ddof=1)) * further(over.size)
    room = tolerance - float(over.mean())
    if spread == 0.0:
        return float(room >= 0.0)
    return float(stdtr(over.size - 1, room / spread))


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: standard errors, how the search by as many ended, and in how many refits it holds."""

    confidence: float
    status: str
    distance: float
    bound: float
    held: Held | None
    expected: float | None = None

    def enough(self, wanted: float) -> bool:
        """Whether the wanted share of the refits that choose agrees, and is expected of others."""
        if self.held is None or self.expected is None:
            return False
        return self.held.enough(wanted) and self.expected >= min(wanted, SUREST)


@dataclass(frozen=True)
class Reliance:
    """What an explanation that had to be true, or to hold in refits, rests on."""

    #: The share of such answers that had to be true, or of the refits in which it had to hold.
    wanted: float
    #: What it was judged by: simulated worlds, or refits with other random numbers, or on data drawn anew.
    refits: RefitKind | Literal["worlds"]
    #: Standard errors at which the ladder ended.
    confidence: float
    #: In how many of the refits that chose this rung it holds, and in how many others.
    chosen: Held
    judged: Held
    #: Every step that was tried.
    ladder: tuple[Rung, ...]
    #: In simulated worlds: the share of answers by as many standard errors that are true, and where it lies nine times
    #: of ten; None where it is not known.
    share: float | None = None
    interval: tuple[float, float] | None = None
    #: What was seen in these worlds.
    curve: Curve | None = None
    #: By which share of the decision's cost the alternative must be cheaper to speak of a gain.
    least_gain: float = 0.0
    #: The standard errors that the share asked for needs; None where no number of them reaches it.
    needed: float | None = None
    #: How many answers to this very question are true, of this many simulated worlds in which it has one.
    own: Held | None = None

    @property
    def asked(self) -> float:
        """The share that was asked for."""
        return self.wanted

    @classmethod
    def of_entry(cls, entry: RelianceEntry) -> Reliance:
        """Return what a document says of it."""
        return cls(
            entry.wanted,
            entry.refits,
            entry.confidence,
            _held_of(entry.chosen),
            _held_of(entry.judged),
            tuple(
                Rung(
                    rung.confidence,
                    rung.status,
                    number_from_plain(rung.distance),
                    number_from_plain(rung.bound),
                    None if rung.held is None else _held_of(rung.held),
                    rung.expected,
                )
                for rung in entry.ladder
            ),
            share=entry.share,
            interval=None if entry.interval is None else (entry.interval[0], entry.interval[1]),
            curve=None if entry.worlds is None else _curve_of(entry.worlds),
            least_gain=entry.least_gain,
            needed=entry.needed,
            own=None if entry.own is None else _held_of(entry.own),
        )

    @property
    def reached(self) -> bool:
        """Whether as large a share is true as was asked for, or holds among the refits that choose."""
        if self.refits == "worlds":
            return self.needed is not None and self.confidence >= self.needed - 1e-9
        return self.chosen.enough(self.wanted)

    @property
    def wider(self) -> float | None:
        """Of an absolute explanation that is true too seldom: how many times as much must be allowed.

        Where the plan may cost this many times as much more than the best one as was asked, as large a share of such
        answers is true as was asked for. None where it is reached already, or is not even so.
        """
        if self.curve is None or self.reached:
            return None
        return self.curve.times(self.wanted, self.confidence)


def _held_of(entry: ShownHeld) -> Held:
    return Held(entry.times, entry.refits)


def _curve_of(entry: WorldsEntry) -> Curve:
    """What a document says was seen in simulated worlds."""
    steps = [(one.confidence, one.answered, one.true) for one in entry.curve]
    kappas, answered, true = zip(*steps, strict=True) if steps else ((), (), ())
    return Curve(
        kappas,
        answered,
        true,
        entry.questions,
        entry.worlds,
        entry.of,
        entry.model,
        entry.explained,
        tuple(tuple(one.wider) for one in entry.curve) if any(one.wider for one in entry.curve) else (),
    )


class Refitted:
    """The refits of a policy's weights, and whether an explanation holds in them."""

    def __init__(self, source: Source, kind: RefitKind | None = None) -> None:
        self.source = source
        self.refits = refits_of(source.weights, source.inputs, source.Y, kind)

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
        over = self.excesses(explanation, numbers, within, limits)
        return None if over is None else Held.of(over, explanation.tolerance)

    def excesses(
        self, explanation: Explanation, numbers: Iterable[int], within: float = WITHIN, limits: Limits | None = None
    ) -> Floats | None:
        """By how much the alternative costs more than it may in each of these refits: it holds up to the tolerance."""
        if explanation.context is None:
            return None
        made = self._made_in_time(explanation, tuple(numbers), limits)
        row = self.source.inputs(explanation.context)
        return self._excesses(explanation, self.refits.weights_of(made, row), within)

    def _made_in_time(
        self, explanation: Explanation, numbers: tuple[int, ...], limits: Limits | None
    ) -> tuple[int, ...]:
        """Those of these refits that are there, or that there was the time to make."""
        if self.refits.are_made(numbers) and (limits is None or limits.on_progress is None):
            return numbers
        for count, number in enumerate(numbers):
            if limits is not None and not self._goes_on(explanation, number, (count + 1, len(numbers)), limits):
                return numbers[:count]
            self.refits.of(number)
        return numbers

    def _excesses(self, explanation: Explanation, refits: Sequence[Floats], within: float) -> Floats:
        """The same under the weights of each refit."""
        source, decision, alternative = self.source, explanation.costs_decision, explanation.costs_alternative
        assert decision is not None and alternative is not None  # noqa: PT018
        risk, (share, amount) = source.risk, explanation.saving
        if explanation.plans is None:
            cost = risk.of_each(alternative, refits)
        else:
            # Of a set, some plan has to do: the best one in the refit.
            cost = [self._least(explanation.plans, weights) for weights in refits]
        over = np.full(len(refits), -np.inf)
        if explanation.kind == "absolute":
            best = np.array([self._least(source.problem, weights) for weights in refits])
            nearly = max(within, explanation.within)
            allowed = (1.0 + nearly) * best
            if explanation.allowance or min(float(decision.min()), float(alternative.min())) < 0.0:
                # A share of costs that may be negative is one of their mean size (see `Request.in_amounts`).
                allowed = best + max(explanation.allowance, nearly * float(np.abs(decision).mean()))
            over = np.array(cost) - allowed
        if explanation.kind == "relative" or share or amount:
            rival = (1.0 - share) * np.array(risk.of_each(decision, refits)) - amount
            over = np.maximum(over, np.array(cost) - rival)
        return over

    def _least(self, plans: PlanSet | DecisionProblem, weights: Floats) -> float:
        """What the best plan, or the best one of a set, costs under these weights."""
        source = self.source
        best = sample_costs(source.problem, plans.solve(source.Y, weights, source.risk), source.Y)
        return source.risk.of(best, weights)

    def standard_error(self, explanation: Explanation) -> float | None:
        """Of the difference between both plans in the context found, over trees or neighbours; None if not known."""
        source, decision, alternative = self.source, explanation.costs_decision, explanation.costs_alternative
        if explanation.context is None or decision is None or alternative is None:
            return None
        apart = source.weights.per_tree(source.inputs(explanation.context))
        if apart is None or len(apart) < 2:
            return None
        share, amount = explanation.saving
        rival = (1.0 - share) * decision - amount
        values = source.risk.by_tree(alternative, apart) - source.risk.by_tree(rival, apart)
        return float(values.std(ddof=1)) / float(np.sqrt(len(values)))

    def _goes_on(self, explanation: Explanation, number: int, which: tuple[int, int], limits: Limits) -> bool:
        """Whether there is time for a refit, and the user has not had enough: refits may take longer than a search."""
        if limits.on_progress is not None:
            told = Progress(explanation.nodes, explanation.distance, explanation.bound, limits.seconds)
            if not self.refits.is_made(number):
                told = replace(told, refit=which[0], refits=which[1])
            if limits.on_progress(told) is False:
                return False
        return self.refits.ready_within(number, limits.remaining)


#: Standard errors over the trees, or the neighbours, that may be tried. No formula for them transfers from one kind of
#: problem to another; what does is to try them on refits.
KAPPAS = (0.0, 1.2, 1.8, 2.3, 3.0, 4.0, 5.0, 7.0)
#: At most this many standard errors are added at once: a search for too many takes long, and leads far away.
LONGEST = 4.0
#: What the refits of one rung miss counts so much more: where more standard errors lead, refits differ more, too.
MORE = 1.25


def explained_reliably(
    at: Callable[[float], Explanation],
    finished: Callable[[Explanation], Explanation],
    refitted: Refitted,
    wanted: float,
    limits: Limits | None = None,
    on_nearest: Callable[[Explanation], Any] | None = None,
) -> Explanation:
    """Return the nearest explanation met on the ladder that holds in the wanted share of the refits.

    Where none does, the one that holds in most of them: its `reliance` says how often. `at` searches by this many
    standard errors; `finished` adds all that is shown of the one that is chosen. `limits` include the making of refits.
    """
    nearest = finished(at(0.0))
    if on_nearest is not None:
        on_nearest(nearest)
    climb = _Climb(refitted, wanted, limits)
    kappa = climb.judge(0.0, nearest)
    while kappa is not None:
        kappa = climb.judge(kappa, at(kappa))
    rung, explanation = climb.chosen()
    if rung.held is None:
        return explanation
    if rung.confidence > 0.0:
        explanation = finished(explanation)
    judged = refitted.held(explanation, JUDGING, limits=limits)
    assert judged is not None
    agreed = rung.held.with_others(judged)
    reliance = Reliance(wanted, refitted.refits.kind, rung.confidence, rung.held, judged, climb.rungs())
    if rung.confidence == 0.0:
        return structs.replace(explanation, agreed=agreed, reliance=reliance)
    first, others = climb.tried[0.0][0].held, refitted.held(nearest, JUDGING, limits=limits)
    assert first is not None and others is not None  # noqa: PT018
    # The question was another one, with `holds`: that of the whole.
    nearest = structs.replace(nearest, agreed=first.with_others(others), asked={})
    return structs.replace(explanation, agreed=agreed, reliance=reliance, nearest=nearest)


class _Climb:
    """The rungs that were tried, and those that are left."""

    def __init__(self, refitted: Refitted, wanted: float, limits: Limits | None) -> None:
        self.refitted, self.wanted, self.limits = refitted, wanted, limits
        source = refitted.source
        self.left: tuple[float, ...] = KAPPAS if source.weights.capabilities.knows_spread else KAPPAS[:1]
        self.tried: dict[float, tuple[Rung, Explanation]] = {}

    def judge(self, kappa: float, explanation: Explanation) -> float | None:
        """Count in how many of the refits that choose the explanation at a rung holds; the next rung, if any."""
        over = self.refitted.excesses(explanation, CHOOSING, limits=self.limits)
        held = None if over is None else Held.of(over, explanation.tolerance)
        expected = None if over is None else expected_share(over, explanation.tolerance)
        rung = Rung(kappa, explanation.status, explanation.distance, explanation.bound, held, expected)
        self.tried[kappa] = rung, explanation
        if explanation.status in ("time_limit", "interrupted"):
            return None
        if over is None or held is None:
            # More standard errors are never nearer: with more than these there is nothing, either.
            self.left = tuple(k for k in self.left if k < kappa)
            return self.left[len(self.left) // 2] if self.left else None
        self.left = tuple(k for k in self.left if k > kappa)
        if not self.left or held.refits < len(CHOOSING) or rung.enough(self.wanted):
            return None
        error = self.refitted.standard_error(explanation)
        needed = kappa + min(MORE * _missing(over, explanation.tolerance, self.wanted, error), LONGEST)
        return next((k for k in self.left if k >= needed), self.left[-1])

    def chosen(self) -> tuple[Rung, Explanation]:
        """The nearest one that holds in the wanted share, or else one that holds in most refits, or is expected to."""
        tried = [self.tried[kappa] for kappa in sorted(self.tried)]

        def merit(one: tuple[Rung, Explanation]) -> tuple[float, float]:
            held, expected = one[0].held, one[0].expected
            return (-1.0 if held is None else held.share), expected or 0.0

        return next((one for one in tried if one[0].enough(self.wanted)), max(tried, key=merit))

    def rungs(self) -> tuple[Rung, ...]:
        """What was tried, in the order of confidence."""
        return tuple(self.tried[kappa][0] for kappa in sorted(self.tried))


def _missing(over: Floats, tolerance: float, wanted: float, error: float | None) -> float:
    """How many more standard errors it takes, about, for an explanation to hold in the wanted share of refits.

    What it misses the tolerance by must be made up for, and more: as much as refits vary for the wanted share to hold.
    """
    spread = float(over.std(ddof=1)) * further(over.size)
    missed = float(np.mean(over)) - tolerance + float(stdtrit(over.size - 1, min(wanted, SUREST))) * spread
    return missed / (error or spread) if error or spread else 0.0


# ---- answers that are true, by simulated worlds --------------------------------------------------------------------

#: What a question in a simulated world has in common with the one that was asked.
ALIKE = ("kind", "within", "margin", "tolerance", "separation")
#: Which share of the worlds of one question there must be time for, to tell anything of them.
LEAST_OWN = 0.5
#: From a world's policy and a request to its answers by standard errors; None where it holds already.
InWorld = Callable[["Policy", Request], "Callable[[float], Explanation] | None"]


def worlds_of(policy: Policy, world: Any = None) -> Worlds:
    """The simulated worlds of a fitted policy: those that it keeps, unless another model is asked for."""
    kept: Worlds | None = policy.__dict__.get("worlds_")
    if kept is None or (world is not None and world is not kept.world):
        kept = policy.__dict__["worlds_"] = Worlds(world)
    return kept


def check_judge(policy: Policy, refits: Judge | None) -> None:
    """Refuse what cannot be judged by simulated worlds, or by refits."""
    if refits in ("seed", "bootstrap"):
        Refitted.of(policy, refits)
    elif policy.weights_.capabilities.forecasts:
        raise InputError(
            "'holds' must be left out where the policy forecasts: forecasts are not asked in simulated worlds.",
            parameter="holds",
        )
    else:
        policy.weights_.check_outcomes(policy.Y_.shape[1])


def why_not_judged(policy: Policy, engine: str = "auto", refits: Judge | None = None) -> str:
    """Return why it cannot be found out how far to rely on an answer, in a sentence; empty where it can."""
    weights = policy.weights_
    if weights.capabilities.forecasts:
        return "How far you can rely on it is not known: forecasts with residuals are not asked in simulated worlds."
    by_refits = refits in ("seed", "bootstrap")
    if not (weights.capabilities.can_refit if by_refits else weights.takes_outcomes(policy.Y_.shape[1])):
        return (
            "How far you can rely on it is not known: the model was given fitted and cannot be fitted again; ask with "
            "a confidence to see how far its trees or neighbours agree."
        )
    if engine == "milp":
        return "How far you can rely on it was not searched for: the integer program cannot ask for confidence."
    return ""


def calibrated(
    policy: Policy, request: Request, plans: PlanSet | None, in_world: InWorld, limits: Limits
) -> Callable[[], Curve | None]:
    """What finds out how often answers to such questions are true, by standard errors; None where no time is left."""
    check_judge(policy, request.refits)
    kept = worlds_of(policy, request.world)
    about = Kind(
        request.kind, request.within_parts, request.margin_parts, "" if plans is None else f"{plans.words} {plans!r}"
    )
    alike = {name: getattr(request, name) for name in ALIKE}

    most: dict[str, Any] = {"node_limit": node_limit(policy), "on_progress": lambda _: limits.remaining > 0.0}

    def ask(world: Any, context: Any, instead: Any) -> Callable[[float], Explanation] | None:
        return in_world(world, Request(context, instead, **alike, **most))

    def curve() -> Curve | None:
        known = kept.curves.get(about)
        if known is None or (known.is_coarse and limits.remaining > 0.0):
            made = Calibration(policy, kept, ask, plans, single=plans is None, limits=limits).curve()
            kept.learn({} if made is None else {about: made})
        return kept.curves.get(about)

    return curve


def asked_itself(
    policy: Policy, request: Request, plans: PlanSet | None, in_world: InWorld, limits: Limits
) -> Callable[[Reliance], Reliance]:
    """What asks this very question in worlds of its own and tells how many of its answers are true.

    They are other worlds than those of the curve. Where there is time for too few of them, nothing is told.
    """
    asked = replace(
        request,
        instead=request.instead if plans is None else plans,
        holds=None,
        time_limit=None,
        node_limit=node_limit(policy),
        on_progress=lambda _: limits.remaining > 0.0,
        on_nearest=None,
        rule=False,
    )

    def ask(world: Any, context: Any, instead: Any) -> Callable[[float], Explanation] | None:
        return in_world(world, replace(asked, context=context, instead=instead))

    def told(found: Reliance) -> Reliance:
        own = request.context, asked.instead, found.confidence
        seen = Calibration(policy, worlds_of(policy, request.world), ask, plans, limits=limits, own=own).curve()
        if seen is None or seen.worlds < LEAST_OWN * WORLDS:
            return found
        return replace(found, own=Held(seen.true[0], seen.answered[0]))

    return told


def explained_truly(
    at: Callable[[float], Explanation],
    finished: Callable[[Explanation], Explanation],
    calibrate: Callable[[], Curve | None],
    request: Request,
    itself: Callable[[Reliance], Reliance] = lambda found: found,
) -> Explanation:
    """Return the nearest explanation by the standard errors that the share asked for needs.

    Where no context keeps them, or no number of them reaches the share, it is the one by the most that there are: its
    `reliance` says what share of such answers is true. `at` searches by this many; `finished` adds all that is shown of
    the one that is chosen, and `itself` how many answers to this very question are true.
    """
    assert request.holds is not None
    wanted = float(request.holds)
    nearest = finished(at(0.0))
    if request.on_nearest is not None:
        request.on_nearest(nearest)
    if nearest.context is None:
        return nearest
    curve = calibrate()
    if curve is None:
        return structs.replace(nearest, reliance=_reliance(wanted, nearest, None, [nearest], request))
    kappa = curve.kappa(wanted)
    tried = _tried(at, nearest, curve.best if kappa is None else kappa, curve.grain)
    explanation = max((one for one in tried if one.context is not None), key=lambda one: one.confidence)
    reliance = itself(_reliance(wanted, explanation, curve, tried, request))
    if explanation.confidence == 0.0:
        return structs.replace(explanation, reliance=reliance)
    # What is nearest by that many is told once where it is nearest at all.
    same = explanation.context is not None and explanation.context.equals(nearest.context)
    # The question was another one, with `holds`: that of the whole.
    turning = None if same else structs.replace(nearest, asked={})
    return structs.replace(finished(explanation), reliance=reliance, nearest=turning)


def _tried(at: Callable[[float], Explanation], nearest: Explanation, kappa: float, grain: float) -> list[Explanation]:
    """The explanation by this many standard errors, or by the most, in whole grains, by which there is a context."""
    tried = [nearest]
    low, high = 0, math.ceil(kappa / grain - 1e-6) if grain else 0
    step = high
    while low < high:
        # A step of the ladder need not be a whole number of grains.
        found = at(min(step * grain, kappa))
        tried.append(found)
        if found.status in ("time_limit", "interrupted") or (found.context is not None and step == high):
            break
        # More standard errors are never nearer: by more than these there is nothing, either.
        low, high = (step, high) if found.context is not None else (low, step - 1)
        step = (low + high + 1) // 2
    return sorted(tried, key=lambda one: one.confidence)


def _reliance(
    wanted: float, explanation: Explanation, curve: Curve | None, tried: list[Explanation], request: Request
) -> Reliance:
    kappa = explanation.confidence
    ladder = tuple(Rung(one.confidence, one.status, one.distance, one.bound, None) for one in tried)
    found: dict[str, Any] = {}
    if curve is not None:
        found = {"share": curve.share(kappa), "interval": curve.interval(kappa), "needed": curve.kappa(wanted)}
    found |= {"least_gain": float(request.least_gain), "curve": curve}
    return Reliance(wanted, "worlds", kappa, Held(0, 0), Held(0, 0), ladder, **found)
