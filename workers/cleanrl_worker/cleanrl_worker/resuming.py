"""The checkpoint that a run goes on from: what it is of, and what it prescribes, by its description."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contract import ConfigError, TrainingConfig, read_document

_COUNTED_BY = ("num_envs", "num_steps")
"""Hyperparameters that say what a step and a rollout are: with others the checkpoint's step means another."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of this worker. `hyperparameters` are those it was trained with, all of them."""

    path: Path
    step: int
    algorithm: str
    env_id: str
    legacy: bool
    hyperparameters: dict[str, Any]

    def misfits(self, config: TrainingConfig, *, legacy: bool) -> list[str]:
        """Why the training of `config` (its algorithm resolved) cannot go on from here, one sentence each."""
        told = f"checkpoint.resume_from: {self.path.name}"
        made_by, wanted = f"{self.algorithm} on {self.env_id}", f"{config.algorithm} on {config.env_id}"
        if self.legacy != legacy:
            made_by, wanted = f"{made_by} with {_upstream(self.legacy)}", f"{wanted} with {_upstream(legacy)}"
        if made_by != wanted:
            return [f"{told} is of {made_by}, this run is of {wanted}"]
        problems = []
        for name in _COUNTED_BY:
            saved = self.hyperparameters.get(name)
            asked = config.hyperparameters.get(name, saved)
            if asked != saved:
                problems.append(
                    f"{told} was trained with {name}={saved}, by which its steps are counted; this run "
                    f"asks for {name}={asked}: leave it out, and the checkpoint's is taken"
                )
        if self.step >= config.total_timesteps:
            problems.append(
                f"{told} was saved at step {self.step}; total_timesteps counts from the beginning and is "
                f"{config.total_timesteps}: raise it"
            )
        return problems


def read_checkpoint(path: str | None) -> Checkpoint | None:
    """The checkpoint at a path, None for none. Raises `ConfigError` where there is none of this worker."""
    if path is None:
        return None
    file = Path(path).expanduser().resolve()
    description = file.with_suffix(".json")
    try:
        saved = read_document(description)
        checkpoint = Checkpoint(
            file,
            int(saved["step"]),
            saved["algorithm"],
            saved["env_id"],
            saved["legacy"],
            dict(saved["hyperparameters"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"checkpoint.resume_from: {file} is not a checkpoint of this worker (its description "
            f"{description.name}: {type(error).__name__}: {error})"
        ) from None
    if not file.is_file():
        raise ConfigError(f"checkpoint.resume_from: there is no file {file}")
    return checkpoint


def _upstream(legacy: bool) -> str:
    return "the release of 2021" if legacy else "current upstream"
