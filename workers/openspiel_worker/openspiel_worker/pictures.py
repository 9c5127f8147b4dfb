"""Pictures of games, which OpenSpiel does not render: boards, and text for all other games."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Sequence

import numpy
from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    from .games import GameEnvironment

_BOARD_PIXELS = 480  # of the longer side
_MAX_CELL_PIXELS = 80
_SCALE = 2
_INK, _PAPER, _LINE = "#22222a", "#f7f6f1", "#5b5347"
_FONT_PIXELS = 15
_MAX_COLUMNS, _MAX_ROWS = 110, 60  # maximum number of characters drawn
_HEX_HEIGHT = 0.866  # height of a row of hexagons with width 1
WHITE, BLACK, RED, YELLOW, BLUE = "#f4f1e6", "#1f1f24", "#c0392b", "#e8b923", "#2d6cb5"
_LIGHT, _DARK, _GREEN = "#e9d8b4", "#ab8256", "#2f7d4f"

_ROW_LABEL = re.compile(r"^[\sa-z^]*\d+")  # the number of a row
_TRAILING_LABEL = re.compile(r"\s[\da-z^<>]+\s*$")
_MOVE_BRACKETS = str.maketrans("[]", "  ")  # around the last move
_RANK = re.compile(r"\d+|\+?[A-Za-z]")


def picture_of(env: GameEnvironment) -> Any:
    """Return a picture of a game, (height, width, 3) uint8.

    It shows no private information: for a game with hidden cards or moves, the player to move and the public
    history, and the whole state once the game is over.
    """
    text = str(env.state) if env.perfect or env.state.is_terminal() else _public(env)
    board = board_of(env.game_type.short_name, text)
    return draw_text(text or " ") if board is None else draw_board(*board)


def _public(env: GameEnvironment) -> str:
    moves = sum(pair.player >= 0 for pair in env.state.full_history())
    lines = [env.game_type.long_name, "", f"Moves played: {moves}", f"On turn: {env.agent_selection}"]
    return "\n".join([*lines, "", _public_observation(env)])


def _public_observation(env: GameEnvironment) -> str:
    """Return OpenSpiel's public observation; empty if the game has none."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    observation_type = pyspiel.IIGObservationType(
        public_info=True, perfect_recall=False, private_info=pyspiel.PrivateInfoType.NONE
    )
    observation = make_observation(env.game, observation_type)
    return str((observation and observation.string_from(env.state, 0)) or "")


def draw_board(board: Board, squares: Sequence[Square]) -> Any:
    """Return the picture of a board, (height, width, 3) uint8."""
    height = _HEX_HEIGHT if board.style == "hexes" else 1.0
    columns, rows = max(square.x for square in squares) + 2, max(square.y for square in squares) + 2
    cell = _SCALE * min(_MAX_CELL_PIXELS, int(_BOARD_PIXELS / max(columns, rows * height)))
    image = Image.new("RGB", (round(columns * cell), round((rows * height + 0.2) * cell)), _PAPER)
    draw = ImageDraw.Draw(image)
    points = {(square.x, square.y) for square in squares}
    centres = [((square.x + 1) * cell, (square.y + 1) * height * cell) for square in squares]
    for square, centre in zip(squares, centres):
        _draw_square(draw, board, square, centre, cell, points)
    for square, centre in zip(squares, centres):
        if square.sign[-1:] in board.discs:
            _draw_piece(draw, board, square.sign, centre, cell)
    return _downsampled(image)


def draw_text(text: str) -> Any:
    """Draw text in a monospaced font; return an array (height, width, 3) of uint8."""
    lines = [line[:_MAX_COLUMNS] for line in text.expandtabs(4).splitlines()[:_MAX_ROWS]]
    size = _SCALE * _FONT_PIXELS
    wide, high = round(0.64 * size), round(1.35 * size)
    columns = max(24, *(len(line) for line in lines), 0)
    image = Image.new("RGB", ((columns + 4) * wide, (max(len(lines), 6) + 2) * high), _PAPER)
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        for column, sign in enumerate(line):
            if sign != " ":
                centre = ((column + 2.5) * wide, (row + 1.5) * high)
                draw.text(centre, sign, fill=_INK, font=_font(size), anchor="mm")
    return _downsampled(image)


def _draw_square(
    draw: Any,
    board: Board,
    square: Square,
    centre: tuple[float, float],
    cell: int,
    points: set[tuple[float, float]],
) -> None:
    """Draw the background of one place: a square, a hexagon, or crossing lines."""
    (x, y), half = centre, cell / 2
    if board.style == "hexes":
        tall = half / _HEX_HEIGHT
        corners = [(0, -tall), (half, -tall / 2), (half, tall / 2), (0, tall), (-half, tall / 2)]
        corners.append((-half, -tall / 2))
        draw.polygon([(x + a, y + b) for a, b in corners], fill=board.colour, outline=_LINE, width=_SCALE)
        return
    dark = board.dark and (square.x + square.y) % 2
    outline = _LINE if board.style == "squares" and not board.dark else None
    colour = board.dark if dark else board.colour
    draw.rectangle((x - half, y - half, x + half, y + half), fill=colour, outline=outline, width=_SCALE)
    if board.style == "points":
        for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            if (square.x + a, square.y + b) in points:
                draw.line((x, y, x + a * half, y + b * half), fill=_LINE, width=_SCALE)


def _draw_piece(draw: Any, board: Board, sign: str, centre: tuple[float, float], cell: int) -> None:
    (x, y), radius = centre, 0.4 * cell
    colour = board.discs[sign[-1]]
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour, outline=_INK, width=_SCALE)
    if sign[-1] in board.letters:
        ink = _PAPER if _is_dark(colour) else _INK
        letter = sign.upper() if sign[-1].isalpha() else "K"  # a crowned piece is a king
        draw.text(centre, letter, fill=ink, font=_font(round(0.5 * cell)), anchor="mm")


def _is_dark(colour: str) -> bool:
    return sum(int(colour[start : start + 2], 16) for start in (1, 3, 5)) < 3 * 128


@lru_cache(maxsize=None)
def _font(size: int) -> Any:
    return ImageFont.load_default(size)


def _downsampled(image: Any) -> Any:
    """Return a picture reduced to its display size, with even sides."""
    size = tuple(2 * (length // (2 * _SCALE)) for length in image.size)
    return numpy.asarray(image.resize(size, Image.Resampling.BOX))


@dataclass(frozen=True)
class Board:
    """Notation and appearance of a game's board.

    `discs`: colours by piece sign; `empty`: signs of empty places. `labelled`: rows have labels. `fen`: the
    notation is Forsyth-Edwards. `style`: "squares", "points" (pieces on line crossings) or "hexes". Pieces
    with signs in `letters` are drawn with their sign. Squares have the colour `colour`, alternating with
    `dark` if given.
    """

    discs: Mapping[str, str]
    empty: str = "."
    labelled: bool = False
    fen: bool = False
    style: str = "squares"
    letters: str = ""
    colour: str = "#d8c7a0"
    dark: str = ""


class Square(NamedTuple):
    """A place on a board, in units of one place from the upper left, and the sign of its piece."""

    x: float
    y: float
    sign: str


def _lettered(letters: str, upper: str, lower: str, **options: str | bool) -> Board:
    discs = {**dict.fromkeys(letters.upper(), upper), **dict.fromkeys(letters.lower(), lower)}
    return Board(discs, letters="".join(discs), **options)  # type: ignore[arg-type]


_CHESS = _lettered("pnbrqk", WHITE, BLACK, fen=True, colour=_LIGHT, dark=_DARK)
_CROSSES = Board({"x": RED, "o": BLUE}, letters="xo", colour="#f2efe6")
_HEXES = Board({"O": WHITE, "@": BLACK}, labelled=True, style="hexes")
BOARDS: Mapping[str, Board] = {
    "amazons": Board({"X": BLACK, "O": WHITE, "#": RED}, colour=_LIGHT, dark=_DARK),
    "antichess": _CHESS,
    "breakthrough": Board({"b": BLACK, "w": WHITE}, labelled=True, colour=_LIGHT, dark=_DARK),
    "checkers": Board(
        {"o": WHITE, "8": WHITE, "+": BLACK, "*": BLACK},
        labelled=True,
        letters="8*",
        colour=_LIGHT,
        dark=_DARK,
    ),
    "chess": _CHESS,
    "clobber": Board({"o": WHITE, "x": BLACK}, labelled=True),
    "connect_four": Board({"x": RED, "o": YELLOW}, colour="#2d5fa8"),
    "crazyhouse": _CHESS,
    "go": Board({"X": BLACK, "O": WHITE}, empty="+", labelled=True, style="points"),
    "gomoku": Board({"b": BLACK, "w": WHITE}, style="points"),
    "havannah": _HEXES,
    "hex": Board({"x": BLACK, "o": WHITE}, style="hexes"),
    "lines_of_action": Board({"x": BLACK, "o": WHITE}, labelled=True, colour=_LIGHT, dark=_DARK),
    "mnk": _CROSSES,
    "othello": Board({"x": BLACK, "o": WHITE}, empty="-", labelled=True, colour=_GREEN),
    "pentago": Board({"O": WHITE, "@": BLACK}, labelled=True, colour="#9c3d2e"),
    "shogi": _lettered("lnsgkrbp", WHITE, BLACK, fen=True),
    "tic_tac_toe": _CROSSES,
    "ultimate_tic_tac_toe": _CROSSES,
    "xiangqi": _lettered("rheagcs", RED, BLACK, style="points"),
    "y": _HEXES,
}


def board_of(game: str, text: str) -> tuple[Board, list[Square]] | None:
    """Return a game's board and its places; None if the game or its text has no board."""
    board = BOARDS.get(game)
    if board is None:
        return None
    squares = list(_ranks(text) if board.fen else _rows(board, text))
    return (board, squares) if squares else None


def _rows(board: Board, text: str) -> Iterator[Square]:
    """Yield the places of a board written as rows of signs, in columns of one or two characters."""
    signs = {*board.discs, *board.empty, " "}
    rows: list[tuple[int, list[tuple[int, str]]]] = []
    for y, line in enumerate(text.splitlines()):
        row = line.translate(_MOVE_BRACKETS)
        if board.labelled:
            row = _TRAILING_LABEL.sub("", _ROW_LABEL.sub(lambda label: " " * len(label.group()), row))
        if row.strip() and set(row) <= signs:
            rows.append((y, [(column, sign) for column, sign in enumerate(row) if sign != " "]))
    gaps = (b - a for _, row in rows for (a, _), (b, _) in itertools.pairwise(row))
    pitch = min(gaps, default=1)
    origin = min((row[0][0] for _, row in rows), default=0)
    for y, signs_of_row in rows:
        yield from (Square((column - origin) / pitch, y - rows[0][0], sign) for column, sign in signs_of_row)


def _ranks(fen: str) -> Iterator[Square]:
    """Yield the places of a position in Forsyth-Edwards notation; a piece may be promoted ("+p")."""
    for y, rank in enumerate(re.split(r"[ \[]", fen)[0].split("/")):
        x = 0
        for sign in _RANK.findall(rank):
            count = int(sign) if sign.isdigit() else 1
            yield from (Square(x + i, y, "" if sign.isdigit() else sign) for i in range(count))
            x += count
