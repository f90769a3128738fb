"""The examples and the documentation's code run as they are printed."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from whence import engines

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def code_of(page: Path) -> str:
    """The Python blocks of a page one after the other, at the lines where they stand."""
    text = page.read_text("utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        body = block.group(1).splitlines()
        lines[first : first + len(body)] = body
    return "\n".join(lines) + "\n"


PAGES_WITH_CODE = [page for page in PAGES if code_of(page).strip() and "_build" not in page.parts]


def test_there_is_something_to_run() -> None:
    """The example and the pages that are to be run were found."""
    assert EXAMPLES
    assert ROOT / "docs" / "tutorial.md" in PAGES_WITH_CODE


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    """An example runs in a folder of its own, without error, and says something."""
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_on_page_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sessions printed on a page give the output printed there, and every block is such a session."""
    code = code_of(page)
    assert all(block.group(1).startswith(">>> ") for block in BLOCK.finditer(page.read_text("utf-8")))
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    # What a page registers is gone after it.
    monkeypatch.setattr(engines, "ENGINES", dict(engines.ENGINES))
    monkeypatch.setattr(engines, "TABLE", dict(engines.TABLE))
    session = doctest.DocTestParser().get_doctest(code, {"__name__": "__main__"}, page.name, str(page), 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed = doctest.DocTestRunner(optionflags=flags, verbose=False).run(session).failed
    assert failed == 0, capsys.readouterr().out


def test_own_problem_fits_on_a_page() -> None:
    """The example of a problem of one's own stays under forty lines of code."""
    lines = (ROOT / "examples" / "staffing.py").read_text("utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) < 40
