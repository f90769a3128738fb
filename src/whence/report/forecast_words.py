"""What a policy forecasts in both contexts, as data and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.report.document import ForecastEntry, Report
from whence.report.numbers import aligned
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["forecast_in_words", "forecast_of"]

#: Most forecasts that are told one by one.
TOLD = 4
#: Changes of a forecast that are smaller than this share of it are not worth telling.
SAME = 1e-9


def forecast_of(explanation: Explanation) -> ForecastEntry | None:
    """The forecasts of an explanation; None where the policy makes none."""
    found = explanation.forecast
    if found is None:
        return None
    names = [str(name) for name in explanation.outcomes]

    def named(values: Floats) -> dict[str, float]:
        return dict(zip(names, map(float, values), strict=True))

    return ForecastEntry(
        before=named(found.before),
        after=None if found.after is None else named(found.after),
        costs_decision=None if found.decision_after is None else found.decision_after.tolist(),
        costs_alternative=None if found.alternative_after is None else found.alternative_after.tolist(),
    )


def forecast_in_words(report: Report) -> str:
    """What is forecast as it is and in the changed context, or only the former where there is no other."""
    found = report.forecast
    if found is None:
        return ""
    if found.after is None or report.status == "already":
        if len(found.before) > TOLD:
            return ""
        return _sentence(
            "Forecast, as it is", [f"{name} {text[0]}" for name, text in _texts(found, list(found.before))]
        )
    after = found.after
    moved = {name: abs(after[name] - value) for name, value in found.before.items()}
    changed = [name for name in moved if moved[name] > SAME * max(abs(found.before[name]), abs(after[name]))]
    changed.sort(key=lambda name: -moved[name])
    said = [f"{name} {text[1]} rather than {text[0]}" for name, text in _texts(found, changed[:TOLD])]
    if not said:
        return ""
    others = len(changed) - len(said)
    more = "" if not others else " One other changes less." if others == 1 else f" {others} others change less."
    return _sentence("Forecast there", said) + more


def _texts(found: ForecastEntry, names: list[str]) -> list[tuple[str, list[str]]]:
    after = found.after or found.before
    return [(name, list(aligned([(found.before[name], after[name])])[0])) for name in names]


def _sentence(heading: str, parts: list[str]) -> str:
    return f"{heading}: {'; '.join(parts)}."
