"""Recorded episodes played again from their seed and actions, without a policy, a model or a key."""

from mosaic_lab.arenas.replays.player import Difference
from mosaic_lab.arenas.replays.replay import Replay, Replays, ReplayStep

__all__ = ["Difference", "Replay", "ReplayStep", "Replays"]
