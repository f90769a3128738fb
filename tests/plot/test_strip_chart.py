"""The chart of strips shows what the strips say."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Rectangle

import whence as wh
from whence.errors import InfeasiblePlanError, InputTypeError
from whence.examples import bakery
from whence.search.verdict_strips import strips

plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def policy() -> wh.Policy:
    """The bakery, fitted."""
    example = bakery.load(n=200)
    return example.policy.fit(example.X, example.Y)


def test_every_stretch_is_drawn(policy: wh.Policy) -> None:
    """One box per stretch, as wide as it, and the context's own value is marked in every strip."""
    today, plan = policy.X_.iloc[0], policy.decide(policy.X_.iloc[5])
    ax = wh.plot.strips(policy, today, plan)
    found = strips(policy, policy.schema_.row(today), plan)
    boxes = [one for one in ax.patches if isinstance(one, Rectangle)]
    assert len(boxes) == sum(len(strip.stretches) for strip in found)
    temperature = next(strip for strip in found if strip.feature == "temperature")
    low, high = temperature.stretches[0].begin, temperature.stretches[-1].end
    drawn = sorted(
        box.get_x() for box in boxes if round(box.get_y() + box.get_height() / 2) == found.index(temperature)
    )
    assert drawn == pytest.approx([(one.begin - low) / (high - low) for one in temperature.stretches])
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    assert len(marks) == len(found)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[-1] == "as it is"


def test_it_draws_where_it_is_told_to(policy: wh.Policy) -> None:
    """On the axes given, some features only, and nothing of a plan that cannot be."""
    mine = plt.subplots()[1]
    assert wh.plot.strips(policy, policy.X_.iloc[0], features=["rain"], ax=mine) is mine
    assert [text.get_text() for text in mine.get_yticklabels()] == ["rain"]
    with pytest.raises(InfeasiblePlanError):
        wh.plot.strips(policy, policy.X_.iloc[0], np.full(4, 1e6))
    with pytest.raises(InputTypeError, match="'policy' must be a Policy"):
        wh.plot.strips("policy", policy.X_.iloc[0])  # type: ignore[arg-type]


def test_every_line_is_in_the_legend(policy: wh.Policy) -> None:
    """The dashed line has an entry where it is drawn, and none where it is not."""
    said = "your plan is cheaper than the decision"
    seen = set()
    for row in range(6):
        today, plan = policy.X_.iloc[row], policy.decide(policy.X_.iloc[row + 1])
        ax = wh.plot.strips(policy, today, plan)
        dashed = any(line.get_linestyle() == "--" for line in ax.lines)
        assert (said in [text.get_text() for text in ax.get_legend().get_texts()]) is dashed
        seen.add(dashed)
        plt.close("all")
    seen.add(any(line.get_linestyle() == "--" for line in wh.plot.strips(policy, policy.X_.iloc[0]).lines))
    assert seen == {True, False}
