"""Frames of runs in the kernel: read from the worker's ring, kept, encoded, and written as pictures and
films."""

from mosaic_lab.fastlane.encoding import Encoding, Packet, Pixels, Recorder
from mosaic_lab.fastlane.source import FrameSource, Notice, last_seen, pixels_of

__all__ = ["Encoding", "FrameSource", "Notice", "Packet", "Pixels", "Recorder", "last_seen", "pixels_of"]
