"""The map of two features: where each plan wins, where the decision was made, and the nearest explanations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError, InputTypeError
from whence.features import Binary, Categorical, Date
from whence.plot.canvas import INK, SOFT, axes_for, fitting, report_in, titled
from whence.report.document import scalar
from whence.report.html import ALTERNATIVE, DECISION, THEN
from whence.report.numbers import value
from whence.report.question_words import other_plan, rule_claim
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.explain.explanation import Explanation
    from whence.policy import Policy
    from whence.report.document import RegionCondition

#: Contexts whose weights are held at one time.
AT_ONCE = 512
#: The decision is cheaper; the alternative is cheaper; no plan at all is better than the alternative.
COLOURS = (f"{DECISION}40", f"{ALTERNATIVE}40", f"{ALTERNATIVE}99")


@dataclass(frozen=True)
class Side:
    """One feature as an axis: the values at which the policy is asked, and where they are drawn."""

    name: str
    values: list[Any]
    at: Floats
    edges: Floats
    named: bool

    def place(self, found: Any) -> float:
        """Return where a value is drawn."""
        return float(self.values.index(found)) if self.named else float(found)


def plane(
    policy: Policy,
    why: Explanation,
    features: tuple[str, str],
    others: Sequence[Explanation] = (),
    *,
    resolution: int = 60,
    ax: Axes | None = None,
) -> Axes:
    """Draw where each plan wins over two features, all other features being as in the initial context.

    The policy's own weights are asked on a grid, for both plans of `why`. Where an explanation among `why` and `others`
    is an absolute one, the map also shows where no plan at all is better than the alternative. Where one of them knows
    its rule (``why.with_rule()``), the box of that is hatched.

    Parameters
    ----------
    policy : Policy
        The fitted policy that gave the explanation.
    features : pair of str
        The features along the two axes: numbers, categories or switches.
    others : sequence of Explanation
        Further explanations to mark, such as the absolute one of the same question.
    resolution : int
        Grid points along a feature that is a number.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((40, 2))
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=3)).fit(X, 10 * X[:, :1])
    >>> ax = plane(policy, policy.explain([0.2, 0.5], instead=[7.0]), ("x0", "x1"), resolution=12)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x0', 'x1')
    """
    if not hasattr(policy, "explain_many"):
        raise InputTypeError(f"'policy' must be a Policy. Got {policy!r} instead.")
    marked = [why, *others]
    for one in marked:
        report_in(one, "why" if one is why else "others")
    names = list(map(str, features)) if isinstance(features, Iterable) and not isinstance(features, str) else []
    if len(names) != 2 or names[0] == names[1] or not {*names} <= {*policy.schema_.names}:
        known = ", ".join(map(repr, policy.schema_.names))
        raise InputError(f"'features' must name two different features among {known}. Got {features!r} instead.")
    across, up = (_side(policy, name, marked, resolution) for name in names)
    winners = _winners(policy, why, across, up, any(one.kind == "absolute" for one in marked))
    ax = axes_for(ax, (6.8, 5.2))
    from matplotlib.colors import ListedColormap

    ax.pcolormesh(across.edges, up.edges, winners, cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=2.5, zorder=1)
    if not across.named and not up.named:
        ax.contour(across.at, up.at, winners, levels=[0.5, 1.5], colors=SOFT, linewidths=0.7, zorder=2)
    for one in marked:
        draw_rule(ax, one, (across, up))
    _marks(ax, marked, (across, up))
    for side, set_label, set_ticks in ((across, ax.set_xlabel, ax.set_xticks), (up, ax.set_ylabel, ax.set_yticks)):
        unit = policy.schema_.unit(side.name)
        set_label(fitting(f"{side.name} ({unit})" if unit else side.name, 40))
        if side.named:
            shown = [value(v, "" if isinstance(v, str) else "binary") for v in side.values]
            set_ticks(side.at, [fitting(text, 14) for text in shown])
    _legend(ax, winners, other_plan(why.report))
    _title(ax, why, features)
    return ax


def _side(policy: Policy, name: str, marked: list[Explanation], resolution: int) -> Side:
    schema = policy.schema_
    feature = schema.kind(name)
    if isinstance(feature, Categorical) and feature.columns is not None:
        raise InputError(f"'features' must be columns of the data. The category {name!r} is held in several columns.")
    if isinstance(feature, Date):
        raise InputError(f"'features' must be numbers, categories or switches. Got {name!r}, which is a date.")
    found = [row[name] for one in marked for row in (one.initial, one.context) if row is not None]
    levels = schema.levels(name)
    if isinstance(feature, Categorical | Binary):
        levels += [level for level in dict.fromkeys(found) if level not in levels]
        at = np.arange(len(levels), dtype=np.float64)
        return Side(name, levels, at, np.arange(len(levels) + 1, dtype=np.float64) - 0.5, True)
    numbers = np.array([float(number) for number in found])
    low, high = schema.training_range(name)
    low, high = min(low, numbers.min()), max(high, numbers.max())
    wanted = np.array(levels, dtype=np.float64) if levels else np.linspace(low, high, max(int(resolution), 2))
    stepped = schema.kinds()[name] == "discrete" and not levels
    if stepped and not levels:
        wanted = np.unique(np.round(wanted))
    # The nearest contexts lie at the border between two verdicts: ask there, and a little to either side.
    near = np.zeros(1) if levels else np.array([-1.0, 0.0, 1.0]) * (1.0 if stepped else 1e-6 * (high - low))
    at = np.unique(np.concatenate([wanted, np.clip(np.add.outer(numbers, near).ravel(), low, high)]))
    middles = (at[1:] + at[:-1]) / 2
    border = 0.5 * float(np.diff(at).min(initial=1.0)) if levels or at.size == 1 else 0.0
    edges = np.concatenate([[at[0] - border], middles, [at[-1] + border]])
    return Side(name, at.tolist(), at, edges, False)


def _winners(policy: Policy, why: Explanation, across: Side, up: Side, absolute: bool) -> NDArray[np.int64]:
    """For every point of the grid: 0 the decision is cheaper, 1 the alternative, 2 no plan is better than that."""
    points = [{across.name: a, up.name: b} for b in up.values for a in across.values]
    table = pd.DataFrame([{**why.initial, **point} for point in points])
    weigher, problem = policy.weights_, policy.problem
    plans = (why.decision, why.alternative)
    # A forest gives the same weights, or the same forecast, over whole regions: each is judged once.
    known: dict[bytes, int] = {}
    found = []
    for first in range(0, len(points), AT_ONCE):
        inputs = policy._inputs(table.iloc[first : first + AT_ONCE])
        forecasts = weigher.capabilities.forecasts
        for seen in inputs if forecasts else weigher.weights(inputs):
            outcomes = weigher.outcomes(seen, policy.Y_) if forecasts else policy.Y_
            key = outcomes[:1].tobytes() if forecasts else seen.tobytes()
            if key not in known:
                weights = weigher.at(seen) if forecasts else seen
                costs = [problem.costs(plan, outcomes) for plan in plans]
                known[key] = _winner(policy, why, weights, costs, absolute, outcomes)
            found.append(known[key])
    return np.array(found, dtype=np.int64).reshape(len(up.values), len(across.values))


def _winner(
    policy: Policy, why: Explanation, weights: Floats, costs: list[Floats], absolute: bool, outcomes: Floats
) -> int:
    risk = policy.risk_
    decision, alternative = (risk.of(cost, weights) for cost in costs)
    if alternative > decision + why.tolerance:
        return 0
    if not absolute:
        return 1
    best = policy.problem.solve(outcomes, weights, risk)
    least = (1.0 + why.within) * risk.of(policy.problem.costs(best, outcomes), weights) + why.allowance
    return 2 if alternative <= least + why.tolerance else 1


def _marks(ax: Axes, marked: list[Explanation], sides: tuple[Side, Side]) -> None:
    """The initial context, and the way from it to every explanation."""
    over: dict[str, Any] = {"zorder": 6, "linestyle": "", "clip_on": False}
    start = (sides[0].place(marked[0].initial[sides[0].name]), sides[1].place(marked[0].initial[sides[1].name]))
    for one in marked:
        if one.context is None or one.status == "already":
            continue
        end = (sides[0].place(one.context[sides[0].name]), sides[1].place(one.context[sides[1].name]))
        further = [str(name) for name in one.changes["feature"] if name not in {side.name for side in sides}]
        yours = "the other plan better" if one.among else "your plan better"
        said = f"nearest context, {'no plan better' if one.kind == 'absolute' else yours}"
        if further:
            said += f"; {fitting(', '.join(further), 30, 1)} changes too"
        if end != start:
            arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.5, "shrinkA": 5, "shrinkB": 5}
            ax.annotate("", end, start, arrowprops=arrow, zorder=4, annotation_clip=False)
        marker, size = ("D", 8) if one.kind == "absolute" else ("*", 14)
        fill = "white" if further else INK
        ax.plot(*end, marker, markersize=size, markerfacecolor=fill, markeredgecolor=INK, label=said, **over)
    look: dict[str, Any] = {"markersize": 9, "markerfacecolor": "white", "markeredgecolor": INK, "markeredgewidth": 2}
    ax.plot(*start, "o", label="the context as it is", **look, **over)


def _legend(ax: Axes, winners: NDArray[np.int64], plan: str) -> None:
    from matplotlib.patches import Patch

    said = ["the decision is cheaper", f"{plan} is cheaper", "no plan is better than yours"]
    if plan != "your plan":
        said[2] = f"no plan is better than {plan}"
    if (winners == 2).any():
        said[1] = f"{plan} beats the decision only"
    regions = [Patch(facecolor=COLOURS[k], edgecolor=SOFT, label=said[k]) for k in np.unique(winners)]
    handles = [*regions, *ax.get_legend_handles_labels()[0]]
    look = {"ncols": 2, "frameon": False, "fontsize": "small", "labelcolor": SOFT}
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.14), **look)


def _title(ax: Axes, why: Explanation, features: tuple[str, str]) -> None:
    rest = [
        f"{name} {value(entry, why.kinds.get(str(name), ''), why.units.get(str(name), ''))}"
        for name, entry in why.initial.items()
        if str(name) not in features
    ]
    titled(ax, "Where each plan wins", pad=18 if rest else 6)
    if rest:
        said = fitting(f"as it is: {', '.join(rest)}", 78, 1)
        ax.text(0.0, 1.02, said, transform=ax.transAxes, fontsize="small", color=SOFT)


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


def _holds(condition: RegionCondition) -> bool:
    """Return whether a feature keeps to its condition in the initial context."""
    if condition.values is not None:
        return condition.was in condition.values
    low = -float("inf") if condition.low is None else condition.low
    high = float("inf") if condition.high is None else condition.high
    return isinstance(condition.was, int | float) and low <= condition.was <= high


def _parts(side: Axis, condition: RegionCondition | None) -> list[tuple[float, float]]:
    """Return from where to where the box reaches along one side: in one piece, or a piece for every value allowed."""
    first, last = float(side.edges[0]), float(side.edges[-1])
    if condition is None:
        return [(first, last)]
    if condition.values is not None:
        return [(i - 0.5, i + 0.5) for i, one in enumerate(side.values) if scalar(one) in condition.values]
    low, high = condition.room or (first, last)
    low, high = low if condition.low is None else condition.low, high if condition.high is None else condition.high
    return [(max(first, low), min(last, high))]
