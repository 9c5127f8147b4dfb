"""The training environments: upstream's interfaces, with reported episodes and frames.

Upstream's own classes of the same names import from modules that PettingZoo has removed (`pettingzoo.mpe`),
and do not seed their action spaces. Registered with upstream under the names of `UPSTREAM_NAMES`.
"""

from __future__ import annotations

import functools
import logging
from argparse import Namespace
from dataclasses import dataclass
from typing import Any, Collection, Iterable, Mapping

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

log = logging.getLogger(__name__)


@dataclass
class TrainingContext:
    """The plan, logger and frames of a training; its environments find them in upstream's configuration."""

    plan: XuancePlan
    logger: EpisodeLogger
    frames: TrainingFrames
    created: int = 0
    padding_reported: bool = False

    def make(self) -> Any:
        """Make one more environment, able to render if it will be shown."""
        spec = self.plan.spec
        wrappers = self.plan.config.wrappers
        continuous = spec.kind == CONTINUOUS
        return self.frames.make(
            functools.partial(make, spec.env_id, spec.keywords, continuous=continuous, wrappers=wrappers)
        )

    def report_padding(self, agents: Iterable[str]) -> None:
        """Log, once in a training, which agents are absent in a part of an episode."""
        if not self.padding_reported:
            self.padding_reported = True
            log.info(
                "agents of %s that are absent in a part of an episode: %s. Upstream stores all agents at "
                "every step: while absent, they observe zeros, get reward 0, and are masked in the losses",
                self.plan.spec.env_id,
                ", ".join(agents),
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
    """A parallel PettingZoo environment, for upstream with the agents' `upstream_names`. Its state is the
    concatenation of all agents' observations. An agent that has left early or has not joined yet observes
    zeros, receives no reward, and is masked."""

    def __init__(self, config: Namespace) -> None:
        super().__init__()
        context: TrainingContext = config.context
        spec = context.plan.spec
        env = context.make()
        env.reset(seed=config.env_seed)
        self.env = wrap(env, context.plan.config.wrappers, spec.env_id)
        self._context, self._absent = context, set[str]()
        self._names = upstream_names(spec.actions)
        self.agents = list(self._names.values())
        self.num_agents = len(self.agents)
        self.agent_groups = [self.agents]
        self.observation_space = self._named(spec.observations)
        self.action_space = {name: self.env.action_space(agent) for agent, name in self._names.items()}
        for index, space in enumerate(self.action_space.values()):
            space.seed(config.env_seed + index)
        self.state_space = state_space(spec.observations)
        self.max_episode_steps = spec.longest
        self.metadata, self.render_mode = self.env.metadata, None
        self._observations: dict[str, Any] = {}
        self.episode = XuanceEpisode(context, env)

    def reset(self) -> tuple[dict[str, Any], dict[str, Any]]:
        self._observations = self._padded(self.episode.reset(self.env))
        self.episode.begin(self._names)
        return self._observations, {}

    def action(self, actions: dict[str, Any]) -> dict[str, Any]:
        """Return the actions of the present agents, within the bounds of their spaces. `actions` is changed,
        too, like upstream's own do: the buffer stores the executed actions."""
        for name, action in actions.items():
            space = self.action_space[name]
            if isinstance(space, Box):
                actions[name] = np.clip(action, space.low, space.high)
        # mpe2 changes what it is given
        return {agent: np.array(actions[self._names[agent]]) for agent in self.env.agents}

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        present = list(self.env.agents)
        self._absent |= self._names.keys() - present
        observations, rewards, terminated, truncated, _ = self.env.step(self.action(actions))
        rewards = {agent: float(rewards.get(agent, 0.0)) for agent in self._names}
        self._observations = self._padded(observations)
        is_over = not self.env.agents
        cut = is_over and any(truncated.values())
        terminations = {agent: bool(terminated.get(agent, agent not in present)) for agent in self._names}
        if is_over and self._absent:
            self._context.report_padding(agent for agent in self._names if agent in self._absent)
        self.episode.step(rewards, terminated=is_over and not cut, truncated=cut)
        return self._observations, self._named(rewards), self._named(terminations), is_over, {}

    def _named(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: values[agent] for agent, name in self._names.items()}

    def _padded(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: observations[agent] if agent in observations else np.zeros(space.shape, space.dtype)
            for (agent, name), space in zip(self._names.items(), self.observation_space.values())
        }

    def state(self) -> np.ndarray[Any, Any]:
        return np.concatenate([self._observations[agent] for agent in self.agents])

    def agent_mask(self) -> dict[str, bool]:
        present = set(self.env.agents) or set(self._names)
        return {name: agent in present for agent, name in self._names.items()}

    def avail_actions(self) -> None:
        """Return None: no action is ever masked."""
        return

    def render(self, *args: Any) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()


def upstream_names(agents: Collection[str]) -> dict[str, str]:
    """Return each agent's name in upstream, which names PyTorch modules after agents: such a name has no
    dot. Names without a dot stay, so that the weights of a checkpoint keep theirs."""
    names: dict[str, str] = {}
    for agent in agents:
        name = agent.replace(".", "_")
        while name != agent and (name in agents or name in names.values()):
            name += "_"
        names[agent] = name
    return names


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
