"""Compiled coordinate descent over cells, for proposals."""

from __future__ import annotations

import numpy as np

from whence.search.box_kernels import leaves_at
from whence.search.compiling import kernel
from whence.search.forest_kernels import excess_at

__all__ = ["best_on_lines", "climb", "pull"]


@kernel
def _holds(grid, tables, tau, cells, leaves, sums, threshold):  # type: ignore[no-untyped-def]
    leaves_at(grid, cells, leaves)
    return excess_at(tables, leaves, 0, tables.alternative.shape[1] - 1, sums, threshold)[0] <= tau


@kernel
def _distance(grid, located, cells):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(cells.size):
        total += located.distance[grid.face_start[j] + j + cells[j]]
    return total


@kernel
def _nearer(grid, located, tables, tau, cells, j, leaves, sums, threshold):  # type: ignore[no-untyped-def]
    """Move column `j` of a context that holds as near to the start as bisection finds it; True where it moved."""
    base = grid.face_start[j] + j
    bad, good = located.start[j], cells[j]
    cells[j] = bad
    if _holds(grid, tables, tau, cells, leaves, sums, threshold):
        return True
    moved = False
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        middle = located.up[base + middle] if good > bad else located.down[base + middle]
        if middle == good or middle == bad:
            break
        cells[j] = middle
        if _holds(grid, tables, tau, cells, leaves, sums, threshold):
            good, moved = middle, True
        else:
            bad = middle
    cells[j] = good
    return moved


@kernel
def _group_back(grid, located, tables, tau, cells, g, leaves, sums, threshold):  # type: ignore[no-untyped-def]
    """Set a category back to the initial one where the criterion still holds; True where it moved."""
    before = cells.copy()
    same = True
    for j in range(cells.size):
        if located.group[j] == g:
            same &= cells[j] == located.start[j]
            cells[j] = located.start[j]
    if same:
        return False
    if _holds(grid, tables, tau, cells, leaves, sums, threshold):
        return True
    cells[:] = before
    return False


@kernel
def pull(grid, located, tables, tau, starts, improved, found, best):  # type: ignore[no-untyped-def]
    """Pull those of `starts` that hold towards the start, one column at a time; the nearest goes to `best`."""
    d = best.size
    leaves = np.empty(grid.root.size, np.int32)
    sums = np.empty(max(tables.alternative.shape[1], tables.rival.shape[2]))
    threshold = np.zeros(tables.mean.shape[0], np.int32)
    cells = np.empty(d, np.int32)
    away = np.empty(d)
    for s in range(starts.shape[0]):
        cells[:] = starts[s]
        if not _holds(grid, tables, tau, cells, leaves, sums, threshold):
            continue
        for _ in range(8):
            for j in range(d):
                away[j] = located.distance[grid.face_start[j] + j + cells[j]]
            moved = False
            for j in np.argsort(-away):
                if located.group[j] >= 0:
                    if located.start[j] > 0:
                        moved |= _group_back(
                            grid, located, tables, tau, cells, located.group[j], leaves, sums, threshold
                        )
                elif cells[j] != located.start[j]:
                    moved |= _nearer(grid, located, tables, tau, cells, j, leaves, sums, threshold)
            if not moved:
                break
        total = _distance(grid, located, cells)
        if total < found:
            found = total
            best[:] = cells
        improved -= 1
        if improved == 0:
            break
    return found


@kernel
def best_on_lines(grid, located, tables, tau, cutoff, best):  # type: ignore[no-untyped-def]
    """The nearest context that holds and differs from the start in one feature; its cells go to `best`."""
    d = best.size
    leaves = np.empty(grid.root.size, np.int32)
    sums = np.empty(max(tables.alternative.shape[1], tables.rival.shape[2]))
    threshold = np.zeros(tables.mean.shape[0], np.int32)
    cells = located.start.copy()
    found = cutoff
    for j in range(d):
        base = grid.face_start[j] + j
        if located.group[j] >= 0:
            # Another category: this one on, the initial one off.
            if located.start[j] == 0 and located.high[j] > 0:
                off = -1
                for i in range(d):
                    if located.group[i] == located.group[j] and located.start[i] > 0:
                        off = i
                price = located.distance[grid.face_start[off] + off]
                if price < found:
                    cells[off], cells[j] = 0, located.high[j]
                    if _holds(grid, tables, tau, cells, leaves, sums, threshold):
                        found = price
                        best[:] = cells
                    cells[off], cells[j] = located.start[off], 0
            continue
        stride = max(1, (located.high[j] - located.low[j]) // 64)
        for direction in (-1, 1):
            c = located.start[j] + direction
            while located.low[j] <= c <= located.high[j]:
                c = located.up[base + c] if direction > 0 else located.down[base + c]
                if located.distance[base + c] >= found:
                    break
                cells[j] = c
                if _holds(grid, tables, tau, cells, leaves, sums, threshold):
                    found = located.distance[base + c]
                    best[:] = cells
                    break
                c += direction * stride
        cells[j] = located.start[j]
    return found


@kernel
def climb(grid, located, tables, tau, cutoff, best):  # type: ignore[no-untyped-def]
    """From the start, take the step that gains most for its way until the criterion holds; its cells go to `best`.

    Returns whether it arrived nearer than `cutoff`.
    """
    d = best.size
    leaves = np.empty(grid.root.size, np.int32)
    sums = np.empty(max(tables.alternative.shape[1], tables.rival.shape[2]))
    threshold = np.zeros(tables.mean.shape[0], np.int32)
    etas = tables.alternative.shape[1]
    cells = located.start.copy()
    leaves_at(grid, cells, leaves)
    excess = excess_at(tables, leaves, 0, etas - 1, sums, threshold)[0]
    walked = 0.0
    for _ in range(4 * d):
        if excess <= tau:
            best[:] = cells
            return True
        column, target, ratio, new_excess = -1, 0, 0.0, excess
        for j in range(d):
            if located.group[j] >= 0:
                continue
            base = grid.face_start[j] + j
            own = cells[j]
            for direction in (-1, 1):
                stride, c = 1, own + direction
                while located.low[j] <= c <= located.high[j]:
                    c = located.up[base + c] if direction > 0 else located.down[base + c]
                    way = located.distance[base + c] - located.distance[base + own]
                    if way <= 0.0 or walked + way >= cutoff:
                        break
                    cells[j] = c
                    leaves_at(grid, cells, leaves)
                    now = excess_at(tables, leaves, 0, etas - 1, sums, threshold)[0]
                    gain = min(excess - now, excess - tau) / (way + 1e-9)
                    if gain > ratio:
                        column, target, ratio, new_excess = j, c, gain, now
                    stride += stride // 2 + 1
                    c += direction * stride
            cells[j] = own
        if column < 0:
            return False
        base = grid.face_start[column] + column
        walked += located.distance[base + target] - located.distance[base + cells[column]]
        cells[column] = target
        excess = new_excess
    return False
