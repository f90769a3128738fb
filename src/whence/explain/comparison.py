"""The result of a comparison: two contexts, the plans decided in them, and what turned the one into the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from whence.explain.asking import Told, listed
from whence.plain_values import to_plain
from whence.report.model import scalar
from whence.report.numbers import duration, plain, with_unit
from whence.report.sheets import Chart, Sheet, Table
from whence.report.svg import Bar, bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False)
class Comparison(Told):
    """Two contexts, the plans decided in them, and what turned the one into the other.

    Attributes
    ----------
    before, after : Series
        Both contexts, in the user's units.
    plan_before, plan_after : plan
        What is decided in them.
    same : bool
        Whether it is the same plan, as far as costs can tell.
    costs : DataFrame
        What either plan (rows) costs in either context (columns).
    contributions : DataFrame or None
        One row per feature that differs: feature, from, to, contribution. Contributions are exact Shapley values, in
        the unit of the costs, of what the plan before costs more than the plan after; they add up to `turn`. Where the
        plan stays the same, they are those of its cost. None where they cannot be had, as `note` says.
    turn : float
        By how much the difference of costs, or the cost of the plan that stays, changes from `before` to `after`.
    turning : tuple of str or None
        The smallest set of changes after which the plan after is as good as the plan before; none at all where it was
        as good before. None where the plan stays the same, or where the set was not found.
    proved : bool
        Whether no smaller set does.
    note : str
        What is missing, and why.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 3))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + 20 * X[:, :1])
    >>> found = policy.compare([0.2, 0.5, 0.5], [0.8, 0.4, 0.5])
    >>> found.turning, found.proved
    (('x0',), True)
    >>> bool(np.isclose(found.contributions["contribution"].sum(), found.turn))
    True
    """

    before: pd.Series
    after: pd.Series
    plan_before: Any
    plan_after: Any
    plan_texts: tuple[str, str]
    same: bool
    costs: pd.DataFrame
    contributions: pd.DataFrame | None
    turn: float
    turning: tuple[str, ...] | None
    proved: bool
    note: str
    risk: str
    cost_unit: str
    shown: tuple[tuple[str, str, str], ...]
    seconds: float

    def __repr__(self) -> str:
        how = "same plan" if self.same else "another plan"
        return f"<Comparison {how} turn={self.turn:.6g} turning={self.turning}>"

    # ---- in words --------------------------------------------------------------------------------------

    def _priced(self, amount: float, digits: int = 4) -> str:
        return with_unit(plain(amount, digits), self.cost_unit)

    @property
    def text(self) -> str:
        """Both plans and their costs, what contributed to the turn, and which changes are enough for it."""
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        """Both plans on two lines, and a line for everything else."""
        first, second = self.plan_texts
        plans = f"Before: {first}.\nNow: {'the same plan' if self.same else second}."
        return [plans, *filter(None, [self._turn(), self._smallest(), self._costs(), self.note])]

    def _costs(self) -> str:
        table = self.costs.to_numpy(dtype=float).tolist()
        if self.same:
            return f"{self.risk}: {self._priced(table[0][0])} before, {self._priced(table[0][1])} now."
        when = [
            "{}: {} for the old plan, {} for the new one".format(name, *(self._priced(row[j]) for row in table))
            for j, name in enumerate(("before", "now"))
        ]
        return f"{self.risk}, {when[0]}; {when[1]}."

    def _turn(self) -> str:
        if not self.shown:
            return "Nothing differs between the two contexts."
        if self.contributions is None:
            return ""
        parts = [
            f"{name} ({was} → {to}) {_signed(amount, self.cost_unit)}"
            for (name, was, to), amount in zip(self.shown, self.contributions["contribution"], strict=True)
        ]
        turn = self._priced(self.turn)
        what = (
            f"The cost of the plan has changed by {turn}"
            if self.same
            else f"The new plan has gained {turn} on the old one"
        )
        return f"{what}: {listed(parts)}."

    def _smallest(self) -> str:
        if self.turning is None:
            return ""
        if not self.turning:
            return "The new plan was as good as the old one before."
        names, sure = listed(self.turning), "" if self.proved else " (whether fewer are enough was not settled)"
        if len(self.turning) == 1:
            return f"The change of {names} alone makes the new plan as good as the old one{sure}."
        fewer = "; fewer changes do not" if self.proved else sure
        return f"The changes of {names} together make the new plan as good as the old one{fewer}."

    # ---- for others ------------------------------------------------------------------------------------

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """The contributions as a chart on `ax`; see :func:`whence.plot.contributions`."""
        from whence.plot import contributions as draw

        return draw(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values."""
        rows = [] if self.contributions is None else self.contributions.itertuples(index=False)
        return {
            "schema": "whence/comparison/1",
            "text": self.text,
            "before": {str(name): scalar(entry) for name, entry in self.before.items()},
            "after": {str(name): scalar(entry) for name, entry in self.after.items()},
            "plans": {"before": self.plan_texts[0], "after": self.plan_texts[1]},
            "same": self.same,
            "risk": self.risk,
            "cost_unit": self.cost_unit,
            "costs": {
                plan: dict(zip(("before", "after"), map(to_plain, row), strict=True))
                for plan, row in zip(
                    ("plan before", "plan after"), self.costs.to_numpy(dtype=float).tolist(), strict=True
                )
            },
            "turn": to_plain(self.turn),
            "contributions": None
            if self.contributions is None
            else [
                {"feature": name, "from": scalar(was), "to": scalar(to), "contribution": float(amount)}
                for name, was, to, amount in rows
            ],
            "turning": None if self.turning is None else list(self.turning),
            "proved": self.proved,
            "note": self.note,
            "seconds": to_plain(self.seconds),
        }

    def _sheet(self) -> Sheet:
        tables = []
        charts = []
        if self.contributions is not None and self.shown:
            amounts = self.contributions["contribution"].tolist()
            rows = [[*texts, _signed(x, self.cost_unit)] for texts, x in zip(self.shown, amounts, strict=True)]
            rows.append(["together", "", "", _signed(self.turn, self.cost_unit)])
            tables.append(Table("What every change contributes", ["", "before", "now", "contribution"], rows, {3}))
            drawn = [
                (f"{name}: {was} → {to}", [Bar("a" if x > 0 else "d", "", x, _signed(x, self.cost_unit))])
                for (name, was, to), x in zip(self.shown, amounts, strict=True)
            ]
            charts.append(Chart(bars(drawn, self._turn()), "Exact Shapley values, which add up to the turn."))
        smallest = "" if self.turning is None else "proved" if self.proved else "open"
        certificate = [
            ("contributions", "exact, adding up" if self.contributions is not None else "not computed"),
            ("no smaller set of changes turns it", smallest),
            ("time", duration(self.seconds)),
        ]
        first, *others = self._lines()
        title = "Why another cost?" if self.same else "Why another plan?"
        # On a page the answer comes first, then both plans.
        text = "\n".join([*others, first])
        return Sheet(title, text, charts, tables, [line for line in certificate if line[1]])


def _signed(amount: float, unit: str) -> str:
    text = plain(amount, 4)
    return with_unit(text if text.startswith("-") or text == "0" else f"+{text}", unit).replace("-", "−", 1)
