"""An explanation as a page: one self-contained file, or a fragment for a notebook."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from msgspec import structs

from whence.report.build import document_of
from whence.report.document import Plans, Report, Shown
from whence.report.numbers import plain, share, with_unit
from whence.report.plan_drawings import most_different
from whence.report.quality import warns
from whence.report.reliance import another_plan, by_a_hair
from whence.report.set_words import heading, other_plan
from whence.report.svg import Bar, bars, distribution, fragment_of, page_of, range_bar, route_map
from whence.util.files import write_text
from whence.util.json import number_from_plain

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["fragment", "page", "write"]


def fragment(explanation: Explanation, title: str = "", question: str = "") -> str:
    """The report as one element with its own style, as a notebook shows it."""
    return fragment_of("report.html", title=title, question=question, **_content(explanation))


def page(explanation: Explanation, *, title: str = "Why not my plan?", question: str = "") -> str:
    """The report as the text of a file that needs nothing else and never touches the network."""
    now = f"Written on {datetime.now(UTC):%Y-%m-%d at %H:%M} UTC."
    return page_of("report.html", title=title, question=question, now=now, **_content(explanation))


def write(explanation: Explanation, path: Any, *, title: str = "Why not my plan?", question: str = "") -> None:
    """Write the report to `path`: a file that needs nothing else and never touches the network.

    The file appears complete or not at all.

    Parameters
    ----------
    explanation : Explanation
        What to tell.
    path : str or path
        Where to write, in a folder that exists.
    title, question : str
        Heading of the page, and a sentence or two that say what was asked.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> why = policy.explain([0.2], instead=[10.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(why, pathlib.Path(folder) / "why.html", title="Why not ten?")
    ...     print((pathlib.Path(folder) / "why.html").read_text("utf-8")[:15])
    <!doctype html>
    """
    write_text(path, page(explanation, title=title, question=question), "a report")


def _content(explanation: Explanation) -> dict[str, Any]:
    """What the templates draw."""
    report = document_of(explanation)
    shown, free, city = report.shown, report.unrestricted, report.plans.map
    assert shown is not None
    changed = free if report.context is None and free is not None and free.context is not None else report
    rounded = [one for one in (changed.shown or shown).changes if one.exact and not one.to.startswith("about ")]
    quantities, not_drawn = _quantities(report.plans)
    known = structs.asdict(report.fingerprints) if report.fingerprints.model else {}
    return {
        "report": report,
        "shown": shown,
        "changed": changed,
        "rounded": bool(rounded),
        "costs": _costs(report, shown),
        "map": None if city is None else route_map(city, shown.routes),
        "quantities": quantities,
        "not_drawn": not_drawn,
        "distributions": _distributions(report, shown),
        "observations": shown.speaking,
        "relied": _relied(report),
        "judged": _judged(report),
        "doubtful": warns(report.quality),
        "rule": [range_bar(one) for one in shown.ranges],
        "hair": by_a_hair(report),
        "other": other_plan(report),
        "heading": heading(report),
        "turning": None if report.nearest is None else report.nearest.shown,
        "turning_plan": "" if report.nearest is None else another_plan(report.nearest, report),
        "fingerprints": [(name, text[:16]) for name, text in known.items() if text and isinstance(text, str)],
    }


def _relied(report: Report) -> dict[str, Any]:
    """The ladder of confidence as a table, and how usual the context is as the width of a bar."""
    found = report.reliance
    bar = {"usual": 0.0 if report.usual is None else round(100.0 * report.usual, 1)}
    if found is None:
        return {**bar, "rows": []}
    rows = [
        [
            plain(rung.confidence, 3),
            plain(number_from_plain(rung.distance), 4) if rung.held is not None else rung.status,
            "" if rung.held is None else f"{rung.held.times} of {rung.held.refits}",
        ]
        for rung in found.ladder
    ]
    head = ["standard errors", "distance", "holds in"]
    said = {"wanted": share(found.wanted), "others": found.judged.refits}
    return {**bar, **said, "head": head, "rows": rows, "numbers": {0, 1, 2}}


def _judged(report: Report) -> dict[str, Any]:
    """What the policy and simple rules cost on held-out rows, as a table."""
    found = report.quality
    if found is None:
        return {}
    simple = [] if found.simple is None else [(found.simple.name, found.simple.cost)]
    costs = [
        ("the policy", found.cost),
        ("sample average", found.average),
        *simple,
        ("foresight", found.foresight),
    ]
    rows = [[name, with_unit(plain(cost, 4), report.cost_unit)] for name, cost in costs]
    return {"head": ["on rows not seen", report.risk], "rows": rows, "numbers": {1}}


def _costs(report: Report, shown: Shown) -> Markup:
    contexts = [
        ("In the context as it is", report.cost_before, shown.priced_before),
        ("In the changed context", report.cost_after, shown.priced_after),
    ]
    groups = [
        (title, [Bar("d", "decision", cost.decision, text[0]), Bar("a", other_plan(report), cost.alternative, text[1])])
        for title, cost, text in contexts
        if cost is not None and text
    ]
    return bars(groups, f"{report.risk_words} of both plans.")


def _quantities(plans: Plans) -> tuple[list[Markup], int]:
    """Bars of the quantities on which the plans differ most, and how many are left out."""
    chosen, rest = most_different(plans)
    groups = [
        (plans.parts[j], [Bar("d", "", first, plain(first, 4)), _compared(first, second)])
        for j, first, second in ((j, float(plans.decision[j]), float(plans.alternative[j])) for j in chosen)
    ]
    half = (len(groups) + 1) // 2 if len(groups) > 3 else len(groups)
    halves = [(groups[:half], groups[half:]), (groups[half:], groups[:half])]
    return [bars(part, "Quantities of both plans", other) for part, other in halves if part], rest


def _compared(first: float, second: float) -> Bar:
    """The alternative's bar, its number with the difference from the decision."""
    difference = second - first
    text = plain(second, 4)
    if abs(difference) > 1e-9:
        text += f" ({'+' if difference > 0 else '−'}{plain(abs(difference), 3)})"
    return Bar("a", "", second, text)


def _distributions(report: Report, shown: Shown) -> list[tuple[Markup, str]]:
    """A chart and its caption for either context."""
    if report.spread is None:
        return []
    drawn = []
    for panel, (decision, plan) in zip(report.spread.panels, (shown.priced_before, shown.priced_after), strict=False):
        caption = (
            f"{panel.heading}; {report.risk}: {decision} for the decision, {plan} for {other_plan(report)} (marked)."
        )
        drawn.append((distribution(panel, report.spread, caption, shown.outcome_axis), caption))
    return drawn
