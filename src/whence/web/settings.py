"""What a server allows: how much at once, how long, and who."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from whence.errors import InputError

__all__ = ["ServerSettings", "default_workers", "is_loopback", "settings_for"]


@dataclass(frozen=True)
class ServerSettings:
    """What a server allows.

    Attributes
    ----------
    host, port : str, int
        Where it listens.
    token : str or None
        What a request must know, where one is needed.
    workers : int
        Searches at once.
    threads : int
        Threads of a search, where its scene does not say.
    queue : int
        Searches that may wait for a worker; more are refused.
    time_limit : float
        Most seconds that a search may take.
    kept, kept_seconds : int, float
        Finished searches that are remembered, and for how long.
    body : int
        Most bytes of a request.
    arrival, taking : float
        Most seconds that a request may take to arrive, and its answer to be taken.
    connections : int
        Most connections at once.
    root_path : str
        The sub-path under which a reverse proxy shows the page, as in "/whence"; empty for none.
    allowed_hosts : tuple of str
        Names by which others reach the server, besides its own.
    trusted_proxies : tuple of str
        Networks whose `X-Forwarded-...` headers count.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    workers: int = field(default_factory=lambda: default_workers())
    threads: int = field(default_factory=lambda: min(2, os.cpu_count() or 1))
    queue: int = 64
    time_limit: float = 60.0
    kept: int = 200
    kept_seconds: float = 3600.0
    body: int = 256 * 1024
    arrival: float = 20.0
    taking: float = 60.0
    connections: int = 256
    root_path: str = ""
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()


def settings_for(
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    allow_remote: bool = False,
    token: str | None = None,
    workers: int | None = None,
    time_limit: float = 60.0,
    root_path: str = "",
    allowed_hosts: Sequence[str] = (),
    trusted_proxies: Sequence[str] = (),
) -> ServerSettings:
    """ServerSettings that are safe: other machines only where that was asked for, and then never without a token.

    Examples
    --------
    >>> settings_for("0.0.0.0")
    Traceback (most recent call last):
    whence.errors.InputError: 'host' must be this machine's own (127.0.0.1, ::1 or localhost). Got '0.0.0.0'; to let...
    >>> len(settings_for("0.0.0.0", allow_remote=True).token) >= 20
    True
    """
    if not is_loopback(host) and not allow_remote:
        raise InputError(
            f"'host' must be this machine's own (127.0.0.1, ::1 or localhost). Got {host!r}; to let other machines "
            "in, say so with --allow-remote (allow_remote=True)."
        )
    names = tuple(_host(name) for name in allowed_hosts)
    if not all(map(is_loopback, (host, *names))):
        token = token or secrets.token_urlsafe(24)
    # Anything else would have to be escaped in addresses and cookies.
    if token is not None and not re.fullmatch(r"[A-Za-z0-9_-]{16,200}", token):
        raise InputError("'token' must be 16 to 200 letters, digits, '-' or '_'. Got another text.")
    if isinstance(port, bool) or not 0 <= int(port) <= 65535:
        raise InputError(f"'port' must be an int in [0, 65535]. Got {port!r} instead.")
    if workers is not None and workers < 1:
        raise InputError(f"'workers' must be an int of at least 1. Got {workers!r} instead.")
    if not 0 < float(time_limit) < float("inf"):
        raise InputError(f"'time_limit' must be a positive number of seconds. Got {time_limit!r} instead.")
    count = default_workers() if workers is None else int(workers)
    return ServerSettings(
        host=host,
        port=int(port),
        token=token,
        workers=count,
        time_limit=float(time_limit),
        root_path=_sub_path(root_path),
        allowed_hosts=names,
        trusted_proxies=tuple(_network(address) for address in trusted_proxies),
    )


def _sub_path(text: str) -> str:
    """A sub-path with a slash in front and none behind."""
    path = f"/{text.strip('/')}" if text.strip("/") else ""
    # Anything else would have to be escaped in addresses and cookies, and dots lead elsewhere.
    if not re.fullmatch(r"(/(?!\.+(/|$))[A-Za-z0-9._~-]+)*", path) or path in ("/api", "/static"):
        raise InputError(
            "'root_path' must be a path of letters, digits, '-', '_', '.' and '~', as in /whence, and neither /api nor "
            f"/static, which lie under it. Got {text!r} instead."
        )
    return path


def _host(text: str) -> str:
    name = text.strip().lower().strip("[]").rstrip(".")
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        pass
    if not re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]{0,250}[a-z0-9_])?", name):
        raise InputError(
            f"'allowed_host' must be the name or address of a machine, without port, path or '*'. Got {text!r} instead."
        )
    return name


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text.strip().strip("[]"), strict=False))
    except ValueError:
        raise InputError(
            f"'trusted_proxy' must be an address or a network, as in 127.0.0.1 or 10.0.0.0/8. Got {text!r} instead."
        ) from None


def default_workers() -> int:
    """Two at least, so that both kinds of question run side by side; at most four."""
    return min(4, max(2, (os.cpu_count() or 2) - 1))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
