"""The native search as an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whence.engines import Engine, check_reliance, check_scales, part_of
from whence.question import Answer, Question
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
        if question.plans is not None:
            part_of(question.weights, "sets")
        part_of(question.weights, self.name)
        check_reliance(question)
        check_scales(question, trees=question.weights.per_tree_known)

    def answer(self, question: Question) -> Answer:
        """Search until a context is proved nearest."""
        part = self.name if question.plans is None else "sets"
        answer: Answer = part_of(question.weights, part)(question)
        return answer
