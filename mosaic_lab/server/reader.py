"""The process that reads run stores for Jupyter's server: ``python -m mosaic_lab.server.reader ROOT``.

It reads requests from its standard input and writes answers to its standard output
(`mosaic_lab.server.wire`). It ends with its input, and thus with the server, however the server ends.
Requests are answered on a few threads, so that a slow one does not delay the others. One thread per store
waits for its changes.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from msgspec import Meta

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper.files import confine
from mosaic_lab.overview.service import Params, Service, converted_params
from mosaic_lab.overview.stores import find_stores
from mosaic_lab.overview.watching import Changes, ChangeWatcher
from mosaic_lab.server.wire import PayloadKind, frame, payload

logger = logging.getLogger(__name__)

THREADS = 4
MAX_STORES = 50
"""Maximum number of open stores. Beyond it, the store opened first is closed; its next request reads it from
the beginning."""
NICENESS = 10

Request = Mapping[str, Any]


class FollowParams(Params):
    """The page's versions of the stores that it shows."""

    stores: Annotated[dict[str, Annotated[int, Meta(ge=0)]], Meta(min_length=1, max_length=MAX_STORES)]


class Reader:
    """Answers requests about the run stores below ``root`` on ``output``."""

    def __init__(self, root: Path, output: BinaryIO) -> None:
        self.root = root.resolve()
        self._output = output
        self._output_lock = threading.Lock()
        self._pool = ThreadPoolExecutor(THREADS, "mosaic-reader")
        self._stores: dict[Path | None, tuple[Service, ChangeWatcher]] = {}
        self._cancels: dict[int, Callable[[], object]] = {}
        self._lock = threading.Lock()  # guards both

    def submit(self, request: Request) -> None:
        """Queue a request, and return at once."""
        if "cancel" in request:
            self._pop_cancel(request["cancel"])()
            return
        number = request["id"]
        with self._lock:
            self._cancels[number] = self._pool.submit(self._answer, number, request).cancel

    def _answer(self, number: int, request: Request) -> None:
        try:
            if request["method"] == "stores":
                search = find_stores(self.root)
                self._reply(number, asdict(search) | {"root": str(self.root)}, [])
                return
            if request["method"] == "follow":
                self._follow(
                    number, converted_params("follow", request["params"], FollowParams), request["wait"]
                )
                return
            service, _ = self._store(request["store"])
            self._reply(number, *service.answer(request["method"], request["params"]))
        except MosaicError as error:
            self._write(number, PayloadKind.REFUSED, [_bytes(error)])
        except Exception as error:
            logger.exception("A request could not be answered.")
            self._write(number, PayloadKind.FAILED, [_bytes(f"{type(error).__name__}: {error}")])

    def _follow(self, number: int, params: FollowParams, seconds: float) -> None:
        """Answer with the first changes in any of these stores, or without changes after ``seconds``."""
        followed: dict[str, tuple[ChangeWatcher, int]] = {}
        refused = {}
        for path, version in params.stores.items():
            try:
                followed[path] = self._store(path)[1], version
            except MosaicError as error:
                refused[path] = str(error)
        if not followed:
            self._reply(number, {"stores": {}, "refused": refused}, [])
            return

        def send(path: str, changes: Changes) -> None:
            with self._lock:
                cancel = self._cancels.pop(number, None)
            if cancel is not None:  # otherwise another store was first, or the page has left
                cancel()
                self._reply(number, {"stores": {path: changes}, "refused": refused}, [])

        with self._lock:
            if number in self._cancels:
                cancels = [
                    watcher.poll(version, seconds, partial(send, path))
                    for path, (watcher, version) in followed.items()
                ]
                self._cancels[number] = lambda: [cancel() for cancel in cancels]

    def _pop_cancel(self, number: int) -> Callable[[], object]:
        with self._lock:
            return self._cancels.pop(number, lambda: None)

    def _store(self, path: str | None) -> tuple[Service, ChangeWatcher]:
        root = None if path is None else self._checked(path)
        with self._lock:
            if root not in self._stores:
                if len(self._stores) >= MAX_STORES:
                    del self._stores[next(iter(self._stores))]
                service = Service(root)
                self._stores[root] = service, ChangeWatcher(service)
            return self._stores[root]

    def _checked(self, path: str) -> Path:
        """Return the real path of a store. Raises ConfigurationError if it is not a folder below root."""
        try:
            store = Path(path).resolve()
            is_inside = Path(path).is_absolute() and store.is_relative_to(self.root)
            exists = is_inside and store.is_dir()
        except (OSError, ValueError, RuntimeError):
            is_inside = exists = False
        if not is_inside:
            raise ConfigurationError(
                f"{path!r:.300} is not below the folder that this Jupyter server serves, so it can be "
                "read only through a kernel: run mosaic_lab.Lab() on it in a notebook"
            )
        if not exists:
            raise ConfigurationError(f"there is no folder {path!r:.300} (any more)")
        return store

    def _reply(self, number: int, result: dict[str, Any], buffers: list[bytes]) -> None:
        self._write(number, *payload(result, buffers))

    def _write(self, number: int, kind: PayloadKind, parts: list[bytes]) -> None:
        self._pop_cancel(number)
        with self._output_lock, suppress(BrokenPipeError):  # the server has ended, and so will this process
            self._output.write(frame(number, kind, parts))
            self._output.flush()


def _bytes(text: object) -> bytes:
    return str(text).encode(errors="backslashreplace")


def main() -> None:
    """Answer requests until the input ends."""
    with suppress(OSError):
        os.nice(NICENESS)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the answers
    root = Path(sys.argv[1])
    confine(root)
    reader = Reader(root, output)
    for line in sys.stdin.buffer:
        reader.submit(json.loads(line))
    os._exit(0)  # exit without waiting for reads in progress, which no request needs


if __name__ == "__main__":
    main()
