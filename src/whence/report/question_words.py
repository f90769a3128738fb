"""What was asked of a context, in words that stand in many sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.report.numbers import plain, share, with_unit

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation
    from whence.report.document import Report

__all__ = ["cheaper_by", "few_changes", "nearly_best", "rule_claim", "standard_errors", "surely", "usual_enough"]

#: What a set is called that holds all plans.
ANY = "another plan"


def nearly_best(report: Explanation | Report) -> str:
    """ "within 2 % of the best" where a share of the best plan's cost, or an amount, was allowed for; or nothing."""
    if report.allowance:
        return f"within {with_unit(plain(report.allowance, 6), report.cost_unit)} of the best"
    return f"within {plain(100.0 * report.within, 4)} % of the best" if report.within else ""


def cheaper_by(report: Explanation | Report) -> str:
    """ "at least 5 % cheaper than the decision" where a margin was asked for, otherwise nothing."""
    if report.margin is None or not any(report.margin):
        return ""
    part, amount = report.margin
    least = f"{plain(100.0 * part, 4)} %" if part else with_unit(plain(amount, 6), report.cost_unit)
    return f"at least {least} cheaper than the decision"


def surely(report: Report) -> str:
    """ " by 2 standard errors over the trees" where that was asked for, otherwise nothing."""
    return f" by {standard_errors(report)}" if report.confidence else ""


def usual_enough(report: Report) -> str:
    """ " at least as usual as 10 % of the history", of a context, where that was asked for, otherwise nothing."""
    return "" if report.plausible is None else f" at least as usual as {share(report.plausible)} of the history"


def few_changes(report: Report) -> str:
    """How many features may change."""
    return "at most one change" if report.max_changes == 1 else f"at most {report.max_changes} changes"


def standard_errors(report: Report) -> str:
    """ "2 standard errors over the trees"."""
    # Only neighbours have to be set apart from others.
    whose = "trees" if report.separation is None else "neighbours"
    return f"{plain(report.confidence, 3)} standard error{'s' * (report.confidence != 1.0)} over the {whose}"


def rule_claim(about: Explanation | Report) -> str:
    """What stays true wherever a rule holds: "your plan is better", or as much more as was asked for."""
    plan, nearly, cheaper = "the other plan" if about.among else "your plan", nearly_best(about), cheaper_by(about)
    if about.kind == "absolute":
        if nearly or cheaper or about.among:
            return f"{plan} is {' and '.join(filter(None, [nearly or 'the best', cheaper]))}"
        return "no plan is better than yours"
    if about.among == ANY and cheaper:
        least = cheaper.removeprefix("at least ").removesuffix(" cheaper than the decision")
        return f"the decision costs over {least} more than the other plan"
    return f"{plan} is {cheaper or 'better'}"
