"""The built wheel works by itself: away from the repository, with nothing but the dependencies that it declares."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# One process builds the wheel for all of them.
pytestmark = pytest.mark.xdist_group("wheel")

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path) -> str:
    """Output of a command that must succeed, run without this process's Python settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this repository."""
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment that holds the wheel and the distributions it declares, checked by pip, and nothing else."""
    home = tmp_path_factory.mktemp("elsewhere") / "env"
    venv.create(home, with_pip=True, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    requirements = [text for text in distribution("whence").requires or [] if "extra ==" not in text]
    for dist in declared_dependencies(requirements).values():
        share(dist, site)
    run(home / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-index", wheel, cwd=home)
    return home


def test_whence_comes_from_the_wheel(elsewhere: Path) -> None:
    """In the new environment the package is the wheel's own, complete with its mark of being typed."""
    script = "import whence, pathlib; print(pathlib.Path(whence.__file__).resolve())"
    module = Path(run(elsewhere / "bin" / "python", "-c", script, cwd=elsewhere).strip())
    assert module.is_relative_to(elsewhere.resolve())
    assert (module.parent / "py.typed").is_file()


def test_the_wheel_holds_only_the_package(elsewhere: Path) -> None:
    """Tests, examples and documentation are not installed into a user's environment."""
    script = "from importlib.metadata import files; print(*sorted({f.parts[0] for f in files('whence')}), sep='\\n')"
    tops = run(elsewhere / "bin" / "python", "-c", script, cwd=elsewhere).split()
    assert [top for top in tops if not top.startswith(("whence", ".."))] == []


def test_demo_runs_from_the_wheel(elsewhere: Path, tmp_path: Path) -> None:
    """`whence demo` decides, says so in words and writes its HTML report, without the repository."""
    out = tmp_path / "report"
    said = run(elsewhere / "bin" / "whence", "demo", "--out", out, cwd=tmp_path)
    assert "decision" in said.lower()
    reports = list(out.glob("*.html"))
    assert reports
    assert all("</html>" in report.read_text("utf-8") for report in reports)
