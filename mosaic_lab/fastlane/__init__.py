"""Frames of runs as the notebook's side sees them: read from the worker's ring, kept, made into pictures.

What crosses this boundary: `FrameSource` (one run's frames and why there are none), `Packet` (a frame as it
travels to a page), `Recorder` (the last seconds of them), and the module `pictures` (PNG, GIF, MP4).
"""

from mosaic_lab.fastlane.packet import Encoding, Packet, Pixels
from mosaic_lab.fastlane.recorder import Recorder
from mosaic_lab.fastlane.source import FrameSource, Notice, last_seen, pixels_of

__all__ = ["Encoding", "FrameSource", "Notice", "Packet", "Pixels", "Recorder", "last_seen", "pixels_of"]
