"""Files that are written completely or not at all, by one process at a time, and what is not a file to read."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from whence.errors import InputError

#: Bytes that are read at a time of a file that may be large.
CHUNK = 1 << 20

#: What a path may lead to instead of a file: reading it would wait for somebody who writes, or would never end.
OTHERS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def project_file(path: Path) -> Path:
    """Return the project file that `path` names: a folder stands for the whence.toml in it."""
    return path / "whence.toml" if path.is_dir() else path


def read_file(path: Path) -> bytes:
    """The content of a file; an InputError where `path` leads to a folder, a pipe or a device, or to nothing at all.

    >>> read_file(Path("/"))
    Traceback (most recent call last):
    whence.errors.InputError: '/' is a folder; a file was expected.
    """
    with open_file(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise InputError(f"The file {str(path)!r} cannot be read: {error.strerror or error}.") from None
        except MemoryError:
            raise InputError(f"The file {str(path)!r} does not fit into the memory that there is.") from None


def open_file(path: Path) -> BinaryIO:
    """A file to read from, refused as by :func:`read_file`; so is one that is larger than the memory of the machine."""
    try:
        # A pipe that nobody writes to would hold up an ordinary `open` for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise InputError(f"The file {str(path)!r} does not exist.") from None
    except (OSError, ValueError) as error:
        if os.path.isdir(path):
            raise InputError(f"{str(path)!r} is a folder; a file was expected.") from None
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"The file {str(path)!r} cannot be read: {reason}.") from None
    found, memory = os.fstat(handle), machine_memory()
    refused = ""
    if not stat.S_ISREG(found.st_mode):
        what = next((name for test, name in OTHERS if test(found.st_mode)), "no file")
        refused = f"{str(path)!r} is {what}; a file was expected."
    elif found.st_size > memory:
        size = f"{found.st_size / 1e9:,.0f} GB, more than the memory of this machine ({memory / 1e9:,.0f} GB)"
        refused = f"The file {str(path)!r} has {size}: take a part of it."
    if refused:
        os.close(handle)
        raise InputError(refused)
    return os.fdopen(handle, "rb")


def machine_memory() -> float:
    """Return bytes of memory of this machine; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def chunks(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, a part at a time."""
    with open_file(path) as file:
        while chunk := file.read(CHUNK):
            yield chunk


def digest_of(*paths: Path, more: bytes = b"") -> str:
    """Return a text that changes whenever one of the files or `more` does."""
    digest = hashlib.sha256()
    for path in paths:
        for chunk in chunks(path):
            digest.update(chunk)
    digest.update(more)
    return digest.hexdigest()


@contextmanager
def complete(path: Path) -> Iterator[Path]:
    """Where to write a file that takes the place of `path` once it is complete: whoever looks never sees half of it."""
    if path.exists() and not path.is_file() and not path.is_dir():
        # A pipe or a device is written to, never replaced by a file.
        yield path
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Any, text: str, what: str) -> None:
    """Write `text` to `path` as UTF-8, completely or not at all; error messages call it `what`."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise InputError(f"The 'path' of {what} must be a path. Got {path!r} instead.", parameter="path")
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"The 'path' of {what} must lie in a folder that exists. Got {str(target)!r} instead.")
    if target.is_dir():
        raise InputError(f"The 'path' of {what} must be a file. Got the folder {str(target)!r} instead.")
    try:
        with complete(target) as partial:
            partial.write_text(text, "utf-8")
    except OSError as error:
        # A disk that is full does not say of which file.
        if error.errno is not None:
            error.filename, error.filename2 = str(target), None
        raise


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Keep `path` to this process while the block runs; an InputError where another one works on it.

    The claim is a lock on a file beside it, called after it with ``.lock``. The system frees the lock with the process
    that holds it, however that ends: a file that a killed process has left behind is taken over.
    """
    beside = path.with_name(f"{path.name}.lock")
    handle = _locked(beside)
    if handle is None:
        by = ""
        with suppress(OSError, ValueError):
            by = f" (process {int(beside.read_text('ascii'))})"
        raise InputError(f"{str(path)!r} is being written by another run{by}: wait until it ends.")
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        if sys.platform == "win32":  # where a file that is open cannot be removed
            os.close(handle)
            with suppress(OSError):
                beside.unlink()
        else:
            # Removed first: whoever locks it afterwards finds that it is no longer the file of that name.
            with suppress(OSError):
                beside.unlink()
            os.close(handle)


def _locked(path: Path) -> int | None:
    """Return a handle of the file at `path`, locked; None where another process has locked it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except FileNotFoundError:
            pass
        except BlockingIOError:
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            raise
        # Its last owner has removed it in the meantime.
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    #: Where the lock is, behind what is written: on Windows nobody else can read what is locked.
    _BEHIND = 1 << 20

    def _lock(handle: int) -> None:
        """Lock a file, or raise a BlockingIOError."""
        os.lseek(handle, _BEHIND, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None
        os.lseek(handle, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(handle: int) -> None:
        """Lock a file, or raise a BlockingIOError."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
