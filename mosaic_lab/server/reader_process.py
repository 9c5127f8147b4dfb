"""The server's handle of the process that reads run stores."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_lab.server.wire import HEADER, PayloadKind

DEADLINE = 60.0
"""Time limit for an answer in seconds, in addition to the requested wait."""
IDLE_SECONDS = 600.0
"""The process ends after this long without a request, and starts again with the next one."""
_TRIES = 2
_MAX_BUFFERED = 4 << 20

Payload = tuple[PayloadKind, bytes]


class ReaderEnded(Exception):
    """The process ended, or could not be started, before it answered."""


class ReaderProcess:
    """One process for all requests. It is started by the first request, and again by the next one after it
    has ended."""

    def __init__(self, root: Path, log: logging.Logger) -> None:
        self._root = root
        self._log = log
        self._numbers = itertools.count(1)
        self._running: _Running | None = None
        self._starting = asyncio.Lock()

    async def request(
        self, method: str, store: str | None, params: Mapping[str, Any], wait: float
    ) -> Payload:
        """Return the answer to a request. Cancelling the call cancels the request.

        Raises ReaderEnded, and TimeoutError if there is no answer within `DEADLINE`.
        """
        request = {"method": method, "store": store, "params": params, "wait": wait}
        for remaining in reversed(range(_TRIES)):
            running = await self._process()
            try:
                return await running.request(next(self._numbers) % (1 << 32), request, wait + DEADLINE)
            except ReaderEnded as error:  # reads are safe to repeat
                if not remaining:
                    raise
                self._log.warning(f"mosaic_lab.server: {error}; it is started again")
        raise AssertionError

    async def _process(self) -> _Running:
        async with self._starting:
            if self._running is None or self._running.ended:
                self._running = await _start(self._root)
            return self._running


async def _start(root: Path) -> _Running:
    command = [sys.executable, "-P", "-m", "mosaic_lab.server.reader", str(root)]
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_MAX_BUFFERED
        )
    except OSError as error:
        raise ReaderEnded(f"the process that reads run stores cannot be started: {error}") from error
    return _Running(process)


class _Running:
    """A started process and its pending requests."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._answers: dict[int, asyncio.Future[Payload]] = {}
        self._idle: asyncio.TimerHandle | None = None
        self._receiving = asyncio.create_task(self._receive())

    @property
    def ended(self) -> bool:
        return self._receiving.done()

    async def request(self, number: int, request: Mapping[str, Any], deadline: float) -> Payload:
        if self.ended:
            raise ReaderEnded("the process that reads run stores has ended")
        self._cancel_idle()
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"id": number, **request})
            return await asyncio.wait_for(answer, deadline)
        except (TimeoutError, asyncio.CancelledError):
            self._send({"cancel": number})
            raise
        finally:
            del self._answers[number]
            if not self._answers:
                self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._close)

    def _send(self, request: Mapping[str, Any]) -> None:
        if self._process.stdin is not None and not self.ended:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")

    def _cancel_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()

    def _close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def _receive(self) -> None:
        output = self._process.stdout
        assert output is not None
        try:
            while True:
                number, kind, length = HEADER.unpack(await output.readexactly(HEADER.size))
                content = await output.readexactly(length)
                answer = self._answers.get(number)
                if answer is not None and not answer.done():
                    answer.set_result((PayloadKind(kind), content))
        except asyncio.IncompleteReadError:
            code = await self._process.wait()
        self._cancel_idle()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(
                    ReaderEnded(
                        f"the process that reads run stores ended (exit code {code}) before it answered"
                    )
                )
