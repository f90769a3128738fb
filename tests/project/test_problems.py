"""Decision problems from a project file, with their networks and matrices."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.project.samples import PROJECT, write_city, write_project

import whence as wh
from whence.project import Project, findings


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


@pytest.mark.parametrize("unit", ["€", ""])
def test_the_unit_of_costs(tmp_path: Path, unit: str) -> None:
    """`cost_unit` under [problem] is the unit of the problem's costs, whatever the problem."""
    text = PROJECT.replace("budget = 100", f'budget = 100\ncost_unit = "{unit}"')
    assert Project.load(write_project(tmp_path, text)).policy.problem.cost_unit == unit


def said(path: Path) -> list[str]:
    """All findings of a project as texts."""
    return [str(finding) for finding in findings(path)]


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (
            "city.toml",
            '"home"',
            '"hoem"',
            "problem.source: names 'hoem', which is not a node of streets.csv. Did you mean",
        ),
        ("streets.csv", "from,to", "fro,to", "streets.csv, line 1: needs a column 'from'. Did you mean 'fro'?"),
        (
            "streets.csv",
            "home,bridge",
            "tunnel,work",
            "streets.csv, line 3, column 'from': the edge tunnel -> work must",
        ),
        ("streets.csv", "home,bridge", ",bridge", "streets.csv, line 3, column 'from': is missing; an edge needs both"),
        ("streets.csv", "bridge out", "bridge off", "names 'bridge off', which trips.csv does not have. Did you mean"),
        ("places.csv", "node,", "place,", "places.csv, line 1: needs a column 'node'."),
        ("places.csv", "home,0", "home,west", "places.csv, line 2, column 'x': must be a number"),
        ("places.csv", "bridge,", "Bridge,", "does not say where 'bridge' is, so routes are not drawn."),
        ("city.toml", "alpha = 0.5", "alpha = 1", "risk.alpha: must be a number in [0, 1). Got 1 instead."),
        ("city.toml", "alpha = 0.5", "", "risk: needs 'alpha', a number in [0, 1)."),
        ("city.toml", 'source = "home"', "grid = 3", "needs 'network', 'source' and 'target', or 'grid' alone."),
    ],
)
def test_mistakes_in_a_network(tmp_path: Path, file: str, old: str, new: str, expected: str) -> None:
    """Faults of a network are named in the file in which they are."""
    path = write_city(tmp_path)
    text = (tmp_path / file).read_text("utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1), "utf-8")
    found = said(path)
    assert any(expected in text for text in found), found
