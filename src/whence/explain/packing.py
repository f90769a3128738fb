"""Weights and costs of the past observations that have a weight: most have none, and need no room in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["SILENT", "kept", "packed", "unpacked"]

#: One entry a past observation each, and what stands for those without any weight.
SILENT = {"weights_before": 0.0, "weights_after": 0.0, "costs_decision": np.nan, "costs_alternative": np.nan}


def kept(explanation: Explanation) -> NDArray[np.int64]:
    """Rows of the history that have a weight in the initial context or in the changed one."""
    speaks = explanation.weights_before > 0
    if explanation.weights_after is not None:
        speaks = speaks | (explanation.weights_after > 0)
    rows: NDArray[np.int64] = np.flatnonzero(speaks).astype(np.int64)
    return rows


def packed(explanation: Explanation) -> dict[str, Any]:
    """The number of observations, the rows with a weight, and the entries of these rows (None where not known).

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0], [5.0]], [[10.0], [20.0], [9.0]])
    >>> found = packed(policy.explain([0.2], instead=[20.0]))
    >>> found["count"], found["rows"].tolist(), found["weights_after"].tolist()
    (3, [0, 1], [0.0, 1.0])
    """
    rows = kept(explanation)
    arrays = {name: getattr(explanation, name) for name in SILENT}
    entries = {name: None if array is None else array[rows] for name, array in arrays.items()}
    return {"count": explanation.weights_before.size, "rows": rows, **entries}


def unpacked(found: Mapping[str, Any]) -> dict[str, NDArray[np.float64] | None]:
    """The full arrays of what :func:`packed` gave, with weight 0 and unknown costs in all other rows."""
    arrays: dict[str, NDArray[np.float64] | None] = {}
    for name, silent in SILENT.items():
        arrays[name] = None
        if found[name] is not None:
            full = np.full(found["count"], silent)
            full[found["rows"]] = found[name]
            arrays[name] = full
    return arrays
