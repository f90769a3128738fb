"""What is soon told: decisions, checks, observations, reports. Worked out in a worker, as JSON for the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from whence.web.jobs import check, written
from whence.web.messages import Asked
from whence.web.scenes import Scene
from whence.web.series_jobs import check_forecast, compared, priced, written_series
from whence.web.strip_calls import strips_of


def _shown(scene: Scene, asked: Asked) -> bytes:
    return scene.shown().model_dump_json(by_alias=True).encode()


def _quality(scene: Scene, asked: Asked) -> bytes:
    return scene.quality().model_dump_json().encode()


def _observed(scene: Scene, asked: Asked) -> bytes:
    row: int = asked.more["row"]
    return scene.observation(row).model_dump_json().encode()


def _observations(scene: Scene, asked: Asked) -> bytes:
    found = (one.model_dump_json() for one in scene.listed(asked.more["rows"]))
    return f"[{','.join(found)}]".encode()


def _decided(scene: Scene, asked: Asked) -> bytes:
    return scene.decided(scene.row_of(asked.context)).model_dump_json().encode()


def _checked(scene: Scene, asked: Asked) -> bytes:
    return scene.checked(scene.row_of(asked.context), asked.plan).model_dump_json().encode()


def _strips(scene: Scene, asked: Asked) -> bytes:
    return strips_of(scene, asked.more["asked"]).model_dump_json().encode()


def _remarks(scene: Scene, asked: Asked) -> bytes:
    """What to know about the context of a question; an InputError says what is wrong with the question."""
    told = {"compare": compared, "prices": priced, "forecast": check_forecast}.get(asked.question, check)
    return msgspec.json.encode(told(scene, asked))


def _reported(scene: Scene, asked: Asked) -> bytes:
    return (written if asked.question == "explain" else written_series)(scene, asked)


#: What may be asked for, by name.
QUICK: Mapping[str, Callable[[Scene, Asked], bytes]] = {
    "shown": _shown,
    "quality": _quality,
    "observation": _observed,
    "observations": _observations,
    "decided": _decided,
    "checked": _checked,
    "strips": _strips,
    "remarks": _remarks,
    "report": _reported,
}
