"""The process that searches: one question at a time, from standard input to standard output.

Run as ``python -m whence.web.worker`` by the server, with ``--gently`` where others of its processes come first. It
ends when the server does, whatever that died of: its input then ends too.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

import msgspec

from whence.errors import WhenceError
from whence.explain.explanation import Explanation
from whence.explain.robust import worlds_of
from whence.question import Progress
from whence.web.jobs import packed_json, packed_result, result_of
from whence.web.messages import (
    Answered,
    Asked,
    Cancel,
    Failed,
    FoundNearest,
    Learnt,
    Nearest,
    NewScenes,
    Ping,
    Pong,
    Ready,
    packed,
    receive,
)
from whence.web.quick import soon_told
from whence.web.scenes import Scene
from whence.web.series_jobs import answer_of, answered, put

#: Least seconds between two reports of progress.
PULSE = 0.1
#: Seconds to find out where else an answer stays true.
RULE = 2.0
#: By how much searches stand back behind the server and its decisions where there are fewer cores than work.
NICENESS = 5
#: The same for what comes after a first answer.
LATE_NICENESS = 15
#: Seconds within which a nearest answer must be found for the rest to be left to a later turn, which begins anew.
SOON = 2.0

log = logging.getLogger("whence.web")


class _FoundSoon(Exception):
    """The nearest answer is known soon enough for others to have a turn before the rest."""

    def __init__(self, explanation: Explanation) -> None:
        super().__init__()
        self.explanation = explanation


def _stand_back() -> None:
    """Let this thread run after those who wait for a first answer: on Linux, each thread has its own niceness."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LATE_NICENESS)


class Worker:
    """Answers questions about `scenes` as they come in."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self._source, self._sink = source, sink
        self._questions: queue.SimpleQueue[Asked | NewScenes | Learnt] = queue.SimpleQueue()
        self._cancelled: set[int] = set()
        self._scenes: dict[str, Scene] = {}
        #: What the server knows that was learnt from simulated worlds, by scene.
        self._told: dict[str, dict[Any, Any]] = {}
        self._sending = threading.Lock()

    def run(self) -> None:
        """Load the scenes, then answer until the input ends."""
        self._take(receive(self._source))
        threading.Thread(target=self._listen, daemon=True).start()
        self._send(Ready())
        while True:
            asked = self._questions.get()
            if isinstance(asked, NewScenes):
                self._take(asked.scenes)
                continue
            if isinstance(asked, Learnt):
                worlds_of(self._scenes[asked.scene].policy).learn(asked.curves)
                self._told[asked.scene] = self._learnt(asked.scene)
                continue
            answer = self._answer(asked)
            if (learnt := self._learnt(asked.scene)) != self._told.get(asked.scene, {}):
                self._told[asked.scene] = learnt
                self._send(Learnt(asked.scene, learnt))
            self._send(answer)
            self._cancelled.discard(asked.number)

    def _take(self, scenes: bytes) -> None:
        self._scenes, self._told = {scene.id: scene for scene in pickle.loads(scenes)}, {}

    def _learnt(self, scene: str) -> dict[Any, Any]:
        """What is known of how often answers about a scene are true."""
        worlds = getattr(self._scenes[scene].policy, "worlds_", None) if scene in self._scenes else None
        return {} if worlds is None else dict(worlds.curves)

    def _listen(self) -> None:
        """Take what comes in while a search is running; without the server there is nobody to search for."""
        while True:
            try:
                message = receive(self._source)
            except (EOFError, OSError):
                os._exit(0)
            if isinstance(message, Cancel):
                self._cancelled.add(message.number)
            elif isinstance(message, Ping):
                self._send(Pong())
            else:
                self._questions.put(message)

    def _send(self, message: Any) -> None:
        # Probes are answered while a search tells how far it is.
        with self._sending:
            self._sink.write(packed(message))
            self._sink.flush()

    def _answer(self, asked: Asked) -> Answered | Nearest | Failed:
        told = 0.0

        def on_progress(progress: Progress) -> bool:
            nonlocal told
            now = time.monotonic()
            if now - told >= PULSE:
                told = now
                self._send(progress)
            return asked.number not in self._cancelled

        try:
            scene = self._scenes[asked.scene]
            if asked.quick:
                return Answered(stopped=False, result=soon_told(scene, asked), data=b"")
            if asked.question != "explain":
                found = answer_of(scene, asked, on_progress)
                return answered(scene, found, asked.number in self._cancelled)
            if asked.late and sys.platform == "linux":
                with ThreadPoolExecutor(1, initializer=_stand_back) as apart:
                    return apart.submit(self._explained, scene, asked, on_progress).result()
            return self._explained(scene, asked, on_progress)
        except _FoundSoon as found:
            return Nearest(_answered(scene, found.explanation, True))
        except WhenceError as error:
            return Failed(str(error), refused=True)
        except Exception as error:  # a problem of the user's own may fail in any way
            log.exception("An explanation failed.")
            return Failed(f"The explanation failed: {type(error).__name__}: {error}")

    def _explained(self, scene: Scene, asked: Asked, on_progress: Callable[[Progress], bool]) -> Answered:
        began = time.monotonic()

        def on_nearest(found: Explanation) -> None:
            if not asked.late and time.monotonic() - began < SOON:
                raise _FoundSoon(found)
            self._send(FoundNearest(packed_result(result_of(scene, found))))

        more = {"on_progress": on_progress, "on_nearest": on_nearest}
        explanation: Explanation = put(scene.policy.explain, scene, asked, **more)
        stopped = asked.number in self._cancelled
        # Without all of its refits an answer is not what was asked for, however exact it is.
        cut = explanation.status == "interrupted" or (stopped and explanation.reliance is not None)
        if asked.rule and not stopped:
            explanation = explanation.with_rule(min(RULE, asked.time_limit), nearest=True)
        return _answered(scene, explanation, cut)


def _answered(scene: Scene, explanation: Explanation, stopped: bool) -> Answered:
    near, document = explanation.nearest, explanation.to_dict()
    return Answered(
        stopped=stopped,
        result=packed_result(result_of(scene, explanation, document)),
        data=packed_json(msgspec.json.encode(document)),
        nearest=None if near is None else packed_result(result_of(scene, near)),
        proved=explanation.status,
    )


def main() -> None:
    """Talk to the server over what were standard input and output; whatever is printed goes to standard error."""
    if "--gently" in sys.argv[1:] and hasattr(os, "nice"):
        os.nice(NICENESS)
    # The server decides when to end: Ctrl-C in its terminal must not cut off an answer half-way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        Worker(source, sink).run()
    except (EOFError, BrokenPipeError):
        sys.exit(0)


if __name__ == "__main__":
    main()
