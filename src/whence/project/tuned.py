"""Weights written into a project file: its comments, and everything else in it, stay as they are."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whence.errors import InputError
from whence.project.sections import UNSAID, WEIGHTS
from whence.util.files import complete, read_file
from whence.weights import Weights

__all__ = ["settings_of", "with_weights", "write_weights"]

#: How the lines begin that an earlier choice has left, and that a later one replaces.
MARK = "# tuned: "
_TABLE = re.compile(r"^[ \t]*\[\[?[^\[\]]")
_WEIGHTS = re.compile(r"""^[ \t]*\[[ \t]*(?:weights|"weights"|'weights')[ \t]*\][ \t]*(?:#.*)?$""")
_LINE = re.compile(
    r"""^(?P<key>[ \t]*[A-Za-z_]+[ \t]*=[ \t]*)(?P<value>"[^"\\]*"|'[^']*'|[^#"'\[{]*?)(?P<rest>[ \t]*(?:#.*)?)$"""
)


def settings_of(weights: Weights) -> dict[str, Any]:
    """The table [weights] that stands for `weights`.

    Examples
    --------
    >>> from whence.weights import KNNWeights
    >>> settings_of(KNNWeights(k=20))
    {'kind': 'knn', 'k': 20}
    """
    kind = next(name for name, (made, _) in WEIGHTS.items() if type(weights) is made)
    given = weights.get_params(deep=False)
    keys = WEIGHTS[kind][1]
    said = [key for key, (_, default) in keys.items() if key not in UNSAID or given[key] != default]
    values = {key: "none" if given[key] is None else given[key] for key in said}
    return {"kind": kind, **values}


def with_weights(text: str, settings: Mapping[str, Any], evidence: Sequence[str]) -> str:
    """The text of a project file with these weights, and the evidence as comments beside them.

    Raises an InputError where the file is written in a way that cannot be changed safely: then nothing is.

    Examples
    --------
    >>> print(with_weights("[weights]\\nkind = 'knn'\\nk = 10   # neighbours\\n", {"kind": "knn", "k": 20}, ["better"]))
    [weights]
    # tuned: better
    kind = "knn"
    k = 20   # neighbours
    <BLANKLINE>
    """
    before = tomllib.loads(text)
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [number for number, line in enumerate(lines) if _WEIGHTS.match(line)]
    remarks = [MARK + " ".join(line.split()) for line in evidence]
    if starts:
        first = starts[0] + 1
        last = next((n for n in range(first, len(lines)) if _TABLE.match(lines[n])), len(lines))
        lines[first:last] = _section(lines[first:last], settings, remarks)
    else:
        while lines and not lines[-1].strip():
            lines.pop()
        lines += ["", "[weights]", *remarks, *(f"{key} = {_written(value)}" for key, value in settings.items()), ""]
    changed = end.join(lines)
    try:
        after = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        after = {}
    if after != {**before, "weights": dict(settings)}:
        keys = ", ".join(f"{key} = {_written(value)}" for key, value in settings.items())
        raise InputError(
            "The table [weights] of the project file is written in a way that cannot be changed without touching "
            f"anything else; write it yourself: {keys}."
        )
    return changed


def _section(lines: list[str], settings: Mapping[str, Any], remarks: list[str]) -> list[str]:
    """The lines of the table with the new values; keys that other weights had are left out."""
    kept: list[str] = []
    left = dict(settings)
    after = 0
    for line in lines:
        if line.startswith(MARK):
            continue
        found = None if line.lstrip().startswith("#") else _LINE.match(line)
        if found is None:
            kept.append(line)
            continue
        key = found["key"].partition("=")[0].strip()
        if key in left:
            kept.append(f"{found['key']}{_written(left.pop(key))}{found['rest']}")
            after = len(kept)
    kept[after:after] = [f"{key} = {_written(value)}" for key, value in left.items()]
    return [*remarks, *kept]


def _written(value: Any) -> str:
    """A value as TOML writes it: as JSON does, for texts and numbers."""
    return json.dumps(value.item() if hasattr(value, "item") else value)


def write_weights(path: Path, weights: Weights, evidence: Sequence[str]) -> None:
    """Write `weights` into the project file at `path`, complete or not at all; a link is followed."""
    target = path.resolve()
    raw = read_file(target)
    mark = "\ufeff" if raw.startswith(b"\xef\xbb\xbf") else ""
    text = with_weights(raw.decode("utf-8-sig"), settings_of(weights), evidence)
    with complete(target) as partial:
        partial.write_bytes((mark + text).encode("utf-8"))
        shutil.copymode(target, partial)
