"""The process that searches: one question at a time, from standard input to standard output.

Run as ``python -m whence.web.worker`` by the server. It ends when the server does, whatever that died of: its input
then ends too.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import queue
import signal
import sys
import threading
import time
import zlib
from typing import IO, Any

from whence.errors import WhenceError
from whence.explain.explanation import Explanation
from whence.question import Progress
from whence.web import models
from whence.web.messages import Answered, Asked, Cancel, Failed, Progressed, Ready, packed, receive
from whence.web.scenes import Scene

__all__ = ["main"]

#: Least seconds between two reports of progress.
PULSE = 0.1
#: Seconds that a question for warming up may take.
WARM = 0.5
#: Past observations whose plans are tried for one that is worth a search.
TRIED = 20
#: What the page draws of what an explanation holds for the past observations.
DRAWN = ("gaining", "losing")

log = logging.getLogger("whence.web")


class Worker:
    """Answers questions about `scenes` as they come in."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self._source, self._sink = source, sink
        self._questions: queue.SimpleQueue[Asked] = queue.SimpleQueue()
        self._cancelled: set[int] = set()
        self._scenes: dict[str, Scene] = {}

    def run(self) -> None:
        """Load the scenes, then answer until the input ends."""
        self._scenes = {scene.id: scene for scene in pickle.loads(receive(self._source))}
        threading.Thread(target=self._listen, daemon=True).start()
        for scene in self._scenes.values():
            _warm(scene)
        self._send(Ready())
        while True:
            asked = self._questions.get()
            self._send(self._answer(asked))
            self._cancelled.discard(asked.number)

    def _listen(self) -> None:
        """Take what comes in while a search is running; without the server there is nobody to search for."""
        while True:
            try:
                message = receive(self._source)
            except (EOFError, OSError):
                os._exit(0)
            if isinstance(message, Cancel):
                self._cancelled.add(message.number)
            else:
                self._questions.put(message)

    def _send(self, message: Any) -> None:
        self._sink.write(packed(message))
        self._sink.flush()

    def _answer(self, asked: Asked) -> Answered | Failed:
        told = 0.0

        def on_progress(progress: Progress) -> bool:
            nonlocal told
            now = time.monotonic()
            if now - told >= PULSE:
                told = now
                self._send(Progressed(progress.nodes, progress.distance, progress.bound, progress.seconds))
            return asked.number not in self._cancelled

        try:
            scene = self._scenes[asked.scene]
            explanation = scene.policy.explain(
                scene.row_of(asked.context),
                scene.plan_of(asked.plan),
                kind=asked.kind,
                within=asked.within,
                fixed=asked.fixed,
                bounds=scene.bounds_of(asked.bounds),
                engine=scene.engine,
                time_limit=asked.time_limit,
                threads=asked.threads,
                on_progress=on_progress,
            )
            return _answered(scene, explanation)
        except WhenceError as error:
            return Failed(str(error))
        except Exception as error:  # a problem of the user's own may fail in any way
            log.exception("An explanation failed.")
            return Failed(f"The explanation failed: {type(error).__name__}: {error}")


def _answered(scene: Scene, explanation: Explanation) -> Answered:
    data = explanation.to_dict()
    result = models.Result(explanation=_short(data), sentence=str(explanation), then=_then(scene, explanation))
    return Answered(
        stopped=explanation.status == "interrupted",
        result=zlib.compress(result.model_dump_json().encode()),
        data=zlib.compress(json.dumps(data, ensure_ascii=False, allow_nan=False).encode()),
    )


def _short(data: dict[str, Any]) -> dict[str, Any]:
    """An explanation as data without its numbers for every past observation."""
    inner = data["unrestricted"]
    return {
        **data,
        "observations": {name: data["observations"][name] for name in DRAWN},
        "unrestricted": None if inner is None else _short(inner),
    }


def _then(scene: Scene, explanation: Explanation) -> models.Then | None:
    if explanation.context is None or explanation.weights_after is None:
        return None
    return models.Then(
        **dict(scene.decided(explanation.context)),
        context=scene.context_of(explanation.context),
        decision=scene.judged(explanation.decision, explanation.weights_after),
        alternative=scene.judged(explanation.alternative, explanation.weights_after),
    )


def _warm(scene: Scene) -> None:
    """Load everything that answering takes, so that the first question is as fast as the others."""
    policy = scene.policy
    try:
        plans = (policy.decide(policy.X_.iloc[[row]]) for row in range(min(len(policy.X_), TRIED)))
        for plan in plans if scene.alternative is None else [scene.alternative]:
            why = policy.explain(scene.today, plan, engine=scene.engine, time_limit=WARM)
            if why.status != "already":
                _answered(scene, why)
                policy.explain(scene.today, plan, kind="absolute", engine=scene.engine, time_limit=WARM)
                return
    except Exception:  # the question itself will tell
        log.debug("Warming up failed.", exc_info=True)


def main() -> None:
    """Talk to the server over what were standard input and output; whatever is printed goes to standard error."""
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
