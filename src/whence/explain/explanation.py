"""The result: the nearest context in which the alternative would have been better, and how sure that is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pandas as pd
from msgspec import field, json, structs, to_builtins

from whence.checks import POSITIVE, at_least, one_of, whole
from whence.engines import has_part
from whence.errors import InputError
from whence.explain.forecast_policy import Forecasted
from whence.explain.recheck import Source
from whence.explain.robust import WITHIN, Held, Refitted, Reliance
from whence.explain.rule import region_of
from whence.problems.base import DecisionProblem, cost_unit_of
from whence.problems.plan_sets import PlanSet
from whence.question import Question
from whence.report.build import document_digest, document_of, report_of
from whence.report.document import Finding, QualityEntry, RegionEntry, Report
from whence.report.plan_drawings import plan_of
from whence.report.reading import loaded, report_from
from whence.report.words import wrapped
from whence.util.aliases import Floats
from whence.util.files import write_text
from whence.util.json import number_from_plain
from whence.weights.refits import RefitKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from whence.certificate import Verification
    from whence.policy import Policy

#: A feature that changes: its name, its values in both contexts, and its distance.
ChangedFeature: TypeAlias = tuple[str, Any, Any, float]

#: One entry per past observation each, and what stands for those without any weight.
SILENT = {"weights_before": 0.0, "weights_after": 0.0, "costs_decision": np.nan, "costs_alternative": np.nan}


class Costs(tuple[float, float]):
    """Cost (or CVaR) of the explained decision and of the alternative in one context, as a pair.

    Attributes
    ----------
    decision, alternative : float
        The pair.
    best : float or None
        Cost of what the policy itself plans there; None where that is not known.

    Examples
    --------
    >>> decision, alternative = costs = Costs(12.0, 10.5, best=9.0)
    >>> costs.alternative - costs.best, costs
    (1.5, Costs(decision=12.0, alternative=10.5, best=9.0))
    """

    best: float | None

    def __new__(cls, decision: float, alternative: float, best: float | None = None) -> Self:
        own = super().__new__(cls, (decision, alternative))
        own.best = best
        return own

    def __getnewargs__(self) -> tuple[float, float, float | None]:
        return self[0], self[1], self.best

    @property
    def decision(self) -> float:
        """Of the explained decision."""
        return self[0]

    @property
    def alternative(self) -> float:
        """Of the alternative."""
        return self[1]

    def with_alternative(self, cost: float) -> Costs:
        """Return the same with another cost of the alternative."""
        return Costs(self.decision, cost, self.best)

    def __repr__(self) -> str:
        return f"Costs(decision={self[0]!r}, alternative={self[1]!r}, best={self.best!r})"


class Explanation(Finding, frozen=True, kw_only=True, eq=False, dict=True, weakref=True):
    """Answer to "why not my plan?".

    What it has in common with its document stands in :class:`~whence.report.document.Finding`. Text, report, notebook,
    page and JSON are views of its `report`; `source`, `question` and `plans` are its hold on the policy.

    Attributes
    ----------
    status : {"optimal", "already", "none", "time_limit", "interrupted"}
        "optimal": the nearest context, proved. "already": the criterion holds in the initial context. "none":
        proved that there is no such context. "time_limit", "interrupted": the best found, if any, and a bound.
    kind : {"relative", "absolute"}
        Whether the alternative had to be better than the decision, or optimal.
    context : Series or None
        The nearest context, in the user's units.
    changes : DataFrame
        One row per feature that changes: feature, from, to, distance.
    distance, bound : float
        Distance found, and proved lower bound on the true optimum.
    cost_before, cost_after : Costs
        Of the decision and the alternative in the initial context and in `context`; `best` is the cost of what the
        policy itself plans there.
    plan_after : plan
        What the policy itself would plan in `context`.
    weights_before, weights_after : ndarray of shape (n,)
        Which past observations speak in either context.
    costs_decision, costs_alternative : ndarray of shape (n,)
        What either plan costs under each past observation. Where the explanation is a light one (see :meth:`light`),
        only under those that have a weight in one of the two contexts, and NaN under the others.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> why = policy.explain([0.2], instead=[20.0])
    >>> why
    <Explanation relative optimal distance=0.300001 bound=0.300001>
    >>> again = wh.Explanation.from_json(why.to_json())
    >>> str(again) == str(why)
    True
    """

    initial: pd.Series
    context: pd.Series | None = None
    #: The rows of `changes`.
    changed: Sequence[ChangedFeature] = ()
    distance: float
    bound: float
    decision: Any
    alternative: Any
    cost_before: Costs
    #: What both plans cost in `context`.
    paid_after: Costs | None = None
    weights_before: Floats
    weights_after: Floats | None = None
    #: By which share of the decision's cost, and by which amount, the alternative had to cost less than the decision.
    margin: tuple[float, float] = (0.0, 0.0)
    #: For continuous features that change: between these two values (in the user's units) the verdict stays the same.
    room: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: Cost of either plan under each past observation.
    costs_decision: Floats | None = None
    costs_alternative: Floats | None = None
    #: The explanation without the user's restrictions, where the restricted question has none.
    unrestricted: Explanation | None = None
    #: Where it had to hold in refits: in how many it does, and what was tried.
    reliance: Reliance | None = None
    #: Then also the nearest explanation, which had to hold in this fit alone; None where it is this one.
    nearest: Explanation | None = None
    #: In how many refits it holds, where that was found out.
    agreed: Held | None = None
    #: The box of contexts around it in which it stays true, where that was found out (see `region`).
    rule: RegionEntry | None = None
    #: Where the policy forecasts: the forecasts in both contexts, and what the plans cost in the one found.
    forecast: Forecasted | None = None
    #: The set of plans that was asked about; None in a light explanation.
    plans: PlanSet | None = None
    #: The question in plain values, apart from context and plans: what may be asked again.
    asked: dict[str, Any] = field(default_factory=dict)
    #: The parts of the policy that the explanation speaks of; None in a light one.
    source: Source | None = None
    #: What the engine was asked; None in a light one.
    question: Question | None = None
    #: In a light one: the report that was made when the source was at hand.
    written: Report | None = None
    #: Whether the file from which it was read is as it was written; None where that is not known.
    intact: bool | None = None

    @cached_property
    def changes(self) -> pd.DataFrame:
        """One row per feature that changes: feature, from, to, distance."""
        # A table takes as long to make as many a search, and not everybody looks at it.
        return pd.DataFrame(list(self.changed), columns=["feature", "from", "to", "distance"])

    @cached_property
    def report(self) -> Report:
        """All that is shown of the explanation, as plain data: see :mod:`whence.report.document`."""
        return report_of(self)

    @cached_property
    def _there(self) -> tuple[Any, float | None]:
        """The policy's own plan in the context found and its cost; nothing where that is not known."""
        if self.source is None and self.written is not None and self.written.cost_after is not None:
            return plan_of(self.written.plans, "after"), self.written.cost_after.best
        if self.source is None or self.context is None or self.weights_after is None:
            return None, None
        return self.source.decided(self.context, self.weights_after)

    @property
    def plan_after(self) -> Any:
        """What the policy itself would plan in the context found; None where there is none."""
        return self._there[0]

    @property
    def cost_after(self) -> Costs | None:
        """What both plans, and the policy's own plan, cost in the context found."""
        return None if self.paid_after is None else Costs(*self.paid_after, best=self._there[1])

    # ---- what the source, or the report that was made of it, tells ---------------------------------------

    @property
    def saving(self) -> tuple[float, float]:
        """Share of the decision's cost, and amount, by which the plan, or the best plan of a set, must cost less."""
        share, amount = self.margin
        return (share if self.plans is None else self.plans.share_below(share)), amount

    @property
    def risk(self) -> str:
        """What is minimised, such as "expected cost"."""
        return self.source.risk.name if self.source else self.written.risk if self.written else "cost"

    @property
    def risk_words(self) -> str:
        """What is minimised, at the beginning of a sentence and with the meaning of its name."""
        return self.source.risk.words if self.source else self.written.risk_words if self.written else "Cost"

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of every feature: "continuous", "discrete", "categorical" or "binary"."""
        return self.source.schema.kinds() if self.source else {**self.written.kinds} if self.written else {}

    @property
    def units(self) -> dict[str, str]:
        """Units of the features that have one."""
        return self.source.schema.units() if self.source else {**self.written.units} if self.written else {}

    @property
    def cost_unit(self) -> str:
        """Unit of the costs, "" where the problem names none."""
        return cost_unit_of(self.source.problem) if self.source else self.written.cost_unit if self.written else ""

    @property
    def outcomes(self) -> list[str]:
        """Names of the uncertain quantities."""
        return list(self.source.outcomes if self.source else self.written.outcomes if self.written else ())

    @property
    def decision_text(self) -> str:
        """The explained plan as readable text."""
        return self.written.plans.decision_text if self.written else self._described(self.decision)

    @property
    def alternative_text(self) -> str:
        """The alternative as readable text."""
        return self.written.plans.alternative_text if self.written else self._described(self.alternative)

    def _described(self, plan: Any) -> str:
        text = self.source.problem.describe(plan, self.source.outcomes) if self.source else ""
        return text or str(plan)

    @property
    def history(self) -> pd.DataFrame | None:
        """The past contexts; None in a light explanation."""
        return self.source.X if self.source else None

    @property
    def problem(self) -> DecisionProblem | None:
        """What is decided; None in a light explanation."""
        return self.source.problem if self.source else None

    # ---- the answer --------------------------------------------------------------------------------------

    @property
    def gap(self) -> float:
        """Distance minus bound: 0 where the answer is proved."""
        return 0.0 if self.distance == self.bound else self.distance - self.bound

    @property
    def found(self) -> bool:
        """Whether there is a context to show."""
        return self.context is not None

    def __str__(self) -> str:
        return wrapped(self.report.text)

    def __repr__(self) -> str:
        return f"<Explanation {self.kind} {self.status} distance={self.distance:.6g} bound={self.bound:.6g}>"

    def _repr_html_(self) -> str:
        from whence.report.html import fragment

        return fragment(self)

    def to_html(
        self, path: Any, *, title: str = "Why not my plan?", question: str = "", policy: Policy | None = None
    ) -> None:
        """Write a self-contained report to `path`, under `title` and after a sentence that says what was asked.

        With the fitted `policy`, it also shows which plan is best along each feature.
        """
        from whence.report.html import write

        write(self.with_rule(nearest=True), path, title=title, question=question, policy=policy)

    def plot(self) -> Figure:
        """Return a matplotlib figure of changes, plans, costs, outcomes and observations (:mod:`whence.plot`).

        The rule is found out where it is not known yet, and drawn with the changes. Matplotlib is needed for it:
        ``pip install whence[plot]``.
        """
        from whence.plot import overview

        return overview(self.with_rule())

    def light(self) -> Explanation:
        """Return a copy without its `source` (model, history and problem), cheap to keep, to pickle and to send.

        It prints, plots and reports the same, and is what :meth:`from_dict` gives. The costs of observations without
        any weight in either context are left out (NaN).
        """
        if self.source is None and self.written is not None:
            return self
        written = document_of(self)
        inner = None if self.unrestricted is None else self.unrestricted.light()
        near = None if self.nearest is None else self.nearest.light()
        gone: dict[str, Any] = {"source": None, "question": None, "plans": None}
        return structs.replace(self, **arrays_of(written), **gone, written=written, unrestricted=inner, nearest=near)

    # ---- how far it can be relied on -----------------------------------------------------------------------

    @property
    def reliable(self) -> bool:
        """Whether it may be relied on: as large a share of such answers is true in the world as was asked for.

        Besides, the alternative must be cheaper by `least_gain`, and the context must lie inside the history. False
        where no `holds` was asked for, or only that of refits, which tell what is stable and not what is true.
        """
        shown = self.report.shown
        return shown is not None and shown.reliable

    def held(self, refits: int = 20, kind: RefitKind | None = None, within: float = WITHIN) -> Held:
        """Return in how many refits of the policy's weights the explanation holds: (times, refits).

        Where no context was found there is nothing to hold, and no refit is asked: (0, 0), as its `sentence` says.
        Of a set of plans, it holds in a refit where some plan of the set does, not only the one that is named.

        Parameters
        ----------
        refits : int
            How many refits to ask. They are made once and kept with the policy.
        kind : {"seed", "bootstrap"}, optional
            Fitted with other random numbers, or on data drawn anew; the former where the weights have any.
        within : float
            For an absolute explanation: by which share of the best plan's cost there the alternative may cost more.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> forest = wh.ForestWeights(n_trees=20, random_state=0)
        >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), forest).fit(X, 10 + 20 * X)
        >>> times, refits = policy.explain([0.2], instead=[20.0], confidence=3).held()
        >>> times > 15, refits
        (True, 20)
        """
        whole(1).check("refits", refits)
        one_of("seed", "bootstrap", None).check("kind", kind)
        at_least(0).check("within", within)
        if self.context is None:
            return Held(0, 0)
        found = Refitted(self._source("refitted"), kind).held(self, range(int(refits)), within)
        assert found is not None
        return found

    @cached_property
    def usual(self) -> float | None:
        """The share of the past contexts that are not more usual than the one found; None where there is none."""
        if self.written is not None or self.context is None or self.source is None:
            return None if self.written is None else self.written.usual
        return self.source.usual(self.context)

    def region(self, time_limit: float | None = 5.0) -> RegionEntry:
        """Return the largest box of contexts around the explanation in which it stays true, as a rule.

        Of a set of plans, it is about the plan that is named as `alternative`. Where no context was found, none is in
        it, and its sentence says so.

        Parameters
        ----------
        time_limit : float or None
            Seconds after which to stop with what is known; the region then says that it may be larger.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> forest = wh.ForestWeights(n_trees=20, random_state=0)
        >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), forest).fit(X, 10 + 20 * X)
        >>> print(policy.explain([0.2], instead=[20.0]).region())
        Your plan is better whenever x0 is at least 0.255: 75 % of past contexts.
        """
        POSITIVE.or_none().check("time_limit", time_limit)
        if self.context is None:
            why = "there is no such context" if self.status == "none" else "no such context was found in time"
            return RegionEntry.none(why, maximal=self.status == "none")
        source = self._source("grown into a region")
        if self.question is None:
            raise InputError(f"An explanation without its question has no region; its status is {self.status!r}.")
        if not has_part(source.weights, "region", self.question.claim):
            kind = type(source.weights).__name__
            raise InputError(f"A region needs weights made of trees or of neighbours. Got {kind} instead.")
        return region_of(self, time_limit)

    def with_quality(self, quality: QualityEntry | None) -> Explanation:
        """Return a copy whose report says how good the policy is, where that is known and this is no light one."""
        if quality is None or self.source is None:
            return self
        return structs.replace(self, source=dataclasses.replace(self.source, quality=quality))

    def with_rule(self, time_limit: float | None = 2.0, *, nearest: bool = False) -> Explanation:
        """Return a copy that tells its rule in texts, reports and documents; itself where there is none.

        Parameters
        ----------
        time_limit : float or None
            Seconds after which to stop with what is known.
        nearest : bool
            Whether to find out that of the `nearest` explanation as well, where that is another one.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> forest = wh.ForestWeights(n_trees=20, random_state=0)
        >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), forest).fit(X, 10 + 20 * X)
        >>> why = policy.explain([0.2], instead=[20.0]).with_rule()
        >>> why.rule.share > 0.5
        True
        """
        if nearest and self.nearest is not None:
            return structs.replace(self.with_rule(time_limit), nearest=self.nearest.with_rule(time_limit))
        source = self.source
        known = self.rule is not None or self.context is None or self.question is None
        if known or source is None or not source.weights.capabilities.made_of_trees:
            return self
        return structs.replace(self, rule=self.region(time_limit))

    def _source(self, what: str) -> Source:
        if self.source is None:
            raise InputError(f"An explanation that was saved or sent cannot be {what}: ask the policy again.")
        return self.source

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Check the explanation against `policy`: weights, costs, distance and criterion are computed again.

        Parameters
        ----------
        policy : Policy
            Fitted: the one that gave the explanation, or one that should be the same.
        prove : bool
            Whether to ask the same question once more, so that status and bound are proved again as well.
        time_limit : float, optional
            Seconds for that search.

        Returns
        -------
        Verification
            True where everything agrees; otherwise its `differences` say what does not, one sentence each.

        Examples
        --------
        >>> import whence as wh
        >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
        >>> why = wh.Explanation.from_json(policy.explain([0.2], instead=[20.0]).to_json())
        >>> why.verify(policy).agrees
        True
        >>> print(why.verify(policy.fit([[0.0], [2.0]], [[10.0], [20.0]])).differences[0])
        The history is not the one behind the explanation.
        """
        from whence.certificate import verify

        return verify(self, policy, prove=prove, time_limit=time_limit)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values: strict JSON, by the schema "whence/explanation/1".

        Infinity is the text "Infinity", a missing value None. It holds everything needed to print, plot and
        report the explanation again; see :meth:`from_dict`.
        """
        document: dict[str, Any] = to_builtins(document_of(self))
        return document

    def to_json(self, path: Any = None, indent: int | None = None) -> str | None:
        """Return :meth:`to_dict` as JSON text, or write it to `path` in one go."""
        whole(-1).or_none().check("indent", indent)
        encoded = json.encode(document_of(self))
        text = (encoded if indent is None else json.format(encoded, indent=indent)).decode()
        if path is None:
            return text
        write_text(path, f"{text}\n", "an explanation")
        return None

    @classmethod
    def from_dict(cls, document: Any) -> Explanation:
        """Return the explanation that :meth:`to_dict` wrote, in its :meth:`light` form; refuse anything else."""
        report = report_from(document)
        claimed = (document.get("fingerprints") or {}).get("document")
        intact = None if claimed is None else claimed == document_digest(document)
        return structs.replace(cls._of(report), asked=report.question, intact=intact)

    @classmethod
    def from_json(cls, source: Any) -> Explanation:
        """Return the explanation in a JSON text or in the file of that path; an InputError where there is none."""
        return cls.from_dict(loaded(source))

    @classmethod
    def _of(cls, report: Report) -> Explanation:
        after, inner = report.cost_after, report.unrestricted
        return cls(
            **{name: getattr(report, name) for name in Finding.__struct_fields__},
            **arrays_of(report),
            initial=_series(report.initial),
            context=None if report.context is None else _series(report.context),
            changed=[(one.feature, one.from_, one.to, one.distance) for one in report.changes],
            distance=number_from_plain(report.distance),
            bound=number_from_plain(report.bound),
            decision=plan_of(report.plans, "decision"),
            alternative=plan_of(report.plans, "alternative"),
            cost_before=Costs(*structs.astuple(report.cost_before)),
            paid_after=None if after is None else Costs(*structs.astuple(after)),
            room={name: (low, high) for name, (low, high) in report.room.items()},
            margin=(0.0, 0.0) if report.margin is None else (report.margin[0], report.margin[1]),
            unrestricted=None if inner is None else cls._of(inner),
            reliance=None if report.reliance is None else Reliance.of_entry(report.reliance),
            nearest=None if report.nearest is None else cls._of(report.nearest),
            agreed=None if report.held is None else Held(report.held.times, report.held.refits),
            rule=report.region,
            forecast=None if report.forecast is None else Forecasted.of_entry(report.forecast),
            written=report,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # A forest and a history would travel with every explanation otherwise; weights and costs are in the report.
        own = self.light() if self.source else self
        state = structs.asdict(own)
        return _restored, (state if own.written is None else {n: v for n, v in state.items() if n not in SILENT},)


def _restored(state: dict[str, Any]) -> Explanation:
    """Return an explanation as it was pickled."""
    return Explanation(**state, **(arrays_of(state["written"]) if state["written"] else {}))


def arrays_of(report: Report) -> dict[str, Any]:
    """Return weights and costs of all observations; those that the report leaves out weigh 0 and cost NaN."""
    found = report.observations
    arrays: dict[str, Any] = {}
    for name, silent in SILENT.items():
        arrays[name] = numbers = getattr(found, name)
        if numbers is not None:
            arrays[name] = np.full(found.count, silent)
            arrays[name][found.rows] = numbers
    return arrays


def _series(values: Mapping[str, Any]) -> pd.Series:
    return pd.Series(list(values.values()), index=list(values), dtype=object)
