"""The repository itself: nothing in it belongs to one machine, and nothing in it is left half done."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import whence

ROOT = Path(__file__).resolve().parents[1]
GENERATED = {".git", ".venv", "_build", "build", "dist", "__pycache__"}

# Written in two halves, so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:" + "wo" + "rk|ro" + "ot|ho" + r"me/\w+)(?=[/\s\"'`),;:]|$)", re.MULTILINE)
UNFINISHED = re.compile(
    r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "Not" + "ImplementedError"]) + r")\b"
)


def repository_files() -> list[Path]:
    """Files that git tracks or, outside a git checkout, everything that was not generated."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode == 0 and listing.stdout:
        tracked = (ROOT / name for name in listing.stdout.split("\0") if name)
        return [path for path in tracked if path.is_file()]
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(part in GENERATED or part.endswith("_cache") for part in path.parts)
    ]


def text_of(path: Path) -> str:
    """Text of a file, empty for pictures and other binary data."""
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode("utf-8")


def findings(pattern: re.Pattern[str]) -> list[str]:
    """Every line of the repository that matches, as file:line: text."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in repository_files()
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_machine_paths() -> None:
    """No file names a folder that exists on one machine only."""
    assert findings(MACHINE_PATH) == []


def test_no_unfinished_marks() -> None:
    """No file carries a mark that says it is unfinished."""
    assert findings(UNFINISHED) == []


@pytest.mark.parametrize(
    ("pattern", "caught"),
    [
        (MACHINE_PATH, "see /" + "work/main"),
        (MACHINE_PATH, '"/' + 'root"'),
        (MACHINE_PATH, "cd /" + "home/ada/x"),
        (UNFINISHED, "# TO" + "DO: later"),
    ],
)
def test_the_patterns_catch(pattern: re.Pattern[str], caught: str) -> None:
    """The patterns of the two tests above do find what they are for."""
    assert pattern.search(caught)


@pytest.mark.parametrize(
    "harmless", ["framework/main", "https://example.org/root/x", "~/work/x", "a route/rooted tree"]
)
def test_the_patterns_let_pass(harmless: str) -> None:
    """Words and addresses that merely look like a machine's folder are no finding."""
    assert not MACHINE_PATH.search(harmless)


def test_text_files_end_with_one_newline() -> None:
    """Every text file ends with a newline, and with no more than one."""
    texts = {str(path.relative_to(ROOT)): text_of(path) for path in repository_files()}
    assert [name for name, text in texts.items() if text and (not text.endswith("\n") or text.endswith("\n\n"))] == []


def test_no_output_of_a_command_is_kept_at_the_root() -> None:
    """Answers, reports and tables that somebody made while trying a command are no part of the project."""
    made = [
        path.name for path in repository_files() if path.parent == ROOT and path.suffix in (".json", ".html", ".csv")
    ]
    assert made == []


def test_changelog_names_the_version() -> None:
    """The version in pyproject.toml has an entry in the changelog."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("## ")]
    assert any(version in heading for heading in headings)


def test_the_citation_names_the_version() -> None:
    """CITATION.cff is about the version in pyproject.toml."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text("utf-8").splitlines()


def test_every_python_is_tested() -> None:
    """Each Python that pyproject.toml names is in the matrix of the tests, and has wheels."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    named = [text.rpartition(" ")[2] for text in classifiers if re.search(r"Python :: 3\.\d+$", text)]
    workflows = ROOT / ".github" / "workflows"
    matrix = re.search(r"python: \[(.*)\]", (workflows / "tests.yml").read_text("utf-8"))
    assert matrix is not None
    assert re.findall(r"[\d.]+", matrix[1]) == named
    wheels = re.findall(r"cp3(\d+)-", (workflows / "wheels.yml").read_text("utf-8"))
    assert [f"3.{minor}" for minor in wheels] == named


@pytest.mark.parametrize("script", [".ci/run", "scripts/setup"])
def test_scripts_can_be_executed(script: str) -> None:
    """The scripts that make and the build server call are executable."""
    assert os.access(ROOT / script, os.X_OK)


def _bound(node: ast.AST) -> list[str]:
    """Return the names that a statement of a module gives a value, also where it unpacks several at once."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def test_no_module_gives_a_name_two_meanings() -> None:
    """A constant that another one of the same name replaces further down would silently change what reads it."""
    twice = []
    for path in sorted((ROOT / "src" / "whence").rglob("*.py")):
        names = [name for node in ast.parse(text_of(path)).body for name in _bound(node)]
        twice += [f"{path.relative_to(ROOT)}: {name}" for name in set(names) if names.count(name) > 1]
    assert twice == []


def test_no_file_name_occurs_twice() -> None:
    """A module can be named by its file alone."""
    names = [
        path.name for path in (ROOT / "src" / "whence").rglob("*.py") if path.name not in ("__init__.py", "base.py")
    ]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_every_public_name_is_there() -> None:
    """What the package says it holds can be taken from it: names are only looked up when they are first used."""
    assert [name for name in whence.__all__ if not hasattr(whence, name)] == []
