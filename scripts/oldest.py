"""Print the oldest versions that pyproject.toml allows, as a constraints file for pip.

python scripts/oldest.py [EXTRA]... > oldest.txt
pip install --constraint oldest.txt --editable ".[EXTRA,...]"
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?.*>=(?P<version>[\w.]+)")


def oldest(extras: Iterable[str] = ()) -> list[str]:
    """One constraint per package that the package or one of `extras` needs, at its lower limit.

    Examples
    --------
    >>> [line for line in oldest(["plot"]) if line.startswith("matplotlib")]
    ['matplotlib==3.8.0']
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    needed = [*project["dependencies"], *(text for extra in extras for text in optional[extra])]
    found = {text: REQUIREMENT.match(text) for text in needed}
    unlimited = [text for text, match in found.items() if match is None]
    if unlimited:
        raise SystemExit(f"These requirements in pyproject.toml have no lower limit: {', '.join(unlimited)}.")
    return [f"{match['name']}=={match['version']}" for match in found.values() if match is not None]


if __name__ == "__main__":
    print(*oldest(sys.argv[1:]), sep="\n")
