"""The two plans as a picture: a route on its map, quantities as bars, anything else as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whence.report.markup import Markup, join, tag
from whence.report.material import Plans, material_of
from whence.report.numbers import plain
from whence.report.svg import Bar, bars, route_map

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["most_different", "picture"]

#: Most parts of a plan that are drawn as bars; those on which the plans differ most come first.
DRAWN = 24


def picture(explanation: Explanation) -> Markup:
    """The decision and the alternative, drawn."""
    plans = material_of(explanation).plans
    if plans.city is not None:
        said = plans.city.said
        drawn = tag("figure", route_map(plans.city, said), tag("figcaption", said), class_="wh-map")
        return join(_legend("line"), drawn)
    if plans.form == "quantities":
        shown, rest = most_different(plans)
        if shown.size:
            return _quantities(plans, shown, rest)
    return tag(
        "div",
        *(
            tag("div", tag("b", heading), tag("p", text), class_=f"wh-plan wh-{plan}")
            for plan, heading, text in (
                ("d", "Decision", explanation.decision_text or str(explanation.decision)),
                ("a", "Your plan", explanation.alternative_text or str(explanation.alternative)),
            )
        ),
        class_="wh-columns",
    )


def most_different(plans: Plans, most: int = DRAWN) -> tuple[NDArray[np.int64], int]:
    """Which quantities to draw, and how many are left out: not those that are 0 in both plans."""
    first, second = plans.decision, plans.alternative
    used = np.flatnonzero((np.abs(first) > 1e-9) | (np.abs(second) > 1e-9))
    shown = np.sort(used[np.argsort(-np.abs(first - second)[used], kind="stable")][:most])
    return shown, int(used.size - shown.size)


def _quantities(plans: Plans, shown: NDArray[np.int64], rest: int) -> Markup:
    first, second = plans.decision, plans.alternative
    groups = [
        (
            plans.parts[j],
            [Bar("d", "", float(first[j]), plain(first[j], 4)), _changed(float(first[j]), float(second[j]))],
        )
        for j in shown
    ]
    half = (len(groups) + 1) // 2 if len(groups) > 3 else len(groups)
    halves = [(groups[:half], groups[half:]), (groups[half:], groups[:half])]
    charts = [tag("figure", bars(part, "Quantities of both plans", other)) for part, other in halves if part]
    note = tag("p", f"{rest} more parts, on which the plans differ less, are not drawn.") if rest else Markup("")
    return join(_legend("bar"), tag("div", *charts, class_="wh-columns"), note)


def _changed(first: float, second: float) -> Bar:
    """The alternative's bar, its number with the difference from the decision."""
    difference = second - first
    text = plain(second, 4)
    if abs(difference) > 1e-9:
        text += f" ({'+' if difference > 0 else '−'}{plain(abs(difference), 3)})"
    return Bar("a", "", second, text)


def _legend(shape: str) -> Markup:
    entries = (
        tag("span", tag("i", "", class_=f"wh-key wh-key-{shape} wh-{plan}"), text)
        for plan, text in (("d", "decision"), ("a", "your plan"))
    )
    return tag("p", *entries, class_="wh-legend")
