"""The loader of the Los Angeles travel times, on a small made-up city and, where it is at hand, on the data itself."""

from __future__ import annotations

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from whence import Categorical, Continuous, Discrete, ForestWeights
from whence.errors import InputError, MissingDataError
from whence.experiments import los_angeles
from whence.experiments.los_angeles import MENDED, NORTH, PEAK, PERIODS, PUBLISHED, SOUTH, load

EDGES = [(1, 2), (2, 3), (1, 3), (3, 4), (2, 4)]
DATA = Path(os.environ.get(los_angeles.VARIABLE) or Path(__file__).resolve().parents[3] / "shared" / "uber")
NO_DATA = not (DATA / "travel_times.csv").is_file()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A city of four tracts whose edges are listed neither by tail nor in the order of the columns."""
    rng = np.random.default_rng(0)
    n = 60
    pd.DataFrame(
        {
            "period": rng.choice(PERIODS, n),
            "temperature": rng.normal(60, 10, n),
            "wind_speed": rng.random(n),
            "rain": rng.random(n),
            "visibility": rng.random(n),
            "day": rng.integers(1, 8, n),
            "month": rng.integers(1, 13, n),
        }
    ).to_csv(tmp_path / "contexts.csv", index=False)
    names = [f"e{i}" for i in range(len(EDGES))]
    # Edge i takes about 100 (i + 1) seconds: no two can be taken for each other.
    times = pd.DataFrame(100.0 * (np.arange(len(EDGES)) + 1) + rng.random((n, len(EDGES))), columns=names)
    times[names[::-1]].to_csv(tmp_path / "travel_times.csv", index=False)
    tails, heads = zip(*EDGES, strict=True)
    pd.DataFrame({"edge": names, "tail": tails, "head": heads}).to_csv(tmp_path / "edges.csv", index=False)
    nodes = pd.DataFrame({"node": [3, 1, 2, 4], "tract": 0, "lon": [3.0, 1.0, 2.0, 4.0], "lat": [0.3, 0.1, 0.2, 0.4]})
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    return tmp_path


def test_columns_follow_the_edges_of_the_graph(folder: Path) -> None:
    """Every column of Y is the time of the edge at its place in `graph.edges`, whatever the order in the files."""
    city = load(folder)
    assert list(city.graph.edges) != EDGES
    assert city.Y.shape == (60, 5)
    for place, (u, v) in enumerate(city.graph.edges):
        assert city.Y.columns[place] == f"{u} -> {v}"
        assert city.Y.iloc[:, place].mean() == pytest.approx(100 * (EDGES.index((u, v)) + 1), abs=1)
    costs = city.problem(1, 4).costs([1, 2, 4], city.Y.to_numpy())
    assert costs.mean() == pytest.approx(100 + 500, abs=2)


def test_nodes_have_positions(folder: Path) -> None:
    """Longitude and latitude of a tract are those of its own row."""
    graph = load(folder).graph
    assert {node: graph.nodes[node]["pos"] for node in graph} == {i: (float(i), i / 10) for i in (1, 2, 3, 4)}


def test_schema_of_the_contexts(folder: Path) -> None:
    """The period is categorical, day and month take whole values, the weather is continuous."""
    city = load(folder)
    fitted = city.schema.fit(city.X)
    kinds = {name: fitted.kind(name) for name in fitted.names}
    assert list(kinds) == ["period", "temperature", "wind_speed", "rain", "visibility", "day", "month"]
    assert isinstance(kinds["period"], Categorical)
    day, month = kinds["day"], kinds["month"]
    assert isinstance(day, Discrete)
    assert isinstance(month, Discrete)
    assert day.values == tuple(range(1, 8))
    assert month.values == tuple(range(1, 13))
    assert all(isinstance(kinds[name], Continuous) for name in ("temperature", "wind_speed", "rain", "visibility"))


def test_the_folder_can_come_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument the environment variable names the folder; without either, the error names both."""
    monkeypatch.setenv("WHENCE_UBER_DATA", str(folder))
    assert load().Y.equals(load(folder).Y)
    monkeypatch.delenv("WHENCE_UBER_DATA")
    with pytest.raises(MissingDataError, match=r"'folder' must hold contexts.csv, .*WHENCE_UBER_DATA is not set"):
        load()


@pytest.mark.parametrize("name", ["contexts.csv", "travel_times.csv", "edges.csv", "nodes.csv"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    """The error is a FileNotFoundError and says which file is missing where."""
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"There is no {name} in"):
        load(folder)


def test_files_that_do_not_fit_together_are_refused(folder: Path) -> None:
    """Missing columns, rows, nodes and unknown periods are each named."""

    def broken(name: str, table: pd.DataFrame, message: str) -> None:
        kept = (folder / name).read_bytes()
        table.to_csv(folder / name, index=False)
        with pytest.raises(InputError, match=message):
            load(folder)
        (folder / name).write_bytes(kept)

    tables = {name: pd.read_csv(folder / name) for name in los_angeles.COLUMNS}
    broken("contexts.csv", tables["contexts.csv"].drop(columns="rain"), "contexts.csv must have .*There is no 'rain'")
    broken("contexts.csv", tables["contexts.csv"].assign(period="Noon"), "periods .*Got 'Noon'")
    broken("travel_times.csv", tables["travel_times.csv"].iloc[1:], "each of the 60 rows .*Got 59")
    broken("travel_times.csv", tables["travel_times.csv"].drop(columns="e2"), "There is no 'e2'")
    broken("nodes.csv", tables["nodes.csv"].query("node != 4"), "There is none of number 4")


def test_samples_are_reproducible(folder: Path) -> None:
    """A sample has no row twice, keeps contexts and times together, and depends on its seed alone."""
    city = load(folder)
    X, Y = city.sample(20, 1)
    assert X.index.equals(Y.index)
    assert X.index.is_unique
    assert X.equals(city.sample(20, 1)[0])
    assert not X.index.equals(city.sample(20, 2)[0].index)
    with pytest.raises(InputError, match=r"'n' must lie in \[1, 60\]. Got 61"):
        city.sample(61, 0)


@pytest.mark.skipif(NO_DATA, reason="SKIPPED: Los Angeles; set WHENCE_UBER_DATA to the folder with its travel times.")
def test_the_published_question() -> None:
    """The network, context and routes of the paper; its own alternative is refused, with the missing hop named."""
    city = load(DATA)
    assert (city.X.shape, city.Y.shape) == ((3640, 7), (3640, 93))
    assert nx.is_directed_acyclic_graph(city.graph)
    assert city.context["period"] == "Midday"
    assert city.context["temperature"] == pytest.approx(57.1667, abs=1e-4)
    assert (city.context["day"], city.context["month"]) == (2, 11)
    problem = city.problem()
    for route in (NORTH, SOUTH, PEAK, MENDED):
        assert problem.check(list(route)) is None
    assert problem.check(list(PUBLISHED)) == "The route does not exist: there is no edge 1260 -> 1256."


@pytest.mark.skipif(NO_DATA, reason="SKIPPED: Los Angeles; set WHENCE_UBER_DATA to the folder with its travel times.")
def test_the_policy_takes_the_northern_route() -> None:
    """As in the paper the decision is the northern route; another one is best if only the period changes."""
    city = load(DATA)
    policy = city.policy(1000, 0, ForestWeights(n_trees=50, max_depth=4, random_state=0))
    assert tuple(policy.decide(city.context)) == NORTH
    why = policy.explain(city.context, instead=list(PEAK), kind="absolute")
    assert why.status == "optimal"
    assert why.changes[["feature", "from", "to"]].to_numpy().tolist() == [["period", "Midday", "PM"]]
    assert why.distance == 1.0
