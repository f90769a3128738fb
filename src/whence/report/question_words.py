"""What was asked of a context, in words that stand in many sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whence.report.document import RelianceEntry, Report, Searched
from whence.report.numbers import at_least, duration, plain, share, with_unit
from whence.util.json import number_from_plain
from whence.util.text import joined, listed

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation
    from whence.report.document import Report

#: What a set is called that holds all plans.
ANY = "another plan"
#: More shares than this of true answers are not told in a line.
MOST_SHARES = 9


def nearly_best(report: Explanation | Report) -> str:
    """Return "within 2 % of the best" where a share of the best plan's cost, or an amount, was allowed for."""
    if report.allowance:
        return f"within {with_unit(plain(report.allowance, 6), report.cost_unit)} of the best"
    return f"within {plain(100.0 * report.within, 4)} % of the best" if report.within else ""


def cheaper_by(report: Explanation | Report) -> str:
    """Return "at least 5 % cheaper than the decision" where a margin was asked for, otherwise nothing."""
    if report.margin is None or not any(report.margin):
        return ""
    part, amount = report.margin
    least = f"{plain(100.0 * part, 4)} %" if part else with_unit(plain(amount, 6), report.cost_unit)
    return f"at least {least} cheaper than the decision"


def surely(report: Report) -> str:
    """Return " by 2 standard errors over the trees" where that was asked for, otherwise nothing."""
    return f" by {standard_errors(report)}" if report.confidence else ""


def usual_enough(report: Report) -> str:
    """Return " at least as usual as 10 % of the history", of a context, where that was asked for, otherwise nothing."""
    return "" if report.plausible is None else f" at least as usual as {share(report.plausible)} of the history"


def few_changes(report: Report) -> str:
    """Return how many features may change."""
    return "at most one change" if report.max_changes == 1 else f"at most {report.max_changes} changes"


def standard_errors(report: Report) -> str:
    """Return "2 standard errors over the trees"."""
    # Only neighbours have to be set apart from others.
    whose = "trees" if report.separation is None else "neighbours"
    return f"{plain(report.confidence, 3)} standard error{'s' * (report.confidence != 1.0)} over the {whose}"


def rule_claim(about: Explanation | Report) -> str:
    """Return what stays true wherever a rule holds: "your plan is better", or as much more as was asked for."""
    plan, nearly, cheaper = "the other plan" if about.among else "your plan", nearly_best(about), cheaper_by(about)
    if about.kind == "absolute":
        if nearly or cheaper or about.among:
            return f"{plan} is {' and '.join(filter(None, [nearly or 'the best', cheaper]))}"
        return "no plan is better than yours"
    if about.among == ANY and cheaper:
        least = cheaper.removeprefix("at least ").removesuffix(" cheaper than the decision")
        return f"the decision costs over {least} more than the other plan"
    return f"{plan} is {cheaper or 'better'}"


def other_plan(report: Report) -> str:
    """Return what sentences call the plan that is compared with the decision."""
    return "the other plan" if report.among else "your plan"


def heading(report: Report) -> str:
    """Return what the alternative is listed under."""
    if not report.among:
        return "Your plan"
    if report.among == ANY:
        return "Takes over" if report.context is not None else "Best plan today"
    return report.among[:1].upper() + report.among[1:]


def set_would(report: Report) -> str:
    """Return what would have been so in the context found, up to its "if"."""
    if report.among == ANY:
        return f"{_today(report)} would no longer have been {_kept(report)}"
    some = report.among[:1].upper() + report.among[1:]
    return f"{some} would have been {_better(report)}"


def set_already(report: Report) -> str:
    """Return what is said where some plan of the set is better in the context as it is."""
    if report.among == ANY:
        return f"Nothing has to change: {_today(report).lower()} is not {_kept(report)} in the context as it is."
    return f"Nothing has to change: {report.among} is {_better(report)} in the context as it is."


def set_none(report: Report, where: str) -> str:
    """Return that there is no such context, within what `where` says."""
    usual = usual_enough(report)
    if report.among == ANY and report.confidence:
        part = (cheaper_by(report) or "better").removesuffix(" than the decision")
        return f"{where}, in no context{usual} is another plan {part}{surely(report)}."
    if report.among == ANY:
        return f"{where}, {_today(report).lower()} stays {_kept(report)} in every context{usual}."
    if report.kind == "absolute" and not (report.within or cheaper_by(report) or report.confidence):
        return f"{where}, in no context{usual} is {report.among} optimal."
    would = f"{report.among} would have been {_better(report)}{surely(report)}"
    return f"{where}, there is no context{usual} in which {would}."


def set_open(report: Report) -> str:
    """Return that no such context was found."""
    found = f"No context{usual_enough(report)} was found in which"
    if report.among == ANY and not report.confidence:
        return f"{found} {_today(report).lower()} would not have been {_kept(report)}."
    if report.among == ANY:
        part = (cheaper_by(report) or "better").removesuffix(" than the decision")
        return f"{found} another plan would have been {part}{surely(report)}."
    return f"{found} {report.among} would have been {_better(report)}{surely(report)}."


def set_certainty(report: Report) -> str:
    """Return what the proved bound says of today's plan; nothing where the question was another one."""
    bound = number_from_plain(report.bound)
    if report.among != ANY or report.status in ("none", "already") or bound <= 0.0 or report.confidence:
        return ""
    few = "" if report.max_changes is None else " with so few changes"
    where = [f"is{usual}"] if (usual := usual_enough(report)) else []
    where += ["your restrictions allow"] if report.restricted else []
    which = f" that {' and '.join(where)}" if where else ""
    near = f"every context{few} nearer than {at_least(bound, 3)}"
    return f"{_today(report)} stays {_kept(report)} in {near}{which}."


def _today(report: Report) -> str:
    return "Today's route" if report.plans.form == "route" else "Today's plan"


def _kept(report: Report) -> str:
    """Return "within 1 % of the best", or "the best"."""
    part, amount = report.margin or (0.0, 0.0)
    if part:
        return f"within {plain(100.0 * part, 4)} % of the best"
    return f"within {with_unit(plain(amount, 6), report.cost_unit)} of the best" if amount else "the best"


def _better(report: Report) -> str:
    nearly, cheaper = nearly_best(report), cheaper_by(report)
    if report.kind == "absolute":
        return " and ".join(filter(None, [nearly or "the best plan", cheaper]))
    costs = report.cost_after
    if cheaper:
        return cheaper
    if (costs is None and not report.confidence) or (
        costs is not None and costs.decision - costs.alternative <= report.tolerance
    ):
        return "as good as the decision"
    return "better than the decision"


def certainty(report: Report) -> str:
    """Return how sure the answer is."""
    distance, bound, gap = _reached(report)
    found = report.context is not None
    if report.status == "optimal" and gap > 0.0:
        least, near = at_least(bound, 3), plain(distance, 4)
        said = f"Near enough for the gap that was allowed, at distance {near}; none nearer than {least} exists."
    else:
        by = surely(report) + (f" with {few_changes(report)}" if report.max_changes is not None else "")
        said = ended(report, distance, bound, found, by, report.note)
    if report.status == "already":
        return said
    if report.separation is not None and found:
        said += f" The nearest neighbours there are set apart from all others by at least {report.separation:g}."
    return joined(set_certainty(report), said)


def ended(searched: Searched, distance: float, bound: float, found: bool, by: str = "", note: str = "") -> str:
    """Return how a search ended: for a nearest context `by` so much, and at a limit perhaps with a `note` of which."""
    if searched.status == "already":
        return "It holds already, so there was nothing to search for."
    if searched.status == "none":
        return "Proved: no such context exists."
    if searched.status == "optimal":
        return f"Proved nearest{by}, at distance {plain(distance, 4)}: no nearer context would do."
    spent = duration(searched.seconds)
    when = f"within {spent}" if searched.status == "time_limit" else f"before the search was stopped at {spent}"
    when = f"until {note}, after {spent}," if note else when
    least = at_least(bound, 3)
    if found:
        more = f"none nearer than {least} exists" if bound > 0.0 else "whether there is a nearer one is open"
        return f"Nearest found {when}, at distance {plain(distance, 4)}; {more}."
    more = f"if there is one, it is no nearer than {least}" if bound > 0.0 else "whether there is one is open"
    return f"None found {when}; {more}."


#: How a question ended, in a table or a certificate.
_BRIEFLY = {
    "optimal": "proved nearest",
    "already": "holds already",
    "none": "proved: none exists",
    "time_limit": "time was up: best so far",
    "interrupted": "stopped: best so far",
}


def ended_briefly(status: str, found: bool = True) -> str:
    """Return how a question ended in a few words, whether or not something was `found`.

    >>> ended_briefly("optimal"), ended_briefly("time_limit", found=False)
    ('proved nearest', 'time was up: nothing found')
    """
    said = _BRIEFLY.get(status, status)
    return said if found else said.replace("best so far", "nothing found")


def lifted(free: Searched, found: bool, blocking: Sequence[str], said: str, sure: str) -> str:
    """Return which restrictions are `blocking`, what is `said` of the answer without them, and how `sure` that is."""
    if not found and free.status == "none":
        return "It would not help to lift your restrictions: there is none without them either."
    if not found:
        return f"Whether lifting your restrictions would help is open. {sure}"
    several = len(blocking) > 1
    stand = "restrictions stand" if several else "restriction stands"
    blocked = f"Your {stand} in the way: {listed(blocking)}. " if blocking else ""
    lead = f"Without {'them' if several else 'it'}: " if blocking else "Without restrictions: "
    return joined(f"{blocked}{lead}{said}", sure)


def certificate(report: Report) -> list[list[str]]:
    """Return the lines of the certificate: what, and its value as it is written."""
    distance, bound, gap = _reached(report)
    lines = {
        "status": report.status,
        "kind": report.kind,
        "asked for": _asked(report),
        "risk": report.risk,
        "distance": plain(distance, 9),
        "proved lower bound": plain(bound, 9),
        "gap": plain(gap, 3),
        "confidence": standard_errors(report) if report.confidence else "",
        "asked for no less usual than": ""
        if report.plausible is None
        else f"{share(report.plausible)} of past contexts",
        "asked for no more than": "" if report.max_changes is None else few_changes(report).removeprefix("at most "),
        "holds in": _refits(report),
        "true in the world": truth_in_words(report),
        "true by standard errors": curve_in_words(report),
        "model of the world": world_in_words(report),
        "usual": "" if report.usual is None else f"at least as usual as {share(report.usual)} of past contexts",
        "tolerance on costs": with_unit(f"{report.tolerance:.3g}", report.cost_unit),
        "engine": report.engine,
        "boxes or nodes searched": str(report.nodes),
        "time": duration(report.seconds),
        "rival plans met": str(report.cuts) if report.kind == "absolute" else "",
        "separation of neighbours": "" if report.separation is None else f"{report.separation:g}",
        "note": report.note,
    }
    return [[name, text] for name, text in lines.items() if text]


def _asked(report: Report) -> str:
    """Return what is asked of the plan, or of a plan of the set."""
    if report.among != ANY:
        return joined(report.among, " and ".join(filter(None, [nearly_best(report), cheaper_by(report)])))
    least = cheaper_by(report).removeprefix("at least ").removesuffix(" cheaper than the decision")
    return f"{report.among}, with the decision over {least} above it" if least else report.among


def _refits(report: Report) -> str:
    found = report.reliance
    if found is None or found.refits == "worlds":
        return ""
    chosen, judged = found.chosen, found.judged
    return f"{chosen.times} of {chosen.refits} refits that chose it, {judged.times} of {judged.refits} others"


def _reached(report: Report) -> tuple[float, float, float]:
    """Return distance, bound and the gap between them, as numbers."""
    distance, bound = number_from_plain(report.distance), number_from_plain(report.bound)
    return distance, bound, 0.0 if distance == bound else distance - bound


def share_of_truth(found: RelianceEntry) -> str:
    """The share of true answers with its interval, at the beginning of a sentence or in it."""
    assert found.share is not None
    between = "" if found.interval is None else f" ({share(found.interval[0])} to {share(found.interval[1])})"
    return f"{share(found.share)}{between}"


def truth_in_words(report: Report) -> str:
    """How often such answers are true, for a certificate."""
    found = report.reliance
    if found is None or found.worlds is None or found.share is None:
        return ""
    seen = f"by {found.worlds.questions} questions in {found.worlds.worlds} simulated worlds"
    own = found.own
    itself = f"; of this very question {own.times} of {own.refits}" if own is not None and own.refits else ""
    return f"{share_of_truth(found)} of such answers, {seen}{itself}; {share(found.wanted)} were asked for"


def curve_in_words(report: Report) -> str:
    """Return how often such answers are true by some numbers of standard errors, for a certificate.

    A share that is written as the one before is left out, and so is every second one where there are many.
    """
    found = None if report.reliance is None else report.reliance.worlds
    steps = {share(one.share): one for one in reversed(found.curve) if one.share is not None} if found else {}
    told = [f"{text} by {plain(one.confidence, 3)}" for text, one in reversed(steps.items())]
    some = told if len(told) <= MOST_SHARES else [*told[:-1:2], told[-1]]
    return f"{', '.join(some)} standard errors" if some else ""


def world_in_words(report: Report) -> str:
    """What predicts the outcomes of the simulated worlds, and how well, for a certificate."""
    found = None if report.reliance is None else report.reliance.worlds
    if found is None:
        return ""
    return f"{found.model}; explains {share(max(found.explained, 0.0))} of the outcomes' variance on rows not fitted to"
