"""The training environments: upstream's interfaces, with reported episodes and frames.

Upstream's own classes of the same names import from modules that PettingZoo has removed (`pettingzoo.mpe`),
and do not seed their action spaces. Registered with upstream under the names of `UPSTREAM_NAMES`.
"""

from __future__ import annotations

import functools
from argparse import Namespace
from dataclasses import dataclass
from typing import Any, Mapping

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from mosaic_contract import Cancelled
from mosaic_contract.environment_server.served import begin_steps
from mosaic_contract.environment_spec import CONTINUOUS
from mosaic_contract.episode_logger import EpisodeLogger, TrainingEpisode
from mosaic_contract.fastlane import TrainingFrames
from mosaic_contract.messages import ALONE
from mosaic_contract.wrappers import wrap
from xuance.environment import (
    REGISTRY_ENV,
    REGISTRY_MULTI_AGENT_ENV,
    REGISTRY_VEC_ENV,
    DummyVecEnv,
    DummyVecMultiAgentEnv,
    RawEnvironment,
    RawMultiAgentEnv,
)

from .config import XuancePlan
from .environments import make

UPSTREAM_NAMES = {False: "mosaic", True: "mosaic_team"}
"""The names in upstream's registries, for single-agent and multi-agent environments and their vectors."""


@dataclass
class TrainingContext:
    """The plan, logger and frames of a training; its environments find them in upstream's configuration."""

    plan: XuancePlan
    logger: EpisodeLogger
    frames: TrainingFrames
    created: int = 0

    def make(self) -> Any:
        """Make one more environment, able to render if it will be shown."""
        spec = self.plan.spec
        wrappers = self.plan.config.wrappers
        continuous = spec.kind == CONTINUOUS
        return self.frames.make(
            functools.partial(make, spec.env_id, spec.keywords, continuous=continuous, wrappers=wrappers)
        )


class XuanceEpisode(TrainingEpisode):
    """The current episode of one environment. A signal that upstream would swallow is raised at the next
    step."""

    def __init__(self, context: TrainingContext, env: Any) -> None:
        super().__init__(env, context.created, context.logger, context.frames)
        context.created += 1
        self._stopped: Cancelled | None = None

    def step(self, rewards: Mapping[str, float], *, terminated: bool, truncated: bool) -> None:
        super().step(rewards, terminated=terminated, truncated=truncated)
        if self._stopped is not None:
            raise self._stopped

    def reset(self, env: Any) -> Any:
        """Reset the environment and return the first observation. A signal during the reset is kept for the
        next step: upstream resets within a bare `except:`."""
        while True:
            try:
                return env.reset()[0]
            except Cancelled as cancelled:
                self._stopped = cancelled


class ReportingEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A Gymnasium environment that reports its episodes, below the run's wrappers."""

    def __init__(self, env: gymnasium.Env[Any, Any], episode: XuanceEpisode) -> None:
        super().__init__(env)
        self._episode = episode

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation = self._episode.reset(self.env)
        self._episode.begin()
        return observation, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._episode.step(
            {ALONE: reward}, terminated=bool(terminated), truncated=bool(truncated and not terminated)
        )
        return observation, reward, bool(terminated), bool(truncated), info


class XuanceSingleAgentEnvironment(RawEnvironment):
    """A Gymnasium environment."""

    def __init__(self, config: Namespace) -> None:
        super().__init__()
        context: TrainingContext = config.context
        env = context.make()
        env.reset(seed=config.env_seed)
        run = context.plan.config
        self.env = wrap(ReportingEnvironment(env, XuanceEpisode(context, env)), run.wrappers, run.env_id)
        self.observation_space, self.action_space = self.env.observation_space, self.env.action_space
        self.action_space.seed(config.env_seed)
        self.metadata, self.render_mode = self.env.metadata, None
        self.max_episode_steps = context.plan.spec.longest

    def reset(self) -> tuple[Any, dict[str, Any]]:
        return self.env.reset()[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return observation, float(reward), bool(terminated), bool(truncated), {}

    def render(self, *args: Any) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()


class XuanceMultiAgentEnvironment(RawMultiAgentEnv):
    """A parallel PettingZoo environment. Its state is the concatenation of all agents' observations. An agent
    that has left early or has not joined yet observes zeros, receives no reward, and is masked."""

    def __init__(self, config: Namespace) -> None:
        super().__init__()
        context: TrainingContext = config.context
        spec = context.plan.spec
        env = context.make()
        env.reset(seed=config.env_seed)
        self.env = wrap(env, context.plan.config.wrappers, spec.env_id)
        self.agents = list(spec.actions)
        self.num_agents = len(self.agents)
        self.agent_groups = [self.agents]
        self.observation_space = dict(spec.observations)
        self.action_space = {agent: self.env.action_space(agent) for agent in self.agents}
        for index, space in enumerate(self.action_space.values()):
            space.seed(config.env_seed + index)
        self.state_space = state_space(spec.observations)
        self.max_episode_steps = spec.longest
        self.metadata, self.render_mode = self.env.metadata, None
        self._observations: dict[str, Any] = {}
        self.episode = XuanceEpisode(context, env)

    def reset(self) -> tuple[dict[str, Any], dict[str, Any]]:
        self._observations = self._padded(self.episode.reset(self.env))
        self.episode.begin(self.agents)
        return self._observations, {}

    def action(self, actions: dict[str, Any]) -> dict[str, Any]:
        """Return the actions of the present agents, within the bounds of their spaces. `actions` is changed,
        too, like upstream's own do: the buffer stores the executed actions."""
        for agent, action in actions.items():
            space = self.action_space[agent]
            if isinstance(space, Box):
                actions[agent] = np.clip(action, space.low, space.high)
        return {agent: np.array(actions[agent]) for agent in self.env.agents}  # mpe2 changes what it is given

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        present = list(self.env.agents)
        observations, rewards, terminated, truncated, _ = self.env.step(self.action(actions))
        rewards = {agent: float(rewards.get(agent, 0.0)) for agent in self.agents}
        self._observations = self._padded(observations)
        is_over = not self.env.agents
        cut = is_over and any(truncated.values())
        terminations = {agent: bool(terminated.get(agent, agent not in present)) for agent in self.agents}
        self.episode.step(rewards, terminated=is_over and not cut, truncated=cut)
        return self._observations, rewards, terminations, is_over, {}

    def _padded(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        return {
            agent: observations.get(agent, np.zeros(space.shape, space.dtype))
            for agent, space in self.observation_space.items()
        }

    def state(self) -> np.ndarray[Any, Any]:
        return np.concatenate([self._observations[agent] for agent in self.agents])

    def agent_mask(self) -> dict[str, bool]:
        present = set(self.env.agents) or set(self.agents)
        return {agent: agent in present for agent in self.agents}

    def avail_actions(self) -> None:
        """Return None: no action is ever masked."""
        return

    def render(self, *args: Any) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()


def state_space(observations: Mapping[str, Any]) -> Box:
    """Return the space of all agents' concatenated observations."""
    return Box(-np.inf, np.inf, (sum(space.shape[0] for space in observations.values()),), np.float32)


class XuanceSingleAgentVector(DummyVecEnv):
    """Environments in this process, or served and stepped together. The observations before a step are kept:
    upstream stores the first ones of a training after the step."""

    buf_obs: Any

    def step_wait(self) -> Any:
        begin_steps(self.envs, self.actions)
        self.buf_obs = self.buf_obs.copy()
        return super().step_wait()


class XuanceMultiAgentVector(DummyVecMultiAgentEnv):
    """The same for teams."""

    buf_obs: Any

    def step_wait(self) -> Any:
        begin_steps(self.envs, self.actions)
        self.buf_obs = self.buf_obs.copy()
        return super().step_wait()


REGISTRY_VEC_ENV.update(
    {UPSTREAM_NAMES[False]: XuanceSingleAgentVector, UPSTREAM_NAMES[True]: XuanceMultiAgentVector}
)
REGISTRY_ENV[UPSTREAM_NAMES[False]] = XuanceSingleAgentEnvironment
REGISTRY_MULTI_AGENT_ENV[UPSTREAM_NAMES[True]] = XuanceMultiAgentEnvironment
