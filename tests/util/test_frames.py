"""Reading tables, single contexts and outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from whence.errors import InputError, InputTypeError
from whence.util.frames import as_outcomes, as_row, as_table, number, numbers


def test_arrays_get_names() -> None:
    """Columns of an array are called x0, x1, ...; columns of objects become what they hold."""
    assert as_table([[1.0, 2.0]], "X").columns.tolist() == ["x0", "x1"]
    mixed = as_table(np.array([[1, "a", True], [2, "b", False]], dtype=object), "X")
    assert pd.api.types.is_integer_dtype(mixed["x0"].dtype)
    assert pd.api.types.is_string_dtype(mixed["x1"].dtype)
    assert pd.api.types.is_bool_dtype(mixed["x2"].dtype)


def test_columns_are_found_by_name() -> None:
    """A table in another order is put in order; an array is taken to be in order."""
    given = pd.DataFrame({"b": [2.0], "a": [1.0]})
    assert as_table(given, "X", ["a", "b"]).to_dict("list") == {"a": [1.0], "b": [2.0]}
    assert as_table([[1.0, 2.0]], "X", ["a", "b"]).to_dict("list") == {"a": [1.0], "b": [2.0]}
    assert as_table(pd.DataFrame({0: [1.0]}), "X").columns.tolist() == ["0"]
    assert given.columns.tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), InputError, "'a' must occur only once in 'X'. Got it 2 times"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), InputError, "'1' must occur only once in 'X'"),
        (pd.DataFrame({"a": [1]}), InputError, "The column 'b' is missing from 'X'; expected 'a', 'b'"),
        (pd.DataFrame({"a": [1], "b": [1], "c": [1]}), InputError, "The column 'c' of 'X' is unknown"),
        (pd.DataFrame({"a": [], "b": []}), InputError, "0 sample(s)"),
        ([[1.0]], InputError, "X has 1 features, but Policy is expecting 2 features as input"),
        ([1.0, 2.0], InputError, "Expected 2D array, got 1D array"),
        ([[1.0, np.nan]], InputError, "Input X contains NaN. Every value must be a finite number; rows in which it is"),
        ([[1.0, np.nan]], InputError, "by column: 'b' (1)."),
        ([[1.0, np.inf]], InputError, "infinity"),
        ([[-np.inf, np.inf], [1.0, np.inf]], InputError, "by column: 'a' (1), 'b' (2)."),
        (pd.DataFrame({"a": [1], "B": [1]}), InputError, "Got 'B', which is unknown. Did you mean 'b'?"),
        (np.array([[1.0, None], [2.0, 3.0]], dtype=object), InputError, "NaN"),
        (np.zeros((2, 2, 2)), InputError, "dim 3"),
        (np.array([[1j, 2.0]]), InputError, "Complex data not supported"),
    ],
)
def test_tables_that_cannot_be_read(X: Any, error: type[Exception], message: str) -> None:
    """Duplicate, missing and unknown columns, wrong shapes and missing numbers are named."""
    with pytest.raises(error) as found:
        as_table(X, "X", ["a", "b"])
    assert message in str(found.value)


@pytest.mark.parametrize(
    "context",
    [
        {"a": 1, "b": "x"},
        {"b": "x", "a": 1},
        pd.Series({"b": "x", "a": 1}),
        pd.DataFrame({"b": ["x"], "a": [1]}),
        [1, "x"],
        (1, "x"),
        np.array([1, "x"], dtype=object),
        np.array([[1, "x"]], dtype=object),
    ],
)
def test_one_context(context: Any) -> None:
    """A context comes as a mapping, Series, one-row table, list or array; names decide, not the order."""
    row = as_row(context, ["a", "b"])
    assert row.to_dict() == {"a": 1, "b": "x"}
    assert row.dtype == object


def test_a_row_of_a_table_keeps_its_types() -> None:
    """Ints and bools beside floats stay ints and bools."""
    row = as_row(pd.DataFrame({"a": [1], "b": [2.5], "c": [True]}), ["a", "b", "c"])
    assert isinstance(row["a"], int | np.integer)
    assert isinstance(row["b"], float)
    assert isinstance(row["c"], bool | np.bool_)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"a": 1}, "The 'context' must give 'b'; expected 'a', 'b'"),
        ({"a": 1, "b": 2, "c": 3}, "The 'context' gives 'c', which is unknown"),
        ({"A": 1, "b": 2}, "must give 'a'; expected 'a', 'b'. Got 'A', which is unknown. Did you mean 'a'?"),
        ({"z": 1, "b": 2}, "must give 'a'; expected 'a', 'b'. Got 'z', which is unknown."),
        ({"z": 1, "B": 2, "b": 2}, "must give 'a'; expected 'a', 'b'. Got 'z', which is unknown."),
        (pd.Series([1, 2, 3], index=["a", "b", "b"]), "'b' must occur only once in 'context'"),
        (pd.DataFrame({"a": [1, 2], "b": [1, 2]}), "must be a single row. Got a table of 2 rows"),
        ([1], "must hold 2 values. Got shape (1,)"),
        (3.0, "must hold 2 values. Got shape ()"),
        ([[1, 2], [3, 4]], "must hold 2 values. Got shape (2, 2)"),
    ],
)
def test_contexts_that_cannot_be_read(context: Any, message: str) -> None:
    """What is wrong with a single context is said in a sentence."""
    with pytest.raises(InputError) as found:
        as_row(context, ["a", "b"])
    assert message in str(found.value)


def test_outcomes() -> None:
    """Outcomes become a matrix, with the names of their columns where they have some."""
    values, names = as_outcomes(pd.DataFrame({"rye": [1, 2], "wheat": [3, 4]}), 2)
    assert values.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert names == ["rye", "wheat"]
    assert as_outcomes(pd.Series([1, 2], name="rye"), 2)[1] == ["rye"]
    assert as_outcomes(pd.Series([1, 2]), 2)[1] == ["y"]
    values, names = as_outcomes([1, 2], 2)
    assert values.shape == (2, 1)
    assert names == ["y0"]


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([[1.0]], "'Y' must have one row per row of 'X' (2). Got shape (1, 1)"),
        ([[1.0], [np.nan]], "Input Y contains NaN"),
        (pd.DataFrame({"rye": [1.0, 2.0], "rolls": [np.nan, 3.0]}), "by column: 'rolls' (1)."),
        (pd.Series([1.0, np.inf], name="rye"), "by column: 'rye' (1)."),
        (np.full((2, 7), np.nan), "by column: 'y0' (2), 'y1' (2), 'y2' (2), 'y3' (2), 'y4' (2) and 2 more."),
        ([["a"], ["b"]], "could not convert string"),
        (np.zeros((2, 2, 2)), "dim 3"),
    ],
)
def test_outcomes_that_cannot_be_read(Y: Any, message: str) -> None:
    """Outcomes must be finite numbers, one row per context."""
    with pytest.raises(InputError) as found:
        as_outcomes(Y, 2)
    assert message in str(found.value)


def test_numbers() -> None:
    """Columns and single values become floats; strings, missing and infinite ones are refused by name."""
    assert numbers("a", pd.Series([1, True, 2.5], dtype=object)).tolist() == [1.0, 1.0, 2.5]
    assert numbers("a", pd.Series([1, 2], dtype="Int64")).tolist() == [1.0, 2.0]
    assert number("a", np.float32(0.5)) == 0.5
    with pytest.raises(InputTypeError, match=r"The column 'a' must hold numbers. Got '1' instead"):
        numbers("a", pd.Series(["1"]))
    with pytest.raises(InputTypeError, match=r"The column 'a' must hold numbers"):
        numbers("a", pd.Series(pd.to_datetime(["2024-01-01"])))
    with pytest.raises(InputError, match=r"must not hold missing values \(NaN\). Got 2 of them"):
        numbers("a", pd.Series([1.0, np.nan, np.nan]))
    with pytest.raises(InputError, match="missing values"):
        number("a", float("nan"))
    with pytest.raises(InputError, match="finite"):
        numbers("a", pd.Series([1.0, np.inf]))
