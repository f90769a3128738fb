"""What a report draws from, apart from the explanation itself: small, and free of the history and of the problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from whence.report.observations import Observation, most_moved
from whence.report.routes import RouteMap
from whence.report.versions import versions

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["Material", "Plans", "material_of"]


#: How many observations that gain weight, and as many that lose it, are kept with their contexts.
KEPT = 8


@dataclass(frozen=True)
class Plans:
    """Both plans in a form that can be drawn.

    Attributes
    ----------
    form : {"quantities", "route", "other"}
        What a plan is.
    parts : list of str
        For quantities, the name of every one of them.
    decision, alternative : ndarray, list or other
        Quantities as arrays, routes as lists of nodes, anything else as it is.
    city : RouteMap or None
        For routes, their map where it is known.
    """

    form: Literal["quantities", "route", "other"]
    decision: Any
    alternative: Any
    parts: list[str] = field(default_factory=list)
    city: RouteMap | None = None


@dataclass(frozen=True)
class Material:
    """What a report draws from.

    Attributes
    ----------
    plans : Plans
        The two plans.
    gaining, losing : list of Observation
        The past observations whose weights move most; see `most_moved`.
    ranges : dict
        Smallest and largest past value of the numeric features that change.
    versions : dict
        Of everything that had a part in the result.
    fingerprints : dict
        Of model, history and problem; empty where they are not known.
    intact : bool or None
        Whether the file from which the explanation was read is as it was written; None where that is not known.
    """

    plans: Plans
    gaining: list[Observation]
    losing: list[Observation]
    ranges: dict[str, tuple[float, float]]
    versions: dict[str, str]
    fingerprints: dict[str, Any] = field(default_factory=dict)
    intact: bool | None = None


def material_of(explanation: Explanation) -> Material:
    """What `explanation` carries with it, or what its history and its problem tell.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> plans = material_of(policy.explain([0.2], instead=[20.0])).plans
    >>> plans.form, plans.parts, plans.decision.tolist()
    ('quantities', ['y0'], [10.0])
    """
    if explanation.material is not None:
        return explanation.material
    gaining, losing = most_moved(explanation, KEPT)
    origin = explanation.origin
    fingerprints = {} if origin is None else origin.fingerprints()
    return Material(_plans(explanation), gaining, losing, _ranges(explanation), versions(), fingerprints)


def _plans(explanation: Explanation) -> Plans:
    problem, pair = explanation.problem, (explanation.decision, explanation.alternative)
    if problem is None:
        return Plans("other", *pair)
    shown = problem.shown(*pair, explanation.outcomes)
    return Plans(shown.form, shown.decision, shown.alternative, shown.parts, shown.map)


def _ranges(explanation: Explanation) -> dict[str, tuple[float, float]]:
    history = explanation.history
    if history is None:
        return {}
    numeric = [
        str(name)
        for name in explanation.changes["feature"]
        if explanation.kinds.get(str(name)) in ("continuous", "discrete")
        and str(name) in history.columns
        and pd.api.types.is_numeric_dtype(history[str(name)].dtype)
    ]
    return {name: (float(history[name].min()), float(history[name].max())) for name in numeric}
