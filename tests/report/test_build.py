"""The report of an explanation: computed once, plain data, the same without the policy's parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

import whence as wh
from whence.report.document import Report

Make = Callable[..., wh.Explanation]
Change = tuple[Any, ...]


def test_a_report_is_computed_once(make: Make, weekday: Change) -> None:
    """Whoever asks gets the same report, and the text is one of its entries."""
    why = make([weekday])
    assert why.report is why.report
    assert str(why) == why.report.text


def test_a_report_is_plain_data(make: Make, every_change: list[Change]) -> None:
    """As JSON and back, a report is the same."""
    report = make(every_change).report
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report


def test_a_light_explanation_has_the_same_report(make: Make, weekday: Change) -> None:
    """Without its source an explanation shows the same, and knows the same of it."""
    why = make(status="none", blocking=["weekday"], unrestricted=make([weekday]), cost_unit="€", risk="CVaR at 0.9")
    light = why.light()
    assert light.source is None
    assert light.report == why.report
    for name in ("risk", "kinds", "units", "cost_unit", "outcomes", "decision_text", "alternative_text"):
        assert getattr(light, name) == getattr(why, name), name


def test_the_bins_hold_all_of_the_weight(make: Make, weekday: Change) -> None:
    """In either context the bins of either plan sum to 1, on common edges, and none is above the highest."""
    spread = make([weekday]).report.spread
    assert spread is not None
    assert [panel.heading for panel in spread.panels] == ["The context as it is", "The changed context"]
    for panel in spread.panels:
        for masses in (panel.decision, panel.alternative):
            assert len(masses) == len(spread.edges) - 1
            assert sum(masses) == pytest.approx(1.0)
            assert max(masses) <= spread.highest
    assert make(status="none").report.spread.panels[1:] == []  # type: ignore[union-attr]


def test_shown_changes_can_be_typed_in(make: Make) -> None:
    """A change is shown rounded inside its room, as a text and as the number to type, with the exact one beside it."""
    why = make([("temperature", 7.0, 16.2512345678, 0.3)], room={"temperature": (16.2512, 18.0)})
    assert why.report.shown is not None
    (change,) = why.report.shown.changes
    assert (change.from_, change.to, change.value) == ("7 °C", "16.3 °C", 16.3)
    assert change.exact == "16.2512345678 °C"


def test_rows_without_a_weight_are_left_out(make: Make, weekday: Change) -> None:
    """Observations without a weight in either context need no place in a document."""
    weights = np.zeros(30)
    weights[[3, 7]] = 0.5
    seen = make([weekday], weights_before=weights, weights_after=weights[::-1].copy()).report.observations
    assert (seen.count, seen.rows) == (30, [3, 7, 22, 26])
    assert seen.weights_before == [0.5, 0.5, 0.0, 0.0]
