"""From a run's configuration to the command line of upstream's script, all checked before anything trains."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract import ConfigError, Parameter, TrainingConfig, check_hyperparameters
from mosaic_contract.config import nearest

from .algorithms import ALGORITHMS, Algorithm, find_algorithm
from .environments import is_continuous, misfits, probe
from .hyperparameters import SWITCHED_OFF, parameters_of
from .upstream import Upstream, installed

_LARGEST_SEED = 2**32 - 1 - 1024  # numpy's bound, less room for one seed per environment
_CHECKPOINTS_PER_RUN = 10


@dataclass(frozen=True)
class Plan:
    """A training, decided in full. `rollout`: steps between two updates of an on-policy script, else 1."""

    config: TrainingConfig
    algorithm: Algorithm
    upstream: Upstream
    hyperparameters: dict[str, Any]
    rollout: int
    resume_from: Path | None

    @property
    def checkpoint_every(self) -> int:
        """Steps from one checkpoint to the next: as configured, else a tenth of the training."""
        asked = self.config.checkpoint.every_timesteps
        return asked or max(1, self.config.total_timesteps // _CHECKPOINTS_PER_RUN)

    @property
    def steps(self) -> int:
        """Steps that the script really takes: whole rollouts where it learns from rollouts."""
        return self.config.total_timesteps // self.rollout * self.rollout

    @property
    def arguments(self) -> list[str]:
        """The command line of the script, each flag with its value in one word."""
        legacy = self.upstream.legacy
        values = {
            "gym_id" if legacy else "env_id": self.config.env_id,
            "seed": self.config.seed,
            "total_timesteps": self.config.total_timesteps,
            **self.hyperparameters,
        }
        return [_flag(name, value, legacy) for name, value in values.items() if value is not None]

    def to_dict(self) -> dict[str, Any]:
        """The resolved configuration, as the dry run prints it and run_started carries it."""
        return {
            **self.config.to_dict(self.hyperparameters),
            "upstream": self.upstream.describe(self.algorithm.script),
            "arguments": self.arguments,
            "steps": self.steps,
            "checkpoint_every": self.checkpoint_every,
        }


def make_plan(config: TrainingConfig) -> Plan:
    """Decide everything about a training. Raises `ConfigError` with all that is wrong."""
    upstream = installed()
    if upstream is None:
        raise ConfigError("CleanRL is not installed in this environment: install the worker again")
    algorithm = find_algorithm(config.algorithm)
    if algorithm is None:
        raise ConfigError(f"unknown algorithm {config.algorithm!r}{nearest(config.algorithm, ALGORITHMS)}")
    environment = probe(
        config.env_id, legacy=upstream.legacy, render=config.hyperparameters.get("capture_video") is True
    )
    if algorithm.name == "ppo" and is_continuous(environment.action_space):
        algorithm = ALGORITHMS["ppo_continuous"]
    reason = upstream.unavailable().get(algorithm.name)
    if reason is not None:
        raise ConfigError(f"{algorithm.name} is not available with CleanRL {upstream.version}: {reason}")

    problems = misfits(algorithm, environment, legacy=upstream.legacy)
    if config.seed > _LARGEST_SEED:
        problems.append(f"seed must be at most {_LARGEST_SEED}, got {config.seed}")
    given = dict(config.hyperparameters)
    for name in SWITCHED_OFF & set(given):
        if given.pop(name):
            problems.append(f"{name}: services on the network are switched off in this worker; leave it out")
    known = parameters_of(upstream.script(algorithm.script))
    hyperparameters = check_hyperparameters(given, known, problems)
    rollout = _rollout(algorithm, hyperparameters)
    if config.total_timesteps < rollout:
        raise ConfigError(
            f"total_timesteps={config.total_timesteps} is less than one rollout of {algorithm.name} "
            f"(num_envs × num_steps = {rollout}): nothing would be learned; raise it or lower num_steps"
        )
    resume_from = _resume_from(config, algorithm, upstream)
    return Plan(config, algorithm, upstream, hyperparameters, rollout, resume_from)


def all_hyperparameters() -> Mapping[str, list[Parameter]]:
    """The parameters of every algorithm that the installed upstream can train."""
    upstream = installed()
    if upstream is None:
        return {}
    missing = upstream.unavailable()
    return {
        algorithm.name: list(parameters_of(upstream.script(algorithm.script)).values())
        for algorithm in ALGORITHMS.values()
        if algorithm.name not in missing
    }


def _rollout(algorithm: Algorithm, hyperparameters: Mapping[str, Any]) -> int:
    num_envs = hyperparameters.get("num_envs", 1)
    if num_envs < 1:
        raise ConfigError(f"num_envs must be at least 1, got {num_envs}")
    if not algorithm.on_policy:
        if num_envs > 1 and algorithm.name in ("dqn", "c51"):
            raise ConfigError(
                f"{algorithm.name} trains on one environment only: num_envs must be 1, got {num_envs}"
            )
        return 1
    rollout = int(num_envs * hyperparameters["num_steps"])
    minibatches = hyperparameters.get("num_minibatches", hyperparameters.get("n_minibatch", 1))
    if not 1 <= minibatches <= rollout:
        raise ConfigError(
            f"a rollout of {rollout} steps (num_envs × num_steps) does not make {minibatches} minibatches"
        )
    return rollout


def _resume_from(config: TrainingConfig, algorithm: Algorithm, upstream: Upstream) -> Path | None:
    if config.checkpoint.resume_from is None:
        return None
    path = Path(config.checkpoint.resume_from).expanduser().resolve()
    try:
        saved = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        step, made_by = int(saved["step"]), (saved["algorithm"], saved["env_id"], saved["legacy"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"checkpoint.resume_from: {path} is not a checkpoint of this worker (its description "
            f"{path.with_suffix('.json').name}: {type(error).__name__}: {error})"
        ) from None
    wanted = (algorithm.name, config.env_id, upstream.legacy)
    if not path.is_file():
        raise ConfigError(f"checkpoint.resume_from: there is no file {path}")
    if made_by != wanted:
        raise ConfigError(
            f"checkpoint.resume_from: {path.name} is of {_named(made_by)}, this run is of {_named(wanted)}"
        )
    if step >= config.total_timesteps:
        raise ConfigError(
            f"checkpoint.resume_from: {path.name} was saved at step {step}; total_timesteps counts from the "
            f"beginning and is {config.total_timesteps}: raise it"
        )
    return path


def _named(made_by: tuple[str, str, bool]) -> str:
    algorithm, env_id, legacy = made_by
    return f"{algorithm} on {env_id} with {'the release of 2021' if legacy else 'current upstream'}"


def _flag(name: str, value: Any, legacy: bool) -> str:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool) and not legacy:
        return flag if value else flag.replace("--", "--no-", 1)
    return f"{flag}={value}"
