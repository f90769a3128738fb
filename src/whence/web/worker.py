"""The process that searches: one question at a time, from standard input to standard output.

Run as ``python -m whence.web.worker`` by the server. It ends when the server does, whatever that died of: its input
then ends too.
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
import zlib
from typing import IO, Any

import msgspec

from whence.errors import WhenceError
from whence.explain.explanation import Explanation
from whence.question import Progress
from whence.web import models
from whence.web.messages import Answered, Asked, Cancel, Failed, FoundNearest, Ready, packed, receive
from whence.web.scenes import Scene

#: Least seconds between two reports of progress.
PULSE = 0.1
#: What of the past observations the page draws.
DRAWN = ("gaining", "losing")
#: Reports inside a report.
INSIDE = ("unrestricted", "nearest")
#: Seconds to find out where else an answer stays true.
RULE = 2.0

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
        told, stopped = 0.0, False

        def on_progress(progress: Progress) -> bool:
            nonlocal told, stopped
            now = time.monotonic()
            if now - told >= PULSE:
                told = now
                self._send(progress)
            stopped = asked.number in self._cancelled
            return not stopped

        try:
            scene = self._scenes[asked.scene]
            explanation = scene.policy.explain(
                scene.row_of(asked.context),
                scene.instead_of(asked.plan, asked.instead),
                kind=asked.kind,
                within=asked.within,
                fixed=asked.fixed,
                bounds=scene.bounds_of(asked.bounds),
                engine=scene.engine,
                time_limit=asked.time_limit,
                threads=asked.threads,
                on_progress=on_progress,
                on_nearest=lambda found: self._send(FoundNearest(_result(scene, found))),
                **asked.conditions,
            )
            # Without all of its refits an answer is not what was asked for, however exact it is.
            cut = explanation.status == "interrupted" or (stopped and explanation.reliance is not None)
            if asked.rule and not stopped:
                explanation = explanation.with_rule(min(RULE, asked.time_limit), nearest=True)
            return _answered(scene, explanation, cut)
        except WhenceError as error:
            return Failed(str(error))
        except Exception as error:  # a problem of the user's own may fail in any way
            log.exception("An explanation failed.")
            return Failed(f"The explanation failed: {type(error).__name__}: {error}")


def _answered(scene: Scene, explanation: Explanation, stopped: bool) -> Answered:
    near = explanation.nearest
    return Answered(
        stopped=stopped,
        result=_result(scene, explanation),
        data=zlib.compress(msgspec.json.encode(explanation.to_dict())),
        nearest=None if near is None else _result(scene, near),
    )


def _result(scene: Scene, explanation: Explanation) -> bytes:
    """An answer for the page."""
    report = explanation.to_dict()
    result = models.Result(explanation=_short(report), sentence=report["text"], then=_then(scene, explanation))
    return zlib.compress(result.model_dump_json().encode())


def _short(report: dict[str, Any]) -> dict[str, Any]:
    """A report without its numbers for every past observation, and those inside it as well."""
    inner = {name: None if report.get(name) is None else _short(report[name]) for name in INSIDE}
    short = {**report, "observations": {name: report["observations"][name] for name in DRAWN}, **inner}
    if "forecast" in short:
        short["forecast"] = {name: short["forecast"].get(name) for name in ("before", "after")}
    return short


def _then(scene: Scene, explanation: Explanation) -> models.Then | None:
    if explanation.context is None or explanation.weights_after is None:
        return None
    told, after = explanation.forecast, explanation.weights_after
    return models.Then(
        **dict(scene.decided(explanation.context)),
        context=scene.context_of(explanation.context),
        decision=scene.judged(explanation.decision, after, None if told is None else told.decision_after),
        alternative=scene.judged(explanation.alternative, after, None if told is None else told.alternative_after),
    )


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
