"""The start of a replay: find the environment's worker, and play the episode in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.arena_workers import environment_worker
from mosaic_lab.arenas.plan import ArenaPlan, ArenaSetup
from mosaic_lab.arenas.replays.played_episode import PlayedEpisode
from mosaic_lab.arenas.replays.player import play
from mosaic_lab.arenas.replays.recorded_observations import show_recorded
from mosaic_lab.arenas.replays.replay import Replay
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.runs.run_names import latest_display
from mosaic_lab.workers.families import shown_as

Progress = Callable[[int, int], None]
"""Called with the number of steps played and the total."""


def replay_episode(
    plan: ArenaPlan,
    episode: PlayedEpisode,
    install: Callable[[str], None] = print,
    progress: Progress | None = None,
    players: Mapping[str, Any] | None = None,
) -> Replay:
    """Play an episode of the plan again.

    ``install`` is called with a line for each installation step. By default, ``progress`` shows a line for a
    longer replay, as `Run.wait` does, if there is a `Lab`. ``players`` are the operators, by lane, of a
    comparison that begins at a step of the replay; default: the plan's.

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
    if players is None:
        players = {label: plan.mapping(label) for label in plan.lanes}
    playback = play(episode, setup, progress or _progress_line())
    note = ""
    if playback.difference is not None and episode.observed is not None:
        note = show_recorded(playback, episode.observed, len(episode.steps))
    replay = Replay(environment, episode, playback, _comparison(plan, players))
    replay.note = "; ".join(filter(None, [replay.note, note]))
    return replay


def _progress_line() -> Progress:
    """Return a function that shows the progress on the display of the latest `Lab`, if any."""
    if (display := latest_display()) is None:
        return lambda played, total: None
    position = 0, 0
    show = display.progress(lambda: f"replaying: step {position[0]:,} of {position[1]:,}")

    def report(played: int, total: int) -> None:
        nonlocal position
        position = played, total
        show(played == total)

    return report


def _comparison(plan: ArenaPlan, players: Mapping[str, Any]) -> CompareRequest:
    """Return the request that compares ``players`` in a plan's environment, or one without operators if there
    are none or the environment needs a variable that a comparison does not set."""
    return CompareRequest(
        env=plan.env_id,
        operators=None if plan.env_vars else players or None,
        env_kwargs=plan.settings,
        max_steps=plan.request.max_steps,
        step_timeout=plan.request.step_timeout,
        start=plan.request.start,
        family=plan.family,
        pass_env_vars=plan.pass_env_vars,
    )


def checked_names(names: Sequence[str]) -> list[str]:
    """Return the names of operators to replay side by side. Raises ConfigurationError unless they are a list
    of distinct names."""
    listed = list(names) if isinstance(names, list | tuple) else []
    if not listed or not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
        raise ConfigurationError(f"{names!r:.200}: must be the name of an operator, or a list of names")
    return listed
