"""A report in plain sentences, in the user's own names and units."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from whence.report.document import (
    Change,
    ForecastEntry,
    QualityEntry,
    RegionCondition,
    Report,
    Shown,
    ShownChange,
    ShownRange,
    ShownValue,
)
from whence.report.numbers import aligned, beyond, exactly, plain, share, value, with_unit
from whence.report.observations import speaking_of
from whence.report.plan_drawings import routes_in_words
from whence.report.question_words import (
    certainty,
    certificate,
    cheaper_by,
    few_changes,
    heading,
    lifted,
    nearly_best,
    other_plan,
    set_already,
    set_none,
    set_open,
    set_would,
    surely,
    usual_enough,
)
from whence.report.reliance import (
    agreed_in_words,
    gain_in_words,
    is_reliable,
    reliance_in_words,
    rule_in_words,
    usual_in_words,
    where_to_rely,
)
from whence.util.aliases import Floats
from whence.util.text import joined, listed

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

#: Up to this many changes are told in one sentence; more get one line each.
IN_A_SENTENCE = 3
#: Most changes that get a line; beyond that, the smallest are only counted.
LISTED = 12
#: Up to this many features that stay are named.
NAMED = 5
#: Lines are not broken narrower than this, whatever the terminal says of itself.
NARROWEST = 30
#: Plans that cost over this share more than the best are said to be far from it.
FAR = 0.05
#: A plan's text may be this long; of a longer one the middle is left out.
LONG = 400


def shown_of(report: Report) -> Shown:
    """Return numbers and sentences of a report, from its other entries."""
    changes = changes_shown(report.changes, report.kinds, report.units, report.room)
    before, after = _costs_shown(report)
    unit = report.cost_unit
    priced = [[with_unit(text, unit) for text in texts] for texts in (before, after)]
    cost_headings = [_in_unit(title, unit) for title in ("cost of decision", f"cost of {other_plan(report)}")]
    return Shown(
        axis=_in_unit(report.risk_words, unit),
        verdict=_verdict(report, changes),
        poor=_poor(report),
        staying=_staying(report),
        exact=_to_the_last_digit(report, changes),
        costs=_costs(report, *priced),
        there=_there(report, after),
        certainty=certainty(report),
        remedy=_remedy(report),
        reliance=reliance_in_words(report),
        usual=usual_in_words(report),
        rule=rule_in_words(report),
        where="" if report.reliance is None else where_to_rely(report),
        reliable=is_reliable(report),
        agreed=agreed_in_words(report),
        gain=gain_in_words(report),
        ranges=ranges_of(report),
        speaking=speaking_of(report, cost_headings),
        quality="" if report.quality is None else quality_in_words(report.quality, report.risk_words, unit),
        forecast=forecast_in_words(report),
        changes=changes,
        cost_before=before,
        cost_after=after,
        priced_before=priced[0],
        priced_after=priced[1],
        cost_headings=cost_headings,
        outcome_axis=_in_unit(
            "cost under past observations"
            if report.forecast is None
            else "cost under the forecast plus past residuals",
            unit,
        ),
        routes="" if report.plans.map is None else routes_in_words(report.plans.map, other_plan(report)),
        certificate=certificate(report),
    )


def sentences(report: Report, shown: Shown) -> str:
    """Return the report as text: both plans, the verdict, what stays, the costs, and how sure it is."""
    plans = (report.plans.decision_text, report.plans.alternative_text)
    named = f"Decision: {{}}.\n{heading(report)}: {{}}.\n"
    return named.format(*map(_shortened, plans)) + answer(shown)


def answer(shown: Shown) -> str:
    """Return what is said besides the plans: the verdict, what stays, the costs, and how sure it is."""
    parts = [joined(shown.verdict, shown.staying), shown.poor, shown.exact, shown.forecast, shown.costs, shown.there]
    parts += [shown.certainty, shown.remedy]
    parts += [shown.reliance, shown.usual, shown.rule, shown.quality]
    return "\n".join(part for part in parts if part)


def wrapped(text: str) -> str:
    """Return `text` with its lines broken between words where it is printed on a terminal; as it is everywhere else."""
    if not (sys.stdout is not None and sys.stdout.isatty()):
        return text
    width = max(NARROWEST, shutil.get_terminal_size().columns)
    lines = []
    for line in text.split("\n"):
        indent = "    " if line.startswith("  - ") else ""
        broken = textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
        )
        lines += broken or [""]
    return "\n".join(lines)


def _in_unit(title: str, unit: str) -> str:
    """Return a heading with the unit of what stands under it, also where it ends in a remark."""
    if not unit:
        return title
    return f"{title[:-1]}, in {unit})" if title.endswith(")") else f"{title} ({unit})"


def changes_shown(
    changes: Sequence[Change],
    kinds: Mapping[str, str],
    units: Mapping[str, str],
    room: Mapping[str, Sequence[float]],
) -> list[ShownChange]:
    """Return every feature that changes, its values before and after as they are written.

    A number that changes is rounded away from where it started as far as the weights stay the same, so that it may be
    typed in again; where that is not known, and before the change, it has all its digits or is called "about".
    """
    shown = []
    for change in changes:
        name, was, to = change.feature, change.from_, change.to
        kind, unit = kinds.get(name, ""), units.get(name, "")
        before, after, typed, exact = _written(was, kind, unit), value(to, kind, unit), to, ""
        if _is_number(to) and kind not in ("binary", "categorical"):
            start, ends = (was, room.get(name)) if kind in ("", "continuous") and _is_number(was) else (to, None)
            number = beyond(float(to), float(start), None if ends is None else (ends[0], ends[1]))
            after = with_unit(number, unit)
            typed = to if number.startswith("about ") else float(number)
            if number.startswith("about ") or typed != to:
                exact = with_unit(exactly(float(to)), unit)
        if before == after:
            before = with_unit(plain(float(was), 15), unit) if _is_number(was) else repr(was)
        shown.append(
            ShownChange(
                feature=name, from_=before, to=after, value=typed, distance=plain(change.distance, 3), exact=exact
            )
        )
    return shown


def changes_in_words(report: Report) -> str:
    """Return what changes, in one line: "rain on rather than off and temperature 21 °C rather than 14 °C"."""
    shown = changes_shown(report.changes, report.kinds, report.units, report.room)
    return listed([f"{one.feature} {one.to} rather than {one.from_}" for one in shown])


def _verdict(report: Report, changes: Sequence[ShownChange]) -> str:
    """Return the smallest change of context that turns the verdict, or why there is none."""
    absolute, nearly = report.kind == "absolute", nearly_best(report)
    if report.status == "already":
        if report.among:
            return set_already(report)
        if nearly:
            return f"Nothing has to change: your plan is {nearly} in the context as it is."
        if absolute:
            return "Nothing has to change: no plan is better than yours in the context as it is."
        return f"Nothing has to change: your plan is {_compared(report)} the decision in the context as it is."
    if report.context is None:
        return _without_context(report)
    would = f"Your plan would have been {nearly}" if nearly else "No plan would have been better than yours"
    if report.among:
        would = set_would(report)
    elif not absolute:
        would = f"Your plan would have been {_compared(report)} the decision"
    if len(changes) <= IN_A_SENTENCE:
        return f"{would} if {listed([f'{one.feature} were {one.to} rather than {one.from_}' for one in changes])}."
    largest = [changes[i] for i in _largest(report)]
    lines = [f"  - {one.feature}: {one.to} rather than {one.from_}" for one in largest]
    if len(changes) > len(largest):
        lines.append(f"  - and {len(changes) - len(largest)} more, none of them larger")
    return f"{would} if these {len(changes)} things had been different together:\n" + "\n".join(lines) + "\n"


def _to_the_last_digit(report: Report, changes: Sequence[ShownChange]) -> str:
    """Return the numbers that were rounded in the sentence before, as ``why.context`` holds them."""
    if report.context is None or report.status == "already":
        return ""
    exact = [f"{changes[i].feature} {changes[i].exact}" for i in _largest(report) if changes[i].exact]
    return f"To the last digit, the nearest context has {listed(exact)}." if exact else ""


def _staying(report: Report) -> str:
    """Return what does not have to change."""
    if report.context is None or report.status == "already":
        return ""
    changed = {change.feature for change in report.changes}
    names = [name for name in report.kinds or report.initial if name not in changed]
    if not names:
        return ""
    if len(names) > NAMED:
        return f"The other {len(names)} features stay as they are."
    stay = "stays as it is" if len(names) == 1 else "stay as they are"
    return f"Nothing else has to change: {listed([_named(report, name) for name in names])} {stay}."


def _costs_shown(report: Report) -> tuple[list[str], list[str]]:
    """Return costs of decision and alternative before and, in another context, after, written without a unit."""
    pairs = [report.cost_before]
    if report.cost_after is not None and report.status != "already":
        pairs.append(report.cost_after)
    texts = [list(pair) for pair in aligned([(pair.decision, pair.alternative) for pair in pairs], report.tolerance)]
    return texts[0], texts[1] if len(texts) > 1 else []


def _costs(report: Report, before: list[str], after: list[str]) -> str:
    """Return what both plans cost in the context as it is and in the changed one."""
    risk, said = report.risk_words, f"{{}} for the decision, {{}} for {other_plan(report)}"
    first, *second = (said.format(*pair) for pair in (before, after) if pair)
    if not second:
        return f"{risk}: {first}." + (_allowance(report, before) if report.status == "already" else "")
    return f"{risk}, as it is: {first}. In the changed context: {second[0]}." + _allowance(report, after)


def above_best(report: Report) -> float | None:
    """Return by which share the alternative costs more than the policy's own plan in the context found.

    0 where it is no more than the tolerance; None where there is no such context, or a share means nothing.
    """
    costs = report.cost_after
    if costs is None or costs.best is None or report.status == "already":
        return None
    over = costs.alternative - costs.best
    return 0.0 if over <= report.tolerance else over / costs.best if costs.best > 0.0 else None


def _poor(report: Report) -> str:
    """Return that neither plan is good in the context found, and what to ask instead."""
    over = above_best(report)
    if report.kind == "absolute" or over is None or over <= FAR:
        return ""
    plan = other_plan(report)
    return (
        f"But neither plan is good there: both cost over {plain(100.0 * FAR)} % more than the best one. The absolute "
        f"question asks where {plan} would be the best."
    )


def _there(report: Report, shown: Sequence[str]) -> str:
    """Return what the policy itself would plan in the context found, where costs are `shown` like these."""
    costs, plan = report.cost_after, other_plan(report)
    if costs is None or costs.best is None or report.status == "already" or not report.plans.after_text:
        return ""
    over, share = costs.alternative - costs.best, above_best(report)
    if over <= report.tolerance:
        return "" if report.kind == "absolute" or report.among else "There the policy itself would plan nothing better."
    more = with_unit(plain(over, 3), report.cost_unit) if share is None else f"{plain(100.0 * share, 2)} %"
    best = plain(costs.best, 9)
    if "e" not in best:
        best = f"{costs.best:.{len(shown[0].partition('.')[2])}f}"
    own, paid = _shortened(report.plans.after_text), with_unit(best, report.cost_unit)
    return f"There the policy itself would plan {own} for {paid}; {plan} is {more} above that."


def _allowance(report: Report, shown: list[str]) -> str:
    """Return that the plan counts as equal, where it is seen to cost more within the tolerance."""
    costs = report.cost_after or report.cost_before
    if shown[0] == shown[1] or not 0 < costs.alternative - costs.decision <= report.tolerance:
        return ""
    allowed = with_unit(plain(report.tolerance, 3), report.cost_unit)
    return f" That counts as equal: within the tolerance of {allowed}."


def _asked(report: Report) -> str:
    """Return what a context was looked for in which it would have been so."""
    nearly, cheaper = nearly_best(report), cheaper_by(report)
    if report.kind == "relative":
        # By standard errors it has to be better, not only as good.
        better = "better than the decision" if surely(report) else "as good as the decision"
        return f"your plan would have been {cheaper or better}{surely(report)}"
    if nearly or cheaper or surely(report):
        return (
            f"your plan would have been {' and '.join(filter(None, [nearly or 'the best', cheaper]))}{surely(report)}"
        )
    return "no plan would have been better than yours"


def _without_context(report: Report) -> str:
    if report.status != "none" and report.among:
        return set_open(report)
    if report.status != "none":
        return f"No context{usual_enough(report)} was found in which {_asked(report)}."
    where = "Within the ranges of the history"
    if report.unrestricted is not None or (report.restricted and not report.note):
        where += " and your restrictions"
    if report.max_changes is not None:
        where += f" and with {few_changes(report)}"
    said = f"{where}, there is no context{usual_enough(report)} in which {_asked(report)}."
    if report.kind == "absolute" and not (nearly_best(report) or cheaper_by(report) or surely(report)):
        said = f"{where}, some other plan is better than yours in every context{usual_enough(report)}."
    if report.among:
        said = set_none(report, where)
    return f"{said} The reason: {report.note}." if report.note else said


def _remedy(report: Report) -> str:
    """Return which restrictions stand in the way, and what would be possible without them."""
    free = report.unrestricted
    if report.status != "none" or free is None or free.shown is None:
        return ""
    said = joined(free.shown.verdict, free.shown.exact)
    return lifted(free, free.context is not None, report.blocking, said, free.shown.certainty)


def _compared(report: Report) -> str:
    """Return "better than" where the changed context says so by more than the tolerance, otherwise "as good as"."""
    if cheaper := cheaper_by(report):
        return cheaper.removesuffix(" the decision")
    costs = report.cost_after or report.cost_before
    return "better than" if costs.decision - costs.alternative > report.tolerance else "as good as"


def _named(report: Report, name: str) -> str:
    if name not in report.initial:
        return name
    return f"{name} ({_written(report.initial[name], report.kinds.get(name, ''), report.units.get(name, ''))})"


def _written(raw: Any, kind: str, unit: str) -> str:
    """Return a value with all its digits, or "about" before it where there are too many."""
    if not _is_number(raw) or kind in ("binary", "categorical"):
        return value(raw, kind, unit)
    return with_unit(beyond(float(raw), float(raw)), unit)


def _largest(report: Report) -> list[int]:
    """Return the changes that get a line, those of the largest distance, in the order of the features."""
    order = np.argsort([-change.distance for change in report.changes], kind="stable")
    largest: list[int] = sorted(order[:LISTED].tolist())
    return largest


def _shortened(text: str) -> str:
    """Return a plan's text with its middle left out where it is very long: the ends of a route say most."""
    if len(text) <= LONG:
        return text
    mark = " → " if " → " in text else ", "
    parts = text.split(mark)
    first = last = 0
    room = LONG - 20
    while first + last < len(parts):
        part = parts[first] if first <= last else parts[-1 - last]
        room -= len(part) + len(mark)
        if room < 0:
            break
        first, last = (first + 1, last) if first <= last else (first, last + 1)
    left_out = f"… ({len(parts) - first - last} more) …"
    return mark.join([*parts[:first], left_out, *parts[len(parts) - last :]]) if first else f"{text[: LONG - 1]}…"


def _is_number(raw: Any) -> TypeGuard[float]:
    return isinstance(raw, int | float) and not isinstance(raw, bool)


#: Most forecasts that are told one by one.
TOLD = 4
#: Changes of a forecast that are smaller than this share of it are not worth telling.
SAME = 1e-9


def forecast_of(explanation: Explanation) -> ForecastEntry | None:
    """Return the forecasts of an explanation; None where the policy makes none."""
    found = explanation.forecast
    if found is None:
        return None
    names = [str(name) for name in explanation.outcomes]

    def named(values: Floats) -> dict[str, float]:
        return dict(zip(names, map(float, values), strict=True))

    return ForecastEntry(
        before=named(found.before),
        after=None if found.after is None else named(found.after),
        costs_decision=None if found.decision_after is None else found.decision_after.tolist(),
        costs_alternative=None if found.alternative_after is None else found.alternative_after.tolist(),
    )


def forecast_in_words(report: Report) -> str:
    """Return what is forecast as it is and in the changed context, or only the former where there is no other."""
    found = report.forecast
    if found is None:
        return ""
    if found.after is None or report.status == "already":
        if len(found.before) > TOLD:
            return ""
        return _sentence(
            "Forecast, as it is", [f"{name} {text[0]}" for name, text in _texts(found, list(found.before))]
        )
    after = found.after
    moved = {name: abs(after[name] - value) for name, value in found.before.items()}
    changed = [name for name in moved if moved[name] > SAME * max(abs(found.before[name]), abs(after[name]))]
    changed.sort(key=lambda name: -moved[name])
    said = [f"{name} {text[1]} rather than {text[0]}" for name, text in _texts(found, changed[:TOLD])]
    if not said:
        return ""
    others = len(changed) - len(said)
    more = "" if not others else " One other changes less." if others == 1 else f" {others} others change less."
    return _sentence("Forecast there", said) + more


def _texts(found: ForecastEntry, names: list[str]) -> list[tuple[str, list[str]]]:
    after = found.after or found.before
    return [(name, list(aligned([(found.before[name], after[name])])[0])) for name in names]


def _sentence(heading: str, parts: list[str]) -> str:
    return f"{heading}: {'; '.join(parts)}."


def warns(quality: QualityEntry | None) -> bool:
    """Return whether the policy is not known to be better than rules that need no model."""
    if quality is None:
        return False
    return quality.verdict != "better" or (quality.simple is not None and quality.simple.verdict == "worse")


def quality_in_words(quality: QualityEntry, risk: str, unit: str = "", named: str = "The policy") -> str:
    """Return what its decisions cost on rows that it has not seen, and a warning where simple rules do as well.

    Examples
    --------
    >>> found = QualityEntry(
    ...     rows=200, folds=5, cost=60.0, average=100.0, foresight=0.0, prescriptiveness=0.4, spread=0.02,
    ...     verdict="better", simple=None,
    ... )
    >>> print(quality_in_words(found, "Expected cost", "€").replace(". ", ".\\n").replace(", ", ",\\n"))
    Expected cost on 200 rows it had not seen: 60 € for the policy,
    100 € for the same plan every time (sample average),
    0 € with foresight.
    The policy saves 40 % against the sample average: 0.40 ± 0.02 of the way to foresight.
    """
    costs = {name: with_unit(plain(getattr(quality, name), 4), unit) for name in ("cost", "average", "foresight")}
    called = named[:1].lower() + named[1:]
    said = (
        f"{risk} on {quality.rows:,} rows it had not seen: {costs['cost']} for {called}, {costs['average']} for the "
        f"same plan every time (sample average), {costs['foresight']} with foresight."
    )
    simple, worth = quality.simple, _worth(quality, named)
    if simple is not None and simple.verdict == "worse":
        cost = with_unit(plain(simple.cost, 4), unit)
        worth += f" Warning: the {simple.name} costs less ({cost}); try 'whence tune', or more of the past."
    return f"{said} {worth}"


def _worth(quality: QualityEntry, named: str) -> str:
    """Return what the policy saves against the sample average, or that it does not."""
    if quality.verdict == "unclear":
        return (
            f"Warning: it is not clear that {named[:1].lower() + named[1:]} beats the sample average; what it says of "
            "a context may be chance."
        )
    if quality.verdict == "worse":
        return f"Warning: {named[:1].lower() + named[1:]} does not beat the sample average; do not build on it."
    saved = share(1.0 - quality.cost / quality.average) if quality.average > 0 else ""
    saves = f"{named} saves {saved} against the sample average" if saved else f"{named} beats the sample average"
    if quality.prescriptiveness is None:
        return f"{saves}."
    spread = "" if quality.spread is None else f" ± {quality.spread:.2f}"
    return f"{saves}: {quality.prescriptiveness:.2f}{spread} of the way to foresight."


#: Most values of a category that are listed; those that the rule allows for come first.
VALUES_DRAWN = 12


def ranges_of(report: Report) -> list[ShownRange]:
    """Return the conditions of the report's rule, in the order of the sentence; none where it is not worth telling.

    A document that was written before conditions knew their room has nothing to draw.
    """
    region = report.region
    if region is None or not region.short:
        return []
    drawn = (_range(report, one) for one in region.conditions)
    return [one for one in drawn if one is not None]


def _range(report: Report, condition: RegionCondition) -> ShownRange | None:
    if condition.known is not None:
        return _values(report, condition)
    return None if condition.room is None else _line(report, condition, condition.room)


def _line(report: Report, condition: RegionCondition, room: list[float]) -> ShownRange:
    """Return a part of a line that reaches from one end of the room to the other, and at least to both contexts."""
    was, found = condition.was, condition.found
    marks = [float(one) for one in (was, found) if _is_number(one)]
    low, high = min(*room, *marks), max(*room, *marks)

    def place(number: float) -> float:
        return min(max((number - low) / (high - low), 0.0), 1.0) if high > low else 0.5

    begin = 0.0 if condition.low is None else place(condition.low)
    unit = report.units.get(condition.feature, "")
    return ShownRange(
        feature=condition.feature,
        text=condition.text,
        ends=[with_unit(plain(number, 4), unit) for number in (low, high)],
        begin=begin,
        end=1.0 if condition.high is None else max(begin, place(condition.high)),
        was=place(float(was)) if _is_number(was) else None,
        found=place(float(found)) if _is_number(found) else None,
    )


def _values(report: Report, condition: RegionCondition) -> ShownRange:
    """Return the values of a category or switch, in their order; of many, those that matter and the first others."""
    kind, unit = report.kinds.get(condition.feature, ""), report.units.get(condition.feature, "")
    allowed = condition.values or []
    every = [
        ShownValue(
            text=value(one, kind, unit), inside=one in allowed, was=one == condition.was, found=one == condition.found
        )
        for one in condition.known or []
    ]
    matter = sorted(range(len(every)), key=lambda i: not (every[i].was or every[i].found or every[i].inside))
    kept = sorted(matter[:VALUES_DRAWN])
    return ShownRange(
        feature=condition.feature,
        text=condition.text,
        values=[every[i] for i in kept],
        left_out=len(every) - len(kept),
    )
