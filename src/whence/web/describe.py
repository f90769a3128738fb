"""The interface's description of itself, as the documentation holds it.

``python -m whence.web.describe docs/openapi.json`` writes it anew.
"""

from __future__ import annotations

import json
import sys

from whence.files import write_text
from whence.web.app import create_app

__all__ = ["description", "main"]


def description() -> str:
    """The OpenAPI description as JSON text.

    Examples
    --------
    >>> description()[:20]
    '{\\n  "openapi": "3.1.'
    """
    return json.dumps(create_app([]).openapi(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the description to the file that is named, or print it."""
    if len(sys.argv) > 1:
        write_text(sys.argv[1], description(), "the description")
    else:
        sys.stdout.write(description())


if __name__ == "__main__":
    main()
