"""Shipment planning, held against the linear program that writes out the recourse of every sample."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from tests.blocks import seeds

from whence.errors import InputError, InputTypeError
from whence.problems import shipment as program
from whence.problems.shipment import Shipment
from whence.risk import CVaR, Expectation


def recourse(problem, z, y):
    """Cheapest recourse of one sample: variables t and s, one demand row a location, one supply row a warehouse."""
    ship = problem.shipping_cost * np.asarray(problem.distances)
    warehouses, locations = ship.shape
    demand = np.hstack([np.zeros((locations, warehouses)), -np.tile(np.eye(locations), warehouses)])
    supply = np.hstack([-np.eye(warehouses), np.kron(np.eye(warehouses), np.ones(locations))])
    cost = np.concatenate([np.full(warehouses, problem.spot_cost), ship.ravel()])
    found = linprog(cost, np.vstack([demand, supply]), np.concatenate([-y, z]))
    assert found.status == 0, found.message
    return found.fun


def textbook(problem, Y, weights, alpha=None, least_production=None):
    """Optimal value of the extensive program; with `least_production` the smallest production at that value."""
    ship = problem.shipping_cost * np.asarray(problem.distances)
    m, k = ship.shape
    n = len(Y)
    block = np.vstack(
        [
            np.hstack([np.zeros((k, m)), -np.tile(np.eye(k), m)]),
            np.hstack([-np.eye(m), np.kron(np.eye(m), np.ones(k))]),
        ]
    )
    first = np.tile(np.vstack([np.zeros((k, m)), -np.eye(m)]), (n, 1))
    rows = sparse.hstack([first, sparse.kron(sparse.eye_array(n), block)])
    limits = np.concatenate([np.concatenate([-y, np.zeros(m)]) for y in Y])
    sample = np.concatenate([np.full(m, problem.spot_cost), ship.ravel()])
    bounds = [(0, None)] * rows.shape[1]
    cost = np.concatenate([np.full(m, problem.production_cost), np.kron(weights, sample)])
    if alpha is not None:
        above = [sparse.csr_array((n, m)), sparse.kron(sparse.eye_array(n), sample[None]), -np.ones((n, 1))]
        rows = sparse.vstack(
            [sparse.hstack([rows, sparse.csr_array((rows.shape[0], n + 1))]), sparse.hstack([*above, -sparse.eye(n)])]
        )
        limits = np.concatenate([limits, np.zeros(n)])
        zeros = np.zeros(n * sample.size)
        cost = np.concatenate([np.full(m, problem.production_cost), zeros, [1.0], weights / (1 - alpha)])
        bounds += [(None, None)] + [(0, None)] * n
    if least_production is not None:
        rows = sparse.vstack([rows, cost[None]])
        limits = np.append(limits, least_production)
        cost = np.concatenate([np.ones(m), np.zeros(cost.size - m)])
    found = linprog(cost, rows, limits, bounds=bounds, method="highs")
    assert found.status == 0, found.message
    return found.fun


def random_case(seed, warehouses=None):
    """A small instance: ties, no and negative demand, zero weights, costs of 0 and spot cheaper than production."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 6)) if warehouses is None else warehouses
    k, n = int(rng.integers(1, 7)), int(rng.integers(1, 16))
    distances = rng.uniform(0, 2, (m, k)) if seed % 2 else rng.integers(0, 4, (m, k)).astype(float)
    Y = rng.gamma(1.0, 4.0, (n, k)) if seed % 3 else rng.integers(-1, 6, (n, k)).astype(float)
    Y[rng.random(Y.shape) < 0.2] = 0.0
    if seed % 5 == 0:
        Y -= 2.0
    weights = rng.dirichlet(np.ones(n)) if seed % 4 else np.ones(n)
    weights[rng.random(n) < 0.3] = 0.0
    if not weights.any():
        weights[-1] = 1.0
    problem = Shipment(
        production_cost=[5.0, 1.0, 0.0, 20.0][seed % 4 if seed % 7 else 2],
        spot_cost=[100.0, 10.0, 4.0, 0.0][seed % 11 % 4],
        shipping_cost=[10.0, 1.0, 0.0][seed % 13 % 3],
        distances=distances,
    )
    return problem, Y, weights / weights.sum(), rng


@pytest.mark.parametrize("block", seeds(2, 5))
def test_costs_are_production_plus_the_cheapest_recourse(block):
    """On 150 random cases the cost of every sample equals that of its own linear program, at any plan."""
    for seed in range(30 * block, 30 * block + 30):
        problem, Y, _, rng = random_case(seed)
        m = len(problem.parts())
        for z in (np.zeros(m), rng.uniform(0, 8, m), rng.integers(0, 5, m) * 1.0):
            expected = [problem.production_cost * z.sum() + recourse(problem, z, y) for y in Y[:6]]
            np.testing.assert_allclose(problem.costs(z, Y[:6]), expected, rtol=1e-9, atol=1e-7, err_msg=str(seed))


@pytest.mark.parametrize("block", seeds(3, 10))
def test_same_optimum_as_the_textbook_program(block):
    """On 200 random cases both risks reach the optimum of the extensive program, by the costs of the plan itself."""
    for seed in range(20 * block, 20 * block + 20):
        problem, Y, weights, _ = random_case(seed)
        for risk in (Expectation(), CVaR(0.0), CVaR(0.5), CVaR(0.9)):
            plan = problem.solve(Y, weights, risk)
            assert problem.check(plan) is None
            value = risk.of(problem.costs(plan, Y), weights)
            optimum = textbook(problem, Y, weights, risk.alpha if isinstance(risk, CVaR) else None)
            assert value == pytest.approx(optimum, rel=1e-6, abs=1e-6), (seed, risk)


def test_ties_take_the_plan_that_produces_least():
    """Of all plans with the optimal expected cost none produces less, however many there are."""
    for seed in range(0, 120, 2):
        problem, Y, weights, _ = random_case(seed)
        plan = problem.solve(Y, weights, Expectation())
        value = Expectation().of(problem.costs(plan, Y), weights)
        least = textbook(problem, Y, weights, least_production=value + 1e-7)
        assert plan.sum() == pytest.approx(least, abs=1e-4), seed


def test_what_was_solved_before_does_not_matter():
    """A plan depends on samples, weights and risk alone, to the last bit."""
    rng = np.random.default_rng(0)
    Y = rng.gamma(1.0, 8.0, (60, 12))
    weights = rng.dirichlet(np.ones(60), 6)
    used = Shipment()
    first = [used.solve(Y, w, Expectation()) for w in weights]
    again = [used.solve(Y, w, Expectation()) for w in weights[::-1]][::-1]
    fresh = [Shipment().solve(Y, w, Expectation()) for w in weights]
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, fresh)
    np.testing.assert_array_equal(first[0], used.solve(Y[::1], np.ascontiguousarray(weights[0]), Expectation()))


@pytest.mark.parametrize("alpha", [None, 0.7])
def test_paper_size(alpha):
    """Four warehouses, twelve locations and 100 samples with positive weight give the optimum of the program."""
    rng = np.random.default_rng(1)
    Y = np.maximum(0.0, rng.normal(8, 10, (120, 12)))
    weights = rng.dirichlet(np.full(120, 0.7))
    weights[100:] = 0.0
    weights /= weights.sum()
    default = Shipment()
    problem = Shipment(distances=default._shipping() / 10)
    risk = Expectation() if alpha is None else CVaR(alpha)
    value = risk.of(default.costs(default.solve(Y, weights, risk), Y), weights)
    assert value == pytest.approx(textbook(problem, Y, weights, alpha), rel=1e-7)


def test_default_distances():
    """Warehouse 1 is at angle 0 on radius 0.85: 0.15 from location 1, 1.85 from location 7; the rest by symmetry."""
    distances = Shipment(shipping_cost=1)._shipping()
    assert distances.shape == (4, 12)
    assert distances[0, 0] == pytest.approx(0.15)
    assert distances[0, 6] == pytest.approx(1.85)
    assert distances[0, 1] == pytest.approx(np.sqrt(1 + 0.85**2 - 2 * 0.85 * np.cos(np.pi / 6)))
    for i in range(4):
        np.testing.assert_allclose(distances[i], np.roll(distances[0], 3 * i))


@pytest.mark.parametrize("warehouses", [8, 9, 12])
def test_many_warehouses(warehouses):
    """Beyond eight warehouses the written-out program answers, and up to there it agrees with the kernels."""
    for seed in range(6):
        problem, Y, weights, rng = random_case(300 + seed, warehouses)
        z = rng.uniform(0, 2, warehouses)
        expected = [problem.production_cost * z.sum() + recourse(problem, z, y) for y in Y]
        np.testing.assert_allclose(problem.costs(z, Y), expected, rtol=1e-7, atol=1e-6)
        ship = problem._shipping()
        written_out = program.recourse_costs(ship, problem.spot_cost, z, Y) + problem.production_cost * z.sum()
        np.testing.assert_allclose(written_out, expected, rtol=1e-7, atol=1e-6)
        for risk, alpha in ((Expectation(), None), (CVaR(0.6), 0.6)):
            optimum = textbook(problem, Y, weights, alpha)
            plan = problem.solve(Y, weights, risk)
            assert risk.of(problem.costs(plan, Y), weights) == pytest.approx(optimum, rel=1e-6, abs=1e-6), seed
            tail = 1.0 if alpha is None else 1.0 - alpha
            support = weights > 0
            plan = program.first_stage(
                ship, problem.spot_cost, problem.production_cost, Y[support], weights[support], tail
            )
            assert risk.of(problem.costs(plan, Y), weights) == pytest.approx(optimum, rel=1e-6, abs=1e-6), seed


def test_negative_demand_counts_as_none():
    """A negative demand costs what no demand costs, in costs and in plans."""
    rng = np.random.default_rng(3)
    Y = rng.normal(0, 5, (20, 12))
    weights = np.full(20, 0.05)
    problem = Shipment()
    z = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(problem.costs(z, Y), problem.costs(z, np.maximum(Y, 0.0)))
    for risk in (Expectation(), CVaR(0.5)):
        np.testing.assert_allclose(problem.solve(Y, weights, risk), problem.solve(np.maximum(Y, 0.0), weights, risk))


def test_no_demand_at_all():
    """Where nothing is asked for, nothing is produced and nothing is paid."""
    problem = Shipment()
    for risk in (Expectation(), CVaR(0.8)):
        plan = problem.solve(np.zeros((3, 12)), np.full(3, 1 / 3), risk)
        assert plan.tolist() == [0.0] * 4
    assert problem.costs(np.zeros(4), np.zeros((3, 12))).tolist() == [0.0] * 3
    assert problem.describe(np.zeros(4)) == "warehouse 1 0, warehouse 2 0, warehouse 3 0, warehouse 4 0"


def test_units_do_not_matter():
    """A thousandth of the demand in money a million times as small gives the same plan in those units."""
    rng = np.random.default_rng(4)
    Y, weights = rng.gamma(1.0, 8.0, (50, 12)), rng.dirichlet(np.ones(50))
    plan = Shipment().solve(Y, weights, CVaR(0.6))
    small = Shipment(5e-6, 100e-6, 10e-6).solve(Y * 1e-3, weights, CVaR(0.6))
    np.testing.assert_allclose(small * 1e3, plan, rtol=1e-6)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ([1.0], "The plan must hold 4 quantities, one per warehouse, but its shape is (1,)."),
        (np.ones((2, 2)), "The plan must hold 4 quantities, one per warehouse, but its shape is (2, 2)."),
        ("much", "The plan must be an array of numbers, but it is 'much'."),
        (None, "The plan must hold 4 quantities, one per warehouse, but its shape is ()."),
        ([1.0, np.nan, 1.0, 1.0], "The production at warehouse 2 must be a finite number, but it is nan."),
        ([1.0, 2.0, -3.5, 1.0], "The production at warehouse 3 must not be negative, but it is -3.5."),
    ],
)
def test_every_sentence_of_check(plan, sentence):
    """A plan that cannot be carried out is refused with the reason, by check and by costs."""
    problem = Shipment()
    assert problem.check(plan) == sentence
    with pytest.raises(InputError) as refused:
        problem.costs(plan, np.ones((1, 12)))
    assert str(refused.value) == f"The 'decision' argument of Shipment must be a shipment plan. {sentence}"


def test_plans_are_readable():
    """Parts are the warehouses, a plan is text, and a solver's -1e-12 is zero."""
    problem = Shipment()
    assert problem.parts() == ["warehouse 1", "warehouse 2", "warehouse 3", "warehouse 4"]
    assert problem.describe([3.0, 0.0, 2.5, 0.0]) == "warehouse 1 3, warehouse 3 2.5"
    assert problem.check([-1e-12, 0.0, 0.0, 0.0]) is None
    assert problem.vector([-1e-12, 0.0, 0.0, 0.0]).min() == 0.0


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"production_cost": -1}, "'production_cost' parameter of Shipment must be a float of at least 0. Got -1"),
        ({"spot_cost": np.inf}, "'spot_cost' parameter of Shipment must be a float of at least 0. Got inf"),
        ({"shipping_cost": "10"}, "'shipping_cost' parameter of Shipment must be a float of at least 0. Got '10'"),
        ({"distances": [1.0, 2.0]}, "'distances' parameter of Shipment must be a 2-D array of numbers"),
        ({"distances": [[1.0], [1.0, 2.0]]}, "'distances' parameter of Shipment must be a 2-D array of numbers"),
        ({"distances": np.empty((0, 3))}, "'distances' parameter of Shipment must be a 2-D array of numbers"),
        ({"distances": [[1.0, -2.0]]}, "must hold finite numbers of at least 0. Got -2 as the smallest"),
        ({"distances": [[1.0, np.nan]]}, "must hold finite numbers of at least 0"),
    ],
)
def test_parameters_that_cannot_be_used(parameters, sentence):
    """Costs and distances that make no sense are refused when the problem is made."""
    with pytest.raises(InputError) as refused:
        Shipment(**parameters)
    assert sentence in str(refused.value)


def test_samples_and_risks_that_cannot_be_used():
    """Columns, weights, NaN and unknown risks are refused by name."""
    problem = Shipment()
    for Y, weights, sentence in [
        (np.ones((2, 3)), np.full(2, 0.5), "2-D with 12 columns"),
        (np.ones((2, 12)), np.array([0.7, 0.7]), "non-negative and sum to 1"),
        (np.full((2, 12), np.nan), np.full(2, 0.5), "finite"),
    ]:
        with pytest.raises(InputError, match=sentence):
            problem.solve(Y, weights, Expectation())
    with pytest.raises(InputError, match="must be 2-D with 12 columns"):
        problem.costs(np.ones(4), np.ones((2, 3)))
    with pytest.raises(InputError, match="must be finite"):
        problem.costs(np.ones(4), np.full((2, 12), np.inf))
    with pytest.raises(InputTypeError, match="must be Expectation or CVaR"):
        problem.solve(np.ones((2, 12)), np.full(2, 0.5), "mean")


def test_copies_behave_the_same():
    """Clones and pickles decide alike; parameters are kept as given."""
    distances = [[0.1, 2.0], [1.5, 0.3]]
    problem = Shipment(distances=distances)
    assert problem.get_params()["distances"] is distances
    Y, weights = np.array([[4.0, 1.0], [0.0, 3.0]]), np.array([0.4, 0.6])
    plan = problem.solve(Y, weights, CVaR(0.3))
    for other in (clone(problem), pickle.loads(pickle.dumps(problem))):
        np.testing.assert_array_equal(other.solve(Y, weights, CVaR(0.3)), plan)
    with pytest.raises(InputError, match="'spot_cost' parameter"):
        problem.set_params(spot_cost=-1).solve(Y, weights, Expectation())
