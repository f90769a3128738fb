"""The question that an engine answers: where to look, what both plans cost, and when to stop."""

from whence.question.question import Answer, Engine, InputMap, Limits, Progress, Question
from whence.question.space import Space

__all__ = ["Answer", "Engine", "InputMap", "Limits", "Progress", "Question", "Space"]
