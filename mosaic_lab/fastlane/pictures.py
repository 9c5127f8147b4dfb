"""Write frames to files: lossless PNG, and GIF and MP4 in real time.

Encoding takes milliseconds or more per frame, so it must not run in the streaming thread. Frames of different
sizes share a canvas that fits all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.fastlane.encoding import Packet, Pixels, rgb

if TYPE_CHECKING:
    from PIL import Image

GIF_TICKS = 100
GIF_SHORTEST = 2
"""Minimum ticks per frame: browsers show a frame of a single tick (10 ms) for 100 ms."""
MP4_TICKS = 1000
_TICK = Fraction(1, MP4_TICKS)
MP4_SIDE = 480
"""Films of smaller frames are enlarged by integer factors, because players blur them and some reject tiny
ones."""
FILM_FPS = 30.0
"""Maximum frames per second of a film with one frame per step."""
_SHORTEST, _SLOWEST = 3.0, 2.0  # seconds of such a film, frames per second
_LONGEST = 0xFFFF
_SAMPLE = 1 << 14
_QUALITY = {"crf": "18", "preset": "veryfast", "threads": "2"}
SMALL_FILM = {"crf": "26", "preset": "veryfast", "threads": "1", "maxrate": "1M", "bufsize": "1M"}
"""``quality`` for films kept for many checkpoints: at most 125 kB per second."""


def png(pixels: Pixels) -> bytes:
    """Return a PNG file of exactly these pixels: height × width × 1, 3 or 4 channels."""
    from PIL import Image

    return image_png(Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels))


def image_png(image: Image.Image) -> bytes:
    """Return an image as a PNG file."""
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def joined(images: Sequence[Image.Image], gap: int = 0, *, across: bool = False) -> Image.Image:
    """Join one or more images: below each other, or side by side if ``across``."""
    from PIL import Image

    widths, heights = zip(*(image.size for image in images), strict=True)
    size = (sum(widths) + gap * (len(images) - 1), max(heights))
    if not across:
        size = (max(widths), sum(heights) + gap * (len(images) - 1))
    sheet, left, top = Image.new("RGBA", size), 0, 0
    for image in images:
        sheet.paste(image, (left, top))
        left, top = (left + image.width + gap, 0) if across else (0, top + image.height + gap)
    return sheet


def picture_path(value: Path | str) -> Path:
    """Return the path of a PNG file to write. Raises ConfigurationError if it is not a path, has another file
    extension, or its folder does not exist."""
    path = _path(value, "a snapshot", "cartpole.png")
    if path.suffix.lower() != ".png":
        raise ConfigurationError(f"a snapshot must be a .png file, not {path.name!r}")
    return path


def film_path(value: Path | str) -> tuple[Path, Callable[[Sequence[Packet]], bytes]]:
    """Return the path of a film to write, and its encoder: `gif` or `mp4`, by file extension. Raises
    ConfigurationError if it is not a path, has another file extension, or its folder does not exist."""
    path = _path(value, "a recording", "cartpole.mp4")
    maker = {".gif": gif, ".mp4": mp4}.get(path.suffix.lower())
    if maker is None:
        raise ConfigurationError(f"a recording must be a .gif or .mp4 file, not {path.name!r}")
    return path, maker


def _path(value: object, label: str, example: str) -> Path:
    if not isinstance(value, str | Path):
        raise ConfigurationError(
            f"{label} must be written to a path, such as {example!r}, not {value!r:.100}"
        )
    path = Path(value)
    if not path.parent.is_dir():
        raise ConfigurationError(f"there is no folder {path.parent} for {path.name}: create it first")
    return path


def gif(packets: Sequence[Packet]) -> bytes:
    """Return an endlessly looping GIF with the frames' sizes and timing; exact for frames of at most 256
    colours. Raises ValueError without packets."""
    from PIL import GifImagePlugin

    height, width = _extent(packets)
    size = width.to_bytes(2, "little") + height.to_bytes(2, "little")
    file = [b"GIF89a" + size + b"\x70\0\0", b"!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"]
    previous: Pixels | None = None
    for packet, _, ticks in _timed(packets, GIF_TICKS, GIF_SHORTEST):
        canvas = _on_canvas(packet.decode(), height, width)
        top, bottom, left, right = _changed(previous, canvas)
        previous = canvas
        part = _paletted(canvas[top:bottom, left:right])
        file += GifImagePlugin.getdata(
            part, (left, top), duration=10 * min(ticks, _LONGEST), disposal=1, include_color_table=True
        )
    return b"".join([*file, b";"])


def mp4(packets: Sequence[Packet], side: int = MP4_SIDE, quality: Mapping[str, str] = _QUALITY) -> bytes:
    """Return an H.264 film with the frames' timing. Raises ValueError without packets. Smaller frames are
    enlarged by integer factors, up to ``side`` pixels; ``quality`` contains options of x264."""
    import av
    from av.video.reformatter import ColorRange, Colorspace

    height, width = _extent(packets)
    factor = max(1, side // max(height, width))
    file = BytesIO()
    with av.open(file, "w", format="mp4") as film:
        stream = film.add_stream("libx264", rate=60, options=dict(quality))
        stream.height, stream.width = _even(height * factor), _even(width * factor)
        stream.pix_fmt = "yuv420p"  # the only format supported by every player
        stream.codec_context.time_base = _TICK
        # Declared, because players otherwise guess from the height. The conversion from RGB produces this.
        stream.codec_context.colorspace = Colorspace.ITU601
        stream.codec_context.color_range = ColorRange.MPEG
        for canvas, start in _film(packets, height, width):
            large = canvas.repeat(factor, 0).repeat(factor, 1)
            padding = (0, stream.height - large.shape[0]), (0, stream.width - large.shape[1]), (0, 0)
            picture = av.VideoFrame.from_ndarray(np.pad(large, padding, "edge"), "rgb24")
            picture.pts, picture.time_base = start, _TICK
            film.mux(stream.encode(picture))
        film.mux(stream.encode())
    return file.getvalue()


def film_speed(frames: int) -> float:
    """Return the frames per second of a film with one frame per step, so that a short one can be followed."""
    return min(FILM_FPS, max(_SLOWEST, frames / _SHORTEST))


def evenly_timed(packets: Sequence[Packet], per_second: float) -> list[Packet]:
    """Return the frames of a film, each shown for the same time."""
    return [replace(packet, published=number / per_second) for number, packet in enumerate(packets)]


def first_frame(film: bytes, side: int) -> bytes:
    """Return the first frame of an MP4 film as a PNG file of at most ``side`` pixels. Raises ValueError for
    an invalid film."""
    import av

    try:
        with av.open(BytesIO(film), "r") as container:
            frame = next(container.decode(video=0))
    except (av.error.FFmpegError, StopIteration, IndexError) as error:
        raise ValueError(f"it is not a film: {error}") from None
    from PIL import Image

    image = Image.fromarray(frame.to_ndarray(format="rgb24"))
    image.thumbnail((side, side))
    return image_png(image)


# ------------------------------------------------------------------ time


class _Moment(NamedTuple):
    packet: Packet
    start: int
    ticks: int
    """Duration of the frame."""


def _timed(packets: Sequence[Packet], per_second: int, shortest: int) -> list[_Moment]:
    """Return the start and duration of each packet in ticks, without packets that would be shown too briefly.

    Each start is rounded separately, so that errors do not accumulate. The last frame is shown for the mean
    duration of the others, a single frame for a second.
    """
    timed: list[tuple[Packet, int]] = []
    for packet in packets:
        start = round((packet.published - packets[0].published) * per_second)
        if not timed or start - timed[-1][1] >= shortest:
            timed.append((packet, start))
    starts = [start for _, start in timed]
    mean = round(starts[-1] / (len(starts) - 1)) if len(starts) > 1 else per_second
    end_ticks = [*starts[1:], starts[-1] + max(mean, shortest)]
    return [
        _Moment(packet, start, end - start) for (packet, start), end in zip(timed, end_ticks, strict=True)
    ]


def _film(packets: Sequence[Packet], height: int, width: int) -> Iterator[tuple[Pixels, int]]:
    """Yield canvases and their start times. The last is repeated, because its duration would otherwise be
    missing."""
    moments = _timed(packets, MP4_TICKS, 1)
    for packet, start, _ in moments:
        yield _on_canvas(packet.decode(), height, width), start
    last = moments[-1]
    yield _on_canvas(last.packet.decode(), height, width), last.start + last.ticks


# ------------------------------------------------------------------ pixels


def _extent(packets: Sequence[Packet]) -> tuple[int, int]:
    """Return the height and width that fit every packet."""
    if not packets:
        raise ValueError("there are no frames to record")
    return max(packet.height for packet in packets), max(packet.width for packet in packets)


def _even(length: int) -> int:
    return length + length % 2


def _on_canvas(pixels: Pixels, height: int, width: int) -> Pixels:
    """Return the pixels in RGB, centred on a black canvas of this size."""
    picture = rgb(pixels)
    if picture.shape[:2] == (height, width):
        return picture
    canvas = np.zeros((height, width, 3), np.uint8)
    top, left = (height - picture.shape[0]) // 2, (width - picture.shape[1]) // 2
    canvas[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return canvas


def _changed(previous: Pixels | None, current: Pixels) -> tuple[int, int, int, int]:
    """Return top, bottom, left and right of the changed area; a single pixel if nothing changed."""
    if previous is None:
        return 0, current.shape[0], 0, current.shape[1]
    differs = (previous != current).any(2)
    rows, columns = differs.any(1).nonzero()[0], differs.any(0).nonzero()[0]
    if not len(rows):
        return 0, 1, 0, 1
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


def _paletted(pixels: Pixels) -> Image.Image:
    """Return the pixels with a palette of their colours, or of the 256 most frequent in a sample if there are
    more."""
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(pixels))
    if picture.getcolors(256) is None:
        stride = max(1, math.isqrt(picture.width * picture.height // _SAMPLE))
        sample = Image.fromarray(np.ascontiguousarray(pixels[::stride, ::stride]))
        return picture.quantize(palette=sample.quantize(256, Image.Quantize.MEDIANCUT))
    packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    colours, indices = np.unique(packed, return_inverse=True)
    exact = Image.fromarray(indices.reshape(packed.shape).astype(np.uint8), "P")
    exact.putpalette(b"".join(int(colour).to_bytes(3, "big") for colour in colours))
    return exact
