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


def test_errors_are_problem_details(client: httpx.Client) -> None:
    """Every kind of refusal is an RFC 9457 document under both addresses: guard, routes, models and engine alike."""
    told = {"content-type": "application/json"}
    refused = [
        client.get("/api/v1/scenes/moon"),
        client.get("/nowhere"),
        client.get("/api/v1/scenes", headers={"host": "evil.example"}),
        client.post("/api/v1/scenes/bakery/decide", content="{", headers=told),
        client.post("/api/v1/scenes/bakery/decide", content='{"context": {}}', headers=told),
        client.post("/api/scenes/bakery/decide", content='{"context": {}}', headers=told),
    ]
    assert [answer.status_code for answer in refused] == [404, 404, 400, 422, 422, 422]
    for answer in refused:
        assert answer.headers["content-type"] == "application/problem+json"
        document = answer.json()
        assert set(document) == {"type", "title", "status", "detail"}
        assert document["status"] == answer.status_code


def test_old_addresses_answer_as_the_new_ones(client: httpx.Client) -> None:
    """What was written for the addresses without a version still works."""
    for path in ("scenes", "scenes/bakery", "openapi.json", "health"):
        assert client.get(f"/api/{path}").json() == client.get(f"/api/v1/{path}").json()
    assert not any(path.startswith("/api/scenes") for path in client.get("/api/openapi.json").json()["paths"])


def test_the_description_says_how_one_is_let_in() -> None:
    """A program learns from the description that it may send a token, or a cookie, or nothing where none is needed."""
    description = create_app([]).openapi()
    schemes = description["components"]["securitySchemes"]
    assert (schemes["token"]["scheme"], schemes["session"]["in"]) == ("bearer", "cookie")
    assert description["security"] == [{"token": []}, {"session": []}, {}]
