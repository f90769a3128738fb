"""Answers of every kind, read from the documents that they were written to."""

from __future__ import annotations

from typing import Any

from whence.explain.explanation import Explanation
from whence.questions.comparison import Comparison
from whence.questions.implied import Implied
from whence.questions.menu import Front, Menu
from whence.questions.prices import Prices
from whence.questions.reasons import Reasons
from whence.questions.result import Result
from whence.questions.rules import Rules

#: Answers to other questions, by the schema of their documents.
ANSWERS: dict[Any, type[Result]] = {
    "whence/front/1": Front,
    "whence/menu/1": Menu,
    "whence/reasons/1": Reasons,
    "whence/comparison/1": Comparison,
    "whence/prices/1": Prices,
    "whence/implied/1": Implied,
    "whence/rules/1": Rules,
}


def answer_from(document: Any) -> Explanation | Result:
    """Return the answer that a document holds, by the schema that it names; refuse what is none.

    Examples
    --------
    >>> answer_from({"schema": "whence/menu/1"})
    Traceback (most recent call last):
    whence.errors.InputError: ...
    """
    kind = ANSWERS.get(document.get("schema")) if isinstance(document, dict) else None
    return (kind or Explanation).from_dict(document)
