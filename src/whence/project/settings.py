"""The sections [weights], [risk] and [explain]."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from whence.aliases import Kind
from whence.engines import engine_names
from whence.project.findings import nearest
from whence.project.source import COUNT, POSITIVE, SEED, TEXTS, Rule, Section, is_number, one_of
from whence.risk import CVaR, Expectation
from whence.weights import ForestWeights, KNNWeights

__all__ = ["Asking", "read_asking", "read_risk", "read_weights"]

DEPTH = Rule(
    "a whole number of at least 1, or 'none'", lambda value: value == "none" or (COUNT.fits(value) and value < 10_000)
)
SHARE = Rule(
    "'sqrt', 'log2', a whole number of features or a share of them in (0, 1]",
    lambda value: value in ("sqrt", "log2") or COUNT.fits(value) or (is_number(value) and 0 < value <= 1),
)
PART = Rule(
    "a number of at least 0, such as 0.02 for 2 %", lambda value: is_number(value) and 0 <= value < float("inf")
)
ALPHA = Rule("a number in [0, 1)", lambda value: is_number(value) and 0 <= value < 1)


@dataclass(frozen=True)
class Asking:
    """How questions are asked unless a call says otherwise."""

    kind: Kind = "relative"
    within: float = 0.0
    time_limit: float | None = None
    fixed: tuple[str, ...] = ()
    engine: str = "auto"

    def options(self, **given: Any) -> dict[str, Any]:
        """Arguments of `Policy.explain`: these defaults, and over them what is given and not None."""
        defaults = {"kind": self.kind, "time_limit": self.time_limit, "fixed": self.fixed, "engine": self.engine}
        found = {**defaults, **{name: value for name, value in given.items() if value is not None}}
        # The project's share belongs to its absolute questions; one that is given is judged by `explain`.
        return {"within": self.within if found["kind"] == "absolute" else 0.0, **found}


def read_weights(weights: Section) -> ForestWeights | KNNWeights:
    """The weights, a forest by default; a seed of 0 by default, so that the same project decides alike every time."""
    kind = weights.take("kind", one_of("forest", "knn"), "forest")
    if weights.table.get("kind", kind) != kind:
        # Which of the other keys belong here is not known.
        return ForestWeights()
    made: ForestWeights | KNNWeights
    if kind == "knn":
        made = KNNWeights(k=weights.take("k", COUNT, 10))
    else:
        depth = weights.take("max_depth", DEPTH, 4)
        made = ForestWeights(
            n_trees=weights.take("n_trees", COUNT, 100),
            max_depth=None if depth == "none" else depth,
            max_features=weights.take("max_features", SHARE, "sqrt"),
            random_state=weights.take("random_state", SEED, 0),
            min_samples_leaf=weights.take("min_samples_leaf", COUNT, 1),
        )
    weights.close()
    return made


def read_risk(risk: Section) -> Expectation | CVaR:
    """The risk, the expected cost by default."""
    kind = risk.take("kind", one_of("expectation", "cvar"), "expectation")
    made: Expectation | CVaR = Expectation()
    if kind == "cvar":
        alpha = risk.need("alpha", ALPHA)
        made = CVaR(0.0 if alpha is None else float(alpha))
    risk.close()
    return made


def read_asking(explain: Section, features: Collection[str]) -> Asking:
    """How questions are asked by default."""
    fixed = explain.take("fixed", TEXTS, [])
    for name in fixed:
        if features and name not in features:
            explain.error("fixed", f"names {name!r}, which is no feature.{nearest(name, features)}")
    limit = explain.take("time_limit", POSITIVE)
    made = Asking(
        kind=explain.take("kind", one_of("relative", "absolute"), "relative"),
        within=float(explain.take("within", PART, 0.0)),
        time_limit=None if limit is None else float(limit),
        fixed=tuple(fixed),
        engine=explain.take("engine", one_of(*engine_names()), "auto"),
    )
    explain.close()
    return made
