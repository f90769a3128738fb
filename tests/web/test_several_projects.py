"""Several projects in one server, read again when their files change."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from tests.cli.support import run
from tests.processes import usual_signals
from tests.web.browser import Server
from tests.web.live import Live, finished, running, until

from whence.errors import InputError
from whence.web import served_projects as serving
from whence.web.served_projects import Projects

PROJECT = """
title = "{title}"
[data]
history = "days.csv"
[outcomes]
columns = ["sold"]
[weights]
kind = "knn"
k = 3
[problem]
kind = "newsvendor"
holding = 1
backorder = 3
"""


def write(folder: Path, title: str, factor: int = 2) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = "\n".join(f"{t},{factor * t}" for t in range(30))
    (folder / "days.csv").write_text(f"temp,sold\n{rows}\n")
    (folder / "whence.toml").write_text(PROJECT.format(title=title))
    return folder / "whence.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("projects")
    write(found / "Ice Cream", "How much ice?")
    write(found / "bread", "How much bread?", 3)
    return found


@pytest.fixture(scope="module")
def live(folder: Path) -> Iterator[Live]:
    projects = Projects([folder])
    # As often as the tests would like to look.
    before, serving.LOOK = serving.LOOK, 0.1
    with running(projects.load(), projects) as server:
        server.wait_for_workers()
        yield server
    serving.LOOK = before


def decided(client: httpx.Client, scene: str) -> float:
    answer = client.post(f"/api/v1/scenes/{scene}/decide", json={"context": {"temp": 10}})
    return float(answer.raise_for_status().json()["plan"][0])


def test_each_has_its_title_and_address(live: Live) -> None:
    """A folder of projects is a list of scenes, named after their folders, each with its own decisions."""
    with live.client() as client:
        listed = {entry["id"]: entry["title"] for entry in client.get("/api/v1/scenes").json()}
        assert listed == {"bread": "How much bread?", "ice-cream": "How much ice?"}
        assert (decided(client, "ice-cream"), decided(client, "bread")) == (22.0, 33.0)


def test_a_change_is_checked_then_swapped(live: Live, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """New data answer once they are read, workers and searches included; a broken file changes nothing."""
    with live.client() as client, caplog.at_level(logging.WARNING, "whence.web"):
        whole = (folder / "bread" / "whence.toml").read_text()
        (folder / "bread" / "whence.toml").write_text("[data")
        until(lambda: any("bread stays as it was" in record.getMessage() for record in caplog.records), 60.0)
        assert decided(client, "bread") == 33.0
        (folder / "bread" / "whence.toml").write_text(whole.replace("bread?", "rye?"))
        write(folder / "bread", "How much rye?", 5)
        until(lambda: client.get("/api/v1/scenes/bread").json()["title"] == "How much rye?", 60.0)
        until(lambda: decided(client, "bread") == 55.0, 60.0)
        asked = {"context": {"temp": 10}, "plan": [80.0]}
        job = client.post("/api/v1/scenes/bread/explanations", json=asked).json()["job"]
        told = finished(client, job)
        assert told["result"]["explanation"]["context"]["temp"] > 10
        assert decided(client, "ice-cream") == 22.0


def test_a_folder_without_projects_is_refused(tmp_path: Path) -> None:
    """A folder with no project in it is no list of none."""
    with pytest.raises(InputError, match="a folder with some"):
        Projects([tmp_path])


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal")
def test_sighup_reads_everything_again(folder: Path, tmp_path: Path) -> None:
    """`whence serve FILE FILE` serves both, and reads them again when it is told to."""
    first, second = write(tmp_path / "a", "A?"), write(tmp_path / "b", "B?")
    server = Server(str(first), str(second), "--workers", "1").wait_for_workers()
    try:
        with httpx.Client(base_url=server.url, timeout=60.0) as client:
            assert [entry["id"] for entry in client.get("/api/v1/scenes").json()] == ["a", "b"]
            stamp = first.stat()
            first.write_text(PROJECT.format(title="C?"))
            # A file that looks as it did: only the signal tells.
            os.utime(first, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            server._process.send_signal(signal.SIGHUP)
            until(lambda: client.get("/api/v1/scenes/a").json()["title"] == "C?", 60.0)
    finally:
        server.stop()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal")
def test_sighup_ends_no_server_that_is_still_reading(tmp_path: Path) -> None:
    """A server that is told to read again before it has read at all comes up all the same."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "whence", "serve", str(write(tmp_path / "a", "A?")), "--port", str(port)]

    def answers(path: str) -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{port}/{path}", timeout=30.0).status_code == 200
        return False

    def listens() -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False

    with subprocess.Popen([*command, "--no-browser"], stderr=subprocess.DEVNULL, preexec_fn=usual_signals) as process:
        try:
            # It listens before it reads, and answers only then.
            until(listens, 60.0)
            process.send_signal(signal.SIGHUP)
            until(lambda: answers("healthz") or process.poll() is not None, 60.0)
            assert process.poll() is None
        finally:
            process.terminate()


def test_a_store_is_verified_as_a_whole(tmp_path: Path) -> None:
    """`whence verify` checks every stored answer against the project as it is now, and says which is no longer true."""
    file, store = write(tmp_path / "a", "A?"), tmp_path / "store.sqlite"
    projects = Projects([file])
    with running(projects.load(), store=str(store)) as live, live.client() as client:
        for plan in ([40.0], [50.0]):
            asked = {"context": {"temp": 10}, "plan": plan}
            job = client.post("/api/v1/scenes/project/explanations", json=asked).json()["job"]
            assert finished(client, job)["state"] == "done"
    agreeing = run("verify", str(store), str(file))
    assert (agreeing.exit_code, agreeing.output.splitlines()[-1]) == (
        0,
        "2 of 2 stored answers agree with whence.toml.",
    )
    write(tmp_path / "a", "A?", 3)
    differing = run("verify", str(store), str(file))
    assert differing.exit_code == 1
    assert differing.output.splitlines()[-1] == "0 of 2 stored answers agree with whence.toml."
