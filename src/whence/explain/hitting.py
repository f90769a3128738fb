"""A smallest set that meets every one of some sets: what all explanations have in common."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["smallest_hitting_set"]


def smallest_hitting_set(sets: Sequence[Collection[str]], order: Sequence[str]) -> tuple[str, ...]:
    """A smallest set of names that has a name in common with each of `sets`, in the order of `order`.

    Examples
    --------
    >>> smallest_hitting_set([{"a", "b"}, {"b", "c"}, {"d"}], "abcd")
    ('b', 'd')
    """
    wanted = [frozenset(one) for one in sets]
    # A set that holds another one is met with it.
    wanted = [one for one in set(wanted) if not any(other < one for other in wanted)]
    best = _search(wanted, frozenset(), len(order) + 1)
    assert best is not None
    return tuple(name for name in order if name in best)


def _search(sets: list[frozenset[str]], chosen: frozenset[str], fewer_than: int) -> frozenset[str] | None:
    """The smallest set with all of `chosen` that meets `sets`, of fewer names than that; None where there is none."""
    left = [one for one in sets if not one & chosen]
    if not left:
        return chosen if len(chosen) < fewer_than else None
    if len(chosen) + _disjoint(left) >= fewer_than:
        return None
    best = None
    # Of one of the smallest sets a name has to be chosen; those in many sets first.
    one = min(left, key=lambda one: (len(one), sorted(one)))
    for name in sorted(one, key=lambda name: (-sum(name in other for other in left), name)):
        found = _search(left, chosen | {name}, fewer_than)
        if found is not None:
            best, fewer_than = found, len(found)
    return best


def _disjoint(sets: list[frozenset[str]]) -> int:
    """How many of the sets have nothing in common: so many names are needed at least."""
    seen: frozenset[str] = frozenset()
    count = 0
    for one in sorted(sets, key=len):
        if not one & seen:
            seen |= one
            count += 1
    return count
