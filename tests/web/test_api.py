"""The interface, asked by a program over a real connection."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from tests.web.live import STRANGE, Live, finished

from whence import __version__
from whence.explain.explanation import Explanation


def shown(client: httpx.Client, scene: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"/api/scenes/{scene}").raise_for_status().json()
    return answer


def asked(client: httpx.Client, scene: str, **changes: Any) -> dict[str, Any]:
    """The finished job of the scene's own question."""
    own = shown(client, scene)
    question = {"context": own["context"], "plan": own["alternative"], **changes}
    answer = client.post(f"/api/scenes/{scene}/explanations", json=question)
    assert answer.status_code == 202, answer.text
    there = answer.request.url.join(answer.headers["location"])
    assert there.path == f"/api/explanations/{answer.json()['job']}"
    return finished(client, answer.json()["job"])


def test_scenes_are_listed(client: httpx.Client) -> None:
    """The list names every scene with its title and question."""
    listed = client.get("/api/scenes").json()
    assert [scene["id"] for scene in listed] == ["bakery", "city", "strange"]
    assert all(set(scene) == {"id", "title", "question"} for scene in listed)


def test_a_scene_of_quantities(client: httpx.Client) -> None:
    """The bakery comes with a control a feature, and with its products and their budget."""
    scene = shown(client, "bakery")
    kinds = {feature["name"]: feature["kind"] for feature in scene["features"]}
    assert kinds == {
        "weekday": "categorical",
        "temperature": "continuous",
        "rain": "binary",
        "promotion": "binary",
    }
    temperature = scene["features"][1]
    assert temperature["unit"] == "°C"
    assert temperature["low"] <= scene["context"]["temperature"] <= temperature["high"]
    assert scene["plan"]["type"] == "quantities"
    assert scene["plan"]["budget"] == 560
    assert len(scene["plan"]["parts"]) == len(scene["plan"]["scale"]) == len(scene["alternative"]) == 4
    assert scene["observations"] == 200


def test_a_scene_of_routes(client: httpx.Client) -> None:
    """The city comes with its network: ids of edges are ids of nodes, positions are the data's own."""
    plan = shown(client, "city")["plan"]
    nodes = {node["id"] for node in plan["nodes"]}
    assert plan["type"] == "route"
    assert plan["drawn"]
    assert all(edge["from"] in nodes and edge["to"] in nodes for edge in plan["edges"])
    assert {plan["source"], plan["target"]} <= nodes
    assert {edge["name"] for edge in plan["edges"]} >= {"Ring Road", "Quay"}


def test_names_that_are_markup_and_nodes_that_are_pairs(client: httpx.Client) -> None:
    """A feature called <script> is a name like any other, a category over 0/1 columns one control, a pair a list."""
    scene = shown(client, "strange")
    assert [feature["name"] for feature in scene["features"]] == [STRANGE, "level", "kind"]
    assert scene["features"][1]["values"] == [1, 2, 3]
    assert scene["features"][2]["values"] == ["a", "b"]
    assert scene["plan"]["source"] == [0, 0]
    answer = client.post("/api/scenes/strange/decide", json={"context": scene["context"]})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["plan"][0] == [0, 0]
    plan = [[0, 0], [0, 1], [0, 2], [1, 2], [2, 2]]
    told = asked(client, "strange", plan=plan)
    assert told["state"] == "done"
    assert told["result"]["explanation"]["status"] in ("optimal", "already", "none")


def test_past_observations(client: httpx.Client) -> None:
    """A past observation is a context that can be decided for; there is none before the first or behind the last."""
    row = client.get("/api/scenes/strange/observations/3").json()
    assert row["row"] == 3
    assert set(row["context"]) == {STRANGE, "level", "kind"}
    assert client.post("/api/scenes/strange/decide", json={"context": row["context"]}).status_code == 200
    listed = client.get("/api/scenes/strange/observations", params={"start": 59, "count": 10}).json()
    assert [entry["row"] for entry in listed] == [59, 60]
    assert [entry["row"] for entry in client.get("/api/scenes/strange/observations").json()] == list(range(1, 51))
    assert client.get("/api/scenes/strange/observations", params={"start": 61}).json() == []
    assert client.get("/api/scenes/strange/observations/61").status_code == 404
    assert client.get("/api/scenes/strange/observations/0").status_code == 422


def test_observations_count_from_one_everywhere(client: httpx.Client, live: Live) -> None:
    """The number of an observation is that of the command and of the labels: 1 is the first row of the history."""
    for scene in ("city", "strange"):
        known = live.app.state.scenes[scene]
        first = client.get(f"/api/scenes/{scene}/observations/1").json()
        assert (first["row"], first["label"]) == (1, "1")
        assert first["context"] == known.context_of(known.policy.X_.iloc[[0]])
        decided = client.post(f"/api/scenes/{scene}/decide", json={"context": first["context"]}).json()
        weights = known.policy.weights_at(known.policy.X_.iloc[[0]])
        speaker = decided["speaking"][0]
        assert speaker["label"] == str(speaker["row"])
        assert speaker["weight"] == weights[speaker["row"] - 1]
    told = asked(client, "city")["result"]
    moved = told["explanation"]["observations"]["gaining"][0]
    row = client.get(f"/api/scenes/city/observations/{moved['label']}").json()
    assert row["context"] == moved["values"]


def test_a_context_outside_the_history_is_remarked_on(client: httpx.Client, live: Live) -> None:
    """Decision and explanation say, in the command's own words, which number the history has never seen."""
    own = shown(client, "bakery")
    held = live.app.state.scenes["bakery"].policy.X_["temperature"]
    there = {**own["context"], "temperature": 99}
    words = f"temperature 99 °C lies outside the history, which has {held.min():g} to {held.max():g} °C."
    assert client.post("/api/scenes/bakery/decide", json={"context": own["context"]}).json()["remarks"] == []
    assert client.post("/api/scenes/bakery/decide", json={"context": there}).json()["remarks"] == [words]
    asking = {"context": there, "plan": own["alternative"], "time_limit": 1}
    job = client.post("/api/scenes/bakery/explanations", json=asking).json()
    assert job["remarks"] == [words]
    assert finished(client, job["job"])["remarks"] == [words]


def test_decide_is_what_the_policy_decides(client: httpx.Client, live: Live) -> None:
    """Plan and cost are those of the policy itself; outcomes are a distribution, speakers have weights."""
    scene = live.app.state.scenes["bakery"]
    answer = client.post("/api/scenes/bakery/decide", json={"context": shown(client, "bakery")["context"]}).json()
    assert answer["plan"] == scene.policy.decide(scene.today).tolist()
    outcomes = answer["outcomes"]
    assert sum(outcomes["weights"]) == pytest.approx(1.0)
    assert outcomes["values"] == sorted(outcomes["values"])
    mean = sum(v * w for v, w in zip(outcomes["values"], outcomes["weights"], strict=True))
    assert mean == pytest.approx(answer["cost"])
    weights = [speaker["weight"] for speaker in answer["speaking"]]
    assert weights == sorted(weights, reverse=True)
    assert 0 < weights[0] < 1
    assert len(weights) <= 8 < answer["speakers"]


def test_decide_follows_the_context(client: httpx.Client) -> None:
    """Another context brings another plan."""
    context = shown(client, "bakery")["context"]
    plans = [
        client.post("/api/scenes/bakery/decide", json={"context": {**context, "weekday": day}}).json()["plan"]
        for day in ("Thursday", "Sunday")
    ]
    assert plans[0] != plans[1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weekday": "Caturday"}, "'weekday'"),
        ({"temperature": "warm"}, "'temperature'"),
        ({"rain": 7}, "'rain'"),
        ({"weekday": None}, "weekday"),
        ({"moon": "full"}, "'moon'"),
        ({"temperature": 1e300}, "'temperature' of 'context' must be a number of no more than 15 digits"),
        ({"temperature": [7]}, "'temperature' of 'context' must be a number"),
        ({"temperature": True}, "The feature 'temperature' of the 'context' must be a number. Got true instead."),
        ({"temperature": "5"}, "The feature 'temperature' of the 'context' must be a number. Got \"5\" instead."),
        ({"rain": "yes"}, "The feature 'rain' of the 'context' must be true or false. Got \"yes\" instead."),
    ],
)
def test_a_wrong_context_is_refused_with_a_sentence(client: httpx.Client, change: dict[str, Any], words: str) -> None:
    """What is wrong with a context is said, with the feature named."""
    context = {**shown(client, "bakery")["context"], **change}
    answer = client.post("/api/scenes/bakery/decide", json={"context": context})
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_what_is_no_json_is_refused_with_a_sentence(client: httpx.Client) -> None:
    """Broken JSON, other bytes and JSON that is no object are told apart from wrong contexts."""
    headers = {"content-type": "application/json"}
    for body, status, words in (
        (b'{"context": {}}}', 422, "must be JSON"),
        (b"[]", 422, "'request' cannot be read"),
        (b"", 422, "'request' cannot be read"),
        (b'{"context": {"\xff": 1}}', 400, "The request must be JSON that can be read: it is not UTF-8."),
        (b'{"context": ' * 20_000, 400, "can be read: it is nested too deeply."),
        (b'{"context": {"temperature": ' + b"9" * 5000 + b"}}", 400, "can be read: a number is too long."),
        (rb'{"context": {"\ud800": 1}}', 422, "'context'"),
    ):
        answer = client.post("/api/scenes/bakery/decide", content=body, headers=headers)
        assert answer.status_code == status, body
        assert words in answer.json()["detail"]


def test_check_of_plans(client: httpx.Client) -> None:
    """A feasible plan gets its cost in the context, an infeasible one a reason."""
    scene = shown(client, "city")
    ask = {"context": scene["context"], "plan": scene["alternative"]}
    good = client.post("/api/scenes/city/check", json=ask).json()
    assert good["feasible"]
    assert good["cost"] > 0
    assert good["text"].startswith("Depot → Tannery")
    bad = client.post("/api/scenes/city/check", json={**ask, "plan": ["Depot", "Hospital"]}).json()
    assert not bad["feasible"]
    assert bad["reason"] == "The route does not exist: there is no edge Depot -> Hospital."
    assert bad["cost"] is None


def test_check_names_the_budget(client: httpx.Client) -> None:
    """More than the oven holds is not feasible, and the sentence says by how much."""
    context = shown(client, "bakery")["context"]
    bad = client.post("/api/scenes/bakery/check", json={"context": context, "plan": [600, 0, 0, 0]}).json()
    assert not bad["feasible"]
    assert "40 more than the budget of 560" in bad["reason"]


@pytest.mark.parametrize("scene", ["bakery", "city"])
@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_explanations(client: httpx.Client, live: Live, scene: str, kind: str) -> None:
    """The answer over HTTP is the policy's own explanation, with what would be decided there."""
    told = asked(client, scene, kind=kind)
    assert told["state"] == "done", told
    known = live.app.state.scenes[scene]
    # Best of all means near the best where plans are quantities.
    within = 0.01 if (kind, scene) == ("absolute", "bakery") else 0.0
    why = known.policy.explain(known.today, known.alternative, kind=kind, within=within)
    explanation, then = told["result"]["explanation"], told["result"]["then"]
    assert explanation["status"] == why.status == "optimal"
    assert explanation["distance"] == pytest.approx(why.distance)
    assert told["result"]["sentence"] == str(why)
    assert then["context"] == known.context_of(why.context)
    assert then["alternative"]["cost"] == pytest.approx(why.cost_after.alternative)
    assert then["decision"]["cost"] == pytest.approx(why.cost_after.decision)
    assert then["cost"] <= then["alternative"]["cost"] + 1e-6
    if kind == "absolute":
        assert then["cost"] == pytest.approx(then["alternative"]["cost"], rel=max(1e-5, within))


def test_locks_and_limits(client: httpx.Client) -> None:
    """A locked feature stays, a limited one keeps to its limits."""
    told = asked(client, "bakery", fixed=["weekday"])
    changed = {change["feature"] for change in told["result"]["explanation"]["changes"]}
    assert "weekday" not in changed
    told = asked(client, "bakery", kind="absolute", bounds={"weekday": ["Sunday"], "temperature": [None, 10]})
    explanation = told["result"]["explanation"]
    if explanation["context"] is not None:
        assert explanation["context"]["weekday"] in ("Thursday", "Sunday")
        assert explanation["context"]["temperature"] <= 10


@pytest.mark.parametrize(
    "change",
    [
        {"plan": [600, 0, 0, 0]},
        {"plan": "all of it"},
        {"fixed": ["moon"]},
        {"bounds": {"moon": [0, 1]}},
        {"bounds": {"weekday": ["Caturday"]}},
        {"bounds": {"temperature": [5, 1]}},
        {"bounds": {"temperature": ["low", "high"]}},
        {"kind": "spiritual"},
        {"bounds": {"temperature": [True, 9]}},
        {"bounds": {"temperature": [0, 1, 2]}},
        {"plan": [True, 0, 0, 0]},
        {"plan": ["5", 0, 0, 0]},
        {"plan": [float("nan"), 0, 0, 0]},
        {"within": 0.02},
        {"kind": "absolute", "within": -0.02},
        {"time_limit": 0},
        {"time_limit": True},
        {"time_limit": "5"},
        {"surprise": 1},
    ],
)
def test_a_wrong_question_is_refused_at_once(client: httpx.Client, change: dict[str, Any]) -> None:
    """What the engine could not answer never becomes a job."""
    own = shown(client, "bakery")
    question = {"context": own["context"], "plan": own["alternative"], **change}
    headers = {"content-type": "application/json"}
    answer = client.post("/api/scenes/bakery/explanations", content=json.dumps(question), headers=headers)
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)


def test_take_away(client: httpx.Client) -> None:
    """Report and data of an answer are downloads; the data is a whole explanation."""
    told = asked(client, "city")
    report = client.get(f"/api/explanations/{told['job']}/report.html")
    assert report.headers["content-disposition"] == 'attachment; filename="whence-city-relative.html"'
    assert report.text.startswith("<!doctype html>")
    assert "Why not the southern ring road?" in report.text
    data = client.get(f"/api/explanations/{told['job']}/explanation.json")
    assert data.headers["content-disposition"].startswith("attachment")
    why = Explanation.from_dict(json.loads(data.text))
    assert str(why) == told["result"]["sentence"]


def test_what_is_not_there(client: httpx.Client) -> None:
    """Unknown scenes, jobs and files are 404 with a sentence."""
    for path in (
        "/api/scenes/moon",
        "/api/explanations/moon",
        "/api/explanations/moon/report.html",
        "/static/moon.js",
        "/static/..%2Fmodels.py",
        "/static/%2Fetc%2Fpasswd",
        "/docs",
        "/redoc",
    ):
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert "detail" in answer.json()
    assert client.delete("/api/explanations/moon").status_code == 404


def test_health_and_description(client: httpx.Client, live: Live) -> None:
    """The server says how it is, and describes itself."""
    live.wait_for_workers()
    health = client.get("/api/health").json()
    assert health["version"] == __version__
    assert health["ready"] == health["workers"] == 1
    paths = client.get("/api/openapi.json").json()["paths"]
    assert "/api/v1/scenes/{scene}/explanations" in paths
    assert not any(path.startswith("/static") for path in paths)


def test_a_number_is_never_made_of_something_else(client: httpx.Client) -> None:
    """A time limit of true or "5" is refused by its name; on and off may be 0 and 1."""
    own = shown(client, "bakery")
    for wrong in (True, "5"):
        question = {"context": own["context"], "plan": own["alternative"], "time_limit": wrong}
        answer = client.post("/api/scenes/bakery/explanations", json=question)
        assert answer.status_code == 422
        assert "'time_limit'" in answer.json()["detail"]
    texts = [
        client.post("/api/scenes/bakery/decide", json={"context": {**own["context"], "rain": rain}}).json()["text"]
        for rain in (True, 1)
    ]
    assert texts[0] == texts[1]


def test_an_address_with_a_slash_too_many_is_not_there(client: httpx.Client) -> None:
    """No answer sends a browser to an absolute address, which would be wrong behind a proxy."""
    answer = client.get("/api/scenes/")
    assert answer.status_code == 404
    assert "location" not in answer.headers


def test_how_good_the_decisions_are(client: httpx.Client) -> None:
    """The interface says what the policy costs on observations that it has not seen, the same every time."""
    told = client.get("/api/scenes/bakery/quality").raise_for_status().json()
    assert "on 200 rows it had not seen: " in told["text"]
    assert told["warning"] is False
    assert client.get("/api/scenes/bakery/quality").json() == told
    assert client.get("/api/scenes/nowhere/quality").status_code == 404
