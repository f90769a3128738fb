"""Build the compiled core into src/whence, for editable installs and for work with PYTHONPATH=src.

python scripts/build_core.py [cmake options]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDED = "a C++20 compiler (such as g++ 11 or clang 14), CMake 3.20, and the Python package nanobind"


class BuildError(RuntimeError):
    """The compiled core could not be built."""


def build(root: Path, *options: str) -> None:
    """Build what has changed since the last time, for the Python that runs this."""
    folder = root / "build" / f"in-place-{sys.implementation.cache_tag}"
    cmake, ninja = _found("cmake"), _found("ninja")
    if cmake is None:
        raise BuildError(f"The core of whence needs {NEEDED} to be built: no cmake was found.")
    tool = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja and not (folder / "Makefile").exists() else []
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        _build(cmake, root, folder, tool, options)


def _found(program: str) -> str | None:
    """Return where a program is that runs, beside this Python or on the path; None where there is none.

    One that came as a Python package is there in a build in isolation, too, but does not find its package.
    """
    for path in (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)):
        found = shutil.which(program, path=path)
        if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return found
    return None


def _build(cmake: str, root: Path, folder: Path, tool: list[str], options: tuple[str, ...]) -> None:
    configured = [cmake, "-S", str(root), "-B", str(folder), *tool, "-DWHENCE_IN_PLACE=ON"]
    _run([*configured, f"-DPython_EXECUTABLE={sys.executable}", *options])
    _run([cmake, "--build", str(folder), "--config", "Release", "--parallel"])


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for another process that builds the same; it leaves nothing to do."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with (folder / "in-use.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise BuildError(f"The core of whence could not be built; the lines above say why. It needs {NEEDED}.")


if __name__ == "__main__":
    try:
        build(Path(__file__).resolve().parents[1], *sys.argv[1:])
    except BuildError as error:
        sys.exit(str(error))
