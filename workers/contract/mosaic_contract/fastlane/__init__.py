"""Frames from a worker to its viewers: a ring of a few slots in shared memory; the latest frame wins.

A worker publishes frames with a `FrameWriter`; any number of processes read them with a `FrameReader`.
`layout` defines the file format and explains why readers never return a torn frame, and `ring_files` creates
and removes rings. `TrainingFrames` does all of this for a training, and renders its
environments without affecting their random generators.
"""

from mosaic_contract.errors import FastlaneError, FrameError
from mosaic_contract.fastlane.frame import Frame, Hud
from mosaic_contract.fastlane.reader import FrameReader
from mosaic_contract.fastlane.render import RENDER_MODE, preserved_random_state
from mosaic_contract.fastlane.ring_files import LINK, clear, sweep
from mosaic_contract.fastlane.training import TrainingFrames
from mosaic_contract.fastlane.writer import FrameWriter

__all__ = [
    "LINK",
    "RENDER_MODE",
    "FastlaneError",
    "Frame",
    "FrameError",
    "FrameReader",
    "FrameWriter",
    "Hud",
    "TrainingFrames",
    "clear",
    "preserved_random_state",
    "sweep",
]
