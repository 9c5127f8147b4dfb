"""One thread per agent of a process: commands for one agent run in order, agents run in parallel.

For operators that mostly wait for an external service, such as a language model's endpoint. A command that
names no agent concerns all agents: it is executed after all earlier commands and before all later ones.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from typing import Any, Callable, Iterable, Optional, Tuple

from mosaic_contract.messages import ALONE

_MAX_WAITING = 256  # commands for one agent; beyond that no more are read
_MAX_ABANDONED = 16  # threads in abandoned calls; beyond that such calls are awaited

Command = dict[str, Any]
Perform = Callable[[Command], object]
Queued = Optional[Tuple[Command, threading.Barrier]]
"""A command, and the barrier where the threads that it concerns meet: the last one to arrive executes it."""

log = logging.getLogger("mosaic_contract")


class AgentThreads:
    """The threads of all agents. `perform` executes a command and answers it. Threads are daemons, so the
    process can exit without them."""

    def __init__(self, perform: Perform) -> None:
        self._perform = perform
        self._agents: dict[str, _AgentThread] = {}
        self._abandoned: list[_AgentThread] = []

    def put(self, command: Command) -> None:
        """Queue a command for the thread of its agent; execute it directly if it has none."""
        agent = command.get("player_id")
        if command.get("cmd") == "init_agent":
            agent = command.get("player_id", ALONE)
            if isinstance(agent, str) and agent not in self._agents:
                self._agents[agent] = _AgentThread(agent)
        if isinstance(agent, str) and agent in self._agents:
            threads = [self._agents[agent]]
        else:
            threads = list(self._agents.values()) if agent is None else []
        if not threads:
            self._perform(command)
            return

        def execute() -> None:
            self._perform(command)

        barrier = threading.Barrier(len(threads), execute)
        for thread in threads:
            thread.put((command, barrier))

    def abandon_calls(self, renew: Callable[[str], None]) -> None:
        """Give each agent that is in a call a new thread, after calling `renew` for it. The old thread ends
        with its call, during which `is_current` is false. Raises the first error of `renew`, after the last
        agent."""
        failures = []
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive()]
        for agent, thread in self._agents.items():
            if len(self._abandoned) < _MAX_ABANDONED and (waiting := thread.abandon()) is not None:
                self._abandoned.append(thread)
                try:
                    renew(agent)
                except Exception as error:
                    failures.append(error)
                self._agents[agent] = _AgentThread(agent, waiting)
        if failures:
            raise failures[0]

    def finish(self) -> None:
        """Wait until all queued commands have been executed, without a time limit."""
        for thread in self._agents.values():
            thread.put(None)
        for thread in self._agents.values():
            thread.join()

    def leave(self, seconds: float) -> list[str]:
        """Start no further commands; return the agents that are still executing one after `seconds`."""
        threads = [*self._agents.values(), *self._abandoned]
        for thread in threads:
            thread.leave()
        deadline = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return [thread.agent for thread in threads if thread.is_alive()]


def is_current() -> bool:
    """Return whether the current thread's answer is awaited; False in an abandoned call."""
    thread = threading.current_thread()
    return not (isinstance(thread, _AgentThread) and thread.leaving)


class _AgentThread(threading.Thread):
    def __init__(self, agent: str, waiting: Iterable[Queued] = ()) -> None:
        super().__init__(name=f"mosaic-agent-{agent}", daemon=True)
        self.agent = agent
        self.leaving = False
        self._waiting = deque(waiting)
        self._current: Queued = None
        self._changed = threading.Condition()
        self.start()

    def put(self, queued: Queued) -> None:
        """Queue a command; None ends the thread."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < _MAX_WAITING)
            self._waiting.append(queued)
            self._changed.notify_all()

    def leave(self) -> None:
        """Let the thread end after its current command."""
        with self._changed:
            self.leaving = True
            self._changed.notify_all()

    def abandon(self) -> list[Queued] | None:
        """Let the thread end after its call, and return the commands not started; None if it is in no
        call."""
        with self._changed:
            if self._current is None or self._current[0].get("cmd") != "select_action":
                return None
            self.leaving = True
            waiting = list(self._waiting)
            self._waiting.clear()
            return waiting

    def run(self) -> None:
        try:
            while (queued := self._next()) is not None:
                queued[1].wait()
        except BaseException:  # such as an operator's sys.exit, which would leave this agent without a thread
            log.exception("the thread of %s has ended: this process cannot continue", self.name)
            os._exit(1)

    def _next(self) -> Queued:
        with self._changed:
            self._current = None
            self._changed.wait_for(lambda: self._waiting or self.leaving)
            if self.leaving:
                return None
            self._current = self._waiting.popleft()
            self._changed.notify_all()
            return self._current
