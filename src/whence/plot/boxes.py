"""A rule on the map of two features: the box in which an explanation stays true."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Protocol

from whence.aliases import Floats
from whence.plot.canvas import fitting
from whence.report.asked_words import rule_claim
from whence.report.colours import THEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.explain.explanation import Explanation
    from whence.explain.rule import Condition

__all__ = ["draw_rule"]

#: Letters in a line of a legend.
LINE = 34


class Axis(Protocol):
    """One feature as an axis of a map."""

    @property
    def name(self) -> str:
        """Of the feature."""

    @property
    def values(self) -> list[Any]:
        """The values that are drawn."""

    @property
    def edges(self) -> Floats:
        """Where their cells begin and end."""

    @property
    def named(self) -> bool:
        """Whether its values are names, each with a place of its own."""


def draw_rule(ax: Axes, why: Explanation, sides: Sequence[Axis]) -> None:
    """The box of the explanation's rule, where that is known and worth telling, across both features.

    The map shows all other features as they are. Where the rule asks for something else of them, the box is dashed,
    and the legend says what.
    """
    rule = why.rule
    if rule is None or not rule.short:
        return
    asked = {one.feature: one for one in rule.conditions}
    others = [one for name, one in asked.items() if name not in {side.name for side in sides} and not _holds(one)]
    said = "\n".join(wrap(f"rule: {rule_claim(why).removesuffix(' than yours')}", LINE))
    if others:
        said += f" where {fitting(' and '.join(one.text for one in others), 34, 1)}"
    look: dict[str, Any] = {"fill": False, "edgecolor": THEN, "hatch": "///", "linewidth": 1.6, "zorder": 3}
    look |= {"linestyle": "--" if others else "-"}
    across, up = (_parts(side, asked.get(side.name)) for side in sides)
    from matplotlib.patches import Rectangle

    for left, right in across:
        for bottom, top in up:
            ax.add_patch(Rectangle((left, bottom), right - left, top - bottom, label=said, **look))
            said = "_"


def _holds(condition: Condition) -> bool:
    """Whether a feature keeps to its condition in the initial context."""
    if condition.values is not None:
        return condition.was in condition.values
    low = -float("inf") if condition.low is None else condition.low
    high = float("inf") if condition.high is None else condition.high
    return low <= float(condition.was) <= high


def _parts(side: Axis, condition: Condition | None) -> list[tuple[float, float]]:
    """From where to where the box reaches along one side: in one piece, or a piece for every value allowed."""
    first, last = float(side.edges[0]), float(side.edges[-1])
    if condition is None:
        return [(first, last)]
    if condition.values is not None:
        return [(i - 0.5, i + 0.5) for i, one in enumerate(side.values) if one in condition.values]
    low, high = condition.room or (first, last)
    low, high = low if condition.low is None else condition.low, high if condition.high is None else condition.high
    return [(max(first, low), min(last, high))]
