"""BALROG's environments, as text for language models and with their usual observations for other operators.

Ids are "balrog/<family>/<task>". The libraries are
imported when an environment of theirs is made.
"""

from __future__ import annotations

import difflib
from typing import Any, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, check_settings

from . import families
from .text_environment import TextEnvironment

PREFIX = "balrog/"


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> TextEnvironment:
    """Return the environment. Raises `ConfigError` for an unknown id, with the nearest that are known, and
    for settings that it does not have."""
    family, _, task = env_id.removeprefix(PREFIX).partition("/")
    if not env_id.startswith(PREFIX) or family not in families.FAMILIES:
        raise _unknown(env_id)
    tasks, maker = families.FAMILIES[family]
    if task not in tasks():
        raise _unknown(env_id)
    made_by, fixed = maker(task)
    check_settings(env_id, settings, made_by)
    if render_mode not in (None, *made_by.metadata["render_modes"]):
        raise ValueError(f"{family} is played in text only")
    return made_by(*fixed, **settings)


def known() -> list[str]:
    """Return the ids of all environments."""
    return [
        f"{PREFIX}{family}/{task}" if task else f"{PREFIX}{family}"
        for family, (tasks, _) in families.FAMILIES.items()
        for task in tasks()
    ]


def facts_of(env: TextEnvironment, agent: str) -> EnvironmentFacts:
    """Return what an environment of `make` says of itself."""
    return EnvironmentFacts(
        action_meanings=env.action_names, instructions=env.instructions, describe=env.description
    )


def _unknown(env_id: str) -> ConfigError:
    near = difflib.get_close_matches(env_id, known(), n=3)
    return ConfigError(
        f"BALROG's worker has no environment {env_id!r}."
        + (f" Did you mean {' or '.join(near)}?" if near else "")
        + " `mosaic-lab workers list balrog` shows those that there are"
    )
