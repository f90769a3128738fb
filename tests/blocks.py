"""How much of the random tests runs: a small block with every change, all of them every night.

Without `WHENCE_TEST_DAY` a test takes its first few blocks, the same each time. With it, as in ``make test-all``, it
takes all of them, others every day: what a block finds is found again with the same day.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

#: The day whose blocks are drawn; nothing in the short run.
DAY = os.environ.get("WHENCE_TEST_DAY", "")
#: How far apart the blocks of two days begin: most tests have fewer.
APART = 100


def seeds(short: int, full: int) -> range:
    """Return the blocks, or the seeds, that a random test runs: the first `short`, or `full` of the day's own."""
    if not 0 < short <= full:
        raise ValueError(f"0 < short <= full was expected. Got {short} and {full} instead.")
    if not DAY:
        return range(short)
    first = APART * int(DAY)
    return range(first, first + full)


def count(short: int, full: int) -> int:
    """Return how many cases of a list that is always drawn from its beginning a test looks at."""
    return full if DAY else short


def examples(short: int, full: int, **options: Any) -> settings:
    """Return hypothesis' settings for a property: the same examples each time, `short` of them or `full`."""
    return settings(derandomize=True, deadline=None, max_examples=full if DAY else short, **options)
