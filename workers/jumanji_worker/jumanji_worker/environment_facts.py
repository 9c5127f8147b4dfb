"""The names of actions and the keys that choose them, in the environments whose actions are moves."""

from __future__ import annotations

from typing import Any

from mosaic_contract.arena import EnvironmentFacts

_MOVES = (("up", "ArrowUp"), ("right", "ArrowRight"), ("down", "ArrowDown"), ("left", "ArrowLeft"))
_NAMED = ("Snake", "Game2048", "Maze", "SlidingTilePuzzle", "Sokoban")


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    """Return the facts of an `arena_environment.ArenaEnvironment`."""
    if type(env.unwrapped).__name__ not in _NAMED:
        return EnvironmentFacts()
    return EnvironmentFacts(
        [meaning for meaning, _ in _MOVES], {key: number for number, (_, key) in enumerate(_MOVES)}
    )
