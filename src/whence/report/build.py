"""From an explanation to its report: everything that is shown of it, computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from msgspec import structs, to_builtins

from whence.problems.plan_text import ShownPlans
from whence.report.document import (
    NOT_ASKED,
    SCHEMA,
    Change,
    CostPair,
    Finding,
    Fingerprints,
    Observations,
    Plans,
    Report,
    scalar,
)
from whence.report.fingerprint import digest, versions
from whence.report.observations import KEPT, most_moved, spread_of
from whence.report.plan_drawings import map_of
from whence.report.reliance import held_of, reliance_of
from whence.report.words import forecast_of, sentences, shown_of
from whence.util.json import to_plain

if TYPE_CHECKING:
    from whence.explain.explanation import Costs, Explanation
    from whence.explain.recheck import Source

#: What the source of an explanation tells, or the report that was made of it.
SAME = ("risk", "risk_words", "kinds", "units", "cost_unit", "outcomes")
#: The options of explain that say how hard to try, not what is asked.
EFFORT = ("engine", "time_limit", "node_limit", "memory_limit", "threads", "known", "own_worlds")


def report_of(explanation: Explanation) -> Report:
    """Return what is to be shown of `explanation`, without fingerprints; use ``explanation.report``, which keeps it.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> report = report_of(policy.explain([0.2], instead=[20.0]))
    >>> report.plans.form, report.plans.parts, report.plans.decision
    ('quantities', ['y0'], [10.0])
    """
    source, after, inner = explanation.source, explanation.cost_after, explanation.unrestricted
    # What only the source knows was written down before it was let go.
    written = explanation.written if source is None else None
    report = Report(
        schema=cast(Any, SCHEMA),
        **{name: _plain(getattr(explanation, name)) for name in Finding.__struct_fields__},
        **{name: getattr(explanation, name) for name in SAME},
        text="",
        initial=_values(explanation.initial),
        context=None if explanation.context is None else _values(explanation.context),
        changes=changes_of(explanation.changes),
        distance=to_plain(float(explanation.distance)),
        bound=to_plain(float(explanation.bound)),
        cost_before=_costs(explanation.cost_before),
        cost_after=None if after is None else _costs(after),
        plans=written.plans if written else _plans(explanation),
        room={name: [float(low), float(high)] for name, (low, high) in explanation.room.items()},
        ranges=written.ranges if written else {} if source is None else _ranges(explanation, source),
        observations=_observations(explanation),
        margin=list(explanation.margin) if any(explanation.margin) else None,
        usual=explanation.usual,
        reliance=written.reliance if written else reliance_of(explanation),
        nearest=None if explanation.nearest is None else explanation.nearest.report,
        held=held_of(explanation.agreed),
        region=written.region if written else explanation.rule,
        quality=written.quality if written else None if source is None else source.quality,
        forecast=forecast_of(explanation),
        unrestricted=None if inner is None else inner.report,
        question=dict(explanation.asked),
        versions=written.versions if written else versions(),
        spread=spread_of(explanation),
    )
    shown = shown_of(report)
    return structs.replace(report, shown=shown, text=sentences(report, shown))


def document_of(explanation: Explanation) -> Report:
    """Return the report with its fingerprints: what is written to a file."""
    report, source, written = explanation.report, explanation.source, explanation.written
    known = written.fingerprints if written is not None else Fingerprints()
    if explanation.intact is False:
        # What was changed must not become sound by being read and written once more.
        return structs.replace(report, fingerprints=known)
    if source is not None:
        known = Fingerprints(**source.fingerprints())
    plain = to_builtins(report)
    known = structs.replace(known, question=question_digest(plain) if report.question else "", document="")
    plain["fingerprints"] = to_builtins(known)
    return structs.replace(report, fingerprints=structs.replace(known, document=document_digest(plain)))


def document_digest(document: Any) -> str:
    """Return the fingerprint of a whole document, apart from the entry that holds it."""
    known = document.get("fingerprints")
    others = {name: value for name, value in known.items() if name != "document"} if isinstance(known, dict) else {}
    return digest({**document, "fingerprints": others})


def question_digest(document: Any) -> str:
    """Return the fingerprint of a document's question: context, plans, risk, restrictions and all other options."""
    asked = {name: value for name, value in document["question"].items() if name not in EFFORT}
    plans = {name: document["plans"][name] for name in ("decision", "alternative")}
    return digest({"context": document["initial"], "plans": plans, "risk": document["risk"], "asked": asked})


def changes_of(changes: pd.DataFrame) -> list[Change]:
    """Return the features that change, as a document holds them."""
    return [
        Change(feature=str(feature), from_=scalar(was), to=scalar(to), distance=float(distance))
        for feature, was, to, distance in changes.itertuples(index=False)
    ]


def _plain(value: Any) -> Any:
    """Return a plain value; only the default itself is left out of a document, not another 0.0."""
    plain = to_plain(value)
    return NOT_ASKED if isinstance(plain, float) and not plain else plain


def _values(row: pd.Series) -> dict[str, Any]:
    return {str(name): scalar(value) for name, value in row.items()}


def _costs(costs: Costs) -> CostPair:
    best = None if costs.best is None else float(costs.best)
    return CostPair(decision=float(costs.decision), alternative=float(costs.alternative), best=best)


def _plans(explanation: Explanation) -> Plans:
    """Return both plans in a form that can be drawn."""
    source, pair = explanation.source, (explanation.decision, explanation.alternative)
    problem = None if source is None else source.problem
    texts: dict[str, Any] = {
        "decision_text": explanation.decision_text,
        "alternative_text": explanation.alternative_text,
    }
    shown = ShownPlans("other", *pair) if problem is None else problem.shown(*pair, explanation.outcomes)
    best = explanation.plan_after
    if problem is not None and best is not None and explanation.status != "already":
        again = problem.shown(explanation.decision, best, explanation.outcomes)
        texts["after"] = to_plain(again.alternative) if again.form == shown.form else None
        texts["after_text"] = problem.describe(best, explanation.outcomes) or str(best)
    return Plans(
        form=shown.form,
        parts=shown.parts,
        decision=to_plain(shown.decision),
        alternative=to_plain(shown.alternative),
        map=None if shown.map is None else map_of(shown.map),
        **texts,
    )


def _ranges(explanation: Explanation, source: Source) -> dict[str, list[float]]:
    """Return smallest and largest past value of the numeric features that change."""
    kinds, history = explanation.kinds, source.X
    numeric = [
        str(name)
        for name in explanation.changes["feature"]
        if kinds.get(str(name)) in ("continuous", "discrete")
        and str(name) in history.columns
        and pd.api.types.is_numeric_dtype(history[str(name)].dtype)
    ]
    return {name: [float(history[name].min()), float(history[name].max())] for name in numeric}


def _observations(explanation: Explanation) -> Observations:
    """Return weights and costs of the observations that have a weight: most have none, and need no place."""
    before, after = explanation.weights_before, explanation.weights_after
    rows = np.flatnonzero(before > 0 if after is None else (before > 0) | (after > 0))
    gaining, losing = most_moved(explanation, KEPT)

    def entries(array: Any) -> Any:
        return None if array is None else array[rows].tolist()

    return Observations(
        count=before.size,
        rows=rows.tolist(),
        weights_before=entries(before),
        weights_after=entries(after),
        costs_decision=entries(explanation.costs_decision),
        costs_alternative=entries(explanation.costs_alternative),
        gaining=gaining,
        losing=losing,
    )
