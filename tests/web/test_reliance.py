"""Answers to rely on, over HTTP: the nearest one first, the reliable one after it, and stopping in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import numpy as np
import pytest
from tests.web.live import Live, finished, running, strange_scene, until
from tests.web.slow import SECONDS, slow_scene

import whence as wh
from whence.explain.robust import HOLDS
from whence.project.sections import ExplainDefaults
from whence.web.scenes import Scene

PATIENT = 0.4


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """A server whose workers take their time for every refit, also in simulated worlds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECONDS, str(PATIENT))
        scenes = [slow_scene(), strange_scene(), frozen_scene(), foreign_scene(), told_scene()]
        with running(scenes, time_limit=600) as server:
            server.wait_for_workers()
            yield server


@pytest.fixture
def client(live: Live) -> Iterator[httpx.Client]:
    """A program that talks to it."""
    with live.client() as program:
        yield program
        until(lambda: program.get("/api/health").json()["running"] == 0, 60.0)


def frozen_scene() -> Scene:
    """A forest that was given fitted: nothing is known of its refits, but its library can fit it in other worlds."""
    return _given_fitted("frozen", 1)


def foreign_scene() -> Scene:
    """A forest that was given fitted to something else than the outcomes: it cannot be fitted again at all."""
    return _given_fitted("foreign", 2)


def _given_fitted(name: str, targets: int) -> Scene:
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    X = rng.random((80, 2))
    Y = 10 + 20 * X[:, :1]
    fitted_to = Y[:, 0] if targets == 1 else np.repeat(Y, targets, axis=1)
    forest = RandomForestRegressor(10, max_depth=3, random_state=0).fit(X, fitted_to)
    policy = wh.Policy(wh.Newsvendor(1, 2), wh.ForestWeights.of(forest)).fit(X, Y)
    return Scene(name, "Why?", "", policy, policy.X_.iloc[0], [25.0])


def told_scene() -> Scene:
    """A project that says what its answers must keep to."""
    asked = ExplainDefaults(margin=(0.5, "cost"), holds=False, plausible=0.05)
    return replace(slow_scene(), id="told", defaults=asked)


def ask(client: httpx.Client, scene: str = "slow", **more: Any) -> httpx.Response:
    own = client.get(f"/api/scenes/{scene}").json()
    plan = (
        own["alternative"]
        or client.post(f"/api/scenes/{scene}/decide", json={"context": own["context"]}).json()["plan"]
    )
    return client.post(f"/api/scenes/{scene}/explanations", json={"context": own["context"], "plan": plan, **more})


def with_nearest(client: httpx.Client, job: str) -> dict[str, Any]:
    """The job as soon as it has its nearest answer."""
    found: list[dict[str, Any]] = [{}]

    def there() -> bool:
        found[0] = client.get(f"/api/explanations/{job}", params={"wait": 1}).json()
        return found[0]["nearest"] is not None or found[0]["state"] not in ("queued", "running")

    until(there, 60.0)
    return found[0]


def test_nearest_first_then_what_is_true(client: httpx.Client, live: Live) -> None:
    """The nearest answer is there long before the worlds are; in the end share and answers are those of the library."""
    job = ask(client, holds=HOLDS, rule=True).raise_for_status().json()["job"]
    early = with_nearest(client, job)
    assert early["state"] == "running"
    assert early["result"] is None
    told = finished(client, job)
    known = live.app.state.scenes["slow"]
    why = known.policy.explain(known.today, known.alternative, holds=HOLDS)
    assert told["state"] == "done"
    result, near = told["result"]["explanation"], told["nearest"]["explanation"]
    assert near["distance"] == early["nearest"]["explanation"]["distance"] == pytest.approx(why.nearest.distance)
    assert result["distance"] == pytest.approx(why.distance)
    assert result["distance"] > near["distance"]
    assert result["reliance"]["share"] == pytest.approx(why.reliance.share)
    assert result["reliance"]["interval"] == pytest.approx(why.reliance.interval)
    assert result["reliance"]["worlds"]["worlds"] == 12
    assert HOLDS <= why.reliance.share < 1.0
    low, high = (round(100 * part) for part in why.reliance.interval)
    share = f"{round(100 * why.reliance.share)} % ({low} % to {high} %)"
    assert result["shown"]["agreed"] == f"You may rely on it: {share} of such answers are true."
    assert result["shown"]["where"] == "Where you may rely on it"
    assert result["shown"]["reliable"] is True
    # How often the nearest ones are: less often.
    assert result["reliance"]["worlds"]["curve"][0]["share"] < HOLDS
    # Learnt once: the worker knows it when it is asked again.
    again = finished(client, ask(client, holds=HOLDS).json()["job"])
    assert again["result"]["explanation"]["reliance"] == result["reliance"]


def test_cancelling_among_the_worlds(client: httpx.Client) -> None:
    """Stopped between the two answers, the nearest one stays, and it is said how many worlds there were, if any."""
    # Another kind of question than before, of which nothing was learnt yet.
    job = ask(client, holds=HOLDS, margin=0.02).json()["job"]
    assert with_nearest(client, job)["state"] == "running"
    client.delete(f"/api/explanations/{job}")
    told = finished(client, job)
    assert told["state"] == "cancelled"
    explanation = told["result"]["explanation"]
    worlds, said = explanation["reliance"].get("worlds"), explanation["shown"]["agreed"]
    if worlds is None:
        assert said == "How far you may rely on it is not known: there was no time to ask in simulated worlds."
        assert explanation["shown"]["where"] == "How far you may rely on it"
    else:
        assert worlds["worlds"] < 12
        assert f"There was time for {worlds['worlds']} of 12 worlds." in said


def test_nearest_first_then_what_is_stable(client: httpx.Client, live: Live) -> None:
    """Asked of refits, the nearest answer comes before them, too; what they agree on is stable and not called true."""
    job = ask(client, holds=HOLDS, refits="seed", rule=True).raise_for_status().json()["job"]
    early = with_nearest(client, job)
    assert early["state"] == "running"
    assert early["result"] is None
    nearest = early["nearest"]["explanation"]
    assert nearest["status"] == "optimal"
    assert nearest.get("held") is None
    brief = client.get(f"/api/explanations/{job}", params={"brief": True}).json()
    assert brief["nearest"] is None
    assert client.get(f"/api/explanations/{job}/report.html").status_code == 404
    told = finished(client, job)
    known = live.app.state.scenes["slow"]
    why = known.policy.explain(known.today, known.alternative, holds=HOLDS, refits="seed").with_rule(nearest=True)
    assert told["state"] == "done"
    result, near = told["result"]["explanation"], told["nearest"]["explanation"]
    assert why.nearest is not None
    assert result["distance"] == pytest.approx(why.distance)
    assert near["distance"] == pytest.approx(why.nearest.distance) == nearest["distance"]
    assert result["distance"] > near["distance"]
    assert result["reliance"]["chosen"] == {"times": why.reliance.chosen.times, "refits": 10}
    assert near["held"] == {"times": why.nearest.agreed.times, "refits": 20}
    assert near["shown"]["agreed"] == f"It turns narrowly: only {near['held']['times']} of 20 refits agree."
    assert result["shown"]["where"] == "Where refits agree"
    assert result["shown"]["agreed"].startswith("It is stable, which is not to say true: ")
    assert not result["shown"].get("reliable", False)
    assert result["shown"]["rule"] == str(why.rule)
    assert near["shown"]["rule"] == str(why.nearest.rule)
    assert told["nearest"]["then"]["context"] == known.context_of(why.nearest.context)
    # Numbers for every past observation are for those who take the whole away.
    for report in (result, result["nearest"], near):
        assert set(report["observations"]) == {"gaining", "losing"}
    whole = wh.Explanation.from_dict(client.get(f"/api/explanations/{job}/explanation.json").json())
    assert whole.nearest is not None
    assert whole.verify(known.policy).agrees
    report = client.get(f"/api/explanations/{job}/report.html").text
    assert "Where it turns" in report
    assert "wh-inside" in report


def test_cancelling_among_the_refits(client: httpx.Client) -> None:
    """Stopped between the two answers, the nearest one stays, and how many refits there were is said."""
    # Other random numbers than before, so that no refit is there yet.
    job = ask(client, holds=HOLDS, refits="bootstrap").json()["job"]
    early = with_nearest(client, job)
    assert early["state"] == "running"
    time.sleep(2.5 * PATIENT)
    client.delete(f"/api/explanations/{job}")
    told = finished(client, job)
    assert told["state"] == "cancelled"
    explanation = told["result"]["explanation"]
    assert explanation["status"] == "optimal"
    assert explanation["distance"] == early["nearest"]["explanation"]["distance"]
    assert 0 < explanation["reliance"]["chosen"]["refits"] < 10
    assert explanation["reliance"]["judged"]["refits"] == 0
    assert "is not known" in explanation["shown"]["agreed"]
    assert explanation["shown"]["where"] == "How far you may rely on it"
    assert client.get(f"/api/explanations/{job}/report.html").status_code == 200


def test_time_is_up_among_the_refits(client: httpx.Client) -> None:
    """Where the time is up before the ten refits that choose are made, the nearest answer is the result."""
    told = finished(
        client, ask(client, "told", holds=HOLDS, refits="bootstrap", margin=0, time_limit=7.5 * PATIENT).json()["job"]
    )
    assert told["state"] == "done"
    assert told["result"]["explanation"]["status"] == "optimal"
    assert told["result"]["explanation"]["reliance"]["judged"]["refits"] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"holds": 0}, "'holds'"),
        ({"holds": 1.5}, "'holds' must be less than or equal to 1. Got 1.5 instead."),
        ({"holds": "most"}, "'holds' must be a valid number or false. Got 'most' instead."),
        ({"margin": [10, "x"]}, "'margin' must be a valid number or a valid string. Got [10, 'x'] instead."),
        ({"moon": 1}, "'moon' is not known here."),
        ({"holds": True}, "'holds'"),
        ({"holds": 0.9, "confidence": 2}, "'holds' looks for the 'confidence' by itself"),
        ({"confidence": -1}, "'confidence'"),
        ({"refits": "moon"}, "'refits'"),
        ({"margin": 1.5}, "'margin'"),
        ({"margin": "lots"}, "'margin' must be a share of the decision's cost"),
        ({"margin": "120 %"}, "'margin' must be a share of the decision's cost"),
        ({"plausible": 0}, "'plausible'"),
        ({"plausible": 1}, "'plausible'"),
        ({"rule": 1}, "'rule'"),
    ],
)
def test_wrong_conditions_are_refused_at_once(client: httpx.Client, change: dict[str, Any], words: str) -> None:
    """What no answer could keep to never becomes a job, and the sentence names the field."""
    answer = ask(client, **change)
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_what_cannot_be_judged_is_refused_at_once(client: httpx.Client) -> None:
    """A forest that was given fitted has no refits, one of something else no worlds, neighbours no random numbers."""
    refused = ask(client, "frozen", holds=HOLDS, refits="seed")
    assert refused.status_code == 422
    assert "cannot be fitted again" in refused.json()["detail"]
    scene = client.get("/api/scenes/frozen").json()
    assert (scene["holds"], scene["unknown"]) == (HOLDS, "")
    told = finished(client, ask(client, "frozen", holds=HOLDS).json()["job"])
    assert told["result"]["explanation"]["reliance"]["worlds"]["worlds"] == 12
    refused = ask(client, "foreign", holds=HOLDS)
    assert refused.status_code == 422
    assert "'holds' needs weights that can be fitted again" in refused.json()["detail"]
    scene = client.get("/api/scenes/foreign").json()
    assert scene["holds"] is None
    assert "given fitted" in scene["unknown"]
    refused = ask(client, "strange", holds=HOLDS, refits="seed")
    assert refused.status_code == 422
    assert "use refits='bootstrap'" in refused.json()["detail"]


def test_conditions_are_kept(client: httpx.Client, live: Live) -> None:
    """Margin, confidence and plausibility over HTTP give the library's answers."""
    known = live.app.state.scenes["slow"]
    for asked, given in (
        ({"margin": 0.1}, {"margin": 0.1}),
        ({"margin": "2 cost"}, {"margin": (2.0, "cost")}),
        ({"confidence": 2.0}, {"confidence": 2.0}),
        ({"plausible": 0.4}, {"plausible": 0.4}),
    ):
        told = finished(client, ask(client, **asked).json()["job"])
        why = known.policy.explain(known.today, known.alternative, **given)
        assert told["result"]["explanation"]["distance"] == pytest.approx(why.distance)
        [name] = asked
        assert told["result"]["explanation"]["question"][name] == why.report.question[name]
        assert told["nearest"] is None


def test_the_project_speaks_where_the_question_does_not(client: httpx.Client, live: Live) -> None:
    """What a project says of margin, refits and plausible contexts holds unless the question says otherwise."""
    scene = client.get("/api/scenes/told").json()
    assert (scene["holds"], scene["margin"], scene["plausible"]) == (None, "0.5 cost", 0.05)
    told = finished(client, ask(client, "told").json()["job"])
    question = told["result"]["explanation"]["question"]
    assert (question["margin"], question["holds"], question["plausible"]) == ([0.5, "cost"], None, 0.05)
    told = finished(client, ask(client, "told", margin=0, confidence=1.5).json()["job"])
    question = told["result"]["explanation"]["question"]
    assert (question["margin"], question["confidence"]) == (0, 1.5)
    assert client.get("/api/scenes/slow").json()["holds"] == HOLDS
    asking = replace(live.app.state.scenes["slow"], defaults=ExplainDefaults(holds=0.7))
    assert asking.holds == 0.7
    assert replace(asking, defaults=ExplainDefaults(confidence=2.0)).holds is None


def test_outcomes_are_binned_once(client: httpx.Client, live: Live) -> None:
    """Both plans share their bins, which hold all weight; alone, the decision has its own."""
    scene = live.app.state.scenes["slow"]
    context = scene.context_of(scene.today)
    decided = client.post("/api/scenes/slow/decide", json={"context": context}).json()
    checked = client.post("/api/scenes/slow/check", json={"context": context, "plan": scene.alternative}).json()
    weights = scene.policy.weights_at(scene.today)
    costs = {
        "decision": scene.policy.problem.costs(np.array(decided["plan"]), scene.policy.Y_),
        "alternative": scene.policy.problem.costs(np.array(scene.alternative), scene.policy.Y_),
    }
    spread = checked["spread"]
    edges, panel = np.array(spread["edges"]), spread["panels"][0]
    for name, each in costs.items():
        # By hand: the last edge that a cost reaches.
        masses = np.zeros(edges.size - 1)
        for cost, weight in zip(each, weights, strict=True):
            masses[min(int((edges[1:-1] <= cost).sum()), masses.size - 1)] += weight
        assert panel[name] == pytest.approx(masses)
        assert sum(panel[name]) == pytest.approx(1.0)
        assert panel["marks"][name] == pytest.approx(weights @ each)
    assert spread["highest"] == pytest.approx(max(panel["decision"] + panel["alternative"]))
    alone = decided["spread"]["panels"][0]
    assert alone["alternative"] is None
    assert sum(alone["decision"]) == pytest.approx(1.0)
    bad = client.post("/api/scenes/slow/check", json={"context": context, "plan": [-1]}).json()
    assert bad["spread"] is None
