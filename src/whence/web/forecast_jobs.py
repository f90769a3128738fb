"""Questions about a forecast itself: checked before they are put into the queue, asked, and made ready for the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.errors import InputError
from whence.forecasts.ask_forecast import CrossingRequest
from whence.forecasts.crossing import Crossing
from whence.forecasts.explainer import Ensemble, limits_of
from whence.report.forecast_pages import certificate, shown_changes
from whence.web import wire as models
from whence.web.explain_jobs import time_limit_of
from whence.web.messages import MEMORY, Asked
from whence.web.scenes import Scene
from whence.web.server_settings import ServerSettings

__all__ = ["answer_of_forecast", "asked_forecast", "check_forecast", "shown_forecast"]

#: What a question says of the forecast.
LIMITS = ("at_most", "at_least", "between")
#: What the page need not know.
LEFT_OUT = ("kinds", "units", "room", "unrestricted")


def asked_forecast(scene: Scene, asked: models.ForecastRequest, settings: ServerSettings) -> Asked:
    """The question as it is put into the queue; what it does not say itself, the scene says."""
    conditions = scene.conditions(plausible=asked.plausible, max_changes=asked.max_changes)
    return Asked(
        number=0,
        scene=scene.id,
        context=asked.context,
        plan=None,
        kind="relative",
        fixed=[*scene.fixed, *asked.fixed],
        bounds=asked.bounds,
        time_limit=time_limit_of(scene, asked.time_limit, settings),
        threads=scene.threads or settings.threads,
        conditions={name: conditions[name] for name in ("plausible", "max_changes")},
        question="forecast",
        more={"outcome": asked.outcome, **{name: getattr(asked, name) for name in LIMITS}},
    )


def check_forecast(scene: Scene, asked: Asked) -> list[str]:
    """Refuse at once what the search would refuse, an InputError saying why; what to know about the context."""
    _ensemble(scene, asked)
    row = scene.row_of(asked.context)
    limits = limits_of(*(asked.more[name] for name in LIMITS))
    CrossingRequest(row, limits, **asked.conditions)
    scene.policy.schema_.space(row, asked.fixed, scene.bounds_of(asked.bounds))
    return scene.remarks(row)


def answer_of_forecast(scene: Scene, asked: Asked, on_progress: Callable[..., bool]) -> Crossing:
    """The nearest context in which what is forecast crosses a value."""
    return _ensemble(scene, asked).explain(
        scene.row_of(asked.context),
        **{name: asked.more[name] for name in LIMITS},
        fixed=asked.fixed,
        bounds=scene.bounds_of(asked.bounds),
        time_limit=asked.time_limit,
        memory_limit=MEMORY,
        threads=asked.threads,
        on_progress=on_progress,
        **asked.conditions,
    )


def shown_forecast(scene: Scene, found: Crossing) -> models.Found:
    """The answer for the page: its document, how it is written, and the controls of the context found."""
    document = {name: entry for name, entry in found.to_dict().items() if name not in LEFT_OUT}
    changes = [{"feature": one.feature, "from": one.from_, "to": one.to} for one in shown_changes(found)]
    shown: dict[str, Any] = {"changes": changes, "certificate": certificate(found)}
    controls = None if found.context is None or found.status == "already" else scene.context_of(found.context)
    answer = {**document, "shown": shown, "controls": controls}
    return models.Found(sentence=found.text, answer=answer, explanations=[])


def _ensemble(scene: Scene, asked: Asked) -> Ensemble:
    policy = scene.policy
    if not policy.weights_.forecasts:
        raise InputError("This scene has no forecast to ask about: its decisions are made from past observations.")
    return Ensemble.of(policy, asked.more["outcome"])
