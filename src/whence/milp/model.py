"""An integer program as plain arrays, built step by step and handed to any solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from whence.aliases import Floats

__all__ = ["Linear", "Model", "Program"]

Columns = NDArray[np.int64]


@dataclass(frozen=True)
class Linear:
    """A linear expression: ``coefficients @ x[columns] + constant``."""

    columns: Columns
    coefficients: Floats
    constant: float = 0.0

    def value(self, x: Floats) -> float:
        """Value of the expression where the variables are `x`."""
        return float(self.coefficients @ x[self.columns] + self.constant)

    def __add__(self, other: Linear) -> Linear:
        return Linear(
            np.concatenate((self.columns, other.columns)),
            np.concatenate((self.coefficients, other.coefficients)),
            self.constant + other.constant,
        )

    def __mul__(self, factor: float) -> Linear:
        return Linear(self.columns, self.coefficients * factor, self.constant * factor)

    def __sub__(self, other: Linear) -> Linear:
        return self + other * -1.0


@dataclass(frozen=True)
class Program:
    """Minimise ``cost @ x + offset`` over ``row_lower <= rows @ x <= row_upper`` and ``lower <= x <= upper``.

    Attributes
    ----------
    cost, lower, upper : ndarray of shape (variables,)
        Objective and bounds; bounds may be infinite.
    integer : ndarray of bool of shape (variables,)
        Which variables must be whole.
    implied : ndarray of bool of shape (variables,)
        Which variables cannot but be whole where the integer ones are; a solver may take them as integer.
    rows : csr_array of shape (rows, variables)
        Coefficients of the rows.
    row_lower, row_upper : ndarray of shape (rows,)
        Limits of the rows; may be infinite.
    offset : float
        Constant part of the objective.
    """

    cost: Floats
    lower: Floats
    upper: Floats
    integer: NDArray[np.bool_]
    implied: NDArray[np.bool_]
    rows: sparse.csr_array
    row_lower: Floats
    row_upper: Floats
    offset: float = 0.0

    def allows(self, x: Floats, slack: float = 1e-6) -> bool:
        """Whether `x` keeps all rows, bounds and whole numbers."""
        rows = self.rows @ x
        inside = (x >= self.lower - slack) & (x <= self.upper + slack)
        whole = np.abs(x - np.round(x))[self.integer] <= slack
        kept = (rows >= self.row_lower - slack) & (rows <= self.row_upper + slack)
        return bool(inside.all() and whole.all() and kept.all())

    def with_bounds(self, lower: Floats, upper: Floats, relaxed: bool = False) -> Program:
        """The same program within other bounds, without integrality where `relaxed`."""
        none = np.zeros_like(self.integer)
        integer, implied = (none, none) if relaxed else (self.integer, self.implied)
        return replace(self, lower=lower, upper=upper, integer=integer, implied=implied)


class Model:
    """A program under construction: variables and rows are only ever added."""

    def __init__(self) -> None:
        self.n_variables = 0
        self.n_rows = 0
        self.offset = 0.0
        self._bounds: list[tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]] = []
        self._costs: list[tuple[Columns, Floats]] = []
        self._entries: list[tuple[Columns, Columns, Floats]] = []
        self._limits: list[tuple[Floats, Floats]] = []

    def variables(
        self,
        n: int,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 1.0,
        integer: ArrayLike | Literal["implied"] = False,
    ) -> Columns:
        """`n` new variables within `lower` and `upper`; their columns."""
        columns = np.arange(self.n_variables, self.n_variables + n)
        implied = isinstance(integer, str)
        self._bounds.append(
            (
                np.broadcast_to(np.asarray(lower, dtype=np.float64), (n,)),
                np.broadcast_to(np.asarray(upper, dtype=np.float64), (n,)),
                np.broadcast_to(np.asarray(False if implied else integer, dtype=np.bool_), (n,)),
                np.full(n, implied),
            )
        )
        self.n_variables += n
        return columns

    def minimise(self, expression: Linear) -> None:
        """Add `expression` to the objective."""
        self.offset += expression.constant
        self._costs.append((expression.columns, expression.coefficients))

    def row(self, expression: Linear, lower: float = -np.inf, upper: float = np.inf) -> None:
        """``lower <= expression <= upper``; the constant of the expression moves to the limits."""
        at = np.full(expression.columns.size, self.n_rows)
        self._entries.append((at, expression.columns, expression.coefficients))
        self._limits.append(
            (np.array([lower - expression.constant]), np.array([upper - expression.constant])),
        )
        self.n_rows += 1

    def rows(
        self, at: Columns, columns: Columns, coefficients: Floats, lower: ArrayLike, upper: ArrayLike, n: int
    ) -> None:
        """`n` rows at once: entry e adds ``coefficients[e] * x[columns[e]]`` to the new row ``at[e]``."""
        self._entries.append((at + self.n_rows, columns, coefficients))
        self._limits.append(
            (
                np.broadcast_to(np.asarray(lower, dtype=np.float64), (n,)),
                np.broadcast_to(np.asarray(upper, dtype=np.float64), (n,)),
            )
        )
        self.n_rows += n

    def program(self) -> Program:
        """What has been built so far."""
        lower, upper, integer, implied = (np.concatenate(part) for part in zip(*self._bounds, strict=True))
        cost = np.zeros(self.n_variables)
        for columns, coefficients in self._costs:
            np.add.at(cost, columns, coefficients)
        at, columns, coefficients = (
            (np.concatenate(part) for part in zip(*self._entries, strict=True))
            if self._entries
            else (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
        )
        rows = sparse.coo_array((coefficients, (at, columns)), shape=(self.n_rows, self.n_variables)).tocsr()
        rows.eliminate_zeros()
        limits = (
            [np.concatenate(part) for part in zip(*self._limits, strict=True)] if self._limits else [np.empty(0)] * 2
        )
        return Program(cost, lower, upper, integer, implied, rows, limits[0], limits[1], self.offset)
