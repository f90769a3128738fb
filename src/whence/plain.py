"""Values and plans as plain JSON, and back.

JSON has no infinity and no "not a number": here infinity is the string ``"Infinity"`` (or ``"-Infinity"``) and a
missing value is ``null``, so that what is written is strict JSON that every reader takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from datetime import date, time
from typing import Any

import numpy as np
import pandas as pd

from whence.errors import InputError
from whence.problems.base import DecisionProblem
from whence.problems.shortest_path import ShortestPath

__all__ = ["number_from_plain", "plan_from_plain", "plan_to_plain", "to_plain"]

_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}
#: Most characters of a value that an error message repeats.
_QUOTED = 80


def to_plain(value: Any) -> Any:
    """`value` as None, bool, int, float, str, list and dict only: what strict JSON can hold.

    NaN, NaT and NA become None, infinities the strings "Infinity" and "-Infinity"; numpy scalars become Python's,
    arrays, tuples, sets and indexes lists, a Series a dict by its labels, a DataFrame a list of rows, dates their ISO
    text. Whatever else there is becomes its ``str``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> to_plain({"a": np.float64(0.5), "b": (1, np.int64(2)), "c": [np.nan, np.inf]})
    {'a': 0.5, 'b': [1, 2], 'c': [None, 'Infinity']}
    >>> to_plain(pd.Series({"rain": np.True_, "day": pd.Timestamp("2024-05-01")}))
    {'rain': True, 'day': '2024-05-01T00:00:00'}
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return _plain_number(float(value))
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, pd.DataFrame):
        return [to_plain(row) for row in value.to_dict("records")]
    if isinstance(value, Mapping | pd.Series):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | pd.Index | pd.api.extensions.ExtensionArray):
        return to_plain(value.tolist())
    if isinstance(value, Sequence | Set) and not isinstance(value, bytes | bytearray):
        return [to_plain(entry) for entry in value]
    return str(value)


def number_from_plain(value: Any) -> float:
    """A number that :func:`to_plain` wrote: None is NaN, "Infinity" and "-Infinity" are infinite.

    Examples
    --------
    >>> number_from_plain(2), number_from_plain("Infinity"), number_from_plain(None)
    (2.0, inf, nan)
    """
    if value is None:
        return math.nan
    if isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise InputError(f'A number must be a JSON number, "Infinity", "-Infinity" or null. Got {quoted(value)} instead.')


def plan_to_plain(problem: DecisionProblem, plan: Any) -> Any:
    """`plan` as a list: the nodes of a route (those that are tuples as lists), otherwise the quantities.

    Plans of a problem of one's own that are no arrays of numbers are given as :func:`to_plain` writes them.

    Examples
    --------
    >>> import whence as wh
    >>> plan_to_plain(wh.ShortestPath.grid(2), [((0, 0), (0, 1)), ((0, 1), (1, 1))])
    [[0, 0], [0, 1], [1, 1]]
    >>> import numpy as np
    >>> plan_to_plain(wh.Newsvendor(1, 2), np.array([3.0, 4.5]))
    [3.0, 4.5]
    """
    if isinstance(problem, ShortestPath):
        return to_plain(nodes_of(problem, plan))
    try:
        return to_plain(problem.vector(plan))
    except (TypeError, ValueError):
        return to_plain(plan)


def plan_from_plain(problem: DecisionProblem, value: Any, outcomes: Sequence[str] = ()) -> Any:
    """The plan that `value`, as read from JSON, stands for; an InputError says why where it is none.

    Parameters
    ----------
    problem : DecisionProblem
        What is decided. Its ``check`` has the last word.
    value : list or dict
        For quantities a list of numbers, or a dict from the names of the problem's parts to numbers, where those left
        out are 0. For routes a list of nodes, a list of edges, or a list with 0 or 1 an edge; a list stands for a node
        that is a tuple, and a string for the node whose ``str`` it is.
    outcomes : sequence of str
        Names of the columns of Y, after which some problems name their parts.

    Returns
    -------
    ndarray or list
        The quantities, or the nodes of the route.

    Examples
    --------
    >>> import whence as wh
    >>> bakery = wh.Newsvendor(holding=[1, 1], backorder=[2, 3], names=["rolls", "rye bread"])
    >>> plan_from_plain(bakery, {"rye bread": 40})
    array([ 0., 40.])
    >>> plan_from_plain(wh.ShortestPath.grid(2), [[0, 0], "(0, 1)", [1, 1]])
    [(0, 0), (0, 1), (1, 1)]
    """
    if isinstance(problem, ShortestPath):
        return _route(problem, value)
    plan = _quantities(problem, value, outcomes)
    _check(problem, plan)
    return plan


def nodes_of(problem: ShortestPath, plan: Any) -> list[Any]:
    """The nodes of a route, in whatever form it is given."""
    following = {u: v for (u, v), taken in zip(problem.graph.edges, problem.vector(plan), strict=True) if taken > 0.5}
    nodes = [problem.source]
    while nodes[-1] != problem.target:
        nodes.append(following[nodes[-1]])
    return nodes


def _plain_number(number: float) -> float | str | None:
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"


def _check(problem: DecisionProblem, plan: Any) -> None:
    try:
        reason = problem.check(plan)
    except (TypeError, ValueError) as error:
        reason = str(error)
    if reason:
        raise InputError(f"The plan is not feasible: {reason}")


# ---- quantities ------------------------------------------------------------------------------------------


def _quantities(problem: DecisionProblem, value: Any, outcomes: Sequence[str]) -> Any:
    names = problem.parts(outcomes)
    if isinstance(value, Mapping):
        if names is None:
            raise InputError("The plan must be a list of numbers, since the parts of this problem have no names.")
        known = {str(name): j for j, name in enumerate(names)}
        plan = np.zeros(len(names))
        for name, entry in value.items():
            if name not in known:
                raise InputError(f"The plan must name parts among {_some(names)}. Got {quoted(name)} instead.")
            plan[known[name]] = _quantity(entry, str(name))
        return plan
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        also = "" if names is None else f", or quantities by name among {_some(names)}"
        raise InputError(f"The plan must be a list of numbers{also}. Got {quoted(value)} instead.")
    if names is not None and len(value) != len(names):
        raise InputError(f"The plan must hold {len(names)} numbers, for {_some(names)}. Got {len(value)} instead.")
    labels = names or [f"entry {j + 1}" for j in range(len(value))]
    return np.array([_quantity(entry, str(name)) for entry, name in zip(value, labels, strict=True)], dtype=np.float64)


def _quantity(entry: Any, name: str) -> float:
    if isinstance(entry, int | float | np.number) and not isinstance(entry, bool):
        try:
            number = float(entry)
        except (OverflowError, TypeError):
            number = math.nan
        if math.isfinite(number):
            return number
    raise InputError(f"The plan's quantity of {quoted(name)} must be a finite number. Got {quoted(entry)} instead.")


# ---- routes ----------------------------------------------------------------------------------------------


def _route(problem: ShortestPath, value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        # A route by its edges' names: the quantities of a route are 0 and 1.
        given: Any = _quantities(problem, value, ())
    elif isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        raise InputError(f"The route must be a list of nodes or of edges. Got {quoted(value)} instead.")
    else:
        given = _nodes_or_edges(problem, list(value))
    _check(problem, given)
    return nodes_of(problem, given)


def _nodes_or_edges(problem: ShortestPath, entries: list[Any]) -> Any:
    nodes = _Nodes(problem.graph)
    found = [nodes.find(entry) for entry in entries]
    if not any(found):
        pairs = [entry for entry in entries if isinstance(entry, list | tuple) and len(entry) == 2]
        if entries and len(pairs) == len(entries):
            return [tuple(nodes.named(end) for end in pair) for pair in pairs]
        if entries and all(isinstance(entry, int | float) for entry in entries):
            return np.array([_quantity(float(entry), "an edge") for entry in entries])
    return [nodes.named(entry) for entry in entries]


class _Nodes:
    """The nodes of a graph, to be found by what JSON can say of them."""

    def __init__(self, graph: Any) -> None:
        self._exact = {_key(node): node for node in graph.nodes}
        self._written: dict[str, list[Any]] = {}
        for node in graph.nodes:
            self._written.setdefault(str(node), []).append(node)

    def find(self, entry: Any) -> tuple[Any] | None:
        """The node that `entry` stands for, in a tuple (a node may be anything, also None), or None."""
        key = _key(entry)
        try:
            if key in self._exact:
                return (self._exact[key],)
        except TypeError:
            return None
        written = self._written.get(entry, []) if isinstance(entry, str) else []
        if len(written) > 1:
            raise InputError(f"The route must name its nodes without doubt. Got {quoted(entry)}, which is several.")
        return (written[0],) if written else None

    def named(self, entry: Any) -> Any:
        found = self.find(entry)
        if found is None:
            raise InputError(
                f"The route must name nodes among {_some(list(self._written))}. Got {quoted(entry)} instead."
            )
        return found[0]


def _key(node: Any) -> Any:
    """A node's value with lists for tuples, apart from True, which is not the node 1."""
    if isinstance(node, list | tuple):
        return tuple(_key(part) for part in node)
    return (bool, node) if isinstance(node, bool) else node


# ---- messages --------------------------------------------------------------------------------------------


def quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"


def _some(names: Sequence[Any], most: int = 6) -> str:
    shown = ", ".join(quoted(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
