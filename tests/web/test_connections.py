"""Connections that never finish what they began, over real sockets."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPResponse
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from tests.web.live import Live, running, until
from tests.web.moody import HANGS, moody_scene

from whence.web.server import configuration
from whence.web.server_settings import ServerSettings

TOKEN = "a-token-of-more-than-sixteen-letters"
ARRIVAL, MOST = 0.6, 8
#: Seconds that a busy machine may add to a limit.
SLACK = 5.0


@pytest.fixture(scope="module")
def strict() -> Iterator[Live]:
    """A server with a token, little patience, and few connections."""
    with running([], token=TOKEN, arrival=ARRIVAL, taking=1.0, connections=MOST) as server:
        yield server


def line_to(live: Live) -> socket.socket:
    """A connection to the server."""
    parts = urlsplit(live.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=ARRIVAL + SLACK)


def answer_on(line: socket.socket) -> int:
    """The status of the next answer, which is read to its end: its head may well come before its body."""
    with HTTPResponse(line) as response:
        response.begin()
        response.read()
        return response.status


def rest_of(line: socket.socket) -> bytes:
    """All that the server still sends before it closes the connection."""
    heard = b""
    try:
        while piece := line.recv(65536):
            heard += piece
    except ConnectionError:
        pass
    return heard


def broken_while_sending(line: socket.socket, piece: bytes, seconds: float) -> bool:
    """Send the same again and again: whether the connection is broken within that many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            line.sendall(piece)
        except TimeoutError:
            pass
        except ConnectionError:
            return True
        time.sleep(0.1)
    return False


def still_answers(live: Live) -> None:
    """A proper request gets its answer."""
    with live.client(headers={"authorization": f"Bearer {TOKEN}"}) as client:
        assert client.get("/api/scenes").status_code == 200


@pytest.mark.parametrize(
    "begun",
    [
        b"G",
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
        b"GET /api/scenes HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + TOKEN.encode(),
    ],
)
def test_half_a_request_is_not_waited_for(strict: Live, begun: bytes) -> None:
    """Headers that never end are cut off with 408 once their time is up, before any token could be asked for."""
    began = time.monotonic()
    with line_to(strict) as line:
        line.sendall(begun)
        heard = rest_of(line)
    assert ARRIVAL <= time.monotonic() - began < ARRIVAL + SLACK
    assert heard.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert heard.endswith(b'"status": 408, "detail": "The request took too long to arrive."}')


def test_a_trickle_does_not_start_the_clock_again(strict: Live) -> None:
    """A header line now and then does not keep a connection open: the time is that of the whole request."""
    began = time.monotonic()
    with line_to(strict) as line:
        line.sendall(b"GET / HTTP/1.1\r\n")
        assert broken_while_sending(line, b"X-Slow: 1\r\n", ARRIVAL + SLACK)
    assert time.monotonic() - began < ARRIVAL + SLACK


def test_a_silent_connection_is_closed(strict: Live) -> None:
    """A connection over which nothing comes is closed without a word."""
    began = time.monotonic()
    with line_to(strict) as line:
        assert rest_of(line) == b""
    assert time.monotonic() - began < ARRIVAL + SLACK


def test_a_second_request_has_its_own_time(strict: Live) -> None:
    """On a connection that is kept, the next request must arrive in time as well, counted from its first byte."""
    whole = f"GET /api/scenes HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    with line_to(strict) as line:
        for _ in range(3):
            line.sendall(whole[:20])
            time.sleep(ARRIVAL / 2)
            line.sendall(whole[20:])
            heard = b""
            while not heard.endswith(b"\r\n\r\n[]"):
                heard += line.recv(65536)
            assert heard.startswith(b"HTTP/1.1 200")
        line.sendall(whole[:20])
        assert rest_of(line).startswith(b"HTTP/1.1 408")


def test_half_a_body_is_not_waited_for(strict: Live) -> None:
    """A body that never ends is cut off as well; without the token it is not even waited for."""
    head = "POST /api/scenes/x/decide HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n"
    for extra, status in ((f"Authorization: Bearer {TOKEN}\r\n", b"408"), ("", b"401")):
        with line_to(strict) as line:
            line.sendall(f"{head}{extra}\r\n{{".encode())
            assert rest_of(line).split()[1] == status


def test_an_answer_that_nobody_takes_is_given_up(strict: Live) -> None:
    """Who asks on and on without reading does not hold a connection for ever."""
    whole = f"GET /api/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    with line_to(strict) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(0.2)
        assert broken_while_sending(line, whole * 2000, 30.0)
    still_answers(strict)


def test_idle_connections_make_room(strict: Live) -> None:
    """However many connections are opened and left, there are never more than the limit, and a request gets through."""
    with ExitStack() as open_lines:
        lines = [open_lines.enter_context(line_to(strict)) for _ in range(3 * MOST)]
        for line in lines[-MOST:]:
            line.sendall(b"GET / HTTP/1.1\r\n")
        still_answers(strict)
        assert rest_of(lines[0]) == b""  # the oldest went first


def test_where_all_are_busy_the_newest_is_refused() -> None:
    """Connections whose requests are being answered are not cut off for a newcomer, who is told to come back."""
    with running([moody_scene()], connections=2) as server:
        until(lambda: bool(server.deciders), 120.0)
        with server.client() as client:
            own = client.get("/api/v1/scenes/moody").json()["context"]
        body = json.dumps({"context": own, "plan": [3.0, HANGS]})
        head = "POST /api/v1/scenes/moody/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        with line_to(server) as first, line_to(server) as second:
            for line in (first, second):
                line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            until(lambda: len(server.app.state.pool._jobs) == 2, 30.0)
            with line_to(server) as third:
                assert rest_of(third).startswith(b"HTTP/1.1 503")
            first.settimeout(0.2)
            with pytest.raises(TimeoutError):
                first.recv(1)


def test_what_is_no_request_is_refused_with_a_sentence(strict: Live) -> None:
    """Garbage, and headers beyond all measure, get 400 in the form that all errors have."""
    for garbage in (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100_000):
        with line_to(strict) as line:
            line.sendall(garbage)
            heard = rest_of(line)
        assert heard.startswith(b"HTTP/1.1 400")
        assert heard.endswith(b'"status": 400, "detail": "What came is not a request that can be read."}')
    still_answers(strict)


def test_who_is_still_sending_can_read_the_answer(strict: Live) -> None:
    """A request is refused before all of it has arrived, and the connection goes only once that could be read."""
    most = 8_000_000
    head = f"POST /api/v1/scenes/x/decide HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {most}\r\n"
    for extra, status in ((f"Authorization: Bearer {TOKEN}\r\n", b"413"), ("", b"401")):
        with line_to(strict) as line:
            line.sendall(f"{head}{extra}\r\n".encode() + b" " * most)
            assert line.recv(65536).split()[1] == status


def test_requests_that_are_still_to_be_read_are_not_taken_for_idle() -> None:
    """Of many that come at once, the first are answered, and are not given up before their requests were looked at."""
    with running([], connections=4, trusted_proxies=("127.0.0.1/32",)) as server, ExitStack() as open_lines:
        held = threading.Event()
        server.app.state.pool._tasks[0].get_loop().call_soon_threadsafe(held.wait)
        lines = [open_lines.enter_context(line_to(server)) for _ in range(6)]
        for number, line in enumerate(lines):
            # Each from somebody else, so that the limits of one client do not count.
            head = f"GET /api/v1/scenes HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 10.0.0.{number + 1}\r\n\r\n"
            line.sendall(head.encode())
        held.set()
        statuses = [line.recv(65536).split()[1] for line in lines]
        assert statuses[:4] == [b"200"] * 4
        # There is no room for the others, whether that is seen by their connections or by their requests.
        assert set(statuses[4:]) <= {b"429", b"503"}


def test_a_connection_is_kept_for_the_next_request() -> None:
    """Whoever thinks for longer than a request may take to arrive goes on over the same connection."""
    ask = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with running([], arrival=2.0) as server, line_to(server) as line:
        line.sendall(ask)
        assert answer_on(line) == 200
        time.sleep(2.5)
        line.sendall(ask)
        assert answer_on(line) == 200
    with running([], idle=3.0) as server, line_to(server) as line:
        line.sendall(ask)
        assert rest_of(line).split()[1] == b"200"  # and is closed in the end


def test_the_server_closes_connections_later_than_clients_do() -> None:
    """Proxies keep a connection for a minute at most: the server must not close it while a request is on its way."""
    assert configuration(FastAPI(), ServerSettings()).timeout_keep_alive > 60.0


def test_a_server_ends_with_connections_open() -> None:
    """Half-sent requests do not keep a server from stopping."""
    with ExitStack() as open_lines:
        with running([], arrival=60.0) as server:
            for begun in (b"", b"GET / HTT"):
                line = open_lines.enter_context(line_to(server))
                line.sendall(begun)
            until(lambda: httpx.get(f"{server.url}/api/scenes").status_code == 200, 5.0)
            began = time.monotonic()
        assert time.monotonic() - began < 10.0
