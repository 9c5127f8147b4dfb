"""Encode frames for a page or a film, depending on their content and the bandwidth to the page.

Frames with few colours are deflated, which costs less than sending them uncompressed; small and flat frames
are never encoded lossily. Large, detailed frames are sent raw, which costs the kernel least, or as JPEGs if
the bandwidth is too low. For recordings, the last seconds of a run's frames are kept in memory as they were
sent.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from dataclasses import dataclass, field
from io import BytesIO
from math import ceil, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from mosaic_lab.errors import ConfigurationError

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame, Hud


Encoding = Literal["raw", "deflate", "jpeg"]
"""Encoding of a page's frames: pixels in C order, the same compressed with zlib, or a JPEG file."""
Pixels = np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]
"""Height × width × channels (1 gray, 3 RGB, 4 RGBA), 0 to 255."""
SMALL_BYTES = 64 << 10
LARGE_BYTES = 512 << 10
"""Minimum size of a frame for a JPEG at high bandwidth: beyond it, the page processes a raw frame more slowly
than it decodes a JPEG."""
FLAT = 0.15
"""Maximum compression ratio (deflated size / size) of a flat frame."""
_STORED_FLAT = 0.5  # the same for stored frames, where size counts for more than time
MAX_PIXELS = 2 << 20
"""Maximum pixels of a frame on a page; larger frames are reduced by integer factors."""
QUALITY = 80
_BANDS, _BAND_BYTES = 16, 4 << 10
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
RECORDED_SECONDS = 60.0
RECORDED_BYTES = 64 << 20
_OVERHEAD = 512
"""Bytes that a packet takes in addition to its data."""


@dataclass(frozen=True, slots=True, eq=False)
class Packet:
    """An encoded frame with its HUD record, as sent to a page and stored in a recording. ``published``: Unix
    seconds, by the worker's clock."""

    sequence: int
    published: float
    width: int
    height: int
    channels: int
    encoding: Encoding
    data: bytes = field(repr=False)
    hud: Hud

    def decode(self) -> Pixels:
        """Return the read-only pixels, lossy for a JPEG. Raises ValueError for invalid data."""
        shape = self.height, self.width, self.channels
        try:
            if self.encoding == "jpeg":
                return _decoded_jpeg(self.data, self.channels).reshape(shape)
            data = self.data
            if self.encoding == "deflate":
                data = zlib.decompressobj().decompress(data, self.height * self.width * self.channels + 1)
            return np.frombuffer(data, np.uint8).reshape(shape)
        except (ValueError, OSError, zlib.error) as error:
            raise ValueError(
                f"frame {self.sequence} is not a valid {self.encoding} of shape {shape}: {error}"
            ) from error


def _decoded_jpeg(data: bytes, channels: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    from PIL import Image

    with Image.open(BytesIO(data), formats=["JPEG"]) as image:
        return np.asarray(image.convert("L" if channels == 1 else "RGB"))


class Content:
    """Statistics of a run's frames, measured on one of them and valid for frames of the same size for a
    while."""

    def __init__(self, frame: Frame) -> None:
        self.shape = frame.shape
        self.nbytes = frame.height * frame.width * frame.channels
        sample = _sample(frame.pixels)
        self.ratio = len(_deflated(sample)) / len(sample)

    def encoding(self, low_bandwidth: bool) -> Encoding:
        """Return the encoding for a connection of low or high bandwidth."""
        if self.nbytes <= SMALL_BYTES:
            return "deflate" if low_bandwidth and self.ratio < 0.9 else "raw"
        if self.ratio <= FLAT:
            return "deflate"
        return "jpeg" if low_bandwidth or self.nbytes > LARGE_BYTES else "raw"


def encode(frame: Frame, encoding: Encoding) -> Packet:
    """Return the frame in this encoding, no larger than a page needs."""
    height, width, channels, pixels = _reduced_for_page(frame)
    data = pixels
    if encoding == "deflate":
        data = _deflated(pixels)
    elif encoding == "jpeg":
        channels, data = _jpeg(height, width, channels, pixels)
    return Packet(frame.sequence, frame.published, width, height, channels, encoding, data, frame.hud)


def _deflated(pixels: bytes) -> bytes:
    from isal import isal_zlib  # a tenth of zlib's time

    return isal_zlib.compress(pixels, 1)


def compact(frame: Frame, side: int) -> Packet:
    """Return the frame in a size to keep many of: at most ``side`` pixels long, and without loss if it is
    flat."""
    small = _reduced(frame, side)
    return encode(small, "deflate" if Content(small).ratio < _STORED_FLAT else "jpeg")


def _reduced(frame: Frame, side: int) -> Frame:
    if max(frame.height, frame.width) <= side:
        return frame
    from PIL import Image

    mode = _MODES[frame.channels]
    image = Image.frombuffer(mode, (frame.width, frame.height), frame.pixels, "raw", mode, 0, 1)
    image.thumbnail((side, side), Image.Resampling.BICUBIC)
    return frame._replace(height=image.height, width=image.width, pixels=image.tobytes())


def _sample(pixels: bytes) -> bytes:
    """Return several parts distributed over the frame."""
    if len(pixels) <= _BANDS * _BAND_BYTES:
        return pixels
    step = len(pixels) // _BANDS
    return b"".join(pixels[band * step : band * step + _BAND_BYTES] for band in range(_BANDS))


def _reduced_for_page(frame: Frame) -> tuple[int, int, int, bytes]:
    """Return height, width, channels and pixels, averaged over squares if there are too many pixels."""
    height, width, channels = frame.height, frame.width, frame.channels
    if height * width <= MAX_PIXELS:
        return height, width, channels, frame.pixels
    from PIL import Image

    image = Image.frombuffer(_MODES[channels], (width, height), frame.pixels, "raw", _MODES[channels], 0, 1)
    small = image.reduce(ceil(sqrt(height * width / MAX_PIXELS)))
    return small.height, small.width, channels, small.tobytes()


def _jpeg(height: int, width: int, channels: int, pixels: bytes) -> tuple[int, bytes]:
    """Return channels and data of a JPEG file, which has no transparency: transparent pixels become black."""
    from PIL import Image

    if channels == 4:
        pixels = rgb(np.frombuffer(pixels, np.uint8).reshape(height, width, 4)).tobytes()
        channels = 3
    file = BytesIO()
    mode = _MODES[channels]
    Image.frombuffer(mode, (width, height), pixels, "raw", mode, 0, 1).save(file, "JPEG", quality=QUALITY)
    return channels, file.getvalue()


def rgb(pixels: Pixels) -> Pixels:
    """Return the picture in RGB: gray replicated, transparency over black."""
    channels = pixels.shape[2]
    if channels == 1:
        return pixels.repeat(3, 2)
    if channels == 4:
        return (pixels[:, :, :3] * (pixels[:, :, 3:] / 255.0)).round().astype(np.uint8)
    return pixels


def check_seconds(seconds: object) -> None:
    """Raise ConfigurationError if ``seconds`` is not a valid length of a recording."""
    if not isinstance(seconds, int | float) or not 0 < seconds <= RECORDED_SECONDS:
        raise ConfigurationError(f"seconds={seconds!r}: must be a number > 0 and ≤ {RECORDED_SECONDS:g}")


class Recorder:
    """Keeps packets of at most ``seconds`` and ``limit_bytes``, dropping the oldest. Thread-safe."""

    def __init__(self, seconds: float = RECORDED_SECONDS, limit_bytes: int = RECORDED_BYTES) -> None:
        self.seconds = seconds
        self.limit_bytes = limit_bytes
        self._packets: deque[Packet] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, packet: Packet) -> None:
        """Store a packet. A packet larger than the limit is dropped with all packets before it."""
        with self._lock:
            self._packets.append(packet)
            self._bytes += len(packet.data) + _OVERHEAD
            while self._packets and (
                self._bytes > self.limit_bytes or not _is_recent(self._packets[0], self.seconds, packet)
            ):
                self._bytes -= len(self._packets.popleft().data) + _OVERHEAD

    def last(self, seconds: float) -> list[Packet]:
        """Return the packets of the ``seconds`` before the newest one, oldest first; empty if there are
        none."""
        with self._lock:
            packets = list(self._packets)
        return [packet for packet in packets if _is_recent(packet, seconds, packets[-1])]


def _is_recent(packet: Packet, seconds: float, newest: Packet) -> bool:
    """Return whether a packet is within the last ``seconds``. Later timestamps stem from before a clock was
    set back."""
    return newest.published - seconds <= packet.published <= newest.published
