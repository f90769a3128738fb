"""Explanations that may fill in what a context lacks: one question for every set of numbers that is filled in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from whence.errors import InputError
from whence.features import Schema
from whence.features.space import Space
from whence.question import Answer, Question
from whence.util.aliases import Status
from whence.weights.base import Weights

if TYPE_CHECKING:
    from whence.explain.ask import Request
    from whence.policy import Policy

__all__ = ["filled_question", "merged", "nearest_filled", "sets_to_fill", "weights_for"]

#: Missing numbers that may be filled in at once: there is a question for each of their sets.
MOST = 6


def weights_for(policy: Policy, initial: pd.Series, filled: Collection[str] = ()) -> Weights:
    """The policy's weights, with splits on what the initial context lacks decided, apart from what is `filled` in."""
    schema = policy.schema_
    if not schema.takes_missing:
        return policy.weights_.lacking(frozenset())
    row = initial.copy()
    for name in filled:
        row[name] = schema.training_range(name)[0]
    return policy.weights_.lacking(frozenset(np.flatnonzero(np.isnan(policy.inputs_of(row))).tolist()))


def sets_to_fill(schema: Schema, initial: pd.Series, fill: Collection[str], fixed: Collection[str]) -> list[list[str]]:
    """Every set of missing numbers that may be filled in, from none at all to all of them."""
    names = schema.fillable(initial, fill, fixed) if len(fill) else []
    if len(names) > MOST:
        raise InputError(
            f"'fill' must name at most {MOST} features that are missing at once. Got {len(names)}.", parameter="fill"
        )
    return [list(chosen) for size in range(len(names) + 1) for chosen in combinations(names, size)]


def filled_question(
    policy: Policy, request: Request, initial: pd.Series, question: Question, filled: Collection[str], restricted: bool
) -> Question:
    """The same question where some missing numbers are filled in; each of them is a change where few may change."""
    if not filled:
        return question
    space = request.space(policy.schema_, policy.X_, initial, restricted, filled)
    few = question.space.few
    if few is not None:
        few = few.filling(_numbers(policy, question, filled)) or few
    # What an engine keeps of one question is of no use to another.
    space = replace(space, few=few, plausibility=question.space.plausibility)
    return replace(question, space=space, weights=weights_for(policy, initial, filled), memo={})


def _numbers(policy: Policy, question: Question, names: Collection[str]) -> set[int]:
    """The numbers of these features in the question's space."""
    owners = zip(policy.schema_.feature_of_coordinate(), question.space.feature.tolist(), strict=True)
    return {number for name, number in owners if name in names}


def nearest_filled(
    policy: Policy,
    request: Request,
    initial: pd.Series,
    question: Question,
    search: Callable[[Question], Answer],
    restricted: bool = True,
) -> tuple[Question, Answer]:
    """The nearest answer, whatever is filled in for it, and the question that it answers."""
    fixed = request.fixed if restricted else ()
    sets = sets_to_fill(policy.schema_, initial, request.fill, fixed)
    if len(sets) == 1:
        return question, search(question)

    def asked() -> Iterator[Question]:
        for filled in sets:
            few = question.space.few
            if few is None or few.filling(_numbers(policy, question, filled)) is not None:
                yield filled_question(policy, request, initial, question, filled, restricted)

    return merged(asked(), search)


def merged(questions: Iterator[Question], search: Callable[[Question], Answer]) -> tuple[Question, Answer]:
    """The nearest of the answers to several questions, with what is proved of all of them."""
    best: tuple[Question, Answer] | None = None
    stopped: Status | None = None
    bound, nodes, cuts = np.inf, 0, 0
    for question in questions:
        fee = 0.0 if question.space.fee is None else float(question.space.fee.sum())
        if best is not None and best[1].distance <= fee:
            continue
        if question.limits.remaining <= 0:
            stopped, bound = stopped or "time_limit", min(bound, fee)
            continue
        found = search(replace(question, space=_without_fee(question.space)))
        nodes, cuts = nodes + found.nodes, cuts + found.cuts
        found = replace(found, distance=found.distance + fee, bound=found.bound + fee)
        if found.status in ("time_limit", "interrupted"):
            stopped = found.status
        bound = min(bound, found.bound)
        if best is None or found.distance < best[1].distance:
            best = question, found
    assert best is not None
    question, answer = best
    status: Status = stopped or ("none" if answer.point is None else "optimal")
    least = min(bound, answer.distance)
    return question, replace(answer, status=status, bound=least, nodes=nodes, cuts=cuts)


def _without_fee(space: Space) -> Space:
    return space if space.fee is None else replace(space, fee=None)
