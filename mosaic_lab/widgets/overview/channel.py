"""A page's channel to a run store through this kernel: a comm opened by the page with ``{"store": path}``.

The page sends ``{"id", "method", "params"}``. The kernel confirms receipt at once with ``{"id", "taken":
true}``, which distinguishes a slow answer from an unresponsive kernel. It then sends ``{"id", "result"}``
with the binary parts as buffers, or ``{"id", "error": sentence}``. ``subscribe`` with ``{"version"}`` is
answered by ``{"changes": …}`` with each change from then on, as long as the page sends any message (such as
``beat``) at least every `SILENT_SECONDS`; ``unsubscribe`` ends it. ``{"progress": …}`` reports the progress
of an installation.

Links in a store are followed to any location, unlike by Jupyter's server (`mosaic_lab.keeper.files.confine`):
a page that can open a channel can run code in this kernel.

Messages are handled on a subshell, so that a running cell does not delay them, and answered on other threads.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from comm.base_comm import BaseComm

from mosaic_lab.errors import MosaicError
from mosaic_lab.overview.service import METHODS, Answer, Service
from mosaic_lab.overview.watching import ChangeWatcher
from mosaic_lab.widgets.notebook_display import NotebookDisplay
from mosaic_lab.widgets.overview import STORES
from mosaic_lab.widgets.overview.actions import ACTIONS, Report, RunActions
from mosaic_lab.widgets.page.kernel import on_message, publish_no_status, stay_on_subshell

logger = logging.getLogger(__name__)

SILENT_SECONDS = 90.0
"""A page that has been silent for this long is gone or hidden. It subscribes again when it returns."""
THREADS = 3


class StoreAnswers:
    """Answers shared by all channels to one store."""

    def __init__(self, root: Path) -> None:
        self.service = Service(root)
        self.watcher = ChangeWatcher(self.service)
        self.actions = RunActions(root, self.service, NotebookDisplay())

    def answer(self, method: str, params: object, report: Report) -> Answer:
        """Return the answer of a method or an action. Raises MosaicError."""
        if method in ACTIONS:
            return self.actions.act(method, params, report), []
        return self.service.answer(method, params)


class Channel:
    """One page's channel."""

    def __init__(self, comm: BaseComm, answers: StoreAnswers) -> None:
        self._comm = comm
        self._answers = answers
        self._heard_at = time.monotonic()
        self._unsubscribe: Callable[[], None] | None = None
        self._lock = threading.Lock()
        stay_on_subshell(comm)
        publish_no_status(comm)
        on_message(comm, self._on_page_message)
        comm.on_close(lambda message: self._subscribe(None))

    def _on_page_message(self, message: Mapping[str, Any]) -> None:
        self._heard_at = time.monotonic()
        data = message["content"]["data"]
        number, method, params = data.get("id"), data.get("method"), data.get("params", {})
        if method == "subscribe":
            self._subscribe(params.get("version"))
        elif method == "unsubscribe":
            self._subscribe(None)
        if number is None:
            return
        self._comm.send({"id": number, "taken": True})
        if method in METHODS:
            _readers().submit(self._answer, number, method, params)
        elif method in ACTIONS:
            # An action may take minutes. Unlike a pool's thread, its own thread delays neither reads nor the
            # kernel's exit.
            arguments = (number, method, params)
            threading.Thread(target=self._answer, args=arguments, name="mosaic-action", daemon=True).start()
        elif method not in ("subscribe", "unsubscribe", "beat"):
            self._comm.send(
                {"id": number, "error": f"this kernel's mosaic-lab knows no {method!r:.100}: update it"}
            )

    def _answer(self, number: object, method: str, params: object) -> None:
        try:
            result, buffers = self._answers.answer(
                method, params, lambda progress: self._comm.send({"progress": progress})
            )
        except MosaicError as error:
            self._comm.send({"id": number, "error": str(error)})
        except Exception as error:
            logger.exception("A request of the page failed.")
            self._comm.send({"id": number, "error": f"{type(error).__name__}: {error}"})
        else:
            self._comm.send({"id": number, "result": result}, buffers=buffers)

    def _subscribe(self, version: object) -> None:
        """From now on, send the changes since ``version``; only end the subscription if it is not a
        version."""
        with self._lock:
            if self._unsubscribe is not None:
                self._unsubscribe()
            self._unsubscribe = None
            if isinstance(version, int):
                self._unsubscribe = self._answers.watcher.subscribe(version, self._push, self._page_is_alive)

    def _push(self, changes: dict[str, Any]) -> None:
        self._comm.send({"changes": changes})

    def _page_is_alive(self) -> bool:
        """Return whether the page has sent a message recently; close its channel otherwise."""
        if time.monotonic() - self._heard_at <= SILENT_SECONDS:
            return True
        self._comm.close()
        return False


def open_channel(comm: BaseComm, message: Mapping[str, Any]) -> None:
    """Answer on a comm opened by a page; close it if the store is not one of this kernel's."""
    store = message["content"]["data"].get("store")
    if store in STORES:
        Channel(comm, _answers(STORES[store]))
    else:
        comm.close()


@cache
def _answers(root: Path) -> StoreAnswers:
    return StoreAnswers(root)


@cache
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "mosaic-overview")
