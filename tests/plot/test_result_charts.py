"""Charts of fronts, menus and comparisons show what these say, on the axes that they are given."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import pytest

import whence as wh
from whence.errors import InputTypeError
from whence.examples import bakery
from whence.examples.example import Example

plt.switch_backend("Agg")


@pytest.fixture(scope="module")
def example() -> Example:
    made = bakery.load()
    made.policy.fit(made.X, made.Y)
    return made


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_front(example: Example) -> None:
    """A number for every distance, and none for what does not suffice."""
    found = example.policy.front(example.today, example.alternative, kind="absolute")
    ax = found.plot()
    texts = [text.get_text() for text in ax.texts]
    assert len(texts) == len(found)
    assert texts.count("none") == sum(why.status == "none" for why in found)
    assert ax.get_xticklabels()[-1].get_text().endswith("or more")
    own = plt.subplots()[1]
    assert wh.plot.front(found, ax=own) is own


def test_menu(example: Example) -> None:
    """A bar for every answer, as long as its distance; what is not drawn is counted."""
    # Baked as on a wet Friday: it takes another day of the week, or a promotion.
    mine = example.policy.decide({**example.today.to_dict(), "weekday": "Friday", "promotion": True})
    found = example.policy.menu(example.today, mine)
    assert len(found) > 1
    ax = found.plot()
    assert [bar.get_width() for bar in ax.patches] == [why.distance for why in found]
    short = wh.plot.menu(found, most=1)
    assert len(short.patches) == 1
    assert f"{len(found) - 1} more" in short.get_xlabel()


def test_contributions(example: Example) -> None:
    """A bar for every feature that differs; the others are drawn together, so that the bars still add up."""
    before = {**example.today.to_dict(), "weekday": "Saturday", "temperature": 20.0, "rain": True}
    found = example.policy.compare(before, example.today)
    ax = found.plot()
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(found.turn)
    figure = ax.get_figure()
    assert figure is not None
    figure.draw_without_rendering()
    assert ax.xaxis.label.get_window_extent().x1 <= figure.bbox.x1
    short = wh.plot.contributions(found, most=1)
    assert len(short.patches) == 2
    assert sum(bar.get_width() for bar in short.patches) == pytest.approx(found.turn)


def test_nothing_to_draw(example: Example) -> None:
    """Where there is nothing, a sentence says so."""
    policy, today = example.policy, example.today
    for found in (
        policy.front(today, policy.decide(today)),
        policy.menu(today, policy.decide(today)),
        policy.compare(today, today),
    ):
        assert len(found.plot().texts) == 1


def test_refusals() -> None:
    """Anything else is refused in a sentence."""
    for draw, kind in ((wh.plot.front, "Front"), (wh.plot.menu, "Menu"), (wh.plot.contributions, "Comparison")):
        with pytest.raises(InputTypeError, match=f"'found' must be a {kind}"):
            draw(3)
