"""The store: questions, by whom and when, and the answers with their certificates, in an SQLite file."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from whence.errors import InputError

#: Seconds between two looks for what is too old.
TIDY = 3600.0
#: Seconds to wait for somebody else who writes to the file: everybody waits meanwhile.
BUSY = 1.0
#: What the first bytes of such a file are.
MAGIC = b"SQLite format 3\0"
#: The form of the file, for versions to come.
VERSION = 1


@dataclass(frozen=True)
class Entry:
    """One question, and its answer once there is one. Documents are JSON; answers are compressed, as they are sent."""

    id: str
    scene: str
    question: str
    asked: str
    who: str = ""
    groups: str = ""
    token: str = ""
    address: str = ""
    asked_at: float = 0.0
    finished_at: float | None = None
    seconds: float | None = None
    state: str = "queued"
    error: str | None = None
    remarks: str = "[]"
    result: bytes | None = None
    data: bytes | None = None
    nearest: bytes | None = None

    def document(self) -> dict[str, Any]:
        """The entry as plain data, with the whole answer."""
        plain = {name: value for name, value in vars(self).items() if name not in ("result", "nearest")}
        answer = None if not self.data else json.loads(zlib.decompress(self.data))
        return {**plain, "asked": json.loads(self.asked), "remarks": json.loads(self.remarks), "data": answer}


COLUMNS = [field.name for field in fields(Entry)]
#: Of a list of questions, what is not needed.
HEAVY = ("result", "data", "nearest")


class Store:
    """Questions and answers in a file, kept for some days.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "store.sqlite")
    >>> store.put(Entry("1", "bakery", "explain", "{}", who="anna", asked_at=time.time()))
    >>> [entry.who for entry in store.listed("bakery")], [entry.id for entry in store.unfinished()]
    (['anna'], ['1'])
    """

    def __init__(self, path: Path, days: float = 90.0) -> None:
        self._days, self._tidied = days, 0.0
        self._lock = threading.Lock()
        try:
            self._file = sqlite3.connect(path, BUSY, check_same_thread=False, isolation_level=None)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            [version] = self._file.execute("PRAGMA user_version").fetchone()
            if version not in (0, VERSION):
                raise InputError(f"'store' must be a file of version {VERSION}. Got one of version {version} instead.")
            columns = ", ".join(COLUMNS[1:])
            self._file.execute(f"CREATE TABLE IF NOT EXISTS questions (id TEXT PRIMARY KEY, {columns})")
            self._file.execute("CREATE INDEX IF NOT EXISTS by_scene ON questions (scene, asked_at)")
            self._file.execute(f"PRAGMA user_version={VERSION}")
        except sqlite3.Error as error:
            raise InputError(
                f"'store' must be an SQLite file of whence, or a place for one. Got {str(path)!r}, "
                f"which cannot be used: {error}."
            ) from None
        self.tidy()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def put(self, entry: Entry) -> None:
        """Write an entry, in the place of an earlier one of the same id."""
        marks = ", ".join("?" * len(COLUMNS))
        with self._lock:
            self._file.execute(
                f"INSERT OR REPLACE INTO questions ({', '.join(COLUMNS)}) VALUES ({marks})",
                [getattr(entry, name) for name in COLUMNS],
            )
        self._tidy_now_and_then()

    def _tidy_now_and_then(self) -> None:
        if time.monotonic() - self._tidied > TIDY:
            self.tidy()

    def tidy(self) -> None:
        """Forget what was asked too long ago."""
        self._tidied = time.monotonic()
        if self._days < math.inf:
            with self._lock:
                self._file.execute("DELETE FROM questions WHERE asked_at < ?", [time.time() - 86400 * self._days])

    def find(self, id: str) -> Entry | None:
        """The entry of this id, if there is one."""
        found = list(self._read("WHERE id = ?", id))
        return found[0] if found else None

    def unfinished(self) -> list[Entry]:
        """Questions that had no answer when the server ended, in their order."""
        return list(self._read("WHERE finished_at IS NULL ORDER BY asked_at"))

    def listed(self, scene: str, start: int = 1, count: int = 50) -> list[Entry]:
        """Questions of a scene without their answers, the latest first."""
        order = "WHERE scene = ? ORDER BY asked_at DESC, id LIMIT ? OFFSET ?"
        return list(self._read(order, scene, count, start - 1, without=HEAVY))

    def entries(self, scene: str | None = None) -> Iterator[Entry]:
        """Every question with its answer, the oldest first, one after the other."""
        where, given = ("WHERE scene = ?", [scene]) if scene is not None else ("", [])
        with self._lock:
            ids = [id for [id] in self._file.execute(f"SELECT id FROM questions {where} ORDER BY asked_at, id", given)]
        return (entry for id in ids for entry in [self.find(id)] if entry is not None)

    def _read(self, order: str, *given: Any, without: tuple[str, ...] = ()) -> Iterator[Entry]:
        self._tidy_now_and_then()
        names = [name for name in COLUMNS if name not in without]
        with self._lock:
            rows = self._file.execute(f"SELECT {', '.join(names)} FROM questions {order}", given).fetchall()
        return (Entry(**dict(zip(names, row, strict=True))) for row in rows)


def is_store(path: Path) -> bool:
    """Whether a file is an SQLite file; a pipe is none, and is not waited for."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def finished(entry: Entry, state: str, **found: Any) -> Entry:
    """The entry of a question that has its answer, or will have none, now."""
    now = time.time()
    return replace(entry, state=state, finished_at=now, seconds=now - entry.asked_at, **found)
