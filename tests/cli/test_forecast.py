"""Projects whose weights forecast: `whence forecast`, and the commands that every project has."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.support import refused, run
from tests.project.samples import PROJECT, write_project


def forecasting(folder: Path, model: str) -> Path:
    """The days, with weights that forecast by a model."""
    weights = f'[weights]\nkind = "forecast"\nmodel = "{model}"\nresiduals = "cross"\ncv = 3'
    return write_project(folder, PROJECT.replace('[weights]\nkind = "knn"\nk = 5', weights))


def test_when_the_forecast_crosses_a_value(tmp_path: Path) -> None:
    """The sentences are on stdout, the report in its file; JSON tells the same; proved is exit code 0 or 3."""
    asked = ("forecast", forecasting(tmp_path, "forest"), "-c", "1", "--outcome", "rolls")
    told = run(*asked, "--at-least", "47", "--report", tmp_path / "when.html")
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("The forecast of rolls would be at least 47 if ")
    assert "proved lower bound" in (tmp_path / "when.html").read_text("utf-8")
    document = json.loads(run(*asked, "--between", "46:48", "--fix", "rain", "--json").stdout)
    assert document["between"] == [46.0, 48.0]
    assert document["question"]["fixed"] == ["rain"]
    assert run(*asked, "--at-least", "4000").exit_code == 3
    assert "Got 'high' instead" in refused(run(*asked, "--between", "high"))
    assert "'outcome' must be one of 'rolls', 'cakes'. Got None" in refused(run(*asked[:4], "--at-most", "3"))


def test_what_every_project_has(tmp_path: Path) -> None:
    """The project is sound, decides, explains, is saved and judged."""
    boosted = forecasting(tmp_path, "boosted")
    assert run("check", boosted).exit_code == 0
    assert run("fit", boosted, "--save", tmp_path / "policy.joblib").exit_code == 0
    asked = (boosted, "-c", "1", "--policy", tmp_path / "policy.joblib")
    assert "rolls" in run("decide", *asked).stdout
    told = run("explain", *asked, "-i", "rolls=50, cakes=10")
    assert told.exit_code in (0, 3), told.output
    assert "forecasts with residuals are not asked in simulated worlds" in told.stdout or told.exit_code == 3
    assert run("evaluate", boosted, "--cv", "2", "--rows", "10").exit_code == 0
    assert "ForestWeights" not in refused(run("forecast", boosted, "-c", "1"))
