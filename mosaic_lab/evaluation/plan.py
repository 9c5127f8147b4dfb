"""The plan of an evaluation, which determines every episode in advance.

An episode depends only on its operator, seed and number, not on other episodes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from mosaic_contract import derive_seed

from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.arenas.request_checks import MOST_EPISODES
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.runs.own_module import module_path

SeedSequence = Literal["procedural", "fixed"]
OnFailure = Literal["stop", "skip", "retry"]

SEED_SEQUENCES: tuple[SeedSequence, ...] = ("procedural", "fixed")
ON_FAILURE: tuple[OnFailure, ...] = ("stop", "skip", "retry")

Key = tuple[str, int, int]
"""An episode's key: its operator's label, its seed and its number on that seed."""


def episode_text(label: str, seed: int, episode: int) -> str:
    """Return an episode's name for messages: "PPO, seed 7, episode 2". Episode 0 is not numbered."""
    return f"{label}, seed {seed}" + (f", episode {episode}" if episode else "")


@dataclass(frozen=True)
class EpisodeJob:
    """One episode. ``index`` counts the episodes of an operator, ``episode_seed`` seeds the environment, and
    ``operator_seed`` the operators' random numbers.
    """

    label: str
    seed: int
    episode: int
    index: int
    episode_seed: int
    operator_seed: int

    @property
    def key(self) -> Key:
        return self.label, self.seed, self.episode


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan(ArenaPlan):
    """A request with its episodes' schedule, as read by the evaluation's process.

    Most fields are documented in `mosaic_lab.Lab.evaluate`. ``arena`` is the command of an arena,
    ``commands`` are the commands of the operators' workers. ``digests`` are the checkpoints' digests by path.
    ``budget`` limits the spending of language models; ``replay`` is the folder of the recording that they
    answer from, or None if they are called. ``only``: keys of the episodes to play, None for all. ``on``: the
    cluster that plays them in ``parallel`` parts at once, each of which installs its own workers; None for
    this machine. In a part, ``places`` are the positions of its seeds among all seeds. ``module``: the file
    or folder of the user's module that makes the environment, None if a worker provides it.
    """

    arena: list[str]
    commands: dict[str, list[str]]
    episodes: int
    seed_sequence: SeedSequence
    on_failure: OnFailure
    parallel: int
    step_delay: float
    digests: dict[str, str]
    budget: dict[str, float] | None = None
    replay: str | None = None
    only: list[Key] | None = None
    on: str | None = None
    places: list[int] | None = None
    module: str | None = None

    @property
    def brought_module(self) -> Path | None:
        """The environment's module if a script or bundle provides it. None if this process's PYTHONPATH
        provides it, or if the environment is a worker's own.
        """
        if self.module is None or module_path(self.env_id, self.passed) == Path(self.module):
            return None
        return Path(self.module)

    @property
    def environ(self) -> dict[str, str]:
        if self.brought_module is None:
            return {}
        folders = [str(self.brought_module.parent), self.passed.get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(filter(None, folders))}

    def jobs(self) -> list[EpisodeJob]:
        """Return all episodes: seed by seed, each operator in turn."""
        wanted = None if self.only is None else set(self.only)
        every = (
            EpisodeJob(
                label,
                seed,
                episode,
                place * self.episodes + episode,
                self.episode_seed(seed, episode),
                self.operator_seed(seed, episode),
            )
            for place, seed in zip(self.places or range(len(self.seeds)), self.seeds, strict=True)
            for label in self.lanes
            for episode in range(self.episodes)
        )
        return [job for job in every if wanted is None or job.key in wanted]

    def episode_seed(self, seed: int, episode: int) -> int:
        """Return the environment's seed: ``seed`` itself if fixed, else the operators' seed."""
        return seed if self.seed_sequence == "fixed" else self.operator_seed(seed, episode)

    def operator_seed(self, seed: int, episode: int) -> int:
        """Return ``seed`` itself if it has a single episode, else a seed derived for this episode."""
        return seed if self.episodes == 1 else derive_seed(seed, f"episode/{episode}")

    @property
    def variables(self) -> list[str]:
        """The names of all environment variables that the evaluation's process needs."""
        return sorted({*self.pass_env, *(n for spec in self.operators.values() for n in spec.pass_env)})

    @property
    def workers(self) -> set[str]:
        """The names of all required workers."""
        return {self.family, *(spec.worker for spec in self.operators.values() if spec.worker)}

    def category(self, label: str) -> str:
        return ", ".join(dict.fromkeys(str(spec.category) for spec in self.mapping(label).values()))

    def to_config(self) -> dict[str, Any]:
        config = {field.name: getattr(self, field.name) for field in fields(self)}
        operators = {key: asdict(spec) for key, spec in self.operators.items()}
        for written in operators.values():
            del written["function"]  # evaluations have no operators in the kernel
        return {**config, "operators": operators, "total_episodes": len(self.jobs())}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> EvaluationPlan:
        """Read a plan. Raises KeyError, TypeError or ValueError if it is not an evaluation's."""
        config = {"module": None, **config}  # absent from older configurations
        values = {field.name: config[field.name] for field in fields(cls)}
        total = len(values["seeds"]) * len(values["lanes"]) * values["episodes"]
        if not 0 <= total <= MOST_EPISODES:
            raise ValueError(f"it plans {total:,} episodes; the maximum is {MOST_EPISODES:,}")
        values["operators"] = {key: _read(spec) for key, spec in values["operators"].items()}
        if values["only"] is not None:
            values["only"] = [
                (str(label), int(seed), int(episode)) for label, seed, episode in values["only"]
            ]
        return cls(**values)


def _read(written: Mapping[str, Any]) -> OperatorSpec:
    agents = written["agents"]
    pairs = None if agents is None else {agent: tuple(spaces) for agent, spaces in agents.items()}
    return OperatorSpec(**{**written, "agents": pairs})
