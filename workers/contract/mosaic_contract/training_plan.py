"""Plans of trainings: what shims decide about a training before it starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Collection, Iterable, Iterator, Mapping, Optional, Tuple

from mosaic_contract.atari import ATARI
from mosaic_contract.checkpoints import read_description, resume_misfits, wrappers_of
from mosaic_contract.config import TrainingConfig, nearest
from mosaic_contract.errors import ConfigError
from mosaic_contract.telemetry import Telemetry

DescribedCheckpoint = Tuple[Path, "dict[str, Any]"]
"""The path of a checkpoint and its description."""


@dataclass(frozen=True)
class TrainingPlan:
    """A training that was checked and decided. `resume_from` is the checkpoint that it goes on from, None to
    begin at step 0.
    """

    config: TrainingConfig
    hyperparameters: dict[str, Any]
    resume_from: Optional[DescribedCheckpoint]

    @property
    def start_step(self) -> int:
        """The step of the checkpoint that the training goes on from."""
        return self.resume_from[1]["step"] if self.resume_from else 0

    def resolved(self, **details: Any) -> dict[str, Any]:
        """Return the resolved configuration as JSON; `details` are further fields."""
        every = self.config.checkpoint_every
        return {**self.config.to_dict(self.hyperparameters), **details, "checkpoint_every": every}

    def report_resume(self, telemetry: Telemetry, format: str) -> None:
        """Report the checkpoint that the training has resumed from, if there is one."""
        if self.resume_from is not None:
            path, described = self.resume_from
            telemetry.checkpoint_loaded(
                path, step=self.start_step, episode=described["episodes"], format=format
            )


def check_algorithm(name: str, algorithms: Collection[str]) -> None:
    """Raise `ConfigError` for an unknown algorithm, with the nearest that is known."""
    if name not in algorithms:
        raise ConfigError(f"unknown algorithm {name!r}{nearest(name, algorithms)}")


def resumed(
    config: TrainingConfig, format: str, algorithms: Collection[str]
) -> tuple[DescribedCheckpoint | None, dict[str, Any]]:
    """Return the checkpoint that a training resumes from, None where it does not, and its hyperparameters
    with those of the configuration over them: of a checkpoint of another algorithm, which `start_problems`
    reports, none.

    `format` and `algorithms` are those of `read_description`. Raises `ConfigError`.
    """
    path = config.checkpoint.resume_from
    if path is None:
        return None, dict(config.hyperparameters)
    file, described = read_description(path, format, algorithms)
    # "ppo" may stand for "ppo_continuous" or "ppo_atari", by the environment.
    same = f"{described['algorithm']}_".startswith(f"{config.algorithm}_")
    return (file, described), {**(described["hyperparameters"] if same else {}), **config.hyperparameters}


def with_wrappers(
    config: TrainingConfig, resume_from: DescribedCheckpoint | None, *of_games: str
) -> TrainingConfig:
    """Return the configuration with the wrappers of the checkpoint where it names none. `of_games` are those
    that follow "atari", for libraries that want another form of pictures.
    """
    wrappers = config.wrappers or (wrappers_of(resume_from[1]) if resume_from else ())
    return replace(config, wrappers=(ATARI, *of_games) if wrappers == (ATARI,) else wrappers)


def start_problems(
    config: TrainingConfig,
    resume_from: DescribedCheckpoint | None,
    bound_to: Iterable[str],
    largest_seed: int,
    environment: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """Yield the reasons why a training cannot start with its seed, or cannot resume from its checkpoint, a
    sentence each. `bound_to` and `environment` are those of `checkpoints.resume_misfits`.
    """
    if config.seed > largest_seed:
        yield f"seed must be at most {largest_seed}, got {config.seed}"
    if resume_from is not None:
        yield from resume_misfits(config, *resume_from, bound_to, environment)
