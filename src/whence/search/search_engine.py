"""The native search as an engine: one search, or one for every part of the space, nearest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from whence.engines import Engine, part_of, refuse
from whence.question import Answer, Question, combine
from whence.search.past_contexts import Recall, nearest_known, recalls
from whence.weights import Weights


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
        """Search until a context is proved nearest, or nothing is nearer than one that is known."""
        known = nearest_known(question) if question.known.contexts and recalls(question) else None
        if known is None:
            return self._nearest(question)
        distance = question.space.distance(known)
        return self._nearest(question.knowing(nearer_than=distance)).or_known(known, distance)

    def _nearest(self, question: Question) -> Answer:
        found: Callable[[Question], Answer] = part_of(question.weights, self.name, question.claim)

        def search(part: Question) -> Answer:
            # Most questions are answered before past contexts are looked at.
            return found(part.knowing(recall=lambda cutoff: Recall(part)(cutoff)))

        parts = question.space.parts(one_axis=not question.weights.capabilities.made_of_trees)
        return search(question) if parts[0].space is question.space else combine(question, parts, search)
