"""The result of an evaluation: a table, a chart and sentences."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError
from whence.evaluation.baselines import AVERAGE, FORECAST, FORESIGHT
from whence.problems.base import losses
from whence.report.document import QualityEntry, SimpleRule
from whence.report.numbers import plain, with_unit
from whence.report.words import quality_in_words
from whence.risk import CVaR, Expectation, Risk
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.evaluation.offers import Offer

Verdict = Literal["better", "unclear", "worse"]

#: A difference counts where it is larger than this many of its standard errors over the held-out rows.
ERRORS = 2.0
#: Costs that differ by a smaller share are the same number, computed in two ways.
SAME = 1e-9
#: The tail that is shown for everything that was tried.
TAIL = CVaR(0.9)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What decisions cost on rows that they were not learned from.

    Attributes
    ----------
    costs : DataFrame
        One row per held-out row, indexed by fold and row label; one column for everything that was tried.
    begins : DataFrame
        Where the tail of the cost was seen to begin when it was decided, for a risk that looks at a tail.
    policies : tuple of str
        The columns that are policies; the others are baselines.
    risk : Risk
        What the costs are judged by.
    cost_unit : str
        Unit of the costs, "" where the problem names none.
    remarks : tuple of str
        What is worth a word.
    offer : Offer or None
        A forecast that predicts clearly better than the weights of the best policy, with the policy that uses it.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.KNNWeights(k=5)).fit(X, 10 + 20 * X)
    >>> good = wh.evaluate(policy)
    >>> good.frame["prescriptiveness"].round(2).to_dict()
    {'policy': 0.91, 'foresight': 1.0, 'point forecast (policy)': 0.92, 'sample average': 0.0}
    """

    costs: pd.DataFrame
    begins: pd.DataFrame
    policies: tuple[str, ...]
    risk: Risk
    cost_unit: str = ""
    remarks: tuple[str, ...] = ()
    offer: Offer | None = None

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row for everything that was tried: policies first, each group from the least cost on.

        cost
            The mean over the held-out rows of what is minimised in each of them: the expected cost, or the CVaR, which
            is measured by where its tail was seen to begin and how far the cost was beyond that.
        mean, worst_tenth, pooled
            The mean of the costs of all held-out rows, the mean of their worst tenth, and the risk of all of them
            together, as ``Policy.score`` measures it.
        prescriptiveness, spread
            Where the cost stands between that of the sample average (0) and of foresight (1), and the standard
            deviation of that over the folds.
        saves
            By which share the cost is less than that of the sample average.
        verdict
            Against the sample average: "better" or "worse" where the difference is more than twice its standard error
            over the held-out rows, otherwise "unclear"; empty for the two that others are measured by.
        """
        rows = {name: self._row(name) for name in self.costs.columns}
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.insert(0, "kind", ["policy" if name in self.policies else "baseline" for name in table.index])
        return table.sort_values(["kind", "cost"], ascending=[False, True], kind="stable")

    @cached_property
    def folds(self) -> pd.DataFrame:
        """The cost of everything that was tried in each fold alone."""
        of_row = self.costs.index.get_level_values("fold").to_numpy()
        numbers = sorted(set(of_row.tolist()))
        each = {number: self._totals(of_row == number) for number in numbers}
        return pd.DataFrame.from_dict(each, orient="index").rename_axis("fold")

    @cached_property
    def totals(self) -> dict[str, float]:
        """The cost of everything that was tried, over all held-out rows."""
        return self._totals(np.ones(len(self.costs), dtype=np.bool_))

    def _totals(self, rows: NDArray[np.bool_]) -> dict[str, float]:
        found = {}
        for name in self.costs.columns:
            parts = self._parts(name)
            costs = self.costs[name].to_numpy()[rows]
            found[str(name)] = self._of(costs, self.risk) if parts is None else float(parts[rows].mean())
        return found

    def _parts(self, name: str) -> Floats | None:
        """What each held-out row counts for; None for a risk that is no mean over rows."""
        return losses(self.risk, self.costs[name].to_numpy(), self.begins[name].to_numpy())

    def _row(self, name: str) -> dict[str, Any]:
        costs = self.costs[name].to_numpy()
        total = self.totals
        placed = _placed(total[name], total[AVERAGE], total[FORESIGHT])
        each = [_placed(row[name], row[AVERAGE], row[FORESIGHT]) for _, row in self.folds.iterrows()]
        known = [value for value in each if np.isfinite(value)]
        average = total[AVERAGE]
        return {
            "cost": total[name],
            "mean": self._of(costs, Expectation()),
            "worst_tenth": self._of(costs, TAIL),
            "pooled": self._of(costs, self.risk),
            "prescriptiveness": round(placed, 4),
            "spread": round(float(np.std(known, ddof=1)), 4) if len(known) > 1 else np.nan,
            "saves": round((average - total[name]) / abs(average), 4) if abs(average) > 0 else np.nan,
            "verdict": "" if name in (AVERAGE, FORESIGHT) else self.compared(name, AVERAGE),
        }

    def _of(self, costs: Floats, risk: Risk) -> float:
        return float(risk.of(costs, np.full(costs.size, 1.0 / costs.size)))

    def compared(self, name: str, other: str) -> Verdict:
        """Whether `name` costs less than `other`, as far as the held-out rows can tell: both are judged on the same."""
        difference, error = self.difference(name, other)
        if abs(difference) <= ERRORS * error:
            return "unclear"
        return "better" if difference < 0 else "worse"

    def difference(self, name: str, other: str) -> tuple[float, float]:
        """Return by how much `name` costs more than `other`, and the standard error of that."""
        self._known(name)
        self._known(other)
        first, second = self.totals[name], self.totals[other]
        difference = 0.0 if abs(first - second) <= SAME * max(abs(first), abs(second)) else first - second
        parts = self._parts(name), self._parts(other)
        if parts[0] is not None and parts[1] is not None:
            apart = parts[0] - parts[1]
        else:
            # A risk that is no mean over rows is compared fold by fold.
            apart = (self.folds[name] - self.folds[other]).to_numpy()
        if apart.size < 2:
            return difference, np.inf
        return difference, float(np.std(apart, ddof=1) / np.sqrt(apart.size))

    def quality(self, name: str) -> QualityEntry:
        """Return what reports say of a policy."""
        self._known(name)
        row, simple = self._row(name), self._best_simple()
        known = None
        if simple is not None:
            known = SimpleRule(name=simple, cost=self.totals[simple], verdict=self.compared(name, simple))
        return QualityEntry(
            rows=len(self.costs),
            folds=len(self.folds),
            cost=self.totals[name],
            average=self.totals[AVERAGE],
            foresight=self.totals[FORESIGHT],
            prescriptiveness=_plain(row["prescriptiveness"]),
            spread=_plain(row["spread"]),
            verdict=self.compared(name, AVERAGE),
            simple=known,
        )

    def _best_simple(self) -> str | None:
        """Return the cheapest of the averages per category, if any."""
        names = [name for name in self.frame.index if name.startswith("average per ") and name not in self.policies]
        return names[0] if names else None

    def _known(self, name: str) -> None:
        if name not in self.costs.columns:
            known = ", ".join(map(repr, self.costs.columns))
            raise InputError(f"'name' must be one of {known}. Got {name!r} instead.")

    # ---- in words --------------------------------------------------------------------------------------------------

    @property
    def best(self) -> str:
        """The policy of least cost."""
        return str(self.frame.index[0])

    @property
    def sentence(self) -> str:
        """How good the best policy is, and a warning for each that does not beat the sample average."""
        best = self.best
        named = f"{best!r}" if len(self.policies) > 1 else "The policy"
        said = [quality_in_words(self.quality(best), self.risk.words, self.cost_unit, named)]
        forecast = f"{FORECAST} ({best})"
        if forecast in self.costs.columns and self.compared(best, forecast) == "worse":
            cost = with_unit(plain(self.totals[forecast], 4), self.cost_unit)
            said.append(f"Its own point forecast alone would cost less: {cost}.")
        for name in self.policies:
            if name != best and self.frame.loc[name, "verdict"] != "better":
                said.append(f"Warning: {name!r} is not clearly better than the sample average.")
        said += [] if self.offer is None else [self.offer.sentence]
        return "\n".join([*said, *self.remarks])

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        rows, folds = len(self.costs), len(self.folds)
        return f"<Evaluation of {', '.join(map(repr, self.policies))} on {rows} held-out rows in {folds} folds>"

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self.sentence.split("\n"))
        return f"{self.frame.to_html(float_format='{:.4g}'.format)}{lines}"

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw costs as bars, policies and baselines apart, with the cost of every fold as a dot.

        It needs matplotlib: ``pip install whence[plot]``.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure where it is left out.
        """
        from whence.plot.result_charts import evaluation

        return evaluation(self.frame, self.folds, self.risk.words, self.cost_unit, ax=ax)


def _placed(cost: float, average: float, foresight: float) -> float:
    """Return where a cost stands between that of the sample average (0) and that of foresight (1)."""
    room = average - foresight
    return float((average - cost) / room) if room > SAME * max(abs(average), abs(foresight)) else np.nan


def _plain(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
