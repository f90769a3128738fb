"""The newsvendor problem, held against its textbook linear program."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from tests.blocks import seeds

from whence.errors import InputError, InputTypeError
from whence.problems.newsvendor import Newsvendor
from whence.risk import CVaR, Expectation


def textbook(Y, w, holding, backorder, budget, alpha=None):
    """Optimal value by the plain LP with one overage and one underage variable a sample and product."""
    n, p = Y.shape
    cells = n * p
    pick = sparse.kron(np.ones((n, 1)), sparse.eye_array(p))
    eye = sparse.eye_array(cells)
    rates = np.concatenate((np.tile(holding, n), np.tile(backorder, n)))
    balance = sparse.hstack([pick, -eye, eye])  # z - over + under = y
    cost = np.concatenate((np.zeros(p), np.repeat(w, p) * rates[:cells], np.repeat(w, p) * rates[cells:]))
    bounds = [(0, None)] * (p + 2 * cells)
    A_ub = sparse.csr_array(np.concatenate((np.ones(p), np.zeros(2 * cells)))[None])
    b_ub = [1e9 if budget is None else budget]
    if alpha is not None:
        blocks = [sparse.kron(sparse.eye_array(n), rate[None]) for rate in (holding, backorder)]
        excess = sparse.hstack([sparse.csr_array((n, p)), *blocks, -np.ones((n, 1)), -sparse.eye_array(n)])
        A_ub = sparse.vstack([sparse.hstack([A_ub, sparse.csr_array((1, n + 1))]), excess])
        b_ub = np.concatenate((b_ub, np.zeros(n)))
        balance = sparse.hstack([balance, sparse.csr_array((cells, n + 1))])
        cost = np.concatenate((np.zeros(p + 2 * cells), [1.0], w / (1 - alpha)))
        bounds += [(None, None)] + [(0, None)] * n
    found = linprog(cost, A_ub=A_ub, b_ub=b_ub, A_eq=balance, b_eq=Y.ravel(), bounds=bounds, method="highs")
    assert found.status == 0, found.message
    return found.fun


def plain_costs(z, Y, holding, backorder):
    """Costs written out with a loop over samples and products."""
    return np.array(
        [
            sum(h * max(q - d, 0.0) + b * max(d - q, 0.0) for q, d, h, b in zip(z, y, holding, backorder, strict=True))
            for y in Y
        ]
    )


def random_case(seed):
    """A small instance: ties, negative demands, zero weights and rates, budgets of every kind in turn."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 22)), int(rng.integers(1, 5))
    Y = rng.gamma(2.0, 3.0, (n, p))
    if seed % 3 == 0:
        Y = np.round(Y / 3)
    if seed % 4 == 1:
        Y -= 4.0
    holding, backorder = rng.uniform(0.1, 3, p), rng.uniform(0.1, 12, p)
    if seed % 5 == 2:
        holding[0] = 0.0
    if seed % 5 == 3:
        backorder[-1] = 0.0
    if seed % 5 == 4:
        holding, backorder = np.ones(p), np.full(p, 4.0)
    w = rng.dirichlet(np.ones(n)) if seed % 2 else rng.integers(0, 3, n).astype(float)
    w[rng.random(n) < 0.3] = 0.0
    w[rng.integers(n)] += 0.5
    w /= w.sum()
    free = Newsvendor(holding, backorder).solve(Y, w, Expectation()).sum()
    budget = [None, 0.0, 0.3 * free, 0.8 * free, free, 2 * free + 1][int(rng.integers(6))]
    return Y, w, holding, backorder, budget


@pytest.mark.parametrize("block", seeds(3, 10))
def test_expectation_is_the_textbook_optimum(block):
    """The quantiles with a budget multiplier cost what the LP's optimum costs, 400 times."""
    for seed in range(40 * block, 40 * (block + 1)):
        Y, w, holding, backorder, budget = random_case(seed)
        problem = Newsvendor(holding, backorder, budget)
        plan = problem.solve(Y, w, Expectation())
        assert problem.check(plan) is None, seed
        value = w @ plain_costs(plan, Y, holding, backorder)
        assert value == pytest.approx(textbook(Y, w, holding, backorder, budget), rel=1e-9, abs=1e-9), seed


@pytest.mark.parametrize("block", seeds(3, 10))
def test_cvar_is_the_textbook_optimum(block):
    """The plan of least CVaR reaches the textbook LP's optimum, 400 times and at levels from 0 to nearly 1."""
    for seed in range(40 * block, 40 * (block + 1)):
        Y, w, holding, backorder, budget = random_case(seed)
        alpha = [0.0, 0.1, 0.5, 0.8, 0.95, 0.999][seed % 6]
        problem = Newsvendor(holding, backorder, budget)
        plan = problem.solve(Y, w, CVaR(alpha))
        assert problem.check(plan) is None, seed
        value = CVaR(alpha).of(plain_costs(plan, Y, holding, backorder), w)
        assert value == pytest.approx(textbook(Y, w, holding, backorder, budget, alpha), rel=1e-8, abs=1e-8), seed


def least_by_looking(y, w, holding, backorder, limit, risk):
    """The least CVaR of one product: it bends at demands, and where a unit over here costs what one short costs there.

    Costs of the samples cross nowhere else, so that their order, and with it the tail, changes nowhere else.
    """
    crossing = (holding * y[:, None] + backorder * y) / (holding + backorder)
    points = np.clip(np.concatenate([y, crossing.ravel(), [0.0, limit]]), 0.0, limit)
    return min(risk.of(plain_costs([z], y[:, None], [holding], [backorder]), w) for z in points)


@pytest.mark.parametrize("units", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("block", seeds(2, 10))
def test_cvar_of_one_product_is_the_least_there_is(block, units):
    """Whole and decimal demands, duplicates, ties among the weights, limits, rates of 0: 300 times a block."""
    for seed in range(300 * block, 300 * (block + 1)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 8))
        y = np.round(rng.normal(3, 4, n), int(rng.integers(0, 3))) * units
        w = rng.integers(1, 4, n).astype(float) if seed % 2 else rng.random(n) + 1e-3
        w /= w.sum()
        holding, backorder = [(1.0, 3.0), (0.0, 2.0), (2.5, 0.0), (0.7, 0.3), (1.0, 1.0)][seed % 5]
        risk = CVaR([0.0, 0.25, 0.5, 0.75, 0.9, 0.999][seed % 6])
        limit = float([100.0, 2.0, 0.0][int(rng.integers(3))]) * units
        problem = Newsvendor(holding, backorder, limit)
        found = [problem.solve(y[:, None], w, risk)]
        found.append(problem.solve_between(y[:, None], w, risk, np.zeros(1), np.full(1, limit)))
        wanted = least_by_looking(y, w, holding, backorder, limit, risk)
        for plan in found:
            assert problem.check(plan) is None, seed
            value = risk.of(plain_costs(plan, y[:, None], [holding], [backorder]), w)
            assert value == pytest.approx(wanted, rel=1e-9, abs=1e-12 * units), seed


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.8)], ids=["expectation", "cvar"])
def test_paper_size_is_the_textbook_optimum(risk, ties):
    """Twenty products and 200 samples: the same optimum as the LP, with distinct and with rounded demands."""
    rng = np.random.default_rng(7)
    holding = np.arange(1.0, 21.0)
    Y = np.abs(rng.normal(3, np.exp(rng.normal(size=(200, 20)))))
    Y = np.round(Y) if ties else Y
    w = rng.dirichlet(np.full(200, 0.3))
    w[rng.random(200) < 0.3] = 0.0
    w /= w.sum()
    problem = Newsvendor(holding, 10 * holding, 100.0)
    plan = problem.solve(Y, w, risk)
    assert problem.check(plan) is None
    alpha = None if isinstance(risk, Expectation) else risk.alpha
    assert risk.of(problem.costs(plan, Y), w) == pytest.approx(
        textbook(Y, w, holding, 10 * holding, 100.0, alpha), rel=1e-8
    )


def test_cvar_is_found_far_from_the_expected_plan():
    """Many breakpoints and rates for which the tail wants quite another plan: still the textbook optimum."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(80, 160)), int(rng.integers(2, 7))
        Y = rng.gamma(1.0, 4.0, (n, p)) * rng.choice([1.0, 10.0], p)
        w = rng.dirichlet(np.ones(n))
        holding, backorder = rng.uniform(0.1, 3, p), rng.uniform(0.1, 3, p)
        budget = [None, float(rng.uniform(1, 10 * p))][seed % 2]
        problem = Newsvendor(holding, backorder, budget)
        value = CVaR(0.9).of(problem.costs(problem.solve(Y, w, CVaR(0.9)), Y), w)
        assert value == pytest.approx(textbook(Y, w, holding, backorder, budget, 0.9), rel=1e-8), seed


@pytest.mark.parametrize("scale", [1e-7, 1e7])
def test_cvar_does_not_depend_on_the_units(scale):
    """Demands and rates in tiny or huge units give the same plan in those units."""
    Y, w, holding, backorder, _ = random_case(21)
    risk = CVaR(0.7)
    plain = Newsvendor(holding, backorder, 6.0)
    other = Newsvendor(holding * scale, backorder * scale, 6.0 * scale)
    value = risk.of(plain.costs(plain.solve(Y, w, risk), Y), w)
    scaled = risk.of(other.costs(other.solve(Y * scale, w, risk), Y * scale), w)
    assert scaled == pytest.approx(value * scale * scale, rel=1e-8)


def test_without_a_budget_each_quantity_is_a_weighted_quantile():
    """One product orders the smallest demand whose cumulated weight reaches backorder / (holding + backorder)."""
    Y = np.array([[5.0], [1.0], [3.0], [9.0]])
    problem = Newsvendor(holding=1.0, backorder=3.0)
    assert problem.solve(Y, np.array([0.25, 0.25, 0.25, 0.25]), Expectation()) == [5.0]
    assert problem.solve(Y, np.array([0.2, 0.25, 0.25, 0.3]), Expectation()) == [9.0]
    assert problem.solve(Y, np.array([0.5, 0.0, 0.5, 0.0]), Expectation()) == [5.0]


def test_ties_are_settled_by_the_smallest_quantities_and_the_first_products():
    """Where roundoff alone would decide, the smaller quantity is taken, and budget goes to the first product."""
    Y = np.arange(1.0, 11.0)[:, None]
    ninth = Newsvendor(1.0, 9.0).solve(Y, np.full(10, 0.1), Expectation())
    assert ninth == [9.0]
    twins = np.repeat(Y, 2, axis=1)
    shared = Newsvendor(1.0, 9.0, budget=5.5).solve(twins, np.full(10, 0.1), Expectation())
    np.testing.assert_allclose(shared, [3.0, 2.5])


def test_a_plan_without_gain_orders_nothing():
    """Negative demands, no backorder cost and a budget of 0 all give exactly zero."""
    w = np.array([0.4, 0.6])
    below = np.array([[-3.0, 2.0], [-1.0, 4.0]])
    for risk in (Expectation(), CVaR(0.5)):
        np.testing.assert_array_equal(Newsvendor(1, 5, budget=0).solve(below, w, risk), [0.0, 0.0])
        assert Newsvendor(1, 5).solve(below, w, risk)[0] == 0.0
        assert Newsvendor([1, 1], [5, 0]).solve(below, w, risk)[1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.8)], ids=["expectation", "cvar"])
def test_the_same_samples_give_the_same_plan(risk):
    """Solving again, after another problem and after a changed history, gives what a fresh object gives."""
    Y, w, holding, backorder, _ = random_case(31)
    problem = Newsvendor(holding, backorder, 5.0)
    first = problem.solve(Y, w, risk)
    problem.solve(Y[::-1] * 2, w[::-1], risk)
    np.testing.assert_array_equal(problem.solve(Y, w, risk), first)
    Y *= 3.0
    np.testing.assert_array_equal(
        problem.solve(Y, w, risk), Newsvendor(holding, backorder, 5.0).solve(Y.copy(), w, risk)
    )


def test_solve_leaves_its_arguments_alone():
    """Neither the history nor the weights are changed."""
    Y, w, holding, backorder, _ = random_case(41)
    before = Y.copy(), w.copy()
    for risk in (Expectation(), CVaR(0.8)):
        Newsvendor(holding, backorder, 3.0).solve(Y, w, risk)
    np.testing.assert_array_equal(Y, before[0])
    np.testing.assert_array_equal(w, before[1])


def test_costs_are_overage_and_underage():
    """Costs equal the definition written as a loop, for scalars and for arrays of rates."""
    rng = np.random.default_rng(3)
    Y, z = rng.normal(2, 3, (30, 4)), rng.uniform(0, 4, 4)
    rates = rng.uniform(0, 3, 4), rng.uniform(1, 9, 4)
    np.testing.assert_allclose(Newsvendor(*rates).costs(z, Y), plain_costs(z, Y, *rates))
    np.testing.assert_allclose(Newsvendor(2, 5).costs(z, Y), plain_costs(z, Y, [2] * 4, [5] * 4))


def test_check_accepts_feasible_plans():
    """Plans on the edge, lists and Series included, pass; so does a violation below the tolerance."""
    problem = Newsvendor([1, 1], [5, 5], budget=10)
    for plan in ([4.0, 6.0], np.zeros(2), pd.Series([10, 0]), [10.000001, 0.0], [-1e-7, 0.0]):
        assert problem.check(plan) is None


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ([1.0], "The plan must hold 2 quantities, one per product, but its shape is (1,)."),
        ([[1.0, 2.0]], "The plan must hold 2 quantities, one per product, but its shape is (1, 2)."),
        ([1.0, float("nan")], "The quantity of product 2 must be a finite number, but it is nan."),
        ([-0.5, 1.0], "The quantity of product 1 must not be negative, but it is -0.5."),
        ([8.0, 4.5], "The plan orders 12.5 in total, 2.5 more than the budget of 10."),
        ("all", "The plan must be an array of numbers, but it is 'all'."),
        (None, "The plan must hold 2 quantities, one per product, but its shape is ()."),
    ],
)
def test_check_says_in_one_sentence_what_is_wrong(plan, sentence):
    """Each kind of infeasible plan has its own sentence."""
    assert Newsvendor([1, 1], [5, 5], budget=10).check(plan) == sentence


def test_check_uses_the_names_and_needs_no_count():
    """Sentences name the product, and with rates for all products any length is accepted."""
    assert "quantity of rye" in str(Newsvendor(1, 5, names=["rye", "wheat"]).check([-1.0, 0.0]))
    assert Newsvendor(1, 5).check([1.0, 2.0, 3.0]) is None


def test_parts_and_description():
    """Names given come first, then the outcomes, then numbers; a plan reads as its non-zero quantities."""
    assert Newsvendor(1, 5, names=("rye", "wheat")).parts(["a", "b"]) == ["rye", "wheat"]
    assert Newsvendor(1, 5).parts(["a", "b"]) == ["a", "b"]
    assert Newsvendor([1, 1], 5).parts() == ["product 1", "product 2"]
    assert Newsvendor(1, 5).parts() is None
    assert Newsvendor(1, 5, names=["rye", "wheat"]).describe([2.5, 0.0]) == "rye 2.5"
    assert Newsvendor(1, 5).describe([1.0, 2.0], ["a", "b"]) == "a 1, b 2"
    assert Newsvendor(1, 5).describe([0.0, 2.0]) == "product 2 2"
    assert Newsvendor(1, 5).describe([0.0]) == "product 1 0"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"holding": -1, "backorder": 1}, InputError, "The 'holding' parameter of Newsvendor must be finite and non-"),
        (
            {"holding": 1, "backorder": [1, np.nan]},
            InputError,
            "The 'backorder' parameter of Newsvendor must be",
        ),
        ({"holding": [[1]], "backorder": 1}, InputError, r"1-D array, one per product\. Got shape \(1, 1\)"),
        ({"holding": [], "backorder": 1}, InputError, r"1-D array, one per product\. Got shape \(0,\)"),
        ({"holding": "x", "backorder": 1}, InputTypeError, "The 'holding' parameter of Newsvendor must be a number"),
        ({"holding": [1, 2], "backorder": [1, 2, 3]}, InputError, "of the same length. Got 2 and 3"),
        ({"holding": [1, 0], "backorder": [1, 0]}, InputError, "must not both be 0 for a product"),
        ({"holding": 1, "backorder": 1, "budget": -2}, InputError, "The 'budget' parameter .* Got -2"),
        ({"holding": 1, "backorder": 1, "budget": float("nan")}, InputError, "The 'budget' parameter .* Got nan"),
        ({"holding": 1, "backorder": 1, "budget": "10"}, InputTypeError, "The 'budget' parameter .* Got '10'"),
        ({"holding": 1, "backorder": 1, "budget": True}, InputTypeError, "The 'budget' parameter .* Got True"),
        ({"holding": [1, 2], "backorder": 1, "names": ["a"]}, InputError, r"one name per product \(2\)\. Got 1 names"),
        ({"holding": 1, "backorder": 1, "names": "rye"}, InputTypeError, "The 'names' parameter .* Got 'rye'"),
    ],
)
def test_bad_parameters_are_refused_at_construction(arguments, error, message):
    """Every bad parameter is named, with what came instead."""
    with pytest.raises(error, match=message):
        Newsvendor(**arguments)


def test_bad_parameters_are_refused_on_use():
    """What set_params lets in is refused when the problem is used."""
    problem = Newsvendor(1, 1).set_params(budget=-1)
    with pytest.raises(InputError, match="The 'budget' parameter"):
        problem.solve(np.ones((2, 2)), np.array([0.5, 0.5]), Expectation())


@pytest.mark.parametrize(
    ("Y", "w", "risk", "error", "message"),
    [
        (np.ones((2, 3)), [0.5, 0.5], Expectation(), InputError, r"one column per product \(2\)\. Got 3 columns"),
        (np.ones(2), [0.5, 0.5], Expectation(), InputError, "The 'Y' argument of Newsvendor must be 2-D"),
        (np.ones((2, 2)), [1.0], Expectation(), InputError, "The 'weights' argument of Newsvendor"),
        (np.ones((2, 2)), [0.9, 0.9], Expectation(), InputError, "sum to 1. Got sum 1.8"),
        (np.full((2, 2), np.nan), [0.5, 0.5], CVaR(0.5), InputError, "must be finite"),
        (np.ones((2, 2)), [0.5, 0.5], "mean", InputTypeError, "must be Expectation or CVaR. Got 'mean'"),
    ],
)
def test_bad_samples_are_refused(Y, w, risk, error, message):
    """History, weights and risk of the wrong kind are named."""
    with pytest.raises(error, match=message):
        Newsvendor([1, 2], 3).solve(Y, w, risk)


def test_costs_refuse_a_plan_of_the_wrong_length():
    """A plan that does not fit the history is not broadcast."""
    with pytest.raises(InputError, match=r"one quantity per product \(3\)\. Got shape \(1,\)"):
        Newsvendor(1, 2).costs([1.0], np.ones((4, 3)))
    with pytest.raises(InputError, match="must be 2-D"):
        Newsvendor(1, 2).costs([1.0], np.ones(4))


def test_parameters_are_kept_as_given():
    """Scikit-learn's clone, get_params and pickling work, and nothing given is altered."""
    holding, names = [1, 2], ("rye", "wheat")
    problem = Newsvendor(holding, 5, 3, names, cost_unit="€")
    assert problem.holding is holding
    assert problem.get_params() == {
        "holding": [1, 2],
        "backorder": 5,
        "budget": 3,
        "names": ("rye", "wheat"),
        "cost_unit": "€",
    }
    copy = clone(problem)
    assert copy.get_params() == problem.get_params()
    again = pickle.loads(pickle.dumps(problem))
    Y, w = np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([0.5, 0.5])
    np.testing.assert_array_equal(again.solve(Y, w, Expectation()), problem.solve(Y, w, Expectation()))


@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.5), CVaR(0.8)])
@pytest.mark.parametrize("budget", [None, 60.0])
def test_quantities_that_are_demands_are_these_very_numbers(risk, budget):
    """A linear program's 4.999999999999964 is given as the demand of 5 that it is, within the budget."""
    exact = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Y = rng.integers(0, 40, (30, 4)) * float(rng.choice([1.0, 0.1]))
        weights = rng.dirichlet(np.ones(30))
        plan = Newsvendor(1.0, 4.0, budget=budget).solve(Y, weights, risk)
        away = np.abs(plan - Y)
        assert not ((away > 0) & (away < 1e-9)).any()
        assert budget is None or plan.sum() <= budget * (1 + 1e-12)
        exact += int((away == 0).any(axis=0).sum())
    assert exact >= 20
