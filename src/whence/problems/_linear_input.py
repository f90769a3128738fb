"""Reads the parameters of LinearProblem: arrays, sparse arrays and bounds in the manner of scipy.optimize."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds

from whence.aliases import Floats
from whence.errors import InputError, InputTypeError, parameter_error

__all__ = ["check_further_rows", "read_bounds", "read_cost_map", "read_integrality", "read_rows"]

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
            f"'A_ub' must have a column for each of the {variables} variables. Got {matrix.shape[1]} columns instead.",
            parameter="A_ub",
        )


def read_bounds(bounds: Any) -> tuple[Floats, Floats]:
    """Lower and upper bounds: 0-D where one pair stands for all variables, otherwise one per variable."""
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
    """`bounds` as an array of pairs, with infinities for None."""
    try:
        given: NDArray[Any] = np.array(bounds, dtype=object)
        if given.shape[-1:] != (2,) or given.ndim > 2:
            raise ValueError
        lower, upper = given[..., 0], given[..., 1]
        ends = np.where(lower == np.array(None), -np.inf, lower), np.where(upper == np.array(None), np.inf, upper)
        return np.stack(ends, axis=-1).astype(np.float64)
    except (TypeError, ValueError):
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
    """Matrix (None for the identity) and shift of the map from a row of Y to the cost vector."""
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
    except (TypeError, ValueError):
        raise _wrong(name, "hold numbers", repr(given), InputTypeError) from None
