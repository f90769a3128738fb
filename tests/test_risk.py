"""Expected cost and conditional value-at-risk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.blocks import examples

from whence.errors import InputError, InputTypeError
from whence.risk import CVaR, Expectation, Risk, tail_flow

PROPERTY = examples(50, 200)
LEVELS = st.floats(0.0, 0.99)


@st.composite
def weighted_costs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Costs with ties, and weights with zeros that sum to one."""
    size = draw(st.integers(1, 30))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    costs = rng.normal(0.0, 10.0, size)
    if draw(st.booleans()):
        costs = np.round(costs / 4.0)
    weights = rng.dirichlet(np.ones(size)) if draw(st.booleans()) else rng.integers(0, 4, size).astype(float)
    weights[rng.random(size) < 0.3] = 0.0
    weights[rng.integers(size)] += 1.0
    return costs, weights / weights.sum()


def least_over_eta(costs: np.ndarray, weights: np.ndarray, alpha: float) -> float:
    """Rockafellar and Uryasev's minimum over eta, which some cost attains, by trying them all."""
    return min(eta + weights @ np.maximum(costs - eta, 0.0) / (1.0 - alpha) for eta in costs)


@PROPERTY
@given(weighted_costs(), LEVELS)
def test_cvar_is_the_minimum_over_eta(case, alpha):
    """The split-atom formula equals Rockafellar and Uryasev's minimisation."""
    costs, weights = case
    assert CVaR(alpha).of(costs, weights) == pytest.approx(least_over_eta(costs, weights, alpha), abs=1e-9)


@PROPERTY
@given(weighted_costs(), LEVELS)
def test_cvar_lies_between_mean_and_maximum(case, alpha):
    """CVaR is at least the mean and at most the largest cost that has weight."""
    costs, weights = case
    value = CVaR(alpha).of(costs, weights)
    assert Expectation().of(costs, weights) - 1e-9 <= value <= costs[weights > 0].max() + 1e-9


@PROPERTY
@given(weighted_costs(), LEVELS, LEVELS)
def test_cvar_grows_with_its_level(case, one, other):
    """A higher level leaves out more of the good outcomes, so the value cannot fall."""
    costs, weights = case
    low, high = sorted((one, other))
    assert CVaR(low).of(costs, weights) <= CVaR(high).of(costs, weights) + 1e-9


@PROPERTY
@given(weighted_costs(), LEVELS, st.integers(0, 2**32 - 1))
def test_cvar_is_monotone_in_the_costs(case, alpha, seed):
    """Costs that are nowhere lower have no lower CVaR."""
    costs, weights = case
    higher = costs + np.random.default_rng(seed).exponential(1.0, costs.size)
    assert CVaR(alpha).of(costs, weights) <= CVaR(alpha).of(higher, weights) + 1e-9


@PROPERTY
@given(weighted_costs(), LEVELS, st.floats(-100, 100), st.floats(0.0, 100))
def test_cvar_moves_and_scales_with_the_costs(case, alpha, shift, scale):
    """Adding a constant adds it to the CVaR, and a non-negative factor comes out of it."""
    costs, weights = case
    value = CVaR(alpha).of(costs, weights)
    assert CVaR(alpha).of(scale * costs + shift, weights) == pytest.approx(scale * value + shift, abs=1e-7)


@PROPERTY
@given(weighted_costs(), LEVELS, st.integers(0, 2**32 - 1))
def test_cvar_is_subadditive(case, alpha, seed):
    """The CVaR of a sum is at most the sum of the CVaRs."""
    costs, weights = case
    other = np.random.default_rng(seed).normal(0.0, 5.0, costs.size)
    risk = CVaR(alpha)
    assert risk.of(costs + other, weights) <= risk.of(costs, weights) + risk.of(other, weights) + 1e-9


@PROPERTY
@given(weighted_costs())
def test_cvar_at_zero_is_the_mean(case):
    """CVaR(0) is the expected cost, and levels near 0 come near to it."""
    costs, weights = case
    mean = Expectation().of(costs, weights)
    assert CVaR(0).of(costs, weights) == pytest.approx(mean, abs=1e-9)
    assert CVaR(1e-9).of(costs, weights) == pytest.approx(mean, abs=1e-6)


@PROPERTY
@given(weighted_costs())
def test_cvar_near_one_is_the_maximum(case):
    """A tail thinner than the lightest atom holds the largest cost only."""
    costs, weights = case
    present = weights > 0
    alpha = 1.0 - 0.5 * weights[present].min()
    assert CVaR(alpha).of(costs, weights) == pytest.approx(costs[present].max())


@PROPERTY
@given(weighted_costs(), LEVELS, st.integers(0, 2**32 - 1))
def test_cvar_ignores_the_order_and_zero_weights(case, alpha, seed):
    """Neither the order of the samples nor costs without weight matter."""
    costs, weights = case
    order = np.random.default_rng(seed).permutation(costs.size)
    moved = np.where(weights > 0, costs, 1e6)
    value = CVaR(alpha).of(costs, weights)
    assert CVaR(alpha).of(moved[order], weights[order]) == pytest.approx(value, abs=1e-9)


def test_cvar_splits_the_atom_where_the_tail_begins():
    """Half of the second-largest atom counts when the tail ends in its middle."""
    assert CVaR(0.5).of([10.0, 0.0, 4.0], [0.3, 0.3, 0.4]) == pytest.approx((0.3 * 10 + 0.2 * 4) / 0.5)


@PROPERTY
@given(weighted_costs(), LEVELS, st.integers(0, 2**32 - 1))
def test_several_weights_at_once(case, alpha, seed):
    """The risk under each of them is that of `of` to the last bit, also where weights are a hair short of the tail."""
    costs, weights = case
    rng = np.random.default_rng(seed)
    several = [weights, rng.permutation(weights), (1.0 - alpha) * (1.0 - 1e-13) * weights, np.eye(costs.size)[0]]
    for risk in (CVaR(alpha), Expectation()):
        wanted = [risk.of(costs, one) for one in several]
        np.testing.assert_allclose(risk.of_each(costs, several), wanted, rtol=1e-13, atol=1e-13 * np.abs(costs).max())
    assert CVaR(alpha).of_each(costs, []) == []


def test_several_weights_under_a_risk_of_the_users_own():
    """A risk that computes `of` by itself is asked for each of them."""

    class Worst(CVaR):
        def of(self, costs, weights):
            return float(np.max(np.asarray(costs)[np.asarray(weights) > 0]))

    costs, several = np.array([1.0, 5.0, 3.0]), [np.array([0.5, 0.0, 0.5]), np.array([0.0, 1.0, 0.0])]
    assert Worst(0.5).of_each(costs, several) == [3.0, 5.0]


def test_tail_flow_fills_the_tail_exactly():
    """The flow takes whole weights, splits the last one, and stretches weights that fall a hair short."""
    np.testing.assert_allclose(tail_flow(np.array([0.3, 0.4, 0.3]), 0.5), [0.3, 0.2, 0.0], atol=1e-15)
    short = np.array([0.5, 0.5 - 1e-9])
    assert tail_flow(short, 1.0).sum() == pytest.approx(1.0, abs=1e-15)
    assert tail_flow(short, 1.0 - 1e-12).sum() == pytest.approx(1.0 - 1e-12, abs=1e-15)


def test_risks_have_names_and_satisfy_the_protocol():
    """Both measures are Risk objects, compare by value and say what they are."""
    assert isinstance(Expectation(), Risk)
    assert isinstance(CVaR(0.5), Risk)
    assert Expectation().name == "expected cost"
    assert CVaR(0.95).name == "CVaR at 0.95"
    assert CVaR(0.5) == CVaR(0.5) != CVaR(0.6)


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 1.5, float("nan")])
def test_cvar_refuses_levels_outside_zero_to_one(alpha):
    """The level must lie in [0, 1)."""
    with pytest.raises(InputError, match=r"The 'alpha' parameter of CVaR must be a float in \[0, 1\)\. Got"):
        CVaR(alpha)


@pytest.mark.parametrize("alpha", ["0.5", None, True, [0.5]])
def test_cvar_refuses_levels_that_are_no_numbers(alpha):
    """The level must be a number, and a bool is none."""
    with pytest.raises(InputTypeError, match="The 'alpha' parameter of CVaR must be a float"):
        CVaR(alpha)


@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.5)])
def test_costs_and_weights_must_match(risk):
    """Costs and weights of different lengths are refused with both shapes."""
    with pytest.raises(InputError, match=r"same length\. Got shapes \(2,\) and \(3,\)"):
        risk.of([1.0, 2.0], [0.2, 0.3, 0.5])


@given(weighted_costs())
@PROPERTY
def test_cvar_of_everything_is_the_mean_to_the_last_digit(case):
    """CVaR(0) is the expected cost: the same number, the same name, no tail."""
    costs, weights = case
    assert CVaR(0).of(costs, weights) == Expectation().of(costs, weights)
    assert CVaR(0).name == Expectation.name
    assert CVaR(0).tail is None
    assert CVaR(1e-17).tail is None


def test_the_tail_is_the_share_that_counts():
    """A CVaR at 0.8 looks at a fifth."""
    assert CVaR(0.8).tail == pytest.approx(0.2)
    assert Expectation().tail is None


def test_cvar_is_found_by_its_name():
    """A name leads back to the risk that has it, to the digits it shows; what only looks like one leads nowhere."""
    for alpha in (*np.random.default_rng(0).random(200), 0.5, 0.05, 1e-9):
        found = CVaR.named(CVaR(alpha).name)
        assert found is not None
        assert found.alpha == pytest.approx(alpha, rel=1e-5)
    for other in ("expected cost", "0.8", "CVaR at -1", "CVaR at 0.80", "CVaR at  0.5", "CVaR at 1", "CVaR at nan", ""):
        assert CVaR.named(other) is None
