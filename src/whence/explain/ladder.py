"""The ladder of confidence: more and more standard errors, until an explanation holds in enough refits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from whence.aliases import Floats
from whence.explain.reliance import CHOOSING, JUDGING, SUREST, Held, Refitted, Reliance, Rung, expected_share, further
from whence.question import Limits

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["KAPPAS", "explained_reliably"]

#: Standard errors over the trees, or the neighbours, that may be tried. No formula for them transfers from one kind of
#: problem to another; what does is to try them on refits.
KAPPAS = (0.0, 1.2, 1.8, 2.3, 3.0, 4.0, 5.0, 7.0)
#: At most so many standard errors are added at once: a search for too many takes long, and leads far away.
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
    """The nearest explanation met on the ladder of confidence that holds in the wanted share of the refits.

    Where none does, the one that holds in most of them: its `reliance` says how often.

    Parameters
    ----------
    at : callable
        The nearest explanation by that many standard errors.
    finished : callable
        It with all that is shown of it, which only the one that is chosen needs.
    refitted : Refitted
        The refits by which it is chosen and judged.
    wanted : float
        The share of the refits in which it has to hold.
    limits : Limits, optional
        Of the whole ladder, the making of refits included.
    on_nearest : callable, optional
        Called with the nearest explanation in this fit, as soon as it is found.
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
        return replace(explanation, agreed=agreed, reliance=reliance)
    first, others = climb.tried[0.0][0].held, refitted.held(nearest, JUDGING, limits=limits)
    assert first is not None and others is not None  # noqa: PT018
    # The question was another one, with `holds`: that of the whole.
    nearest = replace(nearest, agreed=first.with_others(others), asked={})
    return replace(explanation, agreed=agreed, reliance=reliance, nearest=nearest)


class _Climb:
    """The rungs that were tried, and those that are left."""

    def __init__(self, refitted: Refitted, wanted: float, limits: Limits | None) -> None:
        self.refitted, self.wanted, self.limits = refitted, wanted, limits
        source = refitted.source
        self.left: tuple[float, ...] = KAPPAS if source.weights.knows_spread(source.risk.tail) else KAPPAS[:1]
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
