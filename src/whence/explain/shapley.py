"""Exact Shapley values between two contexts: what every changed feature contributes to a difference of costs.

The players are the features that differ. A coalition is the context that has their new values and the old ones of all
others; its worth is a number computed there. The values add up to the worth of the new context less that of the old.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats

__all__ = ["coalitions", "shapley_of_table", "shapley_of_trees"]


def coalitions(players: int) -> NDArray[np.bool_]:
    """Every coalition of so many players as a row: player j is in row i where bit j of i is set.

    Examples
    --------
    >>> coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    rows = np.arange(2**players)[:, None] >> np.arange(players)
    return (rows & 1).astype(np.bool_)


def shapley_of_table(worth: Floats) -> Floats:
    """Shapley values from the worth of every coalition, in the order of :func:`coalitions`.

    Examples
    --------
    >>> shapley_of_table(np.array([0.0, 1.0, 2.0, 5.0])).tolist()
    [2.0, 3.0]
    """
    players = int(worth.size).bit_length() - 1
    sizes = coalitions(players).sum(axis=1)
    numbers = np.arange(worth.size)
    values = np.empty(players)
    for j in range(players):
        without = numbers[(numbers >> j) & 1 == 0]
        share = np.array([1.0 / (players * comb(players - 1, int(size))) for size in range(players)])
        values[j] = share[sizes[without]] @ (worth[without | (1 << j)] - worth[without])
    return values


def shapley_of_trees(
    trees: Sequence[Any], leaf_values: Sequence[Floats], rows: tuple[Floats, Floats], player: NDArray[np.int64]
) -> Floats:
    """Shapley values of a sum over trees, by one walk through every tree.

    Parameters
    ----------
    trees : sequence of Tree
        As scikit-learn lays them out.
    leaf_values : sequence of ndarray
        For every tree what each of its nodes is worth, of which only leaves count.
    rows : pair of ndarray
        The old and the new context as the trees see them.
    player : ndarray of int
        The player that each column belongs to, -1 for columns that do not differ.

    Notes
    -----
    A leaf is reached by a coalition if it holds all players A of which the way asks for the new value and none of
    those, B, of which it asks for the old one. Its worth gives each of A the share ``(a - 1)! b! / (a + b)!`` and takes
    from each of B ``a! (b - 1)! / (a + b)!``.
    """
    old, new = (np.asarray(row, dtype=np.float32) for row in rows)
    values = np.zeros(int(player.max(initial=-1)) + 1)
    for tree, worth in zip(trees, leaf_values, strict=True):
        feature, threshold = tree.feature, tree.threshold
        inner = tree.children_left >= 0
        at = np.where(inner, feature, 0)
        # Where either context goes at every node.
        ways = [np.where(row[at] <= threshold, tree.children_left, tree.children_right).tolist() for row in (old, new)]
        owner = np.where(inner, player[at], -1).tolist()
        _walk(ways[0], ways[1], owner, inner.tolist(), worth.tolist(), values)
    return values


def _walk(
    old: list[int], new: list[int], owner: list[int], inner: list[bool], worth: list[float], values: Floats
) -> None:
    """Add what one tree gives to every player."""
    waiting: list[tuple[int, frozenset[int], frozenset[int]]] = [(0, frozenset(), frozenset())]
    while waiting:
        node, for_new, for_old = waiting.pop()
        while inner[node] and (old[node] == new[node] or owner[node] in for_new or owner[node] in for_old):
            # All coalitions that come here go on alike.
            node = new[node] if owner[node] in for_new else old[node]
        if inner[node]:
            waiting.append((new[node], for_new | {owner[node]}, for_old))
            waiting.append((old[node], for_new, for_old | {owner[node]}))
            continue
        a, b = len(for_new), len(for_old)
        if a:
            gain = worth[node] * factorial(a - 1) * factorial(b) / factorial(a + b)
            for one in for_new:
                values[one] += gain
        if b:
            loss = worth[node] * factorial(a) * factorial(b - 1) / factorial(a + b)
            for one in for_old:
                values[one] -= loss
