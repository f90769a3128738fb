"""Los Angeles: the paper's answer, where it comes from, and what holds for routes that exist; and the built-in city."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from paper import city, city_map, los_angeles
from paper.experiment import Setup
from paper.los_angeles import MISSING_HOP, NORTH, NORTHERN_GATE
from whence.errors import MissingDataError

DATA = Path(os.environ.get(los_angeles.VARIABLE) or Path(__file__).resolve().parents[3] / "shared" / "uber")
NO_DATA = not (DATA / "travel_times.csv").is_file()
NEEDS_DATA = pytest.mark.skipif(
    NO_DATA, reason="SKIPPED: Los Angeles; set WHENCE_UBER_DATA to the folder with its travel times."
)
LABELS = {label.label: label for label in city.LABELS}


def run(setup: Setup) -> pd.DataFrame:
    rows = [{"key": t.key, "seed": t.seed, **row} for t in city.FAMILY.tasks(setup) for row in city.FAMILY.run(t)]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def built_in() -> pd.DataFrame:
    """Two samples of the built-in city."""
    return run(Setup(runs=2, synthetic=True, tiny=True))


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Two samples of Los Angeles, a second a search."""
    return run(Setup(runs=2, data=DATA, tiny=True))


def test_without_data_one_sentence_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The source, the option, the variable and the built-in city are named; a folder without the files is named too."""
    monkeypatch.delenv(los_angeles.VARIABLE, raising=False)
    with pytest.raises(MissingDataError, match=r"Explainable-CSO.*contexts.csv.*--data or WHENCE_UBER.*--synthetic"):
        city.FAMILY.tasks(Setup())
    with pytest.raises(MissingDataError, match=r"There is no contexts.csv in"):
        city.FAMILY.tasks(Setup(data=tmp_path))


def test_no_more_than_twenty_samples() -> None:
    """A hundred runs still give 20 samples of 1,000 observations."""
    tasks = city.FAMILY.tasks(Setup(runs=100, synthetic=True))
    assert [task.seed for task in tasks] == list(range(20))
    assert {task.sizes["n"] for task in tasks} == {1000}


def test_the_built_in_city_is_explained(built_in: pd.DataFrame) -> None:
    """Both kinds end optimal in both samples, and the alternative is at least as good where they lead."""
    answers = built_in[built_in["what"] == "answer"]
    assert answers["status"].tolist() == ["optimal"] * 4
    relative = answers[answers["kind"] == "relative"]
    assert (relative["cost_alternative"] <= relative["cost_decision"] + 1e-6).all()
    absolute = answers[answers["kind"] == "absolute"]
    assert (absolute["cost_alternative"] <= absolute["cost_best"] + 1e-6).all()
    assert (absolute["distance"].to_numpy() >= relative["distance"].to_numpy() - 1e-9).all()


@pytest.mark.parametrize("name", LABELS)
def test_the_built_in_city_has_tables_and_figures(built_in: pd.DataFrame, name: str) -> None:
    """Rows for its one alternative, a map and remarks."""
    label = LABELS[name]
    assert label.table(built_in).shape[0] == {"fig:uberPath": 2, "tab:uberExp": 3}[name]
    assert label.draw is not None
    assert label.draw(built_in).axes[0].get_title()
    assert all(isinstance(remark, str) for remark in label.remarks(built_in))


@NEEDS_DATA
def test_the_papers_answer_comes_from_a_hop_that_costs_nothing(rows: pd.DataFrame) -> None:
    """With the missing hop free, only the period changes, from Midday to AM, for both kinds and in both samples."""
    published = rows[(rows["what"] == "answer") & (rows["alternative"] == "published")]
    assert published["status"].tolist() == ["optimal"] * 4
    assert {json.dumps(json.loads(text)["changes"]) for text in published["details"]} == {'{"period": "AM"}'}
    assert (published["distance"] == 1.0).all()
    assert (published["cost_alternative"] < published["cost_best"]).all()


@NEEDS_DATA
def test_the_free_hop_leaves_the_forest_as_it_is() -> None:
    """A column of zeros changes no split: both policies weigh the past alike."""
    loaded = los_angeles.load(DATA)
    plain, longer = loaded.policy(300, 4), city._with_missing_hop(loaded, 300, 4)
    assert np.array_equal(plain.weights_at(loaded.context), longer.weights_at(loaded.context))
    assert MISSING_HOP in longer.problem.graph.edges  # type: ignore[attr-defined]
    assert MISSING_HOP not in loaded.graph.edges


@NEEDS_DATA
@pytest.mark.parametrize("name", ["south", "mended"])
def test_a_real_southern_route_is_not_better_in_any_period(rows: pd.DataFrame, name: str) -> None:
    """It avoids the north and is a route, but is proved to be better nowhere; AM comes nearest."""
    loaded = los_angeles.load(DATA)
    south = rows[rows["alternative"] == name]
    assert set(south.loc[south["what"] == "answer", "status"]) == {"none"}
    for text in south.loc[south["what"] == "answer", "details"]:
        route = [int(place) for place in json.loads(text)["route"]]
        assert loaded.problem().check(route) is None
        assert NORTHERN_GATE not in route
    gap = south[south["what"] == "period"].assign(gap=lambda f: f["cost_alternative"] - f["cost_decision"])
    assert (gap["gap"] > 0).all()
    assert set(gap.loc[gap.groupby("seed")["gap"].idxmin(), "period"]) == {"AM"}


@NEEDS_DATA
def test_the_peak_route_is_explained_by_the_afternoon(rows: pd.DataFrame) -> None:
    """A route that exists, and an answer that is proved: only the period changes, to PM, better and optimal."""
    peak = rows[(rows["what"] == "answer") & (rows["alternative"] == "peak")]
    assert peak["status"].tolist() == ["optimal"] * 4
    assert {json.dumps(json.loads(text)["changes"]) for text in peak["details"]} == {'{"period": "PM"}'}
    decisions = {tuple(json.loads(text)["decision"]) for text in rows.loc[rows["what"] == "network", "details"]}
    assert decisions == {tuple(map(str, NORTH))}


@NEEDS_DATA
def test_tables_figures_and_remarks(rows: pd.DataFrame) -> None:
    """Stability a kind and alternative, features before and after, maps, and the verdict in words."""
    stable = LABELS["fig:uberPath"].table(rows)
    assert stable.shape[0] == 8
    assert stable["nothing else"].tolist()[:2] == ["2 of 2", "2 of 2"]
    features = LABELS["tab:uberExp"].table(rows).set_index("feature")
    assert (features["today"]["period"], features["published, relative"]["period"]) == ("Midday", "AM (changed)")
    assert (features["today"]["temperature"], features["peak, absolute"]["temperature"]) == ("57.17", "57.17")
    told = " ".join(LABELS["tab:uberExp"].remarks(rows))
    assert "Midday -> AM, better and optimal, and nothing else: agrees in 2 of 2 samples." in told
    assert "better one in 0 of 2 samples. It comes nearest in AM" in told
    assert "in 2 samples it is proved that no context at all makes it better" in told
    assert features["south, absolute"]["period"] == "none exists"
    for label in LABELS.values():
        assert label.draw is not None
        assert label.draw(rows).axes
    titles = [ax.get_title() for ax in city_map.draw(rows).axes]
    assert titles[0].startswith("Published south: better with period Midday → AM")
