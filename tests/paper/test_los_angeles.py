"""The loader of the Los Angeles travel times, on a small made-up city and, where it is at hand, on the data itself."""

from __future__ import annotations

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.blocks import examples

from paper import los_angeles
from paper.forests import paper_forest
from paper.los_angeles import MENDED, NORTH, PEAK, PERIODS, PUBLISHED, SOUTH, load
from paper.los_angeles_files import digest
from whence import Categorical, Continuous, Discrete
from whence.errors import InputError, MissingDataError, WhenceError

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
    with pytest.raises(MissingDataError, match=r"No folder is named.*Explainable-CSO.*--data or WHENCE_UBER_DATA"):
        load()


@pytest.mark.parametrize("name", ["contexts.csv", "travel_times.csv", "edges.csv", "nodes.csv"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    """The error is a FileNotFoundError and says which file is missing where."""
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"There is no {name} in .*Explainable-CSO.*--data or WHENCE_UBER_DATA"):
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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "contexts.csv",
            b"\x89PNG\r\n\x1a\n\xff\xfe",
            r"contexts.csv must be a text file in UTF-8. Got bytes in line 1",
        ),
        ("edges.csv", b"", "edges.csv must have a line of column names and rows below it. Got an empty file"),
        ("edges.csv", b"edge,tail,head\n", "edges.csv must have at least one row below its column names"),
        ("edges.csv", b"edge,tail,head\ne0,1,2,3,4\ne1,1,3,3,4\n", "edges.csv must have as many cells .*names .3"),
        ("edges.csv", b"edge,tail,head\ne0,1,2\ne1,1,3,3,4\n", "edges.csv must be a CSV file .*Expected 3 fields"),
        ("edges.csv", b"edge,tail,tail,head\ne0,1,1,2\n", "edges.csv must list every column once. Got 'tail' twice"),
        ("edges.csv", b"edge,tail,head\ne0,one,2\n", "whole numbers in the column 'tail'. Got 'one' in row 1 instead"),
        ("edges.csv", b"edge,tail,head\ne0,1,2\n,1,3\n", "names in the column 'edge'. Got an empty cell in row 2"),
        ("edges.csv", b"edge,tail,head\ne0,1,2\ne0,1,3\n", "edges.csv must list every edge once. Got 'e0' twice"),
        ("edges.csv", b"edge,tail,head\ne0,1,2\ne1,1,2\n", "every pair of tail and head once. Got '.1, 2.' twice"),
        ("nodes.csv", b"node,lon,lat\n1.5,0,0\n", "nodes.csv must hold whole numbers in the column 'node'. Got '1.5'"),
        ("nodes.csv", b"node,lon,lat\n1,0,0\n1,0,0\n", "nodes.csv must list every node once. Got '1' twice"),
        ("nodes.csv", b"node,lon,lat\n1,inf,0\n", "numbers in the column 'lon'. Got 'inf' in row 1"),
    ],
)
def test_a_damaged_file_is_told_in_one_sentence(folder: Path, name: str, content: bytes, message: str) -> None:
    """The file, the column where it is known, what was expected and what came."""
    (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(folder)


@pytest.mark.parametrize(
    ("name", "column", "value", "message"),
    [
        ("travel_times.csv", "e3", "fast", "must hold seconds, .* in the column 'e3'. Got 'fast' in row 7 instead"),
        ("travel_times.csv", "e3", None, "must hold seconds, .* in the column 'e3'. Got an empty cell in row 7"),
        ("travel_times.csv", "e3", -1, "numbers of at least 0, in the column 'e3'. Got '-1.0' in row 7 instead"),
        ("contexts.csv", "rain", "wet", "contexts.csv must hold numbers in the column 'rain'. Got 'wet' in row 7"),
        ("contexts.csv", "day", 8, "whole numbers from 1 to 7 in the column 'day'. Got '8' in row 7"),
        ("contexts.csv", "period", None, "names in the column 'period'. Got an empty cell in row 7"),
    ],
)
def test_a_cell_that_cannot_be_used_is_named(
    folder: Path, name: str, column: str, value: float | str | None, message: str
) -> None:
    """One cell among good ones is found, with its row."""
    table = pd.read_csv(folder / name)
    table[column] = table[column].astype(object)
    table.loc[6, column] = value
    table.to_csv(folder / name, index=False)
    with pytest.raises(InputError, match=message):
        load(folder)


@examples(40, 150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(los_angeles.COLUMNS)),
    start=st.integers(0, 400),
    lost=st.integers(0, 400),
    put=st.binary(max_size=8)
    | st.sampled_from([b'"', b",", b"\n", b"\r", b"1e999", b"9" * 30, b"NA", b"True", b"0x1"]),
)
def test_no_bytes_are_a_defect(folder: Path, name: str, start: int, lost: int, put: bytes) -> None:
    """Whatever stands in place of some bytes of a file, it is read or refused in a sentence that names a file."""
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:start] + put + whole[start + lost :])
    refused = ""
    try:
        assert np.isfinite(load(folder).Y.to_numpy()).all()
    except WhenceError as error:
        refused = str(error)
    finally:
        (folder / name).write_bytes(whole)
    assert not refused or any(file in refused for file in los_angeles.COLUMNS)
    assert "\n" not in refused


def test_data_of_two_folders_is_told_apart(folder: Path) -> None:
    """One other byte in any of the four files gives another digest; the same bytes give the same."""
    before = digest(folder)
    assert digest(folder) == before
    for name in los_angeles.COLUMNS:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])
        assert digest(folder) != before
        (folder / name).write_bytes(whole)


def test_too_few_rows_for_the_papers_context(folder: Path) -> None:
    """A folder with fewer rows than the paper's context has its place in is refused when that is asked for."""
    with pytest.raises(InputError, match=r"contexts.csv must have at least 1604 rows .*Got 60"):
        _ = load(folder).context


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
    policy = city.policy(1000, 0, paper_forest(n_trees=50, max_depth=4, random_state=0))
    assert tuple(policy.decide(city.context)) == NORTH
    why = policy.explain(city.context, instead=list(PEAK), kind="absolute")
    assert why.status == "optimal"
    assert why.changes[["feature", "from", "to"]].to_numpy().tolist() == [["period", "Midday", "PM"]]
    assert why.distance == 1.0
