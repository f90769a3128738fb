"""Other questions over HTTP: fronts, menus, reasons and comparisons are the policy's own, as jobs like explanations."""

from __future__ import annotations

import html
import json
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.web.live import FINISHED, Live, hard_scene, running, until

import whence as wh
from whence.web import series_jobs as other_answers
from whence.web.scenes import Scene

KINDS = {"fronts": wh.Front, "menus": wh.Menu, "reasons": wh.Reasons, "comparisons": wh.Comparison}


def question(client: httpx.Client, scene: str, path: str, **asked: Any) -> httpx.Response:
    """The answer to a question about today's context."""
    context = client.get(f"/api/scenes/{scene}").json()["context"]
    given = {"after": context} if path == "comparisons" else {"context": context}
    return client.post(f"/api/scenes/{scene}/{path}", json={**given, **asked})


def waited(client: httpx.Client, job: str, seconds: float = 60.0) -> dict[str, Any]:
    """The job once its state is its last."""
    told: dict[str, Any] = {}

    def over() -> bool:
        told.update(client.get(f"/api/answers/{job}", params={"wait": 5}).raise_for_status().json())
        return told["state"] in FINISHED

    until(over, seconds)
    return told


def answered(client: httpx.Client, scene: str, path: str, **asked: Any) -> dict[str, Any]:
    """The finished job of such a question."""
    posted = question(client, scene, path, **asked)
    assert posted.status_code == 202, posted.text
    assert posted.headers["location"] == f"../../answers/{posted.json()['job']}"
    told = waited(client, posted.json()["job"])
    assert told["state"] == "done", told
    return told


def scene_of(live: Live, name: str) -> Scene:
    """The scene itself."""
    found: Scene = live.app.state.scenes[name]
    return found


def own_answer(scene: Scene, path: str, instead: Any, **asked: Any) -> Any:
    """What the policy says itself."""
    name = {"fronts": "front", "menus": "menu", "reasons": "reasons"}[path]
    return getattr(scene.policy, name)(scene.today, instead, **asked)


@pytest.mark.parametrize("path", ["fronts", "menus", "reasons"])
@pytest.mark.parametrize(
    ("scene", "asked"),
    [
        ("bakery", {"plan": [319, 105, 93, 43], "kind": "absolute", "within": 0.0}),
        ("bakery", {"fixed": ["rain"], "margin": 0.02}),
        ("strange", {"instead": {"through": [[0, 2]]}, "kind": "absolute"}),
        ("strange", {"instead": "any"}),
    ],
)
def test_the_answer_is_the_policys_own(
    client: httpx.Client, live: Live, path: str, scene: str, asked: dict[str, Any]
) -> None:
    """Sentence, document and explanations; what the page can show of each of them is there as well."""
    told = answered(client, scene, path, **asked)
    own = scene_of(live, scene)
    given = {name: value for name, value in asked.items() if name not in ("plan", "instead")}
    said = own_answer(own, path, own.instead_of(asked.get("plan"), asked.get("instead")), **given)
    result = told["result"]
    assert result["sentence"] == said.text
    assert told["kind"] == asked.get("kind", "relative")
    assert not {"answers", "needed"} & set(result["answer"])
    held = list(said.needed.values()) if path == "reasons" else list(said)
    assert [float(one["explanation"]["distance"]) for one in result["explanations"]] == pytest.approx(
        [why.distance for why in held]
    )
    for one, why in zip(result["explanations"], held, strict=True):
        assert (one["then"] is None) == (why.context is None)
        assert bool(one["changes"]) == (len(why.changes) > 0)
    # The whole of it can be taken away, is read again, and verified.
    document = client.get(f"/api/answers/{told['job']}/answer.json")
    assert "attachment" in document.headers["content-disposition"]
    again = KINDS[path].from_json(document.text)
    assert again.text == said.text
    assert again.verify(own.policy).agrees
    report = client.get(f"/api/answers/{told['job']}/report.html")
    assert report.headers["content-type"].startswith("text/html")
    assert "<script>alert" not in report.text
    assert said.text.split("\n")[0] in html.unescape(report.text)


def test_prices_and_rules(client: httpx.Client, live: Live) -> None:
    """Prices at which the plan is right, those at which it is as good where it is best at none, and a few rules."""
    scene = client.get("/api/scenes/bakery").json()
    asked = {"context": scene["context"], "plan": scene["alternative"]}
    found = waited(client, client.post("/api/scenes/bakery/prices", json=asked).raise_for_status().json()["job"])
    assert found["result"]["answer"]["status"] in ("optimal", "already")
    best = client.post(
        "/api/scenes/bakery/prices", json={**asked, "kind": "absolute", "fixed": ["holding", "backorder"]}
    )
    none = waited(client, best.raise_for_status().json()["job"])
    assert none["result"]["answer"]["status"] == "none"
    assert client.post("/api/scenes/bakery/prices", json={**asked, "plan": [-1, 0, 0, 0]}).status_code == 422
    rules = client.post("/api/scenes/bakery/rules", json={"up_to": 2, "time_limit": 5}).raise_for_status().json()
    told = waited(client, rules["job"])
    assert len(told["result"]["answer"]["rules"]) == 2
    report = client.get(f"/api/answers/{told['job']}/report.html").raise_for_status().text
    assert "What does the policy do in general?" in report


def test_a_comparison(client: httpx.Client, live: Live) -> None:
    """Two contexts: contributions in money that add up to the turn, and both plans."""
    past = client.get("/api/scenes/bakery/observations/3").json()["context"]
    told = answered(client, "bakery", "comparisons", before=past)
    scene = scene_of(live, "bakery")
    said = scene.policy.compare(scene.row_of(past), scene.today)
    found = told["result"]["answer"]
    assert told["kind"] is None
    assert told["result"]["sentence"] == said.text
    assert sum(one["contribution"] for one in found["contributions"]) == pytest.approx(found["turn"])
    assert wh.Comparison.from_json(client.get(f"/api/answers/{told['job']}/answer.json").text).verify(scene.policy)


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        ("menus", {"up_to": 0}, "up_to"),
        ("menus", {"apart": -1}, "apart"),
        ("menus", {"holds": 0.9}, "holds"),
        ("fronts", {"max_changes": 2}, "max_changes"),
        ("fronts", {"up_to": 2}, "up_to"),
        ("reasons", {"instead": "any", "kind": "absolute"}, "'kind' must be 'relative'"),
        ("reasons", {"instead": {"at_least": {"scones": 1}}}, "scones"),
        ("menus", {"plan": [1, 2]}, "4"),
        ("menus", {"fixed": ["moon"]}, "moon"),
        ("comparisons", {}, "before"),
        ("comparisons", {"before": {"weekday": "Friday"}}, "The 'before' must give"),
        ("comparisons", {"before": {"weekday": "Friday", "temperature": "x", "rain": 0, "promotion": 0}}, "'before'"),
        ("comparisons", {"before": {}, "plan": [1]}, "plan"),
    ],
)
def test_what_is_wrong_is_refused_at_once(client: httpx.Client, path: str, asked: dict[str, Any], said: str) -> None:
    """One sentence says what is wrong with it, and no search starts."""
    answer = question(client, "bakery", path, **asked)
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["detail"]


def test_answers_and_explanations_are_kept_apart(client: httpx.Client) -> None:
    """The id of an answer is not that of an explanation, nor the other way round."""
    job = question(client, "bakery", "menus").json()["job"]
    other = client.post(
        "/api/scenes/bakery/explanations", json={"context": client.get("/api/scenes/bakery").json()["context"]}
    ).json()["job"]
    for path in (f"explanations/{job}", f"answers/{other}", f"explanations/{job}/report.html"):
        assert client.get(f"/api/{path}").status_code == 404
    assert client.delete(f"/api/answers/{other}").status_code == 404
    waited(client, job)


def test_more_answers_than_a_page_shows(client: httpx.Client, monkeypatch: pytest.MonkeyPatch, live: Live) -> None:
    """The page gets the nearest ones, and how many more the document has."""
    scene = scene_of(live, "bakery")
    found = scene.policy.menu(scene.today)
    assert len(found) > 1
    monkeypatch.setattr(other_answers, "SHOWN", 1)
    told = json.loads(zlib.decompress(other_answers.answered(scene, found, False).result))
    assert len(told["explanations"]) == 1
    assert told["left_off"] == len(found) - 1


# ---- searches without an end in sight ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def hard() -> Iterator[httpx.Client]:
    """A program that talks to a server with one worker, about a question that takes long."""
    with running([hard_scene()], time_limit=30.0) as server, server.client() as client:
        server.wait_for_workers()
        yield client


@pytest.mark.parametrize("path", ["menus", "fronts", "reasons"])
def test_cancelled(hard: httpx.Client, path: str) -> None:
    """It ends soon after, with what is known, and the worker lives on; progress counts the seconds of all searches."""
    own = hard.get("/api/scenes/hard").json()
    job = question(hard, "hard", path, plan=own["alternative"]).json()["job"]

    def under_way() -> bool:
        told = hard.get(f"/api/answers/{job}").json()
        return bool(told["progress"] and told["progress"]["seconds"] > 0.5)

    until(under_way, 30.0)
    hard.delete(f"/api/answers/{job}").raise_for_status()
    told = waited(hard, job, 20.0)
    assert told["state"] == "cancelled"
    assert hard.get("/api/health").json()["ready"] == 1


def test_time_limit(hard: httpx.Client) -> None:
    """A menu ends at its time limit, and says what was not settled."""
    own = hard.get("/api/scenes/hard").json()
    told = answered(hard, "hard", "menus", plan=own["alternative"], time_limit=1.0)
    assert told["result"]["answer"]["status"] == "time_limit"
    assert told["result"]["answer"]["seconds"] < 30.0
    assert "was not settled" in told["result"]["sentence"]
