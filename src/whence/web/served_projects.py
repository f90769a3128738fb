"""Projects of a server: found in folders, and read again when their files change.

``python -m whence.web.served_projects FILE ID`` is how the server reads one again: in a process of its own, so that
those who ask meanwhile are answered, and what goes wrong there goes wrong there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whence.errors import InputError, WhenceError
from whence.project import Project
from whence.web.scenes import Scene, project_scene
from whence.web.worker_process import own_process

log = logging.getLogger("whence.web")

#: Seconds between two looks at the files.
LOOK = 2.0
#: Most seconds for a project to be read and fitted again.
PATIENCE = 600.0
#: The only project of a server is called this.
ONLY = "project"


@dataclass
class Served:
    """A project that is served: its file, what it is called in addresses, and what it was read from."""

    path: Path
    id: str
    files: tuple[Path, ...]
    stamps: tuple[tuple[int, int], ...] = ()

    def changed(self) -> bool:
        """Whether a file is another one than at the last look."""
        before, self.stamps = self.stamps, tuple(map(_stamp, self.files))
        return before != self.stamps


class Projects:
    """The projects of a server."""

    def __init__(self, paths: Sequence[Path]) -> None:
        found = project_files(paths)
        self.served = [Served(path, id, (path,)) for path, id in zip(found, _ids(found), strict=True)]

    def load(self) -> list[Scene]:
        """Read and fit all of them; an InputError where one cannot be."""
        scenes = []
        for one in self.served:
            scene, one.files = read_project(one.path, one.id)
            one.changed()
            scenes.append(scene)
        return scenes

    async def reload(self, swap: Callable[[Scene], None], every: bool = False) -> None:
        """Read again what has changed, or every project; what there was answers until then, and after a failure."""
        for one in self.served:
            if not (one.changed() or every):
                continue
            try:
                scene, one.files = await _read_apart(one.path, one.id)
            except InputError as error:
                log.error("The project %s stays as it was: %s", one.id, error)
                continue
            one.stamps = tuple(map(_stamp, one.files))
            swap(scene)
            log.warning("The project %s was read again.", one.id)

    async def watch(self, swap: Callable[[Scene], None], pause: Callable[[float], Awaitable[None]]) -> None:
        """Look at the files now and then."""
        while True:
            await pause(LOOK)
            await self.reload(swap)


def project_files(paths: Iterable[Path]) -> list[Path]:
    """Find the project files that are meant: each file itself, and in a folder its own or those one level below."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = [path / "whence.toml"] if (path / "whence.toml").is_file() else sorted(path.glob("*/whence.toml"))
        if not inside:
            raise InputError(
                f"'project' must be a project file, or a folder with some. Got {str(path)!r}, without any."
            )
        found += inside
    return found


def _ids(paths: Sequence[Path]) -> list[str]:
    """What projects are called in addresses: by their folder, or by their file where that has a name of its own."""
    if len(paths) == 1:
        return [ONLY]
    names = [path.stem if path.stem != "whence" else path.resolve().parent.name for path in paths]
    plain = [re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or ONLY for name in names]
    return [name if plain.count(name) == 1 else f"{name}-{number}" for number, name in enumerate(plain, 1)]


def read_project(path: Path, id: str) -> tuple[Scene, tuple[Path, ...]]:
    """Read, fit and try out a project: its scene, and the files that it was read from."""
    project = Project.load(path)
    return replace(project_scene(project), id=id), (path, *project.files)


async def _read_apart(path: Path, id: str) -> tuple[Scene, tuple[Path, ...]]:
    """Read a project in a process of its own; an InputError says why it cannot be used."""
    process = await own_process("whence.web.served_projects", str(path), id)
    try:
        told, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
        read = await asyncio.to_thread(pickle.loads, told)
    except (TimeoutError, EOFError, pickle.UnpicklingError):
        raise InputError("it could not be read to its end.") from None
    finally:
        if process.returncode is None:
            process.kill()
    if isinstance(read, str):
        raise InputError(read)
    scene, files = read
    return scene, files


def _stamp(path: Path) -> tuple[int, int]:
    try:
        told = path.stat()
    except OSError:
        return (0, 0)
    return (told.st_mtime_ns, told.st_size)


def main(path: str, id: str) -> None:
    """Write a project that was read, fitted and tried out to standard output, or the sentence that says why not."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    read: object
    try:
        read = read_project(Path(path), id)
        read[0].shown()
    except WhenceError as error:
        read = str(error)
    except Exception as error:  # a problem of the user's own may fail in any way
        read = f"{type(error).__name__}: {error}"
    with sink:
        pickle.dump(read, sink)


if __name__ == "__main__":
    main(*sys.argv[1:3])
