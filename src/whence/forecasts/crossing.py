"""The nearest context in which a forecast crosses a value: the result, confirmed by the model itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from json import dumps
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd

from whence.certificate.verify import Verification
from whence.claims.forecasts import ForecastBetween
from whence.errors import InputError, InternalError
from whence.explain.ask import SearchRequest
from whence.explain.build_question import sets_to_fill
from whence.features import Schema
from whence.features.relations import relation_texts
from whence.features.space import Few, Refusal, Space
from whence.forecasts.sources import Sums
from whence.models.base import Link
from whence.question import Answer, Limits, Question, nearest_at_fees
from whence.questions.result import CHANGED, intact_of
from whence.report import forecast_pages as words
from whence.report.document import scalar
from whence.report.fingerprint import digest
from whence.report.forecast_pages import CrossingDocument
from whence.report.reading import document_from, loaded
from whence.report.words import wrapped
from whence.settings import SearchSettings
from whence.util.aliases import Floats, Status
from whence.util.files import write_text
from whence.util.json import number_from_plain, to_plain
from whence.weights import InputMap
from whence.weights.plausibility import Isolation

__all__ = ["Crossing", "CrossingRequest", "Forecaster", "explain"]

#: Coordinates and distances may differ by this much between the search and the context it leads to.
SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class Crossing:
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

    status: Status
    initial: pd.Series
    context: pd.Series | None
    changes: pd.DataFrame
    distance: float
    bound: float
    between: tuple[float, float]
    forecast_before: float
    forecast_after: float | None
    what: str
    unit: str
    model: str
    engine: str
    seconds: float
    nodes: int
    tolerance: float
    kinds: dict[str, str]
    units: dict[str, str]
    #: For continuous features that change: between these two values the forecast stays the same.
    room: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: Restrictions that rule out every answer, where freeing them would help (status "none").
    blocking: list[str] = field(default_factory=list)
    #: The answer without the user's restrictions, where there is none with them.
    unrestricted: Crossing | None = None
    #: What was fixed and bounded.
    asked: dict[str, Any] = field(default_factory=dict)
    #: Whether the document from which it was read is as it was written; None where it was not read from one.
    intact: bool | None = None

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
        inner = self.unrestricted
        return {
            "schema": "whence/forecast/1",
            "status": self.status,
            "initial": {str(name): scalar(value) for name, value in self.initial.items()},
            "context": None
            if self.context is None
            else {str(name): scalar(value) for name, value in self.context.items()},
            "changes": [
                {"feature": str(name), "from": scalar(before), "to": scalar(after), "distance": float(distance)}
                for name, before, after, distance in self.changes.itertuples(index=False)
            ],
            **{name: to_plain(getattr(self, name)) for name in ("distance", "bound", "forecast_before")},
            "forecast_after": to_plain(self.forecast_after),
            "between": [to_plain(end) for end in self.between],
            **{name: getattr(self, name) for name in ("what", "unit", "model", "engine", "seconds", "nodes")},
            "tolerance": self.tolerance,
            **{name: to_plain(getattr(self, name)) for name in ("kinds", "units", "room")},
            "blocking": list(self.blocking),
            "unrestricted": None if inner is None else inner._document(),
            "question": self.asked,
            "text": self.text,
        }

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
        rows = [(one.feature, one.from_, one.to, one.distance) for one in held.changes]
        context = None if held.context is None else pd.Series(held.context, dtype=object)
        low, high = (number_from_plain(end) for end in held.between)
        same = ("what", "unit", "model", "engine", "seconds", "nodes", "tolerance", "kinds", "units", "blocking")
        return cls(
            status=held.status,
            initial=pd.Series(held.initial, dtype=object),
            context=context,
            changes=pd.DataFrame(rows, columns=["feature", "from", "to", "distance"]),
            distance=number_from_plain(held.distance),
            bound=number_from_plain(held.bound),
            between=(low, high),
            forecast_before=float(held.forecast_before),
            forecast_after=None if held.forecast_after is None else float(held.forecast_after),
            room={name: (ends[0], ends[1]) for name, ends in held.room.items()},
            unrestricted=None if held.unrestricted is None else cls.from_dict(held.unrestricted),
            asked=dict(held.question),
            intact=intact_of(document),
            **{name: getattr(held, name) for name in same},
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
            here = ensemble.forecast_of(ensemble.schema_.row(context))
            if abs(here - said) > self.tolerance + 1e-6 * max(abs(here), abs(said)):
                differences.append(f"The model forecasts {here:.9g} there. The explanation says {said:.9g}.")
        if self.context is not None:
            fixed, bounds = self.asked.get("fixed", ()), self.asked.get("bounds")
            names = map(str, self.initial.index)
            filled = [name for name in names if pd.isna(self.initial[name]) and not pd.isna(self.context[name])]
            further = ensemble.schema_.related(self.asked.get("relations", ()), ensemble.history)
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
            if share is not None and not ensemble.usual(share).accepts(point):
                differences.append("The context is less usual than was asked for.")
            if most is not None and not Few(most).accepts(space, point):
                differences.append("More features change than was asked for.")
        return Verification(differences, ["Whether anything is nearer was not searched for again."])


class Forecaster(Protocol):
    """What is asked: a model, the features that it sees, and its trees, or its line, for a context."""

    schema_: Schema
    input_map_: InputMap

    @property
    def link(self) -> Link:
        """What the model makes of the sum over its trees."""
        ...

    @property
    def engine(self) -> str:
        """What searches."""
        ...

    def about(self) -> tuple[str, str, str]:
        """Return what is forecast, its unit, and the kind of the model."""
        ...

    def summed(self, context: pd.Series) -> Sums:
        """Return what is searched, as it is for a context with these missing values."""
        ...

    def answer(self, question: Question) -> Answer:
        """Return the nearest context in which the sum lies between two numbers."""
        ...

    def seen(self, context: pd.Series) -> Floats:
        """Return one context as the trees see it."""
        ...

    def forecast_of(self, context: pd.Series) -> float:
        """Return the model's own forecast."""
        ...

    def precision(self) -> float:
        """Return by how much the model's own sum may be off by its rounding."""
        ...

    def least_tolerance(self) -> float:
        """Return by how much the sum may always miss what it is asked to be."""
        ...

    def size(self) -> float:
        """Return the largest sum in the history."""
        ...

    @property
    def history(self) -> pd.DataFrame:
        """The past contexts."""
        ...

    def usual(self, share: float) -> Isolation:
        """Return the contexts that are at least as usual as this share of the history."""
        ...


#: What is wrong with a context that is not allowed.
REFUSED: dict[Refusal, str] = {
    "outside": "The context found lies outside the allowed ones",
    "less usual": "The context found is less usual than was asked for",
    "more changes": "More features change than was asked for",
}


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

    def few(self, space: Space) -> Few | None:
        """Return how many features may change, where that rules out anything."""
        features = int(space.feature.max()) + 1
        return None if self.max_changes is None or self.max_changes >= features else Few(int(self.max_changes))

    def check(self, ensemble: Forecaster, initial: pd.Series, space: Space) -> None:
        """Refuse what does not go together."""
        if self.plausible is not None and (
            ensemble.schema_.lacks(ensemble.history) or ensemble.schema_.lacks(initial.to_frame().T)
        ):
            raise InputError(
                "'plausible' needs a context and a history without missing numbers. Got some that are.",
                parameter="plausible",
            )
        if self.few(space) is not None and self.fill:
            raise InputError(
                "'fill' must be left out where few features may change: a number that is filled in has no value to "
                f"stay at. Got {sorted(self.fill)}.",
                parameter="fill",
            )


def explain(ensemble: Forecaster, request: CrossingRequest) -> Crossing:
    """Return the nearest context in which the forecast lies where it was asked to."""
    limits = Limits(request.time_limit, request.node_limit, request.on_progress, request.memory_limit)
    schema = ensemble.schema_
    initial = schema.row(request.context)
    summed = ensemble.summed(initial)
    wanted = _sums_of(request.between, ensemble.link)
    sizes = [abs(end) for end in wanted if np.isfinite(end)]
    tau = max(float(request.tolerance) * max([ensemble.size(), *sizes]), ensemble.least_tolerance())
    space = request.space(schema, ensemble.history, initial)
    request.check(ensemble, initial, space)
    usual = None if request.plausible is None else ensemble.usual(float(request.plausible))
    claim = ForecastBetween(low=wanted[0], high=wanted[1], tau=tau)
    settings = SearchSettings(separation=0.0, threads=request.threads)
    what, unit, model = ensemble.about()
    draft = Crossing(
        status="none",
        initial=initial,
        context=None,
        changes=_changes(schema, space, initial, None),
        distance=np.inf,
        bound=np.inf,
        between=request.between,
        forecast_before=ensemble.forecast_of(initial),
        forecast_after=None,
        engine=ensemble.engine,
        seconds=0.0,
        nodes=0,
        tolerance=tau,
        kinds=schema.kinds(),
        units=schema.units(),
        asked=request.as_plain(),
        what=what,
        unit=unit,
        model=model,
    )

    def answered(restricted: bool, limits: Limits) -> Crossing:
        now = summed.sums(ensemble.seen(initial)[None, :])[0]
        if claim.is_satisfied(now) and (usual is None or usual.accepts(space.start)):
            answer = Answer("already", space.start, 0.0, 0.0)
        elif not claim.is_possible:
            answer = Answer("none", None, np.inf, np.inf)
        else:
            return filled(restricted, limits)
        return _completed(ensemble, question_in(space, summed, limits), answer, draft)

    def question_in(room: Space, trees: Sums, limits: Limits) -> Question:
        room = replace(room, few=request.few(room), plausibility=usual)
        return Question(room, cast(Any, trees), ensemble.input_map_, claim, limits, settings)

    def filled(restricted: bool, limits: Limits) -> Crossing:
        """Return the nearest answer, whatever is filled in for it."""
        sets = sets_to_fill(schema, initial, request.fill, request.fixed if restricted else ())

        def questions() -> Iterator[Question]:
            for names in sets:
                room = request.space(schema, ensemble.history, initial, restricted, names)
                row = initial.copy()
                for name in names:
                    row[name] = schema.training_range(name)[0]
                trees = ensemble.summed(row)
                yield question_in(room, trees, limits)

        question, answer = nearest_at_fees(questions(), ensemble.answer)
        return _completed(ensemble, question, answer, draft)

    found = answered(True, limits)
    free = request.space(schema, ensemble.history, initial, restricted=False)
    if found.status == "none" and not free.same_as(space) and limits.remaining > 0:
        left = None if np.isinf(limits.remaining) else limits.remaining
        inner = answered(False, Limits(left, request.node_limit, request.on_progress, request.memory_limit))
        blocking = []
        if inner.context is not None:
            point = schema.encode_row(inner.context)
            blocking = schema.restrictions_in_the_way(initial, point, request.fixed, request.bounds)
        found = replace(found, unrestricted=inner, blocking=blocking)
    return replace(found, seconds=limits.seconds)


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


def _completed(
    ensemble: Forecaster,
    question: Question,
    answer: Answer,
    draft: Crossing,
) -> Crossing:
    """Return `draft` with the answer, confirmed by the model itself."""
    space = question.space
    common = {"status": answer.status, "nodes": answer.nodes, "distance": answer.distance, "bound": answer.bound}
    if answer.point is None:
        return replace(draft, **common)  # type: ignore[arg-type]
    if answer.status == "already":
        return replace(draft, **common, context=draft.initial, forecast_after=draft.forecast_before)  # type: ignore[arg-type]
    schema = ensemble.schema_
    context = schema.decode(answer.point, draft.initial, answer.cell, space.ends, space.days)
    point = schema.encode_row(context)
    size = max(1.0, float(np.abs(space.start).max()))
    wrong = space.refusal(point, slack=SLACK * size)
    if wrong is not None:
        raise InternalError(f"{REFUSED[wrong]}: {context.to_dict()}.")
    distance = space.distance(point)
    if abs(distance - answer.distance) > SLACK * size * max(1.0, float(space.weight.max())):
        raise InternalError(f"The context found lies at distance {distance:.9g}, not at {answer.distance:.9g}.")
    after = _confirmed(ensemble, question, context)
    proved = answer.status == "optimal" and answer.bound == answer.distance
    changes = _changes(schema, space, draft.initial, context)
    found = replace(
        draft,
        status=answer.status,
        nodes=answer.nodes,
        context=context,
        changes=changes,
        room=_room(schema, space, answer, set(changes["feature"])),
        distance=distance,
        bound=distance if proved else min(answer.bound, distance),
        forecast_after=after,
    )
    return replace(found, status="already") if answer.status == "optimal" and distance == 0.0 else found


def _confirmed(ensemble: Forecaster, question: Question, context: pd.Series) -> float:
    """Return the model's own forecast in a context, which must be what the trees add up to, within the limits."""
    summed, claim = cast(Sums, cast(Any, question.weights)), cast(ForecastBetween, question.claim)
    total = float(summed.sums(ensemble.seen(context)[None, :])[0])
    said, slack = ensemble.forecast_of(context), ensemble.precision()
    ends = np.array([total - slack, total + slack])
    if ensemble.link != "identity":
        ends = np.exp(ends) if ensemble.link == "log" else 1.0 / (1.0 + np.exp(-ends))
    rounding = 1e-6 * abs(said) + 1e-300
    if not ends[0] - rounding <= said <= ends[1] + rounding:
        raise InternalError(
            f"The model forecasts {said:.9g} in the context found, where what was read of it adds up to {total:.9g}."
        )
    off = 1e-9 * max(1.0, abs(total))
    if not claim.low - claim.tau - off <= total <= claim.high + claim.tau + off:
        raise InternalError(f"The forecast is {said:.9g} in the context found, which is not what was asked for.")
    return said


def _changes(schema: Schema, space: Space, initial: pd.Series, context: pd.Series | None) -> pd.DataFrame:
    rows = []
    if context is not None:
        distances = schema.by_feature(space.moved(schema.encode_row(context)))
        before, after = (schema.feature_values(row, distances) for row in (initial, context))
        rows = [(name, before[name], after[name], distance) for name, distance in distances.items()]
    return pd.DataFrame(rows, columns=["feature", "from", "to", "distance"])


def _room(schema: Schema, space: Space, answer: Answer, changed: set[str]) -> dict[str, tuple[float, float]]:
    """Return between which values every continuous feature that changes may be rounded: the forecast stays the same."""
    if answer.cell is None:
        return {}
    offset, scale = schema.affine()
    low = offset + scale * np.maximum(answer.cell[0], space.lower)
    high = offset + scale * np.minimum(answer.cell[1], space.upper)
    margin = 1e-9 * np.maximum(scale, np.abs(offset))
    return {
        name: (float(low[j] + margin[j]), float(high[j] - margin[j]))
        for j, name in enumerate(schema.feature_of_coordinate())
        if name in changed and space.levels[j] is None and low[j] + margin[j] < high[j] - margin[j]
    }
