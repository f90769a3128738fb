"""Asking for the nearest context in which a forecast crosses a value: the request, the search, and the re-check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from whence.claims.forecasts import ForecastBetween
from whence.errors import InputError, InternalError
from whence.explain.ask import SearchRequest
from whence.explain.missing import merged, sets_to_fill
from whence.features import Schema
from whence.features.relations import relation_texts
from whence.features.space import Few, Refusal, Space
from whence.forecasts.crossing import SLACK, Crossing, Forecaster
from whence.forecasts.sources import Sums
from whence.models.base import Link
from whence.question import Answer, Limits, Question
from whence.settings import SearchSettings
from whence.util.json import to_plain

__all__ = ["CrossingRequest", "explain"]


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
        """What is asked of a context besides its forecast, in plain values; only what differs from the default."""
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
        """How many features may change, where that rules out anything."""
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
    """The nearest context in which the forecast lies where it was asked to."""
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
        """The nearest answer, whatever is filled in for it."""
        sets = sets_to_fill(schema, initial, request.fill, request.fixed if restricted else ())

        def questions() -> Iterator[Question]:
            for names in sets:
                room = request.space(schema, ensemble.history, initial, restricted, names)
                row = initial.copy()
                for name in names:
                    row[name] = schema.training_range(name)[0]
                trees = ensemble.summed(row)
                yield question_in(room, trees, limits)

        question, answer = merged(questions(), ensemble.answer)
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
    """The limits of the forecast as limits of the sum over the trees."""

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
    """`draft` with the answer, confirmed by the model itself."""
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
    """The model's own forecast in a context, which must be what the trees add up to, within the limits."""
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
    """Between which values every continuous feature that changes may be rounded: the forecast stays the same."""
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
