"""Start a replay: find the environment's worker, and play the episode in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from mosaic_lab.arenas.arena_workers import environment_worker
from mosaic_lab.arenas.plan import ArenaPlan, ArenaSetup
from mosaic_lab.arenas.replays.played_episode import PlayedEpisode
from mosaic_lab.arenas.replays.player import play
from mosaic_lab.arenas.replays.replay import Replay
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.workers.families import shown_as

Progress = Callable[[int], None]
"""Called with the number of steps played."""


def replay_episode(
    plan: ArenaPlan,
    episode: PlayedEpisode,
    install: Callable[[str], None] = print,
    progress: Progress = lambda _: None,
) -> Replay:
    """Play an episode of the plan again. ``install`` is called with a line for each installation step.

    Raises WorkerEnvironmentError or ConfigurationError if the environment's worker is missing or cannot make
    it, and MosaicError if the environment fails.
    """
    setup = ArenaSetup(
        plan=plan,
        arena=environment_worker(plan.family, install).command(),
        commands={},
        variables=compose_variables(os.environ, env_vars=plan.env_vars, pass_env_vars=plan.pass_env_vars),
        folder=Path(),
    )
    environment = shown_as(plan.env_id, plan.family)
    return Replay(environment, episode, play(episode, setup, progress), plan.request.start)


def checked_names(names: Sequence[str]) -> list[str]:
    """Return the names of operators to replay side by side. Raises ConfigurationError if they are not a list
    of different names."""
    listed = list(names) if isinstance(names, list | tuple) else []
    if not listed or not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
        raise ConfigurationError(f"{names!r:.200}: must be the name of an operator, or a list of names")
    return listed
