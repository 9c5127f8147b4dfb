"""The arena's channel to the kernel: commands and answers come in on one descriptor, messages go out on
another."""

from __future__ import annotations

import select
import threading
from collections import deque
from typing import Any, Mapping

from mosaic_contract.arena.errors import Abandoned, KernelGone
from mosaic_contract.arena.line_channel import Incoming, post
from mosaic_contract.codec import decode_line
from mosaic_contract.errors import BadLine

_ABANDONING = ("reset", "close")


class KernelChannel:
    """Commands and messages of the kernel; commands come out in the order in which they came."""

    def __init__(self, commands: int, messages: int) -> None:
        self.descriptor = commands
        self._messages = messages
        self._sending = threading.Lock()
        self._incoming = Incoming(commands)
        self._commands: deque[Mapping[str, Any]] = deque()
        self._poll = select.poll()
        self._poll.register(commands, select.POLLIN)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message, from any thread. Raises `KernelGone`."""
        with self._sending:
            post(self._messages, message)

    def command(self, seconds: float | None) -> Mapping[str, Any] | None:
        """Return the next command; None where none comes within so many seconds (None: however long it
        takes). Raises `KernelGone` at the end of the stream."""
        if not self._commands and (seconds is None or self._poll.poll(1e3 * seconds)):
            self._read()
        return self._commands.popleft() if self._commands else None

    def read_while_waiting(self) -> list[Mapping[str, Any]]:
        """Return the answers among what has come. Raises `Abandoned` where a command ends the waiting."""
        self._read()
        answers = [command for command in self._commands if command.get("cmd") == "answer"]
        if answers:
            others = [command for command in self._commands if command.get("cmd") != "answer"]
            self._commands = deque(others)
        self.check()
        return answers

    def check(self) -> None:
        """Raises `Abandoned` where a command that ends all waiting has come already."""
        if self._commands and any(command.get("cmd") in _ABANDONING for command in self._commands):
            raise Abandoned

    def _read(self) -> None:
        for line in self._incoming.lines():
            try:
                self._commands.append(decode_line(line))
            except BadLine as error:
                self._commands.append({"cmd": f"a line that is {error.reason}"})
        if self._incoming.ended:
            raise KernelGone("the end of the commands")
