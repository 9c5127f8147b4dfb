"""Boards and texts drawn with Pillow, twice as large as shown and then halved, for smooth edges."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Sequence

import numpy
from PIL import Image, ImageDraw, ImageFont

from .boards import Board, Place

_PICTURE = 480  # pixels of the longer side of a board
_LARGEST_CELL = 80
_SCALE = 2
_INK, _PAPER, _LINE = "#22222a", "#f7f6f1", "#5b5347"
_FONT = 15  # pixels
_COLUMNS, _ROWS = 110, 60  # maximum number of characters drawn
_HEX_HEIGHT = 0.866  # of a row of hexagons whose width is 1


def draw_board(board: Board, places: Sequence[Place]) -> Any:
    """Return the picture of a board, an array (height, width, 3) of uint8."""
    height = _HEX_HEIGHT if board.style == "hexes" else 1.0
    across, down = (max(place[axis] for place in places) + 2 for axis in (0, 1))
    cell = _SCALE * min(_LARGEST_CELL, int(_PICTURE / max(across, down * height)))
    image = Image.new("RGB", (round(across * cell), round((down * height + 0.2) * cell)), _PAPER)
    draw = ImageDraw.Draw(image)
    taken = {(place.x, place.y) for place in places}
    centres = [((place.x + 1) * cell, (place.y + 1) * height * cell) for place in places]
    for place, centre in zip(places, centres):
        _ground(draw, board, place, centre, cell, taken)
    for place, centre in zip(places, centres):
        if place.sign[-1:] in board.discs:
            _piece(draw, board, place.sign, centre, cell)
    return _halved(image)


def draw_text(text: str) -> Any:
    """Draw text in a monospaced font; return an array (height, width, 3) of uint8."""
    lines = [line[:_COLUMNS] for line in text.expandtabs(4).splitlines()[:_ROWS]]
    size = _SCALE * _FONT
    wide, high = round(0.64 * size), round(1.35 * size)
    columns = max(24, *(len(line) for line in lines), 0)
    image = Image.new("RGB", ((columns + 4) * wide, (max(len(lines), 6) + 2) * high), _PAPER)
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        for column, sign in enumerate(line):
            if sign != " ":
                centre = ((column + 2.5) * wide, (row + 1.5) * high)
                draw.text(centre, sign, fill=_INK, font=_font(size), anchor="mm")
    return _halved(image)


def _ground(
    draw: Any,
    board: Board,
    place: Place,
    centre: tuple[float, float],
    cell: int,
    taken: set[tuple[float, float]],
) -> None:
    """Draw the ground of one place: a square, a hexagon, or the lines that cross there."""
    (x, y), half = centre, cell / 2
    if board.style == "hexes":
        tall = half / _HEX_HEIGHT
        corners = [(0, -tall), (half, -tall / 2), (half, tall / 2), (0, tall), (-half, tall / 2)]
        corners.append((-half, -tall / 2))
        draw.polygon([(x + a, y + b) for a, b in corners], fill=board.colour, outline=_LINE, width=_SCALE)
        return
    dark = board.dark and (place.x + place.y) % 2
    outline = _LINE if board.style == "squares" and not board.dark else None
    colour = board.dark if dark else board.colour
    draw.rectangle((x - half, y - half, x + half, y + half), fill=colour, outline=outline, width=_SCALE)
    if board.style == "points":
        for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            if (place.x + a, place.y + b) in taken:
                draw.line((x, y, x + a * half, y + b * half), fill=_LINE, width=_SCALE)


def _piece(draw: Any, board: Board, sign: str, centre: tuple[float, float], cell: int) -> None:
    (x, y), radius = centre, 0.4 * cell
    colour = board.discs[sign[-1]]
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour, outline=_INK, width=_SCALE)
    if sign[-1] in board.letters:
        ink = _PAPER if _is_dark(colour) else _INK
        letter = sign.upper() if sign[-1].isalpha() else "K"  # a crowned piece is a king
        draw.text(centre, letter, fill=ink, font=_font(round(0.5 * cell)), anchor="mm")


def _is_dark(colour: str) -> bool:
    return sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) < 3 * 128


@lru_cache(maxsize=None)
def _font(size: int) -> Any:
    return ImageFont.load_default(size)


def _halved(image: Any) -> Any:
    """Return a picture at the size in which it is shown, with even sides."""
    size = tuple(2 * (length // (2 * _SCALE)) for length in image.size)
    return numpy.asarray(image.resize(size, Image.Resampling.BOX))
