"""The shares of the Lagrangian bound: who pays how much of which step."""

from __future__ import annotations

import numpy as np

from whence import _core
from whence.search.grid import KeptGrid

__all__ = ["equal_shares"]

#: Buckets of steps per column and direction, where the number of columns leaves room for them.
BUCKETS = 12


def equal_shares(kept: KeptGrid, located: _core.Located, reach: float) -> _core.Shares:
    """Equal shares among the trees that ask for a column, over steps up to the distance `reach`."""
    start, group, all_distances = located.start, located.group, located.distance
    d = start.size
    bucket = np.zeros(all_distances.size, dtype=np.int32)
    edges: list[float] = []
    begins: list[int] = []
    columns: list[int] = []
    many = max(2, min(BUCKETS, 4000 // d))
    for j in range(d):
        first = kept.face_start[j] + j
        cells = np.arange(first, kept.face_start[j + 1] + j + 1)
        distance = all_distances[cells]
        below = np.arange(cells.size) < start[j]
        for side in (below, ~below):
            inside = side & np.isfinite(distance)
            steps = np.unique(distance[inside & (distance <= reach)])
            steps = steps[steps > 0]
            if steps.size > many:
                steps = np.quantile(steps, np.linspace(0, 1, many + 1)[:-1])
            # A bucket begins where the one before it ends; the first at the start itself.
            begin = len(edges)
            marks = np.concatenate([[0.0], steps[:-1]]) if steps.size else np.zeros(1)
            edges += marks.tolist()
            begins += [begin] * marks.size
            columns += [j] * marks.size
            within = np.searchsorted(marks, distance[inside], side="left") - 1
            bucket[cells[inside]] = begin + np.clip(within, 0, marks.size - 1)
    asks = kept.grid.asks
    for g in np.unique(group[group >= 0]):
        members = np.flatnonzero(group == g)
        asks[members] = asks[members].max(axis=0)
    asks = (asks + 1e-9) / (asks + 1e-9).sum(axis=1, keepdims=True)
    part = np.ascontiguousarray(asks[columns])
    return _core.Shares(located, bucket, np.array(edges), np.array(begins, dtype=np.int32), part)
