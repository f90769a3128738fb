"""What was asked: the questions of a project over HTTP, as a page, as a list, and all of it to take away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import StreamingResponse

from whence.web import wire as models
from whence.web.jobs import find_scene
from whence.web.store import Entry, Store

#: Most questions in one answer.
LISTED = 200


def store_of(request: Request) -> Store:
    """The store of the server, or 404 where it keeps none."""
    store: Store | None = request.app.state.store
    if store is None:
        raise HTTPException(404, "This server keeps no questions; --store FILE makes it.")
    return store


def shown_entry(entry: Entry) -> models.StoredQuestion:
    """A question as it is listed."""
    return models.StoredQuestion(
        job=entry.id,
        question=entry.question,
        who=entry.who or entry.token,
        asked_at=datetime.fromtimestamp(entry.asked_at, UTC).isoformat(timespec="seconds"),
        seconds=None if entry.seconds is None else round(entry.seconds, 3),
        state=entry.state,
    )


api = APIRouter()


@api.get("/scenes/{scene}/questions")
def list_questions(
    scene: str,
    request: Request,
    start: Annotated[int, Query(ge=1, le=10**9, description="Number of the first one to list.")] = 1,
    count: Annotated[int, Query(ge=1, le=LISTED)] = 50,
) -> list[models.StoredQuestion]:
    """Questions that were asked about a scene, the latest first, where the server keeps them."""
    found = find_scene(request, scene)
    return [shown_entry(entry) for entry in store_of(request).listed(found.id, start, count)]


@api.get(
    "/scenes/{scene}/questions.jsonl",
    response_class=Response,
    responses={200: {"content": {"application/x-ndjson": {}}}},
)
def export_questions(scene: str, request: Request) -> Response:
    """All of them with their answers and certificates, one JSON document a line, the oldest first."""
    entries = store_of(request).entries(find_scene(request, scene).id)

    def lines() -> Iterator[str]:
        return (json.dumps(entry.document(), ensure_ascii=False) + "\n" for entry in entries)

    headers = {"content-disposition": 'attachment; filename="whence-questions.jsonl"'}
    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=headers)
