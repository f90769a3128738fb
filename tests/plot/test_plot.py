"""Charts of explanations show what the explanation says, on the axes that they are given."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from msgspec import structs
from sklearn.base import clone

import whence as wh
from whence.errors import InputError, InputTypeError, MissingDependencyError
from whence.examples import bakery, city
from whence.report.html import ALTERNATIVE, DECISION

plt.switch_backend("Agg")

CHARTS: dict[str, Callable[..., Axes]] = {
    "changes": wh.plot.changes,
    "costs": wh.plot.costs,
    "outcomes": wh.plot.outcomes,
    "weights": wh.plot.weights,
    "plans": wh.plot.plans,
}


class Asked:
    """A fitted example, its policy and its two explanations."""

    def __init__(self, module: Any) -> None:
        example = module.load(n=150)
        self.policy = example.policy.fit(example.X, example.Y)
        self.why = self.policy.explain(example.today, example.alternative)
        self.absolute = self.policy.explain(example.today, example.alternative, kind="absolute")


@pytest.fixture(scope="module")
def baked() -> Asked:
    """The bakery: quantities, categories, a temperature."""
    return Asked(bakery)


@pytest.fixture(scope="module")
def driven() -> Asked:
    """The city: a route on a map."""
    return Asked(city)


@pytest.fixture(scope="module")
def many() -> Asked:
    """Thirty features, all of which change, and names that are long."""
    rng = np.random.default_rng(3)
    asked = Asked.__new__(Asked)
    X = pd.DataFrame(rng.random((60, 30)), columns=[f"measured at noon in the old town, no. {i}" for i in range(30)])
    Y = pd.DataFrame({f"a product with a long name $ {j}": 9 + X.sum(axis=1) for j in range(30)})
    asked.policy = wh.Policy(wh.Newsvendor(1, 2), wh.KNNWeights(k=3)).fit(X, Y)
    base = asked.policy.explain(X.iloc[0], instead=asked.policy.decide(X.iloc[1]), node_limit=5)
    rows = [(name, X.iloc[0][name], X.iloc[1][name], 0.5 - 0.01 * i) for i, name in enumerate(X.columns)]
    fields = {name: getattr(base, name) for name in base.__struct_fields__}
    fields |= {"status": "time_limit", "context": X.iloc[1], "weights_after": asked.policy.weights_at(X.iloc[1])}
    fields |= {"paid_after": base.cost_before, "distance": 12.0, "bound": 0.0}
    fields |= {"changed": rows}
    asked.why = wh.Explanation(**fields)
    return asked


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def texts(ax: Axes) -> list[str]:
    """All that is written inside a chart."""
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("light", [False, True])
def test_charts_draw_on_the_axes_given(name: str, light: bool, baked: Asked) -> None:
    """A chart is drawn on the axes given and nowhere else, also of an explanation that came from JSON."""
    why = wh.Explanation.from_dict(baked.absolute.to_dict()) if light else baked.absolute
    plt.close("all")  # what examples in docstrings have drawn in the same process
    _, (left, right) = plt.subplots(1, 2)
    assert CHARTS[name](why, ax=right) is right
    assert right.has_data()
    assert not left.has_data()
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("name", CHARTS)
def test_charts_make_a_figure_of_their_own(name: str, driven: Asked) -> None:
    """Without axes, a chart makes a figure with one set of axes and a title."""
    ax = CHARTS[name](driven.why)
    assert ax.figure.axes == [ax]
    assert ax.get_title(loc="left")


def test_changes_are_told_with_their_units(baked: Asked) -> None:
    """Each change is labelled with both values, as in the sentence, and stands at its place in the range."""
    why = baked.absolute
    ax = wh.plot.changes(why)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(why.changes["feature"])
    said = texts(ax)
    row = why.changes.set_index("feature").loc["temperature"]
    assert "7 °C" in said
    assert [text for text in said if text.endswith("°C") and float(text.split()[0]) >= row["to"]]
    assert {"Thursday", "Saturday"} <= set(said)
    low, high = baked.policy.schema_.training_range("temperature")
    dots = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    expected = [(float(row[side]) - low) / (high - low) for side in ("from", "to")]
    assert np.allclose(sorted(dots[-2:]), sorted(expected))


def test_many_long_names_do_not_overlap(many: Asked) -> None:
    """Of thirty features with long names the dozen that change most is drawn, and no label covers another."""
    for draw in (wh.plot.changes, wh.plot.plans, wh.plot.weights):
        ax = draw(many.why)
        figure = ax.figure
        figure.canvas.draw()
        labels = [label for label in ax.get_yticklabels() if label.get_text()]
        assert 2 <= len(labels) <= 16
        boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.y0)
        assert all(below.y1 <= above.y0 + 1 for below, above in pairwise(boxes))
        assert min(box.x0 for box in boxes) >= 0
    assert "18 more features change less" in wh.plot.changes(many.why).get_xlabel()
    assert "more parts" in wh.plot.plans(many.why).get_xlabel()


def test_values_that_are_close_do_not_overlap(baked: Asked) -> None:
    """The labels of a change that is tiny on its range stand beside each other."""
    X = np.linspace(0.0, 10.0, 60)[:, None]
    policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=5)).fit(X, np.where(X < 5.0, 10.0, 30.0))
    for start in (4.6, 5.9):
        plan = [30.0] if start < 5 else [10.0]
        ax = wh.plot.changes(policy.explain([start], instead=plan))
        ax.figure.canvas.draw()
        before, after = sorted((text.get_window_extent() for text in ax.texts[-2:]), key=lambda box: box.x0)
        assert before.x1 <= after.x0


def test_costs_are_those_of_the_explanation(baked: Asked) -> None:
    """Bars are as high as the costs, in the two colours of the report."""
    why = baked.why
    ax = wh.plot.costs(why)
    assert why.cost_after is not None
    heights = [bar.get_height() for bar in ax.patches]
    assert np.allclose(heights, [why.cost_before[0], why.cost_after[0], why.cost_before[1], why.cost_after[1]])
    assert ax.get_ylabel() == "Expected cost (€)"
    colours = {plt.matplotlib.colors.to_hex(bar.get_edgecolor()) for bar in ax.patches}
    assert colours == {DECISION, ALTERNATIVE}


@pytest.mark.parametrize("when", ["before", "after"])
def test_outcomes_hold_all_weight(baked: Asked, when: str) -> None:
    """The steps of either plan add up to the whole weight, and the marks are the costs."""
    why = baked.why
    ax = wh.plot.outcomes(why, when=when)
    totals = [patch.get_data().values.sum() for patch in ax.patches if hasattr(patch, "get_data")]
    assert np.allclose(totals, 100.0)
    costs = why.cost_before if when == "before" else why.cost_after
    assert costs is not None
    assert {round(float(line.get_xdata()[0]), 6) for line in ax.lines} == {round(cost, 6) for cost in costs}
    with pytest.raises(InputError, match="'when' must be 'before' or 'after'"):
        wh.plot.outcomes(why, when="later")


def test_weights_are_those_that_move_most(baked: Asked) -> None:
    """The marks stand at the weights of the observations named, coloured by the plan that is cheaper under them."""
    why = baked.why
    ax = wh.plot.weights(why, count=3)
    assert why.weights_after is not None
    assert why.costs_decision is not None
    assert why.costs_alternative is not None
    assert why.history is not None
    moved = why.weights_after - why.weights_before
    chosen = [*np.argsort(-moved, kind="stable")[:3], *np.argsort(moved, kind="stable")[:3]]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert [label.split(" ")[0] for label in labels] == [str(why.history.index[i]) for i in chosen]
    assert labels[0].endswith("(Saturday)")
    marks = [line for line in ax.lines if line.get_marker() in ("o", "s") and line.get_markerfacecolor() != "white"]
    assert np.allclose([line.get_xdata()[0] for line in marks], 100 * why.weights_after[chosen])
    cheaper = [ALTERNATIVE if why.costs_alternative[i] < why.costs_decision[i] else DECISION for i in chosen]
    assert [line.get_color() for line in marks] == cheaper


def test_routes_are_the_edges_of_both_plans(driven: Asked) -> None:
    """The map has as many lines as the network and the routes have edges, and names both ends."""
    ax = wh.plot.routes(driven.why)
    network, first, second = ax.collections
    assert driven.why.problem is not None
    assert len(network.get_segments()) == len(driven.why.problem.graph.edges)
    assert [len(lines.get_segments()) + 1 for lines in (first, second)] == [
        len(driven.why.decision),
        len(driven.why.alternative),
    ]
    assert {"Depot", "Hospital"} <= set(texts(ax))


def test_what_cannot_be_drawn_is_said(baked: Asked) -> None:
    """Routes of quantities, plans of no known form, and arguments of another type are refused with a sentence."""
    with pytest.raises(InputError, match="must be about routes through a network"):
        wh.plot.routes(baked.why)
    with pytest.raises(InputTypeError, match=r"'why' must be an Explanation\. Got 3 instead"):
        wh.plot.costs(3)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match=r"'ax' must be a matplotlib Axes or None\. Got 3 instead"):
        wh.plot.costs(baked.why, ax=3)  # type: ignore[arg-type]


class Dish(wh.DecisionProblem):
    """A plan is the name of a dish."""

    def costs(self, decision: str, Y: np.ndarray) -> np.ndarray:
        return np.abs(Y[:, 0] - len(decision))

    def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Any) -> str:
        return min(("soup", "noodles", "cauliflower"), key=lambda dish: risk.of(self.costs(dish, Y), weights))

    def describe(self, decision: str, outcomes: Any = ()) -> str:
        return decision


def test_plans_of_text_are_told_in_words() -> None:
    """Plans that are neither quantities nor routes, and quantities of 0, leave no empty panel."""
    X = np.linspace(0, 1, 20)[:, None]
    policy = wh.Policy(Dish(), wh.KNNWeights(k=3)).fit(X, 3 + 9 * X)
    why = policy.explain([0.1], instead="noodles")
    assert texts(wh.plot.plans(why)) == ["decision", "soup", "your plan", "noodles"]
    panel = why.plot().axes[1]
    assert panel.get_title(loc="left") == "The two plans"
    assert "noodles" in texts(panel)
    nothing = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=3)).fit(X, 0 * X).explain([0.1], instead=[0.0])
    assert texts(wh.plot.plans(nothing)) == ["decision", "y0 0", "your plan", "y0 0"]


@pytest.mark.parametrize("status", ["already", "none"])
def test_there_may_be_nothing_to_change(status: str, baked: Asked) -> None:
    """Where there is no changed context, the charts say so or show the one context."""
    today = baked.why.initial
    plan = baked.why.decision if status == "already" else [560.0, 0.0, 0.0, 0.0]
    why = baked.policy.explain(today, instead=plan)
    assert why.status == status
    assert texts(wh.plot.changes(why)) == [
        "Nothing: it holds as it is." if status == "already" else "There is no context to show."
    ]
    assert len(wh.plot.costs(why).patches) == 2
    assert texts(wh.plot.outcomes(why, when="after")) == ["There is no changed context."]
    assert wh.plot.weights(why).lines
    assert len(why.plot().axes) == 6


def test_the_overview_has_every_chart(driven: Asked) -> None:
    """``why.plot()`` is a figure with the verdict over six charts."""
    figure = driven.why.plot()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == [
        "What would have to be different",
        "The two routes",
        "What both plans cost",
        "Which past observations speak",
        "The context as it is",
        "The changed context",
    ]
    assert "morning peak" in figure.get_suptitle()


def test_the_package_does_not_load_matplotlib() -> None:
    """``import whence`` makes ``wh.plot`` known without loading matplotlib."""
    code = "import sys, whence as wh; wh.plot.changes; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_missing_matplotlib_is_named(baked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib, the error says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'whence\[plot\]'"):
        baked.why.plot()


def test_observations_are_told_by_what_changes(baked: Asked) -> None:
    """An observation is named by its row and its values of what changes, categories and units without a name."""
    labels = [label.get_text() for label in wh.plot.weights(baked.absolute).get_yticklabels()]
    assert all(" (" in label and label.endswith("°C)") and "temperature" not in label for label in labels)


@pytest.mark.parametrize(("unit", "written"), [("€", "€"), ("$", r"\$"), ("", None)])
def test_axes_name_the_unit_of_costs(unit: str, written: str | None, baked: Asked) -> None:
    """Both axes of costs name the unit where there is one; a dollar sign begins no formula."""
    problem = clone(baked.policy.problem).set_params(cost_unit=unit)
    why = structs.replace(baked.why, source=replace(baked.why.source, problem=problem))
    labels = [wh.plot.costs(why).get_ylabel(), wh.plot.outcomes(why).get_xlabel().replace("; last bar: and beyond", "")]
    if written is None:
        assert labels[0] == "Expected cost"
        assert labels[1].removesuffix(" (last bar: and beyond)") == "cost under past observations"
    else:
        assert labels == [f"Expected cost ({written})", f"cost under past observations ({written})"]


def test_ends_of_a_range_have_their_unit(make_warm: wh.Explanation) -> None:
    """What is written at the ends of a feature's range has the feature's unit."""
    texts = [text.get_text() for text in wh.plot.changes(make_warm).texts]
    assert [text for text in texts if text.endswith(" °C")][:2] == ["0 °C", "30 °C"]


@pytest.fixture
def make_warm() -> wh.Explanation:
    """A temperature that changes within a range of 0 to 30 degrees."""
    schema = wh.Schema({"temperature": wh.Continuous(unit="°C")})
    X = pd.DataFrame({"temperature": [0.0, 30.0]})
    policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1), schema=schema).fit(X, [[10.0], [20.0]])
    return policy.explain([6.0], instead=[20.0])


def shaded(ax: Axes) -> list[tuple[float, float, float]]:
    """The shaded parts of a chart of changes: the row, and from where to where."""
    return [(bar.get_y() + bar.get_height() / 2, bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]


@pytest.mark.parametrize("light", [False, True])
def test_changes_shade_the_rule(light: bool, baked: Asked) -> None:
    """The rule is shaded where it holds, on the line of its feature; one that it only names gets a line as well."""
    why = baked.absolute.with_rule()
    assert why.rule is not None
    assert why.rule.short
    drawn = wh.plot.changes(wh.Explanation.from_dict(why.to_dict()) if light else why)
    names = [label.get_text() for label in drawn.get_yticklabels()]
    asked = {one.feature: one for one in why.rule.conditions}
    assert set(names) == set(why.changes["feature"]) | set(asked)
    parts = {names[round(y)]: (first, last) for y, first, last in shaded(drawn)}
    assert set(parts) == set(asked)
    low, high = baked.policy.schema_.training_range("temperature")
    one = asked["temperature"]
    ends = [(end - low) / (high - low) for end in (one.low if one.low is not None else low, one.high or high)]
    assert parts["temperature"] == pytest.approx(ends)
    assert "shaded: no plan is better wherever all of this holds" in drawn.get_xlabel()


def test_changes_without_a_rule_are_as_before(baked: Asked) -> None:
    """Nothing is shaded where no rule is known, and `why.plot()` finds it out by itself."""
    assert shaded(wh.plot.changes(baked.absolute)) == []
    assert shaded(baked.absolute.plot().axes[0]) == shaded(wh.plot.changes(baked.absolute.with_rule()))
    unknown = wh.Explanation.from_dict(baked.absolute.to_dict())
    assert shaded(unknown.plot().axes[0]) == []
