"""The map of two features shows where each plan wins, by the policy's own weights."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError, InputTypeError
from whence.examples import bakery
from whence.plot.plane import _side

plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def policy() -> wh.Policy:
    """A forest over two numbers, of which only the first matters."""
    X = np.random.default_rng(1).random((120, 2))
    return wh.Policy(wh.Newsvendor(1, 1), paper_forest(n_trees=10, random_state=0)).fit(X, 10 + 20 * X[:, :1])


def cells(ax: Axes) -> tuple[np.ndarray, np.ndarray]:
    """Centres and verdicts of the cells of a map."""
    mesh = ax.collections[0]
    corners = mesh.get_coordinates()
    centres = (corners[1:, 1:] + corners[:-1, :-1]) / 2
    return centres, np.asarray(mesh.get_array()).reshape(centres.shape[:2])


def test_every_cell_has_the_colour_of_its_verdict(policy: wh.Policy) -> None:
    """Asked again at the corners' middle, the policy says what the colour of the cell says, up to the border cells."""
    why = policy.explain([0.2, 0.5], instead=[26.0])
    ax = wh.plot.plane(policy, why, ("x0", "x1"), resolution=15)
    centres, verdicts = cells(ax)
    costs = [policy.problem.costs(plan, policy.Y_) for plan in (why.decision, why.alternative)]
    right = []
    for centre, verdict in zip(centres.reshape(-1, 2), verdicts.ravel(), strict=True):
        weights = policy.weights_at(centre)
        right.append((weights @ costs[1] <= weights @ costs[0] + why.tolerance) == (verdict == 1))
    assert np.mean(right) > 0.9
    assert set(np.unique(verdicts)) == {0, 1}


def test_the_border_runs_through_the_nearest_context(policy: wh.Policy) -> None:
    """Just before the nearest context the decision is cheaper, from it on the alternative."""
    why = policy.explain([0.2, 0.5], instead=[26.0])
    ax = wh.plot.plane(policy, why, ("x0", "x1"), resolution=15)
    assert why.context is not None
    mesh = ax.collections[0]
    _, verdicts = cells(ax)
    edges = mesh.get_coordinates()[0, :, 0]
    row = int(np.argmin(np.abs(cells(ax)[0][:, 0, 1] - 0.5)))
    first = edges[int(np.argmax(verdicts[row] == 1))]
    assert first == pytest.approx(why.context["x0"], abs=1e-5)


def test_both_explanations_are_marked(policy: wh.Policy) -> None:
    """The initial context and the explanations stand where they are, and the legend tells them apart."""
    plan = policy.decide([0.8, 0.5])
    why, absolute = (policy.explain([0.2, 0.5], instead=plan, kind=kind) for kind in ("relative", "absolute"))
    ax = wh.plot.plane(policy, why, ("x0", "x1"), [absolute], resolution=10)
    marks = {line.get_label(): (line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines}
    assert marks["the context as it is"] == (0.2, 0.5)
    assert why.context is not None
    assert absolute.context is not None
    assert marks["nearest context, your plan better"] == tuple(why.context)
    assert marks["nearest context, no plan better"] == tuple(absolute.context)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[:3] == [
        "the decision is cheaper",
        "your plan beats the decision only",
        "no plan is better than yours",
    ]


def test_categories_and_switches_have_names() -> None:
    """A category and a switch are axes with their names; what changes elsewhere is said in the legend."""
    example = bakery.load(n=150)
    policy = example.policy.fit(example.X, example.Y)
    why = policy.explain(example.today, example.alternative)
    ax = wh.plot.plane(policy, why, ("weekday", "promotion"))
    assert [label.get_text() for label in ax.get_xticklabels()] == [str(d) for d in policy.schema_.levels("weekday")]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["off", "on"]
    assert any("temperature 7 °C" in text.get_text() for text in ax.texts)
    elsewhere = wh.plot.plane(policy, why, ("temperature", "rain"), resolution=5)
    assert elsewhere.get_xlabel() == "temperature (°C)"
    assert any("weekday changes too" in str(line.get_label()) for line in elsewhere.lines)


def test_light_explanations_and_counts() -> None:
    """An explanation that came from JSON can be mapped with its policy, over counts."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, 80), rng.integers(0, 4, 80)])
    policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=3)).fit(X, 10 + 5 * X[:, :1] + X[:, 1:])
    why = wh.Explanation.from_dict(policy.explain([1, 1], instead=[32.0], separation=0.0).to_dict())
    centres, _ = cells(wh.plot.plane(policy, why, ("x0", "x1")))
    assert np.allclose(centres[0, :, 0], np.arange(6))


def test_what_cannot_be_mapped_is_said(policy: wh.Policy) -> None:
    """Wrong features and wrong policies are refused with a sentence."""
    why = policy.explain([0.2, 0.5], instead=[26.0])
    with pytest.raises(InputError, match=r"must name two different features among 'x0', 'x1'. Got \('x0', 'x7'\)"):
        wh.plot.plane(policy, why, ("x0", "x7"))
    for features in ("x0", ("x0", "x0"), ("x0",), 5):
        with pytest.raises(InputError, match="'features' must name two different features"):
            wh.plot.plane(policy, why, features)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="'policy' must be a Policy"):
        wh.plot.plane(why, why, ("x0", "x1"))  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="'others' must be an Explanation"):
        wh.plot.plane(policy, why, ("x0", "x1"), [3])  # type: ignore[list-item]


def test_whole_numbers_are_asked_at_whole_numbers() -> None:
    """A feature of many whole numbers is drawn at some of them, and at none in between."""
    X = np.column_stack([np.arange(300) * 7, np.arange(300) % 24])
    policy = wh.Policy(wh.Newsvendor(1, 1), paper_forest(n_trees=10, random_state=0)).fit(X, 10.0 + X[:, :1] / 100)
    why = policy.explain(X[10], instead=policy.decide(X[200]))
    across, up = (_side(policy, name, [why], 12) for name in ("x0", "x1"))
    assert all(float(value).is_integer() for value in across.values)
    assert len(across.values) < 20
    assert up.values == [float(hour) for hour in range(24)]


def boxes(ax: Axes) -> list[tuple[float, float, float, float]]:
    """The hatched boxes of a map: left, right, bottom, top."""
    found = [patch for patch in ax.patches if patch.get_hatch()]
    return [(b.get_x(), b.get_x() + b.get_width(), b.get_y(), b.get_y() + b.get_height()) for b in found]


def test_the_rule_is_a_box_of_its_colour(policy: wh.Policy) -> None:
    """Every cell inside the box of the rule has the colour of the alternative, and the nearest context is inside."""
    why = policy.explain([0.2, 0.5], instead=[26.0])
    assert boxes(wh.plot.plane(policy, why, ("x0", "x1"), resolution=15)) == []
    why = why.with_rule()
    assert why.rule is not None
    assert why.context is not None
    ax = wh.plot.plane(policy, why, ("x0", "x1"), resolution=15)
    [(left, right, bottom, top)] = boxes(ax)
    asked = {one.feature: one for one in why.rule.conditions}
    assert left == pytest.approx(asked["x0"].low)
    assert left <= why.context["x0"] <= right
    assert bottom <= why.context["x1"] <= top
    centres, verdicts = cells(ax)
    inside = (centres[..., 0] > left) & (centres[..., 0] < right)
    inside &= (centres[..., 1] > bottom) & (centres[..., 1] < top)
    assert inside.sum() > 20
    assert (verdicts[inside] == 1).all()
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said.count("rule: your plan is better") == 1


def test_a_rule_of_other_features_is_dashed() -> None:
    """Where the rule asks for another weekday than the map has, its box is dashed and the legend says which one."""
    example = bakery.load(n=150)
    policy = example.policy.fit(example.X, example.Y)
    why = policy.explain(example.today, example.alternative, kind="absolute").with_rule()
    assert why.rule is not None
    asked = {one.feature: one for one in why.rule.conditions}
    assert asked["weekday"].was not in (asked["weekday"].values or ())
    ax = wh.plot.plane(policy, why, ("temperature", "rain"), resolution=12)
    assert [patch.get_linestyle() for patch in ax.patches if patch.get_hatch()] == ["--"]
    assert any("where weekday is" in text.get_text() for text in ax.get_legend().get_texts())
    ax = wh.plot.plane(policy, why, ("temperature", "weekday"), resolution=12)
    assert len(boxes(ax)) == len(asked["weekday"].values or ())
    for _, _, bottom, top in boxes(ax):
        assert top - bottom == pytest.approx(1.0)
