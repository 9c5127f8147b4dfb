"""Recorded observations in a replay whose environment does not repeat the episode."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from mosaic_contract.episode_recording import OBSERVATIONS, at_step, read_recording, sha256_of
from mosaic_contract.fastlane import Frame, Hud
from mosaic_contract.fastlane.frame import CHANNELS

from mosaic_lab.arenas.datasets import RecordedEpisode
from mosaic_lab.arenas.replays.player import MAX_PICTURES, SIDE, Playback
from mosaic_lab.fastlane.encoding import Packet, compact

MAX_BYTES = 256 << 20
"""Maximum size of the observations of an episode, uncompressed; more are not shown."""
_MIN_SIDE = 32  # pixels; smaller arrays are grids of numbers


def show_recorded(playback: Playback, recorded: RecordedEpisode, steps: int) -> str:
    """Replace a playback's observations with the recorded ones, and its pictures too if they are images.

    Return what was replaced, as text; empty if there is no readable recording of this many steps.
    """
    (agent, *others) = playback.environment.agents
    observed = _observations(recorded, steps)
    if observed is None or others:
        return ""
    playback.observations = {step: {agent: at_step(observed, step)} for step in range(steps + 1)}
    if not _is_pictures(observed):
        return "the recorded observations are shown"
    stride = math.ceil((steps + 1) / MAX_PICTURES)
    pictured = dict.fromkeys([*range(0, steps + 1, stride), steps])
    playback.pictures = {step: _packet(observed[step], step) for step in pictured}
    playback.no_picture = ""
    return "the recorded observations and pictures are shown"


def _observations(recorded: RecordedEpisode, steps: int) -> Any:
    """Return the recorded observations; None if they cannot be read."""
    path = recorded.recording
    try:
        if path is None or _size(path) > MAX_BYTES or sha256_of(path) != recorded.sha256:
            return None
        described, columns = read_recording(path)
        observed = columns[OBSERVATIONS]
        at_step(observed, steps)  # fails if there are fewer
    except Exception:  # a bundle may come from anyone
        return None
    return observed if described.get("steps") == steps else None


def _size(path: Path) -> int:
    with zipfile.ZipFile(path) as file:
        return sum(member.file_size for member in file.infolist())


def _is_pictures(observed: Any) -> bool:
    if not isinstance(observed, np.ndarray) or observed.dtype != np.uint8 or observed.ndim != 4:
        return False
    return min(observed.shape[1:3]) >= _MIN_SIDE and observed.shape[3] in CHANNELS


def _packet(picture: Any, step: int) -> Packet:
    height, width, channels = picture.shape
    return compact(Frame(step, 0.0, height, width, channels, picture.tobytes(), Hud(step=step)), SIDE)
