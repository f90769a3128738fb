"""Fronts and menus: against every cell and every vertex, what they claim, and how they are shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from tests.blocks import seeds
from tests.changing import (
    asked,
    forest_or_several,
    forest_sets,
    menu_disagrees,
    nearest_with,
    neighbour_sets,
    same_distance,
    sets_of,
    smallest_sets,
)
from tests.forests import paper_forest
from tests.soaking import forest_case
from tests.timing import at_most

import whence as wh
from whence.errors import InputError
from whence.questions.menu import features_of


@pytest.mark.parametrize("block", seeds(3, 10))
def test_forests_against_every_cell(block: int) -> None:
    """400 questions over awkward data: all smallest sets are listed, with their nearest distances, and no others."""
    several = 0
    for seed in range(40 * block, 40 * block + 40):
        known = forest_sets(seed)
        if known is None:
            continue
        case, sets = known
        assert menu_disagrees(case, sets, 1 + seed % 4) == "", seed
        several += len(smallest_sets(sets, 1 + seed % 4)) > 1
    assert several > 3


@pytest.mark.parametrize("block", seeds(1, 4))
def test_neighbours_against_every_vertex(block: int) -> None:
    """100 questions about neighbours: all smallest sets are listed, with their nearest distances, and no others."""
    for seed in range(25 * block, 25 * block + 25):
        assert menu_disagrees(*neighbour_sets(seed), 1 + seed % 3) == "", seed


def test_by_the_integer_program() -> None:
    """The integer program gives the same menus."""
    for seed in range(1001, 1011, 2):
        case = forest_or_several(seed)
        assert menu_disagrees(case, sets_of(case), 3, engine="milp") == "", seed


@pytest.mark.parametrize("block", seeds(1, 4))
def test_fronts_against_every_cell(block: int) -> None:
    """120 questions: for every number of changes the brute-force distance, up to the nearest of all."""
    for seed in range(30 * block, 30 * block + 30):
        case = forest_case(2000 + seed)
        try:
            sets = sets_of(case)
        except AssertionError:
            continue
        found = case.policy.front(case.context, case.instead, **asked(case))
        assert found.complete
        assert found.allowed == tuple(range(1, len(found) + 1))
        for most, why in zip(found.allowed, found, strict=True):
            assert same_distance(case, why.distance, nearest_with(sets, most)), seed
        assert same_distance(case, found[-1].distance, min(sets.values(), default=np.inf))


# ---- a larger example ------------------------------------------------------------------------------


#: A day, and one that another plan was made for.
DAY = {"weekday": "Thursday", "temperature": 7.0, "rain": False, "promotion": False}
OTHER = {"weekday": "Saturday", "temperature": 20.0, "rain": False, "promotion": False}


@pytest.fixture(scope="module")
def bakery() -> wh.Policy:
    from whence.examples import bakery

    example = bakery.load()
    return example.policy.fit(example.X, example.Y)


@pytest.fixture(scope="module")
def many() -> wh.Policy:
    """Six numbers, of which all but the last raise what is needed."""
    X = np.random.default_rng(0).random((150, 6)).round(3)
    Y = 10.0 + 10.0 * X[:, :5].sum(axis=1, keepdims=True)
    return wh.Policy(wh.Newsvendor(1, 2), paper_forest(30, random_state=0)).fit(X, Y)


LOW = [0.3, 0.2, 0.4, 0.3, 0.35, 0.5]
MINE = [33.0]


@pytest.fixture(scope="module")
def menu(many: wh.Policy) -> wh.Menu:
    return many.menu(LOW, MINE, up_to=2)


def test_answers_can_be_verified(many: wh.Policy, menu: wh.Menu) -> None:
    """Every answer is the answer to a question of its own, which gives it again."""
    assert len(menu) > 2
    for why in menu[:4]:
        assert why.verify(many, prove=True).agrees


def test_apart(many: wh.Policy, menu: wh.Menu) -> None:
    """With `apart`, answers keep the distance; each one left out is nearer to an answer that is no farther away."""
    apart = 0.4
    spread = many.menu(LOW, MINE, 2, apart=apart)
    schema = many.schema_
    weight = schema.space(schema.row(LOW)).weight

    def between(a: wh.Explanation, b: wh.Explanation) -> float:
        return float(np.abs(schema.encode_row(a.context) - schema.encode_row(b.context)) @ weight)

    assert 0 < len(spread) < len(menu)
    assert spread.left_out == len(menu) - len(spread)
    assert all(between(a, b) >= apart for i, a in enumerate(spread) for b in spread[i + 1 :])
    kept = [features_of(why) for why in spread]
    for why in menu:
        if features_of(why) not in kept:
            assert any(between(why, one) < apart and one.distance <= why.distance for one in spread)


def test_shown(many: wh.Policy, menu: wh.Menu, tmp_path: Path) -> None:
    """Tables, sentences, JSON, notebook and report tell the same answers."""
    front = many.front(LOW, MINE)
    for found, schema in ((menu, "whence/menu/1"), (front, "whence/front/1")):
        assert len(found.frame) == len(found)
        document = json.loads(found.to_json())
        assert document["schema"] == schema
        assert [wh.Explanation.from_dict(one).distance for one in document["answers"]] == [w.distance for w in found]
        found.to_html(tmp_path / "page.html", title="Of six numbers")
        page = (tmp_path / "page.html").read_text("utf-8")
        assert "Of six numbers" in page
        assert page.count("<html") == 1
        assert "<svg" in found._repr_html_()
        assert str(found) == document["text"]
    assert "Proved: no other set of up to 2 features would do" in str(menu)
    assert "proved nearest" in str(front)
    assert menu.page().count("The two plans.") == 1


def test_limits(many: wh.Policy) -> None:
    """A time limit holds, and what was not settled is said; a search may be stopped."""
    with at_most(2.0):
        late = many.menu(LOW, MINE, 3, time_limit=0.01)
    assert late.status == "time_limit"
    assert late.complete_up_to < 3
    assert "was not settled within" in str(late)
    stopped = many.menu(LOW, MINE, 3, on_progress=lambda _: False)
    assert stopped.status == "interrupted"
    front = many.front(LOW, MINE, time_limit=1e-9)
    assert not front.complete


def test_already(bakery: wh.Policy) -> None:
    """Where nothing has to change, that is the answer."""
    today = DAY
    assert bakery.menu(today, bakery.decide(today)).status == "already"
    assert "Nothing has to change" in str(bakery.menu(today, bakery.decide(today)))
    assert "Nothing has to change" in str(bakery.front(today, bakery.decide(today)))


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({"up_to": 0}, "up_to"),
        ({"up_to": 2.0}, "up_to"),
        ({"apart": -1}, "apart"),
        ({"apart": np.nan}, "apart"),
        ({"holds": 0.9}, "holds"),
        ({"max_changes": 2}, "max_changes"),
        ({"bogus": 1}, "bogus"),
    ],
)
def test_refusals(bakery: wh.Policy, given: dict[str, object], parameter: str) -> None:
    """What cannot be asked for is refused in a sentence that names the parameter."""
    with pytest.raises(InputError) as error:
        bakery.menu(DAY, bakery.decide(OTHER), **given)  # type: ignore[arg-type]
    assert error.value.parameter == parameter


def test_a_front_within_a_gap_may_rise_but_not_by_proof(many: wh.Policy) -> None:
    """Explanations are only near enough there: that one with more changes is farther contradicts no proof."""
    front = many.front(many.X_.iloc[0], many.decide(many.X_.iloc[1]))
    near = structs.replace(front.answers[-1], distance=2.0, bound=1.99)
    rising = replace(front, answers=(near, structs.replace(near, distance=2.01)), allowed=(5, 6))
    assert not [fault for fault in rising._faults() if "farther" in fault]
    proved = replace(rising, answers=(near, structs.replace(near, distance=2.01, bound=2.01)))
    assert [fault for fault in proved._faults() if "farther" in fault]


def test_plans_of_a_set_in_the_report(many: wh.Policy) -> None:
    """Where any plan counts, the report tells the decision, and of every answer the plan that takes over."""
    found = many.menu(LOW, up_to=1)
    page = found.page()
    assert found[0].report.plans.decision_text in page
    assert "takes over" in page
    assert all(why.report.plans.alternative_text in page for why in found)
