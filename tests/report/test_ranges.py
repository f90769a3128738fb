"""A rule as it is drawn: places on the range of a feature, and values of categories."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.cases import cases
from tests.explain.test_margin import asked

import whence as wh
from whence.examples import bakery
from whence.report.document import RegionCondition, RegionEntry, Report, ShownRange
from whence.report.words import VALUES_DRAWN, ranges_of


@pytest.fixture(scope="module")
def report() -> Report:
    """Of an explanation, with its rule."""
    example = bakery.load(n=150)
    policy = example.policy.fit(example.X, example.Y)
    return policy.explain(example.today, example.alternative, kind="absolute").with_rule().report


def drawn(report: Report, *conditions: RegionCondition, short: bool = True) -> list[ShownRange]:
    """The ranges of a rule with these conditions."""
    region = RegionEntry(sentence="", conditions=list(conditions), share=0.5, maximal=True, proved=True, short=short)
    return ranges_of(msgspec.structs.replace(report, region=region))


def number(**more: object) -> RegionCondition:
    """A condition on a temperature between -10 and 30."""
    given = {"low": None, "high": None, "room": [-10.0, 30.0], "was": 0.0, "found": 20.0, **more}
    return RegionCondition(feature="temperature", text="temperature is so", **given)


def test_numbers_are_parts_of_a_line(report: Report) -> None:
    """Ends that are free reach to the end of the line, which itself reaches to both contexts."""
    [one] = drawn(report, number(low=10.0))
    assert (one.begin, one.end, one.was, one.found) == (0.5, 1.0, 0.25, 0.75)
    assert one.ends == ["-10 °C", "30 °C"]
    [one] = drawn(report, number(high=10.0, was=50.0, found=5.0))
    assert (one.begin, one.end, one.was, one.found) == (0.0, pytest.approx(20 / 60), 1.0, pytest.approx(15 / 60))
    assert one.ends == ["-10 °C", "50 °C"]
    [one] = drawn(report, number(low=3.0, high=3.0, room=[3.0, 3.0], was=3.0, found=3.0))
    assert 0.0 <= one.begin <= one.end <= 1.0


def test_values_are_listed(report: Report) -> None:
    """Those that the rule allows for come first where there are too many to list, and none is lost count of."""
    every = [f"shop {i}" for i in range(40)]
    condition = RegionCondition(
        feature="weekday", text="", values=["shop 39", "shop 7"], known=every, was="shop 20", found="shop 7"
    )
    [one] = drawn(report, condition)
    assert len(one.values) == VALUES_DRAWN
    assert one.left_out == 40 - VALUES_DRAWN
    marked = {value.text: (value.inside, value.was, value.found) for value in one.values}
    assert marked["shop 39"] == (True, False, False)
    assert marked["shop 7"] == (True, False, True)
    assert marked["shop 20"] == (False, True, False)
    assert list(marked) == sorted(marked, key=every.index)
    switch = RegionCondition(feature="rain", text="", values=[True], known=[False, True], was=0, found=1)
    [one] = drawn(report, switch)
    off, on = [(value.text, value.inside, value.found) for value in one.values]
    assert (off, on) == (("off", False, False), ("on", True, True))


def test_what_is_not_worth_telling_is_not_drawn(report: Report) -> None:
    """Neither a rule with many conditions nor one of a document that was written before rules were drawn."""
    assert drawn(report, number(low=1.0), short=False) == []
    assert drawn(report, RegionCondition(feature="temperature", low=3.0, text="")) == []
    assert ranges_of(msgspec.structs.replace(report, region=None)) == []


def test_ranges_say_what_the_conditions_say() -> None:
    """Of random questions with every kind of feature: the context found lies inside, and ends are where they should."""
    seen = 0
    for seed in range(20):
        [case] = cases(seed, 1, weights="forest")
        why = asked(case)
        if why.context is None or why.status not in ("optimal", "already"):
            continue
        why = why.with_rule()
        assert why.rule is not None
        shown = why.report.shown
        assert shown is not None
        again = wh.Explanation.from_dict(why.to_dict())
        assert again.report.shown == shown
        assert [one.feature for one in shown.ranges] == (
            [one.feature for one in why.rule.conditions] if why.rule.short else []
        )
        for one, condition in zip(shown.ranges, why.rule.conditions, strict=False):
            seen += 1
            if one.values:
                assert [value.inside for value in one.values if value.found] == [True]
                assert sum(value.was for value in one.values) == 1
                assert sum(value.inside for value in one.values) == len(condition.values or ())
                assert len(one.values) == len(condition.known or ())
                continue
            assert one.was is not None
            assert one.found is not None
            assert one.begin - 1e-9 <= one.found <= one.end + 1e-9
            assert condition.room is not None
            low, high = condition.room
            for number_, place in ((condition.low, one.begin), (condition.high, one.end)):
                if number_ is not None and high > low:
                    assert place == pytest.approx(np.clip((number_ - low) / (high - low), 0, 1), abs=1e-6)
    assert seen > 10
