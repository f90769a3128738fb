"""Linear and integer programs whose cost vector is uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import Bounds
from sklearn.base import BaseEstimator

from whence.errors import InputError, InputTypeError, argument_error, parameter_error
from whence.problems.base import DecisionProblem, check_outcomes, check_samples, cost_unit_of, plan_numbers
from whence.problems.plan_text import QuantityLimits
from whence.problems.quantity_sets import Quantities, QuantitySet, with_bounds
from whence.risk import Risk, known_tail
from whence.util.aliases import Floats
from whence.util.linear_program import LinearProgram, minimise, with_tail

_FEASIBILITY = 1e-6


@dataclass(frozen=True)
class Polytope:
    """What plans of a linear problem must satisfy: ``A_ub @ z <= b_ub``, ``A_eq @ z == b_eq``, bounds and integrality.

    Without such constraints a matrix has no rows; without a bound, the bound is infinite.
    """

    A_ub: sparse.csr_array
    b_ub: Floats
    A_eq: sparse.csr_array
    b_eq: Floats
    lower: Floats
    upper: Floats
    integrality: NDArray[np.bool_]

    @property
    def variables(self) -> int:
        """Number of variables."""
        return int(self.lower.size)


class LinearProblem(BaseEstimator, DecisionProblem, Quantities):  # type: ignore[misc]
    """Linear or integer program with fixed constraints and an uncertain cost vector.

    Minimises ``(sum_i w_i d_i) @ z`` over ``A_ub @ z <= b_ub``, ``A_eq @ z == b_eq`` and bounds, or the CVaR of
    ``d_i @ z``. The cost vector ``d_i`` of sample i is row i of Y, carried through `cost_map`.

    Parameters
    ----------
    A_ub, A_eq : array or sparse array of shape (rows, variables), optional
        Coefficients of the inequality and equality rows.
    b_ub, b_eq : array of shape (rows,), optional
        Their right-hand sides.
    bounds : pair, sequence of pairs or scipy.optimize.Bounds
        ``(lower, upper)`` for all variables or one pair each; None stands for no bound.
    integrality : int or array of int, optional
        1 for a variable that must be a whole number, 0 otherwise, as in :func:`scipy.optimize.milp`.
    cost_map : array, sparse array or pair, optional
        None for ``d = y``, a matrix M for ``d = M @ y``, or ``(M, m0)`` for ``d = M @ y + m0``.
    cost_unit : str
        Unit of the costs, such as "€", as texts and charts show it; "" for none.

    Examples
    --------
    >>> import numpy as np
    >>> from whence.risk import Expectation
    >>> problem = LinearProblem(A_eq=[[1, 1, 1]], b_eq=[2], bounds=(0, 1))
    >>> prices = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 4.0]])
    >>> problem.solve(prices, np.array([0.5, 0.5]), Expectation())
    array([1., 1., 0.])
    """

    def __init__(
        self,
        A_ub: Any = None,
        b_ub: ArrayLike | None = None,
        A_eq: Any = None,
        b_eq: ArrayLike | None = None,
        bounds: Any = (0, None),
        integrality: ArrayLike | None = None,
        cost_map: Any = None,
        cost_unit: str = "",
    ) -> None:
        self.A_ub = A_ub
        self.b_ub = b_ub
        self.A_eq = A_eq
        self.b_eq = b_eq
        self.bounds = bounds
        self.integrality = integrality
        self.cost_map = cost_map
        self.cost_unit = cost_unit
        cost_unit_of(self)
        self._constraints(None)

    def polytope(self) -> Polytope:
        """Return rows, bounds and integrality as arrays: what a dual reformulation needs."""
        found = self._constraints(None)
        if found is None:
            raise InputError(
                "The 'A_ub', 'A_eq', 'bounds', 'integrality' or 'cost_map' parameter of LinearProblem must tell the "
                "number of variables. Got none that does."
            )
        return found

    def cost_rows(self, Y: Floats) -> Floats:
        """Return the cost vectors ``d_i``, one per row of `Y`, as an array of shape (n, variables)."""
        y = check_outcomes(Y, self.outcome_columns(), "LinearProblem")
        matrix, shift = read_cost_map(self.cost_map)
        if matrix is None:
            return y
        return np.asarray((matrix @ y.T).T) + shift

    @property
    def continuous(self) -> bool:
        return not bool(read_integrality(self.integrality).all())

    def outcome_columns(self) -> int | None:
        matrix, _ = read_cost_map(self.cost_map)
        return self._variables() if matrix is None else int(matrix.shape[1])

    def costs(self, decision: Any, Y: Floats) -> Floats:
        """Return the cost ``d_i @ decision`` of every row of `Y`, as a 1-D array."""
        rows = self.cost_rows(Y)
        z = np.asarray(decision, dtype=np.float64)
        if z.shape != (rows.shape[1],):
            wanted = f"hold one value per variable ({rows.shape[1]})"
            raise argument_error("LinearProblem", "decision", wanted, f"shape {z.shape}")
        return rows @ z

    def linear_costs(self, decision: Any) -> tuple[Floats, float]:
        """Return coefficients and constant of the costs, which are linear in the outcomes, as the cost map is."""
        z = np.asarray(decision, dtype=np.float64)
        matrix, shift = read_cost_map(self.cost_map)
        if matrix is None:
            return z, 0.0
        return np.asarray(matrix.T @ z, dtype=np.float64), float(np.sum(shift * z))

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Floats:
        tail = known_tail(risk, "LinearProblem")
        y, w = check_samples(Y, weights, None, "LinearProblem")
        speaking = np.flatnonzero(w)
        rows = self.cost_rows(y[speaking])
        # Very small or very large costs would be lost in the solver's absolute tolerances.
        rows = rows / (float(np.abs(rows).max(initial=0.0)) or 1.0)
        w = w[speaking] / w[speaking].sum()
        space = self._constraints(rows.shape[1])
        assert space is not None
        program = _program(space, w @ rows if tail is None else np.zeros(space.variables))
        if tail is not None:
            program = with_tail(program, rows, w / tail)
        return minimise(program, "LinearProblem")[: space.variables]

    def with_rows(self, A_ub: Any, b_ub: Any) -> QuantitySet:
        """Return the plans that keep further rows ``A_ub @ z <= b_ub``, as a set of plans.

        Examples
        --------
        >>> LinearProblem(A_eq=[[1, 1]], b_eq=[1]).with_rows([[1, 0]], [0.5]).check([0.75, 0.25])
        'The plan breaks condition 1 by 0.25.'
        """
        self.check_rows(A_ub, b_ub)
        return QuantitySet(self, rows=[(A_ub, b_ub)])

    def check_rows(self, A_ub: Any, b_ub: Any) -> None:
        """Refuse further rows that cannot be read, or that are about other variables than the problem's."""
        check_further_rows(A_ub, b_ub, self._variables())

    def quantities(self, columns: int) -> int:
        """Return how many variables there are where outcomes have this many columns."""
        return self._variables() or columns

    def with_further_rows(self, rows: Sequence[tuple[Any, Any]]) -> LinearProblem:
        """Return the problem with further rows."""
        space = self._constraints(self._variables() or np.atleast_2d(rows[0][0]).shape[1])
        assert space is not None
        more = with_bounds(space, space.lower, space.upper, rows)
        return self._with(A_ub=more["A_ub"], b_ub=more["b_ub"])

    def solve_between(self, Y: Floats, weights: Floats, risk: Risk, lower: Floats, upper: Floats) -> Floats:
        """Return values of the variables between `lower` and `upper` that minimise `risk`."""
        space = self._constraints(self.quantities(np.asarray(Y).shape[1]))
        assert space is not None
        more = with_bounds(space, lower, upper)
        if (more["lower"] > more["upper"]).any():
            raise InputError("No plan keeps the limits on its variables.", parameter="instead")
        return self._with(bounds=Bounds(more["lower"], more["upper"])).solve(Y, weights, risk)

    def _with(self, **more: Any) -> LinearProblem:
        """Return the program with other parameters."""
        names = LinearProblem._get_param_names()
        return LinearProblem(**{name: more.get(name, getattr(self, name)) for name in names})

    def check(self, decision: Any) -> str | None:
        z = plan_numbers(decision, self._variables(), "values, one per variable", "Variable {}".format)
        if isinstance(z, str):
            return z
        space = self._constraints(z.size)
        assert space is not None
        return _violation(z, space)

    def parts(self, outcomes: Sequence[str] = ()) -> list[str] | None:
        """Names of the variables: `outcomes` where every variable has a column of Y of its own, otherwise None."""
        variables = self._variables()
        if self.cost_map is None and len(outcomes) and variables in (None, len(outcomes)):
            return [str(name) for name in outcomes]
        return None

    def quantity_limits(self, Y: Floats) -> QuantityLimits:
        space = self._constraints(None)
        if space is None:
            return QuantityLimits()
        return QuantityLimits(space.lower, space.upper, space.integrality)

    def _variables(self) -> int | None:
        found = self._constraints(None)
        return None if found is None else found.variables

    def _constraints(self, variables: int | None) -> Polytope | None:
        """Return the polytope, or None where neither `variables` nor a parameter tells the number of variables."""
        sizes: dict[str, int] = {} if variables is None else {"Y": variables}
        A_ub, b_ub = read_rows("ub", self.A_ub, self.b_ub, sizes)
        A_eq, b_eq = read_rows("eq", self.A_eq, self.b_eq, sizes)
        lower, upper = read_bounds(self.bounds)
        whole = read_integrality(self.integrality)
        matrix, _ = read_cost_map(self.cost_map)
        if lower.ndim:
            sizes["bounds"] = lower.size
        if whole.ndim:
            sizes["integrality"] = whole.size
        if matrix is not None:
            sizes["cost_map"] = matrix.shape[0]
        if not sizes:
            return None
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{size} by {name!r}" for name, size in sizes.items())
            raise InputError(
                f"The parameters of LinearProblem must agree on the number of variables. Got {told} instead."
            )
        d = next(iter(sizes.values()))
        none = sparse.csr_array((0, d))
        return Polytope(
            A_ub=none if A_ub is None else A_ub,
            b_ub=b_ub,
            A_eq=none if A_eq is None else A_eq,
            b_eq=b_eq,
            lower=np.broadcast_to(lower, d).astype(np.float64),
            upper=np.broadcast_to(upper, d).astype(np.float64),
            integrality=np.broadcast_to(whole, d).astype(np.bool_),
        )


def _program(space: Polytope, cost: Floats) -> LinearProgram:
    return LinearProgram(
        cost=cost,
        lower=space.lower,
        upper=space.upper,
        rows=sparse.vstack([space.A_ub, space.A_eq], format="csr"),
        row_lower=np.concatenate((np.full(space.b_ub.size, -np.inf), space.b_eq)),
        row_upper=np.concatenate((space.b_ub, space.b_eq)),
        integer=space.integrality,
    )


def _violation(z: Floats, space: Polytope) -> str | None:
    """Return what `z` violates, and by how much: a bound, integrality or a row; None where it is feasible."""
    less, equal = space.A_ub @ z, space.A_eq @ z
    away = np.where(space.integrality, np.abs(z - np.round(z)), 0.0)
    for value, limit, excess, sentence in (
        (z, space.lower, space.lower - z, "Variable {0} is {1:g}, {2:g} below its lower bound of {3:g}."),
        (z, space.upper, z - space.upper, "Variable {0} is {1:g}, {2:g} above its upper bound of {3:g}."),
        (z, np.zeros(1), away, "Variable {0} must be a whole number, but it is {1:g}."),
        (less, space.b_ub, less - space.b_ub, "Row {0} of A_ub gives {1:g}, {2:g} more than its limit of {3:g}."),
        (
            equal,
            space.b_eq,
            np.abs(equal - space.b_eq),
            "Row {0} of A_eq gives {1:g}, {2:g} away from the {3:g} it must equal.",
        ),
    ):
        worst = excess - _FEASIBILITY * np.maximum(1.0, np.abs(np.where(np.isfinite(limit), limit, 1.0)))
        if (worst > 0.0).any():
            j = int(worst.argmax())
            return sentence.format(j, value[j], excess[j], np.broadcast_to(limit, value.shape)[j])
    return None


_wrong = partial(parameter_error, "LinearProblem")


def read_rows(kind: str, A: Any, b: Any, sizes: dict[str, int]) -> tuple[sparse.csr_array | None, Floats]:
    """Matrix and right-hand side of one kind of rows; what the matrix says about the variables goes into `sizes`."""
    if (A is None) != (b is None):
        raise InputError(
            f"The 'A_{kind}' and 'b_{kind}' parameters of LinearProblem must be given together. Got only one of them.",
            parameter=f"A_{kind}",
        )
    if A is None:
        return None, np.zeros(0)
    matrix = _read_matrix(f"A_{kind}", A)
    limits = np.atleast_1d(_numbers(f"b_{kind}", b))
    if limits.shape != (matrix.shape[0],):
        raise _wrong(f"b_{kind}", f"hold one number per row of A_{kind} ({matrix.shape[0]})", f"shape {limits.shape}")
    if np.isnan(limits).any() or (kind == "eq" and np.isinf(limits).any()) or (limits == -np.inf).any():
        raise _wrong(f"b_{kind}", "be finite", "NaN or infinity")
    sizes[f"A_{kind}"] = matrix.shape[1]
    return sparse.csr_array(matrix), limits


def check_further_rows(A: Any, b: Any, variables: int | None) -> None:
    """Refuse further rows that cannot be read, or that are not about as many variables, where that is known."""
    matrix, _ = read_rows("ub", A, b, {})
    if matrix is None:
        raise InputError("'with_rows' must be given 'A_ub' and 'b_ub'. Got neither.", parameter="A_ub")
    if variables is not None and matrix.shape[1] != variables:
        raise InputError(
            f"'A_ub' must have a column for each of the {variables} variables. Got {matrix.shape[1]} columns instead."
        )


def read_bounds(bounds: Any) -> tuple[Floats, Floats]:
    """Return the lower and upper bounds: 0-D where one pair stands for all variables, otherwise one per variable."""
    if isinstance(bounds, Bounds):
        lower, upper = np.broadcast_arrays(_numbers("bounds", bounds.lb), _numbers("bounds", bounds.ub))
    else:
        pairs = _open_ends((None, None) if bounds is None else bounds)
        lower, upper = pairs[..., 0], pairs[..., 1]
    if lower.shape == (1,):
        # As in scipy.optimize, a single pair stands for all variables.
        lower, upper = lower[0], upper[0]
    if np.isnan(lower).any() or np.isnan(upper).any() or (lower > upper).any():
        raise _wrong("bounds", "have lower bounds up to the upper ones", repr(bounds))
    return lower, upper


def _open_ends(bounds: Any) -> Floats:
    """Return `bounds` as an array of pairs, with infinities for None."""
    try:
        given: NDArray[Any] = np.array(bounds, dtype=object)
        if given.shape[-1:] != (2,) or given.ndim > 2:
            raise ValueError
        lower, upper = given[..., 0], given[..., 1]
        ends = np.where(lower == np.array(None), -np.inf, lower), np.where(upper == np.array(None), np.inf, upper)
        return np.stack(ends, axis=-1).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(
            "bounds",
            "be a pair of numbers or None, a sequence of pairs or scipy.optimize.Bounds",
            repr(bounds),
            InputTypeError,
        ) from None


def read_integrality(given: Any) -> NDArray[np.float64]:
    flags = _numbers("integrality", 0 if given is None else given)
    if flags.ndim > 1 or not np.isin(flags, (0.0, 1.0)).all():
        raise _wrong("integrality", "be 0 or 1, or one of them per variable", repr(given))
    return flags


def read_cost_map(given: Any) -> tuple[Any, Floats]:
    """Return the matrix (None for the identity) and shift of the map from a row of Y to the cost vector."""
    if given is None:
        return None, np.zeros(1)
    shift: Any = 0.0
    if isinstance(given, tuple) and len(given) == 2 and (sparse.issparse(given[0]) or np.ndim(given[0]) == 2):
        given, shift = given
    matrix = _read_matrix("cost_map", given)
    offset = _numbers("cost_map", shift)
    if offset.ndim > 1 or offset.size not in (1, matrix.shape[0]):
        raise _wrong(
            "cost_map", f"shift by one number per row of its matrix ({matrix.shape[0]})", f"shape {offset.shape}"
        )
    return matrix, offset


def _read_matrix(name: str, given: Any) -> Any:
    matrix = sparse.csr_array(given) if sparse.issparse(given) else _numbers(name, given)
    if matrix.ndim != 2:
        raise _wrong(name, "be 2-D", f"shape {matrix.shape}")
    if not np.isfinite(matrix.data if sparse.issparse(given) else matrix).all():
        raise _wrong(name, "be finite", "NaN or infinity")
    return matrix


def _numbers(name: str, given: Any) -> Floats:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(name, "hold numbers", repr(given), InputTypeError) from None
