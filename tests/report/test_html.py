"""A report is one complete, self-contained page, whatever the names in it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import InputError
from whence.explain.explanation import Costs
from whence.problems.plan_text import positions
from whence.report.html import fragment, write
from whence.report.observations import most_moved

Make = Callable[..., wh.Explanation]
Change = tuple[Any, ...]

SECTIONS = [
    "What would have to be different",
    "What both plans cost",
    "The two plans",
    "All values of the context",
    "How the outcomes spread",
    "Which past observations speak",
    "How sure this is",
]
VOID = {"meta", "br", "hr"}
LINKS = {"src", "href", "data", "action", "poster", "srcset", "xlink:href", "background"}


class Page(HTMLParser):
    """Reads a page, checks that every element is closed in order, and keeps what is in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self.classes: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.classes += [name for key, value in attrs if key == "class" for name in (value or "").split()]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def words(self, tag: str) -> str:
        """All text directly inside elements of one kind."""
        return " | ".join(self.texts.get(tag, []))


def report(why: wh.Explanation, folder: Path, **options: str) -> str:
    """The text of the report of `why`."""
    path = folder / "why.html"
    write(why, path, **options)
    return path.read_text("utf-8")


@pytest.fixture(params=["optimal", "many", "absolute", "cvar", "already", "none", "blocked", "time", "nothing", "bare"])
def any_explanation(request: pytest.FixtureRequest, make: Make, weekday: Change, every_change: Any) -> wh.Explanation:
    """One explanation of every sort."""
    return {
        "optimal": lambda: make([weekday]),
        "many": lambda: make(every_change),
        "absolute": lambda: make([weekday], kind="absolute", cuts=3),
        "cvar": lambda: make([weekday], risk="CVaR at 0.9", separation=1e-6),
        "already": lambda: make(status="already", cost_before=Costs(5.0, 5.0)),
        "none": lambda: make(status="none", note="nothing speaks for it"),
        "blocked": lambda: make(status="none", blocking=["weekday"], unrestricted=make([weekday])),
        "time": lambda: make([weekday], status="time_limit", bound=0.1),
        "nothing": lambda: make(status="interrupted", bound=0.1),
        "bare": lambda: make([weekday], history=None, problem=None, costs_decision=None, costs_alternative=None),
    }[request.param]()


def test_every_report_is_complete(any_explanation: wh.Explanation, tmp_path: Path) -> None:
    """Whatever the outcome, a report has its title, its verdict and all its sections, well formed."""
    page = Page(report(any_explanation, tmp_path, title="Why not bread?", question="Asked by the baker."))
    assert page.texts["h1"] == ["Why not bread?"]
    assert page.texts["h2"] == SECTIONS
    assert "Asked by the baker." in page.words("p")
    assert "nan" not in page.words("text").lower() + page.words("td").lower()


def test_a_report_needs_no_network(any_explanation: wh.Explanation, tmp_path: Path) -> None:
    """No script, no link, no picture, no font, no address of any kind."""
    text = report(any_explanation, tmp_path)
    page = Page(text)
    assert not re.search(r"https?:|//\w|url\(|@import|@font-face", text)
    assert not {"script", "link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    assert not LINKS & {name for name, _ in page.attributes}
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_the_verdict_and_the_costs_are_on_the_page(make: Make, weekday: Change, tmp_path: Path) -> None:
    """The page says the same as the text, and labels its bars with the same numbers."""
    why = make([weekday])
    page = Page(report(why, tmp_path))
    said = page.words("p")
    verdict = str(why).split("\n")[2].split(" Nothing else")[0]
    assert verdict in said
    assert {"31.2", "35.0", "41.3", "40.9"} <= set(page.texts["text"])
    assert {"weekday", "Thursday"} <= set(page.texts["td"])
    assert "Saturday" in page.texts["b"]


def test_names_cannot_break_the_page(make: Make, tmp_path: Path) -> None:
    """Names, values, units, texts and notes that look like markup are shown as they are."""
    evil = "<script>alert('x')</script>"
    other = '"><img src=x onerror=alert(1)>'
    initial = pd.Series({evil: other, "n": 1.0}, dtype=object)
    why = make(
        [(evil, other, evil, 1.0), ("n", 1.0, 2.0, 0.5)],
        initial=initial,
        kinds={evil: "categorical", "n": "continuous"},
        units={"n": "<b>"},
        decision_text=evil,
        alternative_text=other,
        note=evil,
        engine=other,
        risk=evil,
        problem=wh.Newsvendor(holding=1.0, backorder=2.0, names=[evil, other]),
        history=pd.DataFrame({evil: [other] * 30, "n": np.arange(30.0)}, index=[evil] * 30),
    )
    for text in (report(why, tmp_path, title=evil, question=other), fragment(why)):
        page = Page(text)
        assert "<script" not in text.lower()
        assert not {"script", "img"} & set(page.tags)
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert evil in page.words("td")
        assert evil in page.words("text")


def test_plans_that_are_no_numbers_are_shown_as_text(make: Make, weekday: Change) -> None:
    """Without a problem that can draw them, plans appear as their texts."""
    page = Page(fragment(make([weekday], problem=None)))
    assert "bread 60, cake 70" in page.words("p")
    assert "bread 80, cake 70" in page.words("p")


def test_quantities_are_drawn_on_one_scale(make: Make, weekday: Change) -> None:
    """Bars of two quantities are as long as the quantities say."""
    text = fragment(make([weekday]))
    plans = text[text.index("The two plans") : text.index("How the outcomes spread")]
    lengths = [float(w) for w in re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)"', plans)]
    assert len(lengths) == 4
    assert np.allclose(np.array(lengths) / lengths[0], np.array([60, 80, 70, 70]) / 60, rtol=1e-3)
    assert "80 (+20)" in plans


@pytest.mark.parametrize("drawn", ["grid", "pos", "nowhere"])
def test_routes_are_drawn_where_the_map_is_known(make: Make, weekday: Change, drawn: str) -> None:
    """Routes on a grid or with positions become a map with both lines; otherwise they are shown as text."""
    problem = wh.ShortestPath.grid(3)
    decision, alternative = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)], [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]
    if drawn != "grid":
        names = {(r, c): f"{r}-{c}" for r in range(3) for c in range(3)}
        graph = nx.relabel_nodes(problem.graph, names)
        if drawn == "pos":
            nx.set_node_attributes(graph, {names[r, c]: (10.0 * c, -5.0 * r) for r, c in names}, "pos")
        problem = wh.ShortestPath(graph, "0-0", "2-2")
        decision, alternative = [names[n] for n in decision], [names[n] for n in alternative]
    why = make(
        [weekday],
        problem=problem,
        decision=decision,
        alternative=alternative,
        decision_text=problem.describe(decision),
        alternative_text=problem.describe(alternative),
    )
    page = Page(fragment(why))
    assert page.classes.count("wh-route") == (0 if drawn == "nowhere" else 2)
    if drawn == "nowhere":
        assert why.alternative_text in page.words("p")
    else:
        assert "none of them shared" in page.words("figcaption")
        assert str(problem.source) in page.texts["text"]


def test_rows_of_a_grid_go_down() -> None:
    """On the map of a grid, the first row is at the top."""
    place = positions(wh.ShortestPath.grid(3).graph)
    assert place is not None
    assert place[0, 0][1] > place[2, 0][1]
    assert place[0, 2][0] > place[0, 0][0]


def test_observations_are_those_that_move_most(make: Make, weekday: Change) -> None:
    """The observations shown gain or lose more weight than any other, with the costs they stand for."""
    why = make([weekday])
    assert why.weights_after is not None
    moved = why.weights_after - why.weights_before
    gaining, losing = most_moved(why, 4)
    assert [o.label for o in gaining] == [str(i) for i in np.argsort(-moved)[:4]]
    assert [o.label for o in losing] == [str(i) for i in np.argsort(moved)[:4]]
    first = gaining[0]
    assert why.costs_decision is not None
    assert first.decision == why.costs_decision[int(first.label)]


@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.8), wh.CVaR(0.0)])
def test_parts_of_the_turn_add_up(make: Make, weekday: Change, risk: wh.CVaR | wh.Expectation) -> None:
    """Over all observations, the shares of the turn in expected cost or in CVaR add up to the whole."""
    rng = np.random.default_rng(1)
    costs, after = rng.random(30), rng.dirichlet(np.ones(30))
    other = costs - (after > np.median(after)) * 0.5
    why = make([weekday], costs_decision=costs, costs_alternative=other, weights_after=after, risk=risk)
    gaining, losing = most_moved(why, 30)
    assert sum(o.part or 0.0 for o in gaining + losing) == pytest.approx(1.0)
    lead = [risk.of(costs, w) - risk.of(other, w) for w in (why.weights_before, after)]
    if isinstance(risk, wh.Expectation):
        row = int(gaining[0].label)
        carried = (after[row] - why.weights_before[row]) * (costs[row] - other[row])
        assert gaining[0].part == pytest.approx(carried / (lead[1] - lead[0]))


def test_parts_are_left_out_of_an_unknown_risk(make: Make, weekday: Change) -> None:
    """Of a risk that is no expectation and no CVaR, no shares are told."""
    for risk in ("entropic", "CVaR at all", "CVaR at 1.5"):
        assert most_moved(make([weekday], risk=risk))[0][0].part is None
        assert "Share:" not in fragment(make([weekday], risk=risk))


def test_restrictions_in_the_way_are_a_list(make: Make, every_change: Any) -> None:
    """Many changes that restrictions rule out become a list on the page, not lines with dashes."""
    page = Page(fragment(make(status="none", blocking=["weekday"], unrestricted=make(every_change))))
    assert page.tags.count("li") == 5
    assert "rain: on rather than off" in page.texts["li"]
    assert not [text for text in page.texts["p"] if text.startswith("-")]


def test_the_certificate_is_on_the_page(make: Make, weekday: Change, tmp_path: Path) -> None:
    """Status, bound, engine and versions are given."""
    page = Page(report(make([weekday], kind="absolute", within=0.02, cuts=7, separation=1e-6), tmp_path))
    cells = page.texts["td"]
    for name, value in [
        ("status", "optimal"),
        ("engine", "search (forest)"),
        ("rival plans met", "7"),
        ("asked for", "within 2 % of the best"),
    ]:
        assert cells[cells.index(name) + 1] == value
    assert cells[cells.index("whence") + 1] == wh.__version__


def test_notebooks_show_the_fragment(make: Make, weekday: Change) -> None:
    """A notebook gets the same sections, without a page around them."""
    text = make([weekday])._repr_html_()
    assert Page(text).texts["h2"] == SECTIONS
    assert "<html" not in text


def test_a_file_is_written_whole_or_not_at_all(
    make: Make, weekday: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the last step fails, the old report is still there and nothing else is left behind."""
    path = tmp_path / "why.html"
    path.write_text("old", "utf-8")

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write(make([weekday]), path)
    assert path.read_text("utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["why.html"]


def test_a_missing_folder_is_named(make: Make, weekday: Change, tmp_path: Path) -> None:
    """A path in a folder that does not exist is refused with a sentence."""
    with pytest.raises(InputError, match="must lie in a folder that exists"):
        write(make([weekday]), tmp_path / "nowhere" / "why.html")


def test_equal_costs_can_be_drawn(make: Make, weekday: Change) -> None:
    """Outcomes that are all the same still give a chart with finite numbers."""
    text = fragment(make([weekday], costs_decision=np.full(30, 5.0), costs_alternative=np.full(30, 5.0)))
    assert "nan" not in text.lower().replace("nanum", "")


def test_rounding_is_told_only_where_the_verdict_holds(make: Make) -> None:
    """Rounded numbers come with the nearest value to its last digit; a note, only where they stay in their room."""
    warmer = ("temperature", 7.0, 16.2512345678, 0.3)
    inside = fragment(make([warmer], room={"temperature": (16.2512, 18.0)}))
    assert "nearest: 16.2512345678 °C" in inside
    assert "rounded so that the verdict holds" in inside
    unknown = fragment(make([warmer]))
    assert "about 16.2512 °C" in unknown
    assert "nearest: 16.2512345678 °C" in unknown
    assert "rounded so that the verdict holds" not in unknown


def test_costs_have_their_unit(make: Make, weekday: Change) -> None:
    """The unit of costs stands in the sentence, at the bars, at the axis of the outcomes and over the columns."""
    page, bare = fragment(make([weekday], cost_unit="<€>")), fragment(make([weekday]))
    told = [
        "31.2 &lt;€&gt;</text>",
        "cost under past observations (&lt;€&gt;)</text>",
        "cost of decision (&lt;€&gt;)</th>",
    ]
    told += ["35.0 &lt;€&gt; for your plan.", "0.0001 &lt;€&gt;</td>"]
    assert [text in page for text in told] == [True] * 5
    assert "€" not in bare
