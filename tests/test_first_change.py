"""The page "Your first change": its diffs apply to the package as it is, and the claim that they add answers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "first-change.md"
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: The session printed at the end of the page.
SESSION = """
from tests.claims.test_budgets import DEMAND, HOURS
import whence as wh
from whence.questions.afford import afford
schema = wh.Schema({"hour": wh.Discrete(step=1)})
policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0), schema=schema).fit(HOURS, DEMAND)
print(afford(policy, {"hour": 12}, [20.0], 3.0))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the changes of the page."""
    folder = tmp_path_factory.mktemp("changed")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for diff in DIFF.findall(PAGE.read_text("utf-8")):
        done = subprocess.run(
            ["git", "apply", "-"], cwd=folder, input=diff, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the changed package."""
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}", "WHENCE_NO_REBUILD": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_new_claim_passes_its_test(changed: Path) -> None:
    """The test that the page adds passes, on the changed package alone."""
    done = run(changed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/claims")
    assert done.returncode == 0, done.stdout
    assert "15 passed" in done.stdout


def test_the_page_prints_what_it_says(changed: Path) -> None:
    """The answer at the end of the page is the one that is given."""
    done = run(changed, "-c", SESSION)
    assert done.returncode == 0, done.stderr
    assert done.stdout in PAGE.read_text("utf-8")


def test_the_change_is_in_the_style_of_the_house(changed: Path) -> None:
    """The new files are formatted and pass the linter."""
    new = ["src/whence/claims/budgets.py", "src/whence/questions/afford.py", "tests/claims/test_budgets.py"]
    for tool in (["ruff", "check", "--quiet"], ["ruff", "format", "--quiet", "--check"]):
        done = run(changed, "-m", *tool, *new)
        assert done.returncode == 0, done.stdout
