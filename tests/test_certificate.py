"""Certificates that are checked later: what was changed is noticed, what agrees is confirmed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor
from tests.cases import OneOf
from tests.forests import paper_forest
from tests.soaking import forest_case

import whence as wh
from whence.certificate import Verification, verify
from whence.errors import InputError, NotFittedError
from whence.examples import bakery, city
from whence.report.build import document_digest, question_digest
from whence.report.html import fragment

#: What no computation can know: how long it took, by what it was done. The document's own fingerprint covers it.
TOLD = ("seconds", "nodes", "cuts", "note", "versions")


def fitted(module: Any, weights: Any, risk: Any = None) -> wh.Policy:
    """A small policy of a built-in example."""
    example = module.load(n=40)
    return clone(example.policy).set_params(weights=weights, risk=risk).fit(example.X, example.Y)


FOREST = fitted(bakery, paper_forest(n_trees=8, max_depth=3, random_state=0))
KNN = fitted(bakery, wh.KNNWeights(k=4))
CITY = fitted(city, paper_forest(n_trees=8, max_depth=3, random_state=0), wh.CVaR(0.5))


def asked(policy: wh.Policy, **options: Any) -> wh.Explanation:
    """An explanation of the example that the policy belongs to; absolute ones of a plan that is best somewhere."""
    example = (city if policy is CITY else bakery).load(n=40)
    best = policy.decide(example.X.iloc[9])
    return policy.explain(example.today, best if options.get("kind") == "absolute" else example.alternative, **options)


#: Three weekdays that a question allows.
DAYS = ("Thursday", "Saturday", "Sunday")

QUESTIONS: dict[str, tuple[wh.Policy, dict[str, Any]]] = {
    "forest": (FOREST, {}),
    "absolute": (
        FOREST,
        {"kind": "absolute", "bounds": {"temperature": (None, 40), "weekday": ["Thursday", "Saturday"]}},
    ),
    "none": (FOREST, {"fixed": "weekday", "bounds": {"temperature": (0, 9)}}),
    "neighbours": (KNN, {"separation": 1e-4}),
    "neighbours absolute": (KNN, {"kind": "absolute"}),
    "already": (KNN, {"tolerance": 10.0}),
    "time limit": (KNN, {"kind": "absolute", "node_limit": 2}),
    "milp": (KNN, {"engine": "milp", "mip_gap": 0.0, "solver": "highs"}),
    "city": (CITY, {}),
    "city absolute": (CITY, {"kind": "absolute"}),
}


@pytest.fixture(scope="module", params=list(QUESTIONS))
def case(request: pytest.FixtureRequest) -> tuple[wh.Policy, wh.Explanation]:
    """A policy and one of its explanations."""
    policy, options = QUESTIONS[request.param]
    return policy, asked(policy, **options)


def checked(document: dict[str, Any], policy: wh.Policy, prove: bool = False) -> Verification:
    """How a document compares with a policy."""
    return verify(wh.Explanation.from_dict(document), policy, document=document, prove=prove)


def test_what_was_written_agrees(case: tuple[wh.Policy, wh.Explanation]) -> None:
    """An explanation agrees with its policy: as it is, as it is read again, and when its proof is made once more."""
    policy, why = case
    again = wh.Explanation.from_json(why.to_json())
    for one in (why, why.light(), again):
        assert one.verify(policy).differences == []
    found = again.verify(policy, prove=True)
    assert found.differences == []
    assert found.proved is True
    assert bool(found)
    assert str(found) == "Everything that was computed again agrees."


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every single value of a document, and the way to it."""
    if isinstance(value, dict) and value:
        for name, entry in value.items():
            yield from leaves(entry, (*path, name))
    elif isinstance(value, list) and value:
        for i, entry in enumerate(value):
            yield from leaves(entry, (*path, i))
    else:
        yield path, value


def other(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.01 + 0.01
    if isinstance(value, str):
        return "1.5" if value == "Infinity" else f"{value}x"
    return {None: 1}.get(value, "x") if value is None else ["x"] if value == [] else {"x": 1}


def changed(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy of a document with one entry replaced."""
    made = copy.deepcopy(document)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return made


def forged(document: dict[str, Any]) -> dict[str, Any]:
    """A document whose own fingerprints have been made to fit."""
    if "question" in document:
        document["fingerprints"]["question"] = question_digest(document)
    document["fingerprints"]["document"] = document_digest(document)
    return document


def retold(document: dict[str, Any]) -> dict[str, Any]:
    """A document whose sentences and charts have been made to fit its entries."""
    again = wh.Explanation.from_dict(document).to_dict()
    return {**document, **{name: again[name] for name in ("text", "shown", "spread")}}


def unreadable(document: dict[str, Any]) -> bool:
    """Whether a document is refused when it is read."""
    try:
        wh.Explanation.from_dict(document)
    except InputError:
        return True
    return False


def ends(entries: Iterable[tuple[tuple[Any, ...], Any]]) -> list[tuple[tuple[Any, ...], Any]]:
    """The first and the last entry of every list, and all that is in none."""
    found: dict[Any, list[tuple[tuple[Any, ...], Any]]] = {}
    for path, value in entries:
        found.setdefault(tuple("#" if isinstance(step, int) else step for step in path), []).append((path, value))
    return [entry for alike in found.values() for entry in (alike[:1] + alike[1:][-1:])]


def sampled(document: dict[str, Any]) -> list[tuple[tuple[Any, ...], Any]]:
    """The claims of a document, the first and the last of each long list."""
    apart = (*TOLD, "fingerprints", "question", "schema")
    return ends((path, value) for path, value in leaves(document) if path[0] not in apart)


@pytest.mark.parametrize("name", ["forest", "none", "neighbours", "city absolute"])
def test_every_single_change_is_noticed(name: str) -> None:
    """Whatever one entry of the document is changed, or taken out, or added: its fingerprint does not fit any more."""
    policy, options = QUESTIONS[name]
    document = json.loads(json.dumps(asked(policy, **options).to_dict()))
    entries = ends(leaves(document))
    assert len(entries) > 100
    for path, value in entries:
        made = changed(document, path, other(value))
        assert unreadable(made) or wh.Explanation.from_dict(made).intact is False, path
    for entry in document:
        made = {key: value for key, value in document.items() if key != entry}
        assert unreadable(made) or wh.Explanation.from_dict(made).intact in (False, None), entry
    assert wh.Explanation.from_dict({**document, "more": 1}).intact is False
    shuffled = json.loads(json.dumps(document, sort_keys=True, indent=7))
    assert wh.Explanation.from_dict(shuffled).intact is True


def test_a_changed_document_is_told(case: tuple[wh.Policy, wh.Explanation]) -> None:
    """A change is told by verification, and does not become sound by being read and written once more."""
    policy, why = case
    made = {**why.to_dict(), "seconds": 99.0}
    said = "The document was changed after it was written: its fingerprint does not fit its content."
    assert checked(made, policy).differences[0] == said
    again = wh.Explanation.from_dict(made)
    assert again.verify(policy).differences == [said]
    assert checked(again.to_dict(), policy).differences == [said]


@pytest.mark.parametrize(
    "name", ["forest", "neighbours", "city absolute", pytest.param("none", marks=pytest.mark.long)]
)
def test_every_changed_claim_is_noticed_by_computing_it_again(name: str) -> None:
    """Also where all fingerprints of the document were made to fit, a changed claim does not pass."""
    policy, options = QUESTIONS[name]
    document = json.loads(json.dumps(asked(policy, **options).to_dict()))
    missed = []
    for path, value in sampled(document):
        if "room" in path or path[-1] in TOLD or "versions" in path:
            continue
        made = forged(changed(document, path, other(value)))
        if not unreadable(made) and checked(made, policy).agrees:
            missed.append(path)
    assert missed == []


def test_a_room_that_is_too_wide_is_noticed() -> None:
    """A smaller room than the largest is true, a larger one is not."""
    document = asked(KNN).to_dict()
    (name, (low, high)), *_ = document["room"].items()
    wide = forged(changed(document, ("room", name), [low, high + 5 * (high - low) + 1.0]))
    assert f"The room of '{name}' is said to be" in checked(wide, KNN).differences[0]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("distance",), 0.5, "The bound must not exceed the distance, 0.5"),
        (("cost_after", "alternative"), 1.0, "cost_after.alternative is 1.0 in the document and "),
        (("status",), "already", "The criterion does not hold in the initial context, as the status 'already' says"),
        (("risk",), "CVaR at 0.9", "risk is 'CVaR at 0.9' in the document and 'expected cost' computed again."),
        (("context", "weekday"), "Friday", "The alternative costs "),
        (("context", "weekday"), "Someday", "The question cannot be put to this policy: "),
        (("kind",), "absolute", "The question was 'relative', the answer is 'absolute'."),
        (("engine",), "search (nearest neighbours)", "engine is 'search (nearest neighbours)' in the document"),
        (("plans", "decision", 0), 1.0, "The policy decides otherwise in the initial context"),
        (("fingerprints", "model"), "0" * 64, "The model is not the one behind the explanation."),
        (("text",), "All is well.", "text is 'All is well.' in the document"),
        (("more",), 1, "more is in the document, but no entry of that name belongs there."),
    ],
)
def test_what_differs_is_said(path: tuple[Any, ...], value: Any, expected: str) -> None:
    """Each difference is one plain line."""
    made = forged(changed(asked(FOREST).to_dict(), path, value))
    lines = checked(made, FOREST).differences
    assert any(line.startswith(expected) for line in lines), lines
    assert all("\n" not in line and line.endswith(".") for line in lines)


def test_a_bound_that_was_never_proved() -> None:
    """A status or a bound that says too much passes a plain check with a remark, and fails when it is proved again."""
    policy, _ = QUESTIONS["time limit"]
    document = asked(policy, kind="absolute", time_limit=1e-9).to_dict()
    true = asked(policy, kind="absolute").distance
    made = forged(retold({**document, "bound": 3 * true + 1.0}))
    plain = checked(made, policy)
    assert plain.differences == []
    assert plain.remarks[-1] == "Whether anything is nearer was not searched for again."
    assert "A new search finds a context at distance" in checked(made, policy, prove=True).differences[0]

    none = {**document, "status": "none", "bound": "Infinity", "distance": "Infinity", "context": None}
    none |= {"cost_after": None, "changes": [], "room": {}, "ranges": {}}
    found = checked(forged(retold(none)), policy, prove=True)
    assert "A new search ends as 'optimal', the explanation as 'none'." in found.differences


def test_a_search_that_does_not_end() -> None:
    """A new search that runs out of time says so and proves nothing."""
    why = asked(FOREST, kind="absolute")
    found = why.verify(FOREST, prove=True, time_limit=1e-9)
    assert found.proved is False
    assert "A new search did not end" in found.remarks[0]


def test_another_policy() -> None:
    """Another model, another history, another problem: each is named, and so is what it changes."""
    example = bakery.load(n=40)
    why = asked(FOREST)
    other_model = clone(FOREST).set_params(weights__random_state=1).fit(example.X, example.Y)
    assert why.verify(other_model).differences[0] == "The model is not the one behind the explanation."
    dearer = clone(FOREST).set_params(problem=wh.Newsvendor(1, 2)).fit(example.X, example.Y)
    assert why.verify(dearer).differences[0] == "The problem is not the one behind the explanation."
    shorter = clone(FOREST).fit(example.X[:30], example.Y[:30])
    assert why.verify(shorter).differences[:2] == [
        "The model is not the one behind the explanation.",
        "The history is not the one behind the explanation.",
    ]
    fewer = clone(FOREST).set_params(schema=None).fit(example.X[["temperature", "rain"]], example.Y)
    assert "The question cannot be put to this policy" in why.verify(fewer).differences[-1]
    with pytest.raises(NotFittedError):
        why.verify(clone(FOREST))


def test_documents_from_before_fingerprints() -> None:
    """A document without fingerprints and without its question is read and checked as far as it goes, and says so."""
    for policy, options in QUESTIONS.values():
        document = asked(policy, **options).to_dict()
        del document["fingerprints"], document["question"]
        found = checked(document, policy)
        assert found.differences == []
        assert "The document carries no fingerprint of model, history, problem" in found.remarks[0]
        if document["context"] is not None:
            wrong = changed(document, ("cost_after", "decision"), document["cost_after"]["decision"] + 1)
            assert checked(wrong, policy).differences != []
    stripped = asked(FOREST).to_dict()
    del stripped["fingerprints"]["document"]
    assert "none of itself: it was taken out" in checked(stripped, FOREST).differences[0]


def test_a_restriction_that_was_broken() -> None:
    """A context outside of what the question allowed is noticed."""
    document = asked(FOREST).to_dict()
    made = forged(changed(document, ("question", "fixed"), ["weekday"]))
    assert "lies outside the allowed contexts" in checked(made, FOREST).differences[0]


def test_further_options_are_part_of_the_question() -> None:
    """Whatever option a question has, also one of a later version, is in its record and in its fingerprint."""
    one, two = (asked(KNN, engine="milp", mip_gap=gap).to_dict() for gap in (0.0, 1e-3))
    assert one["question"]["mip_gap"] == 0.0
    assert one["fingerprints"]["question"] != two["fingerprints"]["question"]
    limits = [asked(KNN, time_limit=limit).to_dict()["fingerprints"]["question"] for limit in (None, 60.0)]
    assert limits[0] == limits[1]


class Staffing(wh.DecisionProblem):
    """A problem of one's own whose plans are texts."""

    def __init__(self, rule: Callable[[float], float]) -> None:
        self.rule = rule

    def costs(self, decision: Any, Y: Any) -> Any:
        """Pay for those who came, and for those who were missing."""
        return np.abs(self.rule(float(len(decision))) - Y[:, 0])

    def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
        """The best of a few teams."""
        teams = ["A", "AB", "ABC", "ABCD"]
        return min(teams, key=lambda team: risk.of(self.costs(team, Y), weights))

    def describe(self, decision: Any, outcomes: Any = ()) -> str:
        """The team."""
        return str(decision)


def test_a_problem_of_ones_own() -> None:
    """What of a problem cannot be taken into its fingerprint is said; its plans and costs are checked all the same."""
    X = np.linspace(0, 1, 30)[:, None]
    policy = wh.Policy(Staffing(lambda size: size), wh.KNNWeights(k=3)).fit(X, 1 + 3 * X)
    why = wh.Explanation.from_json(policy.explain([0.1], instead="ABCD").to_json())
    found = why.verify(policy)
    assert found.differences == []
    assert found.remarks[0] == "The problem's fingerprint does not cover rule, whose state cannot be read."
    dearer = wh.Policy(Staffing(lambda size: 2 * size), wh.KNNWeights(k=3)).fit(X, 1 + 3 * X)
    assert why.verify(dearer).differences != []


def test_plans_that_are_bare_numbers() -> None:
    """Which of some plans, as a number: whatever is asked about it is read again and verified."""
    policy = forest_case(4).policy
    assert isinstance(policy.problem, OneOf)
    some, today, other = policy.problem.only([0, 1]), policy.X_.iloc[0], policy.X_.iloc[1]
    asked = [policy.explain(today, 1), policy.explain(today, some, kind="absolute")]
    asked += [policy.explain(today, margin=(0.1, "cost"))]
    for said in (*asked, policy.menu(today, some), policy.compare(today, other)):
        again = type(said).from_json(said.to_json())
        assert again.to_json() == said.to_json()
        assert again.verify(policy).agrees, again.verify(policy).differences


def test_what_only_the_integer_program_answers() -> None:
    """Relations among neighbours in the user's units, which the search does not know, are verified all the same."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(15).round(2), 1 + rng.random(15).round(2)])
    Y = 10 + 5 * X.sum(axis=1, keepdims=True)
    weights = wh.KNNWeights.of(KNeighborsRegressor(3, metric="manhattan").fit(X, Y))
    policy = wh.Policy(wh.Newsvendor(1, 3), weights).fit(X, Y)
    plan, relation = policy.decide(X[Y.argmax()]), "x0 + 0.7 <= x1"
    with pytest.raises(InputError, match="engine='milp'"):
        policy.explain(X[Y.argmin()], plan, relations=[relation])
    why = policy.explain(X[Y.argmin()], plan, relations=[relation], engine="milp")
    assert why.status == "optimal"
    assert wh.Explanation.from_json(why.to_json()).verify(policy).agrees


def test_categories_that_are_no_texts() -> None:
    """Categories that JSON knows only by their texts are found again."""
    X = pd.DataFrame({"day": pd.Categorical([pd.Timestamp(f"2024-01-0{1 + i % 4}") for i in range(40)])})
    X["warm"] = np.arange(40) % 7
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=3)).fit(X, np.arange(40)[:, None] % 4 * 10.0)
    why = policy.explain(X.iloc[0], instead=[20.0], bounds={"day": list(X["day"].cat.categories)})
    assert wh.Explanation.from_json(why.to_json()).verify(policy, prove=True).differences == []


def test_the_report_shows_fingerprints() -> None:
    """A report shows the beginnings of the fingerprints that its JSON file holds in full."""
    why = asked(FOREST)
    page = fragment(why)
    for name, text in why.to_dict()["fingerprints"].items():
        assert f"<td>{name}</td><td>{text[:16]}</td>" in page
    assert "Fingerprints" not in fragment(wh.Explanation.from_dict({**why.to_dict(), "fingerprints": None}))


def test_entries_that_occur_twice(tmp_path: Path) -> None:
    """A document in which an entry occurs twice is refused: of two, every reader takes another."""
    text = asked(FOREST).to_json()
    assert text is not None
    (tmp_path / "why.json").write_text(text.replace('"status":', '"status": "none", "status":', 1), "utf-8")
    with pytest.raises(InputError, match=r"It cannot be read: 'status' occurs twice\."):
        wh.Explanation.from_json(tmp_path / "why.json")


def test_how_good_the_policy_is_said_to_be() -> None:
    """Where it is known of as many rows, it is compared; otherwise a remark says that it was not."""
    policy = fitted(bakery, wh.KNNWeights(k=4))
    wh.evaluate(policy, cv=4)
    why = asked(policy)
    document = why.to_dict()
    assert verify(why, policy, document=document).agrees
    document["quality"]["cost"] *= 1.01
    document["fingerprints"]["document"] = document_digest(document)
    changed = verify(why, policy, document=document)
    assert [line.split(" is ")[0] for line in changed.differences] == ["quality.cost"]
    wh.evaluate(policy, cv=3, most_rows=30)
    others = verify(why, policy, document=why.to_dict())
    assert others.agrees
    assert any("40 rows then and on 30 now" in remark for remark in others.remarks)
    unknown = verify(why, clone(policy).fit(policy.X_, pd.DataFrame(policy.Y_, columns=policy.outcome_names_)))
    assert any("was not found out again" in remark for remark in unknown.remarks)


def test_what_restrictions_keep_away_was_found_by_the_engine_that_was_asked() -> None:
    """An answer of the integer program that restrictions leave none, verified as it was written."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 9, 40).astype(float), "b": rng.integers(0, 9, 40).astype(float)})
    Y = pd.DataFrame({"demand": 10 * X["a"] + rng.integers(0, 5, 40)})
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(5)).fit(X, Y)
    low, high = X["a"].idxmin(), X["a"].idxmax()
    why = policy.explain(X.loc[low], instead=policy.decide(X.loc[high]), fixed=["a"], engine="milp")
    assert why.status == "none"
    assert why.unrestricted is not None
    assert why.unrestricted.engine.startswith("milp")
    assert wh.Explanation.from_json(why.to_json()).verify(policy).agrees
