"""What travels between the caller of a batch and its workers: the policy once, and answers without it."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import cloudpickle

from whence.batch.explanations import Entry

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["Answered", "Parcel", "Shipped", "end_with"]


#: Policies that a worker keeps, so that batches of the same call find theirs already set up.
POLICIES_KEPT = 2


class Shipped:
    """A policy on its way to the workers: pickled once, and set up once in each of them.

    In the process it comes from it is the policy itself.
    """

    def __init__(self, policy: Policy) -> None:
        self.token = uuid4().hex
        self.policy = policy

    @cached_property
    def _parcel(self) -> bytes:
        parcel: bytes = cloudpickle.dumps(self.policy)
        return parcel

    def __reduce__(self) -> tuple[Any, ...]:
        return Parcel, (self.token, self._parcel, os.getpid())

    def answered(self, entries: list[Entry]) -> list[Entry]:
        """What is handed back: here, nothing travels."""
        return entries


class Parcel:
    """What a worker receives for a `Shipped`."""

    kept: dict[str, Policy] = {}  # noqa: RUF012 - one for the process, on purpose

    def __init__(self, token: str, parcel: bytes, caller: int) -> None:
        self.token, self._parcel = token, parcel
        end_with(caller)

    @property
    def policy(self) -> Policy:
        """The policy, unpacked by the first batch of a call that comes to this process."""
        found = self.kept.get(self.token)
        if found is None:
            while len(self.kept) >= POLICIES_KEPT:
                self.kept.pop(next(iter(self.kept)), None)
            found = self.kept[self.token] = cloudpickle.loads(self._parcel)
        return found

    def answered(self, entries: list[Entry]) -> Answered:
        """What is handed back, without what the caller has anyway."""
        return Answered(self.policy, entries)


class Answered:
    """Answers on their way to the caller, in which the policy and its parts are only named.

    An explanation knows its question, so that it can tell its rule later, and a question refers to the fitted weights
    and the history: they would travel back, and be kept, with every row.
    """

    def __init__(self, policy: Policy, entries: list[Entry]) -> None:
        file = io.BytesIO()
        _Packer(file, _names(policy)).dump(entries)
        self._packed = file.getvalue()

    def entries(self, policy: Policy) -> list[Entry]:
        """The answers, about the caller's own policy."""
        found: list[Entry] = _Unpacker(io.BytesIO(self._packed), policy).load()
        return found


def _names(policy: Policy) -> dict[int, str]:
    """The policy and what it was fitted to or made of: where it is, and a name that is the same in every process."""
    parts = {
        name: part for name, part in vars(policy).items() if name.endswith("_") or name in policy.get_params(False)
    }
    large = {id(part): name for name, part in parts.items() if hasattr(part, "__dict__") or hasattr(part, "nbytes")}
    return {id(policy): "", **large}


class _Packer(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO, names: dict[int, str]) -> None:
        super().__init__(file)
        self._names = names

    def persistent_id(self, one: Any) -> str | None:
        return self._names.get(id(one))


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, policy: Policy) -> None:
        super().__init__(file)
        self._policy = policy

    def persistent_load(self, name: str) -> Any:
        return getattr(self._policy, name) if name else self._policy


#: Seconds between two looks at who the parent is.
EVERY = 0.25

_watched: set[int] = set()


def end_with(parent: int) -> None:
    """Let this process end when its parent, the process `parent`, does: by a signal, or killed without a word.

    It does nothing in the process `parent` itself, nor in a worker that somebody else has started, as in a cluster.
    An orphan is handed to another parent, which is how it learns of its loss; the kernel's own signal for that
    (PR_SET_PDEATHSIG) would come with the end of the thread that started the worker.
    """
    own = os.getppid() == parent or multiprocessing.current_process().name.startswith("LokyProcess")
    if os.getpid() == parent or parent in _watched or not own or os.name == "nt":
        return
    _watched.add(parent)
    threading.Thread(target=_watch, args=(parent,), name="whence-parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)
    os._exit(1)
