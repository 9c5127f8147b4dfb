"""Jumanji's own A2C: its agent, networks and configuration, one update at a time.

Upstream's program runs several hundred updates at once and evaluates between them; single updates can be
reported, saved, shown and stopped. The learning is the same.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Callable, Mapping

import jax
from jumanji.training.setup_train import setup_agent, setup_training_state
from jumanji.training.types import ParamsState, TrainingState
from jumanji.wrappers import VmapAutoResetWrapper
from mosaic_contract import ConfigError
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.fastlane import TrainingFrames
from mosaic_contract.hyperparameters import env_kwargs_of
from omegaconf import OmegaConf

from .config import JumanjiPlan
from .environments import TRAINED, bare, make
from .episode_statistics import RecordEpisodeStatistics, StatisticsState
from .hyperparameters import upstream_document
from .pytree_files import from_file
from .spaces import ActionConversion, Choose
from .telemetry import BatchReporter, CompileTime


def make_agent(env_id: str, hyperparameters: Mapping[str, Any]) -> Any:
    """Return upstream's agent on a batch of environments with episode statistics."""
    document = upstream_document(TRAINED[bare(env_id)])
    for section in ("network", "training", "a2c"):
        document[section] |= {
            name: hyperparameters[name] for name in document[section] if name in hyperparameters
        }
    settings = OmegaConf.create({"agent": "a2c", "env": document})
    env = make(env_id, env_kwargs_of(hyperparameters))
    return setup_agent(settings, RecordEpisodeStatistics(VmapAutoResetWrapper(env)))


def policy_of(path: Path, described: Mapping[str, Any], env: Any, *, deterministic: bool) -> Choose:
    """Return a checkpoint's policy for an environment. Raises `ConfigError` if it cannot be loaded."""
    agent = make_agent(described["env_id"], described["hyperparameters"])
    like = jax.eval_shape(agent.init_params, jax.random.PRNGKey(0)).params
    state = TrainingState(ParamsState(like._replace(critic=None), None, None), None)
    params = from_file(path, state).params_state.params.actor
    policy, actions = agent.make_policy(params, stochastic=not deterministic), ActionConversion(env)

    def choose(observation: Any, key: Any) -> Any:
        action, _ = policy(jax.tree.map(lambda array: array[None], observation), key)
        return actions.to_arena(action[0])

    return choose


class Learner:
    """The learner of one training. `tree` is the state to resume from, including the environments' states."""

    def __init__(self, plan: JumanjiPlan) -> None:
        if (devices := jax.local_device_count()) > 1:
            raise ConfigError(f"a2c trains on one device, and there are {devices}: give the run one GPU")
        self._plan = plan
        self._compiling = CompileTime()
        self._agent = make_agent(plan.config.env_id, plan.hyperparameters)
        self.env = self._agent.env
        _, key = jax.random.split(jax.random.PRNGKey(plan.config.seed))  # like upstream's own program
        self._state = setup_training_state(self.env, self._agent, key)
        self.steps = plan.start_step
        if plan.resume_from:
            tree = from_file(plan.resume_from[0], self.tree)
            self._state = jax.tree.map(lambda array: array[None], tree)

    @property
    def tree(self) -> Any:
        return jax.tree.map(lambda array: array[0], self._state)

    def batch(self) -> StatisticsState:
        """Return the current state of the environments."""
        return jax.tree.map(lambda array: array[0], self._state.acting_state.state)

    def learn(
        self, stop: threading.Event, logger: EpisodeLogger, frames: TrainingFrames, checkpoints: Checkpoints
    ) -> None:
        """Learn to the end, or until a stop is requested."""
        update: Callable[[Any], Any] = jax.pmap(self._agent.run_epoch, axis_name="devices")
        reporter = BatchReporter(logger, self._plan.count)
        while self.steps < self._plan.steps and not stop.is_set():
            began = time.monotonic()
            state, metrics = update(self._state)
            values = jax.device_get(jax.tree.map(lambda array: array[0], metrics))
            seconds = time.monotonic() - began
            self._compiling.updated()
            self._state, self.steps = state, self.steps + self._plan.per_update
            reporter.updated(values, seconds, last=self.steps >= self._plan.steps)
            if checkpoints.due(self.steps):
                checkpoints.save(self.steps)
            if frames.due():
                frames.publish(**logger.progress)
