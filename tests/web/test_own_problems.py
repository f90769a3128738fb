"""Problems of one's own that misbehave in a worker: an error for their question, and for no other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from tests.web.live import Live, finished, running, until
from tests.web.moody import CRASHES, FAILS, HANGS, LATER, PRINTS, QUIET, moody_scene

from whence.web import pool


@pytest.fixture(scope="module")
def moody() -> Iterator[Live]:
    """A server whose problem misbehaves on request, and which soon loses patience."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "HUNG", 3.0)
        patch.setattr(pool, "DEAF", 0.5)
        with running([moody_scene()]) as server:
            yield server


def asked(client: httpx.Client, mood: int, **changes: Any) -> httpx.Response:
    question = {"context": {"warmth": 0}, "plan": [60, mood], "time_limit": 0.2, **changes}
    return client.post("/api/scenes/moody/explanations", json=question)


def moods(client: httpx.Client, mood: int, **changes: Any) -> str:
    """A question that is found to be right, whose search is in this mood."""
    job: str = asked(client, mood + LATER, **changes).raise_for_status().json()["job"]
    return job


@pytest.mark.parametrize(
    ("mood", "state", "words"),
    [
        (PRINTS, "done", ""),
        (FAILS, "failed", "out of sorts"),
        (CRASHES, "failed", "ended unexpectedly"),
        (HANGS, "failed", "did not end by itself after 0.2 s"),
        (QUIET, "done", ""),
    ],
)
def test_problems_that_misbehave(moody: Live, mood: int, state: str, words: str) -> None:
    """A problem that prints does no harm; one that fails, crashes or hangs is an error, and the next question works."""
    with moody.client() as client:
        told = finished(client, moods(client, mood))
        assert told["state"] == state, told
        assert words in (told["error"] or "")
        # A new process takes its time for a first question.
        after = finished(client, moods(client, QUIET, time_limit=30))
        assert after["result"]["explanation"]["status"] == "optimal"


@pytest.mark.parametrize(
    ("mood", "status", "words"),
    [(FAILS, 422, "out of sorts"), (CRASHES, 503, "ended unexpectedly"), (HANGS, 503, "was stopped")],
)
def test_problems_that_misbehave_at_once(moody: Live, mood: int, status: int, words: str) -> None:
    """What goes wrong while a question is looked at is its answer, and the next question is taken."""
    usual = moody.app.state.settings
    with moody.client() as client:
        if mood == HANGS:
            # Only this one is to be stopped by its limit, however busy the machine is.
            moody.app.state.settings = replace(usual, decision_limit=0.5)
        refused = asked(client, mood)
        moody.app.state.settings = usual
        assert refused.status_code == status
        assert words in refused.json()["detail"]
        assert asked(client, QUIET).status_code == 202


def test_a_hung_search_can_be_cancelled(moody: Live) -> None:
    """A search that does not listen is ended with its process when it is cancelled."""
    with moody.client() as client:
        job = moods(client, HANGS, time_limit=50)
        until(lambda: client.get(f"/api/explanations/{job}").json()["state"] == "running", 60.0)
        client.delete(f"/api/explanations/{job}")
        told = finished(client, job, 10.0)
        assert told["state"] == "cancelled"
        assert told["result"] is None


def test_without_a_worker_questions_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started, a question fails with a sentence rather than wait."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with running([moody_scene()]) as server, server.client() as client:
        told = asked(client, QUIET)
        assert told.status_code == 503
        assert told.json()["detail"] == "No process could be started to search for an answer."
