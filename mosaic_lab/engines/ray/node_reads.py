"""Shared reads of several runs on one node through a single actor there, because a call's overhead in Ray
exceeds the bridge's own work on the answer."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ray.exceptions import RayError

from mosaic_lab.engines.engine import Increment, Known
from mosaic_lab.engines.job import Job

_SEVERAL = 4  # runs on a node that justify a process there
_PACE = 0.1  # seconds between calls
_WAIT = 0.5  # seconds that a call waits for changes; a run that is read again meanwhile is in the next call
_ANSWER = 30.0  # seconds for a living actor to answer
Key = tuple[str, int]


class NodeReads:
    """The reads of runs on one node. ``start`` starts the actor that answers them, a `NodeReader`; ``heard``
    is called for each answer.

    If the actor fails, it is not used again, because each run can also be read through its own actor.
    """

    def __init__(self, start: Callable[[], Any], heard: Callable[[], None]) -> None:
        self._start = start
        self._heard = heard
        self._runs: set[str] = set()
        self._actor: Any = None
        self._starting: asyncio.Task[None] | None = None
        self._calling: asyncio.Task[None] | None = None
        self._waiting: dict[Key, tuple[Known, asyncio.Future[Increment]]] = {}

    def leave(self, run_id: str) -> None:
        """Stop counting a run."""
        self._runs.discard(run_id)

    async def read(self, job: Job, known: Known, seconds: float) -> Increment | None:
        """Return the changes of a running job, waiting up to ``seconds`` for them.

        None if its own actor must be read instead: there are too few runs on the node, or the shared actor is
        not ready or has failed.
        """
        self._runs.add(job.run_id)
        if self._starting is None and len(self._runs) >= _SEVERAL:
            self._starting = asyncio.create_task(self._begin())
        if self._actor is None:
            return None
        answer: asyncio.Future[Increment] = asyncio.get_running_loop().create_future()
        self._waiting[job.run_id, job.attempt] = known, answer
        if self._calling is None:
            self._calling = asyncio.create_task(self._call())
        await asyncio.wait({answer}, timeout=seconds)
        if answer.done():
            return None if answer.cancelled() else answer.result()
        del self._waiting[job.run_id, job.attempt]
        return Increment(known.status or {})

    async def _begin(self) -> None:
        with suppress(RayError, TimeoutError):
            actor = await asyncio.to_thread(self._start)
            await asyncio.wait_for(answered(actor.ready), _ANSWER)
            self._actor = actor

    async def _call(self) -> None:
        """Call until no read is waiting."""
        try:
            while self._waiting:
                requested = {key: known for key, (known, _) in self._waiting.items()}
                call = answered(self._actor.read, pickle.dumps(requested), _WAIT)
                increments = pickle.loads(await asyncio.wait_for(call, _WAIT + _ANSWER))
                self._heard()
                for key, increment in increments.items():
                    if key in self._waiting:
                        self._waiting.pop(key)[1].set_result(increment)
                await asyncio.sleep(_PACE)
        except Exception:  # the runs' own actors will report the cause
            self._actor = None
            for _, answer in self._waiting.values():
                answer.cancel()
            self._waiting.clear()
        finally:
            self._calling = None


def answered(method: Any, *arguments: Any) -> asyncio.Future[Any]:
    """Call a method of an actor. Return its answer as a future of the running event loop."""
    try:
        answer = asyncio.wrap_future(method.remote(*arguments).future())
    except ConnectionError:
        os._exit(1)
    answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may not be awaited
    return answer
