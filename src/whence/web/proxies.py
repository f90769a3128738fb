"""A reverse proxy in front: how a request was addressed where it came in.

What a request says of that in `X-Forwarded-...` counts only where a proxy that was named as trusted has sent it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Public:
    """How a request was addressed where it came in."""

    host: str  # name and port that the client has in its address
    scheme: str | None = None  # http or https, where somebody has said
    forwarded: bool = False  # whether a trusted proxy has told all that


def public_address(headers: Headers, peer: str | None, trusted: Sequence[str]) -> Public:
    """How a request was addressed that came from `peer`, where `trusted` proxies may tell.

    Examples
    --------
    >>> forwarded = [(b"x-forwarded-host", b"a.example"), (b"x-forwarded-proto", b"https")]
    >>> told = Headers(raw=[(b"host", b"127.0.0.1:8000"), *forwarded])
    >>> public_address(told, "127.0.0.1", ["127.0.0.0/8"])
    Public(host='a.example', scheme='https', forwarded=True)
    >>> public_address(told, "10.0.0.7", ["127.0.0.0/8"])
    Public(host='127.0.0.1:8000', scheme=None, forwarded=False)
    """
    host = headers.get("host", "")
    if not _among(peer, trusted):
        return Public(host)
    # The nearest proxy has added the last entry of each list.
    scheme = _last(headers, "x-forwarded-proto").lower()
    forwarded = _last(headers, "x-forwarded-host")
    return Public(forwarded or host, scheme if scheme in PORTS else None, bool(forwarded or scheme))


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
