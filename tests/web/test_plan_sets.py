"""Questions without a plan over HTTP: what would change the plan, and when a plan of a set would be right."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
from tests.web.live import Live, finished, running

from whence.project.sections import ExplainDefaults
from whence.web.scenes import Scene


def question(client: httpx.Client, scene: str, **asked: Any) -> httpx.Response:
    """The answer to a question about today's context."""
    context = client.get(f"/api/scenes/{scene}").json()["context"]
    body = json.dumps({"context": context, **asked})
    headers = {"content-type": "application/json"}
    return client.post(f"/api/scenes/{scene}/explanations", content=body, headers=headers)


def answered(client: httpx.Client, scene: str, **asked: Any) -> dict[str, Any]:
    """The result of such a question."""
    posted = question(client, scene, **asked)
    assert posted.status_code == 202, posted.text
    told = finished(client, posted.json()["job"])
    assert told["state"] == "done", told
    result: dict[str, Any] = told["result"]
    return result


def scene_of(live: Live, name: str) -> Scene:
    """The scene itself."""
    found: Scene = live.app.state.scenes[name]
    return found


@pytest.mark.parametrize("asked", [{}, {"instead": "any"}, {"plan": None}, {"margin": 0.05}])
def test_without_a_plan_it_says_what_would_change_the_plan(
    client: httpx.Client, live: Live, asked: dict[str, Any]
) -> None:
    """The answer is the policy's own, and names the plan that takes over, with what it costs there."""
    told = answered(client, "bakery", **asked)
    scene = scene_of(live, "bakery")
    why = scene.policy.explain(scene.today, margin=asked.get("margin"))
    found, then = told["explanation"], told["then"]
    assert found["status"] == why.status == "optimal"
    assert found["distance"] == pytest.approx(why.distance)
    assert found["among"] == "another plan"
    assert then["alternative"]["plan"] == pytest.approx(why.alternative)
    assert then["alternative"]["cost"] == pytest.approx(then["cost"])
    assert then["decision"]["cost"] > (1 + asked.get("margin", 0.01)) * then["cost"]


def test_usual_contexts_and_rules_of_sets(client: httpx.Client, live: Live) -> None:
    """A question may ask for both; what a project says of them is for single plans."""
    found = answered(client, "bakery", instead="any", plausible=0.2, rule=True)["explanation"]
    scene = scene_of(live, "bakery")
    why = scene.policy.explain(scene.today, plausible=0.2)
    assert found["plausible"] == 0.2
    assert found["distance"] == pytest.approx(why.distance)


@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize(
    ("scene", "plans"),
    [
        ("bakery", {"at_least": {"croissants": 90}}),
        ("bakery", {"at_most": {"rolls": 200}, "at_least": {"rye bread": 60}}),
        ("city", {"through": ["Tannery"], "avoiding": ["Old Bridge"]}),
        ("strange", {"through": [[0, 2]]}),
    ],
)
def test_a_set_of_plans(client: httpx.Client, live: Live, scene: str, plans: dict[str, Any], kind: str) -> None:
    """A set as plain data is the set of the library: same status and distance, and the plan shown belongs to it."""
    told = answered(client, scene, instead=plans, kind=kind)
    own = scene_of(live, scene)
    chosen = own.instead_of(None, plans)
    why = own.policy.explain(own.today, chosen, kind=kind)
    assert told["explanation"]["status"] == why.status
    assert told["explanation"]["among"] == chosen.words
    assert float(told["explanation"]["distance"]) == pytest.approx(why.distance)
    if told["then"] is not None:
        assert chosen.check(own.plan_of(told["then"]["alternative"]["plan"])) is None


@pytest.mark.parametrize(
    ("scene", "asked", "said"),
    [
        ("bakery", {"instead": "many"}, "must be 'any'"),
        ("bakery", {"instead": {}}, "'any'"),
        ("bakery", {"instead": {"through": ["Tannery"]}}, "at_least"),
        ("bakery", {"instead": {"solve": [1]}}, "at_least"),
        ("bakery", {"instead": {"at_least": {"scones": 3}}}, "scones"),
        ("bakery", {"instead": {"at_least": {"rolls": 9000}}}, "560"),
        ("bakery", {"instead": {"at_least": {"rolls": float("nan")}}}, "at_least"),
        ("bakery", {"instead": {"at_least": {"rolls": [1, 2, 3]}}}, "'instead' cannot be read"),
        ("bakery", {"instead": {"at_least": 5}}, "'instead' cannot be read"),
        ("bakery", {"instead": {"only": 5}}, "'instead' cannot be read"),
        ("bakery", {"instead": {"only": []}}, "at least one plan"),
        ("bakery", {"instead": "any", "kind": "absolute"}, "'kind' must be 'relative'"),
        ("bakery", {"instead": "any", "plan": [300, 80, 80, 30]}, "Got both"),
        ("city", {"instead": {"through": ["Atlantis"]}}, "Atlantis"),
        ("city", {"instead": {"avoiding": ["Depot"]}}, "none avoids it"),
        ("city", {"instead": {"through": ["Tannery"], "avoiding": ["Tannery"]}}, "No route"),
    ],
)
def test_a_wrong_set_is_refused_at_once(client: httpx.Client, scene: str, asked: dict[str, Any], said: str) -> None:
    """One sentence says what is wrong with it, and no search starts."""
    answer = question(client, scene, **asked)
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["detail"]


def test_what_a_project_asks_is_asked_of_sets(live: Live) -> None:
    """What would change the plan keeps to the project's margin, usual contexts, and share of true answers."""
    defaults = ExplainDefaults(holds=0.9, plausible=0.1, margin=0.03)
    with running([replace(scene_of(live, "bakery"), defaults=defaults)]) as own, own.client() as client:
        told = answered(client, "bakery")
        assert told["explanation"]["margin"] == [0.03, 0.0]
        assert told["then"]["decision"]["cost"] > 1.03 * told["then"]["cost"]
        assert told["explanation"]["plausible"] == 0.1
        assert told["explanation"]["usual"] >= 0.1
        assert told["explanation"]["reliance"]["wanted"] == 0.9


@pytest.mark.parametrize("most", [1, 2])
def test_few_changes(client: httpx.Client, live: Live, most: int) -> None:
    """A plan and a set of plans with at most so many changes: the answers are the policy's own."""
    scene = scene_of(live, "bakery")
    plans = {"at_least": {"croissants": 90}}
    for asked, instead in (
        ({"plan": scene.policy.problem.to_plain(scene.alternative), "holds": False}, scene.alternative),
        ({"instead": plans}, scene.instead_of(None, plans)),
    ):
        told = answered(client, "bakery", kind="absolute", max_changes=most, **asked)["explanation"]
        # Where a plan is of quantities, the page counts what is within 1 % as best.
        why = scene.policy.explain(scene.today, instead, kind="absolute", max_changes=most, within=0.01)
        assert told["status"] == why.status
        assert float(told["distance"]) == pytest.approx(why.distance)
        assert told["max_changes"] == most
        assert len(told["changes"]) <= most


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_of_changes_is_refused(client: httpx.Client, most: Any) -> None:
    """It must be a whole number, 1 or more."""
    answer = question(client, "bakery", max_changes=most)
    assert answer.status_code == 422
    assert "max_changes" in answer.json()["detail"]
