"""By how much a plan must be cheaper, as people write it."""

from __future__ import annotations

import math
import re
from typing import Any

from whence.errors import InputError

#: What a margin may be, in words.
MARGINS = "a share of the decision's cost, such as 0.05 or '5 %', or an amount, such as '10 cost'"

_WRITTEN = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*(%|cost)?\s*", re.ASCII | re.IGNORECASE)


def read_margin(value: Any) -> float | tuple[float, str]:
    """What `Policy.explain` takes as `margin`.

    Parameters
    ----------
    value : float or str
        A share of the decision's cost, or an amount with the word "cost" after it.

    Examples
    --------
    >>> read_margin(0.05), read_margin("5 %"), read_margin("10cost")
    (0.05, 0.05, (10.0, 'cost'))
    """
    found = _WRITTEN.fullmatch(value if isinstance(value, str) else repr(value))
    try:
        number = float(found[1]) if found else math.nan
    except ValueError:
        number = math.nan
    unit = (found[2] or "").lower() if found else ""
    if unit == "cost" and 0.0 <= number < math.inf:
        return number, "cost"
    share = number / 100.0 if unit == "%" else number
    if unit == "cost" or isinstance(value, bool) or not 0.0 <= share < 1.0:
        raise InputError(f"'margin' must be {MARGINS}. Got {value!r} instead.", parameter="margin")
    return share
