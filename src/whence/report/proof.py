"""How sure an answer is, in words: what was proved, and the lines of its certificate."""

from __future__ import annotations

from whence.report.document import Report
from whence.report.numbers import at_least, duration, plain, share, with_unit
from whence.report.question_words import ANY, cheaper_by, few_changes, nearly_best, standard_errors, surely
from whence.report.set_words import set_certainty
from whence.util.json import number_from_plain
from whence.util.text import joined

__all__ = ["certainty", "certificate"]


def certainty(report: Report) -> str:
    """How sure the answer is."""
    reached, proved, gap = _reached(report)
    distance, bound, found = plain(reached, 4), at_least(proved, 3), report.context is not None
    spent = duration(report.seconds)
    if report.status == "already":
        return "It holds already, so there was nothing to search for."
    if report.status == "none":
        said = "Proved: no such context exists."
    elif report.status == "optimal" and gap > 0.0:
        said = f"Near enough for the gap that was allowed, at distance {distance}; none nearer than {bound} exists."
    elif report.status == "optimal":
        by = surely(report)
        by += f" with {few_changes(report)}" if report.max_changes is not None else ""
        said = f"Proved nearest{by}, at distance {distance}: no nearer context would do."
    else:
        when = f"within {spent}" if report.status == "time_limit" else f"before the search was stopped at {spent}"
        if report.note:
            when = f"until {report.note}, after {spent},"
        open_ = "whether there is a nearer one is open" if found else "whether there is one is open"
        best = f"Nearest found {when}, at distance {distance}" if found else f"None found {when}"
        if proved <= 0.0:
            said = f"{best}; {open_}."
        elif found:
            said = f"{best}; none nearer than {bound} exists."
        else:
            said = f"{best}; if there is one, it is no nearer than {bound}."
    if report.separation is not None and found:
        said += f" The nearest neighbours there are set apart from all others by at least {report.separation:g}."
    return joined(set_certainty(report), said)


def certificate(report: Report) -> list[list[str]]:
    """The lines of the certificate: what, and its value as it is written."""
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
    """What is asked of the plan, or of a plan of the set."""
    if report.among != ANY:
        return joined(report.among, " and ".join(filter(None, [nearly_best(report), cheaper_by(report)])))
    least = cheaper_by(report).removeprefix("at least ").removesuffix(" cheaper than the decision")
    return f"{report.among}, with the decision over {least} above it" if least else report.among


def _refits(report: Report) -> str:
    found = report.reliance
    if found is None:
        return ""
    chosen, judged = found.chosen, found.judged
    return f"{chosen.times} of {chosen.refits} refits that chose it, {judged.times} of {judged.refits} others"


def _reached(report: Report) -> tuple[float, float, float]:
    """Distance, bound and the gap between them, as numbers."""
    distance, bound = number_from_plain(report.distance), number_from_plain(report.bound)
    return distance, bound, 0.0 if distance == bound else distance - bound
