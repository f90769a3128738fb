"""An explanation as a page: one self-contained file, or a fragment for a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from msgspec import structs

from whence.errors import InputError
from whence.problems.plan_text import Point
from whence.report.build import document_of
from whence.report.document import Map, Panel, Plans, Report, Shown, ShownRange, ShownValue, Spread, WorldsEntry
from whence.report.numbers import plain, share, short_names, value, with_unit
from whence.report.observations import mattering_of
from whence.report.plan_drawings import LETTER, labels, most_different, placed, streets_along, visited
from whence.report.question_words import heading, other_plan
from whence.report.reliance import another_plan, by_a_hair
from whence.report.words import warns
from whence.search.verdict_strips import NEAR, Strip, strips
from whence.util.files import write_text
from whence.util.json import number_from_plain

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation
    from whence.policy import Policy


def rendered(template: str, **values: Any) -> Markup:
    """Return a template of the folder ``templates`` with these values.

    Examples
    --------
    >>> chart = rendered("map.svg", title="<b>", width=9, height=9, network="", routes=[], nodes=[], labels=[])
    >>> print(chart.split(">")[2])
    &lt;b&gt;</title
    """
    return Markup(_environment().get_template(template).render(values))


def page_of(body: str, **values: Any) -> str:
    """Return the template `body` as a page of its own, which needs nothing else and never touches the network."""
    return f"{rendered('page.html', body=body, **values)}\n"


def fragment_of(body: str, **values: Any) -> str:
    """Return the template `body` as one element with its own style, as a notebook shows it."""
    return str(rendered("fragment.html", body=body, **values))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("whence.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True, auto_reload=False
    )
    made.globals |= {"decision": DECISION, "alternative": ALTERNATIVE, "then": THEN}
    made.filters |= {"g": lambda number: f"{number:.5g}", "blocks": _blocks}
    return made


def _blocks(text: str) -> list[tuple[bool, list[str]]]:
    """Return lines in blocks: whether they are a list, each beginning with a dash, and the lines without it."""
    return [
        (listed, [line.removeprefix("  - ").strip() for line in lines if line.strip()])
        for listed, lines in groupby(text.split("\n"), key=lambda line: line.startswith("  - "))
    ]


# Blue and orange stay apart for every kind of colour blindness; line style and fill tell them apart without colour.
DECISION, ALTERNATIVE = "#0b62a8", "#b8500b"
THEN = "#00845f"


WIDTH = 360


@dataclass(frozen=True)
class Bar:
    """One bar: which plan it belongs to ("d" or "a"), its label, its length and the number beside it."""

    plan: str
    label: str
    length: float
    text: str


#: Bars under a heading.
Group = tuple[str, Sequence[Bar]]


def bars(groups: Sequence[Group], title: str, beside: Sequence[Group] = ()) -> Markup:
    """Return horizontal bars in groups, each with its number, on one scale with the groups drawn `beside`."""
    every = [bar for _, group in [*groups, *beside] for bar in group]
    left = LETTER * max((len(bar.label) for bar in every), default=0) + 6
    # A sign is wider than other letters.
    right = LETTER * max((len(bar.text) + bar.text.startswith(("+", "-")) for bar in every), default=0) + 10
    low = min(0.0, *(bar.length for bar in every))
    high = max(0.0, *(bar.length for bar in every))
    scale = (WIDTH - left - right) / ((high - low) or 1.0)
    zero = left - low * scale
    drawn = []
    y = 0
    for above, group in groups:
        y += 20 if above else 0
        placed_bars = []
        for i, bar in enumerate(group):
            x, width = zero + min(0.0, bar.length) * scale, max(abs(bar.length) * scale, 1.0)
            where = {"x": x, "width": width, "text_x": max(x + width, zero) + 5, "y": y + 19 * i}
            placed_bars.append({"plan": bar.plan, "label": bar.label, "text": bar.text, **where})
        end = y + 19 * len(group)
        drawn.append({"heading": _fitting(above, WIDTH), "y": y, "end": end, "bars": placed_bars})
        y = end + 7
    return rendered("bars.svg", groups=drawn, title=title, zero=zero, width=WIDTH, height=max(y, 1))


def distribution(panel: Panel, spread: Spread, title: str, axis: str) -> Markup:
    """Return weighted histograms, drawn as steps over each other on the scale of the whole spread."""
    top, bottom, side = 20, 160, 10
    low, high = spread.edges[0], spread.edges[-1]
    scale = (WIDTH - 2 * side) / (high - low)

    def at(cost: float) -> float:
        return side + (cost - low) * scale

    curves = []
    both = ("d", panel.decision, panel.marks.decision), ("a", panel.alternative, panel.marks.alternative)
    for plan, masses, mark in both:
        steps = [f"M{at(low):.1f} {bottom:.1f}"]
        for first, last, mass in zip(spread.edges[:-1], spread.edges[1:], masses, strict=True):
            height = bottom - (bottom - top) * mass / (spread.highest or 1.0)
            steps.append(f"L{at(first):.1f} {height:.1f}L{at(last):.1f} {height:.1f}")
        steps.append(f"L{at(high):.1f} {bottom:.1f}")
        x = at(min(max(mark, low), high))
        size, y = (5.0, top) if plan == "d" else (-5.0, top + 12)
        tip = f"{x - 5:.1f},{y - size / 2:.1f} {x + 5:.1f},{y - size / 2:.1f} {x:.1f},{y + size:.1f}"
        curves.append((plan, "".join(steps), x, tip))
    return rendered(
        "distribution.svg",
        curves=curves,
        ticks=[(at(tick), plain(tick)) for tick in ticks(low, high)],
        highest=share(spread.highest),
        title=title,
        axis=axis,
        width=WIDTH,
        top=top,
        bottom=bottom,
        side=side,
    )


def range_bar(drawn: ShownRange) -> Markup:
    """Return one condition of a rule as a drawing: the part of a range in which it holds, or the values allowed."""
    side, line = 8, 34
    chips, height = _chips(drawn, line - 12)
    across = WIDTH - 2 * side
    return rendered(
        "range.svg",
        drawn=drawn,
        name=_fitting(drawn.text, WIDTH),
        begin=side + drawn.begin * across,
        width=max((drawn.end - drawn.begin) * across, 2.0),
        was=None if drawn.was is None else side + drawn.was * across,
        found=None if drawn.found is None else side + drawn.found * across,
        chips=chips,
        side=side,
        line=line,
        right=WIDTH - side,
        full=WIDTH,
        height=height if chips else line + 24,
    )


def _chips(drawn: ShownRange, top: int) -> tuple[list[dict[str, Any]], int]:
    """Where the values go, in as many rows as it takes, and where the last row ends."""
    texts = [(one.text, one) for one in drawn.values]
    if drawn.left_out:
        texts.append((f"and {drawn.left_out} more", ShownValue(text="", inside=False)))
    chips: list[dict[str, Any]] = []
    x, y = 1.0, top
    for text, one in texts:
        text = _fitting(text, 0.6 * WIDTH)
        # Values that the rule allows for are written larger.
        width = (1.2 if one.inside else 1.1) * LETTER * len(text) + (28 if one.was or one.found else 14)
        if chips and x + width > WIDTH - 1:
            x, y = 1.0, y + 24
        chips.append({"x": x, "y": y, "width": width, "text": text, "one": one, "plain": not one.text})
        x += width + 5
    return chips, y + 24


#: Processor seconds that the strips of a report may take.
STRIP_SECONDS = 2.0
#: How far apart numbers below a strip stand, at least, as a share of it: as wide as one of them, or as a day.
TEXT_APART = 0.21
#: How stretches of a strip look.
LOOKS = {"decision": "d", "alternative": "a", "another": "o"}


def strip_bar(strip: Strip, report: Report) -> Markup:
    """Return a strip as a drawing: along a feature which plan is best, where it turns, and where the context is."""
    kind, unit = report.kinds.get(strip.feature, ""), report.units.get(strip.feature, "")
    now = strip.place(report.initial.get(strip.feature))
    side, across = 6, WIDTH - 12
    stretches = [
        {"look": LOOKS[one.verdict], "x": side + left * across, "width": max((right - left) * across - 0.6, 0.8)}
        | ({"y": 22, "height": 8} if one.verdict == "another" else {"y": 19, "height": 14})
        | {"ahead": one.verdict == "another" and one.ahead == "alternative"}
        for (left, right), one in zip(strip.spans(), strip.stretches, strict=True)
    ]
    texts = [
        {"x": side + at * across, "text": _short(entry, kind), "side": {0.0: "start", 1.0: "end"}.get(at, "middle")}
        for at, entry in strip.numbers(TEXT_APART)
    ]
    if not strip.ordered:
        room = across / len(strip.stretches)
        names = short_names([value(one.begin, kind) for one in strip.stretches])
        texts = [
            {"x": side + room * (i + 0.5), "text": _fitting(name, room), "side": "middle"}
            for i, name in enumerate(names)
        ]
    name = strip.feature if not unit or strip.feature.rstrip(")]").endswith(unit) else f"{strip.feature} ({unit})"
    told = ", ".join(f"{value(one.begin, kind)}: {one.verdict}" for one in strip.stretches)
    return rendered(
        "strip.svg",
        name=_fitting(name, WIDTH),
        title=f"Best along {name}: {told}",
        stretches=stretches,
        now=None if now is None else side + now * across,
        texts=texts,
        width=WIDTH,
        height=54,
    )


def _short(entry: Any, kind: str) -> str:
    """Return a number or a day in a few letters, two numbers with a bar between them."""
    if isinstance(entry, tuple):
        return " | ".join(_short(one, kind) for one in entry)
    return f"{entry:%d %b}" if kind == "date" else value(entry, kind)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between `low` and `high`.

    Examples
    --------
    >>> ticks(17.0, 62.0)
    [20.0, 30.0, 40.0, 50.0, 60.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [float(k * step) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def route_map(city: Map, title: str) -> Markup:
    """Return the network in grey, the decision as a broad line and the alternative as a dashed one over it."""
    width = 400
    place, height = placed(city, width)
    ends, seen = (city.source, city.target), visited(city)
    radius = 2.5 if len(place) <= 60 else 1.2

    def line(edges: Sequence[Sequence[int]]) -> str:
        return "".join(f"M{_xy(place[u])}L{_xy(place[v])}" for u, v in edges)

    return rendered(
        "map.svg",
        network=line(city.edges),
        routes=[
            (plan, line([city.edges[edge] for edge in route]), ", ".join(streets_along(city, route)))
            for plan, route in (("d", city.decision), ("a", city.alternative))
        ],
        nodes=[
            (x, y, 6.0 if node in ends else radius + (node in seen), node in ends)
            for node, (x, y) in enumerate(place)
            if node in ends or node in seen or len(place) <= 200
        ],
        labels=labels(place, city, (width, height)),
        title=title,
        width=width,
        height=round(height),
    )


def _fitting(text: str, width: float) -> str:
    """Return `text`, cut off with an ellipsis where it would be wider than `width`."""
    most = int(width / (1.25 * LETTER))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _xy(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def fragment(explanation: Explanation) -> str:
    """Return the report as one element with its own style, as a notebook shows it."""
    return fragment_of("report.html", title="", question="", **_content(explanation))


def page(
    explanation: Explanation, *, title: str = "Why not my plan?", question: str = "", policy: Policy | None = None
) -> str:
    """Return the report as the text of a file that needs nothing else and never touches the network.

    Where the fitted `policy` is given, it also shows which plan is best along each feature.
    """
    now = f"Written on {datetime.now(UTC):%Y-%m-%d at %H:%M} UTC."
    content = _content(explanation)
    drawn = [] if policy is None else _strips(explanation, policy)
    content |= {"strips": [strip_bar(strip, content["report"]) for strip in drawn], "near": share(NEAR)}
    every = [one for strip in drawn for one in strip.stretches if one.verdict == "another"]
    content["ahead"] = any(one.ahead == "alternative" for one in every)
    return page_of("report.html", title=title, question=question, now=now, **content)


def write(
    explanation: Explanation,
    path: Any,
    *,
    title: str = "Why not my plan?",
    question: str = "",
    policy: Policy | None = None,
) -> None:
    """Write the report to `path` (see `Explanation.to_html`): the file appears complete or not at all."""
    write_text(path, page(explanation, title=title, question=question, policy=policy), "a report")


def _strips(explanation: Explanation, policy: Policy) -> list[Strip]:
    """Return the strips of both plans in the context asked about; none where the policy cannot read the plans."""
    problem, names = policy.problem, policy.outcome_names_
    try:
        decision, other = (
            problem.from_plain(problem.to_plain(plan), names)
            for plan in (explanation.decision, explanation.alternative)
        )
        row = policy.schema_.row(explanation.initial)
        return strips(policy, row, other, decision=decision, seconds=STRIP_SECONDS)
    except InputError:
        return []


def _content(explanation: Explanation) -> dict[str, Any]:
    """Return what the templates draw."""
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
        "day": observation_named(report),
        "context": context_rows(report),
        "changed": changed,
        "rounded": bool(rounded),
        "costs": _costs(report, shown),
        "map": None if city is None else route_map(city, shown.routes),
        "quantities": quantities,
        "not_drawn": not_drawn,
        "distributions": _distributions(report, shown),
        "observations": mattering_of(report, shown),
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


def observation_named(report: Report) -> str:
    """Return what the history calls the context, such as "2025-06-14"; "" where no observation that is kept is it.

    An observation weighs most in its own context, so that it is among those whose weight a report tells of.
    """
    kept = (*report.observations.losing, *report.observations.gaining)
    label = next((one.label for one in kept if one.values == report.initial), "")
    return f"row {label}" if label.isdigit() else label


def context_rows(report: Report) -> list[tuple[str, str, str]]:
    """Return every feature with its value as it is, and in the context found where it changes.

    Columns that stand for a category together are the features that they are.
    """
    changed = {change.feature: change.to for change in (report.shown.changes if report.shown else ())}
    before = {change.feature: change.from_ for change in (report.shown.changes if report.shown else ())}

    def written(name: str, entry: Any) -> str:
        return before.get(name) or value(entry, report.kinds.get(name, ""), report.units.get(name, ""))

    return [(name, written(name, entry), changed.get(name, "")) for name, entry in report.initial.items()]


def _relied(report: Report) -> dict[str, Any]:
    """Return the ladder of confidence as a table, and how usual the context is as the width of a bar."""
    found = report.reliance
    bar = {"usual": 0.0 if report.usual is None else round(100.0 * report.usual, 1)}
    if found is None:
        return {**bar, "rows": []}
    if found.worlds is not None:
        return {**bar, **_curve(found.worlds)}
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


def _curve(found: WorldsEntry) -> dict[str, Any]:
    """How often answers are true in simulated worlds, step by step, as a table."""
    rows = [
        [plain(one.confidence, 3), str(one.answered), str(one.true), "" if one.share is None else share(one.share)]
        for one in found.curve
    ]
    head = ["standard errors", "answers", "true", "share"]
    return {"worlds": found, "head": head, "rows": rows, "numbers": {0, 1, 2, 3}}


def _judged(report: Report) -> dict[str, Any]:
    """Return what the policy and simple rules cost on held-out rows, as a table."""
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


def plan_charts(report: Report) -> list[Markup]:
    """Return both plans as drawings: a map of their routes, or bars of their quantities; none of other plans."""
    if report.plans.map is not None:
        assert report.shown is not None
        return [route_map(report.plans.map, report.shown.routes)]
    return _quantities(report.plans)[0] if report.plans.form == "quantities" else []


def _quantities(plans: Plans) -> tuple[list[Markup], int]:
    """Return bars of the quantities on which the plans differ most, and how many are left out."""
    chosen, rest = most_different(plans)
    groups = [
        (plans.parts[j], [Bar("d", "", first, plain(first, 4)), _compared(first, second)])
        for j, first, second in ((j, float(plans.decision[j]), float(plans.alternative[j])) for j in chosen)
    ]
    half = (len(groups) + 1) // 2 if len(groups) > 3 else len(groups)
    halves = [(groups[:half], groups[half:]), (groups[half:], groups[:half])]
    return [bars(part, "Quantities of both plans", other) for part, other in halves if part], rest


def _compared(first: float, second: float) -> Bar:
    """Return the alternative's bar, its number with the difference from the decision."""
    difference = second - first
    text = plain(second, 4)
    if abs(difference) > 1e-9:
        text += f" ({'+' if difference > 0 else '-'}{plain(abs(difference), 3)})"
    return Bar("a", "", second, text)


def _distributions(report: Report, shown: Shown) -> list[tuple[Markup, str]]:
    """Return a chart and its caption for either context."""
    if report.spread is None:
        return []
    drawn = []
    for panel, (decision, plan) in zip(report.spread.panels, (shown.priced_before, shown.priced_after), strict=False):
        caption = (
            f"{panel.heading}; {report.risk}: {decision} for the decision, {plan} for {other_plan(report)} (marked)."
        )
        drawn.append((distribution(panel, report.spread, caption, shown.outcome_axis), caption))
    return drawn
