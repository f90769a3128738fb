"""Many questions from a CSV file, answered into another one; a run that was stopped picks up where it left off."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import effective_n_jobs

from whence.batch import COLUMNS, Batch, explain_many
from whence.errors import InputError, UnansweredError, WhenceError
from whence.explain.explanation import Explanation
from whence.features.dates import as_day
from whence.project.csv_files import CsvTable, load_csv
from whence.project.project import Project
from whence.project.typed_questions import is_file
from whence.util.files import digest_of, read_file, write_text
from whence.util.json import quoted, to_plain
from whence.util.text import number

#: Rows per process that are answered before what is done is noted.
ROWS_PER_NOTE = 8


@dataclass(frozen=True)
class BatchRow:
    """One row of the input: a context and a plan, or what is wrong with them."""

    row: int
    carried: dict[str, str]
    context: pd.Series | None = None
    plan: Any = None
    error: str = ""
    #: The context in which the plan is decided, where it is told by one.
    known: pd.DataFrame | None = None


@dataclass(frozen=True)
class BatchInput:
    """The rows of the input, how its file is written, and a text that changes whenever it does."""

    rows: list[BatchRow]
    table: CsvTable
    fingerprint: str


def read_questions(project: Project, path: Path, instead: str | None = None, files: bool = False) -> BatchInput:
    """The questions of a CSV file: a column per feature, or "context"; and "instead", or a column per part of the plan.

    `instead` is the plan of the rows that have none. With `files`, cells may name files. A table may come from anybody:
    what a cell names is then opened on this machine.
    """
    table = load_csv(path, project.form)
    table = replace(table, cells=table.cells.rename(columns=as_meant).map(as_meant))
    reader = _RowReader(project, table, instead, files)
    rows = [reader.read(row) for row in range(len(table.cells))]
    return BatchInput(rows, table, digest_of(path, more=repr((instead, files)).encode()))


class _RowReader:
    """Reads one row after the other; a plan that many rows share is read once."""

    def __init__(self, project: Project, table: CsvTable, instead: str | None, files: bool) -> None:
        self.project, self.table, self.instead, self.files = project, table, instead, files
        names = list(table.cells.columns)
        policy = project.fitted()
        self.features = [name for name in names if name in project.X.columns]
        parts = policy.problem.parts(policy.outcome_names_) or []
        self.parts = [name for name in names if name in parts and name not in self.features]
        used = {*self.features, *self.parts, "context", "instead"}
        self.carried = [name for name in names if name not in used]
        lacking = [str(name) for name in project.X.columns if name not in self.features]
        if lacking and "context" not in names:
            wanted = ", ".join(map(repr, lacking))
            if not self.features:
                raise InputError(f"{table.path.name} must have a column 'context', or the columns {wanted}.")
            near = get_close_matches(lacking[0], self.carried, 1)
            hint = f" Is it the column {near[0]!r}?" if near else ""
            raise InputError(
                f"{table.path.name} must have a column for every feature, because it has none called 'context'. "
                f"There is none for {wanted}.{hint}"
            )
        self.asks = project.explain_defaults.instead
        if not self.parts and "instead" not in names and instead is None and self.asks is None:
            raise InputError(f"{table.path.name} must have a column 'instead', or a column for every part of the plan.")
        self._plans: dict[tuple[str, bool], Any] = {}

    def read(self, row: int) -> BatchRow:
        """Return one row of the input."""
        cells = {str(name): str(cell) for name, cell in self.table.cells.iloc[row].items()}
        question = BatchRow(row + 1, {name: cells[name] for name in self.carried})
        try:
            context, plan = self._context(cells), self._plan(cells)
            text = cells.get("instead") or (None if self.parts else self.instead or self.asks)
            return replace(question, context=context, plan=plan, known=self.project.contexts_of(text))
        except WhenceError as error:
            return replace(question, error=str(error))

    def _context(self, cells: Mapping[str, str]) -> pd.Series:
        over = cells.get("context", "")
        given = {name: cells[name] for name in self.features if cells[name] or not over}
        with _sealed(over, self.files):
            return self.project.context_of_cells(given, self.table.decimal, over, self.files)

    def _plan(self, cells: Mapping[str, str]) -> Any:
        cell = cells.get("instead")
        text = cell or (None if self.parts else self.instead)
        if text is None:
            if not self.parts and self.asks is None:
                raise InputError("The row has no plan in its column 'instead'.")
            if not self.parts:
                return self._default
            return self.project.plan({name: self._quantity(name, cells[name]) for name in self.parts})
        # What stands on the command line is the user's own and may name a file.
        files = self.files or not cell
        if (text, files) not in self._plans:
            with _sealed(text, self.files and bool(cell)):
                self._plans[text, files] = self.project.plan(text, files)
        return self._plans[text, files]

    @cached_property
    def _default(self) -> Any:
        """What the project asks about; read once for all rows."""
        return self.project.plan_asked()

    def _quantity(self, name: str, cell: str) -> float:
        found = number(cell, self.table.decimal)
        if found is None:
            raise InputError(f"The quantity of {name!r} must be a number. Got {cell!r} instead.")
        return found


@contextmanager
def _sealed(text: str, files: bool) -> Iterator[None]:
    """Keep the content of files out of errors: the output may go to whoever wrote the cell."""
    try:
        yield
    except WhenceError:
        named = next((mark for mark in ("context:", "row:", "") if text.startswith(mark)), "")
        name = text.removeprefix(named).strip()
        if not files or not (is_file(name) or Path(name).suffix):
            raise
        raise InputError(f"The file {quoted(Path(name).name)} does not hold anything that can be used here.") from None


class BatchRun:
    """One run over the questions, or what is left of it unless it is to `restart`.

    The CSV file `answers` is written in the end; until then, rows are kept in a file of the same name with
    ``.partial``. The `options` are arguments of `Policy.explain`.
    """

    def __init__(
        self, project: Project, questions: BatchInput, answers: Path, options: Mapping[str, Any], restart: bool = False
    ) -> None:
        self.project, self.questions, self.answers = project, questions, answers
        self.options = dict(options)
        self.partial = answers.with_name(f"{answers.name}.partial")
        policy = (project.fingerprint(), project.policy_digest)
        asked = repr((policy, questions.fingerprint, sorted(self.options.items(), key=str)))
        self.fingerprint = hashlib.sha256(asked.encode()).hexdigest()
        if restart:
            self.partial.unlink(missing_ok=True)
        self.records: dict[int, dict[str, Any]] = self._kept()

    @property
    def total(self) -> int:
        """Rows in all."""
        return len(self.questions.rows)

    @property
    def done(self) -> int:
        """Rows done."""
        return len(self.records)

    def work(self, jobs: int = 1) -> Iterator[int]:
        """Answer what is left, chunk by chunk, and give the number of rows done after each of them.

        Where a cluster is lost, what it has answered is noted before the error.
        """
        todo = [question for question in self.questions.rows if question.row not in self.records]
        workers = effective_n_jobs(jobs)
        size = 1 if workers == 1 else ROWS_PER_NOTE * workers
        with self.partial.open("a", encoding="utf-8") as notes:
            if self.partial.stat().st_size == 0:
                notes.write(json.dumps({"batch": self.fingerprint}) + "\n")
            for start in range(0, len(todo), size):
                chunk = todo[start : start + size]
                for record in self._answered(chunk, jobs):
                    self.records[record["row"]] = record
                    notes.write(json.dumps(record, default=to_plain) + "\n")
                notes.flush()
                yield self.done
                if any(question.row not in self.records for question in chunk):
                    raise UnansweredError(
                        f"The cluster was lost after {self.done} of {self.total} rows; run the same command again to "
                        "continue."
                    )

    def _answered(self, chunk: list[BatchRow], jobs: int) -> list[dict[str, Any]]:
        asked = [question for question in chunk if not question.error]
        records = {q.row: {"row": q.row, **q.carried, "status": "error", "error": q.error} for q in chunk if q.error}
        if asked:
            contexts, plans = [q.context for q in asked], [q.plan for q in asked]
            # Of equally near contexts the one that is told depends on what is known: not on rows asked together.
            known = [q.known for q in asked]
            batch = Batch(contexts, plans, plan_per_row=True, n_jobs=jobs, options=self.options, known=known)
            whys = explain_many(self.project.fitted(), batch)
            frame = whys.frame.drop(columns=["seconds"])
            for question, why, (_, answer) in zip(asked, whys, frame.iterrows(), strict=True):
                if isinstance(why, UnansweredError):
                    continue
                nearest = why.context if isinstance(why, Explanation) else None
                where = {} if nearest is None else {f"nearest {name}": value for name, value in nearest.items()}
                answers = {str(name): value for name, value in answer.items()}
                records[question.row] = {"row": question.row, **question.carried, **answers, **where}
        return [records[question.row] for question in chunk if question.row in records]

    def finish(self) -> pd.DataFrame:
        """Write the answers in one go and forget the notes."""
        columns = ["row", *(self.questions.rows[0].carried if self.questions.rows else ())]
        columns += [name for name in COLUMNS if name != "seconds"]
        columns += [f"nearest {name}" for name in self.project.X.columns]
        table = pd.DataFrame([self.records[row] for row in sorted(self.records)], columns=columns)
        for name in ("nodes", "held", "refits"):
            table[name] = table[name].astype("Int64")
        form = self.questions.table
        safe = table.map(lambda cell: as_text(cell, form.decimal)).rename(columns=lambda name: as_text(name, "."))
        text = safe.to_csv(index=False, sep=form.separator, decimal=form.decimal, lineterminator="\n")
        write_text(self.answers, text, "the answers")
        self.partial.unlink(missing_ok=True)
        return table

    def _kept(self) -> dict[int, dict[str, Any]]:
        """Return what an earlier run has done; its last line may be half written."""
        if not self.partial.exists():
            return {}
        *whole, last = read_file(self.partial).decode("utf-8", errors="replace").split("\n")
        try:
            first, *rest = [json.loads(line) for line in whole] if whole else [{}]
            records = {int(record["row"]): record for record in rest}
            of = first.get("batch") if whole else self.fingerprint
        except (ValueError, TypeError, KeyError, AttributeError):
            of, records = None, {}
        if of != self.fingerprint:
            raise InputError(
                f"{self.partial.name} holds rows of another question: finish that one with its own command, or discard "
                "it with --restart."
            )
        if last or not whole:
            write_text(self.partial, "".join(f"{line}\n" for line in whole), "the rows done")
        return records


#: How a cell begins that a spreadsheet takes for a formula, and one that was kept from being one.
_FORMULA = re.compile(r"'*[=+\-@\t\r]", re.ASCII)
_KEPT = re.compile(r"'+[=+\-@\t\r]", re.ASCII)


def as_text(cell: Any, decimal: str) -> Any:
    """A cell as it is written: one that a spreadsheet would run gets an apostrophe before it; numbers stay numbers."""
    day = as_day(cell) if isinstance(cell, date) else None
    if day is not None:
        return day.isoformat()
    if not isinstance(cell, str) or len(cell) < 2 or not _FORMULA.match(cell) or number(cell, decimal) is not None:
        return cell
    return f"'{cell}"


def as_meant(cell: str) -> str:
    """Return a cell as it was before :func:`as_text`."""
    return cell[1:] if _KEPT.match(cell) else cell
