"""Read the telemetry of runs: live models of running ones, complete tables of any."""

from __future__ import annotations

from mosaic_lab.telemetry.decoding import Health
from mosaic_lab.telemetry.feed import RunFeed
from mosaic_lab.telemetry.follower import JsonlFollower
from mosaic_lab.telemetry.tables import metrics_table, read_episodes
from mosaic_lab.telemetry.watcher import Watcher, watcher

__all__ = ["Health", "JsonlFollower", "RunFeed", "Watcher", "metrics_table", "read_episodes", "watcher"]
