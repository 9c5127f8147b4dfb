"""Metrics that the platform's worker writes for TensorBoard, followed while it trains.

A thread looks for files below the run's folder once a second, with TensorBoard's own reader, where that is
installed.
"""

from __future__ import annotations

import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Iterator

from mosaic_contract import Telemetry
from mosaic_contract.episode_logger import with_losses

_SECONDS = 1.0  # between two polls
_COMMON = {  # MOSAIC Lab's names, by the endings of libraries' tags
    "episode_return": [
        "*/episodic_return",
        "*/episode_reward",
        "*/episode_return",
        "Train-Episode-Rewards/*",
    ],
    "episode_length": ["*/episodic_length", "*/episode_length", "Episode-Steps/*"],
    "steps_per_second": ["*/SPS", "*/steps_per_second"],
    "policy_loss": ["*/policy_loss", "*/actor_loss", "actor_loss"],
    "value_loss": ["*/value_loss", "*/critic_loss", "critic_loss"],
}


class EventFileWatcher:
    """Context manager: sends the scalars in event files below `folder` as metrics, the last ones on exit."""

    def __init__(self, telemetry: Telemetry, folder: Path) -> None:
        self._telemetry = telemetry
        self._folder = folder
        self._readers: dict[Path, Any] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> EventFileWatcher:
        if find_spec("tensorboard") is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _follow(self) -> None:
        while not self._ended.wait(_SECONDS):
            self._read()
        self._read()

    def _read(self) -> None:
        """Send new scalars. All scalars of one step and file are one message."""
        for file in self._folder.rglob("events.out.tfevents.*"):
            points: dict[int, dict[str, float]] = {}
            for step, name, value in self._new_scalars(file):
                points.setdefault(step, {})[name] = value
            for step, values in points.items():
                self._telemetry.metrics(step, with_losses(values, _COMMON))

    def _new_scalars(self, file: Path) -> Iterator[tuple[int, str, float]]:
        if file not in self._readers:
            loader = import_module("tensorboard.backend.event_processing.event_file_loader")
            self._readers[file] = loader.RawEventFileLoader(str(file))
        event_type = import_module("tensorboard.compat.proto.event_pb2").Event
        for raw in self._readers[file].Load():
            event = event_type.FromString(raw)
            for value in event.summary.value:
                if value.HasField("simple_value"):
                    yield event.step, value.tag, value.simple_value
