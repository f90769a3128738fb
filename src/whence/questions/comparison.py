"""The result of a comparison: two contexts, the plans decided in them, and what turned the one into the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.certificate.verify import Verification
from whence.errors import InputError, WhenceError
from whence.questions.result import CHANGED, Told, intact_of
from whence.report.document import scalar
from whence.report.numbers import duration, plain, with_unit
from whence.report.plan_drawings import in_form
from whence.report.reading import document_from
from whence.report.result_pages import Chart, ComparisonDocument, Sheet, Table
from whence.report.svg import Bar, bars
from whence.util.json import to_plain
from whence.util.text import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.policy import Policy

__all__ = ["Comparison"]

#: What a document holds as it is.
SAME = ("same", "turn", "proved", "note", "risk", "cost_unit", "seconds", "form")


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
    #: What both plans are: "quantities", a "route", or "other".
    form: str = "other"
    intact: bool | None = None

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

    @classmethod
    def from_dict(cls, document: Any) -> Comparison:
        """The comparison that :meth:`to_dict` wrote; an InputError where it is none."""
        read = document_from(document, ComparisonDocument, "comparison")
        frame = None
        if read.contributions is not None:
            entries = [(one.feature, one.from_, one.to, one.contribution) for one in read.contributions]
            frame = pd.DataFrame(entries, columns=["feature", "from", "to", "contribution"])
            if [name for name, *_ in entries] != [name for name, *_ in read.shown]:
                raise InputError("The entry 'shown' of the comparison must be about the features that contribute.")
        names = ("plan before", "plan after")
        costs = [[read.costs[name].before, read.costs[name].after] for name in names if name in read.costs]
        if len(costs) < 2 or len(read.plans) < 2:
            raise InputError("The entries 'costs' and 'plans' of the comparison must be about both plans.")
        return cls(
            before=pd.Series(read.before, dtype=object),
            after=pd.Series(read.after, dtype=object),
            plan_before=_plan(read.decided.before, read.form),
            plan_after=_plan(read.decided.after, read.form),
            plan_texts=(read.plans["before"], read.plans["after"]),
            costs=pd.DataFrame(costs, index=list(names), columns=["before", "after"]),
            contributions=frame,
            turning=None if read.turning is None else tuple(read.turning),
            shown=tuple((name, was, to) for name, was, to in read.shown),
            **{name: getattr(read, name) for name in SAME},
            intact=intact_of(document),
        )

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Compare both contexts once more with a fitted `policy`: whether plans, costs and contributions agree.

        Parameters
        ----------
        policy : Policy
            The one that gave the comparison, or one that should be the same.
        prove : bool
            Everything is computed again in any case, the search for the smallest set of changes included; with this,
            `proved` says whether that search came to an end.
        time_limit : float, optional
            Seconds after which to stop with what is known.

        Returns
        -------
        Verification
        """
        from whence.questions.compare import compare

        changed = [CHANGED] if self.intact is False else []
        try:
            again = compare(policy, self.before, self.after, time_limit=time_limit)
        except WhenceError as error:
            return Verification([*changed, f"The contexts cannot be compared by this policy: {error}"])
        proved = (again.same or again.proved) if prove else None
        return Verification([*changed, *self._differences(again)], proved=proved)

    def _differences(self, again: Comparison) -> Iterator[str]:
        costs, here = self.costs.to_numpy(dtype=float), again.costs.to_numpy(dtype=float)
        near = 1e-6 * max(1e-300, float(np.abs(here).max()))
        for when, said, now in zip(("before", "after"), self.plan_texts, again.plan_texts, strict=True):
            if said != now:
                yield f"The plan {when} is {now}. The comparison says {said}."
        if np.abs(costs - here).max() > near:
            yield f"The costs are {here.tolist()}. The comparison says {costs.tolist()}."
        both = [{} if one.contributions is None else _by_feature(one.contributions) for one in (self, again)]
        if set(both[0]) != set(both[1]) and self.contributions is not None and again.contributions is not None:
            yield f"The features that differ are {sorted(both[1])}. The comparison says {sorted(both[0])}."
        for name in sorted(set(both[0]) & set(both[1])):
            if abs(both[0][name] - both[1][name]) > near:
                yield f"{name!r} contributes {both[1][name]:.9g}. The comparison says {both[0][name]:.9g}."
        if self.proved and again.proved and len(self.turning or ()) != len(again.turning or ()):
            yield f"The smallest set of changes is {again.turning}. The comparison says {self.turning}."

    def _document(self) -> dict[str, Any]:
        rows = [] if self.contributions is None else self.contributions.itertuples(index=False)
        return {
            "schema": "whence/comparison/1",
            "text": self.text,
            "before": {str(name): scalar(entry) for name, entry in self.before.items()},
            "after": {str(name): scalar(entry) for name, entry in self.after.items()},
            "plans": {"before": self.plan_texts[0], "after": self.plan_texts[1]},
            "form": self.form,
            "decided": {"before": to_plain(self.plan_before), "after": to_plain(self.plan_after)},
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
            "shown": [list(texts) for texts in self.shown],
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


def _plan(plan: Any, form: str) -> Any:
    try:
        return in_form(plan, form)
    except (TypeError, ValueError):
        wanted = "a list of numbers" if form == "quantities" else "a list of nodes"
        raise InputError(f"The entries 'decided' of the comparison must be {wanted} each.") from None


def _by_feature(contributions: pd.DataFrame) -> dict[str, float]:
    return {str(name): float(amount) for name, _, _, amount in contributions.itertuples(index=False)}


def _signed(amount: float, unit: str) -> str:
    text = plain(amount, 4)
    return with_unit(text if text.startswith("-") or text == "0" else f"+{text}", unit).replace("-", "−", 1)
