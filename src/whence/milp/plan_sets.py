"""Some plan of a set costs no more than a rival plan: one binary a plan says which."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whence.aliases import Floats
from whence.errors import InputError
from whence.milp.model import Linear, Model, Row, scaled
from whence.milp.weighting import Weighting
from whence.question import Question

__all__ = ["SomePlan", "about_set", "check_set"]

#: Plans of a set, at most: each of them has a row against every rival.
LISTED = 400


def check_set(question: Question) -> None:
    """Refuse a set of plans that the integer program cannot express."""
    assert question.plans is not None
    if question.risk.tail is not None:
        raise InputError(
            "'engine' must be 'search' for a set of plans under CVaR: the integer program knows sets for the expected "
            "cost only.",
            parameter="engine",
        )
    if question.plans.every(LISTED) is None:
        raise InputError(
            f"'engine' must be 'search' for a set of plans that cannot be listed, or of more than {LISTED}: the "
            "integer program has a row for every plan.",
            parameter="engine",
        )
    if question.kind == "absolute" and question.options.get("method") == "dual":
        raise InputError(
            "'method' must be 'iterative' or 'lazy' for a set of plans. Got 'dual' instead.", parameter="method"
        )


def about_set(question: Question) -> Question:
    """The question whose `better` is a plan that beats the whole set."""
    assert question.plans is not None
    if question.kind != "absolute":
        return question
    return replace(question, better=question.plans.beaten(question.risk, question.tau))


class SomePlan:
    """Expected cost of some plan of a list: that which is chosen costs no more than any rival."""

    def __init__(self, model: Model, weighting: Weighting, question: Question) -> None:
        assert question.plans is not None
        rows = question.plans.every(LISTED)
        assert rows is not None
        self.rows, self.weighting, self.tau = rows, weighting, question.tau
        self.chosen = model.variables(len(rows), integer=True)
        model.row(Linear(self.chosen, np.ones(len(rows))), 1.0, 1.0)

    def reserve(self, sets: int) -> None:
        """No rival needs variables of its own."""

    def spare(self) -> bool:
        """Whether the next rival's rows need no new variables."""
        return True

    def against(self, rival: Floats) -> list[Row]:
        """The rows that say: the plan that is chosen costs at most tau more than one with the sample costs `rival`."""
        found = []
        for z, row in enumerate(self.rows):
            difference = row - rival
            # Weights add up to 1: no mean is larger than the largest difference, so that others are free to be.
            most = float(difference.max())
            if most > self.tau:
                free = Linear(self.chosen[z : z + 1], np.array([most - self.tau]))
                found.append(scaled(self.weighting.mean(difference) + free, most))
        return found
