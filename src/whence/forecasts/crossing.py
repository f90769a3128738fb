"""The nearest context in which a forecast crosses a value: the result, confirmed by the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from json import dumps
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd
from msgspec import field, structs, to_builtins

from whence.certificate import Verification
from whence.claims.forecast_costs import ForecastBetween
from whence.errors import InputError, InternalError
from whence.explain.ask import SearchRequest
from whence.explain.build_question import Subject, change_limit, space_of
from whence.explain.explanation import ChangedFeature
from whence.explain.pipeline import Inquiry
from whence.explain.recheck import distance_of
from whence.features.relations import relation_texts
from whence.features.space import ChangeLimit
from whence.forecasts.sources import AskedForecast
from whence.models.tree_arrays import Link
from whence.question import Answer, Limits, Question
from whence.questions.result import CHANGED, intact_of
from whence.report import result_pages as words
from whence.report.build import changes_of
from whence.report.document import scalar
from whence.report.fingerprint import digest
from whence.report.reading import document_from, loaded
from whence.report.result_pages import CrossingDocument, CrossingFinding
from whence.report.words import wrapped
from whence.settings import SearchSettings
from whence.util.aliases import Floats
from whence.util.files import write_text
from whence.util.json import number_from_plain, to_plain
from whence.weights import InputMap

#: Coordinates and distances may differ by this much between the search and the context it leads to.
SLACK = 1e-6


class Crossing(CrossingFinding, frozen=True, kw_only=True, eq=False, dict=True):
    """Answer to "when would the forecast cross this value?".

    Attributes
    ----------
    status : {"optimal", "already", "none", "time_limit", "interrupted"}
        "optimal": the nearest context, proved. "already": the forecast is there as it is. "none": proved that there is
        no such context. "time_limit", "interrupted": the best found, if any, and a bound.
    context : Series or None
        The nearest context, in the user's units.
    changes : DataFrame
        One row per feature that changes: feature, from, to, distance.
    distance, bound : float
        Distance found, and proved lower bound on the true optimum.
    between : pair of float
        Where the forecast had to be; infinite where there was no such limit.
    forecast_before, forecast_after : float
        The model's own forecast in the initial context and in `context`.
    """

    initial: pd.Series
    context: pd.Series | None = None
    #: The rows of `changes`.
    changed: Sequence[ChangedFeature] = ()
    distance: float
    bound: float
    between: tuple[float, float]
    #: For continuous features that change: between these two values the forecast stays the same.
    room: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: The answer without the user's restrictions, where there is none with them.
    unrestricted: Crossing | None = None
    #: What was fixed and bounded.
    asked: dict[str, Any] = field(default_factory=dict)
    #: Whether the document from which it was read is as it was written; None where it was not read from one.
    intact: bool | None = None

    @cached_property
    def changes(self) -> pd.DataFrame:
        """One row per feature that changes: feature, from, to, distance."""
        return pd.DataFrame(list(self.changed), columns=["feature", "from", "to", "distance"])

    @property
    def gap(self) -> float:
        """Distance less bound: 0 where the answer is proved."""
        return 0.0 if self.distance == self.bound else self.distance - self.bound

    def __repr__(self) -> str:
        return f"<Crossing {self.status} distance={self.distance:.6g} bound={self.bound:.6g}>"

    def __str__(self) -> str:
        return wrapped(self.text)

    def _repr_html_(self) -> str:
        return words.fragment(self)

    @property
    def text(self) -> str:
        """The answer in sentences."""
        return words.sentences(self)

    def page(self, *, title: str = "What would change the forecast?", question: str = "") -> str:
        """Return the text of the report that :meth:`to_html` writes."""
        return words.page(self, title, question)

    def to_html(self, path: Any, *, title: str = "What would change the forecast?", question: str = "") -> None:
        """Write a self-contained report to `path`, under `title` and after a sentence that says what was asked."""
        write_text(path, self.page(title=title, question=question), "a report")

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain dicts, lists, numbers and texts: strict JSON, with a fingerprint of all of it."""
        document = self._document()
        # What was changed must not become sound by being read and written once more.
        return {**document, "fingerprint": "" if self.intact is False else digest(document)}

    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = to_builtins(self._held())
        return {name: value for name, value in document.items() if name != "fingerprint"}

    def _held(self) -> CrossingDocument:
        context, inner = self.context, self.unrestricted
        return CrossingDocument(
            schema="whence/forecast/1",
            **{name: to_plain(getattr(self, name)) for name in CrossingFinding.__struct_fields__},
            initial={str(name): scalar(value) for name, value in self.initial.items()},
            context=None if context is None else {str(name): scalar(value) for name, value in context.items()},
            changes=changes_of(self.changes),
            distance=to_plain(self.distance),
            bound=to_plain(self.bound),
            between=[to_plain(end) for end in self.between],
            room=to_plain(self.room),
            unrestricted=None if inner is None else inner._document(),
            question=self.asked,
            text=self.text,
        )

    def to_json(self, path: Any = None, indent: int | None = 2) -> str:
        """Return the document as JSON text, which is also written to `path` where one is given."""
        text = dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(path, f"{text}\n", "an answer")
        return text

    @classmethod
    def from_dict(cls, document: Any) -> Crossing:
        """Return the answer that :meth:`to_dict` wrote; an InputError where it is none."""
        held = document_from(document, CrossingDocument, "answer")
        low, high = (number_from_plain(end) for end in held.between)
        return cls(
            **{name: getattr(held, name) for name in CrossingFinding.__struct_fields__},
            initial=pd.Series(held.initial, dtype=object),
            context=None if held.context is None else pd.Series(held.context, dtype=object),
            changed=[(one.feature, one.from_, one.to, one.distance) for one in held.changes],
            distance=number_from_plain(held.distance),
            bound=number_from_plain(held.bound),
            between=(low, high),
            room={name: (ends[0], ends[1]) for name, ends in held.room.items()},
            unrestricted=None if held.unrestricted is None else cls.from_dict(held.unrestricted),
            asked=dict(held.question),
            intact=intact_of(document),
        )

    @classmethod
    def from_json(cls, source: Any) -> Crossing:
        """Return the answer in a JSON text or in the file of that path; an InputError where there is none."""
        return cls.from_dict(loaded(source, "answer"))

    def verify(self, ensemble: Forecaster) -> Verification:
        """Compare the forecasts and the distance with what a fitted `Ensemble` says now; nothing is searched."""
        differences = [CHANGED] if self.intact is False else []
        pairs = [(self.initial, self.forecast_before)]
        if self.context is not None and self.forecast_after is not None:
            pairs.append((self.context, self.forecast_after))
        for context, said in pairs:
            here = ensemble.asked.forecast_of(ensemble.schema_.row(context))
            if abs(here - said) > self.tolerance + 1e-6 * max(abs(here), abs(said)):
                differences.append(f"The model forecasts {here:.9g} there. The explanation says {said:.9g}.")
        if self.context is not None:
            fixed, bounds = self.asked.get("fixed", ()), self.asked.get("bounds")
            names = map(str, self.initial.index)
            filled = [name for name in names if pd.isna(self.initial[name]) and not pd.isna(self.context[name])]
            further = ensemble.schema_.related(self.asked.get("relations", ()), ensemble.X_)
            space = ensemble.schema_.space(self.initial, fixed, bounds, relations=further, filled=filled)
            point = ensemble.schema_.encode_row(self.context)
            if abs(space.distance(point) - self.distance) > SLACK * max(1.0, self.distance):
                differences.append(
                    f"The context lies at distance {space.distance(point):.9g}. The explanation says "
                    f"{self.distance:.9g}."
                )
            if not space.contains(point, slack=SLACK):
                differences.append("The context is not one that the restrictions allow.")
            share, most = self.asked.get("plausible"), self.asked.get("max_changes")
            if share is not None and not ensemble.at_least_usual(share).accepts(point):
                differences.append("The context is less usual than was asked for.")
            if most is not None and not ChangeLimit(most).accepts(space, point):
                differences.append("More features change than was asked for.")
        return Verification(differences, ["Whether anything is nearer was not searched for again."])


class Forecaster(Subject, Protocol):
    """A fitted model that is asked."""

    input_map_: InputMap
    asked: AskedForecast

    def about(self) -> tuple[str, str, str]:
        """Return what is forecast, its unit, and the kind of the model."""


@dataclass(frozen=True)
class CrossingRequest(SearchRequest):
    """The arguments of ``ForecastExplainer.explain``."""

    context: Any
    between: tuple[float, float]

    def as_plain(self) -> dict[str, Any]:
        """Return what is asked of a context besides its forecast, in plain values, apart from defaults."""
        said: dict[str, Any] = {
            "fixed": sorted(self.fixed),
            "bounds": {str(name): to_plain(limit) for name, limit in (self.bounds or {}).items()},
        }
        further = {
            "relations": list(relation_texts(self.relations)),
            "plausible": None if self.plausible is None else float(self.plausible),
            "max_changes": None if self.max_changes is None else int(self.max_changes),
        }
        return said | {name: value for name, value in further.items() if value}


def explain(ensemble: Forecaster, request: CrossingRequest) -> Crossing:
    """Return the nearest context in which the forecast lies where it was asked to."""
    limits = Limits(request.time_limit, request.node_limit, request.on_progress, request.memory_limit)
    asked, schema = ensemble.asked, ensemble.schema_
    initial = schema.row(request.context)
    low, high = _sums_of(request.between, asked.link)
    sizes = [abs(end) for end in (low, high) if np.isfinite(end)]
    tau = max(float(request.tolerance) * max([asked.size(), *sizes]), asked.least_tolerance())
    space = space_of(ensemble, request, initial)
    few = change_limit(schema, request, space)
    if few is not None and request.fill:
        raise InputError(
            "'fill' must be left out where few features may change: a number that is filled in has no value to "
            f"stay at. Got {sorted(request.fill)}."
        )
    question = Question(
        space=replace(space, few=few),
        weights=ensemble.predictor_for(initial),
        inputs=ensemble.input_map_,
        claim=ForecastBetween(low=low, high=high, tau=tau),
        limits=limits,
        settings=SearchSettings(separation=0.0, threads=request.threads),
    )
    what, unit, model = ensemble.about()
    draft = Crossing(
        status="none",
        initial=initial,
        distance=np.inf,
        bound=np.inf,
        between=request.between,
        forecast_before=asked.forecast_of(initial),
        forecast_after=None,
        engine=asked.engine,
        seconds=0.0,
        nodes=0,
        tolerance=tau,
        blocking=[],
        kinds=schema.kinds(),
        units=schema.units(),
        asked=request.as_plain(),
        what=what,
        unit=unit,
        model=model,
    )
    inquiry = _Inquiry(ensemble, request, question, asked.answer, draft)
    question, answer = inquiry.answered(question)
    found = inquiry.completed(question, answer, draft)
    if found.status == "none":
        found = inquiry.without_restrictions(question, found, draft)
    return structs.replace(found, seconds=limits.seconds)


class _Inquiry(Inquiry[Crossing]):
    """A question about a forecast."""

    subject: Forecaster

    def known(self, question: Question) -> Answer | None:
        """Return the answer where the forecast lies there as it is, or where no forecast can."""
        claim, space = cast(ForecastBetween, question.claim), question.space
        here = _sum_at(self.subject.asked, question, self.draft.initial)
        if claim.is_satisfied(here) and (space.plausibility is None or space.plausibility.accepts(space.start)):
            return Answer("already", space.start, 0.0, 0.0)
        return None if claim.is_possible else Answer("none", None, np.inf, np.inf)

    def completed(self, question: Question, answer: Answer, draft: Crossing) -> Crossing:
        """Return `draft` with the answer, confirmed by the model itself."""
        common = {"status": answer.status, "nodes": answer.nodes, "distance": answer.distance, "bound": answer.bound}
        if answer.point is None:
            return structs.replace(draft, **common)
        if answer.status == "already":
            return structs.replace(draft, **common, context=draft.initial, forecast_after=draft.forecast_before)
        schema, space = self.subject.schema_, question.space
        context = schema.decode(answer.point, draft.initial, answer.cell, space.ends, space.days)
        distance = distance_of(space, answer, schema.encode_row(context), context, SLACK)
        after = _confirmed(self.subject.asked, question, context)
        proved = answer.status == "optimal" and answer.bound == answer.distance
        changed = schema.changed(space, draft.initial, context)
        names = {name for name, *_ in changed}
        return structs.replace(
            draft,
            status="already" if answer.status == "optimal" and distance == 0.0 else answer.status,
            nodes=answer.nodes,
            context=context,
            changed=changed,
            room={} if answer.cell is None else schema.values_inside(space, answer.cell, names),
            distance=distance,
            bound=distance if proved else min(answer.bound, distance),
            forecast_after=after,
        )


def _sums_of(between: tuple[float, float], link: Link) -> tuple[float, float]:
    """Return the limits of the forecast as limits of the sum over the trees."""

    def inverse(value: float) -> float:
        if link == "identity":
            return value
        if value <= 0.0:
            return -np.inf
        if link == "log":
            return float(np.log(value))
        return np.inf if value >= 1.0 else float(np.log(value / (1.0 - value)))

    return inverse(between[0]), inverse(between[1])


def _sum_at(asked: AskedForecast, question: Question, context: pd.Series) -> Floats:
    """Return what the trees, or the line, add up to in a context."""
    found: Floats = cast(Any, question.weights).sums(asked.seen(context)[None, :])[0]
    return found


def _confirmed(asked: AskedForecast, question: Question, context: pd.Series) -> float:
    """Return the model's own forecast in a context, which must be what the trees add up to, within the limits."""
    claim, total = cast(ForecastBetween, question.claim), float(_sum_at(asked, question, context))
    said, slack = asked.forecast_of(context), asked.precision()
    ends = np.array([total - slack, total + slack])
    if asked.link != "identity":
        ends = np.exp(ends) if asked.link == "log" else 1.0 / (1.0 + np.exp(-ends))
    rounding = 1e-6 * abs(said) + 1e-300
    if not ends[0] - rounding <= said <= ends[1] + rounding:
        raise InternalError(
            f"The model forecasts {said:.9g} in the context found, where what was read of it adds up to {total:.9g}."
        )
    off = 1e-9 * max(1.0, abs(total))
    if not claim.low - claim.tau - off <= total <= claim.high + claim.tau + off:
        raise InternalError(f"The forecast is {said:.9g} in the context found, which is not what was asked for.")
    return said
