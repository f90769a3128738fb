"""Print the versions that this environment was tested with, as a constraints file for pip.

.venv/bin/python scripts/constraints.py > constraints.txt
pip install --constraint constraints.txt "whence[web]"

These are whence's dependencies and those of its extras, but for the tools of development, with theirs in turn.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from importlib.metadata import requires as requires_of
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def declared() -> list[Requirement]:
    """What pyproject.toml asks for, its extras included, where it applies to this Python and system."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {name: texts for name, texts in project["optional-dependencies"].items() if name != "dev"}
    asked = [Requirement(text) for texts in (project["dependencies"], *extras.values()) for text in texts]
    return [one for one in asked if one.marker is None or one.marker.evaluate()]


def tested() -> dict[str, str]:
    """The version of everything that whence leads to, by name."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(one, extra) for one in declared() for extra in ("", *one.extras)]
    while waiting:
        one, extra = waiting.pop()
        name = canonicalize_name(one.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            raise SystemExit(f"{name} is not installed here, so that its version was not tested.") from None
        for text in requires_of(name) or ():
            further = Requirement(text)
            if further.marker is None or further.marker.evaluate({"extra": extra}):
                waiting.extend((further, wanted) for wanted in ("", *further.extras))
    return dict(sorted(found.items()))


if __name__ == "__main__":
    print("# What was tested together, on Python " + ".".join(map(str, sys.version_info[:2])) + ".")
    print("# Made by scripts/constraints.py.")
    print(*(f"{name}=={number}" for name, number in tested().items()), sep="\n")
