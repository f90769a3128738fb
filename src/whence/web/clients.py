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
    """

    def __init__(self, each: int, running: int, most: int = 1024) -> None:
        self._each, self._at_once, self._most = each, running, most
        self._waiting: dict[str, deque[T]] = {}
        # The turns in which clients were served last, as long as they have something waiting or under way.
        self._served: Counter[str] = Counter()
        self._turns = itertools.count(1)
        self._running: Counter[str] = Counter()
        self._owner: dict[T, str] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __contains__(self, item: object) -> bool:
        return any(item in line for line in self._waiting.values())

    def __iter__(self) -> Iterator[T]:
        return (item for line in self._waiting.values() for item in line)

    def put(self, item: T, client: str, limited: bool = True) -> None:
        """Let something wait; TooMany where the client, or all together, have too much waiting."""
        if limited and (len(self._waiting.get(client, ())) >= self._each or len(self) >= self._most):
            raise TooMany
        self._waiting.setdefault(client, deque()).append(item)
        self._owner[item] = client

    def take(self, last: bool = False) -> T | None:
        """The next in turn, which is under way from now on; None where all who wait have enough under way.

        The last place that is free is for somebody who has nothing under way: no client takes it for one thing more.
        """
        most = 1 if last else self._at_once
        ready = [client for client in self._waiting if self._running[client] < most]
        if not ready:
            return None
        client = min(ready, key=lambda name: (self._running[name], self._served[name]))
        item = self._waiting[client].popleft()
        self._running[client] += 1
        self._served[client] = next(self._turns)
        self._tidy(client)
        return item

    def done(self, item: T) -> None:
        """What was taken is no longer under way."""
        client = self._owner.pop(item)
        self._running[client] -= 1
        self._tidy(client)

    def remove(self, item: T) -> None:
        """Give up something that waits."""
        client = self._owner.pop(item)
        self._waiting[client].remove(item)
        self._tidy(client)

    def _tidy(self, client: str) -> None:
        """Remember nothing of a client that has nothing here."""
        if not self._waiting.get(client):
            self._waiting.pop(client, None)
            if not self._running[client]:
                del self._running[client], self._served[client]

    def ahead(self, item: T) -> int:
        """How many are taken before `item`, if nothing ends or arrives meanwhile."""
        client = self._owner.get(item)
        line = self._waiting.get(client or "")
        if line is None or item not in line:
            return 0
        place = line.index(item)
        # Every round takes one of each client; those that come before this one in the round count once more.
        order = sorted(self._waiting, key=lambda name: self._served[name])
        before = order.index(client or "")
        others = (len(self._waiting[name]) for name in order if name != client)
        sooner = sum(min(length, place + (number < before)) for number, length in enumerate(others))
        return place + sooner


class Crowd:
    """Requests being answered, counted by client, with some room that only the most urgent may use."""

    def __init__(self, each: int, most: int) -> None:
        self._each, self._most = each, most
        self._present: Counter[str] = Counter()
        self._waits: dict[asyncio.Event, str] = {}

    @contextmanager
    def present(self, client: str, urgent: bool) -> Iterator[None]:
        """Count a request while it is answered; TooMany where there are too many, unless it is urgent."""
        held = Counter(self._waits.values())
        if not urgent and (
            self._present[client] - held[client] >= self._each or self._present.total() - held.total() >= self._most
        ):
            raise TooMany
        self._present[client] += 1
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
        held = Counter(self._waits.values())
        if held[client] > self._each or held.total() > self._most:
            most = client if held[client] > self._each else held.most_common(1)[0][0]
            first = next(event for event, name in self._waits.items() if name == most)
            del self._waits[first]
            first.set()
        try:
            yield enough
        finally:
            self._waits.pop(enough, None)
