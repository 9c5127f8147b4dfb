"""Translate the lines of the platform's worker to telemetry; other lines go to the run's log."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract import BadLine, Telemetry, UpstreamFailed, decode_line

_SAVED = re.compile(rb"\[CHECKPOINT\] path=(.+?)(?: final=\w+)?\s*")
"""The line that several of the platform's workers print to stdout instead of a checkpoint message."""
_NOT_METRICS = {"episode", "step", "global_step", "memory_mb", "cpu_percent", "timestamp"}


class Translation:
    """Translates the lines of one training. `results` are its final metrics, `completed` whether it reported
    its end; `failure` is the worker's reason for a failed run, None without one."""

    def __init__(self, telemetry: Telemetry, run_dir: Path) -> None:
        self._telemetry = telemetry
        self._run_dir = run_dir
        self.results: dict[str, Any] = {}
        self.completed = False
        self.failure: UpstreamFailed | None = None

    def process(self, line: bytes) -> None:
        """Translate a line."""
        try:
            message = decode_line(line)
        except BadLine:
            message = {}
        name = message.get("event") or message.get("type")
        handler = getattr(self, f"_take_{name}", None) if isinstance(name, str) else None
        if saved := _SAVED.fullmatch(line):
            self._take_checkpoint_saved({"checkpoint_path": saved[1].decode("utf-8", "replace")})
        if handler is None:
            print(line.decode("utf-8", "replace"), file=sys.stderr, flush=True)
            return
        payload = message.get("payload")
        handler(payload if isinstance(payload, dict) else message)

    # The first and the last event of a run are written by `mosaic_contract.main`.

    def _take_run_started(self, payload: Mapping[str, Any]) -> None:
        """Ignore the worker's own first event."""

    def _take_run_completed(self, payload: Mapping[str, Any]) -> None:
        self.completed = True
        final = payload.get("final_metrics")
        self.results = _numbers({**payload, **(final if isinstance(final, dict) else {})})

    def _take_run_failed(self, payload: Mapping[str, Any]) -> None:
        error_type = str(payload.get("error_type", "RuntimeError"))
        self.failure = UpstreamFailed(str(payload.get("error", "the worker gives no reason")), error_type)

    def _take_run_cancelled(self, payload: Mapping[str, Any]) -> None:
        reason = payload.get("reason", "it gives no reason")
        self.failure = UpstreamFailed(f"the worker has cancelled the run: {reason}", "Cancelled")

    def _take_heartbeat(self, payload: Mapping[str, Any]) -> None:
        step = self._step(payload)
        self._telemetry.advance(step)
        self._telemetry.metrics(
            step, {name: value for name, value in payload.items() if name not in _NOT_METRICS}
        )

    def _take_metrics(self, payload: Mapping[str, Any]) -> None:
        values = payload.get("values")
        self._telemetry.metrics(self._step(payload), values if isinstance(values, dict) else {})

    def _take_checkpoint_saved(self, payload: Mapping[str, Any]) -> None:
        metrics = payload.get("metrics")
        self._telemetry.checkpoint_saved(
            self._path(payload),
            step=self._step(payload),
            metrics=self._telemetry.numbers(metrics if isinstance(metrics, dict) else {}),
            format=str(payload.get("format", "")),
        )

    def _take_checkpoint_loaded(self, payload: Mapping[str, Any]) -> None:
        episode = int(_numbers(payload).get("episode", 0))
        self._telemetry.checkpoint_loaded(self._path(payload), step=self._step(payload), episode=episode)

    def _take_episode(self, message: Mapping[str, Any]) -> None:
        numbers = _numbers(message)
        self._telemetry.episode(
            total_reward=numbers.get("total_reward", 0.0),
            steps=int(numbers.get("steps", 0)),
            terminated=message.get("terminated") is True,
            truncated=message.get("truncated") is True,
            step=self._step(message),
        )

    def _step(self, payload: Mapping[str, Any]) -> int:
        numbers = _numbers(payload)
        return int(numbers.get("step", numbers.get("global_step", self._telemetry.last_step)))

    def _path(self, payload: Mapping[str, Any]) -> Path:
        return self._run_dir / str(payload.get("checkpoint_path", ""))


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {
        str(name): value
        for name, value in values.items()
        if type(value) in (int, float) and math.isfinite(value)
    }
