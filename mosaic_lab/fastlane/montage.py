"""The last frames of runs in one picture, for saved notebooks. Drawing takes tens of milliseconds, so it must
not run in the streaming thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mosaic_lab.fastlane import pixels_of
from mosaic_lab.fastlane.pictures import image_png
from mosaic_lab.number_format import number

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame, Hud
    from PIL import Image
    from PIL.ImageFont import FreeTypeFont

INK = "#7a7f87"
"""A grey that is readable on white and near-black, because the background is transparent."""
SIDE = 640
"""Maximum side of a single frame in pixels; smaller frames are enlarged by integer factors."""
ENLARGED = 320
"""Maximum side of an enlarged frame in pixels."""
WIDTH = 960
"""Total width of all columns in pixels."""
GAP, LINE, FONT_SIZE = 10, 20, 15
BORDER, BORDER_COLOR = 1, "#b4b8bf"
"""The border of each frame, which makes white frames visible on a white page."""


class MontageTile(NamedTuple):
    """A run's name and its newest known frame, if any."""

    label: str
    frame: Frame | None


def montage(tiles: Sequence[MontageTile], columns: int | None = None) -> bytes | None:
    """Draw frames as one PNG with ``columns`` columns (default: about as many as rows); None if there are no
    frames."""
    if not any(tile.frame for tile in tiles):
        return None
    if len(tiles) == 1 and (frame := tiles[0].frame):
        return image_png(_scaled(frame, SIDE))
    return image_png(_arranged(tiles, columns or math.ceil(math.sqrt(len(tiles)))))


def hud_line(hud: Hud) -> str:
    """Return a frame's HUD values as text, such as ``episode 12 · step 3,456 · return 33``."""
    values = (("episode", hud.episode), ("step", hud.step), ("return", hud.episode_return))
    words = [f"{name} {number(value)}" for name, value in values if value is not None]
    return " · ".join([*words, *filter(None, (hud.agent, hud.text))])


def _arranged(tiles: Sequence[MontageTile], columns: int) -> Image.Image:
    from PIL import Image, ImageDraw, ImageFont

    columns = min(columns, len(tiles))
    side = WIDTH // columns - GAP
    pictures = [tile.frame and _scaled(tile.frame, side) for tile in tiles]
    rows = [range(first, min(first + columns, len(tiles))) for first in range(0, len(tiles), columns)]
    heights = [
        2 * LINE + max((p.height for i in row if (p := pictures[i])), default=LINE) + GAP for row in rows
    ]
    canvas = Image.new("RGBA", (columns * (side + GAP), sum(heights)))
    draw, font = ImageDraw.Draw(canvas), ImageFont.load_default(FONT_SIZE)
    assert isinstance(font, ImageFont.FreeTypeFont)
    top = 0
    for row, height in zip(rows, heights, strict=True):
        for column, index in enumerate(row):
            left, (label, frame), picture = column * (side + GAP), tiles[index], pictures[index]
            lines = (label, hud_line(frame.hud) if frame else "no frame was seen")
            for i, line in enumerate(lines):
                text = line.replace("−", "-")  # the font has no minus sign
                draw.text((left, top + i * LINE), _shortened(text, font, side), INK, font)
            if picture is not None:
                canvas.paste(picture, (left, top + 2 * LINE))
        top += height
    return canvas


def _scaled(frame: Frame, side: int) -> Image.Image:
    """Return the frame with a border. A small frame is enlarged by an integer factor, a large one reduced to
    ``side``."""
    from PIL import ImageOps

    return ImageOps.expand(_resized(frame, side - 2 * BORDER), BORDER, BORDER_COLOR)


def _resized(frame: Frame, side: int) -> Image.Image:
    from PIL import Image

    pixels = pixels_of(frame)
    image = Image.fromarray(pixels[:, :, 0] if frame.channels == 1 else pixels)
    longest = max(frame.height, frame.width)
    if longest > side:
        size = [max(1, round(length * side / longest)) for length in image.size]
        return image.resize((size[0], size[1]), Image.Resampling.BOX)
    factor = max(1, min(side, ENLARGED) // longest)
    return image.resize((frame.width * factor, frame.height * factor), Image.Resampling.NEAREST)


def _shortened(text: str, font: FreeTypeFont, width: int) -> str:
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(text + "…") > width:
        text = text[:-1]
    return text + "…"
