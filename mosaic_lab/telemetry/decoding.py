"""Decode lines of telemetry into arrays. A second process decodes half of the lines of a large file."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from multiprocessing.connection import Connection

import numpy as np
from numpy.typing import NDArray

from mosaic_lab.keeper.events import METRICS
from mosaic_lab.telemetry.stream import Health, Message, parse_text

LARGE_BYTES = 32 << 20
"""Minimum unread bytes of a file that is decoded in two processes: a quarter of a second of work, as long as
the second one takes to start."""
IDLE_SECONDS = 60.0
"""Seconds without work after which the second process ends."""
ANSWER_SECONDS = 20  # for half a megabyte, a few milliseconds of work


@dataclass(slots=True)
class DecodedText:
    """The messages in several lines, as arrays with an element per message, or per metric value."""

    times: NDArray[np.float64]
    """The timestamp of each message, NaN if it has none."""
    is_row: NDArray[np.bool_]
    """Whether each message is a row of metrics."""
    steps: NDArray[np.float64]
    """The step of each row, NaN if it has none."""
    episodes: NDArray[np.int64]
    """The number of ended episodes that each row reports."""
    others: list[Message]
    """The messages that are not rows."""
    names: list[str]
    """The names of the metrics."""
    lengths: NDArray[np.intp]
    """The number of values in each row."""
    codes: NDArray[np.uint32]
    """The index in ``names`` of each value's metric."""
    values: NDArray[np.float64]
    """The values, row by row."""
    health: Health
    """The irregularities in these lines."""


def decode_text(text: bytes) -> DecodedText:
    """Decode complete lines."""
    health = Health()
    messages = parse_text(text, health)
    rows = [message.payload for message in messages if message.event == METRICS and message.payload]
    values = [row.values for row in rows if row.values is not None]
    is_row, others = np.ones(len(messages), np.bool_), []
    if len(rows) < len(messages):
        is_row = np.array([message.event == METRICS for message in messages])
        others = [message for message in messages if message.event != METRICS]
    code_of: defaultdict[str, int] = defaultdict(count().__next__)
    # Whole arrays take a quarter less time than a loop over the values.
    codes = np.fromiter(map(code_of.__getitem__, chain.from_iterable(values)), np.uint32)
    return DecodedText(
        times=np.array([message.timestamp for message in messages], np.float64),  # None becomes NaN
        is_row=is_row,
        steps=np.array([row.step for row in rows], np.float64),
        episodes=np.array([row.episode for row in rows], np.int64),
        others=others,
        names=list(code_of),
        lengths=np.fromiter(map(len, values), np.intp, len(values)),
        codes=codes,
        # NumPy parses the strings that represent NaN and infinities.
        values=np.fromiter(chain.from_iterable(map(dict.values, values)), np.float64, len(codes)),
        health=health,
    )


def decode_texts(texts: Sequence[bytes], unread: int) -> list[DecodedText]:
    """Decode the texts of a file of which ``unread`` more bytes are to be read. Thread-safe."""
    if unread < LARGE_BYTES or not _two_processes or not _second_process_free.acquire(blocking=False):
        return list(map(decode_text, texts))
    try:
        return _decode_in_two(texts)
    finally:
        _second_process_free.release()


class _SecondProcess:
    """A process that decodes texts. It ends with this process, and after a minute without texts."""

    def __init__(self) -> None:
        """Start it. Raises OSError."""
        ours, theirs = socket.socketpair()
        deadline = struct.pack("ll", ANSWER_SECONDS, 0)
        for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, limit, deadline)
        with theirs:
            descriptor = theirs.fileno()
            # Not with -m: what it sends must be of this module, not of __main__.
            program = f"from {__name__} import serve; serve({descriptor})"
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", program],
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # not interrupted with the kernel
            )
        self._connection = Connection(ours.detach())
        self._ready = False

    @property
    def ready(self) -> bool:
        """Whether it has imported its modules. Raises EOFError if it could not."""
        self._ready = self._ready or (self._connection.poll() and self._connection.recv() is None)
        return self._ready

    def send(self, texts: Sequence[bytes]) -> None:
        """Have texts decoded. Raises OSError if the process does not accept them."""
        self._connection.send(texts)

    def receive(self) -> list[DecodedText]:
        """Return the texts sent, decoded. Raises OSError or EOFError if the process has ended or is late."""
        decoded: list[DecodedText] = self._connection.recv()
        return decoded

    def end(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()


_two_processes = (os.cpu_count() or 1) > 1  # False from then on if the second one cannot be started
_second_process_free = threading.Lock()
_second_process: _SecondProcess | None = None


def _decode_in_two(texts: Sequence[bytes]) -> list[DecodedText]:
    """Decode texts, half of them in the second process, which is started by the first call."""
    global _second_process, _two_processes
    half, starting = len(texts) // 2, True
    try:
        second = _second_process = _second_process or _SecondProcess()
        if not second.ready:
            return list(map(decode_text, texts))
        starting = False
        second.send(texts[:half])
        own = list(map(decode_text, texts[half:]))
        return second.receive() + own
    except (OSError, EOFError):  # the next call starts another
        _two_processes = not starting
        _end_second_process()
        return list(map(decode_text, texts))
    except BaseException:  # an interrupt: the answer would be taken for the next one
        _end_second_process()
        raise


def _end_second_process() -> None:
    global _second_process
    if _second_process is not None:
        _second_process.end()
    _second_process = None


def _forget_second_process() -> None:
    """Leave it to the parent process after a fork."""
    global _second_process, _second_process_free
    _second_process, _second_process_free = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_second_process)


def serve(descriptor: int) -> None:
    """Decode the texts that arrive at a socket, in the second process, until none do for a while."""
    connection = Connection(descriptor)
    with suppress(EOFError, OSError):  # the other process has ended
        connection.send(None)
        while connection.poll(IDLE_SECONDS):
            connection.send(list(map(decode_text, connection.recv())))
