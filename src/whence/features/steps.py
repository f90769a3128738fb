"""Numbers in steps: all whole multiples of a step, none of which is listed before it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.util.aliases import Floats
from whence.util.json import finite

__all__ = ["LISTED", "MOST_LISTED", "Lattice", "beside", "fraction_of"]

#: Up to this many steps are simply listed; of more, a forest needs only those beside its thresholds.
LISTED = 1_000
#: Most steps that a search without thresholds looks at.
MOST_LISTED = 1_000_000
#: Whole numbers up to this are floats without rounding.
WHOLE = 2**53


def fraction_of(step: Any) -> Fraction | None:
    """The step as the fraction that was meant; None where it is no positive number of at most 15 digits.

    Examples
    --------
    >>> fraction_of(0.1), fraction_of(1 / 60), fraction_of(1e-9)
    (Fraction(1, 10), Fraction(1, 60), Fraction(1, 1000000000))
    """
    number = finite(step)
    if number is None or number <= 0.0:
        return None
    short = Fraction(number).limit_denominator(1000)
    found = short if float(short) == number else Fraction(repr(number))
    fits = found.numerator < 10**15 and found.denominator < 10**15
    return found if fits else None


@dataclass(frozen=True)
class Lattice:
    """The whole multiples of a step, and their coordinates: ``coordinate = (value - offset) / scale``.

    A multiple is one quotient of two whole numbers, rounded once, and thus the float that is meant by its decimals.

    Examples
    --------
    >>> tenths = Lattice(Fraction(1, 10), 0.0, 10.0)
    >>> tenths.values(np.array([39.0])).tolist(), 39 * 0.1
    ([3.9], 3.9000000000000004)
    >>> tenths.between(0.381, 0.4).tolist()
    [0.39, 0.4]
    """

    step: Fraction
    offset: float
    scale: float
    #: Multiples beside the thresholds of a forest: the others are nearest in no cell.
    useful: Floats | None = None

    def values(self, multiples: Floats) -> Floats:
        """So many steps, in the user's units."""
        return multiples * float(self.step.numerator) / float(self.step.denominator)

    def coordinates(self, multiples: Floats) -> Floats:
        """So many steps, in coordinates."""
        return (self.values(multiples) - self.offset) / self.scale

    def nearest(self, raw: float) -> float:
        """The multiple nearest to a value, in the user's units."""
        return float(self.values(np.round(raw / float(self.step))))

    def is_exact(self, *raw: float) -> bool:
        """Whether the steps up to these values can be told apart by floats."""
        return all(abs(v) / float(self.step) * self.step.numerator < WHOLE for v in raw if np.isfinite(v))

    def count(self, lower: float, upper: float) -> int:
        """About how many multiples lie between two coordinates."""
        return int(max(0.0, min((upper - lower) * self.scale / float(self.step) + 1.0, 1e18)))

    def between(self, lower: float, upper: float) -> Floats:
        """Coordinates of the multiples between two coordinates, ascending: all of them, or those that are useful."""
        ends = (np.array([lower, upper]) * self.scale + self.offset) / float(self.step)
        first, last = np.floor(ends[0]) - 1.0, np.ceil(ends[1]) + 1.0
        if self.useful is None or last - first <= LISTED:
            multiples = np.arange(first, min(last, first + MOST_LISTED) + 1.0)
        else:
            inside = self.useful[(self.useful >= first) & (self.useful <= last)]
            # Of the ends, rounding leaves open which one is the first, or the last, inside.
            near = np.add.outer([first, last], np.arange(-3.0, 4.0)).ravel()
            multiples = np.union1d(inside, near)
        points: Floats = np.unique(self.coordinates(multiples))
        return points[(points >= lower) & (points <= upper)]

    def cut_at(self, cuts: NDArray[np.floating], units: bool, single: bool = True) -> Lattice:
        """This lattice for a forest with these thresholds, in the user's units or in coordinates."""
        raw = np.asarray(cuts, dtype=np.float64) * (1.0 if units else self.scale) + (0.0 if units else self.offset)
        # No cut lies farther away; float32 may move it a little.
        reach = min(float(np.abs(raw).max(initial=0.0)) / float(self.step) * 1.001 + LISTED, 2.0**52)
        # On the way from coordinates back to the user's units, the last digit may change.
        there_and_back = [self.values, lambda k: self.coordinates(k) * self.scale + self.offset]
        reach = float(np.ceil(reach))
        found = beside(cuts, there_and_back if units else [self.coordinates], -reach, reach, single)
        return replace(self, useful=found)


def beside(
    cuts: NDArray[np.floating],
    seen: Sequence[Callable[[Floats], Floats]],
    first: float,
    last: float,
    single: bool = True,
) -> Floats:
    """The whole numbers from `first` to `last` beside every cut of a forest: in each cell, the nearest to any start.

    `seen` is what the forest is shown for a number, rising with it; it compares that as float32, if `single`. Where
    there are several ways to compute it, numbers that they put on different sides of a cut, by rounding, are passed
    over.

    Examples
    --------
    >>> beside(np.array([4.5, 7.0]), [lambda k: k], 0.0, 20.0).tolist()
    [0.0, 4.0, 5.0, 7.0, 8.0, 20.0]
    """
    thresholds = np.unique(np.asarray(cuts, dtype=np.float64))
    found = [np.array([first, last])]
    for extreme, beyond in ((np.max, 0.0), (np.min, 1.0)):
        low, high = np.full(thresholds.size, first - 1.0), np.full(thresholds.size, last + 1.0)
        while (high - low > 1.0).any():
            middle = np.floor((low + high) / 2.0)
            shown = [way(middle).astype(np.float32 if single else np.float64) for way in seen]
            left = extreme(shown, axis=0) <= thresholds
            # An interval that is down to one step stays: its middle is its lower end again.
            low, high = np.where(left, middle, low), np.where(left | (middle <= low), high, middle)
        found.append(np.clip(low + beyond, first, last))
    return np.unique(np.concatenate(found))
