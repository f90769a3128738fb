"""What is soon told: decisions, checks, observations, reports. Worked out in a worker, as JSON for the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import to_json

from whence.web.jobs import check, written
from whence.web.messages import Asked
from whence.web.scenes import Scene
from whence.web.series_jobs import check_forecast, compared, priced, written_series
from whence.web.strip_calls import strips_of


def _remarks(scene: Scene, asked: Asked) -> list[str]:
    """What to know about the context of a question; an InputError says what is wrong with the question."""
    told = {"compare": compared, "prices": priced, "forecast": check_forecast}.get(asked.question, check)
    return told(scene, asked)


def _report(scene: Scene, asked: Asked) -> bytes:
    return (written if asked.question == "explain" else written_series)(scene, asked)


#: What may be asked for, by name.
QUICK: Mapping[str, Callable[[Scene, Asked], Any]] = {
    "shown": lambda scene, asked: scene.shown(),
    "quality": lambda scene, asked: scene.quality(),
    "observation": lambda scene, asked: scene.observation(asked.more["row"]),
    "observations": lambda scene, asked: scene.listed(asked.more["rows"]),
    "decided": lambda scene, asked: scene.decided(scene.row_of(asked.context)),
    "checked": lambda scene, asked: scene.checked(scene.row_of(asked.context), asked.plan),
    "strips": lambda scene, asked: strips_of(scene, asked.more["asked"]),
    "remarks": _remarks,
    "report": _report,
}


def soon_told(scene: Scene, asked: Asked) -> bytes:
    """What is asked for, as it goes out: JSON, or a report that was written."""
    found = QUICK[asked.quick](scene, asked)
    return found if isinstance(found, bytes) else to_json(found, inf_nan_mode="null")
