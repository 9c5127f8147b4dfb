"""The configuration of a run, checked, and the command line of upstream's script."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from dataclasses import dataclass, replace
from typing import Any, Iterator, Mapping

from mosaic_contract import ConfigError, Parameter, TrainingConfig, check_hyperparameters
from mosaic_contract.atari import ATARI
from mosaic_contract.checkpoints import wrappers_of
from mosaic_contract.config import nearest
from mosaic_contract.registry import is_game
from mosaic_contract.training_plan import DescribedCheckpoint, TrainingPlan, resumed, start_problems

from .algorithms import ALGORITHMS, REFUSED_SCRIPTS, Algorithm, find_algorithm
from .environments import RenderableSpec, misfits, spec_of
from .hyperparameters import SWITCHED_OFF, parameters_of
from .upstream import Upstream, installed

FORMAT = "mosaic-cleanrl/1"
"""Of a checkpoint and its description."""

_LARGEST_SEED = 2**32 - 1 - 1024  # numpy's bound, less room for one seed per environment

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScriptPlan(TrainingPlan):
    """A training, decided in full; `config.algorithm` is the one that runs. `rollout`: steps between two
    updates of an on-policy script, else 1. `environment` is without its wrappers.
    """

    algorithm: Algorithm
    upstream: Upstream
    rollout: int
    environment: RenderableSpec

    @property
    def steps(self) -> int:
        """The step at which the script ends: after whole rollouts where it learns from rollouts."""
        return min(self._whole, -(-self.config.end_step // self.rollout) * self.rollout)

    @property
    def stops_early(self) -> bool:
        """Whether the script is ended before its own end."""
        return self.steps < self._whole

    @property
    def _whole(self) -> int:
        return self.config.total_timesteps // self.rollout * self.rollout

    @property
    def arguments(self) -> list[str]:
        """The command line of the script, each flag with its value in one word."""
        return _flags(self.config, self.config.seed, self.hyperparameters, self.upstream.legacy)


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the resolved configuration. Raises `ConfigError` with everything that is wrong."""
    plan = make_plan(config)
    upstream = plan.upstream.describe(plan.algorithm.script)
    spaces = plan.environment.describe_spaces()
    return plan.resolved(**spaces, upstream=upstream, arguments=plan.arguments, steps=plan.steps)


def make_plan(config: TrainingConfig) -> ScriptPlan:
    """Decide everything about a training. Raises `ConfigError` with all that is wrong."""
    upstream = installed()
    if upstream is None:
        raise ConfigError("CleanRL is not installed in this environment: install the worker again")
    algorithm = find_algorithm(config.algorithm)
    if algorithm is None:
        raise ConfigError(f"unknown algorithm {config.algorithm!r}{_known(config, upstream)}")
    checkpoint, given = resumed(replace(config, algorithm=algorithm.name), FORMAT, ALGORITHMS)
    if checkpoint is not None:
        config = replace(config, wrappers=config.wrappers or wrappers_of(checkpoint[1]))
    algorithm = _of_environment(algorithm, config)
    _check_available(algorithm, upstream)
    if algorithm.games:
        config = replace(config, wrappers=config.wrappers or (ATARI,))
    video = given.get("capture_video") is True
    own = spec_of(config.env_id, config.wrappers, legacy=upstream.legacy, render=video)
    environment = own.wrapped(config.wrappers)
    algorithm = _of_actions(algorithm, environment)
    config = replace(config, algorithm=algorithm.name)

    problems = misfits(algorithm, environment, legacy=upstream.legacy, available=upstream.available())
    problems += _wrapper_problems(algorithm, config)
    problems += start_problems(config, checkpoint, algorithm.bound, _LARGEST_SEED, own.describe_spaces())
    problems += _kind_problems(checkpoint, upstream)
    for name in SWITCHED_OFF & set(given):
        if given.pop(name):
            problems.append(f"{name}: services on the network are switched off in this worker; leave it out")
    known = parameters_of(upstream.script(algorithm.script))
    given = {name: given[name] for name in given if name in known or name in config.hyperparameters}
    hyperparameters = check_hyperparameters(given, known, problems)
    rollout = _rollout(algorithm, hyperparameters)
    if config.end_step < rollout:
        raise ConfigError(
            f"{config.end_field} is less than one rollout of {algorithm.name} "
            f"(num_envs × num_steps = {rollout}): nothing would be learned; raise it or lower num_steps"
        )
    plan = ScriptPlan(config, hyperparameters, checkpoint, algorithm, upstream, rollout, own)
    if checkpoint is not None and plan.start_step >= plan.steps:
        raise ConfigError(
            f"checkpoint.resume_from: {checkpoint[0].name} is at step {plan.start_step:,} of "
            f"{config.total_timesteps:,}: less than one rollout (num_envs × num_steps = {rollout} steps) "
            "remains; raise total_timesteps, which counts from the beginning"
        )
    return plan


def _wrapper_problems(algorithm: Algorithm, config: TrainingConfig) -> Iterator[str]:
    if algorithm.games and config.wrappers != (ATARI,):
        yield f"wrappers: {algorithm.name} applies its own ({ATARI!r}), and no others"
    if ATARI in config.wrappers and not algorithm.games:
        yield f"wrappers: {ATARI!r} is what upstream's scripts for games apply; {algorithm.name} is not one"


def _kind_problems(checkpoint: DescribedCheckpoint | None, upstream: Upstream) -> Iterator[str]:
    if checkpoint is not None and checkpoint[1].get("legacy") is not upstream.legacy:
        saved, here = _kind(not upstream.legacy), _kind(upstream.legacy)
        name = checkpoint[0].name
        yield f"checkpoint.resume_from: {name} was saved with {saved}, this run trains with {here}"


def _known(config: TrainingConfig, upstream: Upstream) -> str:
    """Return how the error about an unknown algorithm ends: with what to type where upstream has a script of
    that name, else with the nearest algorithm.
    """
    name = config.algorithm.strip().lower().replace("-", "_")
    if name in REFUSED_SCRIPTS:
        return f" of this worker: cleanrl/{name}.py {REFUSED_SCRIPTS[name]}"
    if not upstream.has_script(name):
        return nearest(config.algorithm, upstream.available())
    flags = _flags(config, "{seed}", config.hyperparameters, upstream.legacy)
    command = json.dumps([sys.executable, "-m", f"cleanrl.{name}", *flags])
    return (
        f" of this worker, but there is a script cleanrl/{name}.py, which the worker 'script' runs as it is: "
        f'lab.train("script", command={command}, tensorboard="runs", seed={config.seed}), in a shell '
        f"mosaic-lab train script {shlex.quote(f'command={command}')} tensorboard=runs --seed {config.seed}"
    )


def _kind(legacy: bool) -> str:
    return "the release of 2021" if legacy else "current upstream"


def _of_environment(algorithm: Algorithm, config: TrainingConfig) -> Algorithm:
    """Return upstream's script for games (`ppo_atari` for `ppo`) where the environment is a game without
    other wrappers, else the algorithm itself.
    """
    for_games = ALGORITHMS.get(f"{algorithm.name}_atari")
    if for_games is None or not is_game(config.env_id) or config.wrappers not in ((), (ATARI,)):
        return algorithm
    log.info("%s is a game: %s runs as %s", config.env_id, algorithm.name, for_games.name)
    return for_games


def _of_actions(algorithm: Algorithm, environment: RenderableSpec) -> Algorithm:
    """Return `ppo_continuous` for `ppo` where the actions are continuous, else the algorithm itself."""
    if algorithm.name != "ppo" or type(environment.action_space).__name__ != "Box":
        return algorithm
    log.info("the actions of %s are continuous: ppo runs as ppo_continuous", environment.env_id)
    return ALGORITHMS["ppo_continuous"]


def _check_available(algorithm: Algorithm, upstream: Upstream) -> None:
    reason = upstream.unavailable().get(algorithm.name)
    if reason is not None:
        raise ConfigError(f"{algorithm.name} is not available with CleanRL {upstream.version}: {reason}")


def all_hyperparameters() -> Mapping[str, list[Parameter]]:
    """The parameters of every algorithm that the installed upstream can train."""
    upstream = installed()
    if upstream is None:
        return {}
    scripts = {name: upstream.script(ALGORITHMS[name].script) for name in upstream.available()}
    return {name: list(parameters_of(script).values()) for name, script in scripts.items()}


def _rollout(algorithm: Algorithm, hyperparameters: Mapping[str, Any]) -> int:
    num_envs = hyperparameters.get("num_envs", 1)
    if not algorithm.on_policy:
        if num_envs > 1 and algorithm.single:
            raise ConfigError(
                f"{algorithm.name} trains on one environment only: num_envs must be 1, got {num_envs}"
            )
        return 1
    rollout = int(num_envs * hyperparameters["num_steps"])
    minibatches = hyperparameters.get("num_minibatches", hyperparameters.get("n_minibatch", 1))
    if minibatches > rollout:
        raise ConfigError(
            f"a rollout of {rollout} steps (num_envs × num_steps) does not make {minibatches} minibatches"
        )
    return rollout


def _flags(
    config: TrainingConfig, seed: int | str, hyperparameters: Mapping[str, Any], legacy: bool
) -> list[str]:
    values = {
        "gym_id" if legacy else "env_id": config.env_id,
        "seed": seed,
        "total_timesteps": config.total_timesteps,
        **hyperparameters,
    }
    return [_flag(name, value, legacy) for name, value in values.items() if value is not None]


def _flag(name: str, value: Any, legacy: bool) -> str:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool) and not legacy:
        return flag if value else flag.replace("--", "--no-", 1)
    return f"{flag}={value}"
