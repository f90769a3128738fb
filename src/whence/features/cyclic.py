"""Numbers that go round: hours of the day, directions of the wind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from whence.errors import InputError
from whence.features.columns import Unknown, restored
from whence.features.kinds import Continuous, Feature, fraction_of
from whence.features.number_column import CHOICES, NumberColumn, fitted_column
from whence.util.aliases import Floats
from whence.util.json import finite

__all__ = ["Cyclic", "CyclicColumn", "fitted_cycle"]


@dataclass(frozen=True)
class Cyclic(Feature):
    """A number that goes round: after the last hour of the day comes the first.

    The distance between two values is the short way round, so that 23 o'clock is as near to 1 as to 21; half the period
    counts 1. Forests and forecasts see the number itself. :class:`~whence.KNNWeights` by the default metric take their
    distances the short way round, too; for other metrics, and kernels, declare the feature as ``Discrete`` or
    ``Continuous``. Explanations keep to the range of the history, as for other numbers.

    Parameters
    ----------
    period : float
        After so much it begins again: 24 for hours, 360 for degrees.
    low : float
        The lowest value; all values lie from there up to ``low + period``, which is ``low`` again.
    step : float, optional
        An explanation that changes the value suggests a whole multiple of this, counted from 0. None allows any value
        or, in a column of integers, whole ones.
    unit : str, optional
        Unit for reports, such as "h".
    scale : float, optional
        So much counts as one unit of change in the distance; None takes half the period, the longest way there is.
    change : {"free", "fixed"}
        What an explanation may do with it: whatever rises comes back from below.
    weight : float
        Weight in the distance.

    Examples
    --------
    >>> import pandas as pd
    >>> import whence as wh
    >>> schema = wh.Schema({"hour": wh.Cyclic(24, unit="h")}).fit(pd.DataFrame({"hour": range(24)}))
    >>> space = schema.space(schema.row({"hour": 23}))
    >>> [round(space.distance(schema.encode_row(schema.row({"hour": hour}))), 3) for hour in (21, 1, 11, 10)]
    [0.167, 0.167, 1.0, 0.917]
    """

    period: float
    low: float = 0.0
    step: float | None = None
    unit: str = ""
    scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.change in ("increase", "decrease"):
            raise self._wrong("change", "be 'free' or 'fixed', since a value that rises comes back from below")
        if not (finite(self.period) or 0.0) > 0.0:
            raise self._wrong("period", "be a positive number")
        if finite(self.low) is None:
            raise self._wrong("low", "be a finite number")
        if self.step is not None and fraction_of(self.step) is None:
            raise self._wrong("step", "be a positive number of at most 15 digits, or None")
        if self.scale is not None and not (finite(self.scale) or 0.0) > 0.0:
            raise self._wrong("scale", "be a positive number or None")


@dataclass(frozen=True)
class CyclicColumn(NumberColumn):
    """A cyclic feature with its training range, on the line from its lowest value on."""

    plain: ClassVar[bool] = False
    begins: float = 0.0
    period: float = 1.0

    @property
    def circle(self) -> float | None:
        """The period in coordinates."""
        return self.period / self.scale

    @property
    def choices(self) -> list[Any]:
        """All steps within the history, where there are few."""
        if self.lattice is None or (self.high - self.low) / float(self.lattice.step) >= CHOICES:
            return []
        first, last = np.ceil(self.low / float(self.lattice.step)), np.floor(self.high / float(self.lattice.step))
        values = self.lattice.values(np.arange(first - 1.0, last + 2.0))
        return [restored(value, self.type) for value in values.tolist() if self.low <= value <= self.high]

    def raw(self, table: pd.DataFrame, unknown: Unknown = "error") -> Floats:
        raw = super().raw(table, unknown)
        self._check(raw.ravel())
        return raw

    def raw_row(self, values: Mapping[str, Any], unknown: Unknown = "error") -> list[float]:
        raw = super().raw_row(values, unknown)
        self._check(np.array(raw))
        return raw

    def _check(self, raw: Floats) -> None:
        wrong = raw[(raw < self.begins) | (raw >= self.begins + self.period)]
        if wrong.size:
            raise InputError(
                f"The column {self.name!r} must hold numbers from {self.begins:g} up to, but without, "
                f"{self.begins + self.period:g}. Got {wrong[0]:g} instead."
            )


def fitted_cycle(name: str, feature: Cyclic, table: pd.DataFrame, start: int, missing: bool = False) -> CyclicColumn:
    """Return a cyclic feature with its place in the coordinates, at `start`, and its training range."""
    step = feature.step
    if step is None and pd.api.types.is_integer_dtype(table[name].dtype):
        step = 1
    found = fitted_column(name, Continuous(step=step, unit=feature.unit), table, start, missing)
    assert isinstance(found, NumberColumn)
    half = float(feature.period) / 2.0 if feature.scale is None else float(feature.scale)
    own: dict[str, Any] = {**vars(found), "feature": feature, "unit": half / found.scale}
    column = CyclicColumn(**own, begins=float(feature.low), period=float(feature.period))
    column.raw(table)
    return column
