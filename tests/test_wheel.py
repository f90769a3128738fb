"""The built wheel works by itself: away from the repository and from any compiler, with what it declares alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path, **changed: str) -> str:
    """Output of a command that must succeed, run without this process's Python settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    environment |= changed
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def declared_dependencies(requirements: list[str]) -> dict[str, Distribution]:
    """The installed distributions that `requirements` lead to, by name, theirs included."""
    found: dict[str, Distribution] = {}
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        known = name in found
        found[name] = distribution(name)
        for wanted in {*requirement.extras} | (set() if known else {""}):
            waiting.extend((Requirement(text), wanted) for text in found[name].requires or [])
    return found


def share(dist: Distribution, site: Path) -> None:
    """Make an installed distribution visible in another environment by links, without a second download."""
    for top in {file.parts[0] for file in dist.files or [] if file.parts[0] not in ("..", "__pycache__")}:
        link = site / top
        if not link.exists():
            link.symlink_to(Path(str(dist.locate_file(top))))


def build(out: Path, *options: str) -> None:
    """Build this repository with the tools of the environment that runs the tests, not those of the system."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run(sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", out, ROOT, cwd=out, PATH=path)


def assert_sdist_is_whole(out: Path) -> None:
    """The sdist in a folder holds what is compiled and what researchers look for, and nothing that was compiled."""
    (sdist,) = out.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "core").rglob("*.[ch]pp")}
    assert sources
    assert {"CMakeLists.txt", *sources, "scripts/backend.py", "pyproject.toml", "src/whence/_core.pyi"} <= names
    # Researchers find the experiments in the sdist; users are not given them with the wheel.
    assert {"paper/__main__.py", "paper/published.csv"} <= names
    assert not [name for name in names if name.endswith((".so", ".pyd"))]


def environment_with(wheel: Path, home: Path) -> Path:
    """A new environment that holds the wheel and the distributions it declares, checked by pip, and nothing else."""
    venv.create(home, with_pip=True, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    for dist in declared_dependencies(requirements).values():
        share(dist, site)
    run(home / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-index", wheel, cwd=home)
    return home


@pytest.mark.long
def test_the_wheel_works_by_itself(tmp_path: Path) -> None:
    """In an empty environment without a compiler whence comes from the wheel, typed and without tests, and runs."""
    # Built without optimizing, which halves the time: the core that all other tests run on was built with it.
    build(tmp_path, "-Ccmake.build-type=Debug", "-Ccmake.define.CMAKE_CXX_FLAGS_DEBUG=-O0")
    assert_sdist_is_whole(tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    elsewhere = environment_with(wheel, tmp_path / "env")
    python = elsewhere / "bin" / "python"

    module = Path(run(python, "-c", "import whence; print(whence.__file__)", cwd=tmp_path).strip()).resolve()
    assert module.is_relative_to(elsewhere.resolve())
    for shipped in ("py.typed", "_core.pyi", "report/explanation.schema.json"):
        assert (module.parent / shipped).is_file(), shipped
    for shipped in ("static/main.js", "static/page.css", "templates/index.html"):
        assert (module.parent / "web" / shipped).is_file(), shipped
    for shipped in ("page.html", "report.css", "bars.svg"):
        assert (module.parent / "report" / "templates" / shipped).is_file(), shipped

    # Of what the compiled core holds, too.
    licences = (
        "from importlib.metadata import files; print(*(f.name for f in files('whence') if 'licenses' in f.parts))"
    )
    assert {*run(python, "-c", licences, cwd=tmp_path).split()} == {"LICENSE", "nanobind.txt", "robin-map.txt"}

    listing = "from importlib.metadata import files; print(*{f.parts[0] for f in files('whence')}, sep='\\n')"
    tops = run(python, "-c", listing, cwd=tmp_path).split()
    assert [top for top in tops if not top.startswith(("whence", ".."))] == []

    out = tmp_path / "report"
    said = run(elsewhere / "bin" / "whence", "demo", "--out", out, cwd=tmp_path, PATH=str(elsewhere / "bin"))
    assert "decision" in said.lower()
    reports = list(out.glob("*.html"))
    assert reports
    assert all("</html>" in report.read_text("utf-8") for report in reports)
