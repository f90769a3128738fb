"""`whence init`: the first project file can be used as it is, whatever the CSV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.project.samples import csv_text, days

from whence import Categorical, Discrete
from whence.errors import InputError
from whence.project import Project, findings
from whence.project.starter import starter

MIXED = '''date;temp °C;open;size;town;note;"rolls ""big"""
2024-01-01;3,5;yes;1;Ulm;b;10
2024-01-02;4,5;no;2;Köln;b;12
2024-01-03;-1,0;yes;3;Ulm;b;9
2024-01-04;2,25;no;2;Köln;x;11
'''


def test_types_are_found_out(tmp_path: Path) -> None:
    """Every column gets its type, a date names the rows, and the file is valid and free of findings."""
    data = tmp_path / "days.csv"
    data.write_text(MIXED, "utf-8")
    made = starter(data)
    (tmp_path / "whence.toml").write_text(made.text, "utf-8")
    assert findings(tmp_path / "whence.toml") == []
    project = Project.load(tmp_path / "whence.toml")
    schema = project.fitted().schema_
    kinds = {name: type(schema.kind(name)).__name__ for name in schema.names}
    assert kinds == {
        "date": "Date",
        "temp °C": "Continuous",
        "open": "Binary",
        "size": "Discrete",
        "town": "Categorical",
        "note": "Categorical",
    }
    assert list(project.Y.columns) == ['rolls "big"']
    assert project.X.index.tolist()[0] == "2024-01-01"
    assert "Took 'rolls \"big\"' as the outcome: the last column of numbers. Say which with --outcomes." in made.remarks
    assert "Rows are named after 'date'; its weekday is a feature." in made.remarks


def test_whole_numbers_stay_whole(tmp_path: Path) -> None:
    """A column of many whole numbers, gaps in it or not, goes in steps of 1, and explanations keep to them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"hr": np.arange(240) % 24, "second": 1_700_000_000 + rng.integers(0, 10**8, 240)})
    sold = (20 + 15 * np.sin(X["hr"] / 4) + rng.normal(size=240)).round(1)
    text = X.assign(sold=sold).to_csv(index=False).replace("\n5,", "\n,", 1)
    (tmp_path / "days.csv").write_text(text, "utf-8")
    made = starter(tmp_path / "days.csv")
    assert 'type = "discrete"\nstep = 1    # every whole number from 0 to 23' in made.text
    project_file = tmp_path / "whence.toml"
    project_file.write_text(made.text.replace('# missing = "drop"', 'missing = "drop"'), "utf-8")
    assert [finding.severity for finding in findings(project_file)] == ["warning"]
    policy = Project.load(project_file).fitted()
    assert policy.schema_.kind("hr") == policy.schema_.kind("second") == Discrete(step=1)
    why = policy.explain(policy.X_.iloc[22], instead=policy.decide(policy.X_.iloc[6]))
    assert why.status == "optimal"
    assert all(float(to).is_integer() for to in why.changes["to"])


def test_what_a_feature_may_be_declared(tmp_path: Path) -> None:
    """Steps and ordered categories are read, and what is wrong with them is said where it stands."""
    (tmp_path / "days.csv").write_text("n,size,sold\n0,S,1\n6,L,2\n12,M,3\n", "utf-8")
    text = starter(tmp_path / "days.csv").text
    text = text.replace("values = [0, 6, 12]", "step = 6")
    text = text.replace(
        'categories = ["S", "L", "M"]', 'categories = ["S", "M", "L"]\nordered = true\nchange = "increase"'
    )
    (tmp_path / "whence.toml").write_text(text, "utf-8")
    schema = Project.load(tmp_path / "whence.toml").fitted().schema_
    assert schema.kind("n") == Discrete(step=6)
    assert schema.kind("size") == Categorical(["S", "M", "L"], ordered=True, change="increase")
    for old, new, said in (
        ("step = 6", "step = 5", "must hold only whole numbers in steps of 5 from 0. Got 6.0 instead."),
        ("step = 6", "step = 0.5", "must be a whole number of at least 1. Got 0.5 instead."),
        ("ordered = true", "ordered = false", "must be 'free' or 'fixed'. Got 'increase' instead."),
        ("ordered = true", 'ordered = "yes"', "must be true or false. Got 'yes' instead."),
    ):
        (tmp_path / "whence.toml").write_text(text.replace(old, new), "utf-8")
        assert any(said in finding.text for finding in findings(tmp_path / "whence.toml")), said


def test_outcomes_that_are_named(tmp_path: Path) -> None:
    """The outcomes named are no features; a name that no column has is refused with the nearest one."""
    data = tmp_path / "days.csv"
    data.write_text(csv_text(days()), "utf-8")
    made = starter(data, ["rolls", "cakes"])
    assert 'columns = ["rolls", "cakes"]' in made.text
    assert "[features.rolls]" not in made.text
    assert made.remarks == []
    with pytest.raises(InputError, match="Did you mean 'cakes'"):
        starter(data, ["cake"])
    with pytest.raises(InputError, match="'day', which does not hold numbers"):
        starter(data, ["day"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("day\nMonday\n", "has no column of numbers that could be an outcome"),
        ("sold\n3\n4\n", "has no column left for the context besides 'sold'"),
        ("a,a\n1,2\n", "the column 'a' must occur only once"),
    ],
)
def test_data_that_makes_no_project(tmp_path: Path, text: str, expected: str) -> None:
    """A CSV file from which no project can be made is refused in a sentence."""
    data = tmp_path / "days.csv"
    data.write_text(text, "utf-8")
    with pytest.raises(InputError, match=expected):
        starter(data)
