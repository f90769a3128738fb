"""From what is declared of a column to a feature that knows its place and its training range."""

from __future__ import annotations

import pandas as pd

from whence.features.columns import Column
from whence.features.cyclic import Cyclic, fitted_cycle
from whence.features.date_column import fitted_date
from whence.features.dates import Date
from whence.features.encoding import fitted_column
from whence.features.kinds import Feature
from whence.features.ordered import Ordered, fitted_order

__all__ = ["fitted_feature"]


def fitted_feature(name: str, feature: Feature, table: pd.DataFrame, start: int, missing: bool = False) -> Column:
    """The feature with its place in the coordinates, from `start` on; numbers may be `missing`, where allowed."""
    if isinstance(feature, Date):
        return fitted_date(name, feature, table, start)
    if isinstance(feature, Ordered):
        return fitted_order(name, feature, table, start)
    if isinstance(feature, Cyclic):
        return fitted_cycle(name, feature, table, start, missing)
    return fitted_column(name, feature, table, start, missing)
