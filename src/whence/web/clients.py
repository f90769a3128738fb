"""Who asks: how much each client may do at once, and whose turn it is."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Client:
    """Who sent a request: a person whom a proxy has named, or else a token, or else an address."""

    address: str = ""
    token: str = ""  # the name of the token that was brought
    user: str = ""
    groups: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What limits are counted by.

        Examples
        --------
        >>> Client("10.0.0.7").key, Client("10.0.0.7", token="reports").key, Client("10.0.0.7", user="anna").key
        ('address 10.0.0.7', 'token reports', 'user anna')
        """
        named = (("user", self.user), ("token", self.token), ("address", self.address))
        return next((f"{kind} {name}" for kind, name in named if name), "address unknown")


NOBODY = Client()
#: What of a request the guard adds to its ASGI scope: who sent it, and who else is being answered.
CLIENT, CROWD = "whence.client", "whence.crowd"
#: What is noted of a request while it is answered.
RECORD = "whence.record"


class TooMany(Exception):
    """A client has as much under way as it may have."""


class FairQueue(Generic[T]):
    """Things that wait, taken in turns between clients: who has least under way, then who was served longest ago.

    Examples
    --------
    >>> queue = FairQueue(each=2, running=2)
    >>> for name, client in (("a1", "a"), ("a2", "a"), ("b1", "b")):
    ...     queue.put(name, client)
    >>> [queue.take() for _ in range(3)]
    ['a1', 'b1', 'a2']

    Who was just served comes after somebody new, also where nobody else had been waiting:

    >>> queue.put("a3", "a")
    >>> queue.put("c1", "c")
    >>> for name in ("a1", "b1", "a2"):
    ...     queue.done(name)
    >>> queue.ahead("c1"), [queue.take() for _ in range(2)]
    (0, ['c1', 'a3'])

    The last place is kept for somebody who has nothing under way:

    >>> queue.put("a4", "a")
    >>> queue.take(last=True) is None
    True
    >>> queue.put("d1", "d")
    >>> queue.take(last=True)
    'd1'

    What is late waits until nothing else does, and never takes the last place:

    >>> queue.put("d2", "d", late=True)
    >>> queue.put("e1", "e")
    >>> queue.ahead("d2"), [queue.take() for _ in range(3)]
    (2, ['e1', 'a4', 'd2'])
    """

    def __init__(self, each: int, running: int, most: int = 1024) -> None:
        self._each, self._at_once, self._most = each, running, most
        # What waits, by client, and what waits until nothing else does.
        self._lines: tuple[dict[str, deque[T]], dict[str, deque[T]]] = ({}, {})
        # The turns in which clients were served last, as long as they have something waiting or under way.
        self._served: Counter[str] = Counter()
        self._turns = itertools.count(1)
        self._running: Counter[str] = Counter()
        self._owner: dict[T, str] = {}

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, item: object) -> bool:
        return any(item in line for lines in self._lines for line in lines.values())

    def __iter__(self) -> Iterator[T]:
        return (item for lines in self._lines for line in lines.values() for item in line)

    def put(self, item: T, client: str, limited: bool = True, late: bool = False) -> None:
        """Let something wait; TooMany where the client, or all together, have too much waiting."""
        if limited and (self._held(client) >= self._each or len(self) >= self._most):
            raise TooMany
        self._lines[late].setdefault(client, deque()).append(item)
        self._owner[item] = client

    def _held(self, client: str) -> int:
        """How much of a client waits."""
        return sum(len(lines.get(client, ())) for lines in self._lines)

    def take(self, last: bool = False) -> T | None:
        """The next in turn, which is under way from now on; None where all who wait have enough under way.

        The last place that is free is for somebody who has nothing under way: no client takes it for one thing more.
        """
        most = 1 if last else self._at_once
        for lines in self._lines[: 1 if last else 2]:
            ready = [client for client in lines if self._running[client] < most]
            if ready:
                client = min(ready, key=lambda name: (self._running[name], self._served[name]))
                item = lines[client].popleft()
                self._running[client] += 1
                self._served[client] = next(self._turns)
                self._tidy(client)
                return item
        return None

    def done(self, item: T) -> None:
        """What was taken is no longer under way."""
        client = self._owner.pop(item)
        self._running[client] -= 1
        self._tidy(client)

    def remove(self, item: T) -> None:
        """Give up something that waits."""
        client = self._owner.pop(item)
        next(line for lines in self._lines if item in (line := lines.get(client, deque()))).remove(item)
        self._tidy(client)

    def _tidy(self, client: str) -> None:
        """Remember nothing of a client that has nothing here."""
        for lines in self._lines:
            if not lines.get(client):
                lines.pop(client, None)
        if not self._held(client) and not self._running[client]:
            del self._running[client], self._served[client]

    def ahead(self, item: T) -> int:
        """How many are taken before `item`, if nothing ends or arrives meanwhile."""
        client, sooner = self._owner.get(item, ""), 0
        for lines in self._lines:
            if item in (line := lines.get(client, ())):
                place = line.index(item)
                # Every round takes one of each client; those before this one in the round count once more.
                order = sorted(lines, key=lambda name: self._served[name])
                before = order.index(client)
                others = (len(lines[name]) for name in order if name != client)
                return sooner + place + sum(min(n, place + (number < before)) for number, n in enumerate(others))
            sooner += sum(map(len, lines.values()))
        return 0


class Crowd:
    """Requests being answered, counted by client, with some room that only the most urgent may use."""

    def __init__(self, each: int, most: int) -> None:
        self._each, self._most = each, most
        self._present: Counter[str] = Counter()
        self._waits: dict[asyncio.Event, str] = {}

    @contextmanager
    def present(self, client: str, urgent: bool) -> Iterator[None]:
        """Count a request while it is answered; TooMany where there are too many.

        An urgent one may come when there are too many already: a quarter more of one client, however many in all.
        """
        held = Counter(self._waits.values())
        each = self._each + max(1, self._each // 4) if urgent else self._each
        crowded = not urgent and self._present.total() - held.total() >= self._most
        if crowded or self._present[client] - held[client] >= each:
            raise TooMany
        self._present[client] += 1
        self._make_room()
        try:
            yield
        finally:
            self._present[client] -= 1
            if not self._present[client]:
                del self._present[client]

    @contextmanager
    def waiting(self, client: str) -> Iterator[asyncio.Event]:
        """Count a request that only waits for news; the event is set where it has to make room for others.

        Of the client that has most of them, the one that has waited longest is answered early, which is no error:
        whoever waits for news asks again anyway.
        """
        enough = asyncio.Event()
        self._waits[enough] = client
        if list(self._waits.values()).count(client) > self._each:
            self._answer_early(client)
        self._make_room()
        try:
            yield enough
        finally:
            self._waits.pop(enough, None)

    def _make_room(self) -> None:
        """Where there are too many requests in all, answer one early that only waits for news."""
        if self._present.total() > self._most and self._waits:
            [(client, _)] = Counter(self._waits.values()).most_common(1)
            self._answer_early(client)

    def _answer_early(self, client: str) -> None:
        first = next(event for event, name in self._waits.items() if name == client)
        del self._waits[first]
        first.set()
