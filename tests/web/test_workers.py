"""Worker processes: limits, cancelling, dying and ending, with searches that have no end in sight."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.processes import usual_signals
from tests.web.live import Live, finished, hard_scene, running, strange_scene, until

from whence.errors import InputError
from whence.web import pool
from whence.web.messages import Asked
from whence.web.server import listening
from whence.web.server_settings import ServerSettings, settings_for

QUEUE, KEPT = 2, 3


@pytest.fixture(scope="module")
def hard() -> Iterator[Live]:
    """A server with one worker, little room in its queue, and a short memory."""
    with running([hard_scene()], queue=QUEUE, kept=KEPT, time_limit=60.0) as server:
        server.wait_for_workers()
        yield server


@pytest.fixture
def client(hard: Live) -> Iterator[httpx.Client]:
    """A program that talks to that server, once it has nothing to do."""
    with hard.client() as program:
        hard.wait_for_workers()
        yield program
        until(lambda: program.get("/api/health").json()["running"] == 0, 30.0)


def ask(client: httpx.Client, **changes: Any) -> httpx.Response:
    own = client.get("/api/scenes/hard").json()
    question = {"context": own["context"], "plan": own["alternative"], **changes}
    return client.post("/api/scenes/hard/explanations", json=question)


def started(client: httpx.Client, **changes: Any) -> str:
    """A job that a worker has begun."""
    job: str = ask(client, **changes).raise_for_status().json()["job"]
    until(lambda: client.get(f"/api/explanations/{job}").json()["state"] == "running", 30.0)
    return job


def found(client: httpx.Client, job: str) -> float:
    """Wait until the search has found something: its distance."""
    distance: list[float | None] = [None]

    def something() -> bool:
        told = client.get(f"/api/explanations/{job}", params={"wait": 1}).json()
        assert told["state"] == "running", told
        distance[0] = (told["progress"] or {}).get("distance")
        return distance[0] is not None

    until(something, 30.0)
    assert distance[0] is not None
    return distance[0]


def test_cancelling_keeps_the_best(client: httpx.Client) -> None:
    """A cancelled search answers with the nearest context so far, and what is proved about nearer ones."""
    job = started(client)
    distance = found(client, job)
    assert client.delete(f"/api/explanations/{job}").status_code == 202
    told = finished(client, job)
    assert told["state"] == "cancelled"
    explanation = told["result"]["explanation"]
    assert explanation["status"] == "interrupted"
    assert explanation["context"] is not None
    assert 0 < explanation["bound"] < explanation["distance"] <= distance + 1e-6
    assert told["result"]["then"]["alternative"]["cost"] <= told["result"]["then"]["decision"]["cost"] + 1e-3
    assert client.get(f"/api/explanations/{job}/report.html").status_code == 200


def test_the_time_limit_ends_a_search(client: httpx.Client) -> None:
    """A search ends at its time limit with what it has; a longer limit than the server's own is cut."""
    told = finished(client, ask(client, time_limit=0.5).json()["job"])
    assert told["state"] == "done"
    assert told["time_limit"] == 0.5
    assert told["result"]["explanation"]["status"] == "time_limit"
    assert told["result"]["explanation"]["seconds"] < 30.0, "half of what the server's own limit allows"
    job = ask(client, time_limit=1e6).json()
    client.delete(f"/api/explanations/{job['job']}")
    assert job["time_limit"] == 60.0


def test_the_queue_has_an_end(client: httpx.Client) -> None:
    """What does not fit into the queue is refused for now; a waiting question can be cancelled at once."""
    running_job = started(client)
    waiting = [ask(client).json() for _ in range(QUEUE)]
    assert [job["state"] for job in waiting] == ["queued"] * QUEUE
    assert [job["ahead"] for job in waiting] == list(range(QUEUE))
    refused = ask(client)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    assert "waiting already" in refused.json()["detail"]
    for job in waiting:
        told = client.delete(f"/api/explanations/{job['job']}").json()
        assert told["state"] == "cancelled"
        assert told["result"] is None
    assert client.get(f"/api/explanations/{waiting[0]['job']}/report.html").status_code == 404
    client.delete(f"/api/explanations/{running_job}")
    assert finished(client, running_job)["state"] == "cancelled"


def test_a_killed_worker_is_an_error_and_is_replaced(client: httpx.Client, hard: Live) -> None:
    """The question of a worker that dies fails with a sentence at once, and the next one is answered."""
    job = started(client)
    [pid] = hard.workers
    os.kill(pid, signal.SIGKILL)
    told = finished(client, job, 30.0)
    assert told["state"] == "failed"
    assert "ended unexpectedly" in told["error"]
    assert told["result"] is None
    told = finished(client, ask(client, time_limit=0.2).json()["job"])
    assert told["state"] == "done"
    assert hard.workers != [pid]


def test_a_worker_that_dies_idle_is_replaced(client: httpx.Client, hard: Live) -> None:
    """Nobody notices that a worker died with nothing to do."""
    [pid] = hard.workers
    os.kill(pid, signal.SIGKILL)
    until(lambda: bool(hard.workers) and hard.workers != [pid], 180.0)
    assert finished(client, ask(client, time_limit=0.2).json()["job"])["state"] == "done"


def test_decisions_do_not_wait_for_searches(client: httpx.Client) -> None:
    """While a search runs, a decision is there at once."""
    job = started(client)
    context = client.get("/api/scenes/hard").json()["context"]
    for _ in range(5):
        assert client.post("/api/scenes/hard/decide", json={"context": context}).status_code == 200
    assert client.get(f"/api/explanations/{job}").json()["state"] == "running"
    client.delete(f"/api/explanations/{job}")
    finished(client, job)


def test_finished_jobs_are_forgotten(client: httpx.Client) -> None:
    """Only so many finished jobs are kept; the oldest is the first to be forgotten."""
    jobs = [ask(client, time_limit=0.01).json()["job"] for _ in range(2)]
    for _ in range(KEPT):
        finished(client, jobs[-1])
        jobs.append(ask(client, time_limit=0.01).json()["job"])
    finished(client, jobs[-1])
    states = [client.get(f"/api/explanations/{job}").status_code for job in jobs]
    assert states == [404] * 2 + [200] * KEPT


def test_progress_is_told(client: httpx.Client) -> None:
    """While a search runs, its nodes grow and its bound does not fall."""
    job = started(client)
    seen = []
    until(lambda: seen.append(client.get(f"/api/explanations/{job}?wait=1").json()["progress"]) or len(seen) > 5, 30.0)
    client.delete(f"/api/explanations/{job}")
    finished(client, job)
    told = [progress for progress in seen if progress is not None]
    assert told[0]["nodes"] < told[-1]["nodes"]
    bounds = [progress["bound"] for progress in told]
    assert bounds == sorted(bounds)


# ---- those who go away -------------------------------------------------------------------------------


def leave_while_waiting(hard: Live, job: str) -> None:
    """Wait for news of a job over a connection of one's own, and close it before there are any."""
    host = hard.url.removeprefix("http://")
    with socket.create_connection(("127.0.0.1", int(host.split(":")[1]))) as line:
        line.sendall(f"GET /api/explanations/{job}?wait=20 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        time.sleep(0.05)


def given_up(hard: Live, job: str, seconds: float) -> bool:
    """Whether a job is cancelled in time; looked at from inside, since asking for it would keep it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not hard.app.state.pool.find(job).cancelled:
        time.sleep(0.05)
    return bool(hard.app.state.pool.find(job).cancelled)


def state_of(client: httpx.Client, job: str) -> str:
    state: str = client.get(f"/api/explanations/{job}").json()["state"]
    return state


def test_who_goes_away_gives_up_the_place_in_the_queue(client: httpx.Client, hard: Live) -> None:
    """A closed tab leaves neither a search nor a place in the queue behind: the next question is not kept waiting."""
    first = started(client)
    second, third = (ask(client).json()["job"] for _ in range(2))
    # A search that is running tells news all the time; one that waits does not.
    leave_while_waiting(hard, second)
    assert given_up(hard, second, 10.0)
    assert state_of(client, second) == "cancelled"
    assert state_of(client, third) == "queued"
    client.delete(f"/api/explanations/{first}")
    until(lambda: state_of(client, third) == "running", 30.0)
    # News may have been on its way just then: whoever goes away without having waited is missed later only.
    until(lambda: leave_while_waiting(hard, third) or given_up(hard, third, 4.0), 30.0)
    assert finished(client, third)["state"] == "cancelled"


def test_who_does_not_come_back_gives_up_too(client: httpx.Client, hard: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower who had some news and never asks again has left; one who never waited may come back when they like."""
    monkeypatch.setattr(pool, "SILENT", 1.0)
    job = started(client)
    assert not given_up(hard, job, 2.0)
    client.get(f"/api/explanations/{job}", params={"wait": 1})
    assert given_up(hard, job, 10.0)
    assert finished(client, job)["state"] == "cancelled"


def test_a_search_goes_on_for_who_asks_again(client: httpx.Client, hard: Live) -> None:
    """A connection that breaks is no farewell where somebody else waits, or asks again at once."""
    first = started(client)
    second = ask(client).json()["job"]
    leave_while_waiting(hard, second)
    assert client.get(f"/api/explanations/{second}", params={"wait": 3}).json()["state"] == "queued"
    assert state_of(client, second) == "queued"
    for job in (second, first):
        client.delete(f"/api/explanations/{job}")
    finished(client, first)


def test_a_question_whose_asker_is_gone_is_not_searched_for(client: httpx.Client, hard: Live) -> None:
    """Who closes the connection while the question is still being looked at leaves nothing in the queue."""
    own = client.get("/api/scenes/hard").json()
    body = json.dumps({"context": own["context"], "plan": own["alternative"]}).encode()
    host = hard.url.removeprefix("http://")
    [decider] = hard.deciders
    known = set(hard.app.state.pool._jobs)
    os.kill(decider, signal.SIGSTOP)
    try:
        with socket.create_connection(("127.0.0.1", int(host.split(":")[1]))) as line:
            head = f"POST /api/scenes/hard/explanations HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            # Not all that was known need be: old answers are forgotten when a question comes.
            until(lambda: bool(set(hard.app.state.pool._jobs) - known), 10.0)
    finally:
        until(lambda: not any(job.asked.quick and not job.cancelled for job in jobs_of(hard)), 10.0)
        # On a busy machine it may have been replaced already, as every process that is stopped is.
        with suppress(ProcessLookupError):
            os.kill(decider, signal.SIGCONT)
    until(lambda: not set(hard.app.state.pool._jobs) - known, 10.0)


def jobs_of(hard: Live) -> list[pool.Job]:
    return list(hard.app.state.pool._jobs.values())


def test_a_page_that_is_closed_can_still_cancel(client: httpx.Client) -> None:
    """What `navigator.sendBeacon` sends, without a body or with a text, stops a search."""
    first, second = started(client), ask(client).json()["job"]
    assert client.post(f"/api/explanations/{second}/cancel").status_code == 204
    assert state_of(client, second) == "cancelled"
    plain = {"content-type": "text/plain;charset=UTF-8"}
    assert client.post(f"/api/explanations/{first}/cancel", content="", headers=plain).status_code == 204
    assert finished(client, first)["state"] == "cancelled"
    assert client.post("/api/explanations/moon/cancel").status_code == 404


# ---- the server as a process -------------------------------------------------------------------------


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    """`whence serve` in a terminal of its own, with its workers running."""
    code = "from whence.web.server import serve; serve(port=0, open_browser=False, workers=1)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, preexec_fn=usual_signals
    ) as server:
        try:
            yield server
        finally:
            server.kill()


def address_of(server: subprocess.Popen[str]) -> str:
    """Where the server says it is."""
    assert server.stderr is not None
    for line in server.stderr:
        if "whence is at " in line:
            return line.split()[3]
    raise AssertionError("no address")


def workers_of(server: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes that it has started, once there is one."""
    until(lambda: bool(psutil.Process(server.pid).children()), 60.0)
    return psutil.Process(server.pid).children(recursive=True)


def test_ctrl_c_ends_everything(process: subprocess.Popen[str]) -> None:
    """Ctrl-C ends the server without a traceback, and its workers with it."""
    assert httpx.get(f"{address_of(process)}api/scenes").status_code == 200
    workers = workers_of(process)
    process.send_signal(signal.SIGINT)
    assert process.wait(60.0) == 0
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    gone, alive = psutil.wait_procs(workers, timeout=30.0)
    assert not alive
    assert gone


def test_no_worker_outlives_a_killed_server(process: subprocess.Popen[str]) -> None:
    """Where the server is killed without a chance to clean up, its workers end by themselves."""
    address_of(process)
    workers = workers_of(process)
    process.kill()
    _, alive = psutil.wait_procs(workers, timeout=180.0)
    assert not alive


def test_a_port_in_use_is_one_sentence() -> None:
    """A port that is taken is refused with a sentence that names it."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"Got {port}, which cannot be used"):
            listening(ServerSettings(port=port))


def test_other_machines_need_a_flag_and_a_token() -> None:
    """Only this machine's own addresses are served unless asked for, and then a token is made."""
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
        with pytest.raises(InputError, match="allow_remote"):
            settings_for(host)
        token = settings_for(host, allow_remote=True).token
        assert token is not None
        assert len(token) >= 24
    for host in ("127.0.0.1", "::1", "localhost"):
        assert settings_for(host).token is None


def test_workers_are_started_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that runs in another folder starts its workers all the same."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whence.py").write_text("raise RuntimeError('a file that only happens to be here')")
    (tmp_path / "json.py").write_text("raise RuntimeError('a file that only happens to be here')")
    with running([strange_scene()]) as server:
        server.wait_for_workers()
        assert len(server.workers) == 1


def test_news_is_not_missed_before_the_waiting_begins() -> None:
    """A job that ends after somebody has asked for its news, but before they wait for it, wakes them all the same."""

    async def woken() -> bool:
        job = pool.Job("id", Asked("scene", time_limit=1.0))
        waiting = asyncio.ensure_future(job.news(600.0))
        job.tell(state="done")
        for _ in range(100):
            await asyncio.sleep(0)
        return waiting.done()

    assert asyncio.run(woken())
