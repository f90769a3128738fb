"""An explanation as a page: one self-contained file, or a fragment for a notebook."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from msgspec import structs

from whence.files import write_text
from whence.plain_values import number_from_plain
from whence.report.build import document_of
from whence.report.model import Observation, Plans, Report, Shown
from whence.report.numbers import aligned, plain, share, value, with_unit
from whence.report.plans import most_different
from whence.report.quality import warns
from whence.report.reliance import by_a_hair, where_to_rely
from whence.report.svg import Bar, bars, distribution, route_map
from whence.report.templating import rendered

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["fragment", "page", "write"]

#: Most columns of a past context that are shown.
COLUMNS = 6
#: Observations that are listed as gaining weight, and as many that lose it.
LISTED = 5


def fragment(explanation: Explanation, title: str = "", question: str = "") -> str:
    """The report as one element with its own style, as a notebook shows it."""
    return str(rendered("fragment.html", title=title, question=question, **_content(explanation)))


def page(explanation: Explanation, *, title: str = "Why not my plan?", question: str = "") -> str:
    """The report as the text of a file that needs nothing else and never touches the network."""
    now = f"Written on {datetime.now(UTC):%Y-%m-%d at %H:%M} UTC."
    return str(rendered("page.html", title=title, question=question, now=now, **_content(explanation))) + "\n"


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
        "observations": _observations(report),
        "relied": _relied(report),
        "judged": _judged(report),
        "doubtful": warns(report.quality),
        "agreed": shown.reliance.partition("\n")[0],
        "where": where_to_rely(report),
        "hair": by_a_hair(report),
        "turning": None if report.nearest is None else report.nearest.shown,
        "fingerprints": [(name, text[:16]) for name, text in known.items() if text and isinstance(text, str)],
    }


def _relied(report: Report) -> dict[str, Any]:
    """The ladder of confidence as a table, and the shares of the history as widths of bars."""
    found, region = report.reliance, report.region
    bars = {
        "usual": 0.0 if report.usual is None else round(100.0 * report.usual, 1),
        "inside": round(100.0 * region.share, 1) if region is not None and region.short else 0.0,
    }
    if found is None:
        return {**bars, "rows": []}
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
    return {**bars, **said, "head": head, "rows": rows, "numbers": {0, 1, 2}}


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
        (heading, [Bar("d", "decision", cost.decision, text[0]), Bar("a", "your plan", cost.alternative, text[1])])
        for heading, cost, text in contexts
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
        caption = f"{panel.heading}; {report.risk}: {decision} for the decision, {plan} for your plan (marked)."
        drawn.append((distribution(panel, report.spread, caption, shown.outcome_axis), caption))
    return drawn


def _observations(report: Report) -> dict[str, Any]:
    """How many observations speak, tables of those that move most, and what these carry together."""
    seen = report.observations
    before, after = np.array(seen.weights_before), np.array(seen.weights_after or seen.weights_before)
    moved = report.context is not None and report.status != "already"
    said = f"{(before > 0).sum()} of {seen.count} past observations have a weight in the context as it is"
    turned = share(float(np.abs(after - before).sum() / 2))
    said += f", {(after > 0).sum()} in the changed one; {turned} of the weight moves." if moved else "."
    gaining, losing = seen.gaining[:LISTED], seen.losing[:LISTED]
    lists = [("They gain most weight", gaining), ("They lose most weight", losing)]
    tables = [
        (heading, *_observation_table(report, chosen, moved))
        for heading, chosen in (lists if moved else [("They weigh most", gaining)])
        if chosen
    ]
    parts = [one.part for one in gaining + losing if one.part is not None]
    return {"said": said, "tables": tables, "share": share(sum(parts)) if parts else ""}


def _observation_table(
    report: Report, chosen: list[Observation], moved: bool
) -> tuple[list[str], list[list[str]], set[int]]:
    """Head, rows and which columns are numbers: what changes, then the numbers, then the rest of the context."""
    changed = [change.feature for change in report.changes]
    known = list(chosen[0].values)
    first = [c for c in changed if c in known][:COLUMNS]
    last = [c for c in known if c not in changed][: COLUMNS - len(first)]
    costs = [(o.decision, o.alternative) for o in chosen if o.decision is not None and o.alternative is not None]
    known_costs = len(costs) == len(chosen)
    parts = any(o.part is not None for o in chosen)
    titles = report.shown.cost_headings if known_costs and report.shown else []
    numbers = ["weight", *titles, *(["share"] if parts else [])]

    def written(o: Observation, columns: list[str]) -> list[str]:
        return [value(o.values.get(c, ""), report.kinds.get(c, ""), report.units.get(c, "")) for c in columns]

    rows = [
        [
            o.label,
            *written(o, first),
            f"{share(o.before)} → {share(o.after)}" if moved else share(o.before),
            *cost,
            *([share(o.part or 0.0)] if parts else []),
            *written(o, last),
        ]
        for o, cost in zip(chosen, aligned(costs) if known_costs else [()] * len(chosen), strict=True)
    ]
    start = 1 + len(first)
    return ["row", *first, *numbers, *last], rows, set(range(start, start + len(numbers)))
