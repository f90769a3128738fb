"""One server for all tests that only talk to it, one for those that look at its page, and a browser for them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser
from tests.web.browser import Server, chromium, chromium_path
from tests.web.live import Live, running, small_scenes


@pytest.fixture(scope="session")
def live() -> Iterator[Live]:
    """A server with the small scenes and one worker."""
    with running(small_scenes()) as server:
        yield server


@pytest.fixture
def client(live: Live) -> Iterator[httpx.Client]:
    """A program that talks to the server."""
    with live.client() as program:
        yield program


@pytest.fixture(scope="session")
def examples() -> Iterator[str]:
    """Address of `whence serve` with the built-in examples."""
    server = Server().wait_for_workers()
    yield server.url
    server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; not for the whole session, since its event loop would be in the way of other tests."""
    if chromium_path() is None and "CI" not in os.environ:
        pytest.skip("SKIPPED: the page in a browser; install Chromium.")
    with chromium() as window:
        yield window
