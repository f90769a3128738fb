"""Features of every type, declared or found in the data."""

from __future__ import annotations

from pathlib import Path

from tests.project.samples import PROJECT, csv_text, days, write_project

import whence as wh
from whence.project import Project, findings


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
    assert schema.kind("temp") == wh.Continuous(unit="°C", step=0.1)
    assert schema.kind("rain") == wh.Binary(change="increase")
    assert schema.kind("day") == wh.Categorical(["Monday", "Tuesday", "Wednesday", "Sunday"], change="fixed")
    assert schema.kind("events") == wh.Discrete([0, 1, 2, 3, 4], weight=2.5, unit="a day")


def test_categories_that_look_like_numbers(tmp_path: Path) -> None:
    """A column of numbers that is declared a category is one: its values are names."""
    kind = '[features.events]\ntype = "categorical"\ncategories = [0, 1, 2, 3]\n'
    project = Project.load(write_project(tmp_path, PROJECT + kind))
    assert set(project.X["events"]) == {"0", "1", "2", "3"}
    assert project.context([2, {"events": 3}])["events"] == "3"


KNN = '[weights]\nkind = "knn"\nk = 3\n'


NEWSVENDOR = '[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 2\n'


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
    assert project.explain_defaults["fixed"] == ("size",)


def said(path: Path) -> list[str]:
    """All findings of a project as texts."""
    return [str(finding) for finding in findings(path)]


def test_a_category_that_is_not_declared(tmp_path: Path) -> None:
    """A cell that is none of the declared categories is named with its line."""
    path = write_project(
        tmp_path, PROJECT + '[features.day]\ntype = "categorical"\ncategories = ["Monday", "Tuesday"]\n'
    )
    assert said(path)[0] == (
        "days.csv, line 4, column 'day': must be one of the declared categories. Got 'Wednesday' instead."
    )


def test_numbers_with_separators_are_read(tmp_path: Path) -> None:
    """Numbers as people write them are numbers, unless somebody says that they are categories or they may be either."""
    rows = ["price,sold", *(f'"{1000 + 37 * i:,}",{i % 7}' for i in range(20))]
    text = '[data]\nhistory = "days.csv"\n[outcomes]\ncolumns = ["sold"]\n' + KNN + NEWSVENDOR
    path = write_project(tmp_path, text, data="\n".join(rows) + "\n")
    assert Project.load(path).X["price"].tolist() == [1000 + 37 * i for i in range(20)]
    declared = write_project(tmp_path, text + '[features.price]\ntype = "categorical"\n', data="\n".join(rows) + "\n")
    assert Project.load(declared).fitted().schema_.kinds() == {"price": "categorical"}
    mixed = ["price,sold", *(f'"{i},5","{i}.5"' for i in range(20))]
    (finding,) = said(write_project(tmp_path, text, data="\n".join(mixed) + "\n"))
    assert finding.startswith(
        "days.csv, column 'price': holds numbers with separators, percent or currency signs, such as"
    )


def test_steps_scales_and_derived_features(tmp_path: Path) -> None:
    """What a project says of steps, units of change and features that follow from others reaches the schema."""
    said = 'unit = "°C"\nstep = 0.5\nscale = "iqr"\nleast_change = 2'
    project = PROJECT.replace('unit = "°C"', said) + '\n[features.cold]\ntype = "derived"\nfrom = "day"\n'
    rows = csv_text(days()).splitlines()
    data = "\n".join([rows[0] + ",cold"] + [f"{r},{'yes' if 'Monday' in r else 'no'}" for r in rows[1:]]) + "\n"
    schema = Project.load(write_project(tmp_path, project, data)).policy.schema
    assert schema.features["temp"] == wh.Continuous(unit="°C", step=0.5, scale="iqr", least_change=2)
    assert schema.features["cold"] == wh.Derived("day")
    wrong = project.replace('"iqr"', '"mean"').replace("step = 0.5", "step = -1")
    texts = [str(one) for one in findings(write_project(tmp_path, wrong, data))]
    assert any("features.temp.scale: must be 'range', 'iqr' or a positive number" in text for text in texts)
    assert any("features.temp.step: must be a positive number" in text for text in texts)


def test_numbers_keep_to_the_step_in_which_they_are_recorded(tmp_path: Path) -> None:
    """A declared number without a step has that of its column; "none" asks for any number."""
    for said, step in (("", 0.1), ('step = "none"', None), ("step = 0.5", 0.5)):
        folder = tmp_path / str(step)
        folder.mkdir()
        declared = PROJECT.replace('unit = "°C"', f'unit = "°C"\n{said}')
        assert Project.load(write_project(folder, declared)).fitted().schema_.kind("temp").step == step  # type: ignore[attr-defined]
