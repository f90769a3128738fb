"""What lies outside the history in a context, in sentences."""

from __future__ import annotations

import sys
import warnings

import pandas as pd

from whence.features import Continuous, Cyclic, Discrete, Schema
from whence.report.numbers import plain, with_unit

__all__ = ["OutsideHistoryWarning", "outside", "tell_outside"]

#: Significant digits, and those for a value that would otherwise look as if it were inside.
DIGITS, ALL_DIGITS = 6, 17


class OutsideHistoryWarning(UserWarning):
    """A context lies beyond what the history holds: the nearest past decides there."""


def tell_outside(schema: Schema, context: pd.Series) -> None:
    """Warn whoever called the function that calls this of what lies outside the history in a context.

    The command and the page, which are in this package themselves, say it beside their answers.
    """
    if sys._getframe(2).f_globals.get("__name__", "").startswith("whence."):
        return
    said = outside(schema, context)
    if said:
        warnings.warn(f"{' '.join(said)} The nearest past decides there.", OutsideHistoryWarning, stacklevel=3)


def outside(schema: Schema, context: pd.Series) -> list[str]:
    """A sentence for every number of a context that lies beyond what the history holds; the nearest past decides there.

    Examples
    --------
    >>> X = pd.DataFrame({"temp": [-4.0, 31.0], "rain": [True, False]})
    >>> outside(Schema.infer(X).fit(X), pd.Series({"temp": 99.0, "rain": True}))
    ['temp 99 lies outside the history, which has -4 to 31.']
    """
    said = []
    for name, value in schema.feature_values(context).items():
        if not isinstance(schema.kind(name), Continuous | Cyclic | Discrete):
            continue
        low, high = schema.training_range(name)
        # What is missing lies nowhere.
        if pd.isna(value) or low <= float(value) <= high:
            continue
        here, least, most = (plain(number, DIGITS) for number in (value, low, high))
        if here in (least, most):
            here, least, most = (plain(number, ALL_DIGITS) for number in (value, low, high))
        here, most = (with_unit(number, schema.unit(name)) for number in (here, most))
        said.append(f"{name} {here} lies outside the history, which has {least} to {most}.")
    return said
