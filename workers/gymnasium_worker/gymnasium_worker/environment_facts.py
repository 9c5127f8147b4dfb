"""Documented action names of environments, and the keys that select them.

Keys are the names of `KeyboardEvent.key`. If two players act at once, the second one uses keys on the left of
the keyboard, so that two people can share one.
"""

from __future__ import annotations

import re
from enum import EnumMeta
from typing import Any, Callable, Iterable, Mapping

from mosaic_contract.arena import EnvironmentFacts

Describe = Callable[[], Mapping[str, Any]]

_LEFT, _RIGHT, _UP, _DOWN = "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"
_SECOND_PLAYER = {_LEFT: "a", _RIGHT: "d", _UP: "w", _DOWN: "s", " ": "e"}  # the second player's keys
_BETS = (("call", "c"), ("raise", "r"), ("fold", "f"), ("check", "k"))
_MOVES = (
    ("no action", "0"),
    ("move left", _LEFT),
    ("move right", _RIGHT),
    ("move down", _DOWN),
    ("move up", _UP),
)

_TABLE: Mapping[str, tuple[tuple[str, str], ...]] = {  # each action's meaning and key
    "CartPole": (("push left", _LEFT), ("push right", _RIGHT)),
    "MountainCar": (("push left", _LEFT), ("no push", _DOWN), ("push right", _RIGHT)),
    "Acrobot": (("torque -1", _LEFT), ("no torque (noop)", _DOWN), ("torque +1", _RIGHT)),
    "LunarLander": (
        ("do nothing", _DOWN),
        ("left engine", _LEFT),
        ("main engine", _UP),
        ("right engine", _RIGHT),
    ),
    "CarRacing": (("do nothing", "0"), ("right", _RIGHT), ("left", _LEFT), ("gas", _UP), ("brake", _DOWN)),
    "FrozenLake": (("left", _LEFT), ("down", _DOWN), ("right", _RIGHT), ("up", _UP)),
    "FrozenLake8x8": (("left", _LEFT), ("down", _DOWN), ("right", _RIGHT), ("up", _UP)),
    "CliffWalking": (("up", _UP), ("right", _RIGHT), ("down", _DOWN), ("left", _LEFT)),
    "CliffWalkingSlippery": (("up", _UP), ("right", _RIGHT), ("down", _DOWN), ("left", _LEFT)),
    "Taxi": (
        *(("south", _DOWN), ("north", _UP), ("east", _RIGHT), ("west", _LEFT)),
        *(("pick up", "p"), ("drop off", "d")),
    ),
    "Blackjack": (("stick", "s"), ("hit", "h")),
    "connect_four": tuple((f"column {n}", str(n)) for n in range(1, 8)),
    "tictactoe": tuple((f"cell {n}", str(n)) for n in range(1, 10)),
    "rps": (("rock", "r"), ("paper", "p"), ("scissors", "s")),
    "leduc_holdem": _BETS,
    "texas_holdem": _BETS,
    "texas_holdem_no_limit": (
        *(("fold", "f"), ("check or call", "c"), ("raise half the pot", "h")),
        *(("raise the pot", "r"), ("all in", "a")),
    ),
    "cooperative_pong": (("do nothing", "0"), ("up", _UP), ("down", _DOWN)),
    "knights_archers_zombies": (
        *(("forward", _UP), ("backward", _DOWN), ("turn left", _LEFT), ("turn right", _RIGHT)),
        *(("use weapon", " "), ("do nothing", "0")),
    ),
    "pursuit": (("left", _LEFT), ("right", _RIGHT), ("down", _DOWN), ("up", _UP), ("stay", "0")),
}
_GRID = {  # MiniGrid's action names
    "left": _LEFT,
    "right": _RIGHT,
    "forward": _UP,
    "pickup": "p",
    "drop": "d",
    "toggle": " ",
    "done": "Enter",
}
_ATARI = {"NOOP": "0", "FIRE": " ", "UP": _UP, "RIGHT": _RIGHT, "LEFT": _LEFT, "DOWN": _DOWN}
_MPE = (
    "simple_spread",
    "simple_tag",
    "simple_adversary",
    "simple_push",
    "simple_formation",
    "simple_line",
    "simple",
    "collect_treasure",
)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    """Return information about one agent of an environment from `environments.make`."""
    inner = env.unwrapped
    agents = [str(agent) for agent in getattr(env, "possible_agents", ())]
    space = env.action_space(agent) if agents else env.action_space
    size = int(getattr(space, "n", 0))
    # These games have no teams: players compete, and other observations are hidden from them.
    team = "" if type(inner).__module__.startswith("pettingzoo.classic") else None
    name = _name(env)
    if name == "chess":
        return EnvironmentFacts(team=team, describe=chess_state(env, agent))
    pairs = _pairs(inner, size) or _table(name, size)
    if not pairs:
        return EnvironmentFacts(team=team)
    start = int(getattr(space, "start", 0))
    second = len(agents) == 2 and agent == agents[1] and not hasattr(env, "agent_iter")
    keys = {
        (_SECOND_PLAYER.get(key, key) if second else key): start + index
        for index, (_, key) in enumerate(pairs)
        if key
    }
    describe = frozen_lake_map(env) if name.startswith("FrozenLake") else None
    return EnvironmentFacts([meaning for meaning, _ in pairs], keys, team, describe=describe)


def _pairs(inner: Any, size: int) -> list[tuple[str, str]]:
    """Return (meaning, key) by action, as named by the environment itself (Atari, MiniGrid)."""
    if hasattr(inner, "get_action_meanings") and size:
        return [(meaning, _ATARI.get(meaning, "")) for meaning in inner.get_action_meanings()]
    actions = getattr(inner, "actions", None)
    if isinstance(actions, EnumMeta) and size and len(actions) == size:
        members: Iterable[Any] = actions
        return [(action.name, _GRID.get(action.name, "")) for action in members]
    return []


def _table(name: str, size: int) -> list[tuple[str, str]]:
    row = _MOVES if name in _MPE else _TABLE.get(name, ())
    return list(row) if len(row) == size else []


def _name(env: Any) -> str:
    """Return an id without its version: "CartPole" for CartPole-v1, "connect_four" for connect_four_v3."""
    spec = getattr(env, "spec", None)
    name = spec.id if spec is not None else str((getattr(env, "metadata", None) or {}).get("name", ""))
    return re.sub(r"[-_]v\d+$", "", name.rpartition("/")[2])


def frozen_lake_map(env: Any) -> Describe | None:
    """Return a function that describes a lake: {"map": a string per row, with S for the start, F for ice, H
    for a hole and G for the goal}; None for an environment without such a map."""
    inner = env.unwrapped
    if not hasattr(inner, "desc"):
        return None

    def describe() -> Mapping[str, Any]:
        return {"map": [b"".join(row).decode("ascii") for row in inner.desc.tolist()]}

    return describe


def chess_state(env: Any, agent: str) -> Describe:
    """Return a function that describes the board to the agent to move: {"fen": the position in
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
