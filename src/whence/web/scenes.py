"""Scenes: a fitted policy with a question, and what the page may ask of it."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from whence.errors import InfeasiblePlanError, InputError
from whence.evaluation.evaluating import judged
from whence.examples import bakery, city
from whence.examples.example import Example
from whence.explain.ask import CONDITIONS
from whence.features import Binary, Categorical, Continuous, Cyclic, Date, Discrete, Schema
from whence.features.dates import as_day, as_in_calendar
from whence.policy import Policy
from whence.problems.base import cost_unit_of
from whence.problems.plan_sets import ANY, PlanSet, set_from_plain
from whence.project import Project
from whence.project.sections import ExplainDefaults
from whence.report.observations import AS_IT_IS, binned
from whence.report.reliance import outside
from whence.report.words import quality_in_words, warns
from whence.util.aliases import Floats
from whence.util.json import to_plain
from whence.web import wire as models
from whence.web.wire import Feature
from whence.weights.forecast_weights import ForecastWeights

#: Observations that are named as those that weigh most.
NAMED = 8
#: Most past observations that are remembered as they are told.
SEEN = 2_000
#: Most values of a distribution of outcomes.
ATOMS = 200


@dataclass(frozen=True, eq=False)
class Scene:
    """A fitted policy, today's context, and the words around them."""

    id: str  # in addresses
    title: str
    question: str  # in a sentence or two
    policy: Policy
    today: pd.Series  # the context that the page starts with, in the user's columns
    alternative: Any = None  # a plan that somebody has in mind
    instead: PlanSet | None = None  # what a question without a plan is about; any plan where left out
    # How questions are asked where they do not say themselves.
    defaults: ExplainDefaults = field(default_factory=ExplainDefaults)

    # ---- contexts ------------------------------------------------------------------------------------

    def context_of(self, row: Any) -> dict[str, Any]:
        """A context in the user's columns as one plain value per feature."""
        schema = self.policy.schema_
        plain: dict[str, Any] = to_plain(schema.feature_values(schema.row(row)))
        return plain

    def row_of(self, context: Mapping[str, Any], called: str = "context") -> pd.Series:
        """A context of one plain value per feature in the user's columns; an InputError says what is wrong with it."""
        schema = self.policy.schema_
        missing = [name for name in schema.names if name not in context]
        unknown = [name for name in context if name not in schema.features]
        if missing or unknown:
            known = ", ".join(map(repr, schema.names))
            wrong = f"must give {missing[0]!r}" if missing else f"gives {unknown[0]!r}, which is unknown"
            raise InputError(f"The {called!r} {wrong}; expected {known}.")
        columns = (self._columns_of(name, context[name], called) for name in schema.names)
        row = schema.row({name: value for held in columns for name, value in held.items()})
        # Refuses what the schema cannot read, with its own sentence.
        self.policy.inputs_of(row)
        return row

    def _columns_of(self, name: str, value: Any, called: str) -> dict[str, Any]:
        """What the user's columns hold where the feature `name` has `value`."""
        feature, schema = self.policy.schema_.kind(name), self.policy.schema_
        if isinstance(feature, Categorical):
            levels = list(feature.categories or schema.levels(name))
            level = _level(name, value, levels)
            if feature.columns is None:
                return {name: level}
            return {column: int(i == levels.index(level)) for i, column in enumerate(feature.columns)}
        if isinstance(feature, Date):
            day = as_day(value)
            if day is None:
                said = json.dumps(value)
                raise InputError(
                    f"The feature {name!r} of the 'context' must be a date, such as 2025-06-14. Got {said} instead."
                )
            return {feature.column or name: pd.Timestamp(day)}
        like = self.policy.X_[name].iloc[0]
        on_or_off = isinstance(feature, Binary) or isinstance(like, bool | np.bool_)
        if isinstance(value, str) or (isinstance(value, bool) and not on_or_off):
            wanted = "true or false" if on_or_off else "a number"
        elif isinstance(feature, Discrete) and not schema.is_level(name, value):
            if feature.step is None:
                wanted = "one of " + ", ".join(f"{level:g}" for level in schema.levels(name))
            else:
                wanted = "a whole number" if feature.step == 1 else f"a whole number in steps of {feature.step}"
        elif isinstance(like, bool | np.bool_) and value in (0, 1):
            return {name: bool(value)}
        else:
            whole = isinstance(like, int | np.integer) and float(value).is_integer()
            return {name: int(value) if whole else float(value)}
        raise InputError(f"The feature {name!r} of the {called!r} must be {wanted}. Got {json.dumps(value)} instead.")

    def bounds_of(self, bounds: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Limits as the schema takes them, categories in the type that the data has."""
        schema = self.policy.schema_
        found: dict[str, Any] = {}
        for name, limit in bounds.items():
            # One that is unknown is for the schema to refuse.
            feature = schema.features.get(name)
            words = str if isinstance(feature, Binary) else str | bool
            if isinstance(feature, Categorical):
                levels = list(feature.categories or schema.levels(name))
                # A long list names few categories often: each is looked up once. (1 is not true.)
                once = dict.fromkeys((type(value), value) for value in limit)
                found[name] = [_level(name, value, levels) for _, value in once]
            elif isinstance(feature, Date):
                found[name] = tuple(limit)
            elif len(limit) != 2 or any(isinstance(value, words) for value in limit):
                got = json.dumps(limit[:3])[:200]
                raise InputError(f"The 'bounds' of {name!r} must be a pair [low, high] of numbers. Got {got} instead.")
            else:
                found[name] = tuple(limit)
        return found

    @property
    def observations(self) -> int:
        """How many past observations there are."""
        return len(self.policy.X_)

    def observation(self, row: int) -> models.Observation:
        """The past observation at a position; people, and the interface, count from 1."""
        [found] = self.listed([row])
        return found

    def listed(self, rows: Sequence[int]) -> list[models.Observation]:
        """The past observations at some positions."""
        new = [row for row in rows if row not in self._seen]
        if len(self._seen) + len(new) > SEEN:
            self._seen.clear()
            new = list(rows)
        self._seen.update(zip(new, self._told(new), strict=True))
        return [self._seen[row] for row in rows]

    @cached_property
    def _seen(self) -> dict[int, models.Observation]:
        """Past observations that were told lately: those that weigh most in one context do so in many."""
        return {}

    def _told(self, rows: Sequence[int]) -> list[models.Observation]:
        held = self.policy.X_.iloc[list(rows)]
        # All of a column at once: tables are slow to take apart row by row.
        contexts = zip(*(held[name].tolist() for name in held), strict=True)
        labels = [row + 1 for row in rows] if self._counted else held.index
        return [
            models.Observation(
                row=row + 1, label=str(label), context=self.context_of(dict(zip(held, values, strict=True)))
            )
            for row, label, values in zip(rows, labels, contexts, strict=True)
        ]

    @cached_property
    def _counted(self) -> bool:
        """Whether past observations have no names, only numbers."""
        return _is_counted(self.policy.X_)

    def conditions(self, names: Collection[str] = CONDITIONS, **given: Any) -> dict[str, Any]:
        """What an answer must bear, of the options of these names: what is given, or else the scene's own."""
        asked = self.defaults.options(**given)
        return {name: asked[name] for name in names}

    @property
    def unknown(self) -> str:
        """Why it is not known how far an answer can be relied on, in a sentence; empty where it can be found out."""
        return self.defaults.unknown(self.policy)

    @property
    def holds(self) -> float | None:
        """The share of true answers, or of refits that agree, that the page asks for; None where it asks for none."""
        return self.defaults.share(self.policy)

    def remarks(self, row: pd.Series) -> list[str]:
        """What to know about a context in the user's columns, a sentence each."""
        return outside(self.policy.schema_, row)

    # ---- plans ---------------------------------------------------------------------------------------

    def plan_of(self, plain: Any) -> Any:
        """The plan that plain data stands for; an InputError says why it cannot be carried out."""
        try:
            plan = self.policy.problem.from_plain(plain, self.policy.outcome_names_)
            self._costs(plan)
        except InputError:
            raise
        except Exception as error:  # a problem of the user's own may fail in any way on a plan that it cannot read
            raise InputError(f"The plan does not fit the problem: {error}") from error
        return plan

    def instead_of(self, plan: Any, plans: Any) -> Any:
        """What a question is about: a plan or, without one, a set of plans; an InputError says what is wrong."""
        if plan is not None and plans is not None:
            raise InputError("A question is about a 'plan' or about a set of plans, 'instead'. Got both.")
        if plan is not None:
            return self.plan_of(plan)
        if plans is None and self.instead is not None:
            return self.instead
        try:
            return set_from_plain(self.policy.problem, ANY if plans is None else plans, self.policy.outcome_names_)
        except InputError:
            raise
        except Exception as error:  # it came from anywhere, and may hold anything
            raise InputError(f"'instead' cannot be read as a set of plans: {error}") from error

    def judged(self, plan: Any, weights: Floats, costs: Floats | None = None) -> models.Judged:
        """`plan` where the past observations have these weights; its `costs` under them, where they are known."""
        policy, costs = self.policy, self._costs(plan) if costs is None else costs
        return models.Judged(
            plan=policy.problem.to_plain(plan),
            text=policy.problem.describe(plan, policy.outcome_names_),
            cost=policy.risk_.of(costs, weights),
            outcomes=_outcomes(costs, weights),
        )

    def _costs(self, plan: Any, outcomes: Floats | None = None) -> Floats:
        """What a plan costs under what came in the past, or under what may come in a context."""
        seen = self.policy.Y_ if outcomes is None else outcomes
        costs = np.asarray(self.policy.problem.costs(plan, seen), dtype=np.float64)
        if not np.isfinite(costs).all():
            raise InputError("The plan's costs must be finite numbers.")
        return costs

    # ---- what the page asks --------------------------------------------------------------------------

    def entry(self) -> models.SceneEntry:
        """Its line in the list of scenes."""
        return models.SceneEntry(id=self.id, title=self.title, question=self.question)

    def shown(self) -> models.Scene:
        """Everything the page needs to draw its panels."""
        policy = self.policy
        plans = [policy.decide(self.today), *([] if self.alternative is None else [self.alternative])]
        context, own = self.context_of(self.today), self.conditions([name for name in CONDITIONS if name != "holds"])
        limit = self.defaults["time_limit"]
        return models.Scene(
            **dict(self.entry()),
            features=controls(policy.schema_, context, self.defaults["fixed"]),
            context=context,
            observations=self.observations,
            risk=policy.risk_.words,
            cost_unit=cost_unit_of(policy.problem),
            outcomes=list(policy.outcome_names_),
            plan=models.PlanShape.of(policy.problem.editor(policy.Y_, policy.outcome_names_, plans)),
            alternative=None if self.alternative is None else policy.problem.to_plain(self.alternative),
            instead=None if self.instead is None else self.instead.as_plain(),
            holds=self.holds,
            **{name: _typed(value) for name, value in own.items() if name in models.Scene.model_fields},
            time_limit=None if limit is None else min(float(limit), models.LARGEST),
            within=self.defaults.within("absolute", policy),
            unknown=self.unknown if self.defaults.is_open else "",
            forecasts=self.forecasts(),
        )

    def forecasts(self) -> list[models.ForecastRange]:
        """What the policy forecasts, and between which values it did so for the past."""
        weights = self.policy.weights_
        if not isinstance(weights, ForecastWeights):
            return []
        past = weights.forecast(weights.inputs_)
        return [
            models.ForecastRange(outcome=name, low=float(column.min()), high=float(column.max()))
            for name, column in zip(self.policy.outcome_names_, past.T, strict=True)
        ]

    def quality(self) -> models.Quality:
        """How good the policy is on observations that it was not fitted to; found out once."""
        found = judged(self.policy)
        if found is None:
            return models.Quality()
        unit = cost_unit_of(self.policy.problem)
        return models.Quality(text=quality_in_words(found, self.policy.risk_.words, unit), warning=warns(found))

    def decided(self, row: Any) -> models.Decision:
        """What the policy decides in a context in the user's columns."""
        made = self.policy.decision(row)
        weights = made.weights
        heaviest = [int(i) for i in np.argsort(-weights, kind="stable")[:NAMED] if weights[i] > 0]
        return models.Decision(
            **dict(self.judged(made.plan, weights, made.costs)),
            speaking=[
                models.Speaker(**dict(seen), weight=float(weights[i]))
                for i, seen in zip(heaviest, self.listed(heaviest), strict=True)
            ],
            speakers=int((weights > 0).sum()),
            spread=_spread([made.costs], weights, [made.cost]),
            remarks=self.remarks(self.policy.schema_.row(row)),
        )

    def checked(self, row: Any, plain: Any) -> models.Check:
        """Whether a plan, as plain data, can be carried out, and what it costs in a context."""
        try:
            plan = self.plan_of(plain)
        except InputError as error:
            reason = error.reason if isinstance(error, InfeasiblePlanError) else str(error)
            return models.Check(feasible=False, reason=reason)
        # Both plans are drawn over each other: their bins must be the same.
        outcomes = self.policy.outcomes_in(self.policy.schema_.row(row))
        made, costs = self.policy.decision(row), self._costs(plan, outcomes)
        judged = self.judged(plan, made.weights, costs)
        return models.Check(
            feasible=True,
            text=judged.text,
            cost=judged.cost,
            outcomes=judged.outcomes,
            spread=_spread([made.costs, costs], made.weights, [made.cost, judged.cost]),
        )


def _is_counted(table: pd.DataFrame) -> bool:
    """Whether its rows have no names, only pandas' own count from 0."""
    return table.index.equals(pd.RangeIndex(len(table)))


def _from_one(*tables: pd.DataFrame) -> list[pd.DataFrame]:
    """Tables whose rows have no names with the numbers that people give them, which reports then show too."""
    return [t.set_axis(pd.RangeIndex(1, len(t) + 1), axis=0) if _is_counted(t) else t for t in tables]


def _level(name: str, value: Any, levels: Sequence[Any]) -> Any:
    """The category whose plain form is `value`."""
    for level in levels:
        plain = to_plain(level)
        if plain == value and isinstance(plain, bool) == isinstance(value, bool):
            return level
    raise InputError(f"The feature {name!r} must be one of {', '.join(map(repr, levels))}. Got {value!r} instead.")


def _outcomes(costs: Floats, weights: Floats) -> models.Outcomes:
    """The distribution of `costs`, in at most `ATOMS` values."""
    speaking = np.flatnonzero(weights)
    values, place = np.unique(costs[speaking], return_inverse=True)
    shares = np.bincount(place, weights[speaking])
    if values.size > ATOMS:
        cell = np.minimum((values - values[0]) / (values[-1] - values[0]) * ATOMS, ATOMS - 1).astype(np.int64)
        _, cell = np.unique(cell, return_inverse=True)
        mass = np.bincount(cell, shares)
        values, shares = np.bincount(cell, shares * values) / mass, mass
    return models.Outcomes(values=values.tolist(), weights=(shares / shares.sum()).tolist())


def _typed(value: Any) -> Any:
    """An option as the page may send it again: an amount as a text."""
    return f"{value[0]:g} {value[1]}" if isinstance(value, tuple) else value


def _spread(plans: list[Floats], weights: Floats, marks: list[float]) -> models.Spread:
    """The costs of the decision, and of an alternative where there is one, in common bins."""
    bins = binned([(costs, weights) for costs in plans], max(marks))
    names = ("decision", "alternative")
    panel = models.Panel(
        heading=AS_IT_IS,
        marks=models.Marks(**dict(zip(names, marks, strict=False))),
        **dict(zip(names, bins.masses, strict=False)),
    )
    return models.Spread(edges=bins.edges, highest=bins.highest, beyond=bins.beyond, panels=[panel])


# ---- where scenes come from ----------------------------------------------------------------------------


def built_in() -> list[Scene]:
    """The examples that ship with whence: a bakery and a courier's route, fitted."""
    return [example_scene(module.load()) for module in (bakery, city)]


def example_scene(example: Example) -> Scene:
    """An example, fitted."""
    policy = example.policy.fit(*_from_one(example.X, example.Y))
    return Scene(example.name, example.title, example.question, policy, example.today, example.alternative)


def project_scene(project: Project) -> Scene:
    """A project of the user's own; the page starts with its last observation."""
    policy, defaults = project.fitted(), project.explain_defaults
    today = policy.schema_.row(policy.X_.iloc[[-1]])
    asked = None if defaults.instead is None else project.plan_asked()
    return Scene(
        "project",
        project.title or "Why not my plan?",
        project.question,
        policy,
        today,
        alternative=None if isinstance(asked, PlanSet) else asked,
        instead=asked if isinstance(asked, PlanSet) else None,
        defaults=defaults,
    )


#: A continuous control has about this many steps.
STEPS = 100


def controls(schema: Schema, today: dict[str, Any], fixed: Collection[str] = ()) -> list[Feature]:
    """One control per feature of a fitted schema, in its order; `fixed` ones cannot change."""
    shown, kinds = [], schema.kinds()
    for name in schema.names:
        kind = schema.kind(name)
        common: dict[str, Any] = {
            "name": name,
            "kind": kinds[name],
            "unit": schema.unit(name),
            "change": "fixed" if name in fixed else kind.change,
            "weight": float(kind.weight),
        }
        shown.append(Feature(**common, **_offered(schema, name, today[name])))
    return shown


def _offered(schema: Schema, name: str, today: Any) -> dict[str, Any]:
    """What a control has to choose from, and what of it the history holds."""
    feature, levels = schema.kind(name), schema.levels(name)
    if isinstance(feature, Categorical):
        return {"values": to_plain(as_in_calendar(feature.categories or levels)), "recorded": to_plain(levels)}
    span = schema.dates(name)
    if span is not None:
        return {"recorded": to_plain(list(span))}
    low, high = schema.training_range(name)
    recorded = {"recorded": [low, high]}
    if isinstance(feature, Binary):
        return recorded
    low, high = min(low, float(today)), max(high, float(today))
    limits = {**recorded, "low": low, "high": high}
    if isinstance(feature, Continuous | Cyclic):
        handy = 1.0 if schema.kinds()[name] == "discrete" else handy_step(high - low)
        return {**limits, "step": handy if feature.step is None else float(feature.step)}
    if not levels and isinstance(feature, Discrete) and feature.step is not None:
        # Too many to choose from a list: a slider in whole steps.
        return {**limits, "step": feature.step}
    return {**limits, "values": sorted({*map(float, levels), float(today)})}


def handy_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that a hundred steps or somewhat more make up `span`.

    Examples
    --------
    >>> handy_step(37.0), handy_step(12.0), handy_step(600.0), handy_step(0.0)
    (0.2, 0.1, 5.0, 1.0)
    """
    if not 0 < span < math.inf:
        return 1.0
    lead, power = f"{span / STEPS:.6e}".split("e")
    return float(f"{max(step for step in (1, 2, 5) if step <= float(lead))}e{power}")
