"""Sentences about a set of plans: what would change the plan, and when a plan of the set would have been better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.report.numbers import at_least, plain, with_unit
from whence.report.question_words import ANY, cheaper_by, nearly_best, surely, usual_enough
from whence.util.json import number_from_plain

if TYPE_CHECKING:
    from whence.report.document import Report

__all__ = ["heading", "other_plan", "set_already", "set_certainty", "set_none", "set_open", "set_would"]


def other_plan(report: Report) -> str:
    """What sentences call the plan that is compared with the decision."""
    return "the other plan" if report.among else "your plan"


def heading(report: Report) -> str:
    """What the alternative is listed under."""
    if not report.among:
        return "Your plan"
    if report.among == ANY:
        return "Takes over" if report.context is not None else "Best plan today"
    return report.among[:1].upper() + report.among[1:]


def set_would(report: Report) -> str:
    """What would have been so in the context found, up to its "if"."""
    if report.among == ANY:
        return f"{_today(report)} would no longer have been {_kept(report)}"
    some = report.among[:1].upper() + report.among[1:]
    return f"{some} would have been {_better(report)}"


def set_already(report: Report) -> str:
    """The same where it is so today."""
    if report.among == ANY:
        return f"Nothing has to change: {_today(report).lower()} is not {_kept(report)} in the context as it is."
    return f"Nothing has to change: {report.among} is {_better(report)} in the context as it is."


def set_none(report: Report, where: str) -> str:
    """That there is no such context, within what `where` says."""
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
    """That no such context was found."""
    found = f"No context{usual_enough(report)} was found in which"
    if report.among == ANY and not report.confidence:
        return f"{found} {_today(report).lower()} would not have been {_kept(report)}."
    if report.among == ANY:
        part = (cheaper_by(report) or "better").removesuffix(" than the decision")
        return f"{found} another plan would have been {part}{surely(report)}."
    return f"{found} {report.among} would have been {_better(report)}{surely(report)}."


def set_certainty(report: Report) -> str:
    """What the proved bound says of today's plan; nothing where the question was another one."""
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
    """ "within 1 % of the best", or "the best"."""
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
