"""Read the telemetry of runs: live models of running ones, complete tables of any."""

from __future__ import annotations

from mosaic_lab.telemetry.feed import RunFeed, Watcher, watcher
from mosaic_lab.telemetry.stream import Health, JsonlFollower
from mosaic_lab.telemetry.tables import metrics_table, read_episodes

__all__ = ["Health", "JsonlFollower", "RunFeed", "Watcher", "metrics_table", "read_episodes", "watcher"]
