"""Frames: workers publish them by the platform's interface, for viewers of MOSAIC Lab."""

from __future__ import annotations

from .buffer import FastLaneConfig, FastLaneMetrics, FastLaneWriter, create_fastlane_name

__all__ = ["FastLaneConfig", "FastLaneMetrics", "FastLaneWriter", "create_fastlane_name"]
