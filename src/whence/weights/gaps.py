"""Forests for contexts in which numbers are missing: the same trees, read and laid out anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from whence.weights.read_forest import ReadForestWeights
    from whence.weights.trees import TreeWeights

__all__ = ["without"]


def without(
    forest: TreeWeights, columns: frozenset[int], make: Callable[[], ReadForestWeights], always: bool = False
) -> TreeWeights:
    """A forest in which splits on missing columns are decided; itself where nothing is missing.

    `make` reads it once. With `always`, or where something is missing in its history, it is read in any case: a split
    that sets missing values apart from all numbers has an infinite threshold, and is to be left out.
    """
    known: dict[str, Any] = forest.__dict__.setdefault("_lacking", {})
    if known.get("of") is not forest.members_:
        known.clear()
        gaps = forest.knows_missing and bool(np.isnan(forest.inputs_).any())
        known["of"], known["read"] = forest.members_, gaps or always
    if not columns and not known["read"]:
        return forest
    if "view" not in known:
        known["view"] = make()
    view: ReadForestWeights = known["view"]
    return view.lacking(columns)
