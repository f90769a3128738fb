"""Former names of what is now in :mod:`whence.plain_values` and in decision problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.plain_values import number_from_plain, quoted, to_plain

__all__ = ["nodes_of", "number_from_plain", "plan_from_plain", "plan_to_plain", "quoted", "to_plain"]


def plan_to_plain(problem: Any, plan: Any) -> Any:
    """``problem.to_plain(plan)``."""
    return problem.to_plain(plan)


def plan_from_plain(problem: Any, value: Any, outcomes: Sequence[str] = ()) -> Any:
    """``problem.from_plain(value, outcomes)``."""
    return problem.from_plain(value, outcomes)


def nodes_of(problem: Any, plan: Any) -> list[Any]:
    """``problem.nodes(plan)``, of a route."""
    nodes: list[Any] = problem.nodes(plan)
    return nodes
