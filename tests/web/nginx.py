"""A real nginx in front of a server, as the documentation sets it up."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "web.md"

CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 128; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        {snippet}
    }}
}}
"""


def nginx_path() -> str | None:
    """Where the system's nginx is, if it has one."""
    return shutil.which("nginx", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))


def documented_snippet() -> str:
    """What the documentation says to put into nginx's configuration, word for word."""
    [snippet] = re.findall(r"```nginx\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    return str(snippet)


def documented_options() -> list[str]:
    """What the documentation says to start the server with."""
    [line] = re.findall(r"^\$ whence serve whence.toml (--root-path .*)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    return str(line).split()


@contextmanager
def nginx(snippet: str) -> Iterator[int]:
    """nginx with this snippet in its only server while the block runs, without any privilege: its port."""
    program = nginx_path()
    assert program is not None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    folder = Path(tempfile.mkdtemp(prefix="whence-nginx-"))
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, snippet=snippet))
    command = [program, "-e", "stderr", "-p", str(folder), "-c", str(configuration)]
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        process = subprocess.Popen(command, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
    else:
        process = subprocess.Popen(command)
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        shutil.rmtree(folder)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20.0
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        except OSError:
            assert process.poll() is None, "nginx did not start"
            assert time.monotonic() < deadline, "nginx did not start in time"
            time.sleep(0.05)
