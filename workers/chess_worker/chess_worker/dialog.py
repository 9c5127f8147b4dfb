"""The dialog in which a model chooses one move: it may view the board, list its moves, and make a move.

Input: a position and the model's replies. Output: the next prompts, and finally a move or a failure. Every
move has a new dialog without the previous one's content.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mosaic_contract.language import Parsed, Turn

from .position import Position

BOARD, MOVES, MOVE = "get_current_board", "get_legal_moves", "make_move"
_MOVE = re.compile(rf"{MOVE}\s+(\w+)")
_UCI = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?")

_RULES = """\
You are playing a game of chess with the {side} pieces, and it is your turn. These are your actions:
- {board} shows the board.
- {moves} lists your legal moves, separated by commas.
- {move} <move> makes a move and ends your turn. Moves are in UCI notation: the square moved from and the \
square moved to, such as e2e4, and for a promotion the letter of the new piece, such as e7e8q.
Reply with one action and nothing else, for example: {move} e2e4"""


@dataclass(frozen=True)
class DialogLimits:
    """A dialog fails after `max_failures` replies without a usable action, or `max_turns` replies."""

    max_failures: int = 3
    max_turns: int = 10


class Dialog:
    """One move's dialog. `turns` is the next request's prompt; `read` parses its answer, `apply` continues
    after it: then `move` is the model's move once made, and `failure` the reason if the dialog failed."""

    def __init__(self, position: Position, limits: DialogLimits) -> None:
        rules = _RULES.format(side=position.side, board=BOARD, moves=MOVES, move=MOVE)
        self.turns = [Turn("user", rules)]
        self.move: str | None = None
        self.failure = ""
        self.repairs = False
        """Whether the last reply had no usable action."""
        self._position = position
        self._limits = limits
        self._replies = self._failures = 0

    @property
    def choices(self) -> list[str]:
        """Return every reply that would currently be understood."""
        return [BOARD, MOVES, *(f"{MOVE} {move}" for move in self._position.legal)]

    @property
    def is_last(self) -> bool:
        """Return whether the dialog fails if the next reply is unusable."""
        return self._failures + 1 >= self._limits.max_failures or self._replies + 1 >= self._limits.max_turns

    def read(self, reply: str) -> Parsed:
        """Return the action in a reply: the first of the three actions, in their order, that it names."""
        text = reply.lower()
        for query in (BOARD, MOVES):
            if query in text:
                last = self._replies + 1 == self._limits.max_turns
                return Parsed(None if last else query, query)
        match = _MOVE.search(text)
        if match is None:
            return Parsed(None, None, ("unparsed",))
        move = match[1]
        if move in self._position.legal:
            return Parsed(f"{MOVE} {move}", f"{MOVE} {move}")
        return Parsed(None, None, ("illegal" if _UCI.fullmatch(move) else "unparsed",))

    def apply(self, reply: str, action: str | None) -> None:
        """Continue after a reply with the parsed `action`; None if it has no usable action."""
        self._replies += 1
        self.repairs = action is None
        if action is not None and action.startswith(MOVE):
            self.move = action.split()[1]
            return
        self._failures += self.repairs
        self.turns += [
            Turn("assistant", reply or "(an empty reply)"),
            Turn("user", self._response(reply, action)),
        ]
        if self._failures >= self._limits.max_failures:
            self.failure = f"{self._failures} replies in one dialog were not a usable action"
        elif self._replies >= self._limits.max_turns:
            self.failure = f"no move after {self._replies} replies in one dialog"

    def _response(self, reply: str, action: str | None) -> str:
        if action == BOARD:
            return self._position.diagram()
        if action == MOVES:
            return ",".join(self._position.legal)
        if match := _MOVE.search(reply.lower()):
            return f"Failed to make move: {match[1]} is not a legal move here."
        return f"Invalid action. Reply with {BOARD}, {MOVES} or {MOVE} <move>."
