"""Assistants ask a real server with the protocol's own client, over both transports."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import numpy as np
import pytest
import uvicorn
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from tests.cli.support import refused, run
from tests.project.samples import PROJECT, write_project
from tests.web.live import until

from whence.assistants.desk import Desk
from whence.assistants.mcp_server import DOCS, mcp_server
from whence.assistants.over_http import http_app
from whence.assistants.searches import Searches
from whence.project import Project
from whence.web.server import configuration, listening
from whence.web.server_settings import ServerSettings

TOKEN = "a-token-for-the-tests"
TOOLS = {
    "projects", "features", "decide", "evaluate", "explain", "menu", "reasons", "compare", "prices", "rules", "verify"
}  # fmt: skip
#: Starts the command where every attempt to reach another machine ends it.
ALONE = """
import os, sys
def alone(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(7)
sys.addaudithook(alone)
from whence.cli import main
sys.argv[0] = "whence"
main()
"""
HARD = """
[data]
history = "days.csv"
[outcomes]
columns = ["a", "b", "c"]
[weights]
n_trees = 100
max_depth = 6
[problem]
kind = "newsvendor"
holding = [1, 2, 1]
backorder = [3, 2, 4]
[explain]
holds = false
"""


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A small project, and one with a question whose search has no end in sight."""
    folder = tmp_path_factory.mktemp("projects")
    rng = np.random.default_rng(0)
    X = rng.random((400, 20))
    Y = 20 * X @ rng.random((20, 3)) + 5 * rng.random((400, 3))
    rows = [",".join([*(f"f{j}" for j in range(20)), "a", "b", "c"])]
    rows += [",".join(f"{value:.6f}" for value in (*x, *y)) for x, y in zip(X, Y, strict=True)]
    # What it takes to find out how far to rely on an answer is tried at the desk.
    small = write_project(folder / "small", f"{PROJECT}holds = false\n")
    return [small, write_project(folder / "hard", HARD, "\n".join(rows) + "\n")]


@pytest.fixture(scope="module")
def address(projects: list[Path]) -> Iterator[str]:
    """A server over HTTP with a token, which searches for one answer at a time."""
    with serving(projects, token=TOKEN, workers=1) as found:
        yield found


@contextlib.contextmanager
def serving(projects: list[Path], **allowed: Any) -> Iterator[str]:
    """A server over HTTP while the block runs: its address."""
    with listening(ServerSettings(port=0)) as listener:
        settings = ServerSettings(port=int(listener.getsockname()[1]), time_limit=900.0, **allowed)
        server = uvicorn.Server(configuration(http_app(Desk.opened(projects, 900.0), settings), settings))  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive(), 60.0)
            yield f"http://127.0.0.1:{settings.port}/mcp"
        finally:
            server.should_exit = True
            thread.join(60.0)


Connect = Callable[[], contextlib.AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["stdio", "http"])
def connect(request: pytest.FixtureRequest, projects: list[Path]) -> Connect:
    """The protocol's own client, connected over one of the transports."""
    if request.param == "stdio":
        path = os.pathsep.join(filter(None, sys.path))
        arguments = ["-c", ALONE, "mcp", *map(str, projects), "--workers", "1", "--time-limit", "900"]
        return lambda: Client(
            StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ, "PYTHONPATH": path})
        )
    address: str = request.getfixturevalue("address")
    return lambda: over_http(address, TOKEN)


@contextlib.asynccontextmanager
async def over_http(address: str, token: str) -> AsyncIterator[Client]:
    """The protocol's own client over HTTP."""
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=600.0) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool."""
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    assert found.structured_content is not None
    return found.structured_content


def test_tools_and_resources_answer_what_the_project_says(connect: Connect, projects: list[Path]) -> None:
    async def ask() -> None:
        async with connect() as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS
            assert all(tool.description and tool.output_schema for tool in tools)
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            listed = {str(one.uri) for one in (await client.list_resources()).resources}
            assert listed == {
                *(f"whence://projects/{name}{more}" for name in ("small", "hard") for more in ("", "/history")),
                *(f"whence://docs/{page}" for page in DOCS),
            }
            for uri in sorted(listed):
                assert (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]
            assert [one["project"] for one in (await told(client, "projects"))["projects"]] == ["small", "hard"]
            made = await told(client, "decide", project="small", context=3)
            assert made["decision"]["plan"] == pytest.approx(project.fitted().decide(project.context(3)).tolist())
            why = await told(client, "explain", project="small", context=3, instead="row:7")
            assert why["proof"]["status"] == own.status
            assert why["proof"]["distance"] == pytest.approx(own.distance)
            whole = (await client.read_resource(f"whence://answers/{why['answer']}")).contents[0]
            assert json.loads(whole.text)["schema"] == "whence/explanation/1"  # type: ignore[union-attr]
            assert (await told(client, "verify", answer=why["answer"], prove=True))["proved"]
            for wrong, said in (({"project": "none"}, "'project' must be"), ({"context": 99}, "rows 1 to 40")):
                found = await client.call_tool("decide", {"project": "small", "context": 3, **wrong})
                assert found.is_error
                assert said in found.content[0].text  # type: ignore[union-attr]

    project = Project.load(projects[0])
    own = project.fitted().explain(project.context(3), project.plan("row:7"), time_limit=60)
    anyio.run(ask)


def test_a_search_tells_its_progress_and_ends_when_it_is_cancelled(connect: Connect) -> None:
    async def ask() -> None:
        heard: list[tuple[float, float | None, str | None]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.append((progress, total, message))
            if len(heard) >= 2:
                scope.cancel()

        # One answer is searched for at a time: the second would wait for the whole of the first.
        with anyio.fail_after(300):
            async with connect() as client:
                with anyio.CancelScope() as scope:
                    asked = {"project": "hard", "context": 1, "instead": "row:200", "kind": "absolute"}
                    await client.call_tool("explain", asked, progress_callback=hear)
                assert scope.cancelled_caught
                second_one = await told(client, "explain", project="small", context=3, instead="row:7")
                assert second_one["proof"]["proved"]
        (first, total, message), (second, *_) = heard[:2]
        assert first < second
        assert total == 900.0
        assert message is not None
        assert any("steps" in (said or "") for _, _, said in heard)

    anyio.run(ask)


def test_over_http_nobody_holds_others_up(projects: list[Path], tmp_path: Path) -> None:
    """Searches of one client leave a place free for others, decisions are made beside them, and a queue has an end.

    A project that is for some people only is not there for others.
    """
    anna, ben = "the-token-of-anna-of-many-letters", "the-token-of-ben-of-many-letters"
    (tmp_path / "tokens.toml").write_text(f'anna = "{anna}"\nben = "{ben}"\n')

    async def ask(address: str) -> None:
        begun, waiting = anyio.Event(), anyio.Event()

        async def hear(_: float, __: float | None, message: str | None) -> None:
            (waiting if message and message.startswith("waiting") else begun).set()

        hard = {"project": "hard", "context": 1, "instead": "row:200", "kind": "absolute"}
        async with over_http(address, anna) as hers, over_http(address, ben) as his, anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(lambda: hers.call_tool("explain", hard, progress_callback=hear))
            with anyio.fail_after(300):
                await begun.wait()
                await waiting.wait()
            refused_one = await hers.call_tool("explain", hard)
            assert refused_one.is_error
            assert "ask again later" in refused_one.content[0].text  # type: ignore[union-attr]
            assert (await told(hers, "decide", project="small", context=3))["decision"]["plan"]
            with anyio.fail_after(300):
                assert (await told(his, "explain", **hard, time_limit=0.2))["proof"]["status"] == "time_limit"
            assert [one["project"] for one in (await told(his, "projects"))["projects"]] == ["hard"]
            assert not [one for one in (await his.list_resources()).resources if "small" in str(one.uri)]
            assert (await his.call_tool("decide", {"project": "small", "context": 3})).is_error
            with pytest.raises(MCPError, match="Unknown resource"):
                await his.read_resource("whence://projects/small/history")
            group.cancel_scope.cancel()

    options: dict[str, Any] = {"tokens": str(tmp_path / "tokens.toml"), "workers": 2, "queue": 1}
    with serving(projects, **options, access={"small": ("anna",)}) as address:
        anyio.run(ask, address)
        assert httpx.get(address.replace("/mcp", "/healthz")).status_code == 200


def test_more_questions_than_may_wait_are_refused(projects: list[Path]) -> None:
    async def ask() -> None:
        server = mcp_server(Desk.opened(projects, 900.0), Searches(1, waiting=1))
        busy, waiting = anyio.Event(), anyio.Event()

        async def hear(_: float, __: float | None, message: str | None) -> None:
            (waiting if message and message.startswith("waiting") else busy).set()

        async with Client(server) as client, anyio.create_task_group() as group:
            asked = {"project": "hard", "context": 1, "instead": "row:200", "kind": "absolute"}
            group.start_soon(lambda: client.call_tool("explain", asked, progress_callback=hear))
            with anyio.fail_after(120):
                await busy.wait()
            group.start_soon(lambda: client.call_tool("explain", asked, progress_callback=hear))
            with anyio.fail_after(120):
                await waiting.wait()
            found = await client.call_tool("explain", asked)
            assert found.is_error
            assert "ask again later" in found.content[0].text  # type: ignore[union-attr]
            group.cancel_scope.cancel()

    anyio.run(ask)


def test_over_http_the_guards_of_the_page_stand_before_it(address: str) -> None:
    good = {"authorization": f"Bearer {TOKEN}", "accept": "application/json, text/event-stream"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with httpx.Client(timeout=60.0) as client:
        for headers, status in (
            ({"authorization": ""}, 401),
            ({"authorization": "Bearer another-token-of-them"}, 401),
            ({"host": "elsewhere.example"}, 400),
            ({"origin": "https://elsewhere.example"}, 403),
            ({"sec-fetch-site": "cross-site"}, 403),
        ):
            found = client.post(address, json=hello, headers={**good, **headers})
            assert found.status_code == status, (headers, found.text)
        large = client.post(address, content=b" " * 300_000, headers={**good, "content-type": "application/json"})
        assert large.status_code == 413
        for elsewhere in (address.removesuffix("/mcp"), f"{address}/elsewhere"):
            assert client.get(elsewhere, headers=good).status_code == 404


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    small = write_project(tmp_path / "small")
    assert "'--http' must be given" in refused(run("mcp", small, "--port", "0"))
    assert "does not exist" in refused(run("mcp", tmp_path / "absent.toml"))
    assert "'host' must be this machine's own" in refused(run("mcp", small, "--http", "--host", "0.0.0.0"))
    remote = ("--http", "--host", "0.0.0.0", "--allow-remote", "--port", "0")
    assert "'token' must be given" in refused(run("mcp", small, *remote))


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no such terminals")
def test_a_random_token_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    """A random token is shown to who sits before the server; one that was given is not shown at all."""
    small = write_project(tmp_path / "small")
    remote = ["--http", "--host", "0.0.0.0", "--allow-remote", "--port", "0"]
    for given in ("", TOKEN):
        ours, theirs = os.openpty()
        path = os.pathsep.join(filter(None, sys.path))
        process = subprocess.Popen(
            [sys.executable, "-m", "whence", "mcp", str(small), *remote],
            env={**os.environ, "PYTHONPATH": path, "WHENCE_TOKEN": given},
            stderr=theirs,
        )
        os.close(theirs)
        try:
            shown = b""
            # The line about the token, if any, comes right behind the address; the end of the server closes the line.
            while b"/mcp\r\n" not in shown or (not given and not shown.endswith(b"'.\r\n")):
                shown += os.read(ours, 65536)
        finally:
            process.terminate()
            process.wait(60.0)
            with contextlib.suppress(OSError):
                while rest := os.read(ours, 65536):
                    shown += rest
            os.close(ours)
        assert (b"Authorization: Bearer" in shown) == (not given)
        assert TOKEN.encode() not in shown
