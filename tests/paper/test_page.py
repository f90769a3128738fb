"""Los Angeles on the what-if page, and the two commands of ``python -m paper``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paper import los_angeles, page
from paper.page import los_angeles_scene
from whence.errors import MissingDataError

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get(los_angeles.VARIABLE) or ROOT.parent / "shared" / "uber")
NO_DATA = not (DATA / "travel_times.csv").is_file()
needs_data = pytest.mark.skipif(
    NO_DATA, reason="SKIPPED: Los Angeles; set WHENCE_UBER_DATA to the folder with its travel times."
)


def paper(*arguments: str) -> subprocess.CompletedProcess[str]:
    """``python -m paper`` from the root of the repository, without the data."""
    environment = {name: value for name, value in os.environ.items() if name != los_angeles.VARIABLE}
    command = [sys.executable, "-m", "paper", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@needs_data
def test_los_angeles() -> None:
    """Downtown Los Angeles starts with the paper's context; its own question has an answer that is soon proved."""
    scene = los_angeles_scene(DATA)
    shown = scene.shown()
    assert shown.plan.drawn
    assert shown.observations == 3640
    assert scene.observation(los_angeles.CONTEXT_ROW).context == shown.context
    assert scene.observation(los_angeles.CONTEXT_ROW).label == str(los_angeles.CONTEXT_ROW + 1)
    why = scene.policy.explain(scene.today, scene.alternative, time_limit=60)
    assert why.status == "optimal"
    assert why.changes["feature"].tolist() == ["period"]


@needs_data
def test_the_page_offers_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is started with the scene beside its own examples, at the address asked for."""
    given: dict[str, object] = {}
    monkeypatch.setattr(page, "serve_page", lambda **options: given.update(options))
    page.serve(data=DATA, port=0, browser=False)
    assert [scene.id for scene in given.pop("scenes")] == ["los-angeles"]  # type: ignore[attr-defined]
    assert given == {"host": "127.0.0.1", "port": 0, "open_browser": False}


def test_the_page_needs_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder it says where the data can be had."""
    monkeypatch.delenv(los_angeles.VARIABLE, raising=False)
    with pytest.raises(MissingDataError, match=r"No folder is named.*Explainable-CSO"):
        page.serve(browser=False)


def test_the_commands() -> None:
    """Without a label the experiments are listed; an unknown label is one sentence and exit code 2."""
    listed = paper("reproduce")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "tab:fullDist" in listed.stdout
    refused = paper("reproduce", "tab:fulDist")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("paper: 'label' must be 'all' or one of")
    assert refused.stderr.count("\n") == 1
