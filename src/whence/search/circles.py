"""Features that go round: one search on each side of the point that is farthest from the start, nearest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from whence.aliases import Status
from whence.question import Answer, Few, Limits, Part, Progress, Question

__all__ = ["left_of", "nearest_way_round", "spent"]


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
        few = None if question.few is None else question.few.filling(set(part.changed))
        if few is None and question.few is not None:
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
        space=part.space,
        few=few,
        nearer_than=nearer_than,
        limits=left_of(question.limits, part.fee, best.distance, bound, nodes),
    )


def left_of(limits: Limits, fee: float, distance: float, bound: float, nodes: int) -> Limits:
    """What is left of the limits after so many boxes, and progress told as that of the whole question."""
    tell = limits.on_progress

    def told(progress: Progress) -> object:
        assert tell is not None
        found = min(progress.distance + fee, distance)
        return tell(Progress(nodes + progress.nodes, found, min(progress.bound + fee, bound, found), progress.seconds))

    most = None if limits.node_limit is None else max(1, limits.node_limit - nodes)
    return replace(limits, node_limit=most, on_progress=None if tell is None else told)


def spent(limits: Limits, nodes: int) -> bool:
    """Whether so many boxes are all that may be looked at."""
    return limits.node_limit is not None and nodes >= limits.node_limit
