"""Frames from a worker to whoever wants to look: a ring of a few slots in shared memory, latest frame wins.

A worker gives frames to a `FrameWriter`, any number of processes read them with a `FrameReader`. `layout`
says what the file holds, `fence` why no torn frame is ever returned, `places` where rings lie and who removes
them. `draw` makes a frame of environments without touching their random numbers, `TrainingFrames` does all
of this for a training.
"""

from ..errors import FastlaneError, FrameError
from .drawing import RENDER_MODE, draw, random_numbers_kept
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
    "draw",
    "random_numbers_kept",
    "sweep",
]
