"""Regions as rules: contexts drawn in the user's units inside the conditions, judged by the policy itself."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from tests.asking import varied
from tests.blocks import seeds
from tests.cases import CATEGORIES, Case, cases
from tests.explain.test_margin import asked
from tests.forests import paper_forest

import whence as wh
from whence.examples import bakery
from whence.report.document import RegionCondition, RegionEntry

BLOCKS, SEEDS, DRAWN = 6, 20, 1000


def drawn(case: Case, why: wh.Explanation, region: RegionEntry, rng: np.random.Generator) -> pd.DataFrame:
    """Random contexts that the question allows and that keep all conditions, as a user would write them."""
    schema, question = case.policy.schema_, why.question
    assert question is not None
    assert why.context is not None
    space = question.space
    offset, scale = schema.affine()
    owner = np.array(schema.feature_of_coordinate())
    said = {one.feature: one for one in region.conditions}
    table: dict[str, Any] = {}
    for name in schema.names:
        at, condition = np.flatnonzero(owner == name), said.get(name)
        if schema.kinds()[name] == "categorical":
            levels = schema.categories(name)
            free = [x for x, j in zip(levels, at, strict=True) if space.upper[j] > 0 or space.start[j] > 0]
            allowed = free if condition is None else list(condition.values or ())
            chosen = rng.choice(np.array(allowed, dtype=object), DRAWN)
            if name in why.context.index:
                table[name] = chosen
            else:
                table.update({f"{name}_{level}": (chosen == level).astype(int) for level in CATEGORIES})
            continue
        (j,) = at
        low, high = offset[j] + scale[j] * space.lower[j], offset[j] + scale[j] * space.upper[j]
        if condition is not None and condition.values is not None:
            table[name] = rng.choice(np.array(condition.values), DRAWN)
            continue
        if condition is not None:
            low = low if condition.low is None else max(low, condition.low)
            high = high if condition.high is None else min(high, condition.high)
        if space.levels[j] is not None:
            levels = offset[j] + scale[j] * space.levels[j]
            levels = levels[(levels >= low - 1e-9) & (levels <= high + 1e-9)].round(9)
            values = rng.choice(levels, DRAWN) if levels.size else np.full(DRAWN, why.context[name])
            table[name] = values.astype(bool) if schema.kinds()[name] == "binary" else values
        else:
            ends = (low, high) if low <= high else (float(why.context[name]),) * 2
            table[name] = np.where(rng.random(DRAWN) < 0.2, rng.choice(ends, DRAWN), rng.uniform(*ends, DRAWN))
    return pd.DataFrame(table)[list(why.context.index)]


def over(case: Case, why: wh.Explanation, table: pd.DataFrame) -> np.ndarray:
    """By how much the alternative costs more than it may, context by context."""
    policy, risk = case.policy, case.policy.risk_
    rows = policy._inputs(table)
    # Contexts in the same leaves of all trees are alike: one of them is judged.
    leaves = np.array([tree.apply(rows.astype(np.float32)) for tree in policy.weights_.trees]).T
    _, first, same = np.unique(leaves, axis=0, return_index=True, return_inverse=True)
    costs = policy.Y_.T
    rivals = costs if why.kind == "absolute" else costs[case.decision : case.decision + 1]
    if why.confidence:
        found = []
        for row in rows[first]:
            trees = policy.weights_.per_tree(row)
            assert trees is not None
            values = risk.by_tree(costs[case.instead], trees) - risk.by_tree(rivals[0], trees)
            spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            found.append(values.mean() + why.confidence * spread)
    else:
        weights = policy.weights_.weights(rows[first])
        found = [risk.of(costs[case.instead], w) - min(risk.of(rival, w) for rival in rivals) for w in weights]
    return np.array(found)[same.ravel()]


def inside(condition: RegionCondition, value: Any) -> bool:
    """Whether a value keeps a condition."""
    if condition.values is not None:
        return value in condition.values
    above = condition.low is None or float(value) >= condition.low
    return above and (condition.high is None or float(value) <= condition.high)


@pytest.mark.parametrize("block", seeds(2, BLOCKS))
@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_contexts_inside_the_conditions(block: int, confidence: float) -> None:
    """Numbers, whole numbers, categories, 0/1 columns, switches, restrictions; both kinds and risks."""
    looked = 0
    for seed in range(SEEDS * block, SEEDS * (block + 1)):
        case = cases(seed, 1)[0]
        if confidence:
            case = case.but(kind="relative")
        why = asked(case, confidence=confidence)
        if why.context is None:
            continue
        region = why.region()
        values = case.policy.schema_.feature_values(why.context)
        for condition in region.conditions:
            assert inside(condition, values[condition.feature]), (seed, condition, values)
        if not region.proved:
            continue
        looked += 1
        table = drawn(case, why, region, np.random.default_rng(seed))
        worst = over(case, why, table)
        at = int(worst.argmax())
        slack = 1e-9 * float(np.abs(case.policy.Y_).max())
        assert worst[at] <= why.tolerance + slack, (seed, table.iloc[at].to_dict(), region)
    assert looked > SEEDS // 4


def test_rounded_numbers_stay_inside() -> None:
    """The numbers of the sentence are inside the region, and on the side of the end that they stand for."""
    told = 0
    for seed in range(120):
        case = cases(seed, 1)[0].but(kind="relative")
        why = asked(case)
        if why.context is None:
            continue
        for condition in why.region().conditions:
            if condition.values is not None:
                continue
            text = condition.text.split(" is ", 1)[1].replace("\u2212", "-").replace(",", "")
            numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]
            told += 1
            for number in numbers:
                assert inside(condition, number), (seed, condition)
            assert numbers == sorted(numbers)
            assert ("at least" in text) == (condition.high is None)
            assert ("at most" in text) == (condition.low is None)
    assert told > 20


def test_rules_are_no_finer_than_the_data() -> None:
    """Ends of a number that is recorded in tenths are told in tenths."""
    rng = np.random.default_rng(8)
    X = pd.DataFrame({"temp": rng.normal(15, 7, 150).round(1)})
    Y = 60 + 3 * X[["temp"]].to_numpy() + rng.normal(0, 3, (150, 1))
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(n_trees=30, random_state=0)).fit(X, Y)
    told = set()
    for at in range(0, 60, 3):
        why = policy.explain(X.iloc[at], instead=policy.decide(X.iloc[at + 60]))
        if why.status == "optimal":
            told.update(re.findall(r"-?\d+\.?\d*(?= and|:|$)", why.region().conditions[0].text.partition(" is ")[2]))
    assert len(told) > 5
    assert all(len(text.partition(".")[2]) <= 1 for text in told), told


def test_the_share_is_that_of_the_history() -> None:
    """Counted in the user's units."""
    for seed in range(40):
        case = cases(seed, 1, weights="forest", plain=True)[0].but(kind="relative")
        why = asked(case)
        if why.context is None:
            continue
        region = why.region()
        rows = [case.policy.schema_.feature_values(row) for _, row in case.policy.X_.iterrows()]
        counted = np.mean([all(inside(one, row[one.feature]) for one in region.conditions) for row in rows])
        assert region.share == pytest.approx(counted), (seed, region)


def test_words() -> None:
    """A sentence, a table, and why there is no rule where there is none."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"temperature": rng.normal(20, 6, 200).round(1), "day": rng.choice(["Mon", "Sat", "Sun"], 200)})
    Y = 10 + X[["temperature"]].to_numpy() + 30 * (X[["day"]] != "Mon").to_numpy()
    schema = wh.Schema({"temperature": wh.Continuous(unit="°C")})
    policy = wh.Policy(wh.Newsvendor(1, 3), paper_forest(30, 4, random_state=0), schema=schema).fit(X, Y)
    why = policy.explain({"temperature": 20.0, "day": "Mon"}, [55.0], confidence=2.0)
    region = why.region()
    assert region.short
    assert region.maximal
    assert str(region).startswith("Your plan is better whenever ")
    assert "temperature is at least 26.4 °C" in str(region)
    assert region.frame.columns.tolist() == ["feature", "low", "high", "values"]
    assert str(region).endswith("of past contexts.")
    # One's own decision is not better than itself.
    today = {"temperature": 20.0, "day": "Mon"}
    same = policy.explain(today, policy.decide(today)).region()
    assert str(same) == "Both plans cost the same everywhere: 100 % of past contexts."


def test_the_sentence_claims_what_was_asked() -> None:
    """What stays true inside is what was asked for, and no more: within 30 % of the best is not the best."""
    example = bakery.load(n=150)
    policy = example.policy.fit(example.X, example.Y)
    plan = policy.decide(example.X.iloc[12])

    def told(**asked: Any) -> str:
        return str(policy.explain(example.today, plan, **asked).region())

    assert told(kind="absolute", within=0.3).startswith("Your plan is within 30 % of the best whenever ")
    assert told(margin=0.1).startswith("Your plan is at least 10 % cheaper than the decision whenever ")
    assert told(margin=(3, "cost")).startswith("Your plan is at least 3 € cheaper than the decision whenever ")
    # What the question rules out is not among the conditions.
    within = policy.explain(example.today, plan, bounds={"temperature": (5.0, 9.0)})
    assert ", within your restrictions: " in str(within.region())
    assert "the decision costs over 1 % more than the other plan" in str(policy.explain(example.today).region()).lower()


def test_no_time_for_a_region() -> None:
    """It says so instead of a rule."""
    case = cases(3, 1, weights="forest", plain=True)[0].but(kind="relative")
    why = asked(case)
    if why.context is not None:
        assert "rule" in str(why.region(time_limit=1e-9)).lower() or why.region(time_limit=1e-9).proved


@pytest.mark.parametrize("seed", [7, 26])
def test_rules_of_both_answers_are_verified(seed: int) -> None:
    """The rule of the nearest explanation is found again beside that of the other, and a wrong one is noticed."""
    [case] = cases(seed, 1, weights="forest")
    why = asked(case, holds=0.9, refits="seed").with_rule(None, nearest=True)
    assert why.nearest is not None
    assert why.rule is not None
    assert why.nearest.rule is not None and why.nearest.rule.maximal  # noqa: PT018
    assert why.light().verify(case.policy).differences == []
    wrong = structs.replace(
        why.nearest, rule=structs.replace(why.nearest.rule, share=0.5 * why.nearest.rule.share + 0.25)
    )
    differences = structs.replace(why, nearest=wrong).light().verify(case.policy).differences
    assert any("nearest.region.share" in one for one in differences), differences


def test_a_rule_that_ran_out_of_time_is_checked() -> None:
    """It must be true as it is: with a condition less it is not, and the share of a box is not all that is compared."""
    wider = 0
    for seed in range(40):
        case = cases(seed, 1, weights="forest")[0].but(kind=("relative", "absolute")[seed % 2])
        why = asked(case, confidence=float(seed % 3 == 0) if case.kind == "relative" else 0.0)
        if why.context is None:
            continue
        why = why.with_rule(None)
        rule = why.rule
        assert rule is not None
        short = structs.replace(why, rule=structs.replace(rule, maximal=False)).light()
        assert short.verify(case.policy).differences == [], seed
        for condition in rule.conditions if rule.proved else ():
            others = [one for one in rule.conditions if one is not condition]
            wrong = structs.replace(why, rule=structs.replace(rule, conditions=others, maximal=False)).light()
            assert "The rule is not true everywhere in its region." in wrong.verify(case.policy).differences, seed
            wider += 1
    assert wider > 10


def test_quantities_with_confidence() -> None:
    """The best quantities of every context of a region are those of a list, and the alternative stands against them."""
    proved = wide = 0
    for seed in range(24):
        rng = np.random.default_rng([seed, 3])
        X = pd.DataFrame(rng.uniform(0.0, 10.0, (40, 2)).round(1), columns=["sun", "wind"])
        Y = (
            20.0 + 3.0 * X.to_numpy() @ rng.normal(size=(2, 1 + seed % 2)) + rng.normal(size=(40, 1 + seed % 2))
        ).round()
        unit = (1.0, 1e9, 1e-9)[seed % 3]
        policy = wh.Policy(wh.Newsvendor(unit * 1.0, unit * 2.0), paper_forest(8, 2, random_state=seed)).fit(X, Y)
        plan = policy.decide(X.iloc[1])
        why = policy.explain(X.iloc[0], plan, kind="absolute", confidence=0.5, within=0.5)
        if why.context is None:
            continue
        assert why.question is not None
        # As if there were too many cells to look at.
        region = structs.replace(why, question=varied(why.question, region_looks=0)).region()
        proved += region.proved
        if not region.proved:
            continue
        ends = {one.feature: (one.low, one.high) for one in region.conditions}
        table = pd.DataFrame({c: rng.uniform(X[c].min(), X[c].max(), 4000) for c in X})
        for name, (low, high) in ends.items():
            table = table[table[name].between(-np.inf if low is None else low, np.inf if high is None else high)]
        wide += len(table) > 50
        mine = policy.problem.costs(plan, Y)
        for _, point in table.iloc[:60].iterrows():
            best = policy.problem.costs(policy.decide(point), Y)
            trees = policy.weights_.per_tree(policy.inputs_of(point))
            values = trees @ (mine - 1.5 * best)
            over = values.mean() + 0.5 * values.std(ddof=1) / np.sqrt(len(values))
            assert over <= why.tolerance + 1e-9 * float(np.abs(mine).max()), (seed, point.to_dict(), region)
    assert min(proved, wide) > 5


def test_what_no_context_means() -> None:
    """Where there is none, no context is inside, and no refit is asked; where there was no time, that is said."""
    case = next(c for seed in range(99) for c in cases(seed, 1) if asked(c).status == "none")
    why = asked(case)
    region, held = why.region(), why.held()
    assert (str(region), region.conditions, region.share, region.short) == (
        "No rule: there is no such context.",
        [],
        0.0,
        False,
    )
    assert (held, held.share, held.sentence) == ((0, 0), 0.0, "No refit was asked.")
    assert structs.replace(why, status="time_limit").region().sentence == "No rule: no such context was found in time."
