"""A script's stdout: lines in the workers' format become telemetry, all others are logged."""

from __future__ import annotations

import logging
import os
from dataclasses import fields
from typing import Any

from mosaic_contract import (
    BadLine,
    BadMessage,
    CheckpointSaved,
    Episode,
    Metrics,
    RunCompleted,
    RunFailed,
    Step,
    Telemetry,
    UnknownMessage,
    UpstreamFailed,
    decode_line,
    parse_message,
)

_STDERR = 2  # stderr
_MAX_COMPLAINTS = 20

log = logging.getLogger(__name__)


class ScriptOutput:
    """Reads a script's stdout. `failure` is the error it reported; `final_metrics` are its reported final
    metrics and the latest value of each other metric.

    `run_id`, `timestamp` and `ts_unix_ns` are optional; default: the run's id and the current time.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._complaints = 0
        self._latest: dict[str, Any] = {}
        self._final: dict[str, Any] = {}
        self.failure: UpstreamFailed | None = None

    @property
    def final_metrics(self) -> dict[str, Any]:
        return {**self._latest, **self._final}

    def process(self, line: bytes) -> None:
        """Process a line."""
        if not (line.lstrip().startswith(b"{") and self._is_message(line)):
            os.write(_STDERR, line + b"\n")

    def _is_message(self, line: bytes) -> bool:
        """Return whether a line is a message, and send it; damaged messages are logged with the reason."""
        try:
            document = decode_line(line)
            if "event" not in document and "type" not in document:
                return False
            self._send({"run_id": "", "timestamp": 0.0, **document})
        except UnknownMessage:
            return False
        except (BadLine, BadMessage) as error:
            self._complaints += 1
            if self._complaints <= _MAX_COMPLAINTS:
                log.warning("a line of the script cannot be used: %s", error)
            return False
        return True

    def _send(self, document: dict[str, Any]) -> None:
        telemetry, payload = self._telemetry, document.get("payload") or {}
        values = payload.get("values") if isinstance(payload, dict) else None
        if document.get("event") == Metrics.KIND and isinstance(values, dict):
            document["payload"] = {**payload, "values": telemetry.numbers(values)}
        message = parse_message(document)
        if isinstance(message, Metrics):
            self._latest.update(telemetry.metrics(message.step, message.values))
        elif isinstance(message, Episode):
            telemetry.episode(**_values(message, "run_id", "timestamp"))
        elif isinstance(message, Step):
            telemetry.step(**_values(message, "run_id", "ts_unix_ns", "messages"))
        elif type(message) is CheckpointSaved:
            telemetry.checkpoint_saved(
                message.checkpoint_path,
                episode=message.episode,
                step=message.step,
                metrics=message.metrics,
                format=message.format,
            )
        elif isinstance(message, RunCompleted):
            self._final = message.final_metrics
        elif isinstance(message, RunFailed):
            self.failure = UpstreamFailed(message.error, message.error_type or "Error", message.traceback)
        # The shim itself reports the run's start, heartbeat and cancellation.


def _values(message: Episode | Step, *left_out: str) -> dict[str, Any]:
    return {
        field.name: getattr(message, field.name) for field in fields(message) if field.name not in left_out
    }
