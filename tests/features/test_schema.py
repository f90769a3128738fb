"""Schemas: what is inferred, how units become coordinates and back, and where an explanation may lie."""

from __future__ import annotations

import pickle
import warnings
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.blocks import examples
from tests.cases import contexts, schema

import whence as wh
from whence.errors import InputError, InputTypeError, NotFittedError
from whence.features import Binary, Categorical, Continuous, Date, Discrete, Feature, Ordered, Schema


def table() -> pd.DataFrame:
    """Contexts with a column of every kind."""
    return pd.DataFrame(
        {
            "temp": [10.0, 30.0, 20.0, 25.0],
            "month": [3, 9, 6, 3],
            "period": ["AM", "PM", "AM", "AM"],
            "holiday": [False, True, False, False],
            "depot": [7.0, 7.0, 7.0, 7.0],
        }
    )


def space(X: pd.DataFrame, context: Any, features: dict[str, Feature] | None = None, **restrictions: Any) -> Any:
    """Where an explanation of `context` may lie, for a schema fitted on `X`."""
    schema = Schema(features).fit(X)
    return schema.space(schema.row(context), **restrictions)


# ---- what is inferred --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.5], Continuous()),
        (np.array([1, 2], dtype=np.float32), Continuous()),
        ([3, 1, 3], Discrete([1, 3])),
        (range(20), Discrete(range(20))),
        (range(21), Discrete(step=1)),
        (np.arange(0, 10**9, 10**4), Discrete(step=1)),
        (np.arange(30.0), Continuous(step=1.0)),
        (np.arange(30.0) / 4, Continuous(step=0.25)),
        ((np.arange(30.0) / 10).astype(np.float32), Continuous(step=0.1)),
        (np.append(np.arange(30.0) / 10, np.nan)[:-1] + 1e-9, Continuous()),
        (np.arange(19.0), Continuous()),
        (np.arange(30.0) * 1e6, Continuous()),
        ([0, 1, 1], Binary()),
        ([True, False], Binary()),
        (["b", "a", "b"], Categorical(["a", "b"])),
        (pd.Series(["b", "a"], dtype="category"), Categorical(["a", "b"])),
        (pd.Series(pd.Categorical(["b"], categories=["c", "b"])), Categorical(["c", "b"])),
        (pd.Series(pd.Categorical(["b"], ["c", "b"], ordered=True)), Ordered(["c", "b"])),
        (pd.Series(pd.to_datetime(["2024-01-01"])), Date()),
        (pd.Series([date(2024, 1, 1), date(2024, 2, 1)]), Date()),
        (pd.Series([2, 5], dtype="Int64"), Discrete([2, 5])),
        (pd.Series([0, 1], dtype="UInt8"), Binary()),
        (pd.Series([2.0, 5.5], dtype="Float64"), Continuous()),
        (pd.Series([True, False], dtype="boolean"), Binary()),
        (pd.Series(["x", "y"], dtype="string"), Categorical(["x", "y"])),
        (pd.Series(["x", "y"], dtype=object), Categorical(["x", "y"])),
        (pd.Series([4, 2], dtype=object), Discrete([2, 4])),
        (pd.Series([True, False], dtype=object), Binary()),
        (pd.Series([1, "a"], dtype=object), Categorical([1, "a"])),
    ],
)
def test_inferred_from_the_dtype(values: Any, expected: Feature) -> None:
    """Every usual dtype, nullable ones included, tells the kind of feature."""
    assert Schema.infer(pd.DataFrame({"x": values})).kind("x") == expected


@pytest.mark.parametrize("weights", [wh.ForestWeights(n_trees=20, random_state=0), wh.KNNWeights(k=5)])
def test_no_finer_than_the_data(weights: Any) -> None:
    """What is suggested for a table is written as its numbers are; an array, or a declared number, gets the nearest."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"temp": rng.normal(70, 9, 120).round(1), "humidity": rng.integers(20, 99, 120).astype(float)})
    Y = 3 * X[["temp"]] - X[["humidity"]].to_numpy() + rng.normal(0, 4, (120, 1)) + 60
    problem, other = wh.Newsvendor(1, 3), wh.Schema({"temp": Continuous(), "humidity": Continuous()})
    written = wh.Policy(problem, weights).fit(X, Y)
    exact = wh.Policy(problem, weights, schema=other).fit(X, Y)
    arrays = wh.Policy(problem, weights).fit(X.to_numpy(), Y.to_numpy())
    finer = 0
    for at in range(0, 40, 4):
        context, plan = X.iloc[at], written.decide(X.iloc[at + 60])
        why, nearest = (one.explain(context, instead=plan) for one in (written, exact))
        assert why.status == nearest.status
        if why.context is None:
            continue
        assert list(why.context) == [round(why.context["temp"], 1), round(why.context["humidity"])]
        assert why.distance >= nearest.distance - 1e-9
        assert arrays.explain(context.to_numpy(), instead=plan).distance == pytest.approx(nearest.distance, abs=1e-9)
        finer += list(nearest.context) != [round(nearest.context["temp"], 1), round(nearest.context["humidity"])]
    assert finer >= 3


def test_overrides_and_refitting() -> None:
    """Named columns are taken as declared, the others inferred; the inferred kinds are kept when fitted again."""
    schema = Schema.infer(table(), month=Discrete(range(1, 13), change="fixed"))
    assert schema.kind("month") == Discrete(range(1, 13), change="fixed")
    assert schema.kind("period") == Categorical(["AM", "PM"])
    again = schema.fit(table().iloc[[0, 2]])
    assert again.features == schema.features
    assert again == schema
    assert again.levels("period") == ["AM"]
    assert again.training_range("temp") == (10.0, 20.0)
    assert schema.training_range("temp") == (10.0, 30.0)


def test_describes_itself() -> None:
    """Names, units, levels and coordinates of a fitted schema."""
    schema = Schema.infer(table(), temp=Continuous(unit="°C"))
    assert schema.names == schema.columns == ["temp", "month", "period", "holiday", "depot"]
    assert schema.coordinate_names == ["temp", "month", "period=AM", "period=PM", "holiday", "depot"]
    assert schema.feature_of_coordinate() == ["temp", "month", "period", "period", "holiday", "depot"]
    assert schema.n_coordinates == 6
    assert [schema.unit(name) for name in ("temp", "month")] == ["°C", ""]
    assert [schema.levels(name) for name in schema.names] == [[], [3, 6, 9], ["AM", "PM"], [False, True], []]
    assert eval(repr(schema)) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema


def test_columns_that_are_no_strings() -> None:
    """Column labels of any type are taken by their text, in the schema and in every call."""
    X = pd.DataFrame({0: [0.0, 1.0], ("a", 1): [2.0, 4.0]})
    schema = Schema({0: Continuous(weight=2.0)}).fit(X)  # type: ignore[dict-item]
    assert schema.names == ["0", "('a', 1)"]
    assert schema.space(schema.row({0: 0.5, ("a", 1): 3.0}), fixed=[0]).weight.tolist() == [2.0, 1.0]  # type: ignore[list-item]


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-01-31", "2024-02-01"],
        ["1.2.2024", "28.11.24"],
        ["2024-01-31 10:00", "2024-01-31T11:30:00"],
        ["3 Jan 2024", "14 March 2024"],
        ["Jan 3, 2024", "Dec 24 2024"],
        ["10:15", "23:59:59"],
    ],
)
def test_dates_as_text_get_a_warning(texts: list[str]) -> None:
    """A column of date strings becomes a category only with a sentence that names it and says what to do."""
    X = pd.DataFrame({"date": texts})
    with pytest.warns(UserWarning, match=r"'date' holds dates or times as text.*2 levels.*month, weekday, hour"):
        Schema.infer(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Schema({"date": Categorical()}).fit(X).levels("date") == sorted(texts)
        Schema.infer(pd.DataFrame({"day": ["Monday", "May", "3 of 4", "12-pack"]}))


def test_texts_that_are_hardly_a_category_get_a_warning() -> None:
    """A column of texts that are hardly ever the same twice is pointed out."""
    with pytest.warns(UserWarning, match=r"'note' holds 60 different texts in 60 rows"):
        Schema.infer(pd.DataFrame({"note": [f"text {i}" for i in range(60)]}))


def test_ordered_categories() -> None:
    """An ordered category keeps its order, declared or not, and may be allowed to go only up or only down."""
    X = pd.DataFrame({"size": pd.Categorical(list("LSM"), ["S", "M", "L", "XL"], ordered=True)})
    assert Schema.infer(X).levels("size") == ["S", "M", "L"]
    assert Schema({"size": Categorical(weight=2.0)}).fit(X).levels("size") == ["S", "M", "L"]
    up, down = (Categorical(["S", "M", "L", "XL"], ordered=True, change=way) for way in ("increase", "decrease"))
    assert [v.tolist() for v in space(X, ["M"], {"size": up}).levels] == [[0.0], [0.0, 0.5], [0.0, 0.5], [0.0]]
    assert [v.tolist() for v in space(X, ["M"], {"size": down}).levels] == [[0.0, 0.5], [0.0, 0.5], [0.0], [0.0]]
    assert eval(repr(Schema({"size": up}))) == Schema({"size": up})
    with pytest.raises(InputError, match="unless the categories are ordered"):
        Categorical(["a"], change="increase")
    with pytest.raises(InputError, match="'ordered' parameter of Categorical must be a bool"):
        Categorical(["a"], ordered="yes")  # type: ignore[arg-type]


def test_unknown_categories() -> None:
    """A category that training does not hold is refused, or has all its coordinates at 0."""
    schema = Schema.infer(pd.DataFrame({"k": ["a", "b"], "x": [0.0, 1.0]}))
    odd = pd.DataFrame({"k": ["c", "b"], "x": [0.5, 1.0]})
    with pytest.raises(InputError, match=r"The column 'k' must hold one of 'a', 'b'\. Got 'c' instead"):
        schema.encode(odd)
    assert schema.encode(odd, unknown="ignore").tolist() == [[0.0, 0.0, 0.5], [0.0, 0.5, 1.0]]
    assert schema.encode_row(schema.row(odd.iloc[0]), unknown="ignore").tolist() == [0.0, 0.0, 0.5]
    with pytest.raises(InputError, match="missing"):
        schema.encode(pd.DataFrame({"k": ["a", None], "x": [0.0, 1.0]}), unknown="ignore")


# ---- whole numbers ---------------------------------------------------------------------------------


def test_whole_numbers_stay_whole() -> None:
    """Integers with many levels move in whole steps through their range, and come back as integers."""
    X = pd.DataFrame({"hr": np.repeat(np.arange(24), 2), "trays": np.repeat(np.arange(12, 156, 6), 2)})
    schema = Schema.infer(X, trays=Discrete(step=6))
    assert schema.kind("hr") == Discrete(step=1)
    assert schema.levels("hr") == list(range(24))
    found = schema.space(schema.row({"hr": 22, "trays": 12}), bounds={"hr": (2.5, 6.2)})
    np.testing.assert_allclose(found.levels[0], [3 / 23, 4 / 23, 5 / 23, 6 / 23, 22 / 23])
    np.testing.assert_allclose(found.levels[1], np.arange(24) / 23)
    back = schema.decode(np.array([5.4 / 23, 1 / 23]))
    assert back.to_list() == [5, 18]
    assert [type(v) for v in back] == [int, int]
    assert schema.is_level("hr", 30)
    assert not schema.is_level("hr", 5.4)
    assert not schema.is_level("trays", 13)


def test_wide_ranges_of_whole_numbers_are_not_listed() -> None:
    """Of a thousand million whole numbers only some are looked at, the ends of every limit among them."""
    X = pd.DataFrame({"second": np.arange(1_600_000_000, 1_700_000_000, 1_000_003)})
    schema = Schema.infer(X)
    assert schema.levels("second") == []
    first, last = schema.training_range("second")
    found = schema.space(schema.row([first + 7]), bounds={"second": (first + 0.5, first + 12345.5)})
    levels = np.round(found.levels[0] * (last - first))
    assert {1.0, 7.0, 12345.0} <= set(levels)
    assert len(levels) < 10_010
    assert schema.decode(found.levels[0][-1:])["second"] == first + 12345


@pytest.mark.parametrize("values", [[1, 2, 2.5], [0, 6, 13]])
def test_steps_that_the_data_does_not_keep(values: list[float]) -> None:
    """Data between the steps is refused."""
    with pytest.raises(InputError, match=r"The column 'n' must hold only whole numbers in steps of 6 from"):
        Schema({"n": Discrete(step=6)}).fit(pd.DataFrame({"n": values}))


@pytest.mark.parametrize("step", [0, -1, 1.5, True, "1"])
def test_steps_are_whole(step: Any) -> None:
    """A step is a positive whole number, and stands instead of values."""
    with pytest.raises(InputError, match="'step' parameter of Discrete must be an int >= 1"):
        Discrete(step=step)
    with pytest.raises(InputError, match="'values' or a 'step', not both"):
        Discrete([1, 2], step=1)


# ---- units to coordinates and back -----------------------------------------------------------------


def test_coordinates() -> None:
    """Numbers are scaled by the training range, categories are 1/2 in one place, a constant column has scale 1."""
    schema = Schema.infer(table())
    np.testing.assert_allclose(
        schema.encode(table()),
        [
            [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.5, 1.0, 0.0],
            [0.5, 0.5, 0.5, 0.0, 0.0, 0.0],
            [0.75, 0.0, 0.5, 0.0, 0.0, 0.0],
        ],
    )
    far = pd.DataFrame({"temp": [40.0], "month": [12], "period": ["AM"], "holiday": [1], "depot": [9.5]})
    np.testing.assert_allclose(schema.encode(far), [[1.5, 1.5, 0.5, 0.0, 1.0, 2.5]])


def test_a_change_of_category_costs_one() -> None:
    """The plain L1 distance between two categories is 1, whatever their number."""
    X = pd.DataFrame({"k": list("abcde")})
    points = Schema.infer(X).encode(X)
    distance = np.abs(points[:, None] - points[None, :]).sum(axis=2)
    np.testing.assert_array_equal(distance, 1.0 - np.eye(5))


@pytest.mark.parametrize("give", [dict, pd.Series, lambda m: pd.DataFrame([m]), lambda m: list(m.values())])
def test_one_context_of_any_shape(give: Any) -> None:
    """A mapping, Series, one-row table or plain list is the same context as the row of a table."""
    schema = Schema.infer(table())
    context = {"temp": 22.0, "month": 6, "period": "PM", "holiday": True, "depot": 7.0}
    point = schema.encode_row(schema.row(give(context)))
    np.testing.assert_array_equal(point, schema.encode(pd.DataFrame([context]))[0])


def test_decoding_keeps_types() -> None:
    """Coordinates come back as the values they were, ints as ints and bools as bools."""
    X = table().astype({"month": "Int64"})
    schema = Schema.infer(X)
    back = schema.decode(schema.encode(X)[1])
    assert back.to_dict() == {"temp": 30.0, "month": 9, "period": "PM", "holiday": True, "depot": 7.0}
    assert [type(v) for v in back] == [float, int, str, bool, float]
    counts = pd.DataFrame({"count": range(100), "flag": [False, True] * 50})
    loose = Schema.infer(counts, count=Continuous(), flag=Continuous())
    assert [loose.decode(np.array(p)).to_list() for p in ([0.5, 0.25], [1.0, 1.0])] == [[49.5, 0.25], [99, True]]


def test_decoding_keeps_what_did_not_move() -> None:
    """Values that did not move are returned as they were given, also those that training never held."""
    schema = Schema.infer(table(), period=Categorical(["AM", "PM", "night"]))
    row = schema.row({"temp": np.float32(21.7), "month": 13, "period": "night", "holiday": 1, "depot": 7})
    point = schema.encode_row(row)
    assert schema.decode(point, row).to_list() == row.to_list()
    point[0] = 0.0
    assert schema.decode(point, row).to_list() == [10.0, 13, "night", 1, 7]


def test_decoding_rounds_within_the_room() -> None:
    """A value is shortened as far as the box in which the weights stay the same allows, and never out of it."""
    schema = Schema.infer(pd.DataFrame({"x": [0.0, 3.0]}))
    point = np.array([0.1234567891234])
    assert schema.decode(point)["x"] == pytest.approx(0.3703703673702, abs=1e-15)
    wide = schema.decode(point, cell=(point - 1e-6, point + 1e-6))["x"]
    assert len(str(wide)) < 14
    assert abs(wide / 3.0 - point[0]) <= 1e-9
    above = schema.decode(point, cell=(point, point + 1e-6))["x"]
    assert point[0] <= above / 3.0 <= point[0] + 1e-9


@examples(40, 150)
@given(
    low=st.floats(-1e9, 1e9),
    width=st.floats(1e-3, 1e6),
    share=st.floats(-0.5, 1.5),
    room=st.sampled_from([0.0, 1e-7, 1e-3]),
)
def test_numbers_survive_the_way_there_and_back(low: float, width: float, share: float, room: float) -> None:
    """Decoding and encoding again stays in the room and moves no farther than the units' own resolution."""
    schema = Schema.infer(pd.DataFrame({"x": [low, low + width]}))
    start, end = schema.training_range("x")
    point = np.array([share])
    back = schema.encode_row(schema.decode(point, cell=(point - room, point + room)))
    resolution = np.spacing(max(abs(start), abs(end), abs(start + share * (end - start)))) / (end - start)
    assert abs(back[0] - share) <= 1e-9 + 4 * resolution
    if room > 8 * resolution:
        assert abs(back[0] - share) <= room


@examples(40, 100)
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=15), st.data())
def test_levels_survive_the_way_there_and_back(values: list[int], data: st.DataObject) -> None:
    """Discrete values and categories come back exactly."""
    X = pd.DataFrame({"d": values, "k": [f"c{v}" for v in values]})
    schema = Schema.infer(X, d=Discrete(values))
    i = data.draw(st.integers(0, len(values) - 1))
    assert schema.decode(schema.encode(X)[i]).to_list() == X.iloc[i].to_list()


def test_row_by_row_is_the_whole_table() -> None:
    """The quick way for one context gives the very numbers of the way for tables."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "c": rng.normal(size=30),
            "d": rng.integers(2000, 2009, 30),
            "k": rng.choice(list("xyz"), 30),
            "b": rng.random(30) < 0.5,
            "n": pd.array(rng.integers(0, 99, 30), dtype="Int64"),
        }
    )
    schema = Schema.infer(X)
    np.testing.assert_array_equal([schema.encode_row(schema.row(X.iloc[[i]])) for i in range(30)], schema.encode(X))


# ---- one-hot columns and forests in the user's units -------------------------------------------------


def one_hot() -> tuple[pd.DataFrame, Schema]:
    """A table whose category is spread over three columns, apart from each other."""
    X = pd.DataFrame({"am": [1, 0, 0], "temp": [10.0, 20.0, 30.0], "pm": [0, 1, 0], "night": [0, 0, 1]})
    feature = Categorical(["AM", "PM", "night"], columns=["am", "pm", "night"])
    return X, Schema({"period": feature}).fit(X)


def test_one_hot_columns_are_one_feature() -> None:
    """Declared 0/1 columns become one category, which moves as one and is named as one."""
    X, schema = one_hot()
    assert schema.names == ["period", "temp"]
    assert schema.columns == ["am", "temp", "pm", "night"]
    np.testing.assert_array_equal(schema.encode(X), np.column_stack([np.eye(3) / 2, [0.0, 0.5, 1.0]]))
    assert schema.coordinate_of_column().tolist() == [0, 3, 1, 2]
    assert schema.feature_values(schema.row(X.iloc[1])) == {"period": "PM", "temp": 20.0}
    assert schema.decode(schema.encode(X)[2]).to_dict() == {"am": 0, "temp": 30.0, "pm": 0, "night": 1}
    assert schema.space(schema.row(X.iloc[0])).group.tolist() == [0, 0, 0, -1]


def test_one_hot_columns_keep_their_type() -> None:
    """0/1 columns of bools come back as bools."""
    X, schema = one_hot()
    bools = X.astype({"am": bool, "pm": bool, "night": bool})
    fitted = schema.fit(bools)
    assert fitted.decode(fitted.encode(bools)[0]).to_list() == [True, 10.0, False, False]


def test_the_affine_map_leads_to_the_users_units() -> None:
    """Offset and scale carry coordinates to the columns that a frozen forest sees."""
    X, schema = one_hot()
    offset, scale = schema.affine()
    place = schema.coordinate_of_column()
    np.testing.assert_allclose((schema.encode(X) * scale + offset)[:, place], schema.numbers(X))
    np.testing.assert_array_equal(schema.numbers_row(schema.row(X.iloc[1])), schema.numbers(X)[1])
    np.testing.assert_array_equal(schema.numbers(X), X.to_numpy(dtype=float))


@pytest.mark.parametrize("row", [[1, 10.0, 1, 0], [0, 10.0, 0, 0], [0.5, 10.0, 0.5, 0]])
def test_one_hot_columns_must_hold_one_one(row: list[float]) -> None:
    """Two ones, none, or halves in declared 0/1 columns are refused."""
    _, schema = one_hot()
    with pytest.raises(InputError, match="must hold a single 1 and otherwise 0"):
        schema.encode_row(schema.row(row))
    with pytest.raises(InputError, match="must hold a single 1 and otherwise 0"):
        schema.encode([row])


def test_a_frozen_forest_sees_no_names() -> None:
    """A category that is a column of names cannot be handed to a forest that was trained on numbers."""
    schema = Schema.infer(table())
    with pytest.raises(InputError, match=r"declare the category 'period' by its 0/1 columns"):
        schema.numbers(table())
    with pytest.raises(InputError, match=r"declare the category 'period'"):
        schema.numbers_row(schema.row(table().iloc[0]))


# ---- where an explanation may lie ----------------------------------------------------------------------


def test_the_training_range() -> None:
    """Without a word from the user every feature moves in its training range, a constant one not at all."""
    found = space(table(), table().iloc[2])
    assert found.lower.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert found.upper.tolist() == [1.0, 1.0, 0.5, 0.5, 1.0, 0.0]
    assert found.levels[0] is None
    assert found.levels[1].tolist() == [0.0, 0.5, 1.0]
    assert [found.levels[j].tolist() for j in (2, 3, 4)] == [[0.0, 0.5], [0.0, 0.5], [0.0, 1.0]]
    assert found.group.tolist() == [-1, -1, 2, 2, -1, -1]
    assert found.weight.tolist() == [1.0] * 6


def test_the_range_is_widened_to_the_start() -> None:
    """An initial value outside the training range may be kept, and so may all between it and the range."""
    found = space(table(), [50.0, 12, "AM", False, 9.0])
    assert (found.lower[0], found.upper[0]) == (0.0, 2.0)
    assert found.levels[1].tolist() == [0.0, 0.5, 1.0, 1.5]
    assert (found.lower[5], found.upper[5]) == (0.0, 2.0)
    assert found.contains(found.start)


def test_declared_values_keep_to_the_training_range() -> None:
    """Of declared values, those within the training range may be suggested."""
    found = space(table(), table().iloc[0], {"month": Discrete(range(1, 13))})
    np.testing.assert_allclose(found.levels[1], np.arange(7) / 6)


@pytest.mark.parametrize(
    ("limits", "start", "expected"),
    [
        ((15, 25), 20.0, (0.25, 0.75)),
        ((None, 25), 20.0, (0.0, 0.75)),
        ((15, None), 20.0, (0.25, 1.0)),
        ((-100, 100), 20.0, (0.0, 1.0)),
        ((15, 25), 30.0, (0.25, 0.75)),
        ((15, 25), 50.0, (0.25, 0.75)),
        ((35, 45), 50.0, (1.25, 1.75)),
        ((60, 70), 20.0, (0.5, 0.5)),
    ],
)
def test_bounds_narrow_and_the_start_stays(limits: Any, start: float, expected: tuple[float, float]) -> None:
    """Bounds of the schema and of the call narrow the range alike; the start itself stays allowed."""
    X, context = table()[["temp"]], [start]
    called = space(X, context, bounds={"temp": limits})
    declared = space(X, context, {"temp": Continuous(low=limits[0], high=limits[1])})
    for found in (called, declared):
        assert (found.lower[0], found.upper[0]) == pytest.approx(expected)
        assert found.contains(found.start)
    both = space(X, context, {"temp": Continuous(low=limits[0])}, bounds={"temp": (None, limits[1])})
    assert (both.lower[0], both.upper[0]) == pytest.approx(expected)


def test_bounds_of_levels() -> None:
    """Bounds leave the levels within them and the initial one."""
    X = table()
    assert space(X, X.iloc[0], bounds={"month": (6, 9)}).levels[1].tolist() == [0.0, 0.5, 1.0]
    assert space(X, X.iloc[0], bounds={"month": (7, 12)}).levels[1].tolist() == [0.0, 1.0]
    assert space(X, X.iloc[1], bounds={"holiday": (0, 0)}).levels[4].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [("free", (0.0, 1.0)), ("fixed", (0.5, 0.5)), ("increase", (0.5, 1.0)), ("decrease", (0.0, 0.5))],
)
def test_what_may_change(change: Any, expected: tuple[float, float]) -> None:
    """Fixed, increasing and decreasing numbers and levels."""
    X = table()
    found = space(X, X.iloc[2], {"temp": Continuous(change=change), "month": Discrete(change=change)})
    assert (found.lower[0], found.upper[0]) == expected
    assert (found.levels[1].min(), found.levels[1].max()) == expected
    switch = space(X, X.iloc[2], {"holiday": Binary(change=change)})
    assert switch.levels[4].tolist() == ([0.0, 1.0] if change in ("free", "increase") else [0.0])


def test_constant_columns_move_only_within_bounds() -> None:
    """A constant column is fixed unless bounds say otherwise; each bound frees the side it is on."""
    X, start = pd.DataFrame({"depot": [7.0, 7.0], "flag": [0, 0]}), [7.0, 0]
    assert space(X, start).levels[1].tolist() == [0.0]
    for bounds, expected in [
        ((5, 9), (-2.0, 2.0)),
        ((None, 9), (0.0, 2.0)),
        ((5, None), (-2.0, 0.0)),
        ((8, 9), (1, 2)),
    ]:
        found = space(X, start, bounds={"depot": bounds})
        assert (found.lower[0], found.upper[0]) == expected
        declared = space(X, start, {"depot": Continuous(low=bounds[0], high=bounds[1])})
        assert (declared.lower[0], declared.upper[0]) == expected
    assert space(X, start, bounds={"flag": (0, 1)}).levels[1].tolist() == [0.0, 1.0]
    kept = space(X, start, {"depot": Continuous(low=5, high=9, change="fixed")})
    assert (kept.lower[0], kept.upper[0]) == (0.0, 0.0)


def test_categories() -> None:
    """Only categories seen in training are suggested, within the bounds; the initial one always stays allowed."""
    X = pd.DataFrame({"k": ["a", "b", "a"]})
    feature = {"k": Categorical(["a", "b", "c", "never"])}
    switched = [[0.0, 0.5], [0.0, 0.5], [0.0], [0.0]]
    assert [v.tolist() for v in space(X, ["a"], feature).levels] == switched
    assert [v.tolist() for v in space(X, ["c"], feature).levels] == [[0.0, 0.5], [0.0, 0.5], [0.0, 0.5], [0.0]]
    assert [v.tolist() for v in space(X, ["a"], feature, bounds={"k": ["b"]}).levels] == switched
    assert [v.tolist() for v in space(X, ["a"], feature, bounds={"k": "b"}).levels] == switched
    only = [[0.5], [0.0], [0.0], [0.0]]
    assert [v.tolist() for v in space(X, ["a"], feature, bounds={"k": ["a", "c"]}).levels] == only
    assert [v.tolist() for v in space(X, ["a"], feature, fixed="k").levels] == only
    kept = {"k": Categorical(["a", "b", "c", "never"], change="fixed")}
    assert [v.tolist() for v in space(X, ["a"], kept).levels] == only
    assert [v.tolist() for v in space(X.iloc[[0, 2]], ["a"]).levels] == [[0.5]]


def test_feature_weights() -> None:
    """A feature's weight counts for each of its coordinates."""
    X = table()
    found = space(X, X.iloc[0], {"period": Categorical(weight=3.0), "temp": Continuous(weight=0.5)})
    assert found.weight.tolist() == [0.5, 1.0, 3.0, 3.0, 1.0, 1.0]
    point = found.start.copy()
    point[[2, 3]] = point[[3, 2]]
    assert found.distance(point) == 3.0


def test_without_the_users_restrictions() -> None:
    """What stands in the way of a context is named, and can be left out."""
    X = table()
    schema = Schema({"temp": Continuous(high=15), "month": Discrete(change="fixed")}).fit(X)
    start, point = schema.row(X.iloc[0]), schema.encode(X)[1]
    assert schema.restrictions_in_the_way(start, point, fixed=["period"]) == ["temp", "month", "period"]
    assert schema.restrictions_in_the_way(start, point, bounds={"holiday": (0, 0)}) == ["temp", "month", "holiday"]
    assert not schema.space(start, fixed=["period"]).contains(point)
    assert schema.space(start, fixed=["period"], restricted=False).contains(point)


# ---- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
@pytest.mark.parametrize("column", ["temp", "month", "period", "holiday"])
def test_missing_values_are_refused(column: str, missing: Any) -> None:
    """NaN, None and NA are refused by name, in training, in tables and in single contexts."""
    X, schema = table(), Schema.infer(table())
    holed = X.astype({column: object})
    holed.loc[1, column] = missing
    for call in (lambda: Schema.infer(holed), lambda: schema.encode(holed)):
        with pytest.raises(InputError, match=rf"The column '{column}' must not hold missing values"):
            call()
    with pytest.raises(InputError, match=rf"The column '{column}' must not hold missing values"):
        schema.encode_row(schema.row(holed.iloc[1]))


@pytest.mark.parametrize(
    ("column", "value", "error", "message"),
    [
        ("period", "noon", InputError, "The column 'period' must hold one of 'AM', 'PM'. Got 'noon' instead."),
        ("period", ["AM"], InputError, "The column 'period' must hold one of 'AM', 'PM'. Got ['AM'] instead."),
        ("temp", "warm", InputTypeError, "The column 'temp' must hold numbers. Got 'warm' instead."),
        ("temp", "21", InputTypeError, "The column 'temp' must hold numbers. Got '21' instead."),
        ("temp", np.inf, InputError, "The column 'temp' must be finite. Got infinity (inf)."),
        (
            "holiday",
            2,
            InputError,
            "The column 'holiday' is binary and must hold 0 or 1, False or True. Got 2.",
        ),
    ],
)
def test_values_that_do_not_fit(column: str, value: Any, error: type[Exception], message: str) -> None:
    """Unseen categories and values of the wrong kind are refused alike in tables and single contexts."""
    schema = Schema.infer(table())
    context = {**table().iloc[0].to_dict(), column: value}
    with pytest.raises(error) as found:
        schema.encode_row(schema.row(context))
    assert str(found.value) == message
    with pytest.raises(error) as found:
        schema.encode(pd.DataFrame([context]))
    assert str(found.value) == message


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Continuous(low=3, high=2), InputError, "'low' parameter of Continuous must not exceed 'high' (2)"),
        (lambda: Continuous(low=np.nan), InputError, "'low' parameter of Continuous must be a finite number or None"),
        (lambda: Continuous(high="9"), InputError, "'high' parameter of Continuous must be a finite number"),
        (lambda: Continuous(weight=0), InputError, "'weight' parameter of Continuous must be a positive number. Got 0"),
        (lambda: Binary(change="up"), InputError, "'change' parameter of Binary must be 'free', 'fixed', 'increase'"),
        (lambda: Discrete([]), InputError, "'values' parameter of Discrete must be finite numbers, at least one"),
        (lambda: Discrete(["a"]), InputError, "'values' parameter of Discrete must be finite numbers"),
        (lambda: Discrete("12"), InputError, "'values' parameter of Discrete must be finite numbers"),
        (lambda: Discrete([1, np.inf]), InputError, "'values' parameter of Discrete must be finite numbers"),
        (lambda: Categorical("AM"), InputTypeError, "'categories' parameter of Categorical must be a list. Got 'AM'"),
        (lambda: Categorical([]), InputError, "'categories' parameter of Categorical must be distinct, at least one"),
        (lambda: Categorical(["a", "a"]), InputError, "'categories' parameter of Categorical must be distinct"),
        (lambda: Categorical([["a"]]), InputTypeError, "'categories' parameter of Categorical must be a list of names"),
        (lambda: Categorical(["a"], columns=["p", "q"]), InputError, "must name one column per category (1). Got 2"),
        (lambda: Categorical(change="increase"), InputError, "'change' parameter of Categorical must be 'free' or"),
        (lambda: Schema({"x": "number"}), InputTypeError, "The schema's entry for 'x' must be a Continuous"),
        (lambda: Schema({"y": Binary()}).fit(table()), InputError, "names the column 'y', which 'X' does not have"),
        (lambda: Schema({"month": Discrete([3, 9])}).fit(table()), InputError, "only its declared values. Got 6.0"),
        (lambda: Schema({"temp": Binary()}).fit(table()), InputError, "'temp' is binary and must hold 0 or 1"),
        (lambda: Schema({"period": Continuous()}).fit(table()), InputTypeError, "'period' must hold numbers. Got 'AM'"),
        (lambda: Schema.infer(pd.DataFrame({"t": pd.to_timedelta([1])})), InputTypeError, "bools or dates. Got dtype"),
        (lambda: Schema.infer(pd.DataFrame({"t": [[1], [2]]})), InputTypeError, "'t' cannot be a category"),
        (lambda: Schema.infer(table()).kind("tmp"), InputError, "must name features among 'temp', 'month'"),
        (lambda: Schema.infer(table()).training_range("period"), InputError, "'period' must be a number"),
        (lambda: Schema().encode(table()), NotFittedError, "This Schema is not fitted yet"),
        (lambda: space(table(), table().iloc[0], fixed=["tmp"]), InputError, "'fixed' must name features among 'temp'"),
        (lambda: space(table(), table().iloc[0], bounds={"tmp": (0, 1)}), InputError, "'bounds' must name features"),
        (lambda: space(table(), table().iloc[0], bounds={"temp": 3}), InputError, "must be a pair (low, high)"),
        (lambda: space(table(), table().iloc[0], bounds={"temp": (3, 2)}), InputError, "must be a pair low <= high"),
        (lambda: space(table(), table().iloc[0], bounds={"period": ["x"]}), InputError, "must be categories among"),
    ],
)
def test_errors_name_the_argument(call: Any, error: type[Exception], message: str) -> None:
    """Every wrong declaration or restriction is answered by a sentence that names it."""
    with pytest.raises(error) as found:
        call()
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            {"p": Categorical(columns=["a", "b"]), "q": Categorical(columns=["b"])},
            "the column 'b' of 'q' only once",
        ),
        ({"p": Categorical(columns=["a", "b"]), "b": Binary()}, "name the column 'b' of 'p' only once"),
        ({"c": Categorical(columns=["a", "b"])}, "The schema's category 'c' needs another name"),
        ({"p": Categorical(columns=["a", "z"])}, "The schema names the column 'z', which 'X' does not have"),
    ],
)
def test_groups_of_columns_must_not_overlap(features: dict[str, Feature], message: str) -> None:
    """A column belongs to one feature, and a group is not called like another column."""
    X = pd.DataFrame({"a": [1, 0], "b": [0, 1], "c": [3.0, 4.0]})
    with pytest.raises(InputError) as found:
        Schema(features).fit(X)
    assert message in str(found.value)


def test_a_schema_that_is_free_rules_out_nothing() -> None:
    """What is said without a context is so in every context: nothing that is allowed otherwise is ruled out."""
    free = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        kinds = str(rng.choice(["c", "cc", "cd", "kb", "ck", "cr"]))
        X = contexts(rng, 30, kinds)
        fitted = schema(rng, X, kinds).fit(X)
        free += fitted.is_free
        row = fitted.row(contexts(rng, 1, kinds).iloc[0])
        if fitted.is_free:
            assert fitted.space(row).same_as(fitted.space(row, restricted=False))
    assert 20 < free < 100
