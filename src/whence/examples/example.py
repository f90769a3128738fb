"""What an example consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from whence.policy import Policy
from whence.problems.base import DecisionProblem

__all__ = ["Example"]


@dataclass(frozen=True, eq=False)
class Example:
    """A history, a problem, and a planner with a plan of their own.

    Attributes
    ----------
    name : str
        Short name, fit for a file.
    title, question : str
        What is asked, as a heading and in a sentence or two.
    X, Y : DataFrame
        Past contexts and what came of them, row by row.
    problem : DecisionProblem
        What is decided.
    policy : Policy
        A policy for it, not fitted yet.
    today : Series
        The context in question.
    alternative : plan
        What the planner has in mind.
    """

    name: str
    title: str
    question: str
    X: pd.DataFrame
    Y: pd.DataFrame
    problem: DecisionProblem
    policy: Policy
    today: pd.Series
    alternative: Any
