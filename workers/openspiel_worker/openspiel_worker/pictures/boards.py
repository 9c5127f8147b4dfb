"""Positions of the pieces on a game's board, read from OpenSpiel's text of the state."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Iterator, Mapping, NamedTuple

WHITE, BLACK, RED, YELLOW, BLUE = "#f4f1e6", "#1f1f24", "#c0392b", "#e8b923", "#2d6cb5"
_LIGHT, _DARK, _GREEN = "#e9d8b4", "#ab8256", "#2f7d4f"

_BEFORE = re.compile(r"^[\sa-z^]*\d+")  # the number of a row
_AFTER = re.compile(r"\s[\da-z^<>]+\s*$")
_MARKS = str.maketrans("[]", "  ")  # around the last move
_RANK = re.compile(r"\d+|\+?[A-Za-z]")


@dataclass(frozen=True)
class Board:
    """How a game's board is written and drawn.

    `discs`: colours by the sign of a piece; `empty`: signs of places without one. `labelled`: rows have
    labels. `fen`: it is written in Forsyth-Edwards notation. `style`: "squares", "points" (pieces lie where
    lines cross) or "hexes". A piece whose sign is among `letters` is drawn with it. Squares are of `colour`,
    every second one of `dark` where that is given.
    """

    discs: Mapping[str, str]
    empty: str = "."
    labelled: bool = False
    fen: bool = False
    style: str = "squares"
    letters: str = ""
    colour: str = "#d8c7a0"
    dark: str = ""


class Place(NamedTuple):
    """A place on a board, in units of one place from the upper left, and the sign of its piece."""

    x: float
    y: float
    sign: str


def _sides(upper: str, lower: str, letters: str) -> dict[str, str]:
    """Return colours of pieces whose letters are capitals for one side, small for the other."""
    return {**dict.fromkeys(letters.upper(), upper), **dict.fromkeys(letters.lower(), lower)}


def _lettered(letters: str, upper: str, lower: str, **others: str | bool) -> Board:
    discs = _sides(upper, lower, letters)
    return Board(discs, letters="".join(discs), **others)  # type: ignore[arg-type]


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


def board_of(game: str, text: str) -> tuple[Board, list[Place]] | None:
    """Return a game's board and its places; None if the game or its text has no board."""
    board = BOARDS.get(game)
    if board is None:
        return None
    places = list(_ranks(text) if board.fen else _rows(board, text))
    return (board, places) if places else None


def _rows(board: Board, text: str) -> Iterator[Place]:
    """Yield the places of a board that is written as rows of signs, in columns of one or two characters."""
    signs = {*board.discs, *board.empty, " "}
    found = []
    for y, line in enumerate(text.splitlines()):
        row = line.translate(_MARKS)
        if board.labelled:
            row = _AFTER.sub("", _BEFORE.sub(lambda label: " " * len(label.group()), row))
        if row.strip() and set(row) <= signs:
            found.append((y, [(column, sign) for column, sign in enumerate(row) if sign != " "]))
    gaps = (b - a for _, row in found for (a, _), (b, _) in itertools.pairwise(row))
    pitch = min(gaps, default=1)
    left = min((row[0][0] for _, row in found), default=0)
    for y, row in found:
        yield from (Place((column - left) / pitch, y - found[0][0], sign) for column, sign in row)


def _ranks(fen: str) -> Iterator[Place]:
    """Yield the places of a position in Forsyth-Edwards notation; a piece may be promoted ("+p")."""
    for y, rank in enumerate(re.split(r"[ \[]", fen)[0].split("/")):
        x = 0
        for sign in _RANK.findall(rank):
            count = int(sign) if sign.isdigit() else 1
            yield from (Place(x + i, y, "" if sign.isdigit() else sign) for i in range(count))
            x += count
