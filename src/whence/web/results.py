"""Explanations as the page gets them."""

from __future__ import annotations

import zlib
from typing import Any

from pydantic import BaseModel

from whence.explain.explanation import Explanation
from whence.web import models
from whence.web.scenes import Scene

#: What of the past observations the page draws.
DRAWN = ("gaining", "losing")
#: Reports inside a report.
INSIDE = ("unrestricted", "nearest")


def packed_result(result: BaseModel) -> bytes:
    """A result as JSON, compressed, as it is kept until it goes out."""
    return zlib.compress(result.model_dump_json().encode())


def result_of(scene: Scene, explanation: Explanation) -> models.Result:
    """An explanation, and what the page shows in the context that it has found."""
    report = explanation.to_dict()
    return models.Result(explanation=_short(report), sentence=report["text"], then=_then(scene, explanation))


def _short(report: dict[str, Any]) -> dict[str, Any]:
    """A report without its numbers for every past observation, and those inside it as well."""
    inner = {name: None if report.get(name) is None else _short(report[name]) for name in INSIDE}
    short = {**report, "observations": {name: report["observations"][name] for name in DRAWN}, **inner}
    if "forecast" in short:
        short["forecast"] = {name: short["forecast"].get(name) for name in ("before", "after")}
    return short


def _then(scene: Scene, explanation: Explanation) -> models.Then | None:
    if explanation.context is None or explanation.weights_after is None:
        return None
    told, after = explanation.forecast, explanation.weights_after
    return models.Then(
        **dict(scene.decided(explanation.context)),
        context=scene.context_of(explanation.context),
        decision=scene.judged(explanation.decision, after, None if told is None else told.decision_after),
        alternative=scene.judged(explanation.alternative, after, None if told is None else told.alternative_after),
    )
