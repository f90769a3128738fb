"""Weights to decision: the problems that turn weighted samples into a plan."""

from whence.problems.base import DecisionProblem

__all__ = ["DecisionProblem"]
