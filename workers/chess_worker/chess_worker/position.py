"""The current position, as described by the environment's worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

import chess
from mosaic_contract import ConfigError


@dataclass(frozen=True)
class Position:
    """A chess board with its legal moves: {move in UCI notation: the environment's action}."""

    board: chess.Board
    legal: Mapping[str, int]

    @classmethod
    def described(cls, description: Mapping[str, Any] | None) -> Position:
        """Read a `description` with "fen" and "legal_moves". Raises `ConfigError` if it has none."""
        if not description or "fen" not in description or "legal_moves" not in description:
            raise ConfigError(
                "a chess player acts where the environment gives its position and its legal moves: in "
                "PettingZoo's chess_v6"
            )
        return cls(chess.Board(str(description["fen"])), dict(description["legal_moves"]))

    @property
    def side(self) -> str:
        """The side to move: "white" or "black"."""
        return chess.COLOR_NAMES[self.board.turn]

    def diagram(self) -> str:
        """Return the board as eight lines of Unicode pieces, the eighth rank first."""
        return str(self.board.unicode(empty_square="."))
