"""Weights to decision: the problems that turn weighted samples into a plan."""

from whence.problems.base import DecisionProblem
from whence.problems.linear import LinearProblem
from whence.problems.newsvendor import Newsvendor
from whence.problems.shipment import Shipment
from whence.problems.shortest_path import ShortestPath

__all__ = ["DecisionProblem", "LinearProblem", "Newsvendor", "Shipment", "ShortestPath"]
