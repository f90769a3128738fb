"""Compiled criterion of CVaR: at given leaves, and its bound over the leaves that a box meets.

The alternative's CVaR is the smallest, over thresholds eta among its sample costs, of a sum over trees of
A(leaf, eta); any single threshold gives an upper bound on the rival's. For a pair of thresholds the criterion is
a sum over trees, as it is for expected costs. A box carries the range of eta that is still possible; it is empty when
none is left.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from whence.search.compiling import flow, inner
from whence.search.places import (
    ALTERNATIVE,
    ARG,
    BEST,
    FIRST,
    FIRST_ETA,
    HERE,
    JOINT,
    LAST,
    PART,
    ROW,
    SLACK,
    SUMS,
    WORST,
    WORST_SUMS,
)
from whence.search.table_kernels import row_of, share_above, tail_at, value_of

__all__ = ["bounded", "bounded_again", "excess_at", "last_eta", "worth"]

ZERO, ONE = np.uint64(0), np.uint64(1)
#: From this many etas on it pays to ask which of them can attain the CVaR.
WIDE = 64


def last_eta(tables):
    """Where the largest sample cost of the alternative stands among its etas."""
    return tables.sizes[0] - 1


def worth(tables, r, leaf, eta, level):
    """A(leaf, eta) of the alternative, less B(leaf, level) of rival `r`."""
    return value_of(tables, ALTERNATIVE, leaf, eta) - value_of(tables, r + 1, leaf, level)


def excess_at(tables, leaves, first, last, s):
    """CVaR of the alternative less that of the rival it does worst against, and which rival that is."""
    worst, over = 0, -np.inf
    mine = tail_at(tables, ALTERNATIVE, leaves, first, last)[0]
    for r in range(tables.sizes.size - 1):
        least, s.threshold[r] = tail_at(tables, r + 1, leaves, FIRST_ETA, tables.sizes[r + 1] - 1)
        if mine - least > over:
            worst, over = r, mine - least
    return over, worst


@inner
def _least_rows(tables, bits_of, s, t, r, first, last):
    """For every eta, tree t's smallest A(leaf, eta) - B(leaf) in reach, into ``s.etas[PART]``; the number of leaves."""
    part = s.etas[PART]
    level = s.threshold[r]
    count = 0
    for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
        bits = s.reach[w]
        while bits != ZERO:
            leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
            bits &= bits - ONE
            row = row_of(tables, ALTERNATIVE, leaf, first, last, s.etas[ROW])
            b = value_of(tables, r + 1, leaf, level)
            count += 1
            if count == 1:
                for k in range(first, last + 1):
                    part[k] = row[k] - b
            else:
                for k in range(first, last + 1):
                    x = row[k] - b
                    part[k] = x if x < part[k] else part[k]
    return count


@inner
def _least_above(tables, bits_of, s, k, sign):
    """The smallest sum of the trees' shares above the alternative's eta `k` (sign 1), or minus the largest (-1)."""
    total = 0.0
    for t in range(s.per_tree.shape[1]):
        least = np.inf
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = s.reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                above = sign * share_above(tables, ALTERNATIVE, leaf, k)
                least = above if above < least else least
        total += least
    return total


@inner
def _quantiles(tables, bits_of, s, first, last):
    """The etas among first..last at which the alternative's CVaR can be attained somewhere in the box: an interval.

    At any context its sum over trees is convex in eta, and falls as long as more than the tail lies above: where even
    the smallest share above is more the minimum lies beyond, where even the largest is less it lies before. Shares
    shrink with eta in every leaf, and their sums do so in spite of rounding: an eta that is dropped by mistake has
    almost exactly the tail above, so that the next one is as good.
    """
    low, high = first, last
    tail = tables.tail * s.per_tree.shape[1]
    while low < high:
        k = (low + high) // 2
        if _least_above(tables, bits_of, s, k, 1.0) > tail:
            low = k + 1
        else:
            high = k
    first, high = low, last
    while low < high:
        k = (low + high + 1) // 2
        if _least_above(tables, bits_of, s, k - 1, -1.0) > -tail:
            high = k - 1
        else:
            low = k
    return first, low


@flow
def _against(tables, bits_of, s, tau, first, last, r):
    """Raise ``s.etas[JOINT]`` to the bound against rival `r`; the range of eta left, empty where there is none."""
    for k in range(first, last + 1):
        s.etas[SUMS, k] = 0.0
    for t in range(s.per_tree.shape[1]):
        if _least_rows(tables, bits_of, s, t, r, first, last) == 0:
            return 1, 0
        for k in range(first, last + 1):
            s.etas[SUMS, k] += s.etas[PART, k]
    for k in range(first, last + 1):
        s.etas[JOINT, k] = max(s.etas[JOINT, k], s.etas[SUMS, k])
    while first <= last and s.etas[JOINT, first] > tau:
        first += 1
    while first <= last and s.etas[JOINT, last] > tau:
        last -= 1
    return first, last


@inner
def _tail_range(tables, bits_of, s, tau, first, last, worst):
    """The range of eta that no rival rules out, and the eta with the smallest bound: (first, last, best).

    The bound under each eta, the largest over the rivals, goes to ``s.etas[JOINT]``, the worst rival's to WORST_SUMS.
    """
    for k in range(first, last + 1):
        s.etas[JOINT, k] = -np.inf
    for i in range(tables.sizes.size - 1):
        r = worst if i == 0 else (i - 1 if i <= worst else i)
        first, last = _against(tables, bits_of, s, tau, first, last, r)
        if first > last:
            return first, last, -1
        if i == 0:
            for k in range(first, last + 1):
                s.etas[WORST_SUMS, k] = s.etas[SUMS, k]
    best = first
    for k in range(first, last + 1):
        if s.etas[JOINT, k] < s.etas[JOINT, best]:
            best = k
    return first, last, best


@inner
def _drop_dear_tails(tables, bits_of, s, tau, first, last, best, r):
    """Drop the leaves that leave no eta possible against rival `r` if all other trees take their best."""
    reach = s.reach
    for t in range(s.per_tree.shape[1]):
        if _least_rows(tables, bits_of, s, t, r, first, last) < 2:
            continue
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                bit = bits & (ZERO - bits)
                bits ^= bit
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]
                row = row_of(tables, ALTERNATIVE, leaf, first, last, s.etas[ROW])
                b = value_of(tables, r + 1, leaf, s.threshold[r])
                possible = s.etas[WORST_SUMS, best] - s.etas[PART, best] + row[best] - b <= tau
                k = first
                while not possible and k <= last:
                    possible = s.etas[WORST_SUMS, k] - s.etas[PART, k] + row[k] - b <= tau
                    k += 1
                if not possible:
                    reach[w] ^= bit


@inner
def _pull(tables, bits_of, s, eta, r):
    """For one eta, every tree's leaf with the smallest A - B, and how much smaller it is than at the projection."""
    level = s.threshold[r]
    for t in range(s.per_tree.shape[1]):
        best = np.inf
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = s.reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                value = value_of(tables, ALTERNATIVE, leaf, eta) - value_of(tables, r + 1, leaf, level)
                if value < best:
                    best = value
                    s.per_tree[ARG, t] = leaf
        here = s.per_tree[HERE, t]
        s.gains[t] = value_of(tables, ALTERNATIVE, here, eta) - value_of(tables, r + 1, here, level) - best


@flow
def _bounded_under(field, s, first, last, worst):
    """Bound the box under the etas first..last and drop the leaves that it rules out; False where all are out."""
    first, last, best = _tail_range(field.tables, field.bits, s, field.tau, first, last, worst)
    if first > last:
        return False
    s.box[FIRST], s.box[LAST] = first, last
    _drop_dear_tails(field.tables, field.bits, s, field.tau, first, last, best, worst)
    _pull(field.tables, field.bits, s, best, worst)
    s.box[BEST], s.far[SLACK] = best, field.tau - s.etas[WORST_SUMS, best]
    return True


def bounded(field, s):
    """The smallest sums over the reachable leaves, one an eta still possible; what exceeds the slack is dropped."""
    first, last = s.box[FIRST], s.box[LAST]
    if last - first >= WIDE:
        first, last = _quantiles(field.tables, field.bits, s, first, last)
    return _bounded_under(field, s, first, last, s.box[WORST])


def bounded_again(field, s):
    """The same with the threshold of the worst rival that suits the leaves of the bound."""
    worst = s.box[WORST]
    level = tail_at(field.tables, worst + 1, s.per_tree[ARG], FIRST_ETA, field.tables.sizes[worst + 1] - 1)[1]
    if level == s.threshold[worst]:
        return True
    s.threshold[worst] = level
    return _bounded_under(field, s, s.box[FIRST], s.box[LAST], worst)
