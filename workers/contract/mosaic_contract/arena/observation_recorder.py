"""Recording of the episodes of an arena's only agent with their observations, on request."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Mapping, TypeVar

from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arena.environment_description import EnvironmentDescription
from mosaic_contract.arena.episode import ArenaEpisode
from mosaic_contract.arena.errors import ArenaError
from mosaic_contract.codec import with_tagged_tuples
from mosaic_contract.episode_recording import OBSERVATIONS, EpisodeRecorder, recording_problem, spec_of

R = TypeVar("R")


class ObservationRecorder:
    """Writes the episodes of an arena to its `folder`; `settings` are the environment's keyword arguments.

    Raises `ArenaError` for an environment that cannot be recorded, and if a file cannot be written: such an
    episode fails.
    """

    def __init__(
        self,
        folder: Path,
        environment: EnvironmentAdapter,
        description: EnvironmentDescription,
        settings: Mapping[str, Any],
    ) -> None:
        spaces = {}
        for agent in environment.agents:
            introduction = description.introduction(agent)
            spaces[agent] = {name: introduction[name] for name in ("observation_space", "action_space")}
            meanings = introduction["settings"]["action_meanings"]
        by_agent = {agent: described.values() for agent, described in spaces.items()}
        if problem := recording_problem(description.env_id, by_agent):
            raise ArenaError(problem, error_type="ConfigError")
        (self._agent,) = environment.agents
        self._environment = environment
        described = {
            "env_id": description.env_id,
            "env_kwargs": with_tagged_tuples(settings),
            "env_spec": spec_of(environment.env),
            "versions": description.versions(),
            "action_meanings": meanings,
            **spaces[self._agent],
        }
        self._recorder = EpisodeRecorder(folder / OBSERVATIONS, described)

    def begin(self, episode: ArenaEpisode) -> None:
        """Begin an episode with the environment's first observation."""
        observation = self._environment.observe(self._agent).observation
        self._write(lambda: self._recorder.begin(episode.index, episode.seed, observation))

    def step(self, calls: list[Call]) -> None:
        """Record a step that the environment has taken."""
        environment = self._environment
        terminated, truncated = environment.terminated[self._agent], environment.truncated[self._agent]
        observation = environment.observe(self._agent).observation
        action, reward = calls[0].action, environment.rewards[self._agent]
        self._write(lambda: self._recorder.step(action, reward, terminated, truncated, observation))

    def end(self, episode: ArenaEpisode) -> None:
        """Finish the file of an episode, which its report then names."""
        episode.recording = self._write(lambda: self._recorder.end(episode.truncated))

    def close(self) -> None:
        """Delete the file of an episode that has not ended."""
        with suppress(OSError):
            self._recorder.discard()

    def _write(self, write: Callable[[], R]) -> R:
        try:
            return write()
        except OSError as error:
            raise ArenaError(f"the observations could not be recorded: {error}") from error
