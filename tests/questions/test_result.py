"""Fronts, menus, reasons and comparisons as documents: read again they are the same, and can be verified."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from tests.soaking import forest_case, neighbour_case

import whence as wh
from whence.errors import InputError
from whence.examples import bakery, city
from whence.questions.menu import features_of
from whence.questions.result import Result


@pytest.fixture(scope="module")
def baker() -> tuple[wh.Policy, Any, Any]:
    """A policy, a day and another plan."""
    example = bakery.load(n=150)
    return example.policy.fit(example.X, example.Y), example.today, example.alternative


@pytest.fixture(scope="module")
def answers(baker: tuple[wh.Policy, Any, Any]) -> dict[str, Result]:
    """One answer of every kind."""
    policy, today, mine = baker
    other = {**today.to_dict(), "weekday": "Saturday", "temperature": 20.0}
    return {
        "front": policy.front(today, mine, kind="absolute"),
        "menu": policy.menu(today, mine),
        "reasons": policy.reasons(today, mine),
        "compare": policy.compare(other, today),
    }


KINDS = ["front", "menu", "reasons", "compare"]


@pytest.mark.parametrize("kind", KINDS)
def test_read_again(baker: tuple[wh.Policy, Any, Any], answers: dict[str, Result], kind: str, tmp_path: Path) -> None:
    """The same text, page and document; it is intact, verified by its policy, and not by another one."""
    policy, *_ = baker
    found = answers[kind]
    found.to_json(tmp_path / "answer.json")
    again = type(found).from_json(tmp_path / "answer.json")
    assert str(again) == str(found)
    assert again._repr_html_() == found._repr_html_()
    assert again.to_json() == found.to_json()
    assert again.intact
    assert found.intact is None
    checked = again.verify(policy)
    assert checked.agrees, checked.differences
    other = bakery.load(n=120)
    stranger = other.policy.fit(other.X, other.Y)
    assert not again.verify(stranger).agrees
    if hasattr(again, "plot"):
        again.plot()


def test_proved_again(baker: tuple[wh.Policy, Any, Any], answers: dict[str, Result]) -> None:
    """With `prove`, every explanation is searched for once more."""
    for kind in ("front", "menu", "reasons"):
        checked = answers[kind].verify(baker[0], prove=True)
        assert checked.agrees, checked.differences
        assert checked.proved


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_document_is_noticed(
    baker: tuple[wh.Policy, Any, Any], answers: dict[str, Result], kind: str
) -> None:
    """Also where only a word was changed, and also after it was read and written once more."""
    found = answers[kind]
    document = {**found.to_dict(), "seconds": 77.0}
    again = type(found).from_dict(document)
    assert again.intact is False
    assert not again.verify(baker[0]).agrees
    assert not type(found).from_dict(again.to_dict()).verify(baker[0]).agrees


def test_what_does_not_fit_together_is_said(baker: tuple[wh.Policy, Any, Any], answers: dict[str, Result]) -> None:
    """Claims about the explanations that these do not bear out."""
    policy = baker[0]
    document = answers["front"].to_dict()
    document["answers"], document["allowed"] = document["answers"][::-1], list(range(1, len(document["answers"]) + 1))
    said = "\n".join(wh.Front.from_dict(document).verify(policy).differences)
    assert "farther away" in said
    assert "may change" in said
    menu = policy.menu(baker[1], up_to=2)
    document = menu.to_dict()
    document["answers"] = [*document["answers"], document["answers"][0]]
    document["features"] = [*document["features"], document["features"][0]]
    said = "\n".join(wh.Menu.from_dict({**document, "up_to": 3}).verify(policy).differences)
    assert "no smallest set" in said
    assert "said to be complete" in said
    document = answers["reasons"].to_dict()
    facts = list(document["facts"])
    assert len(facts) > 1
    document["needed"] = {facts[0]: document["needed"][facts[1]]}
    assert "does not change it" in "\n".join(wh.Reasons.from_dict(document).verify(policy).differences)
    document = answers["compare"].to_dict()
    document["contributions"][0]["contribution"] += 1.0
    assert "contributes" in "\n".join(wh.Comparison.from_dict(document).verify(policy).differences)


def test_reasons_are_proved_again(baker: tuple[wh.Policy, Any, Any], answers: dict[str, Result]) -> None:
    """That the facts settle it is searched for once more; that fewer do not, the explanations must show."""
    policy, today, mine = baker
    found = answers["reasons"]
    assert isinstance(found, wh.Reasons)
    assert found.proof is not None
    assert found.verify(policy, prove=True).remarks == []
    first = next(iter(found))
    # One fact less than was proved.
    fewer = {name: fact for name, fact in found.facts.items() if name != first}
    needed = {name: why for name, why in found.needed.items() if name != first}
    less = replace(found, facts=fewer, needed=needed, written=found.written[1:])
    assert "The proof is about fewer contexts than the reasons speak of." in less.verify(policy).differences
    # A proof that does not fix it, which a search refutes.
    wrong = structs.replace(found.proof, asked={**found.proof.asked, "fixed": list(fewer)})
    said = "\n".join(replace(found, proof=wrong).verify(policy, prove=True).differences)
    assert f"The fact {first!r} is not fixed in the proof." in said
    assert "A new search ends as 'optimal', the explanation as 'none'." in said
    # One more than it takes.
    other = next(name for name in policy.schema_.names if name not in found.facts)
    more = {**found.facts, other: today[other]}
    proof = policy.explain(today, mine, fixed=list(more))
    many = replace(found, facts=more, written=(*found.written, "so"), proof=proof)
    assert "The explanations do not show that no set of fewer facts settles it." in many.verify(policy).differences
    other_fact = replace(found, facts={**found.facts, first: "another"}).verify(policy).differences
    assert any("in the proof. The reasons say 'another'." in text for text in other_fact)


def test_menus_are_proved_again(baker: tuple[wh.Policy, Any, Any], answers: dict[str, Result]) -> None:
    """That no other set would do is searched for once more, also where answers were left out."""
    policy, today, mine = baker
    menu = answers["menu"]
    assert isinstance(menu, wh.Menu)
    assert menu.proof is not None
    assert len(menu) > 1
    lost = replace(menu, answers=menu.answers[1:])
    assert any("smallest sets are not those" in text for text in lost.verify(policy).differences)
    hidden = replace(lost, sets=tuple(one for one in menu.sets or () if set(one) != set(features_of(menu[0]))))
    assert hidden.verify(policy).agrees
    said = hidden.verify(policy, prove=True).differences
    assert said == ["Other sets: A new search ends as 'optimal', the explanation as 'none'.", *said[1:]]
    spread = policy.menu(today, mine, apart=5.0)
    assert spread.left_out > 0
    assert wh.Menu.from_json(spread.to_json()).verify(policy, prove=True).agrees
    # A document from before menus carried their proof.
    old = {name: entry for name, entry in menu.to_dict().items() if name not in ("sets", "proof", "fingerprint")}
    assert any("not proved again" in text for text in wh.Menu.from_dict(old).verify(policy).remarks)


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("front", {"schema": "whence/front/2"}, "'schema' of the front must be 'whence/front/1'"),
        ("front", {"allowed": [2, 1]}, "'allowed'"),
        ("front", {"complete": "yes"}, "'complete' of the front must be true or false"),
        ("front", {"answers": [{}, {}]}, "answers[0]"),
        ("menu", {"features": []}, "'features' of the menu"),
        ("menu", {"status": "fine"}, "'status' of the menu must be one of"),
        ("reasons", {"written": []}, "'written'"),
        ("reasons", {"facts": {"rain": [1]}}, "facts.rain"),
        ("compare", {"costs": {}}, "'costs'"),
        ("compare", {"decided": {"before": "x", "after": 3}}, "'decided'"),
        ("compare", {"turn": "much"}, "'turn' of the comparison must be a number"),
        ("compare", {"shown": []}, "'shown'"),
    ],
)
def test_what_is_no_such_document_is_refused(
    answers: dict[str, Result], kind: str, changes: dict[str, Any], said: str
) -> None:
    """One sentence names the entry that does not fit."""
    with pytest.raises(InputError) as refused:
        type(answers[kind]).from_dict({**answers[kind].to_dict(), **changes})
    assert said in str(refused.value)
    for document in (None, [], "text", {}):
        with pytest.raises(InputError):
            type(answers[kind]).from_dict(document)
    with pytest.raises(InputError):
        type(answers[kind]).from_json("{")


def test_routes_and_awkward_data() -> None:
    """Routes with categories, 30 forests and neighbours over awkward data: what is written is read and verified."""
    example = city.load(n=120)
    policy = example.policy.fit(example.X, example.Y)
    found = policy.compare(example.X.iloc[3], example.today)
    again = wh.Comparison.from_json(found.to_json())
    assert again.plan_after == found.plan_after
    assert again.verify(policy).agrees
    seen = 0
    for seed in range(15):
        for case in (forest_case(seed), neighbour_case(seed)):
            for one in (
                case.policy.menu(case.context, case.instead, up_to=2),
                case.policy.reasons(case.context, case.instead),
            ):
                text = one.to_json()
                assert text is not None
                same = type(one).from_dict(json.loads(text))
                assert same.text == one.text
                # The plans of these cases are for their own problem to read: verified as they were.
                checked = one.verify(case.policy, prove=seed in (0, 7))
                assert checked.agrees, (seed, checked.differences)
                seen += len(one)
    assert seen > 30


def test_a_stopped_question_says_so(baker: tuple[wh.Policy, Any, Any]) -> None:
    """Who says no between two quick searches is heard as well; the seconds are those of all of them."""
    policy, today, mine = baker
    heard: list[float] = []

    def stop(progress: wh.Progress) -> bool:
        heard.append(progress.seconds)
        return len(heard) < 3

    assert policy.menu(today, mine, on_progress=stop).status == "interrupted"
    assert heard == sorted(heard)
    heard.clear()
    assert policy.reasons(today, mine, on_progress=stop).status in ("interrupted", "proved")
    heard.clear()
    assert not policy.front(today, mine, kind="absolute", on_progress=lambda progress: False).complete
    heard.clear()
    stopped = policy.compare({**today.to_dict(), "temperature": 20.0}, today, on_progress=lambda progress: False)
    assert np.isfinite(stopped.turn)
