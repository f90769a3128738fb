"""What contexts can be: steps, units of change, relations as texts, derived features and what the history shows."""

from __future__ import annotations

import gc
import itertools
import weakref

import numpy as np
import pandas as pd
import pytest
from tests.forests import paper_forest

import whence as wh
from whence.features.kinds import fraction_of
from whence.features.number_column import Lattice
from whence.features.relation_trees import RelationTree
from whence.report.fingerprint import digest

DAYS = ["Mon", "Fri", "Sat", "Sun"]


def history(n: int = 80) -> pd.DataFrame:
    """Two temperatures, a day and whether it is a weekend."""
    rng = np.random.default_rng(3)
    high = rng.normal(15, 8, n).round(1)
    day = np.arange(n) % 4
    columns = {
        "dew point": high - rng.gamma(2, 2, n).round(1),
        "temperature": high,
        "day": np.array(DAYS, dtype=object)[day],
        "weekend": day >= 2,
        "hour": rng.integers(0, 24, n),
    }
    return pd.DataFrame(columns)


X = history()
ROW = {"dew point": 5.0, "temperature": 12.0, "day": "Fri", "weekend": False, "hour": 8}


@pytest.mark.parametrize("step", [0.1, 0.05, 0.5, 1 / 60, 2.5, 7, 1e-9, 1e6])
def test_multiples_are_the_numbers_that_one_would_type(step: float) -> None:
    """Each multiple is the float of its decimals, not of a sum of rounded steps."""
    fraction = fraction_of(step)
    assert fraction is not None
    lattice = Lattice(fraction, 0.0, 1.0)
    for k in (1, 3, 7, 39, 1001, 123457):
        exact = fraction * k
        assert float(lattice.values(np.array([float(k)]))[0]) == exact.numerator / exact.denominator
        assert lattice.nearest(k * step * (1 + 1e-12)) == exact.numerator / exact.denominator


def test_a_step_too_fine_to_tell_apart_is_refused() -> None:
    """Multiples of 1e-9 around 1e9 are no different floats."""
    with pytest.raises(wh.WhenceError, match="The 'step' of 'x' must be so large"):
        wh.Schema({"x": wh.Continuous(step=1e-9)}).fit(pd.DataFrame({"x": [1e9, 2e9]}))


def test_many_steps_are_not_listed_for_a_forest_and_refused_for_neighbours() -> None:
    """A millionth of the range: a forest needs those beside its thresholds, neighbours would need all."""
    schema = wh.Schema({"temperature": wh.Continuous(step=1e-5)})
    Y = pd.DataFrame({"ice": 10 + X["temperature"].clip(0)})
    forest = wh.Policy(wh.Newsvendor(1, 3), paper_forest(random_state=0), schema=schema).fit(X, Y)
    why = forest.explain(ROW, instead=[forest.decide({**ROW, "temperature": 25.0})[0]])
    assert why.status == "optimal"
    levels = forest.schema_.space(why.initial).levels[1]
    assert levels is not None
    assert len(levels) < 2000
    knn = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(5), schema=schema).fit(X, Y)
    with pytest.raises(wh.WhenceError, match="at most 1,000,000 values"):
        knn.explain(ROW, instead=[40.0])


@pytest.mark.parametrize("step", [0.5, 1e-5])
@pytest.mark.parametrize("bounds", [(-5.0, 3.0), (21.0, 28.0), (10.0, 14.0), (11.9, 12.1)])
def test_what_lies_between_today_and_the_bounds_is_not_allowed(step: float, bounds: tuple[float, float]) -> None:
    """On a grid, with a least change: all values but today's are within the bounds, and far enough from today."""
    schema = wh.Schema({"temperature": wh.Continuous(step=step, least_change=1.5)})
    Y = pd.DataFrame({"ice": 10 + X["temperature"].clip(0)})
    policy = wh.Policy(wh.Newsvendor(1, 3), paper_forest(random_state=0), schema=schema).fit(X, Y)
    levels = policy.schema_.space(policy.schema_.row(ROW), bounds={"temperature": bounds}).levels[1]
    assert levels is not None
    offset, scale = policy.schema_.affine()
    values = levels * scale[1] + offset[1]
    own = values[np.abs(values - ROW["temperature"]) > 1e-9]
    assert own.size == values.size - 1
    assert ((own >= bounds[0] - 1e-9) & (own <= bounds[1] + 1e-9)).all()
    assert (np.abs(own - ROW["temperature"]) >= 1.5 - 1e-9).all()
    # The nearest ones that are far enough are among them.
    nearest = [v for v in (max(bounds[0], 13.5), min(bounds[1], 10.5)) if bounds[0] <= v <= bounds[1]]
    assert all(np.abs(own - v).min() < 1e-9 for v in nearest if abs(v - ROW["temperature"]) >= 1.5)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"step": 0}, "'step' parameter of Continuous must be a positive number"),
        ({"step": 0.1234567890123456789}, "at most 15 digits"),
        ({"scale": "median"}, "'scale' parameter of Continuous must be 'range', 'iqr' or a positive"),
        ({"scale": -1}, "'scale' parameter of Continuous must"),
        ({"least_change": 0}, "'least_change' parameter of Continuous must be a positive number or None"),
    ],
)
def test_settings_that_cannot_be(how: dict[str, object], says: str) -> None:
    """One sentence names the setting, what was expected and what came."""
    with pytest.raises(wh.WhenceError, match=says):
        wh.Continuous(**how)  # type: ignore[arg-type]


def test_settings_at_their_defaults_leave_texts_and_fingerprints_as_they_were() -> None:
    """What features did not always have is said only where it is used."""
    assert repr(wh.Continuous()) == "Continuous(change='free', weight=1.0, low=None, high=None, unit='')"
    assert repr(wh.Schema({"x": wh.Binary()})) == "Schema({'x': Binary(change='free', weight=1.0)})"
    assert digest(wh.Continuous()) == digest(wh.Continuous(scale="range", least_change=None, step=None))
    assert digest(wh.Continuous()) != digest(wh.Continuous(step=0.5))


def test_no_interquartile_range() -> None:
    """Half of the history is the same value."""
    with pytest.raises(wh.WhenceError, match="The 'scale' of 'x' must be another than 'iqr'"):
        wh.Schema({"x": wh.Continuous(scale="iqr")}).fit(pd.DataFrame({"x": [0.0] * 9 + [1.0]}))


@pytest.mark.parametrize(
    ("text", "change", "kept"),
    [
        ("dew point <= temperature", {"dew point": 12.5}, False),
        ("dew point <= temperature", {"dew point": 12.0}, True),
        ("`dew point` + 2 <= temperature", {"dew point": 10.5}, False),
        ("temperature >= dew point + 2", {"dew point": 9.5}, True),
        ("2 * temperature - dew point <= 19", {}, True),
        ("2*temperature - dew point <= 18.9", {}, False),
        ("temperature == dew point + 7", {}, True),
        ("temperature == dew point + 7", {"dew point": 5.1}, False),
        ("5 <= dew point <= temperature <= 12", {}, True),
        ("day in (Sat, Sun) <=> weekend", {"day": "Sun"}, False),
        ("day in (Sat, Sun) <=> weekend", {"day": "Sun", "weekend": True}, True),
        ("not weekend or day is not Mon", {"day": "Mon", "weekend": True}, False),
        ("day is Fri => 10 <= temperature <= 11", {}, False),
        ("day is Mon => temperature > 12 and hour in (1, 2)", {"day": "Mon", "hour": 1, "temperature": 11.9}, False),
        ("hour < 8", {}, False),
        ("hour > 7 and hour <= 8", {}, True),
        ("day == 'Mon' => (temperature < 12.5 or hour != 8)", {"day": "Mon"}, True),
        ("day is Fri => hour is 8", {"hour": 9}, False),
        ("weekend is no", {"weekend": True}, False),
    ],
)
def test_relations_as_texts(text: str, change: dict[str, object], kept: bool) -> None:
    """Each is kept or broken in a context as its words say."""
    assert (wh.Schema(relations=[text]).fit(X).broken({**ROW, **change}) == []) is kept


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("temperature <= dew", "must name a feature or a number where it has 'dew'"),
        ("temperature <=", "must be complete"),
        ("temperature < dew point", "must compare features with '<=', '>=' or '=='"),
        ("weekend => dew point <= temperature", "must compare several features only on its own"),
        ("day is Tue", "must name a value of 'day' .* not 'Tue'"),
        ("day", "must say what 'day' is"),
        ("day <= temperature", "must compare numbers, and 'day' is a category"),
        ("temperature <= 3 hour", "must end before"),
        ("temperature <= 3 ; hour", "must not hold ';'"),
        ("observed(day, rain)", "must name two of the features"),
        ("observed(day)", "must name two of the features"),
        ("observed(weekend, temperature, day)", "must begin with a category or a discrete number: 'temperature'"),
        ("observed(temperature, day)", "must begin with a category or a discrete number"),
        ("(weekend", "must be complete"),
        ("3 <= 4", "must name a feature"),
        ("hour is noon", "must name a value of 'hour'"),
    ],
)
def test_relations_that_cannot_be_read(text: str, says: str) -> None:
    """One sentence that repeats the relation and says what is wrong with it."""
    with pytest.raises(wh.WhenceError, match=says) as raised:
        wh.Schema(relations=[text]).fit(X)
    assert raised.value.parameter == "relations"
    assert repr(text) in str(raised.value)


@pytest.mark.parametrize("given", [3, {"a": 1}, [3]])
def test_relations_must_be_texts(given: object) -> None:
    """Anything else is refused by schema and question alike."""
    with pytest.raises(wh.WhenceError, match="'relations' must be a list of texts"):
        wh.Schema(relations=given)  # type: ignore[arg-type]


@pytest.mark.parametrize("first", [False, True])
def test_relations_stand_beside_missing_numbers_but_are_not_about_them(first: bool) -> None:
    """What a relation names must be known in every row of the history, and in the context; wherever it stands."""
    gaps = X.assign(wind=np.where(np.arange(len(X)) % 3, 1.0 * np.arange(len(X)), np.nan))
    gaps = gaps[["wind", *X]] if first else gaps
    about = ["`dew point` <= temperature", "observed(day, weekend)"]
    schema = wh.Schema({"weekend": wh.Derived("day")}, relations=about).fit(gaps, missing=True)
    assert schema.broken({**ROW, "wind": np.nan}) == []
    assert schema.broken({**ROW, "wind": np.nan, "dew point": 99.0}) == ["`dew point` <= temperature"]
    assert schema.related(["temperature <= 99"], gaps) is not None
    for text in ("wind <= temperature", "observed(day, wind)", "day is Sat => wind <= 3"):
        with pytest.raises(wh.WhenceError, match=r"nowhere missing in the history. Got one about 'wind'") as refused:
            wh.Schema(relations=[text]).fit(gaps, missing=True)
        assert refused.value.parameter == "relations"
        with pytest.raises(wh.WhenceError, match="Got one about 'wind'"):
            schema.related([text], gaps)


def test_a_rule_is_kept_in_a_box_where_every_point_keeps_it() -> None:
    """Thresholds at the ends of boxes belong to the left, as they do for a point."""
    tree = RelationTree.of(
        [(0, 1.0, 1, 2), (-1, 0.0, -1, -1), (1, 1.0, 3, 4), (-1, 0.0, -1, -1), (-1, 0.0, -1, -1)],
        [False, True, False, False, True],
    )
    corners = [np.array(pair, dtype=np.float64) for pair in itertools.product(range(4), repeat=2)]
    kept = 0
    for low, high in itertools.product(corners, corners):
        if (low <= high).all():
            points = [point for point in corners if (low <= point).all() and (point <= high).all()]
            assert tree.always_kept(low, high) == tree.keeps(np.array(points)).all()
            kept += tree.always_kept(low, high)
    assert kept > 5


def test_derived_features() -> None:
    """By mapping, function or the history; what is missing or contradicts itself is refused."""
    weekend = {day: day in ("Sat", "Sun") for day in DAYS}
    for function in (weekend, weekend.__getitem__, None):
        schema = wh.Schema({"weekend": wh.Derived("day", function)}).fit(X)
        assert schema.broken(ROW) == []
        assert schema.broken({**ROW, "day": "Sat"}) == ["weekend follows from day"]
        assert schema.derived == ["weekend"]
    for feature, says in (
        (wh.Derived("day", {"Sat": True}), "must have an entry for every value of 'day'"),
        (wh.Derived("hour"), "the history shows"),
        (wh.Derived("temperature"), "must be a category, a discrete number of few values"),
        (wh.Derived("week"), "must be one of the features"),
        (wh.Derived("day", dict.fromkeys(DAYS, "maybe")), "must name a value of 'weekend'"),
    ):
        with pytest.raises(wh.WhenceError, match=says):
            wh.Schema({"weekend": feature}).fit(X)


def test_proposals_are_what_holds_in_every_row_and_is_not_said_yet() -> None:
    """Orders and dependencies; one exception, or few rows, and they are gone. None is enforced unasked."""
    assert wh.Schema.infer(X).proposals(X) == ["`dew point` <= temperature", "observed(day, weekend)"]
    assert wh.Schema(relations=["observed(day, weekend)"]).fit(X).proposals(X) == ["`dew point` <= temperature"]
    assert wh.Schema({"weekend": wh.Derived("day")}).fit(X).proposals(X) == ["`dew point` <= temperature"]
    other = X.copy()
    other.loc[3, ["dew point", "weekend"]] = [99.0, False]
    assert wh.Schema.infer(other).proposals(other) == []
    assert wh.Schema.infer(X.head(20)).proposals(X.head(20)) == []
    assert wh.Schema.infer(X).relations == ()
    assert wh.Schema(relations=wh.Schema.infer(X).proposals(X)).fit(X).broken(ROW) == []


def test_relations_are_part_of_the_certificate() -> None:
    """A document of a question with relations is checked with them."""
    Y = pd.DataFrame({"ice": 10 + X["temperature"].clip(0) + 5 * X["weekend"]})
    schema = wh.Schema({"weekend": wh.Derived("day")})
    policy = wh.Policy(wh.Newsvendor(1, 3), paper_forest(random_state=0), schema=schema).fit(X, Y)
    why = policy.explain(ROW, instead=[25.0], relations=["dew point + 6 <= temperature", wh.observed("day", "hour")])
    assert why.status == "optimal"
    assert why.asked["relations"] == ["dew point + 6 <= temperature", "observed(day, hour)"]
    assert why.context["dew point"] + 6 <= why.context["temperature"] + 1e-6
    assert why.verify(policy).agrees


def test_relations_of_questions_are_not_kept_for_ever() -> None:
    """What the same texts were made into serves the next question; after many others it is gone."""
    schema = wh.Schema().fit(X)
    first = schema.related(["temperature <= 30"], X)
    assert schema.related(["temperature <= 30"], X) is first
    alive = weakref.ref(first)
    del first
    for limit in range(100):
        schema.related([f"temperature <= {31 + limit}"], X)
    gc.collect()
    assert alive() is None
