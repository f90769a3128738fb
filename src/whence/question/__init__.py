"""The question that an engine answers: where to look, what both plans cost, and when to stop."""

from whence.question.few import Few
from whence.question.isolation import Isolation
from whence.question.question import Answer, Limits, Progress, Question, nearest_of
from whence.question.space import Part, Space
from whence.weights import InputMap
from whence.weights.nearby import Nearby

__all__ = [
    "Answer",
    "Few",
    "InputMap",
    "Isolation",
    "Limits",
    "Nearby",
    "Part",
    "Progress",
    "Question",
    "Space",
    "nearest_of",
]
