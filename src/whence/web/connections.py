"""Connections: how long their other end may take, and how many there may be at once.

uvicorn waits for ever for a request that was begun and never ends, before anybody could ask for a token, and for ever
for somebody to take an answer. Here every connection looks at the clock.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import Counter
from contextlib import suppress
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from whence.web.server_settings import ServerSettings

#: Seconds between two looks at the clock.
PULSE = 0.25


class Connection(H11Protocol):
    """One connection, closed where its other end keeps it waiting; a server's own kind has its settings."""

    settings = ServerSettings()
    _since = 0.0
    _begun = False
    _unsent_since: float | None = None
    _pulse: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, in the place of one that only waits where there are too many."""
        super().connection_made(transport)
        self._since = self.loop.time()
        if len(self.connections) > self.settings.connections and not self._make_room():
            self._say(503, "Too many connections are open; try again later.")
        self._look()

    def data_received(self, data: bytes) -> None:
        """Take some bytes; the clock of a request starts with its first."""
        if self.waiting and not self._begun:
            self._begun, self._since = True, self.loop.time()
        if not self.transport.is_closing():
            super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._begun, self._since = False, self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop looking at the clock."""
        if self._pulse is not None:
            self._pulse.cancel()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP request, in the form that all errors have."""
        self._say(400, "What came is not a request that can be read.")

    def shutdown(self) -> None:
        """Close when the server does."""
        if self.transport.is_closing():
            self.transport.abort()
        else:
            super().shutdown()

    @property
    def waiting(self) -> bool:
        """Whether no request has arrived that is still to be answered."""
        return self.cycle is None or self.cycle.response_complete

    def _look(self) -> None:
        """Close the connection where it is time to, otherwise look again soon."""
        now = self.loop.time()
        if not self.transport.get_write_buffer_size():
            self._unsent_since = None
        elif self._unsent_since is None:
            self._unsent_since = now
        if self._unsent_since is not None and now - self._unsent_since > self.settings.taking:
            # Whoever does not read would not read why either.
            self._drop()
            return
        if self.waiting and not self.transport.is_closing() and now - self._since > self.settings.arrival:
            self._say(408, "The request took too long to arrive.")
        self._pulse = self.loop.call_later(PULSE, self._look)

    def _make_room(self) -> bool:
        """Give up the connection that has waited longest for a request, of those whose address has most of them."""
        others = [other for other in self.connections if isinstance(other, Connection) and other is not self]
        idle = [other for other in others if other.waiting and not other.transport.is_closing()]
        if not idle:
            return False
        held = Counter(other.client and other.client[0] for other in others)
        first = max(idle, key=lambda other: (held[other.client and other.client[0]], -other._since))
        first._drop()
        return True

    def _drop(self) -> None:
        """End the connection at once, in the system too, which would otherwise go on trying to send what is left."""
        with suppress(OSError):
            line = self.transport.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _say(self, status: int, sentence: str) -> None:
        """Send one sentence, and close."""
        body = json.dumps({"detail": sentence}).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
        )
        # A client that has sent nothing, as a browser that opened a connection in advance, expects nothing either.
        if (self._begun or status != 408) and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(head.encode() + body)
        if not self.waiting:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.conn.send_failed()
        self.transport.close()
