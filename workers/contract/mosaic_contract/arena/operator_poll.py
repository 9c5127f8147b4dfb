"""Waiting for an arena's operators: their answers, space in their pipes, and commands of the kernel."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Any, Mapping

from mosaic_contract.arena.channels import KernelChannel
from mosaic_contract.arena.process_operator import ProcessOperator
from mosaic_contract.priority import stretched

START_SECONDS = 120.0
"""Time for operators to answer "hello" and make their agents, which may import a large library. See
`start_seconds`."""


def start_seconds() -> float:
    """Return how long operators may take to start, given the priority of arena and operators."""
    return stretched(START_SECONDS)


class OperatorPoll:
    """A poll of the kernel and all operator processes. `idle` is called while waiting and returns the seconds
    until its next call (None: never); `answer` handles an answer of the kernel."""

    def __init__(
        self,
        kernel: KernelChannel,
        idle: Callable[[], float | None],
        answer: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._kernel = kernel
        self._idle = idle
        self._answer = answer
        self._poll = select.poll()
        self._readers: dict[int, ProcessOperator] = {}
        self._writers: dict[int, ProcessOperator] = {}
        self._poll.register(kernel.descriptor, select.POLLIN)

    def add(self, process: ProcessOperator) -> None:
        """Wait for this process too."""
        self._readers[process.incoming.descriptor] = process
        self._poll.register(process.incoming.descriptor, select.POLLIN)

    def wait(self, until: float) -> None:
        """Wait for an event until the time `until` (`time.perf_counter`) and handle it. Raises `Abandoned` if
        the kernel sends another command, and `ArenaError`."""
        again = self._idle()
        seconds = until - time.perf_counter()
        if again is not None:
            seconds = min(seconds, again)
        for descriptor, _ in self._poll.poll(max(0.0, 1e3 * seconds)):
            process = self._readers.get(descriptor)
            if process is not None:
                try:
                    process.pump()
                finally:
                    if process.incoming.ended:
                        self.remove(process)
            elif descriptor == self._kernel.descriptor:
                for message in self._kernel.read_while_waiting():
                    self._answer(message)
            elif descriptor in self._writers:
                self._writers[descriptor].outgoing.push()

    def watch_writable(self) -> None:
        """Watch the stdin of processes with unsent data."""
        for process in self._readers.values():
            descriptor = process.outgoing.descriptor
            if bool(process.outgoing.waiting) is (descriptor in self._writers):
                continue
            if process.outgoing.waiting:
                self._writers[descriptor] = process
                self._poll.register(descriptor, select.POLLOUT)
            else:
                del self._writers[descriptor]
                self._poll.unregister(descriptor)

    def remove(self, process: ProcessOperator) -> None:
        """Stop waiting for this process."""
        for table, descriptor in (
            (self._readers, process.incoming.descriptor),
            (self._writers, process.outgoing.descriptor),
        ):
            if table.pop(descriptor, None) is not None:
                self._poll.unregister(descriptor)

    def answers(
        self, expected: Mapping[ProcessOperator, int], until: float
    ) -> dict[ProcessOperator, list[Mapping[str, Any]]]:
        """Wait until the given time for a number of answers from each process. Raises `ArenaError`."""
        while any(len(process.answers) < count for process, count in expected.items()):
            if time.perf_counter() > until:
                late = next(process for process, count in expected.items() if len(process.answers) < count)
                raise late.error(f"gave no answer within {start_seconds():.0f} s", "late")
            self.watch_writable()
            self.wait(until)
        taken = {process: process.answers for process in expected}
        for process in expected:
            process.answers = []
        return taken
