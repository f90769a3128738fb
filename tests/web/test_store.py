"""Questions and answers that are kept: over a restart, for a stated time, and to take away."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.web.live import finished, hard_scene, running, small_scenes, until

from whence.errors import InputError
from whence.explain.explanation import Explanation
from whence.web.store import Entry, Store

TOKEN = "a-token-of-more-than-sixteen-letters"


def ask(client: httpx.Client, scene: str, **changes: Any) -> str:
    own = client.get(f"/api/v1/scenes/{scene}").json()
    question = {"context": own["context"], "plan": own["alternative"], **changes}
    answer = client.post(f"/api/v1/scenes/{scene}/explanations", json=question).raise_for_status()
    job: str = answer.json()["job"]
    return job


def test_answers_outlive_a_restart(tmp_path: Path) -> None:
    """The same address shows the same answer after a restart, with who asked, and the export holds its certificate."""
    file = str(tmp_path / "store.sqlite")
    options = {"store": file, "token": TOKEN}
    headers = {"authorization": f"Bearer {TOKEN}"}
    with running(small_scenes()[:1], **options) as live, live.client(headers=headers) as client:
        job = ask(client, "bakery", margin="1 cost")
        before = finished(client, job)
        assert before["state"] == "done"
    with running(small_scenes()[:1], **options) as live, live.client(headers=headers) as client:
        after = client.get(f"/api/v1/explanations/{job}", params={"wait": 5}).json()
        assert {**after, "progress": None} == {**before, "progress": None}
        assert client.get(f"/api/v1/explanations/{job}/report.html").status_code == 200
        [listed] = client.get("/api/v1/scenes/bakery/questions").json()
        assert (listed["job"], listed["who"], listed["state"]) == (job, "default", "done")
        [line] = client.get("/api/v1/scenes/bakery/questions.jsonl").text.splitlines()
        document = json.loads(line)
        assert Explanation.from_dict(document["data"]).status == "optimal"
        assert document["asked"]["conditions"]["margin"] == [1.0, "cost"]
        assert TOKEN not in line
    with running(small_scenes()[:1]) as live, live.client() as client:
        assert client.get("/api/v1/scenes/bakery/questions").status_code == 404


def test_jobs_go_on_after_a_restart(tmp_path: Path) -> None:
    """A question that was being searched for, and one that waited, are answered by the next server."""
    file = str(tmp_path / "store.sqlite")
    with running([hard_scene()], store=file) as live, live.client() as client:
        live.wait_for_workers()
        first, second = (ask(client, "hard", time_limit=1.0) for _ in range(2))
        until(lambda: client.get(f"/api/v1/explanations/{first}").json()["state"] == "running", 60.0)
    with running([hard_scene()], store=file) as live, live.client() as client:
        assert [finished(client, job)["state"] for job in (first, second)] == ["done", "done"]


def test_all_jobs_go_on_after_a_restart(tmp_path: Path) -> None:
    """Those that were running count besides those that may wait; what is no longer served is said to be so."""
    file = str(tmp_path / "store.sqlite")
    with running([hard_scene()], store=file, queue=2) as live, live.client() as client:
        live.wait_for_workers()
        jobs = [ask(client, "hard", time_limit=1.0)]
        until(lambda: client.get(f"/api/v1/explanations/{jobs[0]}").json()["state"] == "running", 60.0)
        jobs += [ask(client, "hard", time_limit=1.0) for _ in range(2)]
    store = Store(Path(file))
    [asked] = [entry.asked for entry in store.unfinished() if entry.id == jobs[0]]
    asked = json.dumps({**json.loads(asked), "scene": "gone"})
    store.put(Entry("elsewhere", "gone", "explain", asked, asked_at=time.time()))
    store.close()
    with running([hard_scene()], store=file, queue=2) as live, live.client() as client:
        assert [finished(client, job)["state"] for job in jobs] == ["done"] * 3
        [gone] = [entry for entry in live.app.state.store.entries() if entry.id == "elsewhere"]
        assert (gone.state, gone.error) == ("failed", "What it was asked about is no longer served.")


def test_what_is_too_old_is_forgotten(tmp_path: Path) -> None:
    """Questions are kept for as many days as was said, and no longer."""
    path = tmp_path / "store.sqlite"
    store = Store(path, days=10)
    for id, days in (("old", 11), ("new", 9)):
        store.put(Entry(id, "bakery", "explain", "{}", asked_at=time.time() - 86400 * days))
    store.tidy()
    assert [entry.id for entry in store.entries()] == ["new"]
    store.close()


def test_a_store_that_cannot_be_written_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While somebody else holds the file, questions are answered and the log says that they were not stored."""
    file = tmp_path / "store.sqlite"
    with running(small_scenes()[:1], store=str(file)) as live, live.client() as client:
        live.wait_for_workers()
        before = live.workers
        own = client.get("/api/v1/scenes/bakery").json()
        asked = {"context": own["context"], "plan": own["alternative"]}
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            job = client.post("/api/v1/scenes/bakery/explanations", json=asked).json()["job"]
            assert finished(client, job)["state"] == "done"
            other.execute("ROLLBACK")
        assert [record.getMessage() for record in caplog.records if "could not be stored" in record.getMessage()]
        assert live.workers == before
        again = client.post("/api/v1/scenes/bakery/explanations", json=asked).json()["job"]
        assert finished(client, again)["state"] == "done"
        assert [one["job"] for one in client.get("/api/v1/scenes/bakery/questions").json()] == [again]


def test_another_file_is_refused(tmp_path: Path) -> None:
    """What is no store is refused with a sentence, and left as it is."""
    path = tmp_path / "notes.txt"
    path.write_text("not a store, and long enough to be read as one" * 100)
    with pytest.raises(InputError, match="'store'"):
        Store(path)
    assert path.read_text().startswith("not a store")
