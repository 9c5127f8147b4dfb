"""Recording of a training's own episodes with their observations, on request (`lab.train(record=)`).

Each environment of the training writes its episodes to the run's folder of recordings, where `EPISODES` lists
the finished ones.
"""

from __future__ import annotations

import itertools
import json
from importlib import metadata
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional

from mosaic_contract.codec import with_tagged_tuples
from mosaic_contract.episode_recording import OBSERVATIONS, EpisodeRecorder, recording_problem, spec_of
from mosaic_contract.errors import ConfigError
from mosaic_contract.spaces import describe_space

EPISODES = "episodes.jsonl"
"""The list of the finished episodes: a line of {"file", "sha256", "steps", "return"} for each."""
_PACKAGES = ("gymnasium", "numpy")


class _Training:
    """The folder of a training's recordings, and the numbers of its next episodes."""

    def __init__(self, run_dir: Path) -> None:
        self.folder = run_dir / OBSERVATIONS
        for unfinished in self.folder.glob("*.part"):  # of a process that was killed
            unfinished.unlink()
        last = max((int(file.stem) for file in self.folder.glob("*.npz") if file.stem.isdigit()), default=-1)
        self.numbers: Iterator[int] = itertools.count(last + 1)


_training: Optional[_Training] = None


def check_recorded(spec: Any) -> None:
    """Raise `ConfigError` for an environment whose observations cannot be recorded, given its
    `EnvironmentSpec`."""
    spaces = {
        agent: [describe_space(space), describe_space(spec.actions[agent])]
        for agent, space in spec.observations.items()
    }
    if problem := recording_problem(spec.env_id, spaces):
        raise ConfigError(problem)


def record_training(run_dir: Path) -> None:
    """Let the environments that this process makes from now on record their episodes."""
    global _training
    _training = _Training(run_dir)


def training_recorder(env: Any, env_id: str) -> TrainingRecorder | None:
    """Return the recorder of an environment; None if episodes are not recorded."""
    return None if _training is None else TrainingRecorder(_training, env, env_id)


class TrainingRecorder:
    """Records the episodes of one environment. The methods raise `OSError`."""

    def __init__(self, training: _Training, env: Any, env_id: str) -> None:
        versions = {name: metadata.version(name) for name in _PACKAGES}
        described = {
            "env_id": env_id,
            "env_kwargs": with_tagged_tuples(_keywords(env)),
            "env_spec": spec_of(env),
            "versions": versions,
            "observation_space": describe_space(env.observation_space),
            "action_space": describe_space(env.action_space),
        }
        self._training = training
        self._recorder = EpisodeRecorder(training.folder, described)
        self._steps, self._total = 0, 0.0

    def begin(self, seed: Optional[int], observation: Any) -> None:
        """Begin an episode. One that has not ended was truncated by a wrapper."""
        if self._steps:
            self._end(truncated=True)
        self._recorder.begin(next(self._training.numbers), seed, observation)
        self._steps, self._total = 0, 0.0

    def step(self, action: Any, reward: float, terminated: bool, truncated: bool, observation: Any) -> None:
        """Record a step with the observation after it."""
        self._recorder.step(action, reward, terminated, truncated, observation)
        self._steps += 1
        self._total += float(reward)
        if terminated or truncated:
            self._end(truncated=False)

    def close(self) -> None:
        """Delete the file of an episode that has not ended."""
        self._recorder.discard()

    def _end(self, truncated: bool) -> None:
        recorded = self._recorder.end(truncated)
        self._steps = 0
        if recorded is not None:
            with (self._training.folder / EPISODES).open("a", encoding="utf-8") as episodes:
                episodes.write(json.dumps({**recorded, "return": self._total}) + "\n")


def _keywords(env: Any) -> Mapping[str, Any]:
    """Return the keyword arguments of an environment that JSON can represent."""
    keywords = {}
    for name, value in dict(getattr(env.spec, "kwargs", None) or {}).items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            continue
        keywords[name] = value
    keywords.pop("render_mode", None)
    return keywords
