"""The client against a real server: its answers are those of the policy behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.web.live import Live, hard_scene, running

import whence as wh
from whence.client import Client
from whence.errors import InputError, ServerError
from whence.question import Progress


@pytest.fixture
def bakery(live: Live) -> Client:
    return Client(live.url, scene="bakery")


def asked(live: Live, scene: str = "bakery") -> tuple[wh.Policy, Any, dict[str, Any], Any]:
    """The policy of a scene, its context of today as it is and in plain values, and the plan to ask about."""
    found = live.app.state.scenes[scene]
    plan = found.policy.problem.to_plain(found.alternative)
    return found.policy, found.today, found.context_of(found.today), plan


def test_decisions_are_those_of_the_policy(live: Live, bakery: Client) -> None:
    policy, today, context, plan = asked(live)
    assert [one.id for one in bakery.scenes()] == list(live.app.state.scenes)
    assert bakery.scene()["context"] == context
    assert "rows it had not seen" in bakery.quality()
    made = bakery.decide(context)
    assert made.plan == pytest.approx(policy.decide(today).tolist())
    assert made.cost == pytest.approx(policy.decision(today).cost)
    assert bakery.check(context, plan).cost > made.cost
    with pytest.raises(InputError, match="budget"):
        bakery.check(context, np.array([1000.0, 1000.0, 1000.0, 1000.0]))
    assert "outside the history" in bakery.decide(context | {"temperature": 99.0}).remarks[0]


@pytest.mark.parametrize("scene", ["bakery", "city"])
def test_an_explanation_is_read_whole_and_can_be_verified(live: Live, scene: str) -> None:
    policy, today, context, plan = asked(live, scene)
    why = Client(live.url, scene=scene).explain(context, plan, kind="absolute", within=0, known=context, time_limit=30)
    own = policy.explain(today, live.app.state.scenes[scene].alternative, kind="absolute", time_limit=30)
    assert (why.status, why.distance, why.bound) == pytest.approx((own.status, own.distance, own.bound))
    assert why.changes.equals(own.changes)
    assert why.verify(policy).agrees


def test_other_questions_come_in_their_own_types(live: Live, bakery: Client) -> None:
    policy, _, context, plan = asked(live)
    menu = bakery.menu(context, plan, up_to=2, time_limit=30)
    assert isinstance(menu, wh.Menu)
    assert menu.up_to == 2
    before = context | {"rain": True}
    for found in (
        menu,
        bakery.front(context, plan, time_limit=30),
        bakery.reasons(context, plan, time_limit=30),
        bakery.compare(before, context),
        bakery.prices(context, plan, kind="relative"),
        bakery.rules(2, time_limit=10),
    ):
        assert found.verify(policy).agrees
    assert bakery.explain(context, instead={"at_least": {"croissants": 120}}).among


def test_what_is_wrong_is_said_as_the_library_says_it(live: Live, bakery: Client) -> None:
    _, _, context, plan = asked(live)
    with pytest.raises(InputError, match="'rain'"):
        bakery.explain({name: value for name, value in context.items() if name != "rain"}, plan)
    with pytest.raises(InputError, match="'kind'"):
        bakery.explain(context, plan, kind="nearest")
    with pytest.raises(InputError, match="'scene' must be one of 'bakery'"):
        Client(live.url).decide(context)
    with pytest.raises(ServerError, match="no such scene") as missing:
        Client(live.url, scene="none").decide(context)
    assert missing.value.status == 404
    with pytest.raises(InputError, match="no forecast"):
        bakery.forecast(context, at_least=1.0)
    with pytest.raises(ServerError, match="cannot be reached") as nobody:
        Client("http://127.0.0.1:9", scene="bakery").scenes()
    assert nobody.value.status == 0


def test_a_search_is_followed_stopped_and_given_up() -> None:
    """With a token, below a sub-path, and with the only scene that there is."""
    with running([hard_scene()], token="a-token-for-the-tests", root_path="/whence", time_limit=900.0) as server:
        server.wait_for_workers()
        with pytest.raises(ServerError, match="token") as refused:
            Client(f"{server.url}/whence").scenes()
        assert refused.value.status == 401
        client = Client(f"{server.url}/whence/", token="a-token-for-the-tests")
        scene = server.app.state.scenes["hard"]
        context, plan = scene.context_of(scene.today), scene.policy.problem.to_plain(scene.alternative)
        heard: list[Progress] = []

        def stop(progress: Progress) -> bool:
            heard.append(progress)
            return False

        why = client.explain(context, plan, kind="absolute", holds=False, on_progress=stop)
        assert why.status == "interrupted"
        assert heard[0].nodes > 0

        def fail(progress: Progress) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            client.explain(context, plan, kind="absolute", holds=False, on_progress=fail)
        # There is one process for searches: the next is answered because the last one was given up.
        again = client.explain(context, plan, kind="absolute", holds=False, on_progress=stop)
        assert again.status == "interrupted"
