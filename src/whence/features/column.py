"""What every feature of a fitted schema offers: its columns, and its place in the coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

from whence.aliases import Floats
from whence.features.kinds import Feature

__all__ = ["Column", "NumberType", "Range", "Unknown", "restored"]

NumberType = Literal["bool", "int", "float"]
#: What to do with a category that the history has not seen: refuse it, or take it for none of those known.
Unknown = Literal["error", "ignore"]


class Range(NamedTuple):
    """Where one coordinate may move: an interval, and the values allowed in it where they are discrete."""

    lower: float
    upper: float
    levels: Floats | None


@dataclass(frozen=True)
class Column(ABC):
    """One feature: its columns in the user's table and its place in the coordinates."""

    name: str
    feature: Feature
    columns: tuple[str, ...]
    at: slice
    offset: float
    scale: float

    @abstractmethod
    def raw(self, table: pd.DataFrame, unknown: Unknown = "error") -> Floats:
        """Numbers before scaling, of shape (rows, coordinates): the values, or 0/1 a category."""

    @abstractmethod
    def raw_row(self, values: Mapping[str, Any], unknown: Unknown = "error") -> list[float]:
        """What :meth:`raw` gives for one context."""

    @abstractmethod
    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        """The user's values at these coordinates; encoded again, they do not leave [low, high]."""

    @abstractmethod
    def value(self, row: Mapping[str, Any]) -> Any:
        """The feature's value in a context, a category by its name."""

    @property
    @abstractmethod
    def labels(self) -> list[str]:
        """A name for every coordinate."""

    @property
    @abstractmethod
    def choices(self) -> list[Any]:
        """The values an explanation may choose from; empty for a continuous number, or for too many to list."""


def restored(value: float, kind: NumberType) -> Any:
    """`value` in the type of the training data, where it can be one."""
    if kind == "bool" and value in (0.0, 1.0):
        return bool(value)
    if kind == "int" and float(value).is_integer():
        return int(value)
    return float(value)
