"""Rows on disk: appended as they come, and complete or ignored when a run is taken up again."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from paper.experiment import Row, Task
from whence import __version__
from whence.errors import InputError, InternalError
from whence.util.files import complete

#: Columns in front of a family's own: the task, its seed, and how many rows it has.
FRONT = ("key", "seed", "rows")


class Records:
    """The rows of one family in a CSV file, and beside it a JSON file that says what they depend on.

    Parameters
    ----------
    folder : Path
        Where the files are; must exist.
    name : str
        Their stem.
    depends : dict
        What the rows depend on besides their tasks. A file made with other values is refused.
    """

    def __init__(self, folder: Path, name: str, depends: dict[str, Any]) -> None:
        self.path = folder / f"{name}.csv"
        self._about = folder / f"{name}.json"
        self._depends = {"whence": __version__, **json.loads(json.dumps(depends, default=str))}
        self._columns: list[str] = []
        self._open()

    @property
    def seconds(self) -> float:
        """Wall time spent on these rows, all runs together."""
        return float(self._read_about().get("seconds", 0.0))

    def spent(self, seconds: float) -> None:
        """Add to the wall time."""
        written(self._about, json.dumps({"depends": self._depends, "seconds": self.seconds + seconds}, indent=1) + "\n")

    def keys(self) -> set[str]:
        """Tasks whose rows are all there."""
        return set(self._frame()["key"]) if self.path.exists() else set()

    def append(self, task: Task, rows: Sequence[Row]) -> None:
        """Write the rows of a task and flush them."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        for row in rows:
            columns = [*FRONT, *row]
            if not self._columns:
                self._columns = columns
                writer.writerow(columns)
            if columns != self._columns:
                raise InternalError(f"Every row of {self.path.name} must have the same columns; {task.key!r} has not.")
            writer.writerow([task.key, task.seed, len(rows), *row.values()])
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(buffer.getvalue())
            file.flush()

    def rows(self, tasks: Iterable[Task]) -> pd.DataFrame:
        """The rows of `tasks`, in their order, whatever else the file holds."""
        if not self.path.exists():
            return pd.DataFrame(columns=["key", "seed"])
        frame = self._frame()
        place = {task.key: number for number, task in enumerate(tasks)}
        chosen = frame[frame["key"].isin(place.keys())]
        # A stable sort keeps the order of rows within their task.
        order = chosen["key"].map(place).sort_values(kind="stable").index
        return chosen.loc[order].drop(columns="rows").reset_index(drop=True)

    def _open(self) -> None:
        """Refuse rows that depend on something else; cut off what an interruption left half written."""
        known = self._read_about().get("depends")
        if self.path.exists() and known != self._depends:
            raise InputError(
                f"The folder given as '--out' must hold rows of the same settings, or none. "
                f"{self.path.name} was made with {_told(known)}, this run has {_told(self._depends)}."
            )
        self.spent(0.0) if known is None else None
        if not self.path.exists():
            return
        text = self.path.read_text("utf-8")
        if not text.endswith("\n"):
            written(self.path, text[: text.rfind("\n") + 1])
        if not self.path.read_text("utf-8"):
            self.path.unlink()
            return
        with self.path.open(encoding="utf-8", newline="") as file:
            self._columns = next(csv.reader(file))
        frame = pd.read_csv(self.path, dtype={"key": str}, keep_default_na=False)
        whole = frame.groupby("key")["rows"].transform("size") == frame["rows"]
        if not whole.all():
            written(self.path, frame[whole].to_csv(index=False, lineterminator="\n"))

    def _frame(self) -> pd.DataFrame:
        return pd.read_csv(self.path, dtype={"key": str})

    def _read_about(self) -> dict[str, Any]:
        try:
            about = json.loads(self._about.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            about = None
        if isinstance(about, dict) and _is_known(about):
            return about
        raise InputError(
            f"{str(self._about)!r} must be a JSON file that says what the rows beside it were made with. It is "
            f"damaged: remove it together with {self.path.name} to make the rows again, or give another '--out'."
        )


def written(path: Path, content: str | bytes) -> None:
    """Write a file that appears complete or not at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written(pathlib.Path(folder) / "a.txt", "all of it")
    ...     (pathlib.Path(folder) / "a.txt").read_text("utf-8")
    'all of it'
    """
    with complete(path) as partial:
        partial.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def _is_known(about: dict[str, Any]) -> bool:
    """Whether what stands beside the rows is what :class:`Records` writes there."""
    seconds = about.get("seconds")
    timed = isinstance(seconds, int | float) and not isinstance(seconds, bool) and math.isfinite(seconds)
    return isinstance(about.get("depends"), dict) and timed


def _told(depends: dict[str, Any] | None) -> str:
    return "unknown settings" if depends is None else ", ".join(f"{name} {value}" for name, value in depends.items())
