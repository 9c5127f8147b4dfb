"""The position of PettingZoo's chess, in the notations that chess programs read."""

from __future__ import annotations

from typing import Any, Callable, Mapping

Describe = Callable[[], Mapping[str, Any]]


def chess_state(env: Any, agent: str) -> Describe:
    """Return a function that describes the board to the agent on turn: {"fen": the position in
    Forsyth-Edwards notation, "legal_moves": {move in UCI notation: action}}."""
    from pettingzoo.classic.chess.chess_utils import action_to_move, legal_moves

    game = env.unwrapped
    player = game.possible_agents.index(agent)

    def describe() -> Mapping[str, Any]:
        moves = {action_to_move(game.board, action, player): action for action in legal_moves(game.board)}
        return {
            "fen": game.board.fen(),
            "legal_moves": {move.uci(): int(action) for move, action in moves.items()},
        }

    return describe
