"""A worker on the contract that publishes synthetic frames, each with its number painted into its pixels.

Hyperparameters:

- ``sizes`` (``[[84, 84, 3]]``): heights, widths and channels; the next after ``change_every`` (100) frames.
- ``pattern``: ``"flat"`` (a scene of few colours with a moving block), ``"noise"`` or ``"grid"`` (cells).
- ``rate`` (60): steps per second; 0 is as fast as possible.
- ``free`` (false): publish at every step, also without a viewer; otherwise when a frame is due, like a shim.
- ``frames`` (0): complete after this number of published frames; 0 runs until stopped.
- ``max_fps`` (60), ``enabled`` (true): the writer's own.

Frame numbers count this worker's published frames from 0. The number is painted into the top and bottom edges
(`painted` reads it and detects torn frames), and the HUD is derived from it (`hud_of`). Only the standard
library is used, so that fifty painters are cheap. Tests also import the functions without starting a worker.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mosaic_contract import Worker, main
from mosaic_contract.config import TrainingConfig
from mosaic_contract.fastlane import FastlaneError, FrameWriter, Hud
from mosaic_contract.metadata import WorkerCapabilities, WorkerMetadata
from mosaic_contract.telemetry import Telemetry

BITS = 32
EPISODE_STEPS = 200
CELLS = 16  # per side of a grid
MAX_SCENES, SCENES_BYTES = 16, 32 << 20

Shape = tuple[int, int, int]


# ------------------------------------------------------------------ the number in the pixels


def edge(shape: Shape) -> tuple[int, int, int]:
    """Return the layout of a number in frames of this shape: bits per row, width and height of a bit."""
    height, width, _ = shape
    bits = min(BITS, width)
    side = width // bits
    return bits, side, max(1, min(side, height // 2))


def paint(pixels: bytearray, shape: Shape, number: int) -> None:
    """Write the lowest 32 bits of ``number`` (fewer in narrow frames) as black and white squares."""
    height, width, channels = shape
    bits, side, rows = edge(shape)
    row = b"".join((b"\xff" if number >> bit & 1 else b"\0") * (side * channels) for bit in range(bits))
    for y in (*range(rows), *range(height - rows, height)):
        begin = y * width * channels
        pixels[begin : begin + len(row)] = row


def painted(pixels: bytes, shape: Shape) -> int:
    """Return the number in a frame, even after lossy encoding. Raises AssertionError for a torn frame."""
    height, width, channels = shape
    bits, side, rows = edge(shape)

    def read(y: int) -> int:
        middles = ((y * width + bit * side + side // 2) * channels for bit in range(bits))
        return sum(1 << bit for bit, at in enumerate(middles) if pixels[at] > 127)

    top, bottom = read(rows // 2), read(height - 1 - rows // 2)
    assert top == bottom, f"a torn frame: {top} at its top, {bottom} at its bottom"
    return top


def visible_bits(shape: Shape) -> int:
    """Return a mask of the number's bits that frames of this shape show."""
    return (1 << edge(shape)[0]) - 1


def hud_of(number: int) -> Hud:
    """Return the HUD of the frame with this number."""
    episode, step = divmod(number, EPISODE_STEPS)
    return Hud(
        episode=episode,
        step=number,
        reward=1.0,
        episode_return=float(step + 1),
        agent="painter",
        text=f"frame {number}",
    )


# ------------------------------------------------------------------ scenes


def scenes(pattern: str, shape: Shape) -> list[bytearray]:
    """Return a few frames without a number, published in turn so that painting costs next to nothing."""
    height, width, channels = shape
    count = max(1, min(MAX_SCENES, SCENES_BYTES // (height * width * channels)))
    dice = random.Random(1)
    if pattern == "noise":
        return [bytearray(dice.randbytes(height * width * channels)) for _ in range(count)]
    draw = {"flat": _flat, "grid": _grid}[pattern]
    return [draw(shape, index / count, dice) for index in range(count)]


def _colour(value: Sequence[int], channels: int) -> bytes:
    return bytes([*value, 255][:channels])


def _flat(shape: Shape, moment: float, dice: random.Random) -> bytearray:
    """A white background, a dark line, and a block that moves from left to right."""
    height, width, channels = shape
    white, dark, block = (_colour(c, channels) for c in ((255, 255, 255), (0, 0, 0), (202, 152, 101)))
    long = max(1, width // 5)
    left = int(moment * (width - long))
    field, line = white * width, dark * width
    middle = white * left + block * long + white * (width - left - long)
    ground = 3 * height // 4
    upper = max(0, ground - height // 8)
    return bytearray(field * upper + middle * (ground - upper) + line + field * (height - ground - 1))


def _grid(shape: Shape, moment: float, dice: random.Random) -> bytearray:
    """Cells in a few random colours, drawn again for each scene."""
    height, width, channels = shape
    shades = ((40, 40, 40), (100, 100, 100), (220, 60, 60), (60, 160, 60), (70, 90, 220))
    colours = [_colour(shade, channels) for shade in shades]
    cells = [[dice.choice(colours) for _ in range(CELLS)] for _ in range(CELLS)]
    rows = [b"".join(line[x * CELLS // width] for x in range(width)) for line in cells]
    return bytearray(b"".join(rows[y * CELLS // height] for y in range(height)))


# ------------------------------------------------------------------ the worker


def metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    return WorkerMetadata(name="painter", version="1"), WorkerCapabilities()


def pace(rate: float) -> Iterator[int]:
    """Yield steps, at most ``rate`` per second; a late step is not made up for."""
    due = time.monotonic()
    for step in itertools.count():
        yield step
        if rate:
            now = time.monotonic()
            due = max(due + 1 / rate, now)
            time.sleep(due - now)  # keeps the rate


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    settings = config.hyperparameters
    writer = FrameWriter(
        config.run_dir, max_fps=settings.get("max_fps", 60.0), enabled=settings.get("enabled", True)
    )
    try:
        return {"published": work(settings, telemetry, writer)}
    finally:
        writer.close()


def work(settings: Mapping[str, Any], telemetry: Telemetry, writer: FrameWriter) -> int:
    """Step and publish; like every shim, continue without frames if publishing fails."""
    shapes: list[Shape] = [tuple(size) for size in settings.get("sizes", [[84, 84, 3]])]
    shown = [scenes(settings.get("pattern", "flat"), shape) for shape in shapes]
    free, wanted = settings.get("free", False), settings.get("frames", 0)
    number, reported = 0, 0.0
    for step in pace(settings.get("rate", 60)):
        if writer.due() or (free and not writer.ended):
            turn = number // settings.get("change_every", 100) % len(shapes)
            pixels = shown[turn][number % len(shown[turn])]
            paint(pixels, shapes[turn], number)
            try:
                writer.publish(pixels, hud_of(number), shape=shapes[turn])
            except FastlaneError as error:
                writer.end(str(error))
            number += 1
            if number == wanted:
                break
        if time.monotonic() - reported >= 1:
            reported = time.monotonic()
            telemetry.metrics(step, {"published": float(number)})
    return number


if __name__ == "__main__":
    sys.exit(main(Worker(metadata, lambda config: config.to_dict(), train)))
