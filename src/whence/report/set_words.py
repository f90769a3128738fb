"""Sentences about a set of plans: what would change the plan, and when a plan of the set would have been better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.plain_values import number_from_plain
from whence.report.numbers import at_least, plain, with_unit

if TYPE_CHECKING:
    from whence.report.model import Report

__all__ = ["heading", "other_plan", "set_already", "set_certainty", "set_none", "set_open", "set_would"]

#: What a set is called that holds all plans.
ANY = "another plan"


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
    if report.among == ANY and report.confidence:
        return f"{where}, in no context is another plan better by {plain(report.confidence, 3)} standard errors."
    if report.among == ANY:
        return f"{where}, {_today(report).lower()} stays {_kept(report)} in {_every(report)}."
    if report.kind == "absolute" and not report.within:
        return f"{where}, in no context is {report.among} optimal."
    return f"{where}, there is no context in which {report.among} would have been {_better(report)}."


def set_open(report: Report) -> str:
    """That no such context was found."""
    if report.among == ANY:
        return f"No context was found in which {_today(report).lower()} would not have been {_kept(report)}."
    return f"No context was found in which {report.among} would have been {_better(report)}."


def set_certainty(report: Report) -> str:
    """What the proved bound says of today's plan; nothing where the question was another one."""
    bound = number_from_plain(report.bound)
    if report.among != ANY or report.status in ("none", "already") or bound <= 0.0 or report.confidence:
        return ""
    few = "" if report.max_changes is None else " with so few changes"
    return f"{_today(report)} stays {_kept(report)} in {_every(report)}{few} nearer than {at_least(bound, 3)}."


def _every(report: Report) -> str:
    return "every context" if report.plausible is None else "every context as usual as was asked for"


def _today(report: Report) -> str:
    return "Today's route" if report.plans.form == "route" else "Today's plan"


def _kept(report: Report) -> str:
    """ "within 1 % of the best", or "the best"."""
    part, amount = report.margin or (0.0, 0.0)
    if part:
        return f"within {plain(100.0 * part, 4)} % of the best"
    return f"within {with_unit(plain(amount, 6), report.cost_unit)} of the best" if amount else "the best"


def _better(report: Report) -> str:
    if report.kind == "absolute":
        return f"within {plain(100.0 * report.within, 4)} % of the best" if report.within else "the best plan"
    if report.margin is not None:
        part, amount = report.margin
        least = f"{plain(100.0 * part, 4)} %" if part else with_unit(plain(amount, 6), report.cost_unit)
        return f"at least {least} cheaper than the decision"
    costs = report.cost_after
    if costs is None or costs.decision - costs.alternative <= report.tolerance:
        return "as good as the decision"
    return "better than the decision"
