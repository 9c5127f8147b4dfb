"""Run user-supplied operator code for an arena, one call at a time, in a thread.

Every method of `OperatorThread` returns at once; answers are sent through ``answer`` from the thread. User
code never runs in the kernel's main thread or the comparison's thread.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mosaic_contract import pack, unpack
from mosaic_contract.user_policy import Memory

from mosaic_lab.operators import PythonPolicy

_TEXT_LIMIT = 10_000  # characters of an action's text, its reasoning or an error
_LOOK_SECONDS = 0.1  # between checks whether a call waiting for another lane was withdrawn

Answer = Callable[[Mapping[str, Any]], None]


class OperatorThread:
    """A user-supplied operator in one lane; tracebacks are written to ``folder``."""

    def __init__(self, key: str, operator: PythonPolicy, folder: Path, answer: Answer) -> None:
        self._operator = operator
        self._log = folder / f"operator-{key}.log"
        self._answer = answer
        self._memory: Memory = {}
        self._lock = threading.Condition()
        self._jobs: deque[tuple[Any, Callable[[], None]]] = deque()  # with the request's id, or None
        self._running: Any = None
        self._closed = False
        threading.Thread(target=self._run, name="mosaic-operators", daemon=True).start()

    def request(self, message: Mapping[str, Any]) -> None:
        """Queue a request of the arena."""
        self._put(message["id"], lambda: self._select(message))

    def begin(self, seed: int, episode_index: int) -> None:
        """Begin an episode."""
        self._put(None, self._memory.clear)
        self._put(None, lambda: self._report(self._operator.episode_begin, (seed, episode_index)))

    def end(self, total_reward: float, steps: int) -> None:
        """End the episode."""
        self._put(None, lambda: self._report(self._operator.episode_end, (total_reward, steps)))

    def withdraw(self, request_id: Any) -> bool:
        """Drop a request. Return true if user code is processing it: the thread is then no longer usable."""
        with self._lock:
            if self._running == request_id:
                self._close()
                return True
            self._jobs = deque(job for job in self._jobs if job[0] != request_id)
            return False

    def close(self) -> None:
        """Drop all requests and end the thread."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        self._closed = True
        self._jobs = deque(job for job in self._jobs if job[0] is None)
        self._lock.notify()

    def _put(self, request_id: Any, job: Callable[[], None]) -> None:
        with self._lock:
            self._jobs.append((request_id, job))
            self._lock.notify()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._running = None
                while not self._jobs and not self._closed:
                    self._lock.wait()
                if not self._jobs:
                    return
                self._running, job = self._jobs.popleft()
            job()

    def _select(self, message: Mapping[str, Any]) -> None:
        with self._turn() as has_it:
            if has_it:
                self._answer({"cmd": "answer", "id": message["id"], **self._decide(message)})

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """Wait until no other lane calls the operator. Yield false if this thread is closed first."""
        lock = self._operator.turn
        while not lock.acquire(timeout=_LOOK_SECONDS):
            if self._closed:
                yield False
                return
        try:
            yield True
        finally:
            lock.release()

    def _decide(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            context = {
                "agent": message["agent"],
                "action_mask": unpack(message.get("action_mask")),
                "info": unpack(message.get("info") or {}),
                "step_index": message.get("step_index"),
            }
            observation = unpack(message["observation"])
            return _decision(self._operator.select_action(observation, self._memory, **context))
        except BaseException as error:  # user code may raise SystemExit and KeyboardInterrupt too
            return {"error": self._note(error)}

    def _report(self, method: Callable[..., None], values: tuple[Any, ...]) -> None:
        with self._turn() as has_it:
            try:
                if has_it:
                    method(*values)
            except BaseException as error:
                self._note(error)

    def _note(self, error: BaseException) -> str:
        """Append the traceback to the operator's log; return the error as one line."""
        with suppress(OSError), self._log.open("a", encoding="utf-8") as log:
            log.write("".join(traceback.format_exception(error)))
        place = traceback.extract_tb(error.__traceback__)[-1:]
        where = f" (line {place[0].lineno} of {place[0].name})" if place else ""
        return f"{type(error).__name__}: {error}{where}"[:_TEXT_LIMIT]


def _decision(answer: Any) -> dict[str, Any]:
    """Return the fields of an answer: a bare action, or an object with an action, text and reasoning."""
    if not hasattr(answer, "action"):
        return {"action": pack(answer)}
    text, reasoning = getattr(answer, "action_str", ""), getattr(answer, "reasoning", "")
    return {
        "action": pack(answer.action),
        "action_str": str(text or "")[:_TEXT_LIMIT],
        "reasoning": str(reasoning or "")[:_TEXT_LIMIT],
    }
