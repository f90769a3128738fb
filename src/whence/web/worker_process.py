"""One worker process as the server sees it: the line to it, and whether it still answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from whence.web.messages import Learnt, Ping, Pong, Ready, header_size, length, packed

#: Most seconds until a worker is ready: others wait meanwhile to be started.
START = 300.0
#: Seconds between two probes, probes without any sign of life after which a worker counts as silent, and after which
#: it is replaced.
PROBE, SILENT_AFTER, STUCK_AFTER = 1.0, 2, 5


async def own_process(
    module: str, *arguments: str, variables: Mapping[str, str] = MappingProxyType({}), **options: Any
) -> asyncio.subprocess.Process:
    """A module of ours run in a process of its own, whose output comes here.

    It finds the modules that the server finds, and none that only happens to lie in the folder it is started in.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}
    command = (sys.executable, "-P", "-m", module, *arguments)
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environment, **options)


class WorkerProcess:
    """A process that answers questions, or has stopped to."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._to, self._from = process, process.stdin, process.stdout
        self.pid = process.pid
        self.ended = asyncio.create_task(process.wait())
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read())
        #: Which scenes it has, and what it was told that others have learnt about them.
        self.version = 0
        self.knows: dict[str, Learnt] = {}
        self._answered = True
        self._spent = 0.0
        #: Probes in a row without an answer, and without any work that the system knows of.
        self.silent = 0

    @classmethod
    async def start(cls, scenes: bytes, version: int = 0, gently: bool = False) -> WorkerProcess:
        """A process that has loaded the scenes; an EOFError or OSError, as a TimeoutError is, if it could not."""
        process = await own_process(
            "whence.web.worker",
            *(["--gently"] if gently else []),
            variables={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            stdin=asyncio.subprocess.PIPE,
            # In a session of its own: Ctrl-C in the server's terminal is the server's business.
            start_new_session=True,
        )
        worker = cls(process)
        worker.version = version
        try:
            worker.send(scenes)
            if not isinstance(await asyncio.wait_for(worker.receive(), START), Ready):
                raise EOFError("The worker did not start.")
        except BaseException:
            await worker.end()
            raise
        return worker

    def send(self, message: Any) -> None:
        """Send a message; whether it arrives is seen from what comes back."""
        self._to.write(packed(message))

    async def receive(self) -> Any:
        """The next message other than an answer to a probe; an EOFError where the worker is gone."""
        message = await self._inbox.get()
        if message is None:
            self._inbox.put_nowait(None)
            raise EOFError("The worker is gone.")
        return message

    async def _read(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await self._from.readexactly(header_size)
                message = pickle.loads(await self._from.readexactly(length(header)))
                if isinstance(message, Pong):
                    self._answered = True
                else:
                    self._inbox.put_nowait(message)
        self._inbox.put_nowait(None)

    def probe(self) -> None:
        """Look for a sign of life since the last probe, and ask for the next.

        A search may keep the interpreter to itself for longer than a probe: work that the system knows of counts too.
        """
        spent = _processor_seconds(self.pid)
        self.silent = 0 if self._answered or spent != self._spent else self.silent + 1
        self._answered, self._spent = False, spent
        self.send(Ping())

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def end(self) -> None:
        """End the process, and wait until it is gone."""
        self.kill()
        self._to.close()
        await self.ended
        self._reading.cancel()


def _processor_seconds(pid: int) -> float:
    """Processor time of a process so far, in the system's own unit; 0 where the system does not tell."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return float(told[11]) + float(told[12])
