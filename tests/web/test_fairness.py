"""Many clients at one server: nobody holds the others up, and nothing that is stuck stays so. Real processes."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.web.browser import Server
from tests.web.live import Live, finished, hard_scene, running, until
from tests.web.moody import HANGS, moody_scene

from whence.errors import InputError
from whence.web import tokens as guarding
from whence.web.server_settings import settings_for

FIRST, SECOND = "the-first-token-of-many-letters", "the-second-token-of-many-letters"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Live, Path]]:
    """A server with one process for each kind of work, few connections, and a file of tokens."""
    file = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    file.write_text(f'anna = "{FIRST}"\nben = "{SECOND}"\n')
    with running([hard_scene()], tokens=str(file), queue=4, connections=16) as server:
        server.wait_for_workers()
        yield server, file


def program(live: Live, token: str = FIRST) -> httpx.Client:
    return live.client(headers={"authorization": f"Bearer {token}"})


def question(client: httpx.Client) -> dict[str, Any]:
    own = client.get("/api/v1/scenes/hard").raise_for_status().json()
    return {"context": own["context"], "plan": own["alternative"]}


def ask(client: httpx.Client, **changes: Any) -> httpx.Response:
    return client.post("/api/v1/scenes/hard/explanations", json={**question(client), **changes})


def test_a_full_queue_is_only_its_own_clients(shared: tuple[Live, Path]) -> None:
    """Who fills the queue is refused; somebody else is not, and comes next, before the rest of it."""
    with program(shared[0]) as anna, program(shared[0], SECOND) as ben:
        running_job = ask(anna).json()["job"]
        until(lambda: anna.get(f"/api/v1/explanations/{running_job}").json()["state"] == "running", 30.0)
        waiting = [ask(anna).json()["job"] for _ in range(4)]
        refused = ask(anna)
        assert refused.status_code == 429
        assert refused.headers["retry-after"]
        own = ask(ben, time_limit=0.2).json()
        assert (own["state"], own["ahead"]) == ("queued", 0)
        anna.delete(f"/api/v1/explanations/{running_job}")
        anna.delete(f"/api/v1/explanations/{waiting[0]}")
        assert finished(ben, own["job"])["state"] == "done"
        for job in waiting:
            anna.delete(f"/api/v1/explanations/{job}")
        until(lambda: shared[0].app.state.pool.idle, 30.0)


def test_the_last_worker_is_kept_for_others() -> None:
    """Searches of one client leave a worker free, which answers somebody else's first question at once."""
    with running([hard_scene()], workers=2, token=FIRST) as live, program(live) as anna:
        live.wait_for_workers(2)
        jobs = [ask(anna).json()["job"] for _ in range(3)]
        until(lambda: anna.get(f"/api/v1/explanations/{jobs[0]}").json()["state"] == "running", 60.0)
        live.app.state.tokens._known["ben"] = SECOND
        with program(live, SECOND) as ben:
            assert finished(ben, ask(ben, time_limit=0.2).json()["job"])["state"] == "done"
        states = [anna.get(f"/api/v1/explanations/{job}").json()["state"] for job in jobs]
        assert states == ["running", "queued", "queued"]


def test_a_decision_ends_when_its_client_leaves() -> None:
    """Where nobody waits for a decision any more, the process that works on it is soon free for others."""
    named: dict[str, Any] = {"trusted_proxies": ("127.0.0.1/32",), "user_header": "X-Remote-User"}
    with (
        running([moody_scene()], deciders=2, **named) as live,
        live.client(headers={"x-remote-user": "ben"}) as client,
    ):
        until(lambda: len(live.deciders) == 2, 120.0)
        before = live.deciders
        own = client.get("/api/v1/scenes/moody").json()["context"]
        body = json.dumps({"context": own, "plan": [3.0, HANGS]})
        host = live.url.removeprefix("http://")
        with socket.create_connection(("127.0.0.1", int(host.split(":")[1]))) as line:
            head = f"POST /api/v1/scenes/moody/check HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            until(lambda: not live.app.state.pool.idle, 30.0)
            # While it hangs, others decide: the last process is kept for them.
            assert client.post("/api/v1/scenes/moody/decide", json={"context": own}).status_code == 200
        # Sooner than its own limit, after which it would be stopped anyway.
        until(lambda: live.app.state.pool.idle, live.app.state.settings.decision_limit - 5.0)
        # It is free first, and then replaced: both processes are there again, one of them new.
        until(lambda: len(live.deciders) == 2 and live.deciders != before, 120.0)
        assert len(set(before) & set(live.deciders)) == 1


def test_connections_that_wait_make_room(shared: tuple[Live, Path]) -> None:
    """However many wait for one job, health and decisions are answered, and the waiting are not told of an error."""
    live = shared[0]
    host = live.url.removeprefix("http://")
    with program(live) as anna, program(live, SECOND) as ben, ExitStack() as lines:
        first, job = (ask(anna).json()["job"] for _ in range(2))
        wait = (
            f"GET /api/v1/explanations/{job}?wait=30 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {FIRST}\r\n\r\n"
        )
        opened = []
        for _ in range(24):
            line = lines.enter_context(socket.create_connection(("127.0.0.1", int(host.split(":")[1]))))
            line.sendall(wait.encode())
            opened.append(line)
        assert httpx.get(f"{live.url}/healthz").status_code == 200
        assert httpx.get(f"{live.url}/readyz").status_code == 200
        context = {"context": question(ben)["context"]}
        assert ben.post("/api/v1/scenes/hard/decide", json=context).status_code == 200
        opened[0].settimeout(20.0)
        assert opened[0].recv(65536).startswith(b"HTTP/1.1 200"), "the first was answered early"
        for one in (first, job):
            anna.delete(f"/api/v1/explanations/{one}")
    until(lambda: live.app.state.pool.idle, 30.0)


def test_half_sent_requests_make_room(shared: tuple[Live, Path]) -> None:
    """Decisions and probes that are begun and never sent to their end keep nobody from health and decisions."""
    live = shared[0]
    host = live.url.removeprefix("http://")
    own = f"Host: {host}\r\nAuthorization: Bearer {FIRST}\r\nContent-Type: application/json\r\n"
    with program(live, SECOND) as ben, ExitStack() as lines:
        context = {"context": question(ben)["context"]}
        for begun in ("POST /api/v1/scenes/hard/decide", "GET /healthz"):
            for _ in range(24):
                line = lines.enter_context(socket.create_connection(("127.0.0.1", int(host.split(":")[1]))))
                line.sendall(f"{begun} HTTP/1.1\r\n{own}Content-Length: 1000\r\n\r\n".encode())
            assert httpx.get(f"{live.url}/healthz").status_code == 200
            assert httpx.get(f"{live.url}/readyz").status_code == 200
            assert ben.post("/api/v1/scenes/hard/decide", json=context).status_code == 200


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no such signal")
def test_a_stopped_worker_is_noticed_and_replaced(shared: tuple[Live, Path]) -> None:
    """Workers that are stopped are not called ready, and others take their place; health needs no token."""
    live = shared[0]
    stopped = [*live.workers, *live.deciders]
    assert httpx.get(f"{live.url}/readyz").status_code == 200
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    until(lambda: httpx.get(f"{live.url}/readyz").status_code == 503, 30.0)
    assert httpx.get(f"{live.url}/healthz").status_code == 200
    until(lambda: httpx.get(f"{live.url}/readyz").status_code == 200, 120.0)
    assert not set(stopped) & {*live.workers, *live.deciders}
    with program(live) as anna:
        assert finished(anna, ask(anna, time_limit=0.1).json()["job"])["state"] == "done"


def test_a_decision_has_a_limit() -> None:
    """A decision that hangs is ended with its process, and the next one is answered."""
    with running([hard_scene()]) as live, live.client() as client:
        until(lambda: bool(live.deciders), 120.0)
        usual = live.app.state.settings
        context = {"context": question(client)["context"]}
        [decider] = live.deciders
        os.kill(decider, signal.SIGSTOP)
        # Only this one is to be stopped by its limit, however busy the machine is.
        live.app.state.settings = replace(usual, decision_limit=0.5)
        answer = client.post("/api/v1/scenes/hard/decide", json=context)
        live.app.state.settings = usual
        assert answer.status_code == 503
        assert "was stopped" in answer.json()["detail"]
        until(lambda: live.deciders not in ([], [decider]), 120.0)
        assert client.post("/api/v1/scenes/hard/decide", json=context).status_code == 200


def test_two_lengths_are_refused(shared: tuple[Live, Path]) -> None:
    """A request that says in two ways where it ends is not believed in either."""
    host = shared[0].url.removeprefix("http://")
    with socket.create_connection(("127.0.0.1", int(host.split(":")[1])), timeout=20.0) as line:
        head = f"POST /api/v1/links HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {FIRST}\r\n"
        line.sendall(f"{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode())
        assert line.recv(65536).startswith(b"HTTP/1.1 400")


# ---- tokens ---------------------------------------------------------------------------------------------


def test_tokens_change_without_a_restart(shared: tuple[Live, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that is taken out of the file opens nothing more, nor does a session begun with it; a new one does."""
    monkeypatch.setattr(guarding, "LOOK", 0.0)
    live, file = shared
    before = file.read_text()
    with program(live, SECOND) as ben, live.client() as browser:
        path = ben.post("/api/v1/links").json()["path"]
        assert browser.get(f"/{path}").status_code == 303
        assert browser.get("/api/v1/scenes").status_code == 200
        file.write_text(f'anna = "{FIRST}"\nclara = "a-third-token-of-many-letters-and-more"\n')
        assert ben.get("/api/v1/scenes").status_code == 401
        assert browser.get("/api/v1/scenes").status_code == 401
        with program(live, "a-third-token-of-many-letters-and-more") as clara:
            assert clara.get("/api/v1/scenes").status_code == 200
        # A file that cannot be read locks nobody out.
        file.write_text("anna = ")
        with program(live) as anna:
            assert anna.get("/api/v1/scenes").status_code == 200
        file.write_text(before + "\n")
        assert ben.get("/api/v1/scenes").status_code == 200


def test_links_of_one_token_take_no_room_from_others(shared: tuple[Live, Path]) -> None:
    """Whoever makes links without end loses the oldest of their own; those of others still open the page."""
    live = shared[0]
    with program(live) as anna, program(live, SECOND) as ben, live.client() as browser:
        others = ben.post("/api/v1/links").json()["path"]
        made = [anna.post("/api/v1/links").json()["path"] for _ in range(guarding.LINKS + 1)]
        # The last one opens the page, and the cookie with it.
        assert [browser.get(f"/{path}").status_code for path in (made[0], others)] == [401, 303]


def test_wrong_tokens_are_throttled_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """After some wrong tokens no more are looked at for a while, sessions apart; the log says whence, never what."""
    with caplog.at_level(logging.WARNING, "whence.web"), running([], token=FIRST) as live:
        session = live.app.state.tokens.session("default")
        cookie = {"cookie": f"whence-{live.url.rsplit(':', 1)[1]}={session}"}
        with program(live, "a-guess-of-more-than-sixteen") as guesser:
            statuses = [guesser.get("/api/v1/scenes").status_code for _ in range(guarding.GUESSES + 1)]
        assert statuses == [401] * guarding.GUESSES + [429]
        assert httpx.get(f"{live.url}/api/v1/scenes", headers=cookie).status_code == 200
    told = [record.getMessage() for record in caplog.records if "wrong token" in record.getMessage()]
    assert len(told) == guarding.GUESSES
    assert told[0] == "A wrong token came from 127.0.0.1."


@pytest.mark.parametrize("text", ["", "anna = 1", 'anna = "short"', f'a = "{FIRST}"\nb = "{FIRST}"', "anna: x"])
def test_files_of_tokens_are_checked(text: str, tmp_path: Path) -> None:
    """What is no file of tokens is refused with a sentence that does not show a token."""
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        settings_for(tokens=str(file))
    assert FIRST not in str(refused.value)


# ---- the end --------------------------------------------------------------------------------------------


def test_sigterm_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    """At SIGTERM no more questions are taken, and what is running is answered before the server ends."""
    # On a busy machine the second turn of a search, which has a low priority, may take longer than the default.
    monkeypatch.setenv("WHENCE_DRAIN", "50")
    server = Server("--workers", "1").wait_for_workers()
    with httpx.Client(base_url=server.url, timeout=60.0) as client:
        own = client.get("/api/v1/scenes/city").json()
        ask = {"context": own["context"], "plan": own["alternative"], "holds": 0.9, "time_limit": 2.0}
        job = client.post("/api/v1/scenes/city/explanations", json=ask).json()["job"]
        told: list[dict[str, Any]] = []
        address = f"{server.url}/api/v1/explanations/{job}"

        def follow() -> None:
            while not told or told[-1]["state"] in ("queued", "running"):
                told.append(httpx.get(address, params={"wait": 20}, timeout=60.0).json())

        waiting = threading.Thread(target=follow)
        waiting.start()
        server._process.send_signal(signal.SIGTERM)
        waiting.join(60.0)
        assert told[-1]["state"] == "done"
        assert server._process.wait(30.0) in (0, -signal.SIGTERM)
