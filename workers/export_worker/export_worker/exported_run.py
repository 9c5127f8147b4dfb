"""A run to export, and the interface of its writers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Protocol


@dataclass(frozen=True)
class ExportedRun:
    """A run's facts, for exporters. Times are Unix seconds, None while unknown.

    `hyperparameters` holds worker, algorithm, environment and seed too; `config` is the whole configuration,
    `succeeded` None while the run is alive.
    """

    id: str
    name: str
    group: str | None = None
    tags: list[str] = field(default_factory=list)
    notes: str = ""
    state: str = ""
    reason: str = ""
    started: float | None = None
    ended: float | None = None
    succeeded: bool | None = None
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)


class Writer(Protocol):
    """Writes one run."""

    def add(self, step: int, timestamp: float | None, values: Mapping[str, float]) -> None:
        """Write the values reported at one step."""

    def close(self) -> Path:
        """Finish, and return the file or folder written."""
