"""The native search as an engine: one search, or one for every part of the space, nearest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from whence.engines import Engine, check_related_units, check_reliance, part_of
from whence.errors import InputError
from whence.question import Answer, Question, combine
from whence.weights import KNNWeights, Weights

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
        parts = question.space.parts(one_axis=not question.weights.capabilities.made_of_trees)
        return search(question) if parts[0].space is question.space else combine(question, parts, search)


def check_few_dates(question: Question) -> None:
    """Refuse to count changes where a search takes every part of a date for a feature."""
    weights, space = question.weights, question.space
    known = weights.capabilities.made_of_trees or isinstance(weights, KNNWeights)
    if space.few is None or known or not space.several:
        return
    raise InputError(
        "'max_changes', 'front', 'menu' and 'reasons' need a date with one part, or weights made of trees or of "
        f"neighbours. Got {type(weights).__name__} and a date with several parts.",
        parameter="max_changes",
    )
