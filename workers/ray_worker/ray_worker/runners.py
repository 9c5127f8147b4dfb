"""Classes for the processes that step environments: this process, others on this machine, others on a
cluster.

Ray ships the functions and classes of this module by value, so that nodes of a cluster need upstream and the
environments' libraries, but no package of this project: the contract is imported only to show frames.

A finished episode is a JSON string in upstream's metrics: returns by agent, length, terminated, truncated,
seconds, the runner's index, the environment's index within it, and this runner's steps so far.
"""

from __future__ import annotations

import functools
import json
import os
import socket
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Mapping

import gymnasium
from ray.experimental import internal_kv
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv

from .environment_maker import make_checked, make_wrapped

EPISODES = "mosaic_episodes"
ALONE = "agent_0"
"""The id of the agent in a single-agent environment, as in the contract."""


@dataclass(frozen=True)
class EnvironmentRecipe:
    """The recipe for a training's environments. `module` is a PettingZoo environment's, None for Gymnasium's.

    The environments of runner `shown_by` on the machine `host` send frames: the only runner if it is in the
    run's own process, else the first.
    """

    run_id: str
    module: str | None
    env_id: str
    keywords: Mapping[str, Any]
    several: bool
    shown_by: int
    per_runner: int
    host: str
    run_dir: Path
    fastlane: Mapping[str, Any]
    wrappers: tuple[Any, ...]


class FrameContext:
    """The frames of one process, with its own counts of steps and episodes to display."""

    def __init__(self, recipe: EnvironmentRecipe) -> None:
        from mosaic_contract import FastlaneConfig
        from mosaic_contract.fastlane import TrainingFrames

        fastlane = FastlaneConfig(**recipe.fastlane)
        self.frames = TrainingFrames(recipe.env_id, recipe.run_dir, fastlane, recipe.per_runner)
        self.steps = self.episodes = 0

    def step(self, publishes: bool, *, ended: bool) -> None:
        """Count a step. `publishes`: it is a step of the environment after which frames are rendered."""
        self.steps += 1
        self.episodes += ended
        if publishes and self.frames.due():
            self.frames.publish(episodes=self.episodes, steps=self.steps, steps_per_second=None)


class Score:
    """The latest reward and the return so far, averaged over agents."""

    def __init__(self) -> None:
        self.reward = self.total = 0.0

    def __call__(self) -> tuple[float, float]:
        return self.reward, self.total

    def begin(self) -> None:
        self.reward = self.total = 0.0

    def add(self, reward: float) -> None:
        self.reward = reward
        self.total += reward


class SingleAgentEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A Gymnasium environment that sends frames."""

    def __init__(self, env: Any, context: FrameContext) -> None:
        super().__init__(env)
        self._context, self._score = context, Score()
        self._publishes = context.frames.show(env, self._score)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self._score.begin()
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        result = self.env.step(action)
        self._score.add(float(result[1]))
        self._context.step(self._publishes, ended=bool(result[2] or result[3]))
        return result

    def close(self) -> None:
        self._context.frames.close()
        self.env.close()


class MultiAgentEnvironment(ParallelPettingZooEnv):
    """A parallel PettingZoo environment. Upstream's wrapper stores its agents in a set, whose order changes
    between processes; here they keep the environment's order."""

    def __init__(self, env: Any, context: FrameContext | None = None) -> None:
        super().__init__(env)
        self.agents = list(env.possible_agents)
        self.possible_agents = list(env.possible_agents)
        # Upstream has only the spaces of agents present after a reset; others may join later.
        self.observation_space, self.action_space = (
            gymnasium.spaces.Dict({agent: space(agent) for agent in self.possible_agents})
            for space in (env.observation_space, env.action_space)
        )
        self._context, self._score = context, Score()
        self._publishes = context is not None and context.frames.show(env, self._score)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self._score.begin()
        observations, infos = super().reset(seed=seed, options=options)
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, ...]:
        result: tuple[Any, ...] = super().step(actions)
        if self._context is not None:
            rewards = result[1]
            self._score.add(sum(map(float, rewards.values())) / max(1, len(rewards)))
            self._context.step(self._publishes, ended=not self.par_env.agents)
        return result

    def close(self) -> None:
        if self._context is not None:
            self._context.frames.close()
        super().close()


class EnvironmentCreator:
    """The creator of a runner's environments. The environments of one process share their frames."""

    def __init__(self, recipe: EnvironmentRecipe) -> None:
        self._recipe = recipe
        self._context: FrameContext | None = None

    def __call__(self, context: EnvContext) -> Any:
        """Make an environment for the runner in `context`."""
        recipe = self._recipe
        make = partial(make_checked, recipe.module, recipe.env_id, recipe.keywords)
        if recipe.wrappers:
            make = partial(make_wrapped, recipe.module, recipe.env_id, recipe.keywords, recipe.wrappers)
        if context.worker_index != recipe.shown_by or socket.gethostname() != recipe.host:
            env = MultiAgentEnvironment(make()) if recipe.several else make()
        else:
            shared = self._context = self._context or FrameContext(recipe)
            environment_class = MultiAgentEnvironment if recipe.several else SingleAgentEnvironment
            env = environment_class(shared.frames.make(make), shared)
        if context.worker_index:
            _report_errors(env, error_key(recipe.run_id, context.worker_index))
        return env

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_context": None}


def error_key(run_id: str, runner: int) -> str:
    """Return the key under which a runner reports its environment's latest error to the training."""
    return f"mosaic-{run_id}-error-{runner}"


def _report_errors(env: Any, key: str) -> None:
    """Report an environment's exception, or its exit of the process, to the training: upstream only logs it.
    The first error since the last sample is kept."""
    exit_process = os._exit

    def report(error: BaseException, frames: list[traceback.FrameSummary], trace: str) -> None:
        message, location = str(error)[:8_000], ""
        if isinstance(error, SystemExit):
            message = f"the environment ended the process (exit code {error.code or 0})"
            location = f": line {frames[-1].lineno} of {Path(frames[-1].filename).name}, in {frames[-1].name}"
        error_type = getattr(error, "error_type", type(error).__name__)  # of a served environment
        trace = getattr(error, "traceback", "") or trace
        content = json.dumps([error_type, message, location, trace[-60_000:]])
        internal_kv._internal_kv_put(key, content, overwrite=False)

    def reported(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return method(*args, **kwargs)
            except (Exception, SystemExit) as error:
                report(error, traceback.extract_tb(error.__traceback__), traceback.format_exc())
                raise

        return call

    def report_exit(status: int) -> None:
        frames = traceback.extract_stack()[:-1]
        report(SystemExit(status), frames, "".join(traceback.format_list(frames)))
        exit_process(status)

    env.reset, env.step = reported(env.reset), reported(env.step)
    os._exit = report_exit  # type: ignore[assignment]


class Episodes(RLlibCallback):
    """A callback that adds each finished episode to the runner's metrics, which reach the driver."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = 0

    def on_episode_step(self, **_: Any) -> None:
        self._steps += 1

    def on_episode_end(
        self,
        *,
        episode: Any,
        env_runner: Any,
        metrics_logger: Any,
        env_index: int,
        prev_episode_chunks: Any = None,
        **_: Any,
    ) -> None:
        chunks = [*(prev_episode_chunks or ()), episode]
        returns: dict[str, float] = {}
        for chunk in chunks:
            for agent, part in getattr(chunk, "agent_episodes", {ALONE: chunk}).items():
                returns[agent] = returns.get(agent, 0.0) + float(part.get_return())
        # For upstream a truncated team also counts as terminated: all its agents are done.
        team = hasattr(episode, "agent_episodes")
        cut = bool(episode.is_truncated and (team or not episode.is_terminated))
        ended = {
            "returns": returns,
            "length": sum(len(chunk) for chunk in chunks),
            "terminated": not cut,
            "truncated": cut,
            "seconds": sum(chunk.get_duration_s() for chunk in chunks),
            "runner": env_runner.worker_index,
            "environment": env_index,
            "steps": self._steps,
        }
        metrics_logger.log_value(EPISODES, json.dumps(ended), reduce="item_series")
