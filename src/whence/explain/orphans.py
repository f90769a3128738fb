"""Worker processes that end with the process that they work for, however it ends."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time

__all__ = ["end_with"]

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
