"""What the columns of a CSV file hold."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path

import numpy as np
import pytest
from tests.project.samples import PROJECT, csv_text, days, write_project

from whence.project import Project, findings


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
            '[weights]\nkind = "knn"\nk = 10\n[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 3\n'
        )
        work[width] = calls(write_project(tmp_path / str(width), project, csv_text(rows)))
    assert work[600] - work[300] < 2.2 * (work[300] - work[150])
    assert (work[600] - work[300]) / 300 < 3700


def said(path: Path) -> list[str]:
    """All findings of a project as texts."""
    return [str(finding) for finding in findings(path)]


def test_one_bad_cell_among_yes_and_no(tmp_path: Path) -> None:
    """The cell that is spelled unlike most of its column is named, and no other."""
    rows = days()
    rows[8][1] = "perhaps"
    project = PROJECT + '\n[features.rain]\ntype = "binary"\n'
    found = said(write_project(tmp_path, project, csv_text(rows)))
    assert len(found) == 1, found
    assert "line 9, column 'rain'" in found[0]
    assert "Got 'perhaps' instead." in found[0]
