"""The JSON schema of a report, generated from its classes.

``python -m whence.report.schema src/whence/report/explanation.schema.json`` writes it anew.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from whence.files import write_text
from whence.report.model import SCHEMA, Report

__all__ = ["main", "schema"]


def schema() -> dict[str, Any]:
    """The schema of the document "whence/explanation/1"; entries that it does not know are allowed.

    Examples
    --------
    >>> schema()["title"]
    'whence/explanation/1'
    """
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA}
    return {**head, **msgspec.json.schema(Report)}


def main() -> None:
    """Write the schema to the file that is named, or print it."""
    text = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    if len(sys.argv) > 1:
        write_text(sys.argv[1], text, "the schema")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
