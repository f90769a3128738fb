"""The editable install: a path entry that builds the core again when one of its sources changes."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from shutil import copy, copytree

ROOT = Path(__file__).resolve().parents[1]
HOOK = ROOT / "scripts" / "rebuild_core.py"

#: Stands for the build: it leaves a core that says so, or fails.
BUILD = """
import pathlib, sys

def build(root):
    if (root / "broken").exists():
        sys.exit("it cannot be built")
    (root / "src/whence/_core.cpython.so").write_text("")
    (root / "src/whence/_core.py").write_text("built = True")

if __name__ == "__main__":
    build(pathlib.Path(__file__).resolve().parents[1])
"""


def tree(folder: Path) -> Path:
    """A repository with one source of the core and a core that was built from it."""
    for name, text in {
        "CMakeLists.txt": "",
        "core/base/heap.hpp": "",
        "scripts/build_core.py": BUILD,
        "src/whence/__init__.py": "",
        "src/whence/_core.py": "built = False",
        "src/whence/_core.cpython.so": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    os.utime(folder / "src/whence/_core.cpython.so", (2e9, 2e9))
    return folder


def imported(folder: Path) -> subprocess.CompletedProcess[str]:
    """What a new process with the hook says when it imports the core of a tree."""
    # The environment of the tests may be an editable install, with a hook of its own.
    alone = "import sys; sys.meta_path[:] = [f for f in sys.meta_path if getattr(f, '__name__', '') != '_Rebuild']"
    program = f"{alone}; exec(open({str(HOOK)!r}).read()); from whence import _core; print(_core.built)"
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    environment.pop("WHENCE_NO_REBUILD", None)
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


def test_a_core_that_is_newer_than_its_sources_is_left_alone(tmp_path: Path) -> None:
    """Nothing is built, nothing is said."""
    done = imported(tree(tmp_path))
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_a_changed_source_is_built_before_the_import(tmp_path: Path) -> None:
    """Whichever tree is imported, it is its own core that is built, and that is said in one line."""
    os.utime(tree(tmp_path) / "core" / "base" / "heap.hpp", (2.1e9, 2.1e9))
    done = imported(tmp_path)
    assert done.stdout.strip() == "True"
    assert done.stderr == "whence: building the core again, its sources have changed\n"


def test_a_build_that_fails_ends_the_import_with_a_sentence(tmp_path: Path) -> None:
    """No core of older sources is used in its place."""
    os.utime(tree(tmp_path) / "core" / "base" / "heap.hpp", (2.1e9, 2.1e9))
    (tmp_path / "broken").touch()
    done = imported(tmp_path)
    assert done.returncode != 0
    assert "it cannot be built" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("ImportError: The core of whence could not be built again")


def test_an_editable_install_is_a_path_entry_with_the_hook(tmp_path: Path) -> None:
    """The wheel of an editable install names src, holds the hook and the command, and no module of whence."""
    # In a tree of its own, with a build that takes no time: what the tests run on was built by the real one.
    for name in ("pyproject.toml", "README.md", "LICENSE", "scripts/backend.py", "scripts/rebuild_core.py"):
        copy(ROOT / name, tree(tmp_path) / name)
    copytree(ROOT / "licenses", tmp_path / "licenses")
    program = f"import backend; print(backend.build_editable({str(tmp_path)!r}))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "scripts")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "src" / "whence" / "_core.py").read_text() == "built = True"
    with zipfile.ZipFile(tmp_path / done.stdout.splitlines()[-1]) as wheel:
        names = wheel.namelist()
        (path,) = (name for name in names if name.endswith(".pth"))
        assert wheel.read(path).decode().splitlines() == [str(tmp_path / "src"), "import _whence_rebuild"]
        assert wheel.read("_whence_rebuild.py") == HOOK.read_bytes()
        (scripts,) = (name for name in names if name.endswith("entry_points.txt"))
        assert "whence.cli:main" in wheel.read(scripts).decode()
        assert not [name for name in names if name.startswith("whence/")]
        (record,) = (name for name in names if name.endswith("RECORD"))
        assert len(wheel.read(record).decode().splitlines()) == len(names) - 1
