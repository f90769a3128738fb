"""Files are written whole or not at all; what is no file is refused without waiting for it."""

from __future__ import annotations

import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from whence.errors import InputError
from whence.util.files import complete, read_file, write_text

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices that are files are a matter of POSIX")


def test_a_file(tmp_path: Path) -> None:
    """A file is read as it is, also through a link; one that is not there is named."""
    (tmp_path / "a").write_bytes(b"x\r\ny")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert read_file(tmp_path / "a") == read_file(tmp_path / "b") == b"x\r\ny"
    with pytest.raises(InputError, match=r"The file '.*absent' does not exist\."):
        read_file(tmp_path / "absent")
    with pytest.raises(InputError, match="cannot be read: "):
        read_file(tmp_path / "a" / "below")
    with pytest.raises(InputError, match="cannot be read: "):
        read_file(Path("a\0b"))


@POSIX
def test_what_is_no_file(tmp_path: Path) -> None:
    """Folders, pipes, sockets and devices are refused at once, and nothing stays open."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    held = socket.socket(socket.AF_UNIX)
    folder = Path.cwd()
    os.chdir(tmp_path)  # the name of a socket must be short
    held.bind("socket")
    os.chdir(folder)
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for path, what in ((tmp_path, "a folder"), (tmp_path / "pipe", "a pipe"), (tmp_path / "link", "a pipe")):
        with pytest.raises(InputError, match=f"is {what}; a file was expected"):
            read_file(path)
    with pytest.raises(InputError, match="is a device; a file was expected"):
        read_file(Path("/dev/zero"))
    with pytest.raises(InputError, match=r"cannot be read|is a socket"):
        read_file(tmp_path / "socket")
    held.close()
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before


@POSIX
def test_a_device_is_written_to_and_stays_one() -> None:
    """A device is never replaced by a file; where it takes nothing, the error names it."""
    with complete(Path("/dev/null")) as partial:
        assert partial == Path("/dev/null")
    write_text("/dev/null", "gone", "a report")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    if Path("/dev/full").exists():
        with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
            write_text("/dev/full", "too much", "a report")
