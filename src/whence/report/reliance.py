"""How far an explanation can be relied on: as plain data, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.report.document import (
    LadderRung,
    RegionCondition,
    RegionEntry,
    RelianceEntry,
    Report,
    ShownHeld,
    scalar,
)
from whence.report.numbers import plain, share, with_unit
from whence.report.question_words import nearly_best, other_plan
from whence.util.json import number_from_plain, to_plain
from whence.util.text import joined

if TYPE_CHECKING:
    from whence.explain.robust import Held, Reliance
    from whence.explain.rule import Region

__all__ = [
    "agreed_in_words",
    "another_plan",
    "by_a_hair",
    "followed",
    "gain_in_words",
    "held_of",
    "is_reliable",
    "region_of",
    "reliance_in_words",
    "reliance_of",
    "rule_in_words",
    "usual_in_words",
    "where_to_rely",
]

#: By how much fewer of all refits may agree than were wanted of those that choose.
SLACK = 0.1
#: In a refit an absolute explanation holds where the plan costs at most this share more than the best one there.
NEARLY = 0.01
#: So large a share of refits is not few, unless more were asked for.
MANY = 0.9
#: What was drawn anew, in words.
DRAWN = {"seed": "other random numbers, same data", "bootstrap": "data drawn anew"}


def reliance_of(reliance: Reliance | None) -> RelianceEntry | None:
    """The entry of a report."""
    if reliance is None:
        return None
    return RelianceEntry(
        wanted=reliance.wanted,
        refits=reliance.refits,
        confidence=reliance.confidence,
        chosen=held_of(reliance.chosen),
        judged=held_of(reliance.judged),
        ladder=[
            LadderRung(
                confidence=rung.confidence,
                status=rung.status,
                distance=to_plain(float(rung.distance)),
                bound=to_plain(float(rung.bound)),
                held=None if rung.held is None else held_of(rung.held),
                expected=rung.expected,
            )
            for rung in reliance.ladder
        ],
    )


def held_of(held: Held) -> ShownHeld:
    """In how many refits, as plain data."""
    return ShownHeld(times=held.times, refits=held.refits)


def region_of(region: Region | None) -> RegionEntry | None:
    """The entry of a rule."""
    if region is None:
        return None
    conditions = [
        RegionCondition(
            feature=one.feature,
            low=one.low,
            high=one.high,
            values=None if one.values is None else [scalar(value) for value in one.values],
            text=one.text,
            was=scalar(one.was),
            found=scalar(one.found),
            room=None if one.room is None else list(one.room),
            known=None if one.known is None else [scalar(value) for value in one.known],
        )
        for one in region.conditions
    ]
    return RegionEntry(
        sentence=region.sentence,
        conditions=conditions,
        share=region.share,
        maximal=region.maximal,
        proved=region.proved,
        short=region.short,
    )


# ---- in words ------------------------------------------------------------------------------------------------------


def reliance_in_words(report: Report) -> str:
    """In how many refits it holds, and where it turns by a hair."""
    said, near = agreed_in_words(report), report.nearest
    if report.reliance is None or near is None or near.shown is None:
        return said if report.reliance is not None else ""
    distance = plain(number_from_plain(near.distance), 4)
    told = f"{said}\nNearest, at distance {distance}: {_lowered(near.shown.verdict)} {by_a_hair(report)}"
    return joined(told, another_plan(near, report))


def agreed_in_words(report: Report) -> str:
    """In how many refits it holds; of one that had to hold in this fit alone, where that was found out."""
    found = report.reliance
    if found is None:
        return "" if report.held is None else _hair(report, report.held)
    times, refits = found.chosen.times + found.judged.times, found.chosen.refits + found.judged.refits
    agree = f"{times} of {refits} refits agree{_nearly(report)} ({DRAWN[found.refits]})"
    if found.judged.refits == 0:
        so_far = f", and it holds in {times} of those {refits}" if refits else ""
        return f"How far you may rely on it is not known: there was time for {refits} refits{so_far}."
    if is_reliable(found):
        return f"You may rely on it: {agree}."
    if _enough(found):
        return f"Do not rely on it: only {agree}; of the {found.judged.refits} that had no say, {found.judged.times}."
    return f"Do not rely on it: only {agree}. {_why_no_more(report, found)}".rstrip()


def _why_no_more(report: Report, found: RelianceEntry) -> str:
    """Why the search for a context in which more refits agree ended, in a sentence."""
    nowhere = [rung.confidence for rung in found.ladder if rung.status == "none"]
    if nowhere:
        return (
            f"By {plain(min(nowhere), 3)} standard errors {other_plan(report)} is better in no context that is allowed."
        )
    last = found.ladder[-1]
    if last.status in ("time_limit", "interrupted"):
        return "There was no time to look for a context in which more of them agree."
    if len(found.ladder) > 1:
        return f"Even {plain(last.confidence, 3)} standard errors are not enough."
    return ""


def by_a_hair(report: Report) -> str:
    """How many refits agree with the nearest explanation, where another one may be relied on."""
    near, found = report.nearest, report.reliance
    if near is None or found is None:
        return ""
    held = near.held or found.ladder[0].held
    return "" if held is None else _hair(near, held, found.wanted)


def _hair(report: Report, held: ShownHeld, wanted: float = MANY) -> str:
    agree = f"{held.times} of {held.refits} refits agree{_nearly(report)}"
    if held.refits == 0 or held.times < wanted * held.refits - 1e-9:
        return f"It turns narrowly: {'only ' if held.times else ''}{agree}."
    # As many as were wanted, but by so little that as many further ones cannot be expected to.
    return f"It turns narrowly: {agree}, but by too little to expect the same of others."


def _nearly(report: Report) -> str:
    """What refits agree to, where that is less than was asked: the very best plan is another one in most of them."""
    if report.kind != "absolute":
        return ""
    nearly = nearly_best(report) if report.allowance else f"within {share(max(NEARLY, report.within))} of the best"
    return f" that it is {nearly}"


def gain_in_words(report: Report) -> str:
    """By how much the alternative is cheaper than the decision in the context found."""
    costs = report.cost_after
    if costs is None:
        return ""
    gain = costs.decision - costs.alternative
    if abs(gain) <= report.tolerance:
        return "Both plans cost the same there."
    told = with_unit(plain(abs(gain), 3), report.cost_unit)
    part = f" ({share(abs(gain) / costs.decision)})" if costs.decision > 0.0 else ""
    plan = other_plan(report).capitalize()
    return f"{plan} costs {told} {'less' if gain > 0.0 else 'more'} than the decision there{part}."


def usual_in_words(report: Report) -> str:
    """How usual the context found is."""
    if report.usual is None or report.status == "already":
        return ""
    return f"The context found is at least as usual as {share(report.usual)} of past contexts."


def rule_in_words(report: Report) -> str:
    """The rule, or why there is none worth telling."""
    region = report.region
    if region is None:
        return ""
    return region.sentence if region.maximal or not region.short else f"{region.sentence} It may be larger."


def followed(report: Report) -> str:
    """What is to be said after the nearest explanation was told: where it may be relied on.

    Parameters
    ----------
    report : Report
        Of an explanation that had to hold in refits.
    """
    shown = report.shown
    assert shown is not None
    if report.nearest is None:
        # What was told already is what may be relied on, or all there is.
        return "\n".join(filter(None, [shown.reliance, shown.rule]))
    first, _, _ = shown.reliance.partition("\n")
    there = f"{where_to_rely(report)}: {_lowered(shown.verdict)}".rstrip()
    near = report.nearest.shown
    turning = "\n".join(filter(None, [by_a_hair(report), "" if near is None else near.rule]))
    parts = [f"{turning}\n", joined(there, another_plan(report, report.nearest)), shown.exact, shown.costs]
    parts += [shown.certainty, first]
    return "\n".join(filter(None, [*parts, shown.usual, shown.rule]))


def another_plan(report: Report, other: Report) -> str:
    """Which plan of the set it is in one answer, where that is another one than in the other answer."""
    plan = report.plans.alternative_text
    return "" if plan == other.plans.alternative_text else f"The other plan is then: {plan}."


def where_to_rely(report: Report) -> str:
    """A heading for what holds in the share of refits that was wanted, or in as many as there are."""
    found = report.reliance
    if found is not None and found.judged.refits == 0:
        return "How far you may rely on it"
    if found is None or is_reliable(found):
        return "Where you may rely on it"
    times, refits = found.chosen.times + found.judged.times, found.chosen.refits + found.judged.refits
    if times == 0:
        return "Nothing to rely on"
    return "Where most refits agree" if 2 * times > refits else "Where refits agree most often"


def is_reliable(found: RelianceEntry) -> bool:
    """Whether as many of the refits that choose agree as were wanted, and the others bear that out.

    Those that choose were asked because they agree; ten others may well fall short by one or two.
    """
    times, refits = found.chosen.times + found.judged.times, found.chosen.refits + found.judged.refits
    return _enough(found) and found.judged.refits > 0 and times >= (found.wanted - SLACK) * refits - 1e-9


def _enough(found: RelianceEntry) -> bool:
    return found.chosen.times >= found.wanted * found.chosen.refits


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
