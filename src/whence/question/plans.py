"""A set of plans as an engine sees it: what its plans cost, and which of them is best under given weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whence.aliases import Floats

__all__ = ["Plans", "Stock"]


@dataclass(frozen=True)
class Stock:
    """Quantities that are chosen one by one, each at convex cost: what a newsvendor without a budget decides.

    Attributes
    ----------
    demand : ndarray of shape (n, products)
        Past demands.
    holding, backorder : ndarray of shape (products,)
        Cost of a unit left over, and of a unit short.
    lower, upper : ndarray of shape (products,)
        Between what every quantity must lie.
    """

    demand: Floats
    holding: Floats
    backorder: Floats
    lower: Floats
    upper: Floats



@dataclass(frozen=True)
class Plans:
    """The plans of which some one must be better.

    Attributes
    ----------
    best : callable
        Given weights, the sample costs of the best plan of the set.
    every : callable
        Given a number, the sample costs of all plans of the set, one row per plan, where there are at most so many.
    rival : callable, optional
        For absolute questions: given weights, the sample costs of the best plan of all, times ``1 + within``.
    rivals : callable, optional
        For absolute questions: as `every`, of all plans there are, times ``1 + within``.
    stock, all_stock : Stock, optional
        The set, and all plans there are, as quantities that are chosen one by one.
    """

    best: Callable[[Floats], Floats]
    every: Callable[[int], Floats | None]
    rival: Callable[[Floats], Floats] | None = None
    rivals: Callable[[int], Floats | None] | None = None
    stock: Stock | None = None
    all_stock: Stock | None = None
