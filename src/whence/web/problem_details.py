"""Errors over HTTP: problem details (RFC 9457), each with one sentence that says what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from whence.errors import WhenceError
from whence.util.json import quoted
from whence.web import wire as models

MEDIA_TYPE = "application/problem+json"

#: What a feature may be given as.
_VALUE = "a number of no more than 15 digits, true or false, or the name of a category"
VALUES = {
    **dict.fromkeys(("context", "before", "after"), _VALUE),
    "bounds": "a list: low and high, or the categories allowed",
}


def problem(status: int, detail: str) -> bytes:
    """Write a problem as JSON.

    Examples
    --------
    >>> problem(404, "There is no such scene.")
    b'{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "There is no such scene."}'
    """
    title = HTTPStatus(status).phrase
    return json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail}).encode()


def problem_response(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Answer a request with a problem."""
    return Response(problem(status, detail), status, headers, MEDIA_TYPE)


def described(reasons: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Describe, for OpenAPI, the problems that a request may be answered with, and why."""
    schema = {"schema": {"$ref": f"#/components/schemas/{models.Problem.__name__}"}}
    return {status: {"description": why, "content": {MEDIA_TYPE: schema}} for status, why in reasons.items()}


def answer_problems(app: FastAPI, headers: Mapping[str, str]) -> None:
    """Answer every error of an application with a problem; one that nobody expected carries `headers`."""
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unreadable)
    app.add_exception_handler(WhenceError, lambda _, error: problem_response(422, str(error)))
    # What went wrong is for the log, not for everybody.
    told = "The server failed to answer this; its log says why."
    app.add_exception_handler(Exception, lambda *_: problem_response(500, told, headers))


def _malformed(request: Request, error: Exception) -> Response:
    """The first thing that is wrong with a request, as a sentence."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = [str(part)[:200] for part in first["loc"] if part not in ("body", "query", "path")]
    if first["type"] == "json_invalid":
        told = f"The request must be JSON. It cannot be read from character {where[0]} on."
    elif len(where) > 1 and where[0] in VALUES:
        told = f"The feature {where[1]!r} of {where[0]!r} must be {VALUES[where[0]]}."
    else:
        told = _refusal(first, error.errors())
    return problem_response(422, told)


def _refusal(first: dict[str, Any], every: Sequence[dict[str, Any]]) -> str:
    """What a field must be, and what came, where pydantic may have tried several types."""
    name = _field(first)
    if not name:
        return f"'request' cannot be read: {first['msg']}."
    if first["type"] in ("missing", "extra_forbidden"):
        return f"{name!r} {'must be given' if first['type'] == 'missing' else 'is not known here'}."
    tried = [one for one in every if _field(one) == name]
    # What is of the right type and too large is no reason to speak of other types.
    near = [one for one in tried if not one["type"].endswith(("_type", "_error"))]
    wanted = [re.fullmatch(r"(?:Input should|Value error, must) be (.*)", one["msg"]) for one in near or tried]
    told = dict.fromkeys(said[1] for said in wanted if said is not None)
    if not told:
        return f"{name!r} cannot be read: {first['msg']}."
    return f"{name!r} must be {' or '.join(told)}. Got {quoted(first['input'])} instead."


def _field(error: dict[str, Any]) -> str:
    """The name of the field that an error is about, without the types that pydantic tried."""
    parts = [str(part)[:200] for part in error["loc"] if part not in ("body", "query", "path")]
    types = r"constrained-\w+|literal\[.*\]|function-\w+\[.*\]|str|bool|int|float|dict\[.*\]"
    return ".".join(part for number, part in enumerate(parts) if number == 0 or not re.fullmatch(types, part))


def _unreadable(request: Request, error: Exception) -> Response:
    """What FastAPI has to say; where it could not read a body, why."""
    assert isinstance(error, HTTPException)
    told = error.detail
    if error.__cause__ is not None:
        why = {RecursionError: "it is nested too deeply", UnicodeDecodeError: "it is not UTF-8"}
        told = f"The request must be JSON that can be read: {why.get(type(error.__cause__), 'a number is too long')}."
    return problem_response(error.status_code, told, error.headers)
