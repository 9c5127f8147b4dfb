"""Threads for the agents of one process: the commands for one agent are done in order, those for several at
once.

For operators that spend their time waiting for something outside, a language model's endpoint say. What
names no agent concerns all of them: it is done when every agent has done what came before it, and none goes
on until then.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from contextlib import suppress
from typing import Any, Callable, Optional

from .messages import ALONE

_MOST_WAITING = 256  # commands for one agent; beyond that nothing more is read

Command = dict[str, Any]
Perform = Callable[[Command], object]

log = logging.getLogger("mosaic_contract")


class AgentThreads:
    """`perform` does a command and answers it. The threads are daemons: the process can end without them."""

    def __init__(self, perform: Perform) -> None:
        self._perform = perform
        self._agents: dict[str, _AgentThread] = {}

    def put(self, command: Command) -> None:
        """Have a command done, by the thread of its agent where it has one."""
        agent = command.get("player_id")
        if command.get("cmd") == "init_agent":
            agent = command.get("player_id", ALONE)
            if isinstance(agent, str) and agent not in self._agents:
                self._agents[agent] = _AgentThread(agent)
        if isinstance(agent, str) and agent in self._agents:
            concerned = [self._agents[agent]]
        elif agent is None:
            concerned = list(self._agents.values())
        else:
            concerned = []
        shared = _Shared(self._perform, command, len(concerned))
        for thread in concerned:
            thread.commands.put(shared)
        if not concerned:
            self._perform(command)

    def finish(self) -> None:
        """Wait until everything that was put is done, however long that takes."""
        for thread in self._agents.values():
            thread.commands.put(None)
        for thread in self._agents.values():
            thread.join()

    def leave(self, seconds: float) -> list[str]:
        """Begin no command any more; return the agents that are still busy with one after so many seconds."""
        for thread in self._agents.values():
            thread.leaving = True
            with suppress(queue.Full):  # else it is busy, and sees that it is to leave
                thread.commands.put_nowait(None)
        until = time.monotonic() + seconds
        for thread in self._agents.values():
            thread.join(max(0.0, until - time.monotonic()))
        return [agent for agent, thread in self._agents.items() if thread.is_alive()]


class _Shared:
    """A command that concerns several threads: the last that comes to it does it, the others wait."""

    def __init__(self, perform: Perform, command: Command, threads: int) -> None:
        self._perform = perform
        self._command = command
        self._missing = threads
        self._counting = threading.Lock()
        self._done = threading.Event()

    def meet(self) -> None:
        with self._counting:
            self._missing -= 1
            last = not self._missing
        if last:
            self._perform(self._command)
            self._done.set()
        else:
            self._done.wait()


class _AgentThread(threading.Thread):
    def __init__(self, agent: str) -> None:
        super().__init__(name=f"mosaic-agent-{agent}", daemon=True)
        self.commands: queue.Queue[Optional[_Shared]] = queue.Queue(_MOST_WAITING)
        self.leaving = False
        self.start()

    def run(self) -> None:
        try:
            while (shared := self.commands.get()) is not None and not self.leaving:
                shared.meet()
        except BaseException:  # an operator that calls sys.exit, say: nobody would answer for this agent
            log.exception("the thread of %s has ended: this process is of no further use", self.name)
            os._exit(1)
