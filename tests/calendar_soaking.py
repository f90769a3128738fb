"""Questions about hours that go round, ordered levels, missing numbers and dates in turn, for `benchmarks/soak.py`."""

from __future__ import annotations

from typing import Any

from tests import calendar_cases, date_cases

#: Of so many questions, one is about dates in a forest and one about dates among neighbours.
KINDS = (*calendar_cases.KINDS, *calendar_cases.MISSING_KINDS)
TURN = len(KINDS) + 2


def calendar_soaked(seed: int) -> Any:
    """Every kind in turn, the same for the same seed."""
    turn = seed % TURN
    if turn < len(KINDS):
        return calendar_cases.calendar_case(seed, KINDS[turn])
    return date_cases.date_case(seed, neighbours=turn == TURN - 1)


def calendar_disagreement(case: Any, **how: Any) -> str:
    """In what an answer differs from brute force; empty where it does not."""
    if isinstance(case, date_cases.DateCase):
        return date_cases.disagreement(case, **how)
    return calendar_cases.disagreement(case, **how)
