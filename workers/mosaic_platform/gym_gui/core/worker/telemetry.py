"""Lifecycle events: JSON lines on stdout, which `mosaic_platform.translation` reads."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import asdict, dataclass
from enum import Enum
from logging import Logger
from typing import Any, Mapping, Optional, TextIO

from gym_gui.logging_config.helpers import log_constant


class LifecycleEventType(str, Enum):
    """The names of the events."""

    RUN_STARTED = "run_started"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"
    RUN_CANCELLED = "run_cancelled"
    HEARTBEAT = "heartbeat"
    CHECKPOINT_SAVED = "checkpoint_saved"
    CHECKPOINT_LOADED = "checkpoint_loaded"


@dataclass(frozen=True)
class LifecycleEvent:
    """One line: what happened, in which run, when (Unix seconds), and its details."""

    event: str
    run_id: str
    timestamp: float
    payload: dict[str, Any]


class TelemetryEmitter:
    """Writes the events of one run, from any thread, to `sink` (stdout by default).

    Each method also logs its `constant`, if given, to `logger`.
    """

    def __init__(
        self, run_id: str, *, sink: Optional[TextIO] = None, logger: Optional[Logger] = None
    ) -> None:
        self._run_id = run_id
        self._sink = sink or sys.stdout
        self._logger = logger
        self._lock = threading.Lock()

    def run_started(self, payload: Mapping[str, Any], *, constant: Any = None) -> None:
        self._emit(LifecycleEventType.RUN_STARTED, payload, constant)

    def run_completed(self, payload: Mapping[str, Any], *, constant: Any = None) -> None:
        self._emit(LifecycleEventType.RUN_COMPLETED, payload, constant)

    def run_failed(
        self, payload: Mapping[str, Any], *, constant: Any = None, exc_info: Optional[BaseException] = None
    ) -> None:
        self._emit(LifecycleEventType.RUN_FAILED, payload, constant, exc_info)

    def run_cancelled(self, payload: Mapping[str, Any], *, constant: Any = None) -> None:
        self._emit(LifecycleEventType.RUN_CANCELLED, payload, constant)

    def heartbeat(self, payload: Optional[Mapping[str, Any]] = None, *, constant: Any = None) -> None:
        self._emit(LifecycleEventType.HEARTBEAT, payload or {}, constant)

    def checkpoint_saved(self, payload: Mapping[str, Any], *, constant: Any = None) -> None:
        self._emit(LifecycleEventType.CHECKPOINT_SAVED, payload, constant)

    def checkpoint_loaded(self, payload: Mapping[str, Any], *, constant: Any = None) -> None:
        self._emit(LifecycleEventType.CHECKPOINT_LOADED, payload, constant)

    def _emit(
        self,
        kind: LifecycleEventType,
        payload: Mapping[str, Any],
        constant: Any,
        exc_info: Optional[BaseException] = None,
    ) -> None:
        event = LifecycleEvent(kind.value, self._run_id, time.time(), dict(payload))
        line = json.dumps(asdict(event), default=str)
        with self._lock:
            print(line, file=self._sink, flush=True)
        if constant is not None and self._logger is not None:
            log_constant(self._logger, constant, extra=payload, exc_info=exc_info)
