"""Few changes where a feature is several axes: a date whose parts move together counts once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from whence.aliases import Status
from whence.errors import InputError
from whence.question import Answer, Few, Question, Space
from whence.search.circles import left_of, spent
from whence.weights import KNNWeights

__all__ = ["check_few_dates", "nearest_by_dates"]


def check_few_dates(question: Question) -> None:
    """Refuse to count changes where a search takes every part of a date for a feature."""
    weights = question.weights
    if question.few is None or weights.per_tree_known or isinstance(weights, KNNWeights) or not _several(question):
        return
    raise InputError(
        "'max_changes', 'front', 'menu' and 'reasons' need a date with one part, or weights made of trees or of "
        f"neighbours. Got {type(weights).__name__} and a date with several parts.",
        parameter="max_changes",
    )


def nearest_by_dates(question: Question, search: Callable[[Question], Answer]) -> Answer:
    """The nearest answer of a search that counts axes: every date of several axes stays, or is counted beforehand."""
    if not _several(question):
        return search(question)
    best = Answer("none", None, np.inf, np.inf)
    stopped: Status | None = None
    bound, nodes, cuts = np.inf, 0, 0
    for space, few in _parts(question):
        if stopped is not None or question.limits.remaining <= 0 or spent(question.limits, nodes):
            stopped, bound = stopped or "time_limit", 0.0
            break
        nearer = min(question.nearer_than, best.distance)
        limits = left_of(question.limits, 0.0, best.distance, 0.0, nodes)
        found = search(replace(question, space=space, few=few, nearer_than=nearer, limits=limits))
        nodes, cuts, bound = nodes + found.nodes, cuts + found.cuts, min(bound, found.bound)
        if found.status in ("time_limit", "interrupted"):
            stopped = found.status
        if found.point is not None and found.distance < best.distance:
            best = found
    status: Status = stopped or ("none" if best.point is None else "optimal")
    return replace(best, status=status, bound=min(bound, best.distance), nodes=nodes, cuts=cuts)


def _several(question: Question) -> list[int]:
    """The features, by the numbers of ``Space.feature``, that are several axes; a category is one."""
    space, few = question.space, question.few
    assert few is not None
    axis = np.where(space.group >= 0, space.group + space.start.size, np.arange(space.start.size))
    return [
        int(f) for f in np.unique(space.feature) if f not in few.free and np.unique(axis[space.feature == f]).size > 1
    ]


def _parts(question: Question) -> Iterator[tuple[Space, Few]]:
    """Where to look, and what is left to change there: with every such feature held, or counted as changed."""
    few = question.few
    assert few is not None
    several = _several(question)
    for changed in product((False, True), repeat=len(several)):
        left = few.filling({f for f, does in zip(several, changed, strict=True) if does})
        if left is not None:
            yield _held(question.space, [f for f, does in zip(several, changed, strict=True) if not does]), left


def _held(space: Space, features: list[int]) -> Space:
    """The space in which these features stay as they are."""
    if not features:
        return space
    held = np.isin(space.feature, features)
    levels = tuple(
        space.start[j : j + 1] if held[j] and levels is not None else levels for j, levels in enumerate(space.levels)
    )
    lower, upper = np.where(held, space.start, space.lower), np.where(held, space.start, space.upper)
    return replace(space, lower=lower, upper=upper, levels=levels)
