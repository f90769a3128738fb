"""How much of the tests the coverage that `make test-all` prints is measured on.

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

import coverage
import pytest

#: Whether to watch is dear, and can be stopped.
DEAR = sys.version_info < (3, 12) and hasattr(signal, "setitimer")
#: Seconds of computing for which a test is watched at most.
WATCHED = 0.5


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out of the coverage what runs the lines of another case once more."""
    seen: set[str] = set()
    for item in items if DEAR else ():
        function = item.nodeid.partition("[")[0]
        if function in seen or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("no_cover")
        seen.add(function)


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
