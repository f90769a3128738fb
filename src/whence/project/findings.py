"""What is wrong with a project, collected so that a user learns of everything at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from whence.errors import InputError

Severity = Literal["error", "warning"]


class Place(str):
    """Where something stands, as people read it: file, line, and key or column."""

    file: str
    line: int | None
    part: str

    def __new__(cls, file: str, line: int | None = None, part: str = "") -> Self:
        """The text, which remembers what it was made of."""
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
        """Those of the file `first` in the order of its lines, then the others as they were found."""

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
