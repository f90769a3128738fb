"""The native search as an engine: one search, or one for every part of the space, nearest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from whence.engines import Engine, part_of, refuse
from whence.question import Answer, Question, combine
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
        refuse(question, self.name)

    def answer(self, question: Question) -> Answer:
        """Search until a context is proved nearest."""
        search: Callable[[Question], Answer] = part_of(question.weights, self.name, question.claim)
        parts = question.space.parts(one_axis=not question.weights.capabilities.made_of_trees)
        return search(question) if parts[0].space is question.space else combine(question, parts, search)
