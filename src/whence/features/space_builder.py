"""Where an explanation may lie, put together feature by feature, until it is a space that an engine can search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.features.space import Space
from whence.util.aliases import Floats

__all__ = ["Room"]


class Room:
    """Between what ends, at which levels and for what fee every coordinate may move away from `start`.

    Coordinates that are `gone` are those of missing numbers, which stay missing unless they are filled in.
    """

    def __init__(self, start: Floats, gone: NDArray[np.bool_], weight: Floats) -> None:
        self.start, self.gone, self.weight = start, gone, weight.copy()
        self.lower, self.upper = start.copy(), start.copy()
        self.least, self.most = np.full(start.size, -np.inf), np.full(start.size, np.inf)
        self.levels: list[Floats | None] = [None] * start.size
        self.fee: Floats | None = None

    def numbers(self, at: NDArray[np.int64], lower: Floats, upper: Floats, levels: Mapping[int, Floats]) -> None:
        """Numbers at these coordinates move between these ends, some of them at levels alone."""
        self.lower[at], self.upper[at] = lower, upper
        # What is missing stays so.
        self.lower[self.gone], self.upper[self.gone] = self.start[self.gone], self.start[self.gone]
        for j, values in levels.items():
            self.levels[j] = None if self.gone[j] else values

    def fill(self, j: int, lower: float, upper: float, levels: Floats | None) -> None:
        """The missing number at coordinate `j` may be filled in, for its weight whatever it becomes."""
        self.lower[j], self.upper[j], self.levels[j] = lower, upper, levels
        self.fee = np.zeros(self.start.size) if self.fee is None else self.fee
        self.start[j], self.fee[j], self.weight[j] = lower, self.weight[j], 0.0

    def category(self, at: slice, allowed: Iterable[tuple[float, float, Floats | None]]) -> None:
        """A category at these coordinates, level by level."""
        for j, one in enumerate(allowed, start=at.start):
            self.lower[j], self.upper[j], self.levels[j] = one

    def space(
        self,
        more: Mapping[str, Any],
        at: NDArray[np.int64],
        gaps: tuple[Floats, Floats, Mapping[int, Floats]] | None,
    ) -> Space:
        """The space of all this and `more`; of numbers at coordinates `at` without `gaps`, the changes too small."""
        given: dict[str, Any] = {"weight": self.weight, "ends": (self.least, self.most), "fee": self.fee, **more}
        everywhere = Space(self.start, self.lower, self.upper, tuple(self.levels), **given)
        if gaps is None:
            return everywhere
        below, above = self.start.copy(), self.start.copy()
        below[at], above[at], left = gaps
        below[self.gone], above[self.gone] = self.start[self.gone], self.start[self.gone]
        for j, values in left.items():
            self.levels[j] = self.levels[j] if self.gone[j] else values
        levels = tuple(self.levels)
        return Space(self.start, self.lower, self.upper, levels, **given, gap=(below, above), everywhere=everywhere)
