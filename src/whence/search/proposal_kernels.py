"""Compiled coordinate descent over cells, for proposals.

Every look at a context counts against ``left[0]``, so that proposals end in time on forests of any size.
"""

from __future__ import annotations

from whence.search.box_kernels import leaves_at
from whence.search.compiling import flow, inner, kernel
from whence.search.criterion_kernels import excess_at, last_eta
from whence.search.places import CELLS, CELLS2, DOWN, FIRST_CELL, FIRST_ETA, GROUP, HERE, LAST_CELL, SEEN, START, UP

__all__ = ["best_on_lines", "climb", "pull_back"]


@inner
def _excess(field, s, cells, left):
    left[0] -= 1
    leaves_at(field.grid, cells, s.per_tree[HERE])
    return excess_at(field.tables, s.per_tree[HERE], FIRST_ETA, last_eta(field.tables), s)[0]


@flow
def _nearer(field, s, cells, j, left):
    """Move column `j` of a context that holds as near to the start as bisection finds it; True where it moved."""
    located, base = field.located, field.grid.face_start[j] + j
    bad, good = located.column[START, j], cells[j]
    cells[j] = bad
    if _excess(field, s, cells, left) <= field.tau:
        return True
    moved = False
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        middle = located.step[UP, base + middle] if good > bad else located.step[DOWN, base + middle]
        if middle in (good, bad):
            break
        cells[j] = middle
        if _excess(field, s, cells, left) <= field.tau:
            good, moved = middle, True
        else:
            bad = middle
    cells[j] = good
    return moved


@flow
def _group_back(field, s, cells, g, left):
    """Set a category back to the initial one where the criterion still holds; True where it moved."""
    located = field.located
    moved = False
    for j in range(cells.size):
        s.columns[CELLS2, j] = cells[j]
        if located.column[GROUP, j] == g:
            moved |= cells[j] != located.column[START, j]
            cells[j] = located.column[START, j]
    if moved and _excess(field, s, cells, left) > field.tau:
        moved = False
        for j in range(cells.size):
            cells[j] = s.columns[CELLS2, j]
    return moved


@flow
def _next_column(field, cells, done):
    """The column not done yet that is farthest from the start, or -1."""
    column, farthest = -1, -1.0
    for j in range(cells.size):
        away = field.located.distance[field.grid.face_start[j] + j + cells[j]]
        if not done[j] and away > farthest:
            column, farthest = j, away
    return column


@flow
def _round(field, s, cells, left):
    """Pull every column of a context that holds towards the start once, the farthest first; True where one moved."""
    located = field.located
    moved = False
    for j in range(cells.size):
        s.columns[SEEN, j] = 0
    for _ in range(cells.size):
        j = _next_column(field, cells, s.columns[SEEN])
        s.columns[SEEN, j] = 1
        if left[0] <= 0:
            continue
        if located.column[GROUP, j] >= 0:
            if located.column[START, j] > 0:
                moved |= _group_back(field, s, cells, located.column[GROUP, j], left)
        elif cells[j] != located.column[START, j]:
            moved |= _nearer(field, s, cells, j, left)
    for j in range(cells.size):
        s.columns[SEEN, j] = 0
    return moved


@kernel
def pull_back(field, s, starts, improved, found, left, best):
    """Pull those of `starts` that hold towards the start, one column at a time; the nearest goes to `best`."""
    cells = s.columns[CELLS]
    for i in range(starts.shape[0]):
        if left[0] <= 0 or improved == 0:
            break
        for j in range(best.size):
            cells[j] = starts[i, j]
        if _excess(field, s, cells, left) > field.tau:
            continue
        improved -= 1
        for _ in range(8):
            if not _round(field, s, cells, left):
                break
        total = 0.0
        for j in range(best.size):
            total += field.located.distance[field.grid.face_start[j] + j + cells[j]]
        if total < found:
            found = total
            for j in range(best.size):
                best[j] = cells[j]
    return found


@flow
def _other_category(field, s, cells, j, found, left, best):
    """Try the category of column `j` instead of the initial one; the distance of the nearest context that holds."""
    grid, located = field.grid, field.located
    home = -1
    for i in range(cells.size):
        if located.column[GROUP, i] == located.column[GROUP, j] and located.column[START, i] > 0:
            home = i
    price = located.distance[grid.face_start[home] + home]
    if located.column[START, j] > 0 or located.column[LAST_CELL, j] == 0 or price >= found:
        return found
    cells[home], cells[j] = 0, located.column[LAST_CELL, j]
    if _excess(field, s, cells, left) <= field.tau:
        found = price
        for i in range(cells.size):
            best[i] = cells[i]
    cells[home], cells[j] = located.column[START, home], 0
    return found


@kernel
def best_on_lines(field, s, cutoff, left, best):
    """The nearest context found that holds and differs from the start in one feature; its cells go to `best`."""
    grid, located = field.grid, field.located
    cells = s.columns[CELLS]
    for j in range(best.size):
        cells[j] = located.column[START, j]
    found = cutoff
    for j in range(best.size):
        if left[0] <= 0:
            break
        if located.column[GROUP, j] >= 0:
            found = _other_category(field, s, cells, j, found, left, best)
            continue
        base = grid.face_start[j] + j
        stride = max(1, (located.column[LAST_CELL, j] - located.column[FIRST_CELL, j]) // 64)
        for direction in (-1, 1):
            c = located.column[START, j] + direction
            while located.column[FIRST_CELL, j] <= c <= located.column[LAST_CELL, j] and left[0] > 0:
                c = located.step[UP, base + c] if direction > 0 else located.step[DOWN, base + c]
                if located.distance[base + c] >= found:
                    break
                cells[j] = c
                if _excess(field, s, cells, left) <= field.tau:
                    found = located.distance[base + c]
                    for i in range(best.size):
                        best[i] = cells[i]
                    break
                c += direction * stride
        cells[j] = located.column[START, j]
    return found


@flow
def _best_step(field, s, cells, excess, walked, cutoff, left):
    """The step that gains most for its way: (column, cell, excess after it); column -1 where none gains."""
    located, tau = field.located, field.tau
    column, target, ratio, after = -1, 0, 0.0, excess
    for j in range(cells.size):
        if located.column[GROUP, j] >= 0:
            continue
        base = field.grid.face_start[j] + j
        own = cells[j]
        for direction in (-1, 1):
            stride, c = 1, own + direction
            while located.column[FIRST_CELL, j] <= c <= located.column[LAST_CELL, j] and left[0] > 0:
                c = located.step[UP, base + c] if direction > 0 else located.step[DOWN, base + c]
                way = located.distance[base + c] - located.distance[base + own]
                if way <= 0.0 or walked + way >= cutoff:
                    break
                cells[j] = c
                now = _excess(field, s, cells, left)
                gain = min(excess - now, excess - tau) / (way + 1e-9)
                if gain > ratio:
                    column, target, ratio, after = j, c, gain, now
                stride += stride // 2 + 1
                c += direction * stride
        cells[j] = own
    return column, target, after


@kernel
def climb(field, s, cutoff, left, cells):
    """From the start, take the step that gains most for its way until the criterion holds; True where it arrived."""
    for j in range(cells.size):
        cells[j] = field.located.column[START, j]
    excess = _excess(field, s, cells, left)
    walked = 0.0
    while excess > field.tau and left[0] > 0:
        column, target, after = _best_step(field, s, cells, excess, walked, cutoff, left)
        if column < 0:
            return False
        base = field.grid.face_start[column] + column
        walked += field.located.distance[base + target] - field.located.distance[base + cells[column]]
        cells[column] = target
        excess = after
    return excess <= field.tau
