"""Past observations that do not count alike: weights by their definition, and explanations against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from tests.blocks import seeds
from tests.cases import Case, OneOf
from tests.forests import paper_forest
from tests.knn_reference import nearest_by_vertices
from tests.soaking import disagreement, forest_case, neighbour_case

import whence as wh
from whence.errors import InputError
from whence.policy import Policy
from whence.risk import Expectation
from whence.weights import ForestWeights, KNNWeights, Weights
from whence.weights.refits import Descent, Refits

#: What rows count for: whole numbers, decimals, ages, amounts that differ by far.
AMOUNTS = ((1.0, 2.0, 3.0), (0.1, 0.2, 0.7, 1.0), (0.9, 0.81, 0.729), (1e-9, 1.0, 1e9))


def amounts(seed: int, n: int, zeros: bool) -> np.ndarray:
    """What `n` rows count for; with `zeros`, some count for nothing."""
    rng = np.random.default_rng([seed, 18])
    found = rng.choice(AMOUNTS[seed % len(AMOUNTS)], n)
    if zeros and rng.random() < 0.5:
        found[rng.random(n) < 0.2] = 0.0
    found[0] = 1.0
    return found


def counting(case: Case, given: np.ndarray) -> Case:
    """The same question about the policy fitted to rows that count for so much, with what it then decides."""
    old = case.policy
    policy = clone(old).fit(old.X_, old.Y_, sample_weight=given)
    weights = policy.weights_at(case.context)
    decision = int(np.argmin([policy.risk_.of(column, weights) for column in policy.Y_.T]))
    instead = case.instead if case.instead != decision else case.decision
    return case.but(policy=policy, decision=decision, instead=instead if instead != decision else (decision + 1) % 2)


def by_definition(policy: Policy, context: Any, given: np.ndarray) -> np.ndarray:
    """Weights of a forest, tree by tree and row by row."""
    seen = policy.inputs_of(policy.schema_.row(context)).astype(np.float32)[None, :]
    past = policy._inputs(policy.X_).astype(np.float32)
    total = np.zeros(len(past))
    for tree in policy.weights_.trees:
        leaf, of = tree.apply(seen)[0], tree.apply(past)
        for i in range(len(past)):
            if of[i] == leaf:
                total[i] += given[i] / given[of == leaf].sum() / len(policy.weights_.trees)
    return total


def test_weights_are_those_of_their_definition() -> None:
    """Of every tree, rows share the leaf in proportion to what they count for; so do the k nearest."""
    for seed in range(30):
        case = forest_case(seed)
        given = amounts(seed, len(case.policy.X_), zeros=case.policy.weights_.frozen is None)
        policy = counting(case, given).policy
        wanted = by_definition(policy, case.context, given)
        found = policy.weights_at(case.context)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)
        row = policy.inputs_of(policy.schema_.row(case.context))
        np.testing.assert_allclose(policy.weights_.per_tree(row).mean(axis=0), wanted, rtol=1e-12, atol=1e-15)
        if policy.weights_.dtype == np.float32:
            np.testing.assert_allclose(Descent([policy.weights_.members_]).weights(row)[0], wanted, atol=1e-15)
    for seed in range(30):
        case = neighbour_case(seed)
        given = amounts(seed, len(case.policy.X_), zeros=False)
        policy = counting(case, given).policy
        plain = case.policy.weights_at(case.context) > 0
        found = policy.weights_at(case.context)
        np.testing.assert_allclose(found, np.where(plain, given, 0.0) / given[plain].sum(), rtol=1e-12)


@pytest.mark.parametrize("block", seeds(1, 3))
def test_forests_agree_with_brute_force(block: int) -> None:
    """120 questions about rows that count for more, less or nothing, under both risks, by looking at every cell."""
    for seed in range(40 * block, 40 * block + 40):
        case = forest_case(seed)
        given = amounts(seed, len(case.policy.X_), zeros=case.policy.weights_.frozen is None)
        assert disagreement(counting(case, given)) == "", f"forest_case({seed})"


def test_neighbours_agree_with_brute_force() -> None:
    """60 questions about neighbours that do not count alike, by every vertex of their arrangement."""
    for seed in range(60):
        case = neighbour_case(seed)
        given = amounts(seed, len(case.policy.X_), zeros=False)
        case.policy.set_params(risk=Expectation())
        case = counting(case, given)
        question = case.question()
        before = case.policy.weights_at(case.context)
        already = (
            question.claim.better(before) is None if case.kind == "absolute" else question.claim.is_satisfied(before)
        )
        rivals = [question.claim.decision, *(case.policy.Y_.T if case.kind == "absolute" else ())]
        wanted = 0.0 if already else nearest_by_vertices(question, rivals, given)
        asked = {"decision": case.decision, "kind": case.kind, "fixed": case.fixed, "bounds": case.bounds}
        why = case.policy.explain(case.context, case.instead, **asked)
        assert why.status in ("optimal", "already", "none")
        allowed = 1e-7 * float(question.space.weight.sum()) * (1.0 + (0.0 if np.isinf(wanted) else wanted))
        assert why.distance == wanted or abs(why.distance - wanted) <= allowed, f"neighbour_case({seed})"


def test_the_integer_program_agrees() -> None:
    """The other engine, which shares no code with the search, finds the same distances."""
    for seed in range(8):
        for case in (forest_case(seed), neighbour_case(seed)):
            if isinstance(case.policy.weights_, KNNWeights):
                case.policy.set_params(risk=Expectation())
            case = counting(case, amounts(seed, len(case.policy.X_), zeros=False))
            asked = {"decision": case.decision, "kind": case.kind, "fixed": case.fixed, "bounds": case.bounds}
            found = case.policy.explain(case.context, case.instead, **asked)
            solved = case.policy.explain(case.context, case.instead, **asked, engine="milp")
            assert found.status == solved.status, seed
            assert found.distance == pytest.approx(solved.distance, rel=2e-6, abs=2e-6), seed


def repeated() -> tuple[list[Policy], pd.DataFrame]:
    """For either risk, a frozen forest with rows that count for 1, 2 or 3, and one with rows that occur as often."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.random((80, 3)).round(2), columns=list("abc"))
    Y = np.column_stack([20 + 30 * X["a"] + rng.normal(0, 3, 80), 10 + 20 * X["b"] + rng.normal(0, 3, 80)]).round(1)
    times = rng.integers(1, 4, 80)
    fitted = RandomForestRegressor(12, max_depth=4, random_state=0).fit(X, Y)
    again = np.repeat(np.arange(80), times)
    policies = []
    for risk in (wh.Expectation(), wh.CVaR(0.7)):
        made = Policy(wh.Newsvendor(holding=1, backorder=3), ForestWeights.of(fitted), risk)
        policies.append(clone(made).fit(X, Y, sample_weight=times.astype(float)))
        policies.append(clone(made).fit(X.iloc[again].reset_index(drop=True), Y[again]))
    return policies, X


def test_rows_that_count_twice_are_rows_that_occur_twice() -> None:
    """With a fitted forest nothing else distinguishes them: decisions, explanations, sets of plans, regions."""
    policies, X = repeated()
    for i, (counted, twice) in enumerate(zip(policies[::2], policies[1::2], strict=True)):
        for at in range(4):
            today, other = X.iloc[at], X.iloc[40 + at]
            np.testing.assert_allclose(counted.decide(today), twice.decide(today), rtol=1e-12)
            plan = counted.decide(other)
            for how in (
                {"kind": "relative"},
                {"kind": "absolute", "within": 0.02},
                {"kind": "relative", "confidence": 1.0},
            ):
                one, two = (policy.explain(today, instead=plan, **how) for policy in (counted, twice))
                assert (one.status, one.distance) == (two.status, pytest.approx(two.distance, abs=1e-12)), how
            if i == 0:
                sets = [policy.explain(today, margin=0.1, time_limit=30) for policy in (counted, twice)]
                assert sets[0].status == sets[1].status
                assert sets[0].distance == pytest.approx(sets[1].distance, abs=1e-12)
            one, two = (policy.explain(today, instead=plan) for policy in (counted, twice))
            if one.status == "optimal":
                ends = [[(c.feature, c.low, c.high) for c in why.region(None).conditions] for why in (one, two)]
                assert ends[0] == ends[1]
        turned = [policy.compare(X.iloc[0], X.iloc[40]) for policy in (counted, twice)]
        assert turned[0].turning == turned[1].turning
        mine, theirs = (one.contributions["contribution"].tolist() for one in turned)
        assert mine == pytest.approx(theirs, abs=1e-9)


def test_refits_count_rows_as_the_fit_did() -> None:
    """A refit on the same data takes what rows count for; one on rows drawn anew takes it with them."""
    rng = np.random.default_rng(0)
    X, given = rng.random((30, 2)), rng.choice([1.0, 5.0], 30)
    weights = paper_forest(5, random_state=0).fit(X, X, sample_weight=given)
    for kind in ("seed", "bootstrap"):
        refit = Refits(weights, np.asarray(X), np.asarray(X), kind).of(0)  # type: ignore[arg-type]
        rows = np.arange(30) if refit.rows is None else refit.rows
        np.testing.assert_allclose(refit.weights.counts, given[rows] / given[rows].mean())


def test_what_does_not_say_what_rows_count_for_is_refused() -> None:
    """One sentence each, naming 'sample_weight'."""

    class Own(Weights):
        def fit(self, X: Any, Y: Any) -> Own:
            self.n_samples_, self.n_features_in_ = np.shape(X)
            return self

        def rows(self, X: Any) -> np.ndarray:
            return np.full((len(X), self.n_samples_), 1.0 / self.n_samples_)

    X, Y = np.random.default_rng(0).random((12, 2)), np.random.default_rng(1).random((12, 2))
    good, none = np.arange(1.0, 13.0), np.r_[0.0, np.ones(11)]
    for weights, given, words in (
        (paper_forest(3), good[:5], "one number of at least 0 per row"),
        (paper_forest(3), -good, "one number of at least 0 per row"),
        (paper_forest(3), np.zeros(12), "not all of them zero"),
        (paper_forest(3), ["a"] * 12, "one number of at least 0 per row"),
        (KNNWeights(3), none, "positive in every row"),
        (Own(), good, "Own has no use for it"),
    ):
        with pytest.raises(InputError, match=words) as refused:
            Policy(OneOf(), weights).fit(X, Y, sample_weight=given)
        assert refused.value.parameter == "sample_weight"
    policy = Policy(OneOf(), KNNWeights(3), wh.CVaR(0.5)).fit(X, Y, sample_weight=good)
    with pytest.raises(InputError, match="under CVaR by neighbours") as refused:
        policy.explain(X[0], instead=1 - policy.decide(X[0]))
    assert refused.value.parameter == "sample_weight"


def test_rows_that_count_alike_change_nothing() -> None:
    """Bit for bit, whatever the number is."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 2)), rng.random((40, 2))
    for weights in (paper_forest(10, random_state=0), KNNWeights(4)):
        plain, counted = (Policy(OneOf(), weights).fit(X, Y, sample_weight=w) for w in (None, np.full(40, 0.3)))
        assert (plain.weights_at(X[0]) == counted.weights_at(X[0])).all()


def test_evaluation_learns_from_rows_by_what_they_count_for() -> None:
    """The sample average, averages per category and policies see the same weights; held-out rows count alike."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.random(60), "day": rng.choice(list("ab"), 60)})
    Y = pd.DataFrame({"sold": np.where(np.arange(60) < 30, 10.0, 50.0)})
    late = np.where(np.arange(60) < 30, 0.0, 1.0)
    policy = Policy(wh.Newsvendor(holding=1, backorder=1), paper_forest(5, random_state=0))
    found = wh.evaluate(policy, X, Y, cv=3, sample_weight=late)
    assert found.frame.loc[["sample average", "average per day", "policy"], "cost"].tolist() == [20.0] * 3
    fitted = policy.fit(X, Y, sample_weight=late)
    assert wh.evaluate(fitted, cv=3).frame.loc["policy", "cost"] == 20.0
    halves = [(np.arange(30), np.arange(30, 60))]
    with pytest.raises(InputError, match="something to learn from in every fold"):
        wh.evaluate(policy, X, Y, cv=halves, sample_weight=late)
