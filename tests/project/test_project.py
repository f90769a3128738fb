"""Projects: what a good project file gives, in every form in which the data may come."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.project.samples import PROJECT, SAMPLE, csv_text, days, write_city, write_project

import whence as wh
from whence.project import Project, findings

KNN = '[weights]\nkind = "knn"\nk = 3\n'
NEWSVENDOR = '[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 2\n'


def test_the_sample_project() -> None:
    """The project under examples loads without a word and gives the policy that its file describes."""
    project = Project.load(SAMPLE / "whence.toml")
    assert findings(SAMPLE / "whence.toml") == []
    assert project.title == "Why not bake as on a warm Saturday?"
    assert list(project.X.columns) == ["weekday", "temperature", "rain", "promotion"]
    assert list(project.Y.columns) == ["rolls", "rye bread", "croissants", "fruit cake"]
    assert project.X.index[0] == "2024-01-01"
    assert project.X["rain"].dtype == bool
    assert project.policy.problem.holding == [0.15, 0.70, 0.45, 1.60]
    assert project.policy.weights.n_trees == 50
    assert project.explain_defaults.time_limit == 60


def test_it_decides_as_the_policy_built_by_hand(tmp_path: Path) -> None:
    """A project decides exactly as the same policy written in Python."""
    project = Project.load(write_project(tmp_path))
    table = pd.read_csv(tmp_path / "days.csv")
    X = table[["temp", "rain", "day", "events"]].assign(rain=table["rain"] == "yes")
    by_hand = wh.Policy(wh.Newsvendor([1, 2], [3, 4], budget=100), wh.KNNWeights(k=5)).fit(X, table[["rolls", "cakes"]])
    for row in (1, 7, 40):
        context = project.context(row)
        np.testing.assert_array_equal(project.fitted().decide(context), by_hand.decide(X.iloc[row - 1]))
    assert project.fitted() is project.fitted()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), (";", ","), ("\t", ","), (";", ".")])
def test_csv_as_people_have_it(tmp_path: Path, encoding: str, separator: str, decimal: str) -> None:
    """Encoding, separator and decimal sign are found out, and the numbers and letters are the same in all of them."""
    rows = [[cell.replace("day", "Wochentag ü") for cell in row] for row in days()]
    write_project(tmp_path)
    (tmp_path / "days.csv").write_bytes(csv_text(rows, separator, decimal).encode(encoding))
    project = Project.load(tmp_path / "whence.toml")
    assert list(project.X.columns) == ["temp", "rain", "Wochentag ü", "events"]
    assert project.X["temp"].tolist() == [float(row[0]) for row in rows[1:]]
    assert project.decimal == decimal


def test_contexts_and_outcomes_in_two_files(tmp_path: Path) -> None:
    """Two files are joined by their index where there is one, whatever the order of their rows."""
    (tmp_path / "x.csv").write_text("date,temp\na,1\nb,2\nc,3\nd,4\ne,5\n", "utf-8")
    (tmp_path / "y.csv").write_text("date,sold\ne,50\nd,40\nc,30\nb,20\na,10\n", "utf-8")
    path = tmp_path / "whence.toml"
    path.write_text('[data]\ncontexts = "x.csv"\noutcomes = "y.csv"\nindex = "date"\n' + KNN + NEWSVENDOR, "utf-8")
    project = Project.load(path)
    assert project.Y["sold"].tolist() == [10, 20, 30, 40, 50]
    assert project.Y.index.tolist() == list("abcde")


def test_rows_with_gaps_are_dropped_on_demand(tmp_path: Path) -> None:
    """`missing = "drop"` leaves out rows with a missing value and says how many; otherwise they are errors."""
    rows = days()
    rows[3][0], rows[5][4] = "", "NA"
    path = write_project(tmp_path, data=csv_text(rows))
    assert len([f for f in findings(path) if f.severity == "error"]) == 2
    path.write_text(PROJECT.replace('"days.csv"', '"days.csv"\nmissing = "drop"'), "utf-8")
    project = Project.load(path)
    assert len(project.X) == len(project.Y) == 38
    assert ["2 of 40 rows were left out" in str(w) for w in project.warnings] == [True]


def test_features_of_every_type(tmp_path: Path) -> None:
    """Types, limits, units and rules of the project file arrive in the schema; types left out are inferred."""
    features = """
[features.rain]
change = "increase"
[features.day]
type = "categorical"
categories = ["Monday", "Tuesday", "Wednesday", "Sunday"]
change = "fixed"
[features.events]
type = "discrete"
values = [0, 1, 2, 3, 4]
weight = 2.5
unit = "a day"
"""
    schema = Project.load(write_project(tmp_path, PROJECT + features)).fitted().schema_
    assert schema.kind("temp") == wh.Continuous(unit="°C")
    assert schema.kind("rain") == wh.Binary(change="increase")
    assert schema.kind("day") == wh.Categorical(["Monday", "Tuesday", "Wednesday", "Sunday"], change="fixed")
    assert schema.kind("events") == wh.Discrete([0, 1, 2, 3, 4], weight=2.5, unit="a day")


def test_categories_that_look_like_numbers(tmp_path: Path) -> None:
    """A column of numbers that is declared a category is one: its values are names."""
    kind = '[features.events]\ntype = "categorical"\ncategories = [0, 1, 2, 3]\n'
    project = Project.load(write_project(tmp_path, PROJECT + kind))
    assert set(project.X["events"]) == {"0", "1", "2", "3"}
    assert project.context([2, {"events": 3}])["events"] == "3"


def test_a_category_in_columns_of_its_own(tmp_path: Path) -> None:
    """0/1 columns are declared as one category by their names."""
    rows = ["a,b,sold", *("1,0,5" if i % 2 else "0,1,9" for i in range(20))]
    write_project(tmp_path, data="\n".join(rows) + "\n")
    text = '[data]\nhistory = "days.csv"\n[outcomes]\ncolumns = ["sold"]\n[features.size]\ntype = "categorical"\n'
    (tmp_path / "whence.toml").write_text(
        text + 'columns = ["a", "b"]\n[explain]\nfixed = ["size"]\n' + KNN + NEWSVENDOR
    )
    project = Project.load(tmp_path / "whence.toml")
    assert project.fitted().schema_.names == ["size"]
    assert project.explain_defaults.fixed == ("size",)


def test_a_network(tmp_path: Path) -> None:
    """Edges and nodes come from CSV files, and outcomes are put in the order of the graph's edges by their column."""
    project = Project.load(write_city(tmp_path))
    problem = project.policy.problem
    assert isinstance(problem, wh.ShortestPath)
    assert project.Y.columns.tolist() == ["tunnel out", "bridge in", "tunnel in", "bridge out"]
    assert list(problem.graph.edges) == [("tunnel", "work"), ("home", "bridge"), ("home", "tunnel"), ("bridge", "work")]
    assert problem.graph.nodes["tunnel"]["pos"] == (1.0, -1.0)
    assert problem.graph.edges["home", "bridge"]["name"] == "A1"
    assert project.policy.risk == wh.CVaR(0.5)
    assert project.fitted().decide({"rain": 0.5}) == ["home", "bridge", "work"]
    assert project.fitted().decide({"rain": 9.5}) == ["home", "tunnel", "work"]


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        ('kind = "shipment"\ndistances = [[0, 1], [1, 0]]\nspot_cost = 50\n', wh.Shipment),
        ('kind = "shipment"\ndistances = "far.csv"\n', wh.Shipment),
        ('kind = "linear"\nA_eq = [[1, 1]]\nb_eq = [1]\nbounds = [0, 1]\n', wh.LinearProblem),
        (
            'kind = "linear"\nA_ub = "far.csv"\nb_ub = [4, 4]\nbounds = [[-1, 2], [0, "none"]]\nintegrality = 1\n',
            wh.LinearProblem,
        ),
    ],
)
def test_other_problems(tmp_path: Path, problem: str, kind: type[wh.DecisionProblem]) -> None:
    """Shipments and linear programs are built from lists or CSV files, and decide."""
    (tmp_path / "far.csv").write_text("0;1,5\n1,5;0\n", "utf-8")
    text = PROJECT[: PROJECT.index("[problem]")] + f"[problem]\n{problem}"
    project = Project.load(write_project(tmp_path, text))
    assert isinstance(project.policy.problem, kind)
    plan = project.fitted().decide(project.context(1))
    assert project.policy.problem.check(plan) is None


def test_the_fingerprint_follows_the_data(tmp_path: Path) -> None:
    """The fingerprint stays while nothing changes and changes with the project file or its data."""
    project = Project.load(write_project(tmp_path))
    before = project.fingerprint()
    assert project.fingerprint() == before
    (tmp_path / "days.csv").write_text(csv_text(days(seed=1)), "utf-8")
    assert project.fingerprint() != before


def test_the_fingerprint_follows_the_network(tmp_path: Path) -> None:
    """Files that the problem names count as well."""
    project = Project.load(write_city(tmp_path))
    before = project.fingerprint()
    (tmp_path / "places.csv").write_text("node,x,y\nhome,0,0\nbridge,1,2\ntunnel,1,-1\nwork,2,0\n", "utf-8")
    assert project.fingerprint() != before


@pytest.mark.parametrize("unit", ["€", ""])
def test_the_unit_of_costs(tmp_path: Path, unit: str) -> None:
    """`cost_unit` under [problem] is the unit of the problem's costs, whatever the problem."""
    text = PROJECT.replace("budget = 100", f'budget = 100\ncost_unit = "{unit}"')
    assert Project.load(write_project(tmp_path, text)).policy.problem.cost_unit == unit


def calls(path: Path) -> int:
    """Calls of functions that reading a project takes: a measure of work that no busy machine changes."""
    profile = cProfile.Profile()
    profile.enable()
    project = Project.load(path)
    profile.disable()
    assert project.X.shape[1] > 100
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("declared", [False, True])
def test_wide_tables_take_work_in_proportion(tmp_path: Path, declared: bool) -> None:
    """Twice the columns take about twice the work, and little a column: no step looks at all columns for each."""
    work = {}
    rng = np.random.default_rng(0)
    for width in (150, 300, 600):
        names = [f"c{j}" for j in range(width)]
        rows = [[*names, "sold"]] + [[f"{x:.3f}" for x in row] for row in rng.random((20, width + 1))]
        sections = "".join(f'[features.{name}]\ntype = "continuous"\n' for name in names) if declared else ""
        project = (
            f'[data]\nhistory = "days.csv"\n[outcomes]\ncolumns = ["sold"]\n{sections}'
            '[weights]\nkind = "knn"\n[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 3\n'
        )
        work[width] = calls(write_project(tmp_path / str(width), project, csv_text(rows)))
    assert work[600] - work[300] < 2.2 * (work[300] - work[150])
    assert (work[600] - work[300]) / 300 < 3000
