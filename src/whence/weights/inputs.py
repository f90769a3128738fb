"""How the coordinates of a context become the columns that the weights' estimator sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats

__all__ = ["InputMap"]


#: Steps by which a coordinate may miss its input: the rounding of a product and a sum.
ROUNDINGS = 4


@dataclass(frozen=True)
class InputMap:
    """How coordinates become the columns that the weights' estimator sees.

    Column c of the estimator's input is ``point[coordinate[c]] * scale[c] + offset[c]``: the identity, except
    for a frozen forest, which sees the user's own units.
    """

    coordinate: NDArray[np.int64]
    scale: Floats
    offset: Floats

    @classmethod
    def identity(cls, coordinates: int) -> InputMap:
        """The estimator sees the coordinates themselves."""
        return cls(np.arange(coordinates), np.ones(coordinates), np.zeros(coordinates))

    def row(self, point: Floats) -> Floats:
        """What the estimator sees at `point`."""
        seen: Floats = point[self.coordinate] * self.scale + self.offset
        return seen

    def sides(self, column: Any, last: Floats, first: Floats) -> tuple[Floats, Floats]:
        """Coordinates of the last input before a turn and of the first beyond it, each surely on its own side.

        Parameters
        ----------
        column : int or array of int
            Column of the estimator, or that of every turn.
        last, first : ndarray
            Neighbouring inputs between which the estimator turns.
        """
        scale, offset = self.scale[column], self.offset[column]
        below, beyond = (last - offset) / scale, (first - offset) / scale
        # Both inputs may have one coordinate; then its neighbours are clear of the turn.
        one = below >= beyond
        below, beyond = (
            np.where(one, np.nextafter(beyond, -np.inf), below),
            np.where(one, np.nextafter(below, np.inf), beyond),
        )
        for _ in range(ROUNDINGS):
            below = np.where(below * scale + offset > last, np.nextafter(below, -np.inf), below)
            beyond = np.where(beyond * scale + offset < first, np.nextafter(beyond, np.inf), beyond)
        return below, beyond
