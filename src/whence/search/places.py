"""Rows of the packed arrays that the compiled search works on: few wide arrays compile faster than many small ones."""

from __future__ import annotations

import numpy as np

#: Rows of ForestGrid.node and ForestGrid.path.
NODE_COLUMN, NODE_SPLIT, NODE_LEFT, NODE_RIGHT = 0, 1, 2, 3
PATH_COLUMN, PATH_LOW, PATH_HIGH = 0, 1, 2
#: Rows of Located.step and Located.column.
UP, DOWN = 0, 1
START, FIRST_CELL, LAST_CELL, GROUP = 0, 1, 2, 3
#: Rows of Scratch.columns, Scratch.per_tree and Scratch.etas.
LOW, HIGH, CELLS, LOW2, HIGH2, CELLS2, SEEN, LEAST, MOST, LISTED = range(10)
HERE, ARG, OTHER = 0, 1, 2
SUMS, PART, JOINT, ROW, WORST_SUMS = 0, 1, 2, 3, 4
#: Places in Scratch.box and Scratch.far.
LINK, FIRST, LAST, WORST, HOLDS, BARRED, BEST = range(7)
KEY, NEAR, SLACK = 0, 1, 2
#: The alternative among the plans of the CVaR tables, and the first of a plan's etas. A literal 0 has its own type,
#: for which all that it is handed to would be compiled once more.
ALTERNATIVE, FIRST_ETA = np.int64(0), np.int64(0)
