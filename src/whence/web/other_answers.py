"""Answers to other questions: asked of the policy, and made ready for the page."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

from whence.explain.comparison import Comparison
from whence.explain.crossing import Crossing
from whence.explain.explanation import Explanation
from whence.explain.front import Front
from whence.explain.menu import Menu
from whence.explain.reasons import Reasons
from whence.explain.told import Told
from whence.report.words import changes_in_words
from whence.web import models
from whence.web.forecasts import answer_of_forecast, shown_forecast
from whence.web.messages import Answered, Asked
from whence.web.results import packed_result, result_of
from whence.web.scenes import Scene

#: What the answer to each of these questions is.
QUESTIONS: Mapping[str, type[Told | Crossing]] = {
    "front": Front,
    "menu": Menu,
    "reasons": Reasons,
    "compare": Comparison,
    "forecast": Crossing,
}
#: Explanations that the page gets in full; the document has all of them.
SHOWN = 12
#: Entries of a document that hold explanations.
HELD = ("answers", "needed")


def answer_of(scene: Scene, asked: Asked, on_progress: Callable[..., bool]) -> Told | Crossing:
    """What the policy says to a question other than `explain`."""
    policy = scene.policy
    if asked.question == "forecast":
        return answer_of_forecast(scene, asked, on_progress)
    if asked.question == "compare":
        before, after = scene.row_of(asked.more["before"]), scene.row_of(asked.context)
        return policy.compare(before, after, time_limit=asked.time_limit, on_progress=on_progress)
    answer: Told = put(getattr(policy, asked.question), scene, asked, on_progress=on_progress, **asked.more)
    return answer


def put(ask: Callable[..., Any], scene: Scene, asked: Asked, **more: Any) -> Any:
    """What the policy says to a question about a plan, or a set of plans, asked of one of its methods."""
    return ask(
        scene.row_of(asked.context),
        scene.instead_of(asked.plan, asked.instead),
        kind=asked.kind,
        within=asked.within,
        fixed=asked.fixed,
        bounds=scene.bounds_of(asked.bounds),
        engine=scene.engine,
        time_limit=asked.time_limit,
        threads=asked.threads,
        **asked.conditions,
        **more,
    )


def answered(scene: Scene, found: Told | Crossing, stopped: bool) -> Answered:
    """The answer for the page, and the whole of it as data."""
    result = shown_forecast(scene, found) if isinstance(found, Crossing) else _shown(scene, found)
    data = zlib.compress(str(found.to_json()).encode())
    return Answered(stopped=stopped, result=packed_result(result), data=data)


def _shown(scene: Scene, found: Told) -> models.Found:
    """An answer with the first of its explanations."""
    held = _held(found)
    return models.Found(
        sentence=found.text,
        answer={name: entry for name, entry in found.to_dict().items() if name not in HELD},
        explanations=[_listed(scene, name, why) for name, why in held[:SHOWN]],
        left_off=max(0, len(held) - SHOWN),
    )


def _held(found: Told) -> list[tuple[str, Explanation]]:
    """The explanations of an answer, each with what it is the answer for."""
    if isinstance(found, Reasons):
        return list(found.needed.items())
    if isinstance(found, Front):
        return [(str(allowed), why) for allowed, why in zip(found.allowed, found.answers, strict=True)]
    return [("", why) for why in found.answers] if isinstance(found, Menu) else []


def _listed(scene: Scene, name: str, why: Explanation) -> models.Listed:
    changes = changes_in_words(why.report) if why.context is not None else ""
    return models.Listed(**dict(result_of(scene, why)), name=name, changes=changes)
