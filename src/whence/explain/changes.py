"""What changes between two contexts, feature by feature, and between what values it may be rounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from whence.explain.explanation import ChangedFeature, Explanation
from whence.question import Answer, Question
from whence.weights.plausibility import Nearby

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["changes_between", "rounding_limits", "with_changes"]


def with_changes(policy: Policy, question: Question, answer: Answer, found: Explanation) -> Explanation:
    """What was found, with what changes and between which values it may be rounded."""
    if found.context is None or answer.status == "already":
        return found
    changed = changes_between(policy, question, found.initial, found.context)
    room = rounding_limits(policy, question, answer, found.context, changed)
    return replace(found, changed=changed, room=room)


def rounding_limits(
    policy: Policy, question: Question, answer: Answer, context: pd.Series, changed: Sequence[ChangedFeature]
) -> dict[str, tuple[float, float]]:
    """Between which values every continuous feature that changes may be rounded: the weights stay the same."""
    schema, space, among = policy.schema_, question.space, {name for name, *_ in changed}
    box = answer.cell
    if box is None:
        free = np.array([levels is None for levels in space.levels])
        point, row = schema.encode_row(context), policy.inputs_of(context)
        box = question.weights.rounding_box(space.start, point, row, question.inputs, free)
        if box is not None and isinstance(question.space.plausibility, Nearby):
            box = question.space.plausibility.kept(point, box)
    if box is None:
        return {}
    offset, scale = schema.affine()
    low = offset + scale * np.maximum(box[0], space.lower)
    high = offset + scale * np.minimum(box[1], space.upper)
    # What is typed in again goes through the scaling once more: keep clear of its last digits.
    margin = 1e-9 * np.maximum(scale, np.abs(offset))
    return {
        name: (float(low[j] + margin[j]), float(high[j] - margin[j]))
        for j, name in enumerate(schema.feature_of_coordinate())
        if name in among and space.levels[j] is None and low[j] + margin[j] < high[j] - margin[j]
    }


def changes_between(policy: Policy, question: Question, initial: pd.Series, context: pd.Series) -> list[ChangedFeature]:
    """The features that differ, their values in both contexts, and the distance of each."""
    schema = policy.schema_
    distances = schema.by_feature(question.space.moved(schema.encode_row(context)))
    before, after = (schema.feature_values(row, distances) for row in (initial, context))
    return [(name, before[name], after[name], distance) for name, distance in distances.items()]
