"""What a server allows: how much at once, how long, and who."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers

from whence.checks import one_of, whole
from whence.errors import InputError
from whence.explain.ask import FINITE
from whence.web.clients import Client
from whence.web.tokens import Tokens, check_token, read_tokens


@dataclass(frozen=True)
class ServerSettings:
    """What a server allows."""

    # Where it listens, and what a request must know, where that is needed.
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    #: A file of further tokens by name, read again when it changes.
    tokens: str | None = None
    # Searches at once (three at least: both kinds of question of one client run side by side, and the last process that
    # is free is kept for a client that has nothing under way), threads of each whose scene does not say, searches of
    # one client at once, and those of one client that may wait; more are refused.
    workers: int = field(default_factory=lambda: min(4, max(3, (os.cpu_count() or 2) - 1)))
    #: Of several contexts that are equally near, more threads may find another one each time.
    threads: int = field(default_factory=lambda: min(2, os.cpu_count() or 1))
    running: int = 2
    queue: int = 16
    # Processes for what is soon told (decisions, checks), and most seconds for it.
    deciders: int = 3
    decision_limit: float = 30.0
    # Seconds for which running searches may go on when the server is told to end.
    drain: float = 10.0
    # Most seconds that a search may take; finished searches that are remembered, and for how long.
    time_limit: float = 60.0
    kept: int = 200
    kept_seconds: float = 3600.0
    # A file in which questions and answers are kept, and for how many days.
    store: str | None = None
    store_days: float = 90.0
    # Whether counts for Prometheus are at /metrics, whether every request is logged, and how: "text" or "json" lines.
    metrics: bool = False
    access_log: bool = False
    log_format: str = "text"
    # Most bytes of a request, most seconds for it to arrive and for its answer to be taken, most connections at once.
    body: int = 256 * 1024
    arrival: float = 20.0
    taking: float = 60.0
    # Seconds for which a connection is kept for the next request: longer than clients and proxies usually keep theirs,
    # so that it is they who close it, and no request is sent into a connection that is just being closed.
    idle: float = 75.0
    # Of these, one client has a quarter at most, and some more are kept for health and decisions.
    connections: int = 256
    # Behind a reverse proxy: the sub-path under which it shows the page, as in "/whence", the names by which others
    # reach the server besides its own, and the networks whose `X-Forwarded-...` headers count.
    root_path: str = ""
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    # The headers in which a trusted proxy names the person and their groups, and who may ask about which project:
    # names of people, and of groups after an '@'; who is not named in a list may not. Without a list, everybody may.
    user_header: str | None = None
    groups_header: str | None = None
    access: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def may_ask(self, client: Client, scene: str) -> bool:
        """Whether a client may ask about a scene.

        Examples
        --------
        >>> settings = ServerSettings(access={"bread": ("anna", "@bakers")})
        >>> settings.may_ask(Client(user="anna"), "bread"), settings.may_ask(Client(user="ben"), "bread")
        (True, False)
        >>> settings.may_ask(Client(user="ben", groups=("bakers",)), "bread"), settings.may_ask(Client(), "ice")
        (True, True)
        """
        allowed = self.access.get(scene)
        names = {client.user or client.token, *(f"@{group}" for group in client.groups)}
        return allowed is None or not names.isdisjoint(allowed)

    def person(self, headers: Headers, peer: str) -> tuple[str, tuple[str, ...]]:
        """The person whom a trusted proxy has named, and their groups; nobody where it has not, or is none."""
        if self.user_header is None or not _among(peer, self.trusted_proxies):
            return "", ()
        groups = _named(headers, self.groups_header) if self.groups_header is not None else ""
        user = _named(headers, self.user_header).strip()[:200]
        return user, tuple(name.strip() for name in groups[:4000].split(",") if name.strip()) if user else ()

    def known_tokens(self) -> Tokens:
        """The tokens by which requests are let in."""
        given = {} if self.token is None else {"default": self.token}
        return Tokens(given, None if self.tokens is None else Path(self.tokens))


def settings_for(
    host: str = "127.0.0.1", port: int = 8000, *, allow_remote: bool = False, **allowed: Any
) -> ServerSettings:
    """ServerSettings that are safe: other machines only where that was asked for, and then never without a token.

    What is None is as it is by default.

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
    given = ServerSettings(host, port, **{name: value for name, value in allowed.items() if value is not None})
    names = tuple(_host(name) for name in given.allowed_hosts)
    token = given.token
    if not all(map(is_loopback, (host, *names))) and given.tokens is None:
        token = token or secrets.token_urlsafe(24)
    if token is not None:
        check_token(token)
    if given.tokens is not None:
        read_tokens(Path(given.tokens))
    whole(0, 65535, "an int in [0, 65535]").check("port", port)
    for name in ("workers", "deciders", "running", "queue", "connections"):
        whole(1, wanted="an int of at least 1").check(name, getattr(given, name))
    for name in ("time_limit", "decision_limit", "store_days"):
        FINITE.check(name, getattr(given, name))
    one_of("text", "json").check("log_format", given.log_format)
    networks = tuple(_network(address) for address in given.trusted_proxies)
    root_path = _sub_path(given.root_path)
    if given.user_header is not None and not networks:
        raise InputError("'user_header' must come with a 'trusted_proxy', which sets it. Got none.")
    return replace(given, token=token, root_path=root_path, allowed_hosts=names, trusted_proxies=networks)


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
    with suppress(ValueError):
        return str(ipaddress.ip_address(name))
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


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host.lower().rstrip(".") == "localhost"


PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Public:
    """How a request was addressed where it came in."""

    host: str  # name and port that the client has in its address
    scheme: str | None = None  # http or https, where somebody has said
    forwarded: bool = False  # whether a trusted proxy has told all that
    client: str = ""  # the address that it came from, where a trusted proxy has told it


def public_address(headers: Headers, peer: str | None, trusted: Sequence[str]) -> Public:
    """How a request was addressed that came from `peer`, where `trusted` proxies may tell.

    Examples
    --------
    >>> forwarded = [(b"x-forwarded-host", b"a.example"), (b"x-forwarded-proto", b"https")]
    >>> told = Headers(raw=[(b"host", b"127.0.0.1:8000"), *forwarded])
    >>> public_address(told, "127.0.0.1", ["127.0.0.0/8"])
    Public(host='a.example', scheme='https', forwarded=True, client='')
    >>> public_address(told, "10.0.0.7", ["127.0.0.0/8"])
    Public(host='127.0.0.1:8000', scheme=None, forwarded=False, client='')
    """
    host = headers.get("host", "")
    if not _among(peer, trusted):
        return Public(host)
    # The nearest proxy has added the last entry of each list.
    scheme = _last(headers, "x-forwarded-proto").lower()
    forwarded = _last(headers, "x-forwarded-host")
    told = bool(forwarded or scheme)
    return Public(forwarded or host, scheme if scheme in PORTS else None, told, _last(headers, "x-forwarded-for")[:64])


def host_name(host: str) -> str | None:
    """The name in a Host header, without its port, or None where it is none.

    Examples
    --------
    >>> host_name("A.example:80"), host_name("[::1]:8000"), host_name("a@b"), host_name("a:b")
    ('a.example', '::1', None, None)
    """
    parts = _split(f"//{host}")
    if parts is None or parts.netloc != host or parts.username is not None or parts.path or parts.hostname is None:
        return None
    return parts.hostname.lower().rstrip(".")


def is_origin(origin: str, public: Public) -> bool:
    """Whether a page with this origin has come from the public address of a request.

    Examples
    --------
    >>> is_origin("https://a.example", Public("a.example:443", "https"))
    True
    >>> is_origin("http://a.example", Public("a.example:8000"))
    False
    """
    page, own = _split(origin), _split(f"//{public.host}")
    if page is None or own is None or page.scheme not in PORTS or public.scheme not in (None, page.scheme):
        return False
    usual = PORTS[page.scheme]
    return page.hostname is not None and (page.hostname, page.port or usual) == (own.hostname, own.port or usual)


def _named(headers: Headers, name: str) -> str:
    """A header that holds names, which proxies send in UTF-8; empty where there are several, one of them made up."""
    several = headers.getlist(name)
    given = several[0] if len(several) == 1 else ""
    try:
        return given.encode("latin-1").decode()
    except UnicodeDecodeError:
        return given


def _last(headers: Headers, name: str) -> str:
    return ",".join(headers.getlist(name)).rpartition(",")[2].strip()


def _split(address: str) -> SplitResult | None:
    """The parts of an address, or None where it is none."""
    with suppress(ValueError):
        parts = urlsplit(address)
        _ = parts.port
        return parts
    return None


def _among(address: str | None, networks: Sequence[str]) -> bool:
    with suppress(ValueError):
        found = ipaddress.ip_address((address or "").strip("[]"))
        return any(found in ipaddress.ip_network(network) for network in networks)
    return False
