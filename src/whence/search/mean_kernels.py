"""Compiled criterion of expected costs: at given leaves, and its bound over the leaves that a box meets.

With a(leaf) the mean cost difference over a leaf's samples, divided by the number of trees, the criterion at a
context is the sum over trees of a(its leaf) <= tau, and the sum of the trees' smallest reachable values bounds it from
below over a box.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from whence.search.compiling import inner
from whence.search.places import ARG, HERE, OTHER, SLACK, WORST

__all__ = ["bounded", "bounded_again", "excess_at", "last_eta", "worth"]

ZERO, ONE = np.uint64(0), np.uint64(1)


def last_eta(tables):
    """There is no threshold: 0."""
    return 0


def worth(tables, r, leaf, eta, level):
    """Mean difference between the alternative and rival `r` in a leaf."""
    return tables.mean[r, leaf]


def excess_at(tables, leaves, first, last, s):
    """The largest sum over trees, and the rival it belongs to."""
    worst, over = 0, -np.inf
    for r in range(tables.mean.shape[0]):
        total = 0.0
        for t in range(leaves.size):
            total += tables.mean[r, leaves[t]]
        if total > over:
            worst, over = r, total
    return over, worst


@inner
def least_sum(bits_of, reach, values, arg):
    """Sum over trees of the smallest value among reachable leaves; the leaves that attain it go to `arg`."""
    total = 0.0
    for t in range(arg.size):
        best = np.inf
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                if values[leaf] < best:
                    best = values[leaf]
                    arg[t] = leaf
        total += best
    return total


@inner
def drop_dear_leaves(bits_of, reach, values, arg, slack):
    """Drop from `reach` the leaves that would use up more than the slack if all other trees took their best."""
    for t in range(arg.size):
        most = values[arg[t]] + slack
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                bit = bits & (ZERO - bits)
                bits ^= bit
                if values[bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]] > most:
                    reach[w] ^= bit


def bounded(field, s):
    """The smallest sums over the reachable leaves, one a rival; what exceeds the slack is dropped."""
    tables, worst = field.tables, s.box[WORST]
    for i in range(tables.mean.shape[0]):
        r = worst if i == 0 else (i - 1 if i <= worst else i)
        arg = s.per_tree[ARG] if i == 0 else s.per_tree[OTHER]
        total = least_sum(field.bits, s.reach, tables.mean[r], arg)
        if total > field.tau:
            return False
        if i == 0:
            s.far[SLACK] = field.tau - total
        drop_dear_leaves(field.bits, s.reach, tables.mean[r], arg, field.tau - total)
    for t in range(s.per_tree.shape[1]):
        s.gains[t] = tables.mean[worst, s.per_tree[HERE, t]] - tables.mean[worst, s.per_tree[ARG, t]]
    return True


def bounded_again(field, s):
    """There is nothing to bound again."""
    return True
