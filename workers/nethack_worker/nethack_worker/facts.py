"""The facts of a game for operators and panels, beside its observations."""

from __future__ import annotations

from mosaic_contract.arena import EnvironmentFacts

from .actions import action_keys, action_names
from .environment import NetHackEnvironment
from .screen import as_text

_TEXT = ("chars", "blstats", "message", "screen_descriptions", "inv_strs", "inv_letters")


def game_facts(env: NetHackEnvironment, task: str) -> EnvironmentFacts:
    """Return the facts of the one agent; `task` says what it is to do.

    A state is described where NLE observes all that its text is made of, as it does unless the
    setting "observation_keys" leaves some of it out.
    """
    actions = list(env.game.actions)
    reads = set(_TEXT) <= set(env.game._observation_keys)
    return EnvironmentFacts(
        action_names(actions),
        action_keys(actions),
        instructions=task,
        describe=(lambda: {"text": as_text(env.screen())}) if reads else None,
        packages=("nle", "minihack"),
    )
