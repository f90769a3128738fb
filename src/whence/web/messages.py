"""Messages between the server and its workers: pickled objects, each after its length.

Both ends are processes of the same user, started from the same program; nothing from the network is ever unpickled.
"""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass, field
from typing import IO, Any

_HEADER = struct.Struct(">Q")
header_size = _HEADER.size


#: Bytes that a search of a worker may take: several work beside each other.
MEMORY = 2**30


@dataclass(frozen=True)
class Asked:
    """A question as plain data, already found to be well-formed."""

    scene: str
    #: The pool's own.
    number: int = 0
    context: dict[str, Any] = field(default_factory=dict)
    plan: Any = None
    kind: Any = "relative"
    fixed: list[str] = field(default_factory=list)
    bounds: dict[str, Any] = field(default_factory=dict)
    time_limit: float = 0.0
    within: float = 0.0
    threads: int | None = None
    #: What else the answer must keep to, as `Policy.explain` takes it.
    conditions: dict[str, Any] = field(default_factory=dict)
    rule: bool = False
    #: The set of plans that is asked about where there is no plan, as plain data.
    instead: Any = None
    #: A context in which the plan is known to be good enough.
    known: dict[str, Any] | None = None
    #: What is asked: to explain, or one of the other questions.
    question: str = "explain"
    #: What only that question takes.
    more: dict[str, Any] = field(default_factory=dict)
    #: Where it is nothing to search for, but something that is soon told: which of `whence.web.quick`.
    quick: str = ""
    #: Whether its nearest answer is known already, and what is left is to find out how far it can be relied on.
    late: bool = False


@dataclass(frozen=True)
class Ping:
    """Say that you are there."""


@dataclass(frozen=True)
class Pong:
    """The worker is there."""


@dataclass(frozen=True)
class NewScenes:
    """Scenes in the place of those that there were, pickled."""

    scenes: bytes


@dataclass(frozen=True)
class Learnt:
    """How often answers about a scene are true, learnt from simulated worlds by one worker: the others need not."""

    scene: str
    #: By kind of claim.
    curves: dict[Any, Any]


@dataclass(frozen=True)
class Cancel:
    """Stop searching for the answer to this question."""

    number: int


@dataclass(frozen=True)
class Ready:
    """The worker has loaded everything."""


@dataclass(frozen=True)
class FoundNearest:
    """The nearest answer, for the page, while one that holds is still searched for; JSON, compressed."""

    result: bytes


@dataclass(frozen=True)
class Answered:
    """The answer: for the page, and the whole explanation as data; all JSON, compressed."""

    stopped: bool
    result: bytes
    data: bytes
    #: For the page: the nearest answer, where that is another one.
    nearest: bytes | None = None
    #: What is proved of it, as its status says.
    proved: str = ""


@dataclass(frozen=True)
class Nearest:
    """The nearest answer, soon found; what it is asked to hold for is for a later turn."""

    answer: Answered


@dataclass(frozen=True)
class Failed:
    """Why there is no answer, in one sentence."""

    reason: str
    #: Whether the question itself is wrong.
    refused: bool = False


def packed(message: Any) -> bytes:
    """`message` as bytes to be sent.

    Examples
    --------
    >>> import io
    >>> receive(io.BytesIO(packed(Cancel(3))))
    Cancel(number=3)
    """
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _HEADER.pack(len(body)) + body


def length(header: bytes) -> int:
    """Bytes of the message that follows `header`."""
    return int(_HEADER.unpack(header)[0])


def receive(stream: IO[bytes]) -> Any:
    """The next message; an EOFError where the other end is gone."""
    return pickle.loads(_exactly(stream, length(_exactly(stream, header_size))))


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if data is None or len(data) < size:
        raise EOFError("The other end has closed the connection.")
    return data
