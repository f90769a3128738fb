"""An explanation as a page: one self-contained file, or a fragment for a notebook."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from whence.files import write_text
from whence.report import words
from whence.report.markup import Markup, join, tag
from whence.report.material import material_of
from whence.report.numbers import aligned, duration, plain, share, value, with_unit
from whence.report.observations import Observation, most_moved, moved_share, speaking
from whence.report.outcomes import spread_of
from whence.report.plans import picture
from whence.report.style import STYLE
from whence.report.svg import Bar, bars, distribution

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["fragment", "page", "write"]

#: Most columns of a past context that are shown.
COLUMNS = 6


def fragment(explanation: Explanation, title: str = "", question: str = "") -> str:
    """The report as one element with its own style, as a notebook shows it."""
    return str(join(tag("style", Markup(STYLE)), _report(explanation, title, question)))


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


def page(explanation: Explanation, *, title: str = "Why not my plan?", question: str = "") -> str:
    """The report as the text of a file that needs nothing else and never touches the network."""
    now = f"Written on {datetime.now(UTC):%Y-%m-%d at %H:%M} UTC."
    base = "@page { margin: 15mm 14mm; } html { background: #fff; } body { margin: 0; }"
    night = "@media screen and (prefers-color-scheme: dark) { html { background: #14181c; } }"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(f"{base} {night}\n{STYLE}")),
    )
    body = tag("body", _report(explanation, title, question, now))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _report(explanation: Explanation, title: str, question: str, now: str = "") -> Markup:
    sections = [
        ("What would have to be different", _changes(explanation)),
        ("What both plans cost", _costs(explanation)),
        ("The two plans", picture(explanation)),
        ("How the outcomes spread", _outcomes(explanation)),
        ("Which past observations speak", _observations(explanation)),
        ("How sure this is", _certificate(explanation, now)),
    ]
    return tag(
        "div",
        tag("h1", title) if title else Markup(""),
        tag("p", question, class_="wh-soft") if question else Markup(""),
        _verdict(explanation),
        *(tag("section", tag("h2", heading), body) for heading, body in sections),
        class_="whence",
    )


def _verdict(explanation: Explanation) -> Markup:
    told = (words.verdict, words.staying, words.costs, words.certainty, words.remedy)
    return tag("div", *(_paragraphs(tell(explanation)) for tell in told), class_="wh-verdict")


def _paragraphs(text: str) -> Markup:
    """Lines as paragraphs, and those that begin with a dash as a list."""
    parts: list[Markup] = []
    for listed, lines in groupby(text.split("\n"), key=lambda line: line.startswith("  - ")):
        if listed:
            parts.append(tag("ul", *(tag("li", line.removeprefix("  - ")) for line in lines)))
        else:
            parts += [tag("p", line.strip()) for line in lines if line.strip()]
    return join(*parts)


def _changes(explanation: Explanation) -> Markup:
    told, heading = explanation, Markup("")
    if explanation.context is None and explanation.unrestricted is not None and explanation.unrestricted.found:
        told, heading = explanation.unrestricted, tag("p", "Without your restrictions:")
    if not len(told.changes):
        said = "Nothing: it holds as it is." if told.status == "already" else "There is no context to show."
        return tag("p", said)
    rows = []
    rounded = False
    for (name, before, after), record in zip(words.changes(told), told.changes.to_dict("records"), strict=True):
        exact = value(record["to"], told.kinds.get(name, ""), told.units.get(name, ""))
        changed = tag("b", after)
        if exact != after.removeprefix("about "):
            rounded = True
            changed = join(changed, tag("div", f"nearest: {exact}", class_="wh-soft"))
        rows.append([name, before, changed, plain(float(record["distance"]), 3)])
    table = _table(["", "as it is", "changed", "distance"], rows, numbers={3}, names=True)
    note = (
        "A number counts by the share of its range in the history that it moves; a category or switch that changes "
        "counts 1, each times the weight that you gave it."
    )
    if rounded:
        note += " Numbers are rounded so that the verdict holds; distances are those of the nearest values."
    return join(heading, table, tag("p", note, class_="wh-soft"))


def _costs(explanation: Explanation) -> Markup:
    shown = words.costs_shown(explanation)
    contexts = [
        ("In the context as it is", explanation.cost_before),
        ("In the changed context", explanation.cost_after),
    ]
    groups = [
        (
            heading,
            [
                Bar("d", "decision", cost.decision, with_unit(text[0], explanation.cost_unit)),
                Bar("a", "your plan", cost.alternative, with_unit(text[1], explanation.cost_unit)),
            ],
        )
        for (heading, cost), text in zip(contexts, shown, strict=False)
        if cost is not None
    ]
    caption = f"{words.risk_named(explanation.risk)} of both plans."
    return tag("figure", bars(groups, caption), tag("figcaption", caption))


def _outcomes(explanation: Explanation) -> Markup:
    spread = spread_of(explanation)
    if spread is None:
        return tag("p", "The costs of the single observations are not at hand.")
    figures = []
    unit = explanation.cost_unit
    axis = _in_unit("cost under past observations", unit)
    for (heading, panel), text in zip(spread.panels, words.costs_shown(explanation), strict=True):
        decision, plan = (with_unit(cost, unit) for cost in text)
        caption = f"{heading}; {explanation.risk}: {decision} for the decision, {plan} for your plan (marked)."
        drawn = distribution(panel, spread.edges, spread.highest, caption, axis)
        figures.append(tag("figure", drawn, tag("figcaption", caption)))
    said = (
        "What either plan would have cost under the past observations, each with the weight that it has in the "
        "context. Filled with a solid line: the decision. With a dashed line: your plan."
    )
    if spread.beyond:
        said += " The last bar also holds the rare costs beyond it."
    return join(tag("p", said, class_="wh-soft"), tag("div", *figures, class_="wh-columns"))


def _observations(explanation: Explanation) -> Markup:
    gaining, losing = most_moved(explanation)
    before, after = speaking(explanation)
    said = f"{before} of {explanation.weights_before.size} past observations have a weight in the context as it is"
    moved = explanation.context is not None and explanation.status != "already"
    said += f", {after} in the changed one; {share(moved_share(explanation))} of the weight moves." if moved else "."
    parts = [tag("p", said)]
    tables = [("They gain most weight", gaining), ("They lose most weight", losing)]
    for heading, chosen in tables if moved else [("They weigh most", gaining)]:
        if chosen:
            parts += [tag("h3", heading), _observation_table(explanation, chosen, moved)]
    shown = [o.part for o in gaining + losing if o.part is not None]
    if shown:
        note = (
            "Share: how much of the turn in your plan's favour this observation carries by its change of weight; "
            f"those listed carry {share(sum(shown))} together."
        )
        parts.append(tag("p", note, class_="wh-soft"))
    return join(*parts)


def _observation_table(explanation: Explanation, chosen: list[Observation], moved: bool) -> Markup:
    """The values of what changes come first, then the numbers, and what else is known of the context last."""
    changed = [str(name) for name in explanation.changes["feature"]]
    known = list(chosen[0].values)
    first = [c for c in changed if c in known][:COLUMNS]
    last = [c for c in known if c not in changed][: COLUMNS - len(first)]
    costs = [(o.decision, o.alternative) for o in chosen if o.decision is not None and o.alternative is not None]
    known_costs = len(costs) == len(chosen)
    parts = any(o.part is not None for o in chosen)
    titles = [_in_unit(title, explanation.cost_unit) for title in ("cost of decision", "cost of your plan")]
    numbers = ["weight", *(titles if known_costs else []), *(["share"] if parts else [])]

    def told(o: Observation, columns: list[str]) -> list[str]:
        return [value(o.values.get(c, ""), explanation.kinds.get(c, ""), explanation.units.get(c, "")) for c in columns]

    rows = [
        [
            o.label,
            *told(o, first),
            f"{share(o.before)} → {share(o.after)}" if moved else share(o.before),
            *cost,
            *([share(o.part or 0.0)] if parts else []),
            *told(o, last),
        ]
        for o, cost in zip(chosen, aligned(costs) if known_costs else [()] * len(chosen), strict=True)
    ]
    start = 1 + len(first)
    return _table(["row", *first, *numbers, *last], rows, numbers=set(range(start, start + len(numbers))))


def _certificate(explanation: Explanation, now: str) -> Markup:
    entries = [
        ("status", explanation.status),
        ("kind", explanation.kind),
        ("risk", explanation.risk),
        ("distance", plain(explanation.distance, 9)),
        ("proved lower bound", plain(explanation.bound, 9)),
        ("gap", plain(explanation.gap, 3)),
        ("tolerance on costs", with_unit(f"{explanation.tolerance:.3g}", explanation.cost_unit)),
        ("engine", explanation.engine),
        ("boxes or nodes searched", str(explanation.nodes)),
        ("time", duration(explanation.seconds)),
    ]
    if explanation.within:
        entries.insert(2, ("asked for", words.nearly_best(explanation)))
    if explanation.kind == "absolute":
        entries.append(("rival plans met", str(explanation.cuts)))
    if explanation.separation is not None:
        entries.append(("separation of neighbours", f"{explanation.separation:g}"))
    if explanation.note:
        entries.append(("note", explanation.note))
    said = (
        "The answer was computed once more from the fitted model and the decision problem themselves before it was "
        "returned."
    )
    versions = material_of(explanation).versions.items()
    return join(
        tag("p", words.certainty(explanation)),
        tag("p", said) if explanation.context is not None else Markup(""),
        _table([], [[name, text] for name, text in entries]),
        tag("details", tag("summary", "Versions"), _table([], [[k, v] for k, v in versions])),
        tag("p", now, class_="wh-soft") if now else Markup(""),
    )


def _in_unit(title: str, unit: str) -> str:
    """A heading, with the unit of what stands under it."""
    return f"{title} ({unit})" if unit else title


def _table(
    head: list[str], rows: list[list[str]], numbers: set[int] | frozenset[int] = frozenset(), names: bool = False
) -> Markup:
    def cell(kind: str, column: int, text: str) -> Markup:
        return tag(kind, text, class_="wh-n" if column in numbers else None)

    top = tag("thead", tag("tr", *(cell("th", j, text) for j, text in enumerate(head)))) if head else Markup("")
    body = (tag("tr", *(cell("td", j, text) for j, text in enumerate(row))) for row in rows)
    # Tables of texts may break their lines, those with numbers scroll sideways on a narrow screen, names apart.
    wraps = "wh-scroll" if numbers else "wh-scroll wh-wide"
    return tag("div", tag("table", top, tag("tbody", *body)), class_=f"{wraps} wh-names" if names else wraps)
