"""Reasons: against every cell and every vertex, what is claimed of them, and how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.blocks import seeds
from tests.changing import fewest_facts, forest_sets, neighbour_sets, reasons_disagree
from tests.timing import at_most

import whence as wh
from whence.questions import reasons as module
from whence.questions.reasons import smallest_hitting_set


@pytest.mark.parametrize("block", seeds(3, 10))
def test_forests_against_every_cell(block: int) -> None:
    """400 questions over awkward data: the facts settle it, and no smaller set of facts does."""
    several = 0
    for seed in range(40 * block, 40 * block + 40):
        known = forest_sets(seed)
        if known is None:
            continue
        case, sets = known
        assert reasons_disagree(case, sets) == "", seed
        several += bool(sets) and frozenset() not in sets and fewest_facts(sets, case.policy.schema_.names) > 1
    assert several > 0


@pytest.mark.parametrize("block", seeds(1, 4))
def test_neighbours_against_every_vertex(block: int) -> None:
    """100 questions about neighbours: the facts settle it, and no smaller set of facts does."""
    for seed in range(25 * block, 25 * block + 25):
        assert reasons_disagree(*neighbour_sets(seed)) == "", seed


def test_by_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where smallest sets are not tried, none of the facts can be left out all the same."""
    monkeypatch.setattr(module, "ROUNDS", 0)
    for seed in range(1, 80, 2):
        known = forest_sets(seed)
        assert known is not None
        assert reasons_disagree(*known, smallest=False) == "", seed


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
    with at_most(2.0):
        late = bakery.reasons(DAY, bakery.decide(OTHER), time_limit=0.02)
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
    assert "No facts speak against it" in str(bakery.reasons(today, bakery.decide(today)))


@pytest.mark.parametrize(
    ("asked", "claim"),
    [
        ({}, "never as good as the decision, whatever else changes."),
        ({"margin": 0.05}, "never at least 5 % cheaper than the decision, whatever"),
        ({"margin": (2, "cost")}, "never at least 2 € cheaper than the decision, whatever"),
        ({"kind": "absolute"}, "never the best, whatever"),
        ({"kind": "absolute", "within": 0.02}, "never within 2 % of the best, whatever"),
        ({"confidence": 2.0}, "never as good as the decision by 2 standard errors, whatever"),
        ({"plausible": 0.1}, "as good as the decision in a context at least as usual as 10 % of the history, whatever"),
        ({"bounds": {"temperature": (0, 20)}}, "whatever else changes within your restrictions."),
    ],
)
def test_the_sentence_claims_what_was_asked(bakery: wh.Policy, asked: dict[str, object], claim: str) -> None:
    """What the plan never is, is what was asked of it; and it is so where anything else may change."""
    found = bakery.reasons(DAY, bakery.decide(OTHER), **asked)
    assert found.status == "proved"
    assert claim in str(found)
    assert bakery.explain(DAY, bakery.decide(OTHER), fixed=list(found), **asked).status == "none"


def test_of_sets_of_plans(bakery: wh.Policy) -> None:
    """What would change the plan at all, or which plans of a set could ever win: the sentence names who is meant."""
    stable = bakery.reasons(DAY, margin=0.9)
    assert stable.status in ("proved", "none")
    assert "today's plan" in str(stable)
    assert "more than 90 % above the best" in str(stable)
    many = bakery.problem.at_least("rolls", 330)
    found = bakery.reasons(DAY, many)
    assert found.status == "proved"
    assert f"{many.words} is never as good as the decision" in str(found)
    assert bakery.explain(DAY, many, fixed=list(found)).status == "none"
    assert bakery.menu(DAY, many).status == "complete"
    assert bakery.front(DAY, many).complete
