"""The cell of a forest around a context that was found: how far its numbers may be rounded."""

from __future__ import annotations

import numpy as np

from whence.aliases import Floats
from whence.question import Question
from whence.question.relations import Relations
from whence.search.grid import KeptGrid

__all__ = ["cell_beyond"]

#: By how much a number that a row of relations is about may be rounded.
HAIR = 1e-11


def cell_beyond(question: Question, kept: KeptGrid, rows: Relations | None, point: Floats) -> tuple[Floats, Floats]:
    """The part of the cell around `point` that lies beyond it, seen from the start, along what moved.

    Only the grid knows on which side of a threshold a coordinate lies: two numbers of the user's may have the same one.
    """
    inputs, space, face_start = question.inputs, question.space, kept.face_start
    low, high = point.copy(), point.copy()
    tied = set() if rows is None else rows.row_coordinates
    for c in np.flatnonzero((point != space.start)[inputs.coordinate]).tolist():
        q, first, last = inputs.coordinate[c], face_start[c], face_start[c + 1]
        cell = int(kept.cells_of(c, point[q : q + 1], inputs)[0])
        if q in tied:
            # Rounded by more, it might break a row.
            bottom = -np.inf if cell == 0 else kept.beyond[first + cell - 1]
            top = np.inf if first + cell == last else kept.below[first + cell]
            low[q], high[q] = max(bottom, point[q] - HAIR), min(top, point[q] + HAIR)
            continue
        if point[q] > space.start[q] and first + cell < last:
            high[q] = max(point[q], min(kept.below[first + cell], space.upper[q]))
        elif point[q] > space.start[q]:
            high[q] = max(point[q], space.upper[q])
        elif cell > 0:
            low[q] = min(point[q], max(kept.beyond[first + cell - 1], space.lower[q]))
        else:
            low[q] = min(point[q], space.lower[q])
    return low, high
