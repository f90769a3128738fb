"""The desk: what assistants are told is what the project says itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.project.samples import write_city, write_project

from whence.assistants import desk as desk_module
from whence.assistants.desk import Desk
from whence.errors import InputError
from whence.project import Project
from whence.questions.answer_documents import ANSWERS, answer_from


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    folder = tmp_path_factory.mktemp("desk")
    (folder / "city").mkdir()
    small = write_project(folder / "small")
    quick = write_project(folder / "quick", f"{small.read_text('utf-8')}holds = false\n")
    return Desk.opened([small, write_city(folder / "city"), quick])


def test_a_project_is_called_after_its_folder_and_listed_once(desk: Desk, tmp_path: Path) -> None:
    assert desk.names == ["small", "city", "quick"]
    listed = desk.projects().projects
    assert [one.project for one in listed] == desk.names
    assert (listed[0].title, listed[0].observations) == ("Why not more?", 40)
    first, second = write_project(tmp_path / "a b" / "x"), write_project(tmp_path / "c" / "x")
    other = tmp_path / "c" / "x" / "Ä shop.toml"
    other.write_text(second.read_text("utf-8"), "utf-8")
    assert Desk.opened([first, second, other]).names == ["x", "x-2", "shop"]


def test_contexts_and_plans_are_described(desk: Desk) -> None:
    found = desk.features("small")
    assert [one.name for one in found.features] == ["temp", "rain", "day", "events"]
    assert found.features[0].unit == "°C"
    assert found.features[0].low < found.features[0].high
    assert set(found.features[2].values) == {"Monday", "Tuesday", "Wednesday"}
    assert (found.plan_form, found.plan_parts) == ("quantities", ["rolls", "cakes"])
    assert desk.decide(found.last, project="small").decision.plan == found.plan_example
    city = desk.features("city")
    assert city.plan_form == "route"
    assert {"home", "work"} <= set(city.plan_places)
    assert set(city.plan_streets) == {"A1", "B1"}
    assert "40 past observations" in desk.history("small")
    assert "- day: Monday (14), Tuesday (13), Wednesday (13)" in desk.history("small")


def test_a_decision_and_a_plan_of_ones_own_cost_what_the_policy_says(desk: Desk) -> None:
    policy = desk.find("small")[1].fitted()
    found = desk.decide([3, {"temp": 20}], "rolls=30, cakes=20", "small")
    row = desk.find("small")[1].context(["3", "temp=20"])
    assert found.decision.plan == pytest.approx(policy.decide(row).tolist())
    assert found.own is not None
    assert found.own.cost == pytest.approx(policy.weights_at(row) @ policy.problem.costs([30, 20], policy.Y_))
    refused = desk.decide(3, [90, 90], "small")
    assert refused.own is None
    assert "budget" in refused.own_refused
    assert "outside the history" in desk.decide([3, {"temp": 99}], project="small").remarks[0]


@pytest.mark.parametrize(
    ("name", "instead"), [("small", "row:7"), ("quick", "row:7"), ("quick", "at-most:rolls=30"), ("quick", None)]
)
def test_an_explanation_is_the_policys_with_its_proof(desk: Desk, name: str, instead: Any) -> None:
    project = desk.find(name)[1]
    found = desk.explain(3, instead, fixed=["rain"], project=name)
    whole = json.loads(desk.document(found.answer))
    holds = 0.9 if name == "small" else None
    own = project.fitted().explain(
        project.context(3), project.plan(instead or "any"), fixed=["rain"], holds=holds, time_limit=30
    )
    assert found.proof.status == own.status == whole["status"]
    assert found.proof.distance == pytest.approx(own.distance)
    assert found.proof.bound == pytest.approx(own.bound)
    assert found.proof.proved
    assert "roved" in found.proof.sentence
    assert [one.feature for one in found.changes] == list(own.changes["feature"])
    assert "rain" not in [one.feature for one in found.changes]
    share = None if own.reliance is None else own.reliance.share
    assert (found.reliance.share, found.reliance.share is None) == (share, name == "quick")
    assert found.reliance.sentence


def test_other_questions_keep_their_answers_to_be_verified(desk: Desk) -> None:
    menu = desk.menu(3, "row:7", 2, project="small")
    assert (menu.status, menu.proved) == ("complete", True)
    assert len(menu.ways) == len(json.loads(desk.document(menu.answer))["answers"]) > 0
    reasons = desk.reasons(3, "row:7", project="small")
    compare = desk.compare(3, 7, project="small")
    prices = desk.prices(3, "row:7", "relative", project="small")
    rules = desk.rules(2, 5.0, "small")
    for found in (menu, reasons, compare, prices, rules):
        assert found.text
        assert desk.verify(found.answer).agrees
    with pytest.raises(InputError, match="one plan here"):
        desk.prices(3, "any", "relative", project="small")


def test_a_document_is_verified_by_its_text_and_a_changed_one_differs(desk: Desk) -> None:
    found = desk.explain(3, "row:7", project="quick")
    text = desk.document(found.answer)
    assert desk.verify(text, True, project="quick").proved
    document = json.loads(text) | {"distance": 0.001}
    assert not desk.verify(json.dumps(document), project="small").agrees
    with pytest.raises(InputError, match="'project' must be one of"):
        desk.verify(text)
    for wrong in ("{", "never given"):
        with pytest.raises(InputError, match="'answer' must be"):
            desk.verify(wrong, project="small")


def test_only_the_last_answers_are_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "KEPT", 2)
    names = [desk.compare(3, 7, project="small").answer for _ in range(3)]
    desk.document(names[1])
    with pytest.raises(InputError, match="the last 2 are kept"):
        desk.document(names[0])


def test_an_evaluation_is_told_and_can_be_stopped(desk: Desk) -> None:
    found = desk.evaluate(project="small")
    assert found.rows == 40
    assert {"policy", "foresight", "sample average"} <= {one.name for one in found.table}
    with pytest.raises(InputError, match="stopped"):
        desk.evaluate(project="small", on_progress=lambda _: False)


def test_files_are_not_opened_and_the_limit_of_seconds_holds(desk: Desk, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"temp": 1, "rain": "no", "day": "Monday", "events": 1}', "utf-8")
    with pytest.raises(InputError, match="files are not opened here"):
        desk.decide(str(secret), project="small")
    secret.write_text("[30, 20]", "utf-8")
    with pytest.raises(InputError):
        desk.decide(3, str(secret), "small")
    assert desk.seconds(1e9) == 60.0
    assert desk.seconds(None, desk.find("small")[1]) == 30.0
    assert desk.seconds(5.0) == 5.0


def test_every_kind_of_answer_can_be_read_again() -> None:
    assert len(ANSWERS) == 7
    for schema in ANSWERS:
        with pytest.raises(InputError):
            answer_from({"schema": schema})


def test_the_share_that_is_asked_for_is_the_projects_or_the_usual_one(tmp_path: Path) -> None:
    text = write_project(tmp_path / "one").read_text("utf-8")
    wanted = {"": 0.9, "holds = 0.7": 0.7, "holds = false": None, "confidence = 2": None}
    for number, (said, share) in enumerate(wanted.items()):
        project = Project.load(write_project(tmp_path / f"p{number}", f"{text}\n{said}\n"))
        assert project.explain_defaults.share(project.fitted()) == share
