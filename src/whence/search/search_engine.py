"""The native search as an engine: one search, or one for every part of the space, nearest first.

Features that go round are searched on each side of the point that is farthest from the start; dates of several axes
stay as they are, or are counted as changed beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np

from whence.engines import Engine, check_related_units, check_reliance, part_of
from whence.errors import InputError
from whence.features.space import Few, Part, Space
from whence.question import Answer, Limits, Progress, Question
from whence.util.aliases import Status
from whence.weights import KNNWeights, Weights

__all__ = ["Search", "check_few_dates", "left_of", "nearest_by_dates", "nearest_way_round", "spent"]


def nearest_way_round(question: Question, search: Callable[[Question], Answer]) -> Answer:
    """The nearest answer, whichever way round it is reached.

    On either side of the point opposite the start the distance along a circle grows as on a line, from the start or
    from the end of the line that is nearer by going round. A later part has to be nearer than what was found before.
    """
    best = Answer("none", None, np.inf, np.inf)
    stopped: Status | None = None
    bound, nodes, cuts = np.inf, 0, 0
    parts = question.space.parts
    for i, part in enumerate(parts):
        if part.fee >= best.distance:
            break
        if stopped is not None or question.limits.remaining <= 0 or spent(question.limits, nodes):
            stopped, bound = stopped or "time_limit", min(bound, part.fee)
            continue
        # Going round is a change.
        few = None if question.space.few is None else question.space.few.filling(set(part.changed))
        if few is None and question.space.few is not None:
            continue
        left = min((later.fee for later in parts[i + 1 :]), default=np.inf)
        found = search(_asked(question, part, few, best, min(bound, left), nodes))
        nodes, cuts = nodes + found.nodes, cuts + found.cuts
        if found.status in ("time_limit", "interrupted"):
            stopped = found.status
        # Also where a part is answered up to a gap.
        bound = min(bound, found.bound + part.fee)
        if found.point is not None and found.distance + part.fee < best.distance:
            best = replace(found, distance=found.distance + part.fee)
    status: Status = stopped or ("none" if best.point is None else "optimal")
    return replace(best, status=status, bound=min(bound, best.distance), nodes=nodes, cuts=cuts)


def _asked(question: Question, part: Part, few: Few | None, best: Answer, bound: float, nodes: int) -> Question:
    """The question about one part: nearer than the best so far, with the limits that are left."""
    nearer_than = question.nearer_than
    if part.fee or best.point is not None:
        nearer_than = min(nearer_than, best.distance) - part.fee
    return replace(
        question,
        space=part.space if few is None else replace(part.space, few=few),
        nearer_than=nearer_than,
        limits=left_of(question.limits, part.fee, best.distance, bound, nodes),
    )


def left_of(limits: Limits, fee: float, distance: float, bound: float, nodes: int) -> Limits:
    """What is left of the limits after this many boxes, and progress told as that of the whole question."""
    tell = limits.on_progress

    def told(progress: Progress) -> object:
        assert tell is not None
        found = min(progress.distance + fee, distance)
        return tell(Progress(nodes + progress.nodes, found, min(progress.bound + fee, bound, found), progress.seconds))

    most = None if limits.node_limit is None else max(1, limits.node_limit - nodes)
    return replace(limits, node_limit=most, on_progress=None if tell is None else told)


def spent(limits: Limits, nodes: int) -> bool:
    """Whether this many boxes are all that may be looked at."""
    return limits.node_limit is not None and nodes >= limits.node_limit


def check_few_dates(question: Question) -> None:
    """Refuse to count changes where a search takes every part of a date for a feature."""
    weights = question.weights
    if (
        question.space.few is None
        or weights.capabilities.made_of_trees
        or isinstance(weights, KNNWeights)
        or not _several(question)
    ):
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
        found = search(replace(question, space=replace(space, few=few), nearer_than=nearer, limits=limits))
        nodes, cuts, bound = nodes + found.nodes, cuts + found.cuts, min(bound, found.bound)
        if found.status in ("time_limit", "interrupted"):
            stopped = found.status
        if found.point is not None and found.distance < best.distance:
            best = found
    status: Status = stopped or ("none" if best.point is None else "optimal")
    return replace(best, status=status, bound=min(bound, best.distance), nodes=nodes, cuts=cuts)


def _several(question: Question) -> list[int]:
    """The features, by the numbers of ``Space.feature``, that are several axes; a category is one."""
    space, few = question.space, question.space.few
    assert few is not None
    axis = np.where(space.group >= 0, space.group + space.start.size, np.arange(space.start.size))
    return [
        int(f) for f in np.unique(space.feature) if f not in few.free and np.unique(axis[space.feature == f]).size > 1
    ]


def _parts(question: Question) -> Iterator[tuple[Space, Few]]:
    """Where to look, and what is left to change there: with every such feature held, or counted as changed."""
    few = question.space.few
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


class Search(Engine):
    """Best-first search over boxes of contexts; how boxes are made depends on the weights."""

    name: ClassVar[str] = "search"
    words: ClassVar[str] = "the search"

    def label(self, weights: Weights, options: Mapping[str, Any]) -> str:
        """Which search it is."""
        return f"search ({weights.label})"

    def check(self, question: Question) -> None:
        """Refuse weights that no search is made for, and what they cannot say of themselves."""
        if question.claim.plans is not None:
            part_of(question.weights, "sets")
        part_of(question.weights, self.name)
        check_reliance(question)
        check_related_units(question)
        check_few_dates(question)

    def answer(self, question: Question) -> Answer:
        """Search until a context is proved nearest."""
        part = self.name if question.claim.plans is None else "sets"
        search: Callable[[Question], Answer] = part_of(question.weights, part)
        if question.space.few is not None and not question.weights.capabilities.made_of_trees:
            search = partial(nearest_by_dates, search=search)
        return nearest_way_round(question, search) if question.space.circles else search(question)
