"""An explanation in words reads well and stays true."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from tests.forests import paper_forest

import whence as wh
from whence.explain.explanation import Costs
from whence.explain.robust import WITHIN, Held, Rung
from whence.report.reliance import NEARLY

Make = Callable[..., wh.Explanation]
Change = tuple[Any, ...]


def changes(why: wh.Explanation) -> list[tuple[str, str]]:
    """Every feature that changes, and how its new value is written."""
    assert why.report.shown is not None
    return [(one.feature, one.to) for one in why.report.shown.changes]


def line(text: str, start: str) -> str:
    """The line of a text that begins with `start`."""
    (found,) = [one for one in text.split("\n") if one.startswith(start)]
    return found


def numbers(text: str) -> list[float]:
    """All numbers of a text, in order."""
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text)]


def test_one_change_is_told_in_full(make: Make, weekday: Change) -> None:
    """The whole text for one category that changes, word by word."""
    assert str(make([weekday])) == (
        "Decision: bread 60, cake 70.\n"
        "Your plan: bread 80, cake 70.\n"
        "Your plan would have been better than the decision if weekday were Saturday rather than Thursday. "
        "Nothing else has to change: temperature (7 °C), rain (off), promotion (off) and staff (4) stay as they are.\n"
        "Expected cost, as it is: 31.2 for the decision, 35.0 for your plan. "
        "In the changed context: 41.3 for the decision, 40.9 for your plan.\n"
        "Proved nearest, at distance 1: no nearer context would do."
    )


def test_costs_have_their_unit(make: Make, weekday: Change) -> None:
    """Every cost is told with the unit of costs, where there is one."""
    why = make([weekday], cost_unit="€", risk="CVaR at 0.9")
    assert line(str(why), "CVaR") == (
        "CVaR at 0.9 (mean of the worst 10 %), as it is: 31.2 € for the decision, 35.0 € for your plan. "
        "In the changed context: 41.3 € for the decision, 40.9 € for your plan."
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("rain", 0, 1, 1.0), "rain were on rather than off"),
        (("promotion", True, False, 1.0), "promotion were off rather than on"),
        (("staff", 4, 6, 0.5), "staff were 6 rather than 4"),
        (("weekday", "Thursday", "a, b", 1.0), "weekday were “a, b” rather than Thursday"),
        (("temperature", 7.0, 16.25, 0.3), "temperature were 16.25 °C rather than 7 °C"),
        (("temperature", 7.0, 16.2512345678, 0.3), "temperature were about 16.2512 °C rather than 7 °C"),
        (("temperature", 7.0, 7.00000001, 0.3), "temperature were 7.00000001 °C rather than 7 °C"),
    ],
)
def test_each_kind_of_change(make: Make, change: Change, said: str) -> None:
    """Switches, counts, categories and numbers with units are each told in their own way."""
    assert f"if {said}." in str(make([change]))


def test_two_and_three_changes_make_a_sentence(make: Make, every_change: list[Change]) -> None:
    """A few changes are listed with commas and an 'and'."""
    assert "if weekday were Saturday rather than Thursday and rain were on" in str(
        make([every_change[0], every_change[2]])
    )
    three = str(make([every_change[0], *every_change[2:4]]))
    assert "Thursday, rain were on rather than off and promotion were on rather than off." in three


def test_many_changes_are_listed_one_a_line(make: Make, every_change: list[Change]) -> None:
    """Five changes get a line each, and nothing is said to stay where nothing does."""
    text = str(make(every_change))
    assert "if these 5 things had been different together:" in text
    assert len(re.findall(r"^  - \w+: .+ rather than .+$", text, re.MULTILINE)) == 5
    assert "stay" not in text


def test_many_features_that_stay_are_counted(make: Make, weekday: Change) -> None:
    """Where many features stay, their number is given instead of their names."""
    kinds = {"weekday": "categorical"} | {f"x{i}": "continuous" for i in range(12)}
    assert "The other 12 features stay as they are." in str(make([weekday], kinds=kinds))


def test_a_value_in_its_room_is_rounded_on_the_safe_side(make: Make) -> None:
    """A rounded value lies in the room in which the verdict is the same, beyond the nearest value, and is short."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        start, move = rng.normal(0, 10 ** rng.uniform(-2, 4)), rng.normal(0, 10 ** rng.uniform(-2, 3))
        to, wide = start + move, abs(move) * 10 ** rng.uniform(-6, 1)
        low, high = (to, to + wide) if move > 0 else (to - wide, to)
        text = str(make([("temperature", start, to, 0.3)], room={"temperature": (low, high)}))
        shown = re.search(r"temperature were (-?[\d.]+) °C rather", text)
        assert shown is not None, text
        number = float(shown.group(1))
        assert low <= number <= high
        assert (number - to) * move >= 0
        assert abs(number - to) <= 0.05 * abs(move)
        assert len(shown.group(1)) <= 4 + max(0.0, np.log10(abs(to) / min(wide, 0.05 * abs(move))) + 2)


def test_costs_are_shown_so_that_the_verdict_is_visible(make: Make, weekday: Change) -> None:
    """However close both costs are, the numbers shown are in the order that the sentence claims."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        size = 10 ** rng.uniform(-3, 7)
        gap = size * 10 ** rng.uniform(-8, -1)
        base = rng.normal(0, size)
        costs = {"cost_before": Costs(base, base + gap), "paid_after": Costs(base + gap, base)}
        why = make([weekday], **costs, tolerance=1e-9 * size)
        decision, plan, decision_after, plan_after = numbers(line(str(why), "Expected cost"))
        assert decision < plan
        assert plan_after < decision_after


def test_costs_equal_within_the_tolerance_look_equal(make: Make, weekday: Change) -> None:
    """A plan that is dearer by less than the tolerance is as good, and its cost is not shown as larger."""
    why = make([weekday], paid_after=Costs(41.29999999, 41.30000001), tolerance=1e-6)
    assert "Your plan would have been as good as the decision if" in str(why)
    assert "In the changed context: 41.3 for the decision, 41.3 for your plan." in str(why)


def test_large_costs_have_no_needless_decimals(make: Make, weekday: Change) -> None:
    """Costs in the thousands are shown as whole numbers, without an exponent."""
    text = str(make([weekday], cost_before=Costs(1234567.0, 2345678.0), paid_after=Costs(3456789.0, 3000000.0)))
    assert "as it is: 1234567 for the decision, 2345678 for your plan." in text


def test_cvar_is_named_with_its_meaning(make: Make, weekday: Change) -> None:
    """Who does not know CVaR is told what it is the mean of."""
    text = str(make([weekday], risk="CVaR at 0.8"))
    assert line(text, "CVaR at 0.8 (mean of the worst 20 %), as it is: 31.2")


def test_absolute_explanations_speak_of_all_plans(make: Make, weekday: Change) -> None:
    """An absolute explanation says that no plan is better, not only that one plan is worse."""
    assert "No plan would have been better than yours if weekday were Saturday" in str(make([weekday], kind="absolute"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Your plan would have been within 2 % of the best if weekday were Saturday"),
        ({"within": 0.005}, "Your plan would have been within 0.5 % of the best if"),
        ({"status": "already"}, "Nothing has to change: your plan is within 2 % of the best in the context as it is."),
    ],
)
def test_a_share_of_the_best_is_named(make: Make, weekday: Change, given: dict[str, Any], said: str) -> None:
    """Where a share of the best plan's cost was allowed for, the sentence says how much."""
    assert said in str(make([weekday], **{"kind": "absolute", "within": 0.02, **given}))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("none", "there is no context in which your plan would have been within 2 % of the best."),
        ("time_limit", "No context was found in which your plan would have been within 2 % of the best."),
    ],
)
def test_no_share_of_the_best_is_reached(make: Make, status: str, said: str) -> None:
    """Also where there is no such context, or none was found."""
    assert said in str(make(status=status, kind="absolute", within=0.02, bound=0.1, seconds=1.0))


@pytest.mark.parametrize(("kind", "said"), [("relative", "your plan is as good as"), ("absolute", "no plan is better")])
def test_already(make: Make, kind: str, said: str) -> None:
    """Where the criterion holds as it is, the text says so and names no changed context."""
    text = str(make(status="already", kind=kind, cost_before=Costs(5.0, 5.0)))
    assert f"Nothing has to change: {said}" in text
    assert "changed context" not in text
    assert "It holds already" in text


def test_none_is_proved(make: Make) -> None:
    """Where no context exists, the text says that this is proved, and why."""
    text = str(make(status="none", note="every past observation costs more with it"))
    assert "Within the ranges of the history, there is no context in which your plan would have been as good" in text
    assert "The reason: every past observation costs more with it." in text
    assert "Proved: no such context exists." in text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"margin": (0.6, 0.0)}, "no context in which your plan would have been at least 60 % cheaper than"),
        ({"margin": (0.0, 9.0)}, "no context in which your plan would have been at least 9 cheaper than the decision"),
        ({"confidence": 1.0}, "your plan would have been better than the decision by 1 standard error over the trees."),
        (
            {"plausible": 0.1},
            "no context at least as usual as 10 % of the history in which your plan would have been as",
        ),
        ({"kind": "absolute", "confidence": 2.0}, "your plan would have been the best by 2 standard errors over the"),
        ({"kind": "absolute", "margin": (0.6, 0.0)}, "have been the best and at least 60 % cheaper than the decision."),
        ({"kind": "absolute", "plausible": 0.1}, "better than yours in every context at least as usual as 10 % of"),
        ({"among": "a route", "kind": "absolute", "plausible": 0.1}, "in no context at least as usual as 10 % of the"),
        (
            {"among": "a route", "kind": "absolute", "confidence": 2.0},
            "a route would have been the best plan by 2 stand",
        ),
        (
            {"among": "a route", "margin": (0.6, 0.0), "confidence": 2.0},
            "cheaper than the decision by 2 standard errors",
        ),
        (
            {"among": "another plan", "margin": (0.01, 0.0), "confidence": 2.0},
            "another plan at least 1 % cheaper by 2 s",
        ),
    ],
)
def test_none_claims_no_more_than_was_asked(make: Make, asked: dict[str, Any], said: str) -> None:
    """That there is no such context is said of what was proved: with the margin, the confidence and how usual it is."""
    text = str(make(status="none", **asked))
    assert said in text
    assert "as good as the decision." not in text or "plausible" in asked
    found = str(make(status="time_limit", bound=0.1, seconds=1.0, **asked))
    assert "was found in which" in found
    assert "as good as the decision." not in found or "plausible" in asked


def test_restrictions_are_part_of_what_is_proved(make: Make, weekday: Change) -> None:
    """Where contexts were ruled out, neither that there is none nor how far a plan stays is said of all contexts."""
    stays = {"among": "another plan", "margin": (0.01, 0.0), "distance": 1.0, "bound": 1.0}
    said = "stays within 1 % of the best in every context nearer than 1"
    assert f"{said} that your restrictions allow." in str(make([weekday], restricted=True, **stays))
    assert f"{said}. " in str(make([weekday], **stays))
    usual = f"{said} that is at least as usual as 10 % of the history"
    assert f"{usual}. " in str(make([weekday], plausible=0.1, **stays))
    assert f"{usual} and your restrictions allow." in str(make([weekday], plausible=0.1, restricted=True, **stays))
    assert "Within the ranges of the history and your restrictions, there" in str(make(status="none", restricted=True))


def test_absolute_none(make: Make) -> None:
    """Where the plan is best nowhere, the text says that another one is better everywhere."""
    assert "some other plan is better than yours in every context" in str(make(status="none", kind="absolute"))


def test_none_names_the_restrictions_in_the_way(make: Make, weekday: Change) -> None:
    """Where restrictions rule out every context, the text names them and what would be found without them."""
    text = str(make(status="none", blocking=["weekday"], unrestricted=make([weekday])))
    assert "Within the ranges of the history and your restrictions, there is no context" in text
    assert (
        "Your restriction stands in the way: weekday. Without it: Your plan would have been better than the decision "
        "if weekday were Saturday rather than Thursday." in text
    )
    both = str(make(status="none", blocking=["weekday", "staff"], unrestricted=make([weekday])))
    assert "Your restrictions stand in the way: weekday and staff. Without them:" in both


def test_none_where_lifting_restrictions_does_not_help(make: Make) -> None:
    """Where there is no context even without restrictions, or that is open, the text says so."""
    assert "It would not help to lift your restrictions" in str(make(status="none", unrestricted=make(status="none")))
    unknown = make(status="time_limit", bound=0.25, seconds=10.0)
    text = str(make(status="none", unrestricted=unknown))
    assert "Whether lifting your restrictions would help is open. None found within 10 s" in text


def test_time_limit(make: Make, weekday: Change) -> None:
    """A search that ran out of time tells its best distance and its bound, or its bound alone."""
    found = make([weekday], status="time_limit", bound=0.12, seconds=10.004)
    assert "Nearest found within 10 s, at distance 1; none nearer than 0.12 exists." in str(found)
    nothing = make(status="time_limit", bound=0.12, seconds=10.004)
    assert "No context was found in which your plan would have been as good as the decision." in str(nothing)
    assert "None found within 10 s; if there is one, it is no nearer than 0.12." in str(nothing)
    stopped = make([weekday], status="interrupted", bound=0.12, seconds=3.2)
    assert "Nearest found before the search was stopped at 3.2 s" in str(stopped)


def test_separation_of_neighbours_is_named(make: Make, weekday: Change) -> None:
    """Explanations by neighbours name the separation that makes the neighbours unambiguous."""
    assert "set apart from all others by at least 1e-06." in str(make([weekday], separation=1e-6))
    assert "set apart" not in str(make([weekday]))


def test_a_category_held_in_several_columns(make: Make) -> None:
    """A feature that the data holds as 0/1 columns is named although the context has no such entry."""
    why = make([("staff", 4, 6, 0.5)], kinds={"season": "categorical", "staff": "discrete"})
    assert "Nothing else has to change: season stays as it is." in str(why)


def test_a_real_explanation_in_words() -> None:
    """The text of an explanation that was searched for names the context that was found."""
    X = np.linspace(0.0, 10.0, 60)[:, None]
    Y = np.where(X < 5.0, 10.0, 30.0)
    policy = wh.Policy(wh.Newsvendor(holding=1, backorder=1), wh.KNNWeights(k=5)).fit(X, Y)
    why = policy.explain([1.0], instead=[30.0])
    assert why.status == "optimal"
    assert "Your plan would have been better than the decision if x0 were" in str(why)
    shown = numbers(line(str(why), "Your plan would"))
    assert 4.0 < shown[1] < 6.0


def test_what_is_said_can_be_typed_in_again() -> None:
    """The rounded values of real explanations, taken as a context of their own, satisfy what was asked."""
    told = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"a": rng.normal(1000, 3, 80), "b": rng.random(80) * 1e-3, "c": rng.choice(["u", "v"], 80)})
        Y = 20 + 3 * (X[["a"]] - 1000) + 20000 * X[["b"]].to_numpy() + rng.normal(0, 1, (80, 1))
        policy = wh.Policy(wh.Newsvendor(1, 3), paper_forest(n_trees=20, random_state=seed)).fit(X, Y.clip(0))
        for kind in ("relative", "absolute"):
            i, j = rng.integers(0, 80, 2)
            why = policy.explain(X.iloc[i], policy.decide(X.iloc[j]), kind=kind)
            if why.status != "optimal":
                continue
            typed = why.initial.copy()
            for name, to in changes(why):
                typed[name] = to if name == "c" else float(to)
                told += 1
            again = policy.explain(typed, why.alternative, kind=kind, decision=why.decision)
            assert again.status == "already", (seed, kind, typed.to_dict())
    assert told > 3


@pytest.mark.parametrize("weights", [paper_forest(n_trees=20, random_state=0), wh.KNNWeights(k=4)])
def test_every_number_printed_is_that_of_the_context(weights: Any) -> None:
    """What is not called "about" is the very number of `why.context`, or stands rounded beside that number."""
    rounded = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"a": rng.normal(1000, 3, 80), "b": rng.random(80).round(3), "n": rng.integers(0, 90, 80)})
        Y = 20 + 3 * (X[["a"]].to_numpy() - 1000) + 20 * X[["b"]].to_numpy() + rng.normal(0, 1, (80, 1))
        policy = wh.Policy(wh.Newsvendor(1, 3), weights).fit(X, Y.clip(0))
        why = policy.explain(X.iloc[[0]], policy.decide(X.iloc[1]))
        if why.status != "optimal":
            continue
        told = dict(changes(why))
        last = re.findall(r"(\w) (-?\d[\d.e-]*\d|\d)", "".join(str(why).partition("To the last digit")[1:]))
        exact = {name: float(number) for name, number in last if name in told}
        for name in X.columns:
            shown = told.get(name) or re.search(rf"\b{name} \((.+?)\)", str(why)).group(1)  # type: ignore[union-attr]
            if name in exact:
                rounded += 1
                assert exact[name] == why.context[name]
            elif not shown.startswith("about "):
                assert float(shown) == why.context[name]
            else:
                assert name not in told
        assert float(str(why.context["n"])) == int(why.context["n"])
    assert rounded > 1


class _Terminal(io.StringIO):
    """What a program prints to that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_lines_break_on_a_terminal(make: Make, every_change: list[Change], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal no line is longer than it is wide, lists stay lists and every word stays; elsewhere none breaks."""
    why = make(every_change, decision_text=" → ".join(f"Junction {i}" for i in range(40)))
    whole = str(why)
    assert max(map(len, whole.split("\n"))) > 200
    monkeypatch.setenv("COLUMNS", "60")
    assert str(why) == whole
    monkeypatch.setattr(sys, "stdout", _Terminal())
    print(why)
    shown = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, shown.split("\n"))) <= 60
    assert shown.split() == whole.split()
    assert shown.count("\n  - ") == whole.count("\n  - ") == 5


def test_quantities_of_zero_are_named() -> None:
    """A plan of nothing says of what."""
    problem = wh.Newsvendor(holding=1, backorder=1)
    assert problem.describe([0.0, 0.0], ["rolls", "rye"]) == "rolls 0, rye 0"
    assert problem.describe([0.0, 3.0], ["rolls", "rye"]) == "rye 3"
    assert problem.describe(np.zeros(20)) == "0 of each of 20 parts"


HEAD = "Decision: bread 60, cake 70.\nYour plan: bread 80, cake 70.\n"
COSTS = (
    "Expected cost, as it is: 31.2 for the decision, 35.0 for your plan. "
    "In the changed context: 41.3 for the decision, 40.9 for your plan.\n"
)
BEFORE = "Expected cost: 31.2 for the decision, 35.0 for your plan.\n"
BETTER = "Your plan would have been better than the decision if weekday were Saturday rather than Thursday."
FOUR_STAY = (
    "Nothing else has to change: temperature (7 °C), rain (off), promotion (off) and staff (4) stay as they are.\n"
)


def test_many_of_many_features_word_by_word(make: Make) -> None:
    """Fifteen changes among forty features: the twelve largest are listed in their order, the rest is counted."""
    rows = [(f"x{i}", 0.0, 1.0 + i, 0.1 if i in (2, 5, 7) else 0.3) for i in range(15)]
    initial = pd.Series({f"x{i}": 0.0 for i in range(40)}, dtype=object)
    why = make(rows, initial=initial, kinds=dict.fromkeys(initial.index, "continuous"), units={})
    lines = "".join(f"  - x{i}: {1 + i} rather than 0\n" for i in range(15) if i not in (2, 5, 7))
    assert str(why) == (
        f"{HEAD}Your plan would have been better than the decision if these 15 things had been different together:\n"
        f"{lines}  - and 3 more, none of them larger\nThe other 25 features stay as they are.\n{COSTS}"
        "Proved nearest, at distance 3.9: no nearer context would do."
    )


def test_restrictions_and_many_changes_word_by_word(make: Make, every_change: list[Change]) -> None:
    """Restrictions in the way of an explanation with many changes: every sentence on a line that begins with it."""
    free = make(every_change, room={"temperature": (16.2512, 18.0)})
    assert str(make(status="none", blocking=["weekday", "rain"], unrestricted=free)) == (
        f"{HEAD}Within the ranges of the history and your restrictions, there is no context in which your plan would "
        f"have been as good as the decision.\n{BEFORE}Proved: no such context exists.\n"
        "Your restrictions stand in the way: weekday and rain. Without them: Your plan would have been better than the "
        "decision if these 5 things had been different together:\n"
        "  - weekday: Saturday rather than Thursday\n  - temperature: 16.3 °C rather than 7 °C\n"
        "  - rain: on rather than off\n  - promotion: on rather than off\n  - staff: 6 rather than 4\n"
        "To the last digit, the nearest context has temperature 16.2512345678 °C. "
        "Proved nearest, at distance 3.8: no nearer context would do."
    )


@pytest.mark.parametrize(
    ("status", "bound", "said"),
    [
        ("time_limit", 0.12987, "Nearest found within 10 s, at distance 1; none nearer than 0.129 exists."),
        ("time_limit", 0.0, "Nearest found within 10 s, at distance 1; whether there is a nearer one is open."),
        (
            "interrupted",
            0.5,
            "Nearest found before the search was stopped at 10 s, at distance 1; none nearer than 0.5 exists.",
        ),
        ("optimal", 0.9999, "Near enough for the gap that was allowed, at distance 1; none nearer than 0.999 exists."),
    ],
)
def test_unfinished_searches_word_by_word(make: Make, weekday: Change, status: str, bound: float, said: str) -> None:
    """What was found, and a bound that is rounded down: nothing is claimed that was not proved."""
    why = make([weekday], status=status, bound=bound, seconds=10.0)
    assert str(why) == f"{HEAD}{BETTER} {FOUR_STAY}{COSTS}{said}"


@pytest.mark.parametrize(
    ("status", "bound", "said"),
    [
        ("time_limit", 0.12987, "None found within 10 s; if there is one, it is no nearer than 0.129."),
        ("time_limit", 0.0, "None found within 10 s; whether there is one is open."),
        ("interrupted", 0.0, "None found before the search was stopped at 10 s; whether there is one is open."),
    ],
)
def test_searches_without_a_find_word_by_word(make: Make, status: str, bound: float, said: str) -> None:
    """Nothing found: that is said, and what is known about where one could be."""
    lead = "No context was found in which your plan would have been as good as the decision.\n"
    assert str(make(status=status, bound=bound, seconds=10.0)) == f"{HEAD}{lead}{BEFORE}{said}"
    absolute = str(make(status=status, bound=bound, seconds=10.0, kind="absolute"))
    assert "No context was found in which no plan would have been better than yours.\n" in absolute


def test_none_and_already_word_by_word(make: Make) -> None:
    """The whole texts where nothing has to change, and where nothing helps."""
    assert str(make(status="none", kind="absolute")) == (
        f"{HEAD}Within the ranges of the history, some other plan is better than yours in every context.\n{BEFORE}"
        "Proved: no such context exists."
    )
    costs = Costs(5.0, 4.25)
    assert str(make(status="already", cost_before=costs, paid_after=costs)) == (
        f"{HEAD}Nothing has to change: your plan is better than the decision in the context as it is.\n"
        "Expected cost: 5.00 for the decision, 4.25 for your plan.\n"
        "It holds already, so there was nothing to search for."
    )


def test_long_plans_are_shortened(make: Make, weekday: Change) -> None:
    """Of a plan that would fill a page the beginning and the end are told, and how much is left out."""
    parts = [f"product {i} {i}.25" for i in range(200)]
    route = [f"junction {i}" for i in range(200)]
    why = make([weekday], decision_text=", ".join(parts), alternative_text=" → ".join(route))
    first, second, *_ = str(why).split("\n")
    for text, all_of_it, mark in ((first, parts, ", "), (second, route, " → ")):
        told = text.split(": ", 1)[1].removesuffix(".").split(mark)
        (gap,) = [i for i, part in enumerate(told) if part.startswith("…")]
        assert told[:gap] == all_of_it[:gap]
        assert told[gap + 1 :] == all_of_it[len(all_of_it) - len(told) + gap + 1 :]
        assert told[gap] == f"… ({len(all_of_it) - len(told) + 1} more) …"
        assert 300 < len(text) < 420
    shapeless = str(make([weekday], decision_text="x" * 1000)).split("\n")[0]
    assert shapeless == f"Decision: {'x' * 399}…."


def test_what_neighbours_say_can_be_typed_in_again() -> None:
    """Also numbers found by nearest neighbours are short, and satisfy what was asked when they are typed in."""
    told = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"a": rng.normal(1000, 3, 60), "b": rng.random(60) * 1e-3, "c": rng.choice(["u", "v"], 60)})
        Y = 20 + 3 * (X[["a"]] - 1000) + 20000 * X[["b"]].to_numpy() + rng.normal(0, 1, (60, 1))
        policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=4)).fit(X, Y.clip(0))
        for kind in ("relative", "absolute"):
            why = policy.explain(X.iloc[0], policy.decide(X.iloc[1]), kind=kind)
            typed = why.initial.copy()
            for name, to in changes(why):
                typed[name] = to if name == "c" else float(to.removeprefix("about "))
                told += name != "c" and not to.startswith("about ")
            if why.status == "optimal" and "about" not in str(why):
                again = policy.explain(typed, why.alternative, kind=kind, decision=why.decision)
                assert again.status == "already", (seed, kind, typed.to_dict())
    assert told > 5


def test_costs_are_never_bent_towards_the_verdict(make: Make, weekday: Change) -> None:
    """A plan that costs more within a wide tolerance is shown with its own cost, and the text says what counts."""
    why = make([weekday], cost_unit="€", paid_after=Costs(59.67, 68.57), tolerance=9.2)
    assert "In the changed context: 59.67 € for the decision, 68.57 € for your plan. " in str(why)
    assert "That counts as equal: within the tolerance of 9.2 €." in str(why)
    already = make([], status="already", cost_before=Costs(59.67, 68.57), paid_after=Costs(59.67, 68.57), tolerance=9.2)
    assert "59.67 for the decision, 68.57 for your plan. That counts as equal" in str(already)
    assert "counts as equal" not in str(make([weekday]))
    assert "counts as equal" not in str(make([weekday], paid_after=Costs(41.3, 41.30000001), tolerance=1e-4))


@pytest.mark.parametrize(
    ("chosen", "judged", "heading"),
    [
        ((10, 10), (9, 10), "Where refits agree"),
        ((9, 10), (7, 10), "Where refits agree"),
        ((9, 10), (6, 10), "Where most refits agree"),
        ((8, 10), (9, 10), "Where most refits agree"),
        ((3, 10), (2, 10), "Where refits agree most often"),
        ((0, 10), (0, 10), "Nothing to rely on"),
        ((3, 4), (0, 0), "How far you may rely on it"),
    ],
)
def test_heading_of_what_holds(chosen: tuple[int, int], judged: tuple[int, int], heading: str) -> None:
    """A heading never promises more than the refits bear out."""
    X = np.linspace(0, 1, 40)[:, None]
    forest = paper_forest(n_trees=5, random_state=0)
    policy = wh.Policy(wh.Newsvendor(1, 3), forest).fit(X, 10 + 20 * X)
    why = policy.explain([0.2], instead=[20.0], holds=0.9, refits="seed")
    assert why.reliance is not None
    counted = replace(why.reliance, chosen=Held(*chosen), judged=Held(*judged))
    shown = structs.replace(why, reliance=counted).report.shown
    assert shown is not None
    assert shown.where == heading
    stable = heading == "Where refits agree"
    assert shown.agreed.startswith("It is stable, which is not to say true: ") == stable
    # Refits do not know what is true.
    assert not shown.reliable
    if chosen == (9, 10) and not stable:
        assert shown.agreed.endswith("; of the 10 that had no say, 6.")


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (17, "It turns narrowly: only 17 of 20 refits agree."),
        (18, "It turns narrowly: 18 of 20 refits agree, but by too little to expect the same of others."),
        (20, "It turns narrowly: 20 of 20 refits agree, but by too little to expect the same of others."),
    ],
)
def test_as_many_refits_as_were_wanted_are_not_few(times: int, said: str) -> None:
    """Where the nearest explanation was passed over although enough refits agree, the sentence says why."""
    X = np.linspace(0, 1, 40)[:, None]
    policy = wh.Policy(wh.Newsvendor(1, 3), paper_forest(n_trees=5, random_state=0)).fit(X, 10 + 20 * X)
    why = policy.explain([0.2], instead=[20.0], holds=0.9, refits="seed")
    near = structs.replace(why, reliance=None, nearest=None, agreed=Held(times, 20))
    assert near.report.shown is not None
    assert near.report.shown.agreed == said
    assert said in str(structs.replace(why, nearest=near))
    # Of absolute explanations refits are asked for less, which is said.
    assert NEARLY == WITHIN
    for within, share in ((0.0, "1 %"), (0.05, "5 %")):
        best = structs.replace(near, kind="absolute", within=within)
        assert best.report.shown is not None
        assert f"{times} of 20 refits agree that it is within {share} of the best" in best.report.shown.agreed


@pytest.mark.parametrize(
    ("status", "kappa", "said"),
    [
        ("none", 4.0, "By 4 standard errors your plan is better in no context that is allowed."),
        ("time_limit", 4.0, "There was no time to look for a context in which more of them agree."),
        ("optimal", 7.0, "Even 7 standard errors are not enough."),
    ],
)
def test_why_no_more_refits_agree(status: str, kappa: float, said: str) -> None:
    """Where too few refits agree, the planner is told why no better context was found."""
    X = np.linspace(0, 1, 40)[:, None]
    policy = wh.Policy(wh.Newsvendor(1, 3), paper_forest(n_trees=5, random_state=0)).fit(X, 10 + 20 * X)
    why = policy.explain([0.2], instead=[20.0], holds=0.9, refits="seed")
    assert why.reliance is not None
    ladder = (Rung(0.0, "optimal", 0.1, 0.1, Held(3, 10)), Rung(kappa, status, 0.2, 0.2, Held(5, 10)))
    few = replace(why.reliance, chosen=Held(5, 10), judged=Held(4, 10), ladder=ladder)
    shown = structs.replace(why, reliance=few).report.shown
    assert shown is not None
    assert shown.agreed == f"Do not rely on it: only 9 of 20 refits agree (other random numbers, same data). {said}"
