"""Linear and integer programs with uncertain costs, held against plain formulations in HiGHS."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from sklearn.base import clone
from tests.blocks import seeds

from whence.errors import InputError, InputTypeError, SolverError
from whence.problems.linear import LinearProblem, Polytope
from whence.risk import CVaR, Expectation


def textbook(case, D, w, alpha=None):
    """Optimal value by scipy's milp (linprog where nothing is integer) with every sample written out."""
    A_ub, b_ub, A_eq, b_eq, bounds, whole = (case[key] for key in ("A_ub", "b_ub", "A_eq", "b_eq", "bounds", "whole"))
    n, d = D.shape
    cost = w @ D
    if alpha is not None:
        cost = np.concatenate((np.zeros(d), [1.0], w / (1.0 - alpha)))
        excess = np.hstack([D, -np.ones((n, 1)), -np.eye(n)])
        A_ub = np.vstack([np.hstack([A_ub, np.zeros((len(A_ub), n + 1))]), excess])
        b_ub = np.concatenate((b_ub, np.zeros(n)))
        A_eq = np.hstack([A_eq, np.zeros((len(A_eq), n + 1))])
        bounds = [*bounds, (-np.inf, np.inf), *[(0, np.inf)] * n]
        whole = np.concatenate((whole, np.zeros(n + 1)))
    if not whole.any():
        found = linprog(cost, A_ub=A_ub, b_ub=b_ub, A_eq=A_eq, b_eq=b_eq, bounds=bounds)
    else:
        rows = [LinearConstraint(A_ub, -np.inf, b_ub), LinearConstraint(A_eq, b_eq, b_eq)]
        limits = Bounds(*np.array(bounds, dtype=float).T)
        found = milp(cost, constraints=rows, bounds=limits, integrality=whole, options={"mip_rel_gap": 0.0})
    assert found.status == 0, found.message
    return found.fun


def random_case(seed):
    """A feasible, bounded instance with inequality and equality rows, integer variables and costs of either sign."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 15)), int(rng.integers(2, 7))
    whole = (rng.random(d) < [0.0, 0.5, 1.0][seed % 3]).astype(int)
    inside = rng.integers(0, 4, d).astype(float)
    A_ub = rng.integers(-2, 5, (int(rng.integers(1, 4)), d)).astype(float)
    A_eq = rng.integers(0, 3, (int(rng.integers(0, 2)), d)).astype(float)
    case = {
        "A_ub": A_ub,
        "b_ub": A_ub @ inside + rng.integers(0, 3, len(A_ub)),
        "A_eq": A_eq,
        "b_eq": A_eq @ inside,
        "bounds": [(-1.0, 5.0) if rng.random() < 0.3 else (0.0, 6.0) for _ in range(d)],
        "whole": whole,
    }
    Y = rng.normal(0.0, 3.0, (n, d))
    Y = np.round(Y) if seed % 4 == 0 else Y
    w = rng.dirichlet(np.ones(n)) if seed % 2 else rng.integers(0, 3, n).astype(float)
    w[rng.random(n) < 0.3] = 0.0
    w[rng.integers(n)] += 0.5
    return case, Y, w / w.sum()


def problem_of(case, cost_map=None):
    """The case as a LinearProblem, with sparse rows and one pair of bounds a variable."""
    eq = {"A_eq": case["A_eq"], "b_eq": case["b_eq"]} if len(case["A_eq"]) else {}
    return LinearProblem(
        A_ub=sparse.csr_array(case["A_ub"]),
        b_ub=case["b_ub"],
        bounds=case["bounds"],
        integrality=case["whole"],
        cost_map=cost_map,
        **eq,
    )


@pytest.mark.parametrize("block", seeds(2, 6))
def test_expectation_is_the_textbook_optimum(block):
    """LPs, mixed and pure integer programs reach the value of scipy's own formulation, 240 times."""
    for seed in range(40 * block, 40 * (block + 1)):
        case, Y, w = random_case(seed)
        problem = problem_of(case)
        plan = problem.solve(Y, w, Expectation())
        assert problem.check(plan) is None, seed
        assert w @ (Y @ plan) == pytest.approx(textbook(case, Y, w), rel=1e-8, abs=1e-8), seed


@pytest.mark.parametrize("block", seeds(2, 6))
def test_cvar_is_the_textbook_optimum(block):
    """CVaR programs reach the value of the Rockafellar-Uryasev program over all samples, 240 times."""
    for seed in range(40 * block, 40 * (block + 1)):
        case, Y, w = random_case(seed)
        alpha = [0.0, 0.2, 0.5, 0.8, 0.99][seed % 5]
        problem = problem_of(case)
        plan = problem.solve(Y, w, CVaR(alpha))
        assert problem.check(plan) is None, seed
        value = CVaR(alpha).of(Y @ plan, w)
        # With integers scipy may leave every row broken by 1e-6, and the value as much too low.
        slack = 2e-6 if case["whole"].any() else 1e-7
        assert value == pytest.approx(textbook(case, Y, w, alpha), rel=1e-7, abs=slack), seed


@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.6)], ids=["expectation", "cvar"])
def test_integer_plans_are_whole_and_best_of_all(risk):
    """Enumerating every 0-1 plan of a knapsack finds none better than the one returned."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        size, Y, w = rng.integers(1, 9, 6), -rng.gamma(2.0, 2.0, (9, 6)), rng.dirichlet(np.ones(9))
        problem = LinearProblem(A_ub=[size], b_ub=[12], bounds=(0, 1), integrality=1)
        plan = problem.solve(Y, w, risk)
        np.testing.assert_array_equal(plan, np.round(plan))
        every = (np.arange(64)[:, None] >> np.arange(6)) & 1
        best = min(risk.of(Y @ z, w) for z in every if size @ z <= 12)
        assert risk.of(Y @ plan, w) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.5)], ids=["expectation", "cvar"])
def test_the_size_of_the_costs_does_not_matter(risk, scale):
    """Costs in tiny or huge units give a plan that is as good as in plain ones."""
    case, Y, w = random_case(8)
    problem = problem_of(case)
    scaled = problem.solve(Y * scale, w, risk)
    assert risk.of(Y @ scaled, w) == pytest.approx(risk.of(Y @ problem.solve(Y, w, risk), w), rel=1e-7)


def test_cost_map_carries_rows_of_Y_to_cost_vectors():
    """None, a matrix, a sparse matrix and a matrix with a shift mean d = y, M y, M y and M y + m0."""
    rng = np.random.default_rng(1)
    Y, M, shift = rng.normal(size=(5, 2)), rng.normal(size=(3, 2)), rng.normal(size=3)
    np.testing.assert_array_equal(LinearProblem().cost_rows(Y), Y)
    for M_given in (M, M.tolist(), sparse.coo_array(M)):
        np.testing.assert_allclose(LinearProblem(cost_map=M_given).cost_rows(Y), [M @ y for y in Y])
        np.testing.assert_allclose(LinearProblem(cost_map=(M_given, shift)).cost_rows(Y), [M @ y + shift for y in Y])
    np.testing.assert_allclose(LinearProblem(cost_map=(M, 2.0)).cost_rows(Y), [M @ y + 2.0 for y in Y])
    square = ((1.0, 2.0), (0.0, 1.0))
    np.testing.assert_allclose(LinearProblem(cost_map=square).cost_rows(Y), [np.array(square) @ y for y in Y])


@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.7)], ids=["expectation", "cvar"])
def test_solving_through_a_cost_map(risk):
    """A program with an affine cost map is the one whose costs were mapped beforehand."""
    for seed in range(30):
        case, Y, w = random_case(seed)
        d, rng = Y.shape[1], np.random.default_rng(seed)
        M, shift = rng.normal(size=(d, 3)), rng.normal(size=d)
        factors = rng.normal(size=(len(w), 3))
        problem = problem_of(case, (M, shift))
        plan = problem.solve(factors, w, risk)
        D = factors @ M.T + shift
        alpha = None if isinstance(risk, Expectation) else risk.alpha
        assert risk.of(problem.costs(plan, factors), w) == pytest.approx(textbook(case, D, w, alpha), abs=1e-7)
        np.testing.assert_allclose(problem.costs(plan, factors), D @ plan)


def test_polytope_holds_rows_bounds_and_flags():
    """All that a dual reformulation needs comes as arrays, with infinities for open bounds."""
    space = LinearProblem(
        A_ub=[[1, 2]],
        b_ub=[3],
        A_eq=sparse.coo_array([[1.0, -1.0]]),
        b_eq=0,
        bounds=[(0, None), (None, 4)],
        integrality=[1, 0],
    ).polytope()
    assert isinstance(space, Polytope)
    np.testing.assert_array_equal(space.A_ub.toarray(), [[1.0, 2.0]])
    np.testing.assert_array_equal(space.A_eq.toarray(), [[1.0, -1.0]])
    np.testing.assert_array_equal(space.b_ub, [3.0])
    np.testing.assert_array_equal(space.b_eq, [0.0])
    np.testing.assert_array_equal(space.lower, [0.0, -np.inf])
    np.testing.assert_array_equal(space.upper, [np.inf, 4.0])
    np.testing.assert_array_equal(space.integrality, [True, False])
    assert space.variables == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        space.lower = np.zeros(2)


def test_polytope_without_rows_has_empty_ones():
    """Missing kinds of rows are arrays of no rows and as many columns as variables."""
    space = LinearProblem(bounds=[(0, 1)] * 3).polytope()
    assert space.A_ub.shape == space.A_eq.shape == (0, 3)
    assert space.b_ub.shape == space.b_eq.shape == (0,)
    assert not space.integrality.any()


@pytest.mark.parametrize(
    "bounds", [(0, 2), [(0, 2)] * 2, ((0, 2), (0, 2)), np.array([[0, 2], [0, 2]]), Bounds(0, 2), Bounds([0, 0], [2, 2])]
)
def test_bounds_in_every_form(bounds):
    """One pair, pairs, an array and scipy's Bounds all mean the same."""
    problem = LinearProblem(A_ub=[[1, 1]], b_ub=[3], bounds=bounds)
    np.testing.assert_allclose(problem.solve(np.array([[-2.0, -1.0]]), np.ones(1), Expectation()), [2.0, 1.0])


def test_free_variables():
    """None for bounds, and None in a pair, leave variables free."""
    Y, w = np.array([[1.0, 1.0]]), np.ones(1)
    for bounds in (None, (None, None), (-np.inf, np.inf), [(None, 9), (None, 9)]):
        problem = LinearProblem(A_ub=[[-1, 0], [0, -1]], b_ub=[3, 2], bounds=bounds)
        np.testing.assert_allclose(problem.solve(Y, w, Expectation()), [-3.0, -2.0])


@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.5)], ids=["expectation", "cvar"])
@pytest.mark.parametrize("integrality", [0, 1])
def test_infeasible_and_unbounded_programs_are_named(risk, integrality):
    """A program without an optimum ends in one sentence that says which kind it is."""
    Y, w = np.array([[-1.0, -1.0], [-2.0, -1.0]]), np.array([0.5, 0.5])
    infeasible = LinearProblem(A_ub=[[1, 1]], b_ub=[-1], integrality=integrality)
    with pytest.raises(SolverError, match=r"^LinearProblem is infeasible: [^.]*\.$"):
        infeasible.solve(Y, w, risk)
    unbounded = LinearProblem(A_ub=[[1, -1]], b_ub=[1], integrality=integrality)
    with pytest.raises(SolverError, match=r"^LinearProblem is unbounded: [^.]*\.$"):
        unbounded.solve(Y, w, risk)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ([1, 1], "The plan must hold 3 values, one per variable, but its shape is (2,)."),
        ([1, np.inf, 0], "Variable 1 must be a finite number, but it is inf."),
        ("x", "The plan must be an array of numbers, but it is 'x'."),
        ([-0.5, 0, 0], "Variable 0 is -0.5, 0.5 below its lower bound of 0."),
        ([0, 7, 0], "Variable 1 is 7, 2 above its upper bound of 5."),
        ([0, 0, 0.5], "Variable 2 must be a whole number, but it is 0.5."),
        ([4, 3, 0], "Row 1 of A_ub gives 7, 1 more than its limit of 6."),
        ([1, 0, 1], "Row 0 of A_eq gives 0, 1 away from the 1 it must equal."),
    ],
)
def test_check_names_what_is_violated_and_by_how_much(plan, sentence):
    """Each kind of infeasible plan has its own sentence."""
    problem = LinearProblem(
        A_ub=[[1, 0, 0], [1, 1, 0]],
        b_ub=[5, 6],
        A_eq=[[1, 0, -1]],
        b_eq=[1],
        bounds=[(0, None), (0, 5), (0, None)],
        integrality=[0, 0, 1],
    )
    assert problem.check(plan) == sentence
    assert problem.check([2, 4, 1]) is None
    assert problem.check([2, 4 + 1e-7, 1]) is None


def test_parts_and_description():
    """Variables are named by the outcomes where each has a column of its own."""
    assert LinearProblem(A_ub=[[1, 1]], b_ub=[1]).parts(["a", "b"]) == ["a", "b"]
    assert LinearProblem().parts(["a", "b"]) == ["a", "b"]
    assert LinearProblem(A_ub=[[1, 1]], b_ub=[1]).parts() is None
    assert LinearProblem(cost_map=np.eye(2)).parts(["a", "b"]) is None
    assert LinearProblem().describe([0.0, 2.0], ["a", "b"]) == "b 2"
    assert LinearProblem(cost_map=np.eye(2)).describe([1.0, 2.0], ["a", "b"]) == "z0 1, z1 2"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"A_ub": [[1, 2]]}, InputError, "'A_ub' and 'b_ub' parameters of LinearProblem must be given together"),
        ({"b_eq": [1]}, InputError, "'A_eq' and 'b_eq' parameters of LinearProblem must be given together"),
        (
            {"A_ub": [1, 2], "b_ub": [1]},
            InputError,
            r"The 'A_ub' parameter of LinearProblem must be 2-D. Got shape",
        ),
        ({"A_ub": [["a"]], "b_ub": [1]}, InputTypeError, "The 'A_ub' parameter of LinearProblem must hold numbers"),
        ({"A_eq": [[np.nan]], "b_eq": [1]}, InputError, "The 'A_eq' parameter of LinearProblem must be finite"),
        ({"A_eq": [[1]], "b_eq": [np.inf]}, InputError, "The 'b_eq' parameter of LinearProblem must be finite"),
        ({"A_ub": [[1]], "b_ub": [1, 2]}, InputError, r"The 'b_ub' parameter .* \(1\)\. Got shape \(2,\)"),
        ({"A_ub": [[1]], "b_ub": [1], "bounds": [(0, 1)] * 3}, InputError, "Got 1 by 'A_ub', 3 by 'bounds' instead"),
        (
            {"cost_map": np.eye(2), "integrality": [1] * 3},
            InputError,
            "Got 3 by 'integrality', 2 by 'cost_map'",
        ),
        ({"bounds": (2, 1)}, InputError, "The 'bounds' parameter .* lower bounds up to the upper"),
        ({"bounds": (0, 1, 2)}, InputTypeError, "The 'bounds' parameter .* must be a pair"),
        ({"bounds": "free"}, InputTypeError, "The 'bounds' parameter .* must be a pair"),
        ({"integrality": 2}, InputError, "The 'integrality' parameter of LinearProblem must be 0 or 1"),
        ({"cost_map": (np.eye(2), [1, 2, 3])}, InputError, r"The 'cost_map' parameter .* \(2\)\. Got shape \(3,\)"),
        ({"cost_map": [1, 2]}, InputError, "The 'cost_map' parameter of LinearProblem must be 2-D"),
    ],
)
def test_bad_parameters_are_refused_at_construction(arguments, error, message):
    """Every bad parameter is named, with what came instead."""
    with pytest.raises(error, match=message):
        LinearProblem(**arguments)


def test_samples_that_do_not_fit_are_refused():
    """History, plan and risk of the wrong kind are named."""
    problem = LinearProblem(A_ub=[[1, 1]], b_ub=[1])
    with pytest.raises(InputError, match=r"The 'Y' argument of LinearProblem must be 2-D with 2 columns"):
        problem.solve(np.ones((4, 3)), np.full(4, 0.25), Expectation())
    with pytest.raises(InputError, match=r"one value per variable \(2\)\. Got shape \(1,\)"):
        problem.costs([1.0], np.ones((4, 2)))
    with pytest.raises(InputTypeError, match="must be Expectation or CVaR"):
        problem.solve(np.ones((4, 2)), np.full(4, 0.25), None)
    with pytest.raises(InputError, match="must tell the number of variables"):
        LinearProblem().polytope()


def test_parameters_are_kept_as_given():
    """Scikit-learn's clone, get_params and pickling work, and nothing given is altered."""
    A = [[1, 1]]
    problem = LinearProblem(A_ub=A, b_ub=[1], integrality=1)
    assert problem.A_ub is A
    assert clone(problem).get_params() == problem.get_params()
    Y, w = np.array([[-1.0, -2.0]]), np.ones(1)
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(again.solve(Y, w, Expectation()), [0.0, 1.0])
