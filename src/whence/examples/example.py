"""What an example consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from whence.policy import Policy
from whence.problems.base import DecisionProblem


@dataclass(frozen=True, eq=False)
class Example:
    """A history, a problem, and a planner with a plan of their own."""

    name: str  # fit for a file
    title: str
    question: str  # in a sentence or two
    X: pd.DataFrame  # past contexts
    Y: pd.DataFrame  # what came of them, row by row
    problem: DecisionProblem
    policy: Policy  # not fitted yet
    today: pd.Series  # the context in question
    alternative: Any  # what the planner has in mind
