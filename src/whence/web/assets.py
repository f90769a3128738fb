"""The page's own files: read from the package, by names that are known before any request comes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from whence.report.fingerprint import versions

_FOLDER = Path(__file__).parent
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def router() -> APIRouter:
    """The page at ``/`` and its files under ``/static``."""
    pages = APIRouter(include_in_schema=False)
    files = {path.name: path for path in sorted((_FOLDER / "static").iterdir()) if path.suffix in _TYPES}
    templates = Environment(loader=FileSystemLoader(_FOLDER / "templates"), autoescape=True, undefined=StrictUndefined)
    version = versions()["whence"]

    @pages.get("/")
    def index(request: Request) -> Response:
        text = templates.get_template("index.html").render(version=version)
        return _tagged(request, text.encode(), "text/html; charset=utf-8")

    @pages.get("/static/{name}")
    def asset(name: str, request: Request) -> Response:
        # The name is only looked up: a path never leads anywhere.
        path = files.get(name)
        if path is None:
            raise HTTPException(404, "There is no such file.")
        return _tagged(request, path.read_bytes(), _TYPES[path.suffix])

    @pages.get("/favicon.ico")
    def favicon(request: Request) -> Response:
        return asset("favicon.svg", request)

    return pages


def _tagged(request: Request, content: bytes, media_type: str) -> Response:
    """`content`, or 304 where the browser has it already."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)
