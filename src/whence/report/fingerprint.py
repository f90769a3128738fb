"""Fingerprints of what stands behind an explanation: model, history, problem and question.

A fingerprint is a SHA-256 of the values themselves, written in one fixed way: the same in every process, on every
platform, for a list and an array of the same numbers, and for a number that was written as 4 and read as 4.0.
"""

from __future__ import annotations

import hashlib
import math
import platform
import struct
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from whence.problems.base import DecisionProblem

#: How deep objects inside a problem are looked into.
DEEPEST = 100
#: What is written as a truth value, and what as a number.
TRUTH = (bool, np.bool_)
NUMBER = (int, float, np.integer, np.floating)
#: A number as it is written.
_DOUBLE = struct.Struct("<d")
#: Where classes stood when they were first taken into a fingerprint: documents from then are still to agree.
FORMERLY = {"whence.features.kinds": "whence.kinds"}


class Writer:
    """Writes values into a SHA-256, each with its kind and its length, so that no two different values look alike.

    What could not be taken is `left_out`: a function, say, or an object without a state that can be seen.

    Examples
    --------
    >>> writer = Writer()
    >>> writer.write({"rate": [1, 2.5], "model": len})
    >>> writer.left_out
    ['model']
    """

    def __init__(self) -> None:
        self._sha = hashlib.sha256()
        self.left_out: list[str] = []
        self._above: list[int] = []

    def hexdigest(self) -> str:
        """Return the fingerprint of all that was written."""
        return self._sha.hexdigest()

    def write(self, value: Any, path: str = "") -> None:
        """Add a value of any kind; `path` says where it stands, for `left_out`."""
        # Most of a document is texts: the one question for them comes first.
        if type(value) is str:
            self._token("text", value.encode("utf-8", "surrogatepass"))
        elif type(value) is float and value == value:
            # As below, at a tenth of the time; the sum makes one zero of two.
            self._token("number")
            self._token("numbers", _DOUBLE.pack(value + 0.0))
        elif value is None or value is pd.NA or value is pd.NaT:
            self._token("none")
        elif isinstance(value, TRUTH):
            self._token("bool", b"1" if value else b"0")
        elif isinstance(value, NUMBER) and not isinstance(value, Enum):
            self._token("number")
            if _ordinary(value):
                self._numbers(np.array([value], dtype=np.float64))
            else:
                self._token("long", str(value).encode())
        elif isinstance(value, str) and not isinstance(value, Enum):
            self._token("text", value.encode("utf-8", "surrogatepass"))
        elif isinstance(value, bytes):
            self._token("bytes", value)
        elif isinstance(value, date | time):
            self._token("date", value.isoformat().encode())
        elif id(value) in self._above or len(self._above) > DEEPEST:
            self._token("again")
        else:
            self._above.append(id(value))
            self._composed(value, path)
            self._above.pop()

    def _token(self, kind: str, content: bytes = b"") -> None:
        self._sha.update(b"%b:%d:%b" % (kind.encode(), len(content), content))

    def _numbers(self, values: NDArray[Any]) -> None:
        """A row of numbers; whole ones and others alike, as long as they are the same."""
        plain = values.astype("<f8") + 0.0  # the sum makes one zero of two
        plain[np.isnan(plain)] = np.nan
        self._token("numbers", plain.tobytes())

    def _composed(self, value: Any, path: str) -> None:
        if type(value) is dict:
            self._mapping(value, path)
        elif type(value) is list:
            self._sequence(value, path)
        elif isinstance(value, np.ndarray | pd.Index | pd.api.extensions.ExtensionArray):
            array = np.asarray(value)
            if array.dtype.kind in "iuf" and array.ndim == 1:
                self._numbers(array)
            else:
                self._sequence(list(array) if array.ndim else [array.item()], path)
        elif isinstance(value, pd.Series | pd.DataFrame):
            self._table(value.to_frame() if isinstance(value, pd.Series) else value, path)
        elif isinstance(value, nx.Graph):
            self._token("graph", type(value).__name__.encode())
            self.write([[node, dict(data)] for node, data in value.nodes(data=True)], path)
            self.write([[*ends, dict(data)] for *ends, data in value.edges(data=True)], path)
        elif sparse.issparse(value):
            matrix = sparse.coo_array(value)
            order = np.lexsort((matrix.col, matrix.row))
            self.write([list(matrix.shape), *(part[order] for part in (matrix.row, matrix.col, matrix.data))], path)
        elif isinstance(value, Mapping):
            self._mapping(value, path)
        elif isinstance(value, Set):
            self._token("set", "".join(sorted(digest(entry) for entry in value)).encode())
        elif isinstance(value, Sequence):
            self._sequence(value, path)
        else:
            self._object(value, path)

    def _mapping(self, value: Mapping[Any, Any], path: str) -> None:
        # In the order of their names, whatever the order in which they were put in.
        entries = sorted(value.items(), key=lambda pair: pair[0] if isinstance(pair[0], str) else digest(pair[0]))
        self._token("mapping", str(len(entries)).encode())
        for key, entry in entries:
            self.write(key, path)
            self.write(entry, f"{path}.{key}" if path else str(key))

    def _sequence(self, values: Sequence[Any], path: str) -> None:
        # Nearly all are lists of floats, which need no look at each.
        if set(map(type, values)) == {float} or all(isinstance(v, NUMBER) and _ordinary(v) for v in values):
            self._numbers(np.array(values, dtype=np.float64))
            return
        self._token("list", str(len(values)).encode())
        for i, entry in enumerate(values):
            self.write(entry, f"{path}[{i}]")

    def _table(self, table: pd.DataFrame, path: str) -> None:
        self.write([list(map(str, table.columns)), [str(label) for label in table.index]], path)
        for j, name in enumerate(table.columns):
            column = table.iloc[:, j]
            number = pd.api.types.is_numeric_dtype(column.dtype) and not column.hasnans
            values = column.to_numpy(dtype=np.float64) if number else [_label(entry) for entry in column.tolist()]
            self.write(values, f"{path}.{name}")

    def _object(self, value: Any, path: str) -> None:
        """An object by its class and its public state, or by its class alone where it shows none."""
        kind = value if isinstance(value, type) else type(value)
        self._token("object", _named(kind).encode())
        if isinstance(value, Enum):
            self.write(value.name, path)
        elif is_dataclass(value) and not isinstance(value, type):
            state = {one: getattr(value, one.name) for one in fields(value)}
            # What a class did not always have counts where it is used: documents from before are still to agree.
            new = {one for one, v in state.items() if one.metadata.get("later") and v == one.default}
            self.write({one.name: v for one, v in state.items() if one not in new}, path)
        elif hasattr(value, "__dict__") and not callable(value):
            self.write({name: v for name, v in vars(value).items() if not name.startswith("_")}, path)
        else:
            self._token("name", str(getattr(value, "__qualname__", "")).encode())
            self.left_out.append(path or _named(kind))


def digest(*values: Any) -> str:
    """Return the fingerprint of one value, or of several in their order.

    Examples
    --------
    >>> digest([1, 2.5]) == digest(np.array([1.0, 2.5])) != digest(["1", 2.5])
    True
    >>> digest({"a": 1, "b": None}) == digest({"b": None, "a": 1.0})
    True
    """
    writer = Writer()
    for value in values:
        writer.write(value)
    return writer.hexdigest()


def problem_digest(problem: DecisionProblem) -> tuple[str, list[str]]:
    """Return the fingerprint of a problem - its class by name and its public state - and what of it could not be taken.

    Examples
    --------
    >>> import whence as wh
    >>> problem_digest(wh.Newsvendor(1, [2, 3]))[0] == problem_digest(wh.Newsvendor(1.0, np.array([2, 3])))[0]
    True
    """
    writer = Writer()
    state = {name: value for name, value in vars(problem).items() if not name.startswith("_")}
    # The unit of costs may be set in the class or on the object.
    writer.write({"class": _named(type(problem)), "state": {**state, "cost_unit": getattr(problem, "cost_unit", "")}})
    return writer.hexdigest(), [path.removeprefix("state.") for path in writer.left_out]


def _named(kind: type) -> str:
    return f"{FORMERLY.get(kind.__module__, kind.__module__)}.{kind.__qualname__}"


def _ordinary(number: Any) -> bool:
    """Return whether a number is one as a float."""
    if isinstance(number, TRUTH):
        return False
    return not isinstance(number, int) or abs(number) <= 2**53


def _label(entry: Any) -> Any:
    """Return a cell that is no number: as a text, unless it is missing or a truth value."""
    if entry is None or entry is pd.NA or entry is pd.NaT or (isinstance(entry, float) and math.isnan(entry)):
        return None
    return entry if isinstance(entry, bool | int | float) else str(entry)


NUMERIC = ("numpy", "scipy", "scikit-learn", "pandas", "highspy", "networkx", "joblib")
REQUIRED = (*NUMERIC, "msgspec", "jinja2", "typer", "rich")
OPTIONAL = ("matplotlib", "fastapi", "gurobipy", "pyscipopt", "dask")


def versions() -> dict[str, str]:
    """Return name to version: whence, Python, the system, what whence needs, and what else of use is installed.

    Examples
    --------
    >>> list(versions())[:2]
    ['whence', 'python']
    """
    return dict(_found())


@cache
def _found() -> dict[str, str]:
    from whence import __version__

    found = {
        "whence": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    for name in REQUIRED + OPTIONAL:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            if name in REQUIRED:
                found[name] = "not found"
    return found
