"""Names and values of the environment variables that control how a worker shows frames."""

from __future__ import annotations


class VideoModes:
    """Number of environments in a frame."""

    SINGLE = "single"
    GRID = "grid"
    OFF = "off"


class TelemetryEnv:
    """The variables."""

    FASTLANE_ONLY = "GYM_GUI_FASTLANE_ONLY"
    FASTLANE_SLOT = "GYM_GUI_FASTLANE_SLOT"
    FASTLANE_VIDEO_MODE = "GYM_GUI_FASTLANE_VIDEO_MODE"
    FASTLANE_GRID_LIMIT = "GYM_GUI_FASTLANE_GRID_LIMIT"
    CLEANRL_INTERVAL_MS = "CLEANRL_FASTLANE_INTERVAL_MS"
    CLEANRL_MAX_DIM = "CLEANRL_FASTLANE_MAX_DIM"
    LEGACY_FASTLANE_ENABLED = "FASTLANE_ENABLED"
    LEGACY_FASTLANE_SLOT = "FASTLANE_SLOT"
