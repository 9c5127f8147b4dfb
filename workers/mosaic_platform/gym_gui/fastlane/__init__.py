"""Frames: workers publish them as on the platform, viewers of MOSAIC Lab see them."""

from __future__ import annotations

from .buffer import FastLaneConfig, FastLaneMetrics, FastLaneWriter, create_fastlane_name

__all__ = ["FastLaneConfig", "FastLaneMetrics", "FastLaneWriter", "create_fastlane_name"]
