"""A project with a date, an hour that goes round and an ordered category, from the command."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.support import run

from whence.project import Project

TEXT = """
[data]
history = "history.csv"

[outcomes]
columns = ["bikes"]

[features.date]
type = "date"
parts = ["weekday", "month", "holiday"]
holidays = [2024-05-01, 2024-12-25]

[features.hour]
type = "cyclic"
period = 24

[features.service]
type = "ordered"
categories = ["none", "some", "full"]

[weights]
kind = "forest"
n_trees = 20
max_depth = 4
min_samples_leaf = 1
max_features = "sqrt"

[problem]
kind = "newsvendor"
holding = 1
backorder = 3
"""


def write(folder: Path, text: str = TEXT) -> Path:
    """The project, its history and its questions."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=300)
    hour, service = np.arange(300) % 24, rng.integers(0, 3, 300)
    bikes = (
        40 + 20 * np.cos((hour - 1) * np.pi / 12) + 25 * (days.day_of_week > 4) + 4 * service + rng.normal(0, 2, 300)
    )
    history = pd.DataFrame({"date": days.strftime("%Y-%m-%d"), "hour": hour, "bikes": bikes.round(1)})
    history["service"] = np.array(["none", "some", "full"])[service]
    history.to_csv(folder / "history.csv", index=False)
    (folder / "whence.toml").write_text(text, "utf-8")
    return folder / "whence.toml"


def test_explained_and_read_again(tmp_path: Path) -> None:
    """The sentence names the date, limits are dates, the document is read and checked again, and batches carry it."""
    path = write(tmp_path)
    assert run("check", path).exit_code == 0
    said = run("fit", path).stdout
    assert "2024-01-01 to 2024-12-31: weekday, month, holiday" in said
    assert "cyclic" in said
    assert "ordered" in said
    given = ["-c", "date=2024-03-05, hour=22, service=none", "-i", "bikes=95", "--no-holds"]
    told = run("explain", path, *given, "--bound", "hour=20:23")
    assert told.exit_code == 0, told.output
    assert "rather than Tuesday 5 March 2024" in " ".join(told.stdout.split())
    text = run("explain", path, *given, "--bound", "hour=20:23", "--json").stdout
    found = json.loads(text)
    assert date.fromisoformat(found["context"]["date"][:10]).weekday() > 4
    assert found["kinds"] == {"date": "date", "hour": "discrete", "service": "categorical"}
    (tmp_path / "why.json").write_text(text, "utf-8")
    assert run("verify", tmp_path / "why.json", path).exit_code == 0
    june = json.loads(run("explain", path, *given, "--bound", "date=2024-06-01:2024-06-30", "--json").stdout)
    assert june["context"]["date"].startswith("2024-06")
    (tmp_path / "asked.csv").write_text("date,hour,service,instead\n2024-03-05,22,none,bikes=95\n", "utf-8")
    assert run("batch", path, tmp_path / "asked.csv", tmp_path / "out.csv", "--no-holds").exit_code == 0
    out = pd.read_csv(tmp_path / "out.csv")
    assert date.fromisoformat(out["nearest date"][0]).year == 2024


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('parts = ["weekday", "month", "holiday"]', 'parts = ["moon", "holiday"]', "of Date must be some"),
        ("holidays = [2024-05-01, 2024-12-25]", 'holidays = ["May"]', "must be a list of dates, such as 2025"),
        ("period = 24", "period = 12", "from 0 up to, but without, 12. Got 12 instead."),
        ("period = 24", "", "'period' parameter of Cyclic must be a positive number. Got None instead."),
        ('period = 24', 'period = 24\nchange = "increase"', "must be 'free' or 'fixed'. Got 'increase' instead."),
        ('"some", "full"]', '"some"]', "must be one of the declared categories. Got 'full' instead."),
        ('[features.service]\ntype = "ordered"', '[features.date2]\ntype = "ordered"', "is not a column"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_where_it_stands(tmp_path: Path, old: str, new: str, says: str) -> None:
    """Every setting and every cell has its rule."""
    assert old in TEXT
    told = run("check", write(tmp_path, TEXT.replace(old, new)))
    assert told.exit_code == 2
    assert says in told.stdout.replace("\n", " ")


def test_what_goes_round_is_proposed(tmp_path: Path) -> None:
    """An hour from 0 to 23 is named, and stays a number unless somebody says so; a cell that is no date is found."""
    plain = TEXT.replace('type = "cyclic"\nperiod = 24', 'type = "discrete"\nstep = 1')
    path = write(tmp_path, plain)
    told = run("check", path)
    assert told.exit_code == 0
    assert "'hour' looks as if it went round" in told.stdout
    assert Project.load(path).fitted().schema_.cyclic == ["date"]
    text = (tmp_path / "history.csv").read_text("utf-8").replace("2024-01-03", "3rd day")
    (tmp_path / "history.csv").write_text(text, "utf-8")
    told = run("check", path)
    assert told.exit_code == 2
    assert "line 4, column 'date': must be a date, such as 2025-06-14. Got '3rd day' instead." in told.stdout
