"""A limit on concurrent calls over processes and threads, by locked files."""

from __future__ import annotations

import fcntl
import os
import random
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from mosaic_contract.errors import EndpointFailed

_POLL_SECONDS = 0.02
_LONGEST_WAIT = 3_600.0  # seconds


class CallLimit:
    """At most `number` calls at a time. A process that dies frees its places."""

    def __init__(self, folder: Path, name: str, number: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._paths = [folder / f"{name}.{index}" for index in range(number)]

    @contextmanager
    def acquired(self) -> Iterator[None]:
        """Wait for a free place and hold it. Raises `EndpointFailed` after an hour."""
        deadline = time.monotonic() + _LONGEST_WAIT
        while (file := self._try()) is None:
            if time.monotonic() > deadline:
                raise EndpointFailed(f"none of {len(self._paths)} calls at once has ended for an hour")
            time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            os.close(file)

    def _try(self) -> int | None:
        start = random.Random().randrange(len(self._paths))  # not from the generator that users seed
        for path in (*self._paths[start:], *self._paths[:start]):
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                continue
            return file
        return None
