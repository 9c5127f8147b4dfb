"""Pictures of the games, which have none of their own: boards, and texts for all other games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .boards import board_of
from .drawing import draw_board, draw_text

if TYPE_CHECKING:
    from ..game_environment import GameEnvironment


def picture_of(env: GameEnvironment) -> Any:
    """Return a game as an array (height, width, 3) of uint8.

    It has nothing that only one player may know: of a game with hidden cards or moves it shows who is on turn
    and the public part of what has happened, and the whole state when the game is over.
    """
    text = str(env.state) if env.perfect or env.state.is_terminal() else _public(env)
    board = board_of(env.kind.short_name, text)
    return draw_text(text or " ") if board is None else draw_board(*board)


def _public(env: GameEnvironment) -> str:
    moves = sum(pair.player >= 0 for pair in env.state.full_history())
    lines = [env.kind.long_name, "", f"Moves played: {moves}", f"On turn: {env.agent_selection}"]
    return "\n".join([*lines, "", _public_observation(env)])


def _public_observation(env: GameEnvironment) -> str:
    """Return what OpenSpiel calls public now; empty for a game that does not say."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    kind = pyspiel.IIGObservationType(
        public_info=True, perfect_recall=False, private_info=pyspiel.PrivateInfoType.NONE
    )
    observation = make_observation(env.game, kind)
    return str((observation and observation.string_from(env.state, 0)) or "")
