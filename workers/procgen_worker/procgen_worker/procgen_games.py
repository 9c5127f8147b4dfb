"""Procgen's 16 games, with levels generated from the seed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts

_KEYS = {
    ("LEFT",): "ArrowLeft",
    ("RIGHT",): "ArrowRight",
    ("UP",): "ArrowUp",
    ("DOWN",): "ArrowDown",
    (): "0",
}
_TASKS = {
    "bigfish": "Eat the fish that are smaller than yours, and keep away from the bigger ones.",
    "bossfight": "Shoot the boss's ship when its shield is down, and dodge what it shoots.",
    "caveflyer": "Fly through the cave to the ship, and shoot or dodge what is in the way.",
    "chaser": "Collect all orbs of the maze, and keep away from the enemies unless you have a star.",
    "climber": "Climb the platforms and collect the stars.",
    "coinrun": "Run to the right to the coin, over saws, enemies and pits.",
    "dodgeball": "Hit the enemies with balls, dodge theirs, and leave by the door that then opens.",
    "fruitbot": "Collect fruit and nothing else, and unlock the gates.",
    "heist": "Collect the keys, open the locks of their colours, and take the gem.",
    "jumper": "Find the carrot; the compass shows where it is.",
    "leaper": "Cross the road and the river to the other side.",
    "maze": "Find the cheese in the maze.",
    "miner": "Collect all diamonds and go to the exit, without a boulder falling on you.",
    "ninja": "Jump to the mushroom, and throw stars at the bombs.",
    "plunder": "Shoot the pirates' ships of the colour that is shown, and no others.",
    "starpilot": "Fly, shoot the enemies, and dodge what they shoot.",
}


@lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    return tuple(f"procgen-{name}-v0" for name in _TASKS)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    from .procgen_environment import ProcgenEnvironment

    game = env_id.removeprefix("procgen-").removesuffix("-v0")
    return ProcgenEnvironment(env_id, game, settings, render_mode)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    return EnvironmentFacts(
        [" and ".join(combo).lower() or "nothing" for combo in env.combos],
        {_KEYS.get(combo, "".join(combo).lower()): n for n, combo in enumerate(env.combos) if len(combo) < 2},
        instructions=f"You play the video game {env.name}. {_TASKS[env.name]}",
        packages=("procgen-mirror",),
    )
