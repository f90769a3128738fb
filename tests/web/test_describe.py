"""The description in the documentation is the server's own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
from tests.web.live import finished

from whence.web.app import create_app

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILE = DOCS / "openapi.json"


def outline(description: dict[str, Any]) -> dict[str, Any]:
    """What a caller relies on; wording and layout are the framework's."""
    return {
        "operations": {
            (path, method): (
                sorted(operation["responses"]),
                sorted(parameter["name"] for parameter in operation.get("parameters", [])),
                "requestBody" in operation,
            )
            for path, methods in description["paths"].items()
            for method, operation in methods.items()
        },
        "models": {
            name: (sorted(model.get("properties", {})), sorted(model.get("required", [])))
            for name, model in description["components"]["schemas"].items()
        },
    }


def test_the_documented_description_is_true() -> None:
    """docs/openapi.json names what the server answers; `python -m whence.web.app > docs/openapi.json` renews it."""
    documented = json.loads(FILE.read_text("utf-8"))
    assert outline(documented) == outline(create_app([]).openapi())


def test_the_documented_question_is_answered(client: httpx.Client) -> None:
    """The question that the documentation puts with curl gets the answer that it shows."""
    text = (DOCS / "howto" / "web.md").read_text("utf-8")
    found = re.search(
        r"curl -s http://127.0.0.1:8000(\S+) -H 'Content-Type: application/json' -d '(.*?)'", text, re.DOTALL
    )
    assert found is not None
    answer = client.post(found[1], content=found[2], headers={"content-type": "application/json"})
    assert answer.status_code == 202
    assert finished(client, answer.json()["job"])["result"]["explanation"]["status"] == "optimal"


def test_every_call_is_documented() -> None:
    """The page on the interface names every call, and no other."""
    text = (DOCS / "howto" / "web.md").read_text("utf-8")
    named = {
        re.sub(r"\{\w+\}", "{}", path.split("?")[0])
        for path in re.findall(r"^\| `\w+ (/api/[^`]*)`", text, re.MULTILINE)
    }
    assert named == {re.sub(r"\{\w+\}", "{}", path) for path in create_app([]).openapi()["paths"]}
