"""Tokens: who may come in, by name; links that work once; and patience with those who guess."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import re
import secrets
import time
import tomllib
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from whence.errors import InputError

log = logging.getLogger("whence.web")

#: Seconds for which a link can be opened, and for which a browser is remembered.
LINK, REMEMBERED = 3600.0, 7 * 24 * 3600
#: Most links of one token that wait to be opened.
LINKS = 100
#: Wrong tokens from one address within this many seconds, after which no more are looked at for as long.
GUESSES, WINDOW = 10, 60.0
#: Most addresses whose wrong tokens are remembered.
ADDRESSES = 10_000
#: Least seconds between two looks at the file.
LOOK = 1.0


def check_token(token: str, name: str = "token") -> str:
    """Refuse a token that would have to be escaped in headers and cookies, or that can be guessed."""
    if not isinstance(token, str) or not re.fullmatch(r"[A-Za-z0-9_-]{16,200}", token):
        raise InputError(f"{name!r} must be 16 to 200 letters, digits, '-' or '_'. Got another text.")
    return token


def read_tokens(path: Path) -> dict[str, str]:
    """Read a file of tokens by name, in TOML; an InputError says what is wrong, and never shows a token."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise InputError(
            f"'tokens' must be a file of lines such as anna = \"...\". Got {path.name!r} instead."
        ) from None
    for name, token in found.items():
        check_token(token, f"the token {name}")
    if not found or len(set(found.values())) < len(found):
        raise InputError(f"'tokens' must hold at least one token, and none twice. Got {path.name!r} instead.")
    return found


class Tokens:
    """The tokens that are valid now; those of a file are read again when it changes.

    Examples
    --------
    >>> tokens = Tokens({"anna": "a-token-of-sixteen-letters"})
    >>> tokens.name_of("a-token-of-sixteen-letters"), tokens.name_of("wrong")
    ('anna', None)
    >>> link = tokens.link()
    >>> tokens.name_of_session(tokens.session(tokens.opened(link))), tokens.opened(link)
    ('anna', None)
    """

    def __init__(self, given: Mapping[str, str], file: Path | None = None) -> None:
        self._given, self._file = dict(given), file
        self._known: dict[str, str] = {}
        self._stamp: tuple[int, int] | None = None
        self._looked = 0.0
        self._links: dict[str, tuple[float, str]] = {}
        self._wrong: dict[str, deque[float]] = {}
        self.reload()

    @property
    def needed(self) -> bool:
        """Whether a request needs a token at all."""
        return bool(self._known)

    def reload(self) -> None:
        """Read the file again; where that cannot be read, an InputError, and the tokens stay as they are."""
        found = {} if self._file is None else read_tokens(self._file)
        self._known = {**self._given, **found}

    def refresh(self) -> None:
        """Read the file again if it has changed, and not too often."""
        now = time.monotonic()
        if self._file is None or now - self._looked < LOOK:
            return
        self._looked = now
        try:
            told = self._file.stat()
            stamp = (told.st_mtime_ns, told.st_size)
            if stamp != self._stamp:
                self._stamp = stamp
                self.reload()
        except (OSError, InputError) as error:
            log.error("The tokens stay as they were: %s", error)

    def name_of(self, token: str) -> str | None:
        """The name of a token, or None where it is none."""
        given = token.encode()
        # All are compared, so that the time does not tell which one was nearly right.
        found = [name for name, own in self._known.items() if secrets.compare_digest(given, own.encode())]
        return found[0] if found else None

    # ---- browsers --------------------------------------------------------------------------------------

    def link(self, name: str = "") -> str:
        """A code that opens the page once, as if with the token of this name; with the first one where left out."""
        now = time.monotonic()
        self._links = {code: (until, whose) for code, (until, whose) in self._links.items() if until > now}
        name, code = name or next(iter(self._known)), secrets.token_urlsafe(24)
        own = [known for known, (_, whose) in self._links.items() if whose == name]
        for oldest in own[: max(0, len(own) - LINKS + 1)]:
            del self._links[oldest]
        self._links[_digest(code)] = (now + LINK, name)
        return code

    def opened(self, code: str) -> str | None:
        """The name of the token that a link stands for, which is of no use from now on; None where it is none."""
        until, name = self._links.pop(_digest(code), (0.0, ""))
        return name if until > time.monotonic() and name in self._known else None

    def session(self, name: str) -> str:
        """What a browser keeps in a cookie: valid as long as the token is, and of no use to find that out."""
        told = base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")
        until = int(time.time()) + REMEMBERED
        return f"{told}.{until}.{self._seal(name, until)}"

    def name_of_session(self, session: str) -> str | None:
        """The name of the token that a session was begun with, if both are still valid."""
        told, _, rest = session.partition(".")
        until, _, seal = rest.partition(".")
        if not re.fullmatch(r"[0-9]{1,12}", until) or int(until) < time.time() or not seal.isascii():
            return None
        for name in self._known:
            own = base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")
            if own == told and secrets.compare_digest(self._seal(name, int(until)), seal):
                return name
        return None

    def _seal(self, name: str, until: int) -> str:
        return hmac.new(self._known[name].encode(), f"{name}\n{until}".encode(), hashlib.sha256).hexdigest()

    # ---- those who guess -------------------------------------------------------------------------------

    def patience(self, address: str) -> float:
        """Seconds for which tokens from an address are not looked at; 0 where they are."""
        wrong = self._wrong.get(address)
        if wrong is None or len(wrong) < GUESSES:
            return 0.0
        return max(0.0, wrong[0] + WINDOW - time.monotonic())

    def was_wrong(self, address: str) -> None:
        """Note a wrong token; what it was is noted nowhere."""
        if address not in self._wrong and len(self._wrong) >= ADDRESSES:
            del self._wrong[next(iter(self._wrong))]
        self._wrong.setdefault(address, deque(maxlen=GUESSES)).append(time.monotonic())
        log.warning("A wrong token came from %s.", address)


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
