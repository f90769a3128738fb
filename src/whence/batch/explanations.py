"""How many explanations are returned: a sequence with one entry per context, and a table of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
import pandas as pd

from whence.errors import WhenceError
from whence.explain.explanation import Explanation
from whence.report.build import changes_of
from whence.report.words import changes_shown
from whence.util.frames import TableKind, in_kind

__all__ = ["Entry", "Explanations"]

Entry = Explanation | WhenceError


class Explanations(Sequence[Entry]):
    """Explanations in the order of their contexts; where a row could not be explained, the error that says why.

    Attributes
    ----------
    labels : Index
        Labels of the rows: those of the table of contexts, otherwise 0, 1, ...

    Tables are of polars where the contexts were, or the history of the policy where they were no table.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[10.0], [11.0], [20.0], [21.0]])
    >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=1), wh.KNNWeights(k=2)).fit(X, Y)
    >>> whys = policy.explain_many([[0.2], [2.8], [float("nan")]], instead=[10.0])
    >>> whys
    <Explanations of 3 rows: 1 already, 1 optimal, 1 error>
    >>> whys.frame["status"].tolist()
    ['already', 'optimal', 'error']
    >>> str(whys.errors[2]).partition(".")[0]
    "The column 'x0' must not hold missing values (NaN)"
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        labels: pd.Index | None = None,
        tables: TableKind = "pandas",
        like: Any = None,
    ) -> None:
        self._entries = list(entries)
        #: The kind of its tables, and a table of polars with the types of the user's columns.
        self._tables, self._like = tables, like
        self.labels: pd.Index = pd.RangeIndex(len(self._entries)) if labels is None else labels

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> Explanations: ...
    def __getitem__(self, at: int | slice) -> Entry | Explanations:
        if isinstance(at, slice):
            return Explanations(self._entries[at], self.labels[at], self._tables, self._like)
        return self._entries[at]

    @property
    def errors(self) -> dict[int, WhenceError]:
        """The rows that could not be explained, by their position."""
        return {i: entry for i, entry in enumerate(self._entries) if isinstance(entry, WhenceError)}

    @cached_property
    def frame(self) -> Any:
        """One row per context: how it ended, distance and bound, what changes, costs before and after, how far it
        can be relied on, the error."""
        return in_kind(self._frame, self._tables)

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return pd.DataFrame([_record(entry) for entry in self._entries], index=self.labels, columns=list(COLUMNS))

    @cached_property
    def contexts(self) -> Any:
        """The contexts found, in the user's columns; rows without one are missing.

        A table of polars has the numbers of the rows as its first column where some are missing.
        """
        found = [None if isinstance(entry, WhenceError) else entry.context for entry in self._entries]
        rows = {i: context for i, context in enumerate(found) if context is not None}
        table = pd.DataFrame(list(rows.values()), index=self.labels[list(rows)]).infer_objects()
        return in_kind(table, self._tables, self._like)

    def __repr__(self) -> str:
        counts = Counter("error" if isinstance(e, WhenceError) else str(e.status) for e in self._entries)
        by_name = sorted(counts.items(), key=lambda pair: (pair[0] == "error", pair[0]))
        told = ", ".join(f"{count} {status}" for status, count in by_name)
        return f"<Explanations of {len(self)} row{'s' * (len(self) != 1)}{': ' * bool(told)}{told}>"

    def _repr_html_(self) -> str:
        return str(self._frame.to_html())


#: The columns of `Explanations.frame`, and what they hold where a row has an error.
COLUMNS: dict[str, Any] = {
    "status": "error",
    "distance": np.nan,
    "bound": np.nan,
    "gap": np.nan,
    "changes": "",
    "cost_decision": np.nan,
    "cost_alternative": np.nan,
    "cost_decision_after": np.nan,
    "cost_alternative_after": np.nan,
    "cost_best_after": np.nan,
    "decision": "",
    "alternative": "",
    "held": np.nan,
    "refits": np.nan,
    "true_share": np.nan,
    "reliable": False,
    "confidence": np.nan,
    "usual": np.nan,
    "rule": "",
    "nodes": 0,
    "seconds": np.nan,
    "error": "",
}
#: Those that tell how far an answer may be relied on, by what it was judged by.
JUDGED = {"worlds": ["true_share", "reliable", "confidence"], "refits": ["held", "refits", "confidence"]}
#: Those that an explanation has as attributes.
SAME = ("status", "distance", "bound", "gap", "confidence", "nodes", "seconds")


def _record(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, WhenceError):
        return {**COLUMNS, "error": str(entry)}
    record = COLUMNS | {name: getattr(entry, name) for name in SAME}
    changes = changes_shown(changes_of(entry.changes), entry.kinds, entry.units, entry.room)
    record["changes"] = "; ".join(f"{one.feature}: {one.from_} -> {one.to}" for one in changes)
    record["decision"], record["alternative"] = entry.decision_text, entry.alternative_text
    for costs, when in ((entry.cost_before, ""), (entry.cost_after, "_after")):
        if costs is not None:
            record |= {f"cost_{plan}{when}": getattr(costs, plan) for plan in ("decision", "alternative", "best")}
    if entry.agreed is not None:
        record |= {"held": entry.agreed.times, "refits": entry.agreed.refits}
    if entry.reliance is not None:
        record["reliable"] = entry.reliable
        if entry.reliance.share is not None:
            record["true_share"] = entry.reliance.share
    if entry.usual is not None:
        record["usual"] = entry.usual
    record["rule"] = "" if entry.rule is None else entry.rule.sentence
    return record
