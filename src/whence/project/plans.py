"""Plans as people give them: JSON, a file, `part=value` pairs, the stops of a route, or the plan of another context."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whence.errors import InputError
from whence.plain import plan_from_plain
from whence.policy import Policy
from whence.problems import ShortestPath
from whence.project.columns import number
from whence.project.contexts import is_file, json_value, pairs, read_json_file
from whence.project.csv_files import CsvFormat, read_csv
from whence.project.findings import Findings, shown

__all__ = ["PlanReader"]

_STOPS = re.compile(r"\s*(?:->|→|>)\s*")


class PlanReader:
    """Reads plans for a fitted policy.

    Parameters
    ----------
    policy : Policy
        Fitted.
    context : callable
        Reads a context.
    form : CsvFormat
        What is declared about files.
    decimal : {".", ","}
        The decimal sign of numbers that are typed in.
    files : bool
        Whether a text may be the name of a file.
    """

    def __init__(
        self,
        policy: Policy,
        context: Callable[[Any, bool], pd.Series],
        form: CsvFormat,
        decimal: str,
        files: bool = True,
    ) -> None:
        self.policy = policy
        self.context = context
        self.form = form
        self.decimal = decimal
        self.files = files

    def read(self, value: Any) -> Any:
        """A plan in its natural form, feasible."""
        if isinstance(value, str):
            value = self._from_text(value.strip())
        elif isinstance(value, np.ndarray | pd.Series):
            value = value.tolist()
        if isinstance(value, _Decided):
            return value.plan
        return plan_from_plain(self.policy.problem, value, self.policy.outcome_names_)

    def _from_text(self, text: str) -> Any:
        for mark in ("row:", "context:"):
            if text.startswith(mark):
                return _Decided(self.policy.decide(self.context(text.removeprefix(mark).strip(), self.files)))
        if text.startswith(("[", "{")):
            return json_value(text, "The plan")
        if self.files and (is_file(text) or text.lower().endswith((".json", ".csv"))):
            return self._from_file(Path(text))
        if isinstance(self.policy.problem, ShortestPath):
            return self._stops(text)
        if "=" in text:
            return {name: self._number(entry) for name, entry in pairs(text, "The plan").items()}
        return [self._number(entry) for entry in re.split(r"[;\s]+|,\s*", text)]

    def _stops(self, text: str) -> list[str]:
        """The stops of a route: nodes between arrows or, where there is no arrow, between commas."""
        stops = _STOPS.split(text) if _STOPS.search(text) else text.split(",")
        return [stop.strip() for stop in stops]

    def _number(self, text: str, decimal: str | None = None) -> float:
        found = number(text, self.decimal if decimal is None else decimal)
        if found is None:
            found = number(text)
        if found is None or not np.isfinite(found):
            raise InputError(f"A quantity of the plan must be a finite number. Got {shown(text)} instead.")
        return found

    def _from_file(self, path: Path) -> Any:
        if path.suffix.lower() == ".json":
            return read_json_file(path)
        found = Findings()
        table = read_csv(path, self.form, found)
        if table is None or found.errors:
            raise InputError(str(found.errors[0]))
        cells = table.cells
        if isinstance(self.policy.problem, ShortestPath) and cells.shape[1] == 1:
            return cells.iloc[:, 0].tolist()
        if len(cells) == 1:
            return {name: self._number(cells[name].iloc[0], table.decimal) for name in cells.columns}
        if cells.shape[1] == 2:
            return {name: self._number(entry, table.decimal) for name, entry in cells.itertuples(index=False)}
        raise InputError(
            f"{path.name} must hold one row with a column a part, or two columns, part and value. "
            f"Got {len(cells)} rows of {cells.shape[1]} columns instead."
        )


class _Decided:
    """A plan that the policy itself has made."""

    def __init__(self, plan: Any) -> None:
        self.plan = plan
