"""The question that an engine answers: where to look, what both plans cost, and when to stop."""

from whence.question.question import Answer, Limits, Progress, Question
from whence.question.space import Space
from whence.weights import InputMap

__all__ = ["Answer", "InputMap", "Limits", "Progress", "Question", "Space"]
