"""The platform's writer of frames, on the ring of MOSAIC Lab in the run's folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Optional

from mosaic_contract.fastlane import FrameWriter, Hud

RUN_DIR = "MOSAIC_RUN_DIR"
"""The variable with the run's folder, which the adapter sets."""


@dataclass(frozen=True)
class FastLaneConfig:
    """The shape of the frames: pixels and bytes per pixel. The other fields configure the platform's ring."""

    width: int
    height: int
    channels: int = 3
    pixel_format: str = "RGB"
    capacity: int = 0
    metadata_size: int = 0


@dataclass(frozen=True)
class FastLaneMetrics:
    """The numbers beside a frame."""

    last_reward: float = 0.0
    rolling_return: float = 0.0
    step_rate_hz: float = 0.0


def create_fastlane_name(run_id: str) -> str:
    """Return the platform's name of a run's shared memory."""
    return f"mosaic.fastlane.{run_id}".replace("/", "_")


class FastLaneWriter:
    """Publishes frames of one shape; frames that no viewer requests are dropped."""

    def __init__(self, config: FastLaneConfig) -> None:
        self._shape = (config.height, config.width, config.channels)
        self._writer = FrameWriter(os.environ.get(RUN_DIR, "."))
        self._published = 0

    @classmethod
    def create(cls, run_id: str, config: FastLaneConfig, *, capacity: Optional[int] = None) -> FastLaneWriter:
        return cls(config)

    def publish(self, frame: Any, *, metrics: Optional[FastLaneMetrics] = None, metadata: Any = None) -> int:
        """Publish a frame, bytes or an array, if one is due; return how many were offered."""
        self._published += 1
        if self._writer.due():
            shown = metrics or FastLaneMetrics()
            hud = Hud(
                reward=shown.last_reward,
                episode_return=shown.rolling_return,
                steps_per_second=shown.step_rate_hz,
            )
            self._writer.publish(frame, hud, self._shape)
        return self._published

    def invalidate(self) -> None:
        """Do nothing: a reader of MOSAIC Lab follows the run's current ring."""

    def close(self) -> None:
        self._writer.close()

    def unlink(self) -> None:
        self._writer.close()
