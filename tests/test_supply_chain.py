"""What a release is made of: pinned tools, tested versions, and the licences of what the compiled core holds."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from scripts.constraints import declared

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def pinned() -> dict[str, Version]:
    """The versions in constraints.txt, by name."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    found = [line.split("==") for line in lines if not line.startswith("#")]
    return {name: Version(number) for name, number in found}


def test_the_constraints_fit_what_is_declared() -> None:
    """Every dependency, of the extras too, is in constraints.txt at a version that pyproject.toml allows."""
    found = pinned()
    for one in declared():
        name = canonicalize_name(one.name)
        assert name in found, f"{name}: run scripts/constraints.py"
        assert one.specifier.contains(found[name], prereleases=True), f"{one} and {name}=={found[name]}"


def test_the_constraints_fit_each_other() -> None:
    """What the packages themselves ask for is there, too: pip could install them together."""
    found = pinned()
    for name, number in found.items():
        installed = distribution(name)
        if Version(installed.version) != number:
            continue  # what this other version asks for is not known here
        for one in map(Requirement, installed.requires or ()):
            other = canonicalize_name(one.name)
            if other in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
                assert one.specifier.contains(found[other], prereleases=True), f"{name} asks for {one}"


def test_the_script_prints_a_file_like_it() -> None:
    """The script finds the same packages as are in the file; their versions are those of the environment."""
    told = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "constraints.py")], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split("==")[0] for line in told.splitlines() if not line.startswith("#")}
    assert {canonicalize_name(one.name) for one in declared()} <= names
    assert {"numpy", "h11", "starlette", "distributed"} <= names & {*pinned()}


@pytest.mark.parametrize("name", ["jinja2", "h11"])
def test_lower_limits_are_above_known_advisories(name: str) -> None:
    """No version with a known hole is allowed."""
    fixed = {"jinja2": Version("3.1.6"), "h11": Version("0.16.0")}[name]
    (asked,) = [one for one in declared() if one.name == name]
    assert asked.specifier.contains(fixed)
    assert not asked.specifier.contains(f"{fixed.major}.{fixed.minor}.{fixed.micro - 1}" if fixed.micro else "0.15.0")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(workflow: Path) -> None:
    """Every action of others is named by a full commit, with the version that this is behind it."""
    for line in re.findall(r"uses: *(.*)", workflow.read_text("utf-8")):
        assert line.startswith("./") or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_an_action_is_the_same_everywhere() -> None:
    """No workflow lags behind another one."""
    found: dict[str, set[str]] = {}
    for workflow in WORKFLOWS:
        for name, commit in re.findall(r"uses: *([\w/-]+)@(.*)", workflow.read_text("utf-8")):
            found.setdefault(name, set()).add(commit)
    assert {name: commits for name, commits in found.items() if len(commits) > 1} == {}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_tools_are_pinned_and_paths_exist(workflow: Path) -> None:
    """Tools that a workflow fetches have a version; the tests and scripts that it names are there."""
    text = workflow.read_text("utf-8")
    for tool in re.findall(r"pipx run (?:--spec )?(\S+)", text):
        assert re.fullmatch(r"[\w-]+==[\d.]+", tool), tool
    for word in shlex.split(text, comments=True, posix=False):
        if word.startswith(("tests/", "scripts/")):
            assert (ROOT / word).exists(), word


def test_licences_of_what_the_core_holds() -> None:
    """The core is linked with nanobind, and nanobind with robin-map: their licences are here word for word."""
    nanobind = distribution("nanobind")
    (own,) = [file for file in nanobind.files or () if file.name == "LICENSE"]
    assert (ROOT / "licenses" / "nanobind.txt").read_text("utf-8").split() == own.read_text("utf-8").split()
    (header,) = [file for file in nanobind.files or () if file.name == "robin_map.h"]
    comment = header.read_text("utf-8").partition("*/")[0].replace("/**", "").replace(" * ", " ").split()
    assert (ROOT / "licenses" / "robin-map.txt").read_text("utf-8").split() == [word for word in comment if word != "*"]
