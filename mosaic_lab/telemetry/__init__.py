"""Read the telemetry of runs: live models of running ones, complete tables of any."""

from __future__ import annotations

from mosaic_lab.telemetry.feed import RunFeed, feed_of
from mosaic_lab.telemetry.stream import Health, JsonlFollower
from mosaic_lab.telemetry.tables import metrics_table, read_episodes

__all__ = ["Health", "JsonlFollower", "RunFeed", "feed_of", "metrics_table", "read_episodes"]
