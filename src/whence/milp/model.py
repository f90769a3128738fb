"""An integer program as plain arrays, built step by step and handed to any solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from whence.util.aliases import Floats

Columns = NDArray[np.int64]


@dataclass(frozen=True)
class Linear:
    """A linear expression: ``coefficients @ x[columns] + constant``."""

    columns: Columns
    coefficients: Floats
    constant: float = 0.0

    @classmethod
    def sum(cls, terms: Sequence[Linear]) -> Linear:
        """Return all the terms together."""
        columns, coefficients = ([getattr(term, name) for term in terms] for name in ("columns", "coefficients"))
        return cls(np.concatenate(columns), np.concatenate(coefficients), sum(term.constant for term in terms))

    def __add__(self, other: Linear) -> Linear:
        return Linear.sum([self, other])

    def __mul__(self, factor: float) -> Linear:
        return Linear(self.columns, self.coefficients * factor, self.constant * factor)

    def __sub__(self, other: Linear) -> Linear:
        return self + other * -1.0


@dataclass(frozen=True)
class Row:
    """``lower <= expression <= upper``."""

    expression: Linear
    lower: float
    upper: float


def scaled(expression: Linear, upper: float) -> Row:
    """``expression <= upper`` with coefficients of at most 1, so that the solver's tolerance stays far below tau."""
    largest = float(np.abs(expression.coefficients).max(initial=0.0))
    factor = 1.0 / largest if largest > 0 else 1.0
    return Row(expression * factor, -np.inf, upper * factor)


@dataclass(frozen=True)
class Program:
    """Minimise ``cost @ x + offset`` over ``row_lower <= rows @ x <= row_upper`` and ``lower <= x <= upper``.

    Limits may be infinite. Variables that are `integer` must be whole; those that are `implied` are always whole
    where the integer ones are, so that a solver may take them as integer.
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
        """Return whether `x` keeps all rows, bounds and whole numbers."""
        rows = self.rows @ x
        inside = (x >= self.lower - slack) & (x <= self.upper + slack)
        whole = np.abs(x - np.round(x))[self.integer] <= slack
        kept = (rows >= self.row_lower - slack) & (rows <= self.row_upper + slack)
        return bool(inside.all() and whole.all() and kept.all())

    def with_bounds(self, lower: Floats, upper: Floats, relaxed: bool = False) -> Program:
        """Return the same program within other bounds, without integrality where `relaxed`."""
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
        none = np.empty(0, dtype=np.int64)
        self._entries: list[tuple[Columns, Columns, Floats]] = [(none, none, np.empty(0))]
        self._limits: list[tuple[Floats, Floats]] = [(np.empty(0), np.empty(0))]

    def variables(
        self, n: int, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, integer: ArrayLike | Literal["implied"] = False
    ) -> Columns:
        """Return `n` new variables within `lower` and `upper`; their columns."""
        columns = np.arange(self.n_variables, self.n_variables + n)
        implied = isinstance(integer, str)
        whole = np.broadcast_to(np.asarray(False if implied else integer, dtype=np.bool_), (n,))
        self._bounds.append((_each(lower, n), _each(upper, n), whole, np.full(n, implied)))
        self.n_variables += n
        return columns

    def minimise(self, expression: Linear) -> None:
        """Add `expression` to the objective."""
        self.offset += expression.constant
        self._costs.append((expression.columns, expression.coefficients))

    def row(self, expression: Linear, lower: float = -np.inf, upper: float = np.inf) -> None:
        """Add ``lower <= expression <= upper``; the constant of the expression moves to the limits."""
        at, constant = np.zeros(expression.columns.size, dtype=np.int64), expression.constant
        self.rows(at, expression.columns, expression.coefficients, lower - constant, upper - constant, 1)

    def add(self, row: Row) -> None:
        """Add a row that has already been made."""
        self.row(row.expression, row.lower, row.upper)

    def rows(
        self, at: Columns, columns: Columns, coefficients: Floats, lower: ArrayLike, upper: ArrayLike, n: int
    ) -> None:
        """Add `n` rows at once: entry e adds ``coefficients[e] * x[columns[e]]`` to the new row ``at[e]``."""
        self._entries.append((at + self.n_rows, columns, coefficients))
        self._limits.append((_each(lower, n), _each(upper, n)))
        self.n_rows += n

    def pairs(self, first: Columns, second: Columns, factor: ArrayLike = -1.0, lower: float = -np.inf) -> None:
        """Add ``lower <= first + factor * second <= 0``, one row per pair."""
        n = first.size
        coefficients = np.concatenate((np.ones(n), _each(factor, n)))
        self.rows(np.tile(np.arange(n), 2), np.concatenate((first, second)), coefficients, lower, 0.0, n)

    def program(self) -> Program:
        """Return what has been built so far."""
        lower, upper, integer, implied = (np.concatenate(part) for part in zip(*self._bounds, strict=True))
        cost = np.zeros(self.n_variables)
        for columns, coefficients in self._costs:
            np.add.at(cost, columns, coefficients)
        at, columns, coefficients = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        rows = sparse.coo_array((coefficients, (at, columns)), shape=(self.n_rows, self.n_variables)).tocsr()
        rows.eliminate_zeros()
        row_lower, row_upper = (np.concatenate(part) for part in zip(*self._limits, strict=True))
        return Program(cost, lower, upper, integer, implied, rows, row_lower, row_upper, self.offset)


def _each(number: ArrayLike, n: int) -> Floats:
    return np.broadcast_to(np.asarray(number, dtype=np.float64), (n,))
