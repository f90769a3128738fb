"""At most so many changes: against every cell and every vertex, both engines, and beside everything else."""

from __future__ import annotations

import numpy as np
import pytest
from tests import set_soaking
from tests.asking import searching, varied
from tests.blocks import seeds
from tests.changing import asked, few_disagree, forest_sets, nearest_with, neighbour_sets
from tests.forests import paper_forest
from tests.oracle import cells
from tests.soaking import forest_case, neighbour_case

import whence as wh
from whence.errors import InputError, InternalError
from whence.explain import pipeline as conductor
from whence.features.space import ChangeLimit
from whence.question import Question
from whence.search.search_engine import Search

#: Other ways to search, which large questions take: sharp splits, the strong bound, proposals at once.
WAYS = (
    {},
    {"patience": (1, 1), "sharp_from": (0, 0)},
    {"patience": (0, 0), "stalled": 0, "strong_from": (1, 1), "sharp_to": 0},
)


@pytest.mark.parametrize("block", seeds(3, 10))
def test_forests_against_every_cell(block: int) -> None:
    """400 questions over awkward data, every number of changes, all ways to search: the same distance, or none."""
    changed = 0
    for seed in range(40 * block, 40 * block + 40):
        known = forest_sets(seed)
        if known is None:
            continue
        case, sets = known
        with searching(**WAYS[seed // 2 % len(WAYS)]):
            assert few_disagree(case, sets) == "", seed
        changed += nearest_with(sets, 1) != min(sets.values(), default=np.inf)
    assert changed > 3


@pytest.mark.parametrize("block", seeds(1, 4))
def test_neighbours_against_every_vertex(block: int) -> None:
    """100 questions about neighbours, every number of changes: the same distance, or none alike."""
    for seed in range(25 * block, 25 * block + 25):
        assert few_disagree(*neighbour_sets(seed)) == "", seed


@pytest.mark.parametrize("make", [forest_case, neighbour_case])
def test_both_engines_agree(make: object) -> None:
    """The integer program and the search find the same distance for every number of changes."""
    for seed in range(1000, 1024):
        case = make(seed)  # type: ignore[operator]
        most = 1 + seed % max(1, len(case.policy.schema_.names) - 1)
        found = [
            case.policy.explain(case.context, case.instead, max_changes=most, engine=engine, **asked(case))
            for engine in ("search", "milp")
        ]
        assert found[0].status == found[1].status, seed
        assert found[0].distance == pytest.approx(found[1].distance, rel=1e-6, abs=1e-6), seed
        assert all(len(why.changes) <= most for why in found), seed


@pytest.mark.parametrize("make", [forest_case, neighbour_case])
def test_as_many_changes_as_features_change_nothing(make: object) -> None:
    """With all features allowed to change the answer is the plain one, bit for bit."""
    for seed in range(25):
        case = make(seed)  # type: ignore[operator]
        plain = case.policy.explain(case.context, case.instead, **asked(case))
        many = case.policy.explain(
            case.context, case.instead, max_changes=len(case.policy.schema_.names), **asked(case)
        )
        assert (plain.status, plain.distance, plain.bound, plain.nodes) == (
            many.status,
            many.distance,
            many.bound,
            many.nodes,
        )
        assert (plain.context is None) == (many.context is None)
        if plain.context is not None:
            assert plain.context.equals(many.context)


def test_threads_confidence_margin_and_plausible_contexts(bakery: wh.Policy, day: object) -> None:
    """Beside everything else, no more features change than asked for, and more changes never lie farther away."""
    instead = warm_saturday(bakery)
    for options in (
        {"threads": 2},
        {"confidence": 1.5},
        {"margin": 0.02},
        {"plausible": 0.1},
        {"holds": 0.8, "refits": "seed"},
    ):
        found = [bakery.explain(day, instead, max_changes=k, time_limit=60, **options) for k in (1, 2, 3)]
        assert all(len(why.changes) <= k for k, why in zip((1, 2, 3), found, strict=True))
        if "holds" not in options:
            distances = [why.distance for why in found]
            assert distances == sorted(distances, reverse=True)


@pytest.fixture(scope="module")
def bakery() -> wh.Policy:
    from whence.examples import bakery

    example = bakery.load()
    return example.policy.fit(example.X, example.Y)


@pytest.fixture(scope="module")
def day() -> object:
    return {"weekday": "Thursday", "temperature": 7.0, "rain": False, "promotion": False}


def warm_saturday(bakery: wh.Policy) -> object:
    """What is decided on another day: best of all only where two features change."""
    return bakery.decide({"weekday": "Saturday", "temperature": 20.0, "rain": False, "promotion": False})


def test_sentences_and_documents(bakery: wh.Policy, day: object) -> None:
    """An explanation says how many changes it was allowed, in words, in its certificate and in its document."""
    instead = warm_saturday(bakery)
    why = bakery.explain(day, instead, max_changes=1)
    assert "with at most one change" in str(why)
    again = wh.Explanation.from_json(why.to_json())
    assert (again.max_changes, str(again)) == (1, str(why))
    assert again.verify(bakery, prove=True).agrees
    assert "max_changes" not in bakery.explain(day, instead).to_dict()["question"]


def test_the_re_check_counts_changes(bakery: wh.Policy, day: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that changes more features than asked for is found out."""
    instead = warm_saturday(bakery)
    plain = bakery.explain(day, instead, kind="absolute")
    assert len(plain.changes) > 1
    monkeypatch.setattr(conductor, "change_limit", lambda *_: ChangeLimit(1))
    answer = Search().answer
    monkeypatch.setattr(Search, "answer", lambda self, question: answer(varied(question, few=None)))
    with pytest.raises(InternalError, match="More features change"):
        bakery.explain(day, instead, kind="absolute")


@pytest.mark.parametrize("given", [0, -1, 1.5, True, "2"])
def test_refusals(bakery: wh.Policy, day: object, given: object) -> None:
    """Anything but a positive whole number is refused in a sentence that names the parameter."""
    with pytest.raises(InputError, match="'max_changes' must be an int >= 1, or None") as error:
        bakery.explain(day, bakery.decide(day), max_changes=given)  # type: ignore[arg-type]
    assert error.value.parameter == "max_changes"


@pytest.mark.parametrize("block", seeds(1, 4))
def test_sets_of_plans(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For routes, quantities, lists and rules, some plan of the set: the nearest cell with so few changes."""
    monkeypatch.setattr(set_soaking, "cells", lambda question: with_at_most(cells(question), question, most))
    for seed in range(20 * block, 20 * block + 20):
        case = set_soaking.set_case(seed)
        most = 1 + seed % 2
        assert set_soaking.set_disagreement(case, max_changes=most) == "", seed


def with_at_most(points: np.ndarray, question: Question, most: int) -> np.ndarray:
    """Of these points, those at which at most so many features differ from the start."""
    group, moved = question.space.group, points != question.space.start
    count = moved[:, group < 0].sum(axis=1)
    for g in np.unique(group[group >= 0]):
        count += moved[:, group == g].any(axis=1)
    return points[count <= most]


@pytest.mark.parametrize("weights", [paper_forest(5, 3, random_state=0), wh.KNNWeights(4)])
def test_beside_relations(weights: object) -> None:
    """Where relations join features, both engines keep both, and menus and reasons do."""
    X = np.random.default_rng(0).random((16, 3)).round(2)
    policy = wh.Policy(wh.Newsvendor(1, 2), weights).fit(X, 10 + 10 * X[:, :1])
    asked = {"instead": [18.0], "relations": ["x0 <= x1"]}
    for most in (1, 2, 3):
        pair = [
            policy.explain([0.2, 0.3, 0.5], max_changes=most, engine=engine, **asked) for engine in ("search", "milp")
        ]
        assert pair[0].distance == pytest.approx(pair[1].distance, abs=1e-6)
        assert all(len(why.changes) <= most for why in pair)
        assert all(why.context is None or why.context["x0"] <= why.context["x1"] + 1e-9 for why in pair)
    free = policy.explain([0.2, 0.3, 0.5], **asked)
    assert pair[0].distance == pytest.approx(free.distance, abs=1e-6)
    assert policy.reasons([0.2, 0.3, 0.5], **asked).status == "proved"
    menu = policy.menu([0.2, 0.3, 0.5], up_to=2, **asked)
    assert menu.status == "complete"
    assert all(why.context["x0"] <= why.context["x1"] + 1e-9 for why in menu)
