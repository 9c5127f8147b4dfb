"""SBX's PPO on batches of Jumanji's environments, which XLA steps together."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any, Mapping

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import tensorflow_probability.substrates.jax.distributions as distributions
from jumanji.wrappers import VmapAutoResetWrapper
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.fastlane import TrainingFrames
from mosaic_contract.hyperparameters import env_kwargs_of
from sbx import PPO as Upstream
from sbx.ppo.policies import Actor, PPOPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.vec_env import VecEnv

from .config import JumanjiPlan
from .environments import make
from .episode_statistics import FIELDS, RecordEpisodeStatistics, StatisticsState, finished_episodes
from .hyperparameters import PPO_PARAMETERS
from .pytree_files import from_file
from .spaces import ActionConversion, Choose, Vector
from .telemetry import BatchReporter, CompileTime

_NEXT_OBSERVATION = "next_obs"  # upstream's name of an episode's last observation
_MASKED_LOGIT = -1e9


def policy_of(path: Path, described: Mapping[str, Any], env: Any, *, deterministic: bool) -> Choose:
    """Return a checkpoint's policy for an environment. Raises `ConfigError` if it cannot be loaded."""
    actions, vector = ActionConversion(env), Vector(env.observation_spec)
    arguments = policy_arguments(actions, described["hyperparameters"])
    policy = PPOPolicy(_vectors(vector.size), actions.space, lambda _: 0.0, **arguments)
    policy.build(jax.random.PRNGKey(0), lambda _: 0.0, 1.0)
    like = {"actor": policy.actor_state.replace(step=None, opt_state=None)}
    state = from_file(path, like)["actor"]

    def choose(observation: Any, key: Any) -> Any:
        distribution = state.apply_fn(state.params, vector(observation)[None])
        return (distribution.mode() if deterministic else distribution.sample(seed=key))[0]

    return choose


def policy_arguments(actions: ActionConversion, hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor arguments of upstream's policy."""
    actor = MaskedActor if actions.mask_size else Actor
    return {"net_arch": hyperparameters["net_arch"], "actor_class": actor}


def _vectors(size: int) -> Any:
    return gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)


class BatchVecEnv(VecEnv):
    """A batch of environments with stable-baselines3's interface."""

    def __init__(self, env: Any, count: int, seed: int) -> None:
        self.env = RecordEpisodeStatistics(VmapAutoResetWrapper(env, next_obs_in_extras=True))
        self.actions = ActionConversion(env)
        self.state: StatisticsState | Any = None
        self.reporter: BatchReporter | None = None
        self._key = jax.random.PRNGKey(seed)
        self._vectors = jax.vmap(Vector(env.observation_spec))
        self._reset, self._step = jax.jit(self.env.reset), jax.jit(self._stepped)
        self._pending_actions: Any = None
        size = Vector(env.observation_spec).size
        super().__init__(count, _vectors(size), self.actions.space)

    def reset(self) -> Any:
        self.state, timestep = self._reset(jax.random.split(self._key, self.num_envs))
        return np.array(jax.jit(self._vectors)(timestep.observation))

    def step_async(self, actions: Any) -> None:
        self._pending_actions = actions.astype(np.int32)

    def step_wait(self) -> Any:
        self.state, vectors, last, rewards, extras = self._step(self.state, self._pending_actions)
        rewards, extras = np.array(rewards, np.float32), jax.device_get(extras)
        finished = finished_episodes(extras)
        dones = np.zeros(self.num_envs, bool)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for episode in finished:
            dones[episode.environment] = True
            infos[episode.environment] = {
                "episode": {"r": episode.total, "l": episode.length, "t": 0.0},
                "terminal_observation": np.array(last[episode.environment]),
                "TimeLimit.truncated": not episode.terminated,
            }
        if self.reporter is not None:
            self.reporter.stepped(finished)
        return np.array(vectors), rewards, dones, infos

    def _stepped(self, state: StatisticsState, actions: Any) -> Any:
        state, timestep = self.env.step(state, jax.vmap(self.actions.to_jumanji)(actions))
        last = timestep.extras[_NEXT_OBSERVATION]
        return (
            state,
            self._vectors(timestep.observation),
            self._vectors(last),
            timestep.reward,
            {name: timestep.extras[name] for name in FIELDS},
        )

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * self.num_envs if attr_name == "render_mode" else [getattr(self.env, attr_name)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"the environments of a batch have no {attr_name} of their own")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        raise AttributeError(f"the environments of a batch have no {method_name} of their own")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


class ReportingPPO(Upstream):
    """Upstream's PPO, but reporting an update's metrics immediately: the original waits for the steps of the
    next update, and never reports the last."""

    compiling: CompileTime

    def train(self) -> None:
        super().train()
        self.logger.dump(self.num_timesteps)
        self.compiling.updated()


class LogWriter(KVWriter):
    """A writer that forwards upstream's logs to the logger."""

    def __init__(self, logger: EpisodeLogger) -> None:
        self._logger = logger

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        self._logger.library_metrics(key_values)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class JumanjiCallback(BaseCallback):
    """A callback that publishes due frames, saves due checkpoints, and ends the training on request."""

    def __init__(
        self, stop: threading.Event, logger: EpisodeLogger, frames: TrainingFrames, checkpoints: Checkpoints
    ) -> None:
        super().__init__()
        self._stop, self._logger, self._frames, self._checkpoints = stop, logger, frames, checkpoints

    def _on_step(self) -> bool:
        if self._frames.due():
            self._frames.publish(**self._logger.progress)
        return not self._stop.is_set()

    def _on_rollout_start(self) -> None:
        if self._checkpoints.due(self._logger.steps):
            self._checkpoints.save(self._logger.steps)


class Learner:
    """The learner of a training. `tree` is the state to resume from; environments begin new episodes."""

    def __init__(self, plan: JumanjiPlan) -> None:
        self._plan = plan
        compiling = CompileTime()
        env = make(plan.config.env_id, env_kwargs_of(plan.hyperparameters))
        self._envs = BatchVecEnv(env, plan.count, plan.config.seed)
        self.env = self._envs.env
        values = {name: value for name, value in plan.hyperparameters.items() if name not in PPO_PARAMETERS}
        arguments = policy_arguments(self._envs.actions, plan.hyperparameters)
        self._model = ReportingPPO(
            PPOPolicy, self._envs, seed=plan.config.seed, policy_kwargs=arguments, **values
        )
        self._model.compiling = compiling
        self._model.num_timesteps = plan.start_step
        if plan.resume_from:
            self.tree = from_file(plan.resume_from[0], self.tree)

    @property
    def steps(self) -> int:
        return int(self._model.num_timesteps)

    @property
    def tree(self) -> Any:
        model, policy = self._model, self._model.policy
        keys = {"algorithm": model.key, "policy": policy.key}
        return {"actor": policy.actor_state, "critic": policy.vf_state, "keys": keys}

    @tree.setter
    def tree(self, tree: Any) -> None:
        model, policy = self._model, self._model.policy
        policy.actor_state, policy.vf_state = tree["actor"], tree["critic"]
        model.key, policy.key = tree["keys"]["algorithm"], tree["keys"]["policy"]

    def batch(self) -> StatisticsState:
        """Return the current state of the environments."""
        return self._envs.state

    def learn(
        self, stop: threading.Event, logger: EpisodeLogger, frames: TrainingFrames, checkpoints: Checkpoints
    ) -> None:
        """Learn to the end, or until a stop is requested."""
        self._envs.reporter = BatchReporter(logger, self._plan.count)
        self._model.set_logger(Logger(None, [LogWriter(logger)]))
        remaining = self._plan.steps - self._plan.start_step
        watch = JumanjiCallback(stop, logger, frames, checkpoints)
        self._model.learn(remaining, callback=watch, reset_num_timesteps=False)


class MaskedActor(Actor):
    """Upstream's actor for one or several discrete choices, with illegal choices masked out."""

    def __call__(self, x: Any) -> Any:
        distribution = super().__call__(x)
        several = isinstance(distribution, distributions.Independent)
        logits = (distribution.distribution if several else distribution).logits
        mask = x[:, -math.prod(logits.shape[1:]) :].reshape(logits.shape)
        masked = distributions.Categorical(logits=jnp.where(mask > 0, logits, _MASKED_LOGIT))
        return distributions.Independent(masked, reinterpreted_batch_ndims=1) if several else masked
