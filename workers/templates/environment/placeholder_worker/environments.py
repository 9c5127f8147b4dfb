"""The environments: their ids, how to make one, and the facts shown to operators and people."""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, check_settings

from .corridor import Corridor

# FILL IN: the library's environments, with the interface of Gymnasium or PettingZoo (AEC or parallel).
ENVIRONMENTS = {"Placeholder/Corridor-v0": Corridor}


def known() -> list[str]:
    """Return the ids that `mosaic-lab workers list placeholder` shows."""
    return sorted(ENVIRONMENTS)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    """Return an environment; `settings` are the user's keywords, `render_mode` is "rgb_array" or None. Raises
    `ConfigError` for unknown ids and settings."""
    if env_id not in ENVIRONMENTS:
        raise ConfigError(f"environment {env_id!r} cannot be made here; there are: {', '.join(known())}")
    check_settings(env_id, settings, ENVIRONMENTS[env_id])
    return ENVIRONMENTS[env_id](**settings, render_mode=render_mode)


def facts_of(env: Corridor, agent: str) -> EnvironmentFacts:
    """Return the facts that operators and people are shown beside the observations."""
    # FILL IN: the meanings of the actions, the keys that choose them, the rules for language models.
    return EnvironmentFacts(
        action_meanings=["left", "right"],
        keys={"ArrowLeft": 0, "ArrowRight": 1},
        instructions="You walk in a corridor. Reach its right end in as few steps as you can.",
        describe=lambda: {"text": f"You are {env.length - env.place} steps from the right end."},
    )
