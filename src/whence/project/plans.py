"""Plans as people give them: JSON, a file, what the problem reads from a text, or the plan of another context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whence.errors import InputError
from whence.policy import Policy
from whence.project.contexts import is_file, json_value, read_json_file
from whence.project.csv_files import CsvFormat, load_csv
from whence.project.findings import shown
from whence.typed_values import number

__all__ = ["PlanReader"]


@dataclass(frozen=True)
class PlanReader:
    """Reads plans for a fitted policy.

    Attributes
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

    policy: Policy
    context: Callable[[Any, bool], pd.Series]
    form: CsvFormat
    decimal: str
    files: bool = True

    def read(self, value: Any) -> Any:
        """A plan in its natural form, feasible."""
        if isinstance(value, str):
            text = value.strip()
            for mark in ("row:", "context:"):
                if text.startswith(mark):
                    return self.policy.decide(self.context(text.removeprefix(mark).strip(), self.files))
            value = self._from_text(text)
        elif isinstance(value, np.ndarray | pd.Series):
            value = value.tolist()
        return self.policy.problem.from_plain(value, self.policy.outcome_names_)

    def _from_text(self, text: str) -> Any:
        if text.startswith(("[", "{")):
            return json_value(text, "The plan")
        if self.files and (is_file(text) or text.lower().endswith((".json", ".csv"))):
            path = Path(text)
            if path.suffix.lower() == ".json":
                return read_json_file(path)
            table = load_csv(path, self.form)
            return self.policy.problem.plain_from_cells(table.cells, partial(_quantity, decimal=table.decimal))
        return self.policy.problem.plain_from_text(text, partial(_quantity, decimal=self.decimal))


def _quantity(text: str, decimal: str) -> float:
    found = number(text, decimal)
    if found is None:
        found = number(text)
    if found is None or not np.isfinite(found):
        raise InputError(f"A quantity of the plan must be a finite number. Got {shown(text)} instead.")
    return found
