"""What is wrong with a project, collected so that a user learns of everything at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from whence.checks import Rule, whole
from whence.errors import InputError, WhenceError
from whence.util.json import finite, quoted
from whence.util.text import nearest

Severity = Literal["error", "warning"]


class Place(str):
    """Where something stands, as people read it: file, line, and key or column."""

    file: str
    line: int | None
    part: str

    def __new__(cls, file: str, line: int | None = None, part: str = "") -> Self:
        """Return the text, which remembers what it was made of."""
        parts = (file, "" if line is None else f"line {line}", part)
        made = super().__new__(cls, ", ".join(filter(None, parts)))
        made.file, made.line, made.part = file, line, part
        return made

    def __getnewargs__(self) -> tuple[str]:
        """For pickle: what it was made of comes with the attributes."""
        return (str(self),)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or worth a look: where, and what was expected. No project with an error is used."""

    where: Place
    text: str
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


class Findings(list[Finding]):
    """Findings in the order in which they were made, each of them once."""

    def __init__(self, given: Iterable[Finding] = ()) -> None:
        super().__init__(given)
        self._made = set(self)

    def error(self, where: Place, text: str) -> None:
        """Add an error."""
        self._add(Finding(where, text))

    def warning(self, where: Place, text: str) -> None:
        """Add something worth a look."""
        self._add(Finding(where, text, "warning"))

    def _add(self, finding: Finding) -> None:
        if finding not in self._made:
            self._made.add(finding)
            self.append(finding)

    def sorted(self, first: str) -> Findings:
        """Return those of the file `first` in the order of its lines, then the others as they were found."""

        def order(finding: Finding) -> tuple[bool, int]:
            elsewhere = finding.where.file != first
            return elsewhere, 0 if elsewhere else finding.where.line or 0

        return Findings(sorted(self, key=order))

    @property
    def errors(self) -> list[Finding]:
        """Those that make a project unusable."""
        return [finding for finding in self if finding.severity == "error"]


class ProjectError(InputError):
    """A project cannot be used; the message lists everything that is wrong with it."""

    def __init__(self, path: Path, findings: Iterable[Finding]) -> None:
        self.path = path
        self.findings = list(findings)
        super().__init__(path, self.findings)

    def __str__(self) -> str:
        if len(self.findings) == 1:
            return str(self.findings[0])
        lines = "".join(f"\n  {finding}" for finding in self.findings)
        return f"{self.path.name} cannot be used; {len(self.findings)} things are wrong:{lines}"


_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"^\s*\[\[?\s*({_KEY})\s*\]")
_ASSIGNMENT = re.compile(rf"^\s*({_KEY})\s*=")


class Source:
    """A project file's text, and the line at which each of its keys stands."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), start=1):
            header, assignment = _HEADER.match(line), _ASSIGNMENT.match(line)
            if header:
                table = _parts(header.group(1))
                self._remember(table, number)
            elif assignment:
                self._remember((*table, *_parts(assignment.group(1))), number)

    def _remember(self, keys: tuple[str, ...], number: int) -> None:
        for length in range(1, len(keys) + 1):
            self._lines.setdefault(keys[:length], number)

    def at(self, *keys: str) -> Place:
        """Return file, line and path of a key; the line of what it stands in where it has none of its own."""
        line = next((self._lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in self._lines), None)
        return Place(self.path.name, line, ".".join(keys))


def _parts(dotted: str) -> tuple[str, ...]:
    """Return the parts of a dotted key, quotes taken off."""
    try:
        table: Any = tomllib.loads(f"{dotted} = 0")
    except tomllib.TOMLDecodeError:
        return (dotted,)
    keys = []
    while isinstance(table, dict):
        key, table = next(iter(table.items()))
        keys.append(key)
    return tuple(keys)


def is_number(value: Any) -> bool:
    """Return whether a TOML value is a finite number."""
    return finite(value) is not None


def list_of(wanted: str, fits: Callable[[Any], bool]) -> Rule:
    """Return the rule for a list that holds something, all of which fits."""
    return Rule(wanted, lambda value: isinstance(value, list) and bool(value) and all(map(fits, value)))


TEXT = Rule("a text in quotes", lambda value: isinstance(value, str))
NUMBER = Rule("a finite number", is_number)
NUMBERS = list_of("a list of numbers", is_number)
# Beyond 32 bits no seed makes sense, and scikit-learn's end there.
SEED = whole(0, 2**32 - 1, "a whole number of at least 0")
YES_OR_NO = Rule("true or false", lambda value: isinstance(value, bool))
TABLE = Rule("a table of keys", lambda value: isinstance(value, dict))


class Section:
    """One table of the project file, whose keys are taken one by one; those left over are unknown.

    What is wrong is added to `found`; `keys` is the path of the table.
    """

    def __init__(self, source: Source, keys: tuple[str, ...], table: dict[str, Any], found: Findings) -> None:
        self.source, self.keys, self.table, self.found = source, keys, table, found
        self._known: list[str] = []

    def take(self, key: str, rule: Rule, default: Any = None) -> Any:
        """Return the value of `key`, or `default` where it is missing or breaks the rule (which is then an error)."""
        self._known.append(key)
        if key not in self.table:
            return default
        value = self.table[key]
        if not rule.fits(value):
            self.error(key, f"must be {rule.wanted}. Got {quoted(value)} instead.")
            return default
        return value

    def take_all(self, keys: Mapping[str, tuple[Rule, Any]]) -> dict[str, Any]:
        """Return the values of several keys, each with its rule and its default."""
        return {key: self.take(key, rule, default) for key, (rule, default) in keys.items()}

    def need(self, key: str, rule: Rule) -> Any:
        """As `take`, with an error where the key is missing."""
        if key not in self.table:
            self.error(None, f"needs {key!r}, {rule.wanted}.")
        return self.take(key, rule)

    def table_of(self, key: str) -> Section:
        """Return the table under `key`, empty where it is missing."""
        return Section(self.source, (*self.keys, key), self.take(key, TABLE, {}), self.found)

    def error(self, key: str | None, text: str) -> None:
        """Add an error at a key of this table, or at the table itself."""
        self.found.error(self.at(key), text)

    def refused(self, error: WhenceError) -> None:
        """Add the error of a constructor, at the key that it speaks of."""
        self.error(error.parameter if error.parameter in self.table else None, str(error))

    def at(self, key: str | None = None) -> Place:
        """Return where this table or one of its keys stands."""
        return self.source.at(*self.keys, *(() if key is None else (key,)))

    def close(self) -> None:
        """Report the keys that nobody has asked for."""
        for key in self.table:
            if key not in self._known:
                known = ", ".join(map(repr, self._known))
                hint = nearest(key, self._known) or f" Known are {known}."
                self.error(key, f"{key!r} is not known here.{hint}")
