"""The native search as an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from whence.engines import Engine, check_related_units, check_reliance, part_of
from whence.question import Answer, Question
from whence.search.split import check_few_dates, nearest_by_dates, nearest_way_round
from whence.weights import Weights

__all__ = ["Search"]


class Search(Engine):
    """Best-first search over boxes of contexts; how boxes are made depends on the weights."""

    name: ClassVar[str] = "search"
    words: ClassVar[str] = "the search"

    def label(self, weights: Weights, options: Mapping[str, Any]) -> str:
        """Which search it is."""
        return f"search ({weights.label})"

    def check(self, question: Question) -> None:
        """Refuse weights that no search is made for, and what they cannot say of themselves."""
        if question.claim.plans is not None:
            part_of(question.weights, "sets")
        part_of(question.weights, self.name)
        check_reliance(question)
        check_related_units(question)
        check_few_dates(question)

    def answer(self, question: Question) -> Answer:
        """Search until a context is proved nearest."""
        part = self.name if question.claim.plans is None else "sets"
        search: Callable[[Question], Answer] = part_of(question.weights, part)
        if question.space.few is not None and not question.weights.capabilities.made_of_trees:
            search = partial(nearest_by_dates, search=search)
        return nearest_way_round(question, search) if question.space.circles else search(question)
