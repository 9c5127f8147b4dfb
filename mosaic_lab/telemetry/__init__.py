"""Read the telemetry of runs: live models of running ones, complete tables of any."""

from __future__ import annotations

from mosaic_lab.telemetry.decoding import Health
from mosaic_lab.telemetry.feed import RunFeed
from mosaic_lab.telemetry.follower import JsonlFollower
from mosaic_lab.telemetry.tables import read_episodes, read_metrics
from mosaic_lab.telemetry.watcher import Watcher, watcher

__all__ = ["Health", "JsonlFollower", "RunFeed", "Watcher", "read_episodes", "read_metrics", "watcher"]
