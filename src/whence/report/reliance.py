"""How far an explanation can be relied on: as plain data, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from whence.features import Schema
from whence.report.document import (
    CurveStep,
    LadderRung,
    RelianceEntry,
    Report,
    ShownHeld,
    WorldsEntry,
)
from whence.report.numbers import plain, share, with_unit
from whence.report.question_words import other_plan, share_of_truth
from whence.util.json import number_from_plain, to_plain
from whence.util.shares import wilson
from whence.util.text import joined

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation
    from whence.explain.robust import Held
    from whence.worlds.curve import Curve

#: By how much fewer of all refits may agree than were wanted of those that choose.
SLACK = 0.1
#: In a refit an absolute explanation holds where the plan costs at most this share more than the best one there.
NEARLY = 0.01
#: So large a share of refits is not few, unless more were asked for.
MANY = 0.9
#: From which share of past contexts that are no more usual on a context is like most, and below which it is unusual.
MOST, UNUSUAL = 0.4, 0.1
#: Significant digits, and those for a value that would otherwise look as if it were inside.
DIGITS, ALL_DIGITS = 6, 17
#: What a document holds of it as it is.
ALIKE = ("wanted", "refits", "confidence", "share", "least_gain", "needed", "wider")
#: What was drawn anew, in words.
DRAWN = {"seed": "other random numbers, same data", "bootstrap": "data drawn anew"}


def reliance_of(explanation: Explanation) -> RelianceEntry | None:
    """The entry of a report."""
    reliance, source = explanation.reliance, explanation.source
    if reliance is None:
        return None
    known = None
    if reliance.refits == "worlds" and source is not None and explanation.context is not None:
        known = outside(source.schema, explanation.context)
    return RelianceEntry(
        **{name: getattr(reliance, name) for name in ALIKE},
        chosen=held_of(reliance.chosen),
        judged=held_of(reliance.judged),
        ladder=[
            LadderRung(
                confidence=rung.confidence,
                status=rung.status,
                distance=to_plain(float(rung.distance)),
                bound=to_plain(float(rung.bound)),
                held=held_of(rung.held),
                expected=rung.expected,
            )
            for rung in reliance.ladder
        ],
        interval=None if reliance.interval is None else list(reliance.interval),
        worlds=None if reliance.curve is None else worlds_entry(reliance.curve),
        outside=known or [],
        own=held_of(reliance.own),
    )


def held_of(held: Held | None) -> Any:
    """Return in how many refits, as plain data."""
    return None if held is None else ShownHeld(**held._asdict())


def worlds_entry(curve: Curve) -> WorldsEntry:
    """What was seen in simulated worlds, as plain data."""
    shares = [float(one) for one in curve.shares]
    return WorldsEntry(
        model=curve.model,
        explained=curve.explained,
        worlds=curve.worlds,
        of=curve.wanted_worlds,
        questions=curve.questions,
        curve=[
            CurveStep(
                confidence=kappa,
                answered=answered,
                true=true,
                share=shares[i] if i < len(shares) else None,
                wider=list(curve.wider[i]) if curve.wider else [],
            )
            for i, (kappa, answered, true) in enumerate(zip(curve.kappas, curve.answered, curve.true, strict=True))
        ],
    )


# ---- what lies outside the history -----------------------------------------------------------------------------


def outside(schema: Schema, context: pd.Series) -> list[str]:
    """A sentence for every number of a context that lies beyond what the history holds; the nearest past decides there.

    Examples
    --------
    >>> X = pd.DataFrame({"temp": [-4.0, 31.0], "rain": [True, False]})
    >>> outside(Schema.infer(X).fit(X), pd.Series({"temp": 99.0, "rain": True}))
    ['temp 99 lies outside the history, which has -4 to 31.']
    """
    said = []
    for name, value in schema.feature_values(context, schema.beyond(context)).items():
        low, high = schema.training_range(name)
        here, least, most = (plain(number, DIGITS) for number in (value, low, high))
        if here in (least, most):
            here, least, most = (plain(number, ALL_DIGITS) for number in (value, low, high))
        here, most = (with_unit(number, schema.unit(name)) for number in (here, most))
        said.append(f"{name} {here} lies outside the history, which has {least} to {most}.")
    return said


# ---- in words ------------------------------------------------------------------------------------------------------


def reliance_in_words(report: Report) -> str:
    """How often such answers are true, or in how many refits it holds; and where the policy turns."""
    said, near = agreed_in_words(report), report.nearest
    if report.reliance is None or near is None or near.shown is None:
        return said if report.reliance is not None else ""
    distance = plain(number_from_plain(near.distance), 4)
    told = f"{said}\nNearest, at distance {distance}: {_lowered(near.shown.verdict)} {by_a_hair(report)}"
    return joined(told, another_plan(near, report))


def agreed_in_words(report: Report) -> str:
    """How often such answers are true, or in how many refits it holds, where that was found out."""
    found = report.reliance
    if found is None:
        return "" if report.held is None else _hair(report, report.held)
    if found.refits == "worlds":
        return _true_in_words(report, found)
    times, refits = found.chosen.times + found.judged.times, found.chosen.refits + found.judged.refits
    agree = f"{times} of {refits} refits agree{_agreed_to(report)} ({DRAWN[found.refits]})"
    if found.judged.refits == 0:
        so_far = f", and it holds in {times} of those {refits}" if refits else ""
        return f"How far you may rely on it is not known: there was time for {refits} refits{so_far}."
    if _is_stable(found):
        return f"It is stable, which is not to say true: {agree}."
    if _enough(found):
        return f"Do not rely on it: only {agree}; of the {found.judged.refits} that had no say, {found.judged.times}."
    return f"Do not rely on it: only {agree}. {_why_no_more(report, found)}".rstrip()


def _true_in_words(report: Report, found: RelianceEntry) -> str:
    """How often answers like this one are true in simulated worlds, and whether that is a promise."""
    if found.worlds is None or found.share is None:
        return "How far you may rely on it is not known: there was no time to ask in simulated worlds."
    beyond = " ".join([*found.outside, "Of such contexts nothing is known."]) if found.outside else ""
    coarse = found.worlds
    few = f" There was time for {coarse.worlds} of {coarse.of} worlds." if coarse.worlds < coarse.of else ""
    meant = "" if report.kind != "absolute" else f" (the plan is {_nearly(report)} there)"
    of_these = f"{share_of_truth(found)} of such answers are true{meant}"
    few = f"{_own_in_words(found)}{few}"
    if is_reliable(report):
        return f"You may rely on it: {of_these}.{few}"
    if not _share_reached(found):
        fewer = f"{of_these}; {share(found.wanted)} were asked for.{few}"
        return joined(beyond, joined(fewer, joined(_why_no_more(report, found), _wider_in_words(report, found))))
    if not _own_agrees(found):
        return joined(beyond, f"{of_these}.{few}")
    if not beyond:
        beyond = f"The gain is less than {share(found.least_gain)} of the decision's cost, too little to rely on."
    return joined(beyond, f"{of_these}.{few}")


def _wider_in_words(report: Report, found: RelianceEntry) -> str:
    """How near to the best the plan is as often as was asked for, where that is less near than was asked."""
    if found.wider is None or report.kind != "absolute":
        return ""
    return f"In {share(found.wanted)} of them the plan is {_nearly(report, found.wider)}."


def _own_in_words(found: RelianceEntry) -> str:
    """How many answers to this very question are true, at the end of a sentence about such answers."""
    if found.own is None or not found.own.refits:
        return ""
    times, worlds = found.own.times, found.own.refits
    many = "none" if times == 0 else f"{times}" if _own_agrees(found) else f"only {times}"
    return f" Of {worlds} simulated worlds in which this very question was asked, it is true in {many}."


def _own_agrees(found: RelianceEntry) -> bool:
    """Whether worlds of the question itself do not speak against the share asked for: so few may be chance."""
    own = found.own
    return own is None or not own.refits or wilson(own.times / own.refits, own.refits)[1] >= found.wanted - 1e-12


def _why_no_more(report: Report, found: RelianceEntry) -> str:
    """Why no larger share of such answers is true, or no more refits agree, in a sentence."""
    nowhere = [rung.confidence for rung in found.ladder if rung.status == "none"]
    if nowhere:
        least, plan = plain(min(nowhere), 3), other_plan(report)
        return f"By {least} standard errors {plan} is better in no context that is allowed."
    worlds, last = found.refits == "worlds", found.ladder[-1]
    if last.status in ("time_limit", "interrupted"):
        more = "farther" if worlds else "for a context in which more of them agree"
        return f"There was no time to look {more}."
    if worlds:
        return "In simulated worlds no more standard errors make more of them true."
    return f"Even {plain(last.confidence, 3)} standard errors are not enough." if len(found.ladder) > 1 else ""


def by_a_hair(report: Report) -> str:
    """How many refits agree with the nearest explanation, where another one may be relied on."""
    near, found = report.nearest, report.reliance
    if near is None or found is None:
        return ""
    if found.refits == "worlds":
        first = None if found.worlds is None or not found.worlds.curve else found.worlds.curve[0].share
        return "" if first is None else f"There this policy turns; {share(first)} of such answers are true."
    held = near.held or found.ladder[0].held
    return "" if held is None else _hair(near, held, found.wanted)


def _hair(report: Report, held: ShownHeld, wanted: float = MANY) -> str:
    agree = f"{held.times} of {held.refits} refits agree{_agreed_to(report)}"
    if held.refits == 0 or held.times < wanted * held.refits - 1e-9:
        return f"It turns narrowly: {'only ' if held.times else ''}{agree}."
    # As many as were wanted, but by so little that as many further ones cannot be expected to.
    return f"It turns narrowly: {agree}, but by too little to expect the same of others."


def _agreed_to(report: Report) -> str:
    """What refits agree to, where that is less than was asked: the very best plan is another one in most of them."""
    return f" that it is {_nearly(report)}" if report.kind == "absolute" else ""


def _nearly(report: Report, times: float = 1.0) -> str:
    """How near to the best plan the one asked about must be, where it is to be the best, or this many times as far."""
    if report.allowance:
        return f"within {with_unit(plain(times * report.allowance, 6), report.cost_unit)} of the best"
    return f"within {plain(100.0 * times * max(NEARLY, report.within), 3)} % of the best"


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
    if report.usual >= MOST:
        return "The context found is as usual as most past contexts."
    if report.usual >= UNUSUAL:
        return f"The context found is less usual than most: {share(report.usual)} of past contexts are as unusual."
    few = f"only {share(report.usual)} of past contexts are" if report.usual > 0.0 else "no past context is"
    return f"The context found is unusual: {few} as unusual."


def rule_in_words(report: Report) -> str:
    """The rule, or why there is none worth telling."""
    region = report.region
    if region is None:
        return ""
    return region.sentence if region.maximal or not region.short else f"{region.sentence} It may be larger."


def followed(report: Report) -> str:
    """Return what is to be said after the nearest explanation was told: where it may be relied on."""
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
    if found is None or is_reliable(report):
        return "Where you may rely on it"
    if found.refits == "worlds":
        if found.share is None or found.worlds is None:
            return "How far you may rely on it"
        if found.outside:
            return "Outside the history"
        return f"Where {share(found.share)} of such answers are true"
    if found.judged.refits == 0:
        return "How far you may rely on it"
    if _is_stable(found):
        return "Where refits agree"
    times, refits = found.chosen.times + found.judged.times, found.chosen.refits + found.judged.refits
    if times == 0:
        return "Nothing to rely on"
    return "Where most refits agree" if 2 * times > refits else "Where refits agree most often"


def is_reliable(report: Report) -> bool:
    """Whether it may be relied on: as large a share of such answers is true as was asked for.

    Besides, the gain must be worth speaking of, and the context must lie inside the history.
    """
    found = report.reliance
    if found is None or found.refits != "worlds" or not _share_reached(found) or found.outside:
        return False
    if not _own_agrees(found):
        return False
    return report.kind == "absolute" or _gain(report) >= found.least_gain


def _share_reached(found: RelianceEntry) -> bool:
    return found.needed is not None and found.confidence >= found.needed - 1e-9


def _gain(report: Report) -> float:
    """By which share of the decision's cost the alternative is cheaper in the context found."""
    costs = report.cost_after
    if costs is None:
        return 0.0
    size = abs(costs.decision)
    return (costs.decision - costs.alternative) / size if size > 0.0 else 0.0


def _is_stable(found: RelianceEntry) -> bool:
    """Whether as many of the refits that choose agree as were wanted, and the others bear that out.

    Those that choose were asked because they agree; ten others may well fall short by one or two.
    """
    times, refits = found.chosen.times + found.judged.times, found.chosen.refits + found.judged.refits
    return _enough(found) and found.judged.refits > 0 and times >= (found.wanted - SLACK) * refits - 1e-9


def _enough(found: RelianceEntry) -> bool:
    return found.chosen.times >= found.wanted * found.chosen.refits


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
