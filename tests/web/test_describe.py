"""The description in the documentation is the server's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from whence.web.app import create_app

FILE = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


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
    """docs/openapi.json names what the server answers; `python -m whence.web.describe docs/openapi.json` renews it."""
    documented = json.loads(FILE.read_text("utf-8"))
    assert outline(documented) == outline(create_app([]).openapi())
