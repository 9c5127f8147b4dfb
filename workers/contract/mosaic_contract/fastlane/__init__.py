"""Frames from a worker to whoever wants to look: a ring of a few slots in shared memory, latest frame wins.

A worker gives frames to a `FrameWriter`, any number of processes read them with a `FrameReader`. `layout`
says what the file holds, `fence` why no torn frame is ever returned, `places` where rings lie and who removes
them. `TrainingFrames` does all of this for a training, and draws its environments without touching their
random numbers.
"""

from ..errors import FastlaneError, FrameError
from .drawing import RENDER_MODE, random_numbers_kept
from .frame import Frame, Hud
from .places import LINK, clear, sweep
from .reader import FrameReader
from .training import TrainingFrames
from .writer import FrameWriter

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
    "random_numbers_kept",
    "sweep",
]
