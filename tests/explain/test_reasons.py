"""Reasons: against every cell and every vertex, what is claimed of them, and how they are shown."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cases import Case
from tests.changing import asked, fewest_facts, forest_or_several, sets_of
from tests.soaking import forest_case, neighbour_case

import whence as wh
from whence.explain import reasons as module
from whence.explain.hitting import smallest_hitting_set
from whence.explain.menu import features_of


def checked(case: Case, smallest: bool = True) -> bool:
    """The reasons of a case settle it, and no smaller set does; whether there are any."""
    sets = sets_of(case)
    found = case.policy.reasons(case.context, case.instead, **asked(case))
    if frozenset() in sets:
        assert found.status == "already", case.seed
        return False
    if not sets:
        assert (found.status, found.facts) == ("none", {}), case.seed
        return False
    names = case.policy.schema_.names
    assert found.status == "proved", case.seed
    assert all(one & set(found) for one in sets), f"seed {case.seed}: {found!r} does not settle it"
    assert found.minimal
    for name in found:
        assert any(name in one and not one & (set(found) - {name}) for one in sets), case.seed
        others = set(found) - {name}
        assert name in features_of(found.needed[name])
        assert not others & set(features_of(found.needed[name]))
    if smallest or found.smallest:
        assert found.smallest
        assert len(found) == fewest_facts(sets, names), case.seed
    return True


@pytest.mark.parametrize("block", range(10))
def test_forests_against_every_cell(block: int) -> None:
    """400 questions over awkward data: the facts settle it, and no smaller set of facts does."""
    proved = 0
    for seed in range(40 * block, 40 * block + 40):
        try:
            proved += checked(forest_or_several(seed))
        except AssertionError as error:
            if "too many" not in str(error):
                raise
    assert proved > 10


@pytest.mark.parametrize("block", range(4))
def test_neighbours_against_every_vertex(block: int) -> None:
    """100 questions about neighbours: the facts settle it, and no smaller set of facts does."""
    for seed in range(25 * block, 25 * block + 25):
        checked(neighbour_case(seed))


def test_by_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where smallest sets are not tried, none of the facts can be left out all the same."""
    monkeypatch.setattr(module, "ROUNDS", 0)
    for seed in range(100):
        try:
            checked(forest_case(seed), smallest=False)
        except AssertionError as error:
            if "too many" not in str(error):
                raise


def test_smallest_hitting_sets() -> None:
    """A smallest set that meets all others is as small as enumeration says."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        names = list("abcdefg")[: int(rng.integers(1, 8))]
        sets = [
            frozenset(rng.choice(names, int(rng.integers(1, len(names) + 1)), replace=False).tolist())
            for _ in range(int(rng.integers(0, 9)))
        ]
        found = smallest_hitting_set(sets, names)
        assert all(one & set(found) for one in sets)
        assert len(found) == fewest_facts(sets, names)


# ---- a larger example ------------------------------------------------------------------------------


#: A day, and one that another plan was made for.
DAY = {"weekday": "Thursday", "temperature": 7.0, "rain": False, "promotion": False}
OTHER = {"weekday": "Saturday", "temperature": 20.0, "rain": False, "promotion": False}


@pytest.fixture(scope="module")
def bakery() -> wh.Policy:
    from whence.examples import bakery

    example = bakery.load()
    return example.policy.fit(example.X, example.Y)


def test_shown(bakery: wh.Policy, tmp_path: Path) -> None:
    """The sentence names the facts, and says what is proved; JSON, table and report tell the same."""
    found = bakery.reasons(DAY, bakery.decide(OTHER))
    assert found.status == "proved"
    assert str(found).startswith("As long as ")
    document = json.loads(found.to_json())
    assert (document["schema"], list(document["facts"])) == ("whence/reasons/1", list(found))
    assert found.frame["feature"].tolist() == list(found)
    found.to_html(tmp_path / "reasons.html")
    page = (tmp_path / "reasons.html").read_text("utf-8")
    assert all(name in page for name in found)
    # What the facts say can be asked for directly.
    assert bakery.explain(DAY, bakery.decide(OTHER), fixed=list(found)).status == "none"


def test_limits(bakery: wh.Policy) -> None:
    """A time limit holds, and what was not proved is not claimed."""
    began = time.perf_counter()
    late = bakery.reasons(DAY, bakery.decide(OTHER), time_limit=0.02)
    assert time.perf_counter() - began < 2.0
    if late.status == "proved":
        fixed = list(late)
        again = bakery.explain(DAY, bakery.decide(OTHER), fixed=fixed)
        assert again.status == "none"
    else:
        assert late.status == "time_limit"
        assert late.facts == {}
    stopped = bakery.reasons(DAY, bakery.decide(OTHER), on_progress=lambda _: False)
    assert stopped.status in ("interrupted", "proved")


def test_nothing_to_say(bakery: wh.Policy) -> None:
    """Where the plan is as good already, no facts speak against it."""
    today = DAY
    assert bakery.reasons(today, bakery.decide(today)).status == "already"
    assert "No facts speak against your plan" in str(bakery.reasons(today, bakery.decide(today)))
