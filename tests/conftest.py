"""Which tests run together, and how much of them the coverage that `make test-all` prints is measured on.

The tests of a file run in one process, one after the other, so that what its fixtures start is started once; those of
the page share a server besides. What waits for servers, browsers and other processes comes first, so that what computes
fills the gaps.

Before Python 3.12, watching every line doubles the time of a test. There the first case of every test is watched, for
as long as `WATCHED`: other cases and the rest of a long one run much the same lines with other data. Nor are tests that
look at the page in a browser, behind which the server is a process of its own. What is printed is thus a little less
than what all tests run, never more.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from types import FrameType
from typing import Any

import coverage
import pytest

#: Files whose tests share servers, by how they begin, and a name for each such group: the longest, so the first.
SHARED = {"tests/web/test_page": "the page", "tests/web/": "the server"}
#: What waits for other processes more than it computes, in the order in which it begins.
WAITING = (
    *SHARED,
    "tests/cli/",
    "tests/test_batch",
    "tests/test_examples.py",
    "tests/test_notebooks.py",
    "tests/test_wheel.py",
)
#: Whether to watch is dear, and can be stopped.
DEAR = sys.version_info < (3, 12) and hasattr(signal, "setitimer")
#: Seconds of computing for which a test is watched at most.
WATCHED = 0.5


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits, and leave out of the coverage what runs the lines of another case once more."""
    items.sort(key=lambda item: next((i for i, one in enumerate(WAITING) if item.nodeid.startswith(one)), len(WAITING)))
    seen: set[str] = set()
    for item in items if DEAR else ():
        function = item.nodeid.partition("[")[0]
        if function in seen or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("no_cover")
        seen.add(function)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out groups of files with shared servers, and all other tests file by file, in the order given above."""
    from xdist.scheduler import LoadFileScheduling

    class ByServer(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((name for begin, name in SHARED.items() if nodeid.startswith(begin)), nodeid.split("::", 1)[0])

    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return ByServer(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Watch a test for so long."""
    watching = coverage.Coverage.current()
    if watching is None or not DEAR or item.get_closest_marker("no_cover"):
        return (yield)
    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            watching.stop()

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, WATCHED)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
        if stopped:
            watching.start()
