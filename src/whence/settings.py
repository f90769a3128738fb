"""How a search goes about a question: what its user may set, and what was chosen once by measuring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SearchSettings"]


@dataclass(frozen=True)
class SearchSettings:
    """What an engine is told besides the question.

    Attributes
    ----------
    separation : float
        Least gap between the k-th and (k+1)-th neighbour distance.
    threads : int, optional
        Threads that may work on the question; what an engine takes by itself where left out.
    options : mapping
        What only some engines understand.
    """

    separation: float = 1e-6
    threads: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
