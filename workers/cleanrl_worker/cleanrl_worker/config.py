"""The validated configuration of a run, and the command line of upstream's script."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Iterable, Iterator, Mapping

from mosaic_contract import ConfigError, Parameter, TrainingConfig, check_hyperparameters
from mosaic_contract.atari import ATARI
from mosaic_contract.hyperparameters import ENV_KWARGS, env_kwargs_of
from mosaic_contract.registry import is_atari_game
from mosaic_contract.training_plan import PlannedTraining, nearest_algorithm

from .algorithms import ALGORITHMS, REFUSED_SCRIPTS, ScriptAlgorithm, find_algorithm
from .environments import RenderableSpec, misfits, spec_of
from .hyperparameters import SWITCHED_OFF, parameters_of
from .upstream import Upstream, installed, required

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScriptPlan(PlannedTraining):
    """A validated and resolved training; `algorithm` is the algorithm that runs."""

    FORMAT = "mosaic-cleanrl/1"
    ALGORITHMS = ALGORITHMS

    algorithm: ScriptAlgorithm
    own_spec: RenderableSpec
    spec: RenderableSpec

    @classmethod
    def adapted(cls, config: TrainingConfig) -> TrainingConfig:
        algorithm = find_algorithm(config.algorithm)
        if algorithm is None:
            raise ConfigError(f"unknown algorithm {config.algorithm!r}{_unknown_hint(config, required())}")
        return replace(config, algorithm=algorithm.name)

    @classmethod
    def probed(
        cls, config: TrainingConfig, hyperparameters: Mapping[str, Any]
    ) -> tuple[TrainingConfig, Any, Any]:
        upstream = required()
        algorithm = _game_script(ALGORITHMS[config.algorithm], config)
        _check_available(algorithm, upstream)
        if algorithm.games:
            config = replace(config, wrappers=config.wrappers or (ATARI,))
        video = hyperparameters.get("capture_video") is True
        keywords = env_kwargs_of(hyperparameters)
        own_spec = spec_of(config.env_id, config.wrappers, keywords, legacy=upstream.legacy, render=video)
        spec = own_spec.wrapped(config.wrappers)
        return replace(config, algorithm=_continuous_script(algorithm, spec).name), own_spec, spec

    def misfits(self) -> Iterator[str]:
        algorithm, config, upstream = self.algorithm, self.config, self.upstream
        yield from misfits(algorithm, self.spec, legacy=upstream.legacy, available=upstream.available())
        if algorithm.games and config.wrappers != (ATARI,):
            yield f"wrappers: {algorithm.name} applies its own ({ATARI!r}), and no others"
        if ATARI in config.wrappers and not algorithm.games:
            yield (
                f"wrappers: only upstream's scripts for games apply {ATARI!r}; {algorithm.name} is not one"
            )
        if self.resume_from is not None and self.resume_from[1].get("legacy") is not upstream.legacy:
            saved, current = _release_text(not upstream.legacy), _release_text(upstream.legacy)
            name = self.resume_from[0].name
            yield f"checkpoint.resume_from: {name} was saved with {saved}, this run trains with {current}"
        for name in SWITCHED_OFF & set(self.hyperparameters):
            if self.hyperparameters[name]:
                yield f"{name}: services on the network are switched off in this worker; leave it out"

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return parameters_of(self.upstream.script(self.algorithm.script))

    def checked(self, problems: Iterable[str]) -> dict[str, Any]:
        parameters = self.parameters
        saved = self.resume_from[1]["hyperparameters"] if self.resume_from else {}
        dropped = SWITCHED_OFF | (set(saved) - set(parameters))  # from a checkpoint of another script
        hyperparameters = {name: value for name, value in self.hyperparameters.items() if name not in dropped}
        return check_hyperparameters(hyperparameters, parameters, problems)

    def disagreements(self) -> Iterator[str]:
        if problem := _rollout_problem(self.algorithm, self.hyperparameters, self.rollout):
            yield problem
        elif self.config.end_step < self.rollout:
            yield (
                f"{self.config.end_field} is less than one rollout of {self.algorithm.name} "
                f"(num_envs × num_steps = {self.rollout}): nothing would be learned; raise it or lower "
                "num_steps"
            )
        elif self.resume_from is not None and self.start_step >= self.steps:
            yield (
                f"checkpoint.resume_from: {self.resume_from[0].name} is at step {self.start_step:,} of "
                f"{self.config.total_timesteps:,}: less than one rollout (num_envs × num_steps = "
                f"{self.rollout} steps) remains; raise total_timesteps, which counts from the beginning"
            )

    def resolved(self) -> dict[str, Any]:
        upstream = self.upstream.describe(self.algorithm.script)
        return {**super().resolved(), "upstream": upstream, "arguments": self.arguments}

    @cached_property
    def upstream(self) -> Upstream:
        """The installed CleanRL."""
        return required()

    @property
    def environments(self) -> int:
        """Zero: the script steps its environments in a process of its own."""
        return 0

    @property
    def rollout(self) -> int:
        """Steps between two updates of an on-policy script, else 1."""
        values = self.hyperparameters
        return int(values.get("num_envs", 1) * values["num_steps"]) if self.algorithm.on_policy else 1

    @property
    def steps(self) -> int:
        """The step at which the script ends: after whole rollouts if it learns from rollouts."""
        return min(self._total_steps, -(-self.config.end_step // self.rollout) * self.rollout)

    @property
    def stops_early(self) -> bool:
        """Whether the script is stopped before its own end."""
        return self.steps < self._total_steps

    @property
    def _total_steps(self) -> int:
        return self.config.total_timesteps // self.rollout * self.rollout

    @property
    def arguments(self) -> list[str]:
        """The command line of the script, with each flag and its value in one argument."""
        return _flags(self.config, self.config.seed, self.hyperparameters, self.upstream.legacy)


def _unknown_hint(config: TrainingConfig, upstream: Upstream) -> str:
    """Return the end of the error about an unknown algorithm: what to type if upstream has a script with that
    name, else the nearest algorithm, or why a longer name is not available."""
    name = config.algorithm.strip().lower().replace("-", "_")
    if name in REFUSED_SCRIPTS:
        return f" of this worker: cleanrl/{name}.py {REFUSED_SCRIPTS[name]}"
    if not upstream.has_script(name):
        hint, lacking = nearest_algorithm(config.algorithm, upstream.available()), upstream.unavailable()
        longer = next((other for other in lacking if other.startswith(name)), None)
        if longer is None or "did you mean" in hint:
            return hint
        return f"; {_unavailable(longer, upstream, lacking[longer])}"
    flags = _flags(config, "{seed}", config.hyperparameters, upstream.legacy)
    command = json.dumps([sys.executable, "-m", f"cleanrl.{name}", *flags])
    return (
        f" of this worker, but there is a script cleanrl/{name}.py, which the worker 'script' runs as it is: "
        f'lab.train("script", command={command}, tensorboard="runs", seed={config.seed}), in a shell '
        f"mosaic-lab train script {shlex.quote(f'command={command}')} tensorboard=runs --seed {config.seed}"
    )


def _release_text(legacy: bool) -> str:
    return "the release of 2021" if legacy else "current upstream"


def _game_script(algorithm: ScriptAlgorithm, config: TrainingConfig) -> ScriptAlgorithm:
    """Return upstream's script for games (`ppo_atari` for `ppo`) if the environment is a game without other
    wrappers, else the algorithm itself."""
    for_games = ALGORITHMS.get(f"{algorithm.name}_atari")
    if for_games is None or not is_atari_game(config.env_id) or config.wrappers not in ((), (ATARI,)):
        return algorithm
    log.info("%s is a game: %s runs as %s", config.env_id, algorithm.name, for_games.name)
    return for_games


def _continuous_script(algorithm: ScriptAlgorithm, environment: RenderableSpec) -> ScriptAlgorithm:
    """Return `ppo_continuous` for `ppo` if the actions are continuous, else the algorithm itself."""
    if algorithm.name != "ppo" or type(environment.action_space).__name__ != "Box":
        return algorithm
    log.info("the actions of %s are continuous: ppo runs as ppo_continuous", environment.env_id)
    return ALGORITHMS["ppo_continuous"]


def _check_available(algorithm: ScriptAlgorithm, upstream: Upstream) -> None:
    reason = upstream.unavailable().get(algorithm.name)
    if reason is not None:
        raise ConfigError(_unavailable(algorithm.name, upstream, reason))


def _unavailable(name: str, upstream: Upstream, reason: str) -> str:
    return f"{name} is not available with CleanRL {upstream.version}: {reason}"


def all_hyperparameters() -> Mapping[str, list[Parameter]]:
    """Return the parameters of every algorithm that the installed upstream can train."""
    upstream = installed()
    if upstream is None:
        return {}
    scripts = {name: upstream.script(ALGORITHMS[name].script) for name in upstream.available()}
    return {name: list(parameters_of(script).values()) for name, script in scripts.items()}


def _rollout_problem(algorithm: ScriptAlgorithm, values: Mapping[str, Any], rollout: int) -> str:
    """Return why the script cannot learn from its rollouts, "" if it can."""
    num_envs = values.get("num_envs", 1)
    if algorithm.single and num_envs > 1:
        return f"{algorithm.name} trains on one environment only: num_envs must be 1, got {num_envs}"
    minibatches = values.get("num_minibatches", values.get("n_minibatch", 1))
    if algorithm.recurrent and num_envs % minibatches:
        return (
            f"{algorithm.name} learns from whole environments: num_envs must be a multiple of "
            f"num_minibatches ({minibatches}), got {num_envs}"
        )
    if algorithm.on_policy and minibatches > rollout:
        return f"a rollout of {rollout} steps (num_envs × num_steps) does not make {minibatches} minibatches"
    return ""


def _flags(
    config: TrainingConfig, seed: int | str, hyperparameters: Mapping[str, Any], legacy: bool
) -> list[str]:
    values = {
        "gym_id" if legacy else "env_id": config.env_id,
        "seed": seed,
        "total_timesteps": config.total_timesteps,
        **hyperparameters,
    }
    return [
        _flag(name, value, legacy)
        for name, value in values.items()
        if value is not None and name != ENV_KWARGS.name
    ]


def _flag(name: str, value: Any, legacy: bool) -> str:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool) and not legacy:
        return flag if value else flag.replace("--", "--no-", 1)
    return f"{flag}={value}"
