"""An explanation in plain sentences, in the user's own names and units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.report.numbers import aligned, at_least, beyond, duration, plain, share, value, with_unit

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = [
    "certainty",
    "changes",
    "costs",
    "costs_shown",
    "plans",
    "remedy",
    "risk_measured",
    "risk_named",
    "sentences",
    "staying",
    "verdict",
]

#: Up to so many changes are told in one sentence, more of them one a line.
IN_A_SENTENCE = 3
#: Most changes that get a line; of more, the smallest are only counted.
LISTED = 12
#: Up to so many features that stay are named.
NAMED = 5
#: A plan's text may be this long; of a longer one the middle is left out.
LONG = 400


def sentences(explanation: Explanation) -> str:
    """The explanation as text: both plans, the verdict, what stays, the costs, and how sure it is.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[10.0], [11.0], [20.0], [21.0]])
    >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=1), wh.KNNWeights(k=2)).fit(X, Y)
    >>> print(policy.explain([0.2], instead=[10.0]))
    Decision: y0 10.
    Your plan: y0 10.
    Nothing has to change: your plan is as good as the decision in the context as it is.
    Expected cost: 0.5 for the decision, 0.5 for your plan.
    It holds already, so there was nothing to search for.
    """
    parts = [plans(explanation), _joined(verdict(explanation), staying(explanation))]
    parts += [costs(explanation), certainty(explanation), remedy(explanation)]
    return "\n".join(part for part in parts if part)


def plans(explanation: Explanation) -> str:
    """Both plans, a line each."""
    decision = _shortened(explanation.decision_text or str(explanation.decision))
    alternative = _shortened(explanation.alternative_text or str(explanation.alternative))
    return f"Decision: {decision}.\nYour plan: {alternative}."


def verdict(explanation: Explanation) -> str:
    """The smallest change of context that turns the verdict, or why there is none."""
    absolute, nearly = explanation.kind == "absolute", nearly_best(explanation)
    if explanation.status == "already":
        if nearly:
            return f"Nothing has to change: your plan is {nearly} in the context as it is."
        if absolute:
            return "Nothing has to change: no plan is better than yours in the context as it is."
        return f"Nothing has to change: your plan is {_compared(explanation)} the decision in the context as it is."
    if explanation.context is None:
        return _without_context(explanation)
    would = f"Your plan would have been {nearly}" if nearly else "No plan would have been better than yours"
    if not absolute:
        would = f"Your plan would have been {_compared(explanation)} the decision"
    told = changes(explanation)
    if len(told) <= IN_A_SENTENCE:
        return f"{would} if {_listed([f'{name} were {to} rather than {was}' for name, was, to in told])}."
    largest = np.argsort(-explanation.changes["distance"].to_numpy(dtype=np.float64), kind="stable")[:LISTED]
    listed = [told[i] for i in sorted(largest)]
    lines = [f"  - {name}: {to} rather than {was}" for name, was, to in listed]
    if len(told) > len(listed):
        lines.append(f"  - and {len(told) - len(listed)} more, none of them larger")
    return f"{would} if these {len(told)} things had been different together:\n" + "\n".join(lines) + "\n"


def nearly_best(explanation: Explanation) -> str:
    """ "within 2 % of the best" where a share of the best plan's cost was allowed for, otherwise nothing."""
    return f"within {plain(100.0 * explanation.within, 4)} % of the best" if explanation.within else ""


def changes(explanation: Explanation) -> list[tuple[str, str, str]]:
    """Every feature that changes: its name, and its values before and after, as they are written."""
    told = []
    for row in explanation.changes.to_dict("records"):
        name, was, to = str(row["feature"]), row["from"], row["to"]
        kind, unit = explanation.kinds.get(name, ""), explanation.units.get(name, "")
        before, after = value(was, kind, unit), value(to, kind, unit)
        if kind in ("", "continuous") and _is_float(to) and _is_float(was):
            shown = beyond(float(to), float(was), explanation.room.get(name))
            after = f"{shown} {unit}".strip()
        if before == after:
            before = f"{plain(float(was), 15)} {unit}".strip() if _is_float(was) else repr(was)
        told.append((name, before, after))
    return told


def staying(explanation: Explanation) -> str:
    """What does not have to change."""
    if explanation.context is None or explanation.status == "already":
        return ""
    changed = set(map(str, explanation.changes["feature"]))
    names = [name for name in explanation.kinds or map(str, explanation.initial.index) if name not in changed]
    if not names:
        return ""
    if len(names) > NAMED:
        return f"The other {len(names)} features stay as they are."
    stay = "stays as it is" if len(names) == 1 else "stay as they are"
    return f"Nothing else has to change: {_listed([_named(explanation, name) for name in names])} {stay}."


def costs(explanation: Explanation) -> str:
    """What both plans cost in the context as it is and in the changed one."""
    risk = risk_named(explanation.risk)
    unit = explanation.cost_unit
    shown = [(with_unit(decision, unit), with_unit(plan, unit)) for decision, plan in costs_shown(explanation)]
    before = "{} for the decision, {} for your plan".format(*shown[0])
    if len(shown) == 1:
        return f"{risk}: {before}." + (_allowance(explanation, shown[0]) if explanation.status == "already" else "")
    after = "{} for the decision, {} for your plan".format(*shown[1])
    return f"{risk}, as it is: {before}. In the changed context: {after}." + _allowance(explanation, shown[1])


def _allowance(explanation: Explanation, shown: tuple[str, str]) -> str:
    """That the plan counts as equal, where it is seen to cost more within the tolerance."""
    costs = explanation.cost_after or explanation.cost_before
    if shown[0] == shown[1] or not 0 < costs.alternative - costs.decision <= explanation.tolerance:
        return ""
    allowed = with_unit(plain(explanation.tolerance, 3), explanation.cost_unit)
    return f" That counts as equal: within the tolerance of {allowed}."


def risk_named(risk: str) -> str:
    """What is minimised, with the meaning of CVaR for who has forgotten it.

    Examples
    --------
    >>> risk_named("expected cost"), risk_named("CVaR at 0.8")
    ('Expected cost', 'CVaR at 0.8 (mean of the worst 20 %)')
    """
    alpha = risk.removeprefix("CVaR at ")
    try:
        tail = 1.0 - float(alpha)
    except ValueError:
        return risk[:1].upper() + risk[1:]
    return f"{risk} (mean of the worst {share(tail)})"


def risk_measured(risk: str, unit: str = "") -> str:
    """What is minimised and in which unit, as an axis names it.

    Examples
    --------
    >>> risk_measured("expected cost", "€"), risk_measured("CVaR at 0.8", "min")
    ('Expected cost (€)', 'CVaR at 0.8 (mean of the worst 20 %, in min)')
    """
    named = risk_named(risk)
    if not unit:
        return named
    return f"{named[:-1]}, in {unit})" if named.endswith(")") else f"{named} ({unit})"


def costs_shown(explanation: Explanation) -> list[tuple[str, str]]:
    """Costs of decision and alternative before and, where there is another context, after, written without a unit."""
    pairs = [tuple(explanation.cost_before)]
    if explanation.cost_after is not None and explanation.status != "already":
        pairs.append(tuple(explanation.cost_after))
    return aligned([(float(a), float(b)) for a, b in pairs], explanation.tolerance)


def certainty(explanation: Explanation) -> str:
    """How sure the answer is."""
    distance, bound = plain(explanation.distance, 4), at_least(explanation.bound, 3)
    spent = duration(explanation.seconds)
    if explanation.status == "already":
        return "It holds already, so there was nothing to search for."
    if explanation.status == "none":
        said = "Proved: no such context exists."
    elif explanation.status == "optimal" and explanation.gap > 0.0:
        said = f"Near enough for the gap that was allowed, at distance {distance}; none nearer than {bound} exists."
    elif explanation.status == "optimal":
        said = f"Proved nearest, at distance {distance}: no nearer context would do."
    else:
        when = f"within {spent}" if explanation.status == "time_limit" else f"before the search was stopped at {spent}"
        open_ = "whether there is a nearer one is open" if explanation.found else "whether there is one is open"
        found = f"Nearest found {when}, at distance {distance}" if explanation.found else f"None found {when}"
        if explanation.bound <= 0.0:
            said = f"{found}; {open_}."
        elif explanation.found:
            said = f"{found}; none nearer than {bound} exists."
        else:
            said = f"{found}; if there is one, it is no nearer than {bound}."
    if explanation.separation is not None and explanation.context is not None:
        said += f" The nearest neighbours there are set apart from all others by at least {explanation.separation:g}."
    return said


def _without_context(explanation: Explanation) -> str:
    nearly = nearly_best(explanation)
    if explanation.status != "none":
        better = "no plan would have been better than yours" if explanation.kind == "absolute" else ""
        better = f"your plan would have been {nearly}" if nearly else better
        return f"No context was found in which {better or 'your plan would have been as good as the decision'}."
    where = "Within the ranges of the history"
    if explanation.unrestricted is not None:
        where += " and your restrictions"
    said = f"{where}, there is no context in which your plan would have been as good as the decision."
    if explanation.kind == "absolute":
        said = f"{where}, some other plan is better than yours in every context."
    if nearly:
        said = f"{where}, there is no context in which your plan would have been {nearly}."
    return f"{said} The reason: {explanation.note}." if explanation.note else said


def remedy(explanation: Explanation) -> str:
    """Which restrictions stand in the way, and what would be possible without them."""
    free = explanation.unrestricted
    if explanation.status != "none" or free is None:
        return ""
    if free.context is not None:
        names = _listed(explanation.blocking)
        what = "restrictions stand" if len(explanation.blocking) > 1 else "restriction stands"
        blocked = f"Your {what} in the way: {names}. " if names else ""
        found = f"Without {'them' if len(explanation.blocking) > 1 else 'it'}: " if names else "Without restrictions: "
        return _joined(f"{blocked}{found}{verdict(free)}", certainty(free))
    if free.status == "none":
        return "It would not help to lift your restrictions: there is none without them either."
    return f"Whether lifting your restrictions would help is open. {certainty(free)}"


def _compared(explanation: Explanation) -> str:
    """ "better than" where the changed context says so by more than the tolerance, otherwise "as good as"."""
    costs = explanation.cost_after or explanation.cost_before
    return "better than" if costs.decision - costs.alternative > explanation.tolerance else "as good as"


def _named(explanation: Explanation, name: str) -> str:
    if name not in explanation.initial.index:
        return name
    kind, unit = explanation.kinds.get(name, ""), explanation.units.get(name, "")
    return f"{name} ({value(explanation.initial[name], kind, unit)})"


def _joined(text: str, following: str) -> str:
    """Two texts on one line, or on two where the first one ends its line."""
    return f"{text}{following}".strip("\n") if text.endswith("\n") else f"{text} {following}".strip()


def _shortened(text: str) -> str:
    """A plan's text with its middle left out where it is very long: the ends of a route say most."""
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


def _listed(items: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def _is_float(raw: Any) -> bool:
    return isinstance(raw, int | float | np.number) and not isinstance(raw, bool | np.bool_)
