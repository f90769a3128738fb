"""What the neighbours must satisfy: bounds over the sets still possible, exact once a set is decided.

A cut says that the alternative costs no more than a rival over the k neighbours, up to a tolerance: in the
mean, or in the mean of the worst tail (the tail counted in neighbours, its last one split).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import by_risk, flow, inner

__all__ = ["Cuts", "hopeless", "order_smallest", "satisfied", "was_excluded"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Cuts(NamedTuple):
    """All cuts of a question.

    Attributes
    ----------
    alternative : ndarray of shape (n,)
        Cost of the alternative under every past observation.
    rivals : ndarray of shape (cuts, n)
        Costs of the plans it must not lose to.
    tail : float or None
        Number of neighbours in the worst tail; None for the mean.
    tau : float
        Tolerance, a little wider than the question's: what it lets through is checked again.
    excluded : ndarray of shape (sets, k)
        Neighbour sets that are left out.
    """

    alternative: Floats
    rivals: Floats
    tail: float | None
    tau: float
    excluded: Ints


@inner
def order_smallest(values: Floats, count: int, m: int) -> None:
    """Reorder the first `count` values so that the `m` smallest of them come first."""
    left, right = 0, count - 1
    while left < right and 0 < m < count:
        pivot = values[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if m - 1 <= j:
            right = j
        elif m - 1 >= i:
            left = i
        else:
            return


@flow
def _tail_mean(values: Floats, count: int, tail: float) -> tuple[float, float]:
    """Mean of the worst `tail` of the first `count` values, and the value at which that tail begins."""
    whole = min(max(1, int(np.ceil(tail - 1e-9))), count)
    order_smallest(values, count, count - whole)
    total = 0.0
    begin = np.inf
    for i in range(count - whole, count):
        total += values[i]
        begin = min(begin, values[i])
    return (total - (whole - tail) * begin) / tail, begin


def _mean_hopeless(
    cuts: Cuts, k: int, inside: Ints, n_inside: int, undecided: Ints, n_undecided: int, buffer: Floats
) -> bool:
    """The smallest mean difference over the sets that are left exceeds the tolerance, for some cut."""
    need = k - n_inside
    if need < 0 or need > n_undecided:
        return True
    for c in range(cuts.rivals.shape[0]):
        total = 0.0
        for i in range(n_inside):
            total += cuts.alternative[inside[i]] - cuts.rivals[c, inside[i]]
        for i in range(n_undecided):
            buffer[i] = cuts.alternative[undecided[i]] - cuts.rivals[c, undecided[i]]
        order_smallest(buffer, n_undecided, need)
        for i in range(need):
            total += buffer[i]
        if total > k * cuts.tau:
            return True
    return False


@inner
def _completed_tail(
    costs: Floats, k: int, inside: Ints, n_inside: int, undecided: Ints, n_undecided: int, tail: float, buffer: Floats,
    sign: float,
) -> tuple[float, float]:  # fmt: skip
    """Tail mean and tail's beginning over the decided members and the smallest (sign 1) or largest (-1) others."""
    need = k - n_inside
    for i in range(n_undecided):
        buffer[i] = sign * costs[undecided[i]]
    order_smallest(buffer, n_undecided, need)
    for i in range(need):
        buffer[i] *= sign
    for i in range(n_inside):
        buffer[need + i] = costs[inside[i]]
    return _tail_mean(buffer, k, tail)


def _tail_hopeless(
    cuts: Cuts, k: int, inside: Ints, n_inside: int, undecided: Ints, n_undecided: int, buffer: Floats
) -> bool:
    """The alternative's smallest tail mean exceeds a rival's largest; failing that, so do all pairs of thresholds."""
    tail: Any = cuts.tail
    alternative = cuts.alternative
    need = k - n_inside
    if need < 0 or need > n_undecided:
        return True
    low, eta_low = _completed_tail(alternative, k, inside, n_inside, undecided, n_undecided, tail, buffer, 1.0)
    eta_high = _completed_tail(alternative, k, inside, n_inside, undecided, n_undecided, tail, buffer, -1.0)[1]
    for c in range(cuts.rivals.shape[0]):
        rival = cuts.rivals[c]
        high, begin = _completed_tail(rival, k, inside, n_inside, undecided, n_undecided, tail, buffer, -1.0)
        if low > high + cuts.tau:
            return True
        if need == 0:
            continue
        least = _completed_tail(rival, k, inside, n_inside, undecided, n_undecided, tail, buffer, 1.0)[1]
        # CVaR(rival) <= eta' + sum (rival - eta')+ / tail for every eta', and CVaR(alternative) attains its
        # minimum over eta at one of the members' costs: for a fixed pair the best members are the smallest terms.
        for step in range(3):
            threshold = begin - 0.5 * step * (begin - least)
            possible = False
            for e in range(n_inside + n_undecided):
                eta = alternative[inside[e] if e < n_inside else undecided[e - n_inside]]
                if eta < eta_low or eta > eta_high:
                    continue
                total = 0.0
                for i in range(n_inside):
                    total += max(alternative[inside[i]] - eta, 0.0) - max(rival[inside[i]] - threshold, 0.0)
                for i in range(n_undecided):
                    buffer[i] = max(alternative[undecided[i]] - eta, 0.0) - max(rival[undecided[i]] - threshold, 0.0)
                order_smallest(buffer, n_undecided, need)
                for i in range(need):
                    total += buffer[i]
                if eta - threshold + total / tail <= cuts.tau:
                    possible = True
                    break
            if not possible:
                return True
    return False


#: Whether no set of k members, those inside and some of the undecided ones, satisfies all cuts.
hopeless = by_risk(_mean_hopeless, _tail_hopeless)


@flow
def was_excluded(cuts: Cuts, k: int, members: Ints) -> bool:
    """Whether this set of members is left out."""
    for e in range(cuts.excluded.shape[0]):
        same = 0
        for i in range(k):
            for other in range(k):
                if cuts.excluded[e, i] == members[other]:
                    same += 1
        if same == k:
            return True
    return False


@inner
def satisfied(cuts: Cuts, k: int, members: Ints, buffer: Floats) -> bool:
    """Whether these k members satisfy all cuts and are not left out."""
    none = k - k  # a literal 0 would have `hopeless` compiled once more
    return not hopeless(cuts, k, members, k, members, none, buffer) and not was_excluded(cuts, k, members)
