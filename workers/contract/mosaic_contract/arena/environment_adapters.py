"""One interface to all kinds of environments: single-agent, parallel and turn-based.

`adapt` recognizes the kind by the attributes of an environment; neither Gymnasium nor PettingZoo is imported.
Agent ids are converted to strings. Returned values are checked as in trainings:
`mosaic_contract.environment_check`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

from mosaic_contract.environment_check import (
    EpisodeCheck,
    ReturnsCheck,
    TeamCheck,
    check_first_returns,
    check_mask,
    mask_method,
    offers,
)
from mosaic_contract.fastlane.render import RENDER_MODE, rendered
from mosaic_contract.messages import ALONE
from mosaic_contract.seeds import derive_seed


class AgentObservation(NamedTuple):
    """One agent's observation, the mask of its actions (None: all are legal) and its info."""

    observation: Any
    mask: Any
    info: Mapping[str, Any]


class EnvironmentAdapter(ABC):
    """An environment.

    After `reset` and `step`: `rewards` of that step, `terminated` and `truncated` by agent (including agents
    that have left), `turn` (the agents that act next; empty when the episode has ended) and `info` (the
    latest info of any agent).

    `masks_bind`: actions excluded by a mask are refused; otherwise masks are only advice.
    """

    paradigm: ClassVar[str]
    masks_bind: ClassVar[bool] = True

    def __init__(self, env: Any, agents: Iterable[Any], check: EpisodeCheck) -> None:
        self.env, self.check = env, check
        self.ids = {str(agent): agent for agent in agents}
        self.agents = list(self.ids)
        self.rewards: dict[str, float] = {}
        self.terminated: dict[str, bool] = {}
        self.truncated: dict[str, bool] = {}
        self.turn: list[str] = []
        self.info: Mapping[str, Any] = {}

    def reset(self, seed: int | None, episode: int | None = None) -> None:
        """Begin the episode with this number, or the next one. All its randomness is derived from the seed (0
        or larger); without one, the environment's generators continue."""
        if seed is not None:
            for agent in self.agents:
                for space in self.spaces(agent):
                    space.seed(derive_seed(seed, f"space/{agent}"))
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.terminated = dict.fromkeys(self.agents, False)
        self.truncated = dict.fromkeys(self.agents, False)
        self.info = {}
        self.check.begin(seed, episode)
        self.begin(seed)

    @abstractmethod
    def spaces(self, agent: str) -> tuple[Any, Any]:
        """Return an agent's observation space and action space."""

    @abstractmethod
    def begin(self, seed: int | None) -> None:
        """Reset this kind of environment."""

    @abstractmethod
    def observe(self, agent: str) -> AgentObservation: ...

    def present_agents(self) -> list[str]:
        """Return the agents that have not left the episode."""
        return self.turn

    def observing_agents(self) -> list[str]:
        """Return the agents that have observed the latest step."""
        return self.present_agents()

    def last_observations(self) -> dict[str, Any]:
        """Return the observation of each agent that has one at the end of an episode."""
        observations = {}
        for agent in self.agents:
            with suppress(Exception):  # some environments raise for an agent that has left
                observations[agent] = self.observe(agent).observation
        return observations

    @abstractmethod
    def step(self, actions: Mapping[str, Any]) -> None:
        """Play the actions of all agents whose turn it is."""

    def render(self) -> Any:
        """Return an image of the state. Raises the environment's errors."""
        return self.env.render()

    def close(self) -> None:
        self.env.close()


class SingleAgentAdapter(EnvironmentAdapter):
    """A Gymnasium environment."""

    paradigm = "single_agent"
    masks_bind = False  # Taxi's mask marks actions that have an effect; all others are legal too

    check: ReturnsCheck

    def __init__(self, env: Any, env_id: str) -> None:
        check_first_returns(env, env_id)
        super().__init__(env, [ALONE], ReturnsCheck(env.observation_space, env_id))
        self._observation: Any = None
        self._is_suspended = False
        self._masks = mask_method(env)

    def spaces(self, agent: str) -> tuple[Any, Any]:
        return self.env.observation_space, self.env.action_space

    def begin(self, seed: int | None) -> None:
        self._observation, self.info = self.check.reset(self.env.reset(seed=seed))
        check_mask(self.info, self.env.action_space, self.check.env_id)
        self.turn = self.agents
        self._suspend_render_mode()

    def _suspend_render_mode(self) -> None:
        """Remove the render mode between images, if the environment allows it; see `rendered`."""
        inner = getattr(self.env, "unwrapped", self.env)
        if getattr(inner, "render_mode", None) == RENDER_MODE:
            with suppress(Exception):
                inner.render_mode = None
                self._is_suspended = True

    def observe(self, agent: str) -> AgentObservation:
        mask = self.info.get("action_mask") if self.info else None
        if mask is None and self._masks is not None:
            mask = _by_number(self._masks(), self.env.action_space)
        return AgentObservation(self._observation, mask, self.info)

    def step(self, actions: Mapping[str, Any]) -> None:
        returned = self.check.step(self.env.step(actions[ALONE]))
        self._observation, reward, terminated, truncated, self.info = returned
        self.rewards = {ALONE: reward}
        self.terminated = {ALONE: terminated}
        self.truncated = {ALONE: truncated}
        if terminated or truncated:
            self.turn = []

    def render(self) -> Any:
        return rendered(self.env) if self._is_suspended else self.env.render()


class PettingZooAdapter(EnvironmentAdapter):
    """Base class of the adapters for PettingZoo's AEC and parallel environments."""

    def spaces(self, agent: str) -> tuple[Any, Any]:
        name = self.ids[agent]
        return self.env.observation_space(name), self.env.action_space(name)

    def _record_ends(self, terminated: Mapping[Any, Any], truncated: Mapping[Any, Any]) -> None:
        self.terminated.update((str(agent), bool(ended)) for agent, ended in terminated.items())
        self.truncated.update((str(agent), bool(ended)) for agent, ended in truncated.items())

    def _record_rewards(self, rewards: Mapping[Any, Any]) -> None:
        number = self.check.reward
        self.rewards = {
            agent: number(rewards.get(name, 0.0), f" of {agent}") for agent, name in self.ids.items()
        }


class ParallelAdapter(PettingZooAdapter):
    """A PettingZoo environment with agents that act simultaneously."""

    paradigm = "parallel"

    check: TeamCheck

    def __init__(self, env: Any, env_id: str) -> None:
        super().__init__(env, env.possible_agents, TeamCheck(env, env_id))
        self._observations: Mapping[Any, Any] = {}
        self._infos: Mapping[Any, Any] = {}

    def begin(self, seed: int | None) -> None:
        self._observations, self._infos = self.check.reset(self.env.reset(seed=seed))
        self.turn = [str(agent) for agent in self.env.agents]

    def observe(self, agent: str) -> AgentObservation:
        name = self.ids[agent]
        return _observed(self._observations[name], self._infos.get(name) or {})

    def observing_agents(self) -> list[str]:
        return [str(agent) for agent in self._observations]

    def step(self, actions: Mapping[str, Any]) -> None:
        env_actions = {self.ids[agent]: action for agent, action in actions.items()}
        returned = self.check.step(self.env.step(env_actions))
        self._observations, rewards, terminated, truncated, self._infos = returned
        self._record_rewards(rewards)
        self._record_ends(terminated, truncated)
        live = [str(agent) for agent in self.env.agents]
        ended = all(self.terminated[agent] or self.truncated[agent] for agent in live)
        self.turn = [] if ended else live
        self.info = next(iter(self._infos.values()), {}) or {}


class TurnBasedAdapter(PettingZooAdapter):
    """A PettingZoo environment with agents that act in turns (AEC). Agents that have left are skipped."""

    paradigm = "aec"

    def __init__(self, env: Any, env_id: str) -> None:
        super().__init__(env, env.possible_agents, EpisodeCheck(env_id))

    def begin(self, seed: int | None) -> None:
        self.env.reset(seed=seed)
        self._skip_ended()

    def observe(self, agent: str) -> AgentObservation:
        name = self.ids[agent]
        return _observed(self.env.observe(name), self.env.infos.get(name) or {})

    def step(self, actions: Mapping[str, Any]) -> None:
        mover = self.turn[0]
        self.check.steps += 1
        self.env.step(actions[mover])
        self._record_rewards(self.env.rewards)
        self.info = self.env.infos.get(self.ids[mover]) or {}
        self._record_ends(self.env.terminations, self.env.truncations)
        self._skip_ended()

    def present_agents(self) -> list[str]:
        return [str(agent) for agent in self.env.agents]

    def _skip_ended(self) -> None:
        env = self.env
        for _ in range(2 * len(self.agents) + 2):
            if not env.agents:
                break
            selected = env.agent_selection
            if not (env.terminations[selected] or env.truncations[selected]):
                self.turn = [str(selected)]
                return
            env.step(None)
            self._record_ends(env.terminations, env.truncations)
        self.turn = []


def adapt(env: Any, env_id: str) -> EnvironmentAdapter:
    """Return the adapter of an environment. Raises `TypeError` for any other kind of object."""
    if offers(env, "agent_iter"):
        return TurnBasedAdapter(env, env_id)
    if offers(env, "possible_agents"):
        return ParallelAdapter(env, env_id)
    if hasattr(env, "observation_space") and hasattr(env, "step"):
        return SingleAgentAdapter(env, env_id)
    kind = type(env)
    raise TypeError(
        f"a {kind.__module__}.{kind.__qualname__} is neither a Gymnasium environment nor one of PettingZoo's"
    )


def _by_number(mask: Any, space: Any) -> Any:
    """Return a mask in Gymnasium's form: flat MultiDiscrete masks are split into one mask per number."""
    if type(space).__name__ != "MultiDiscrete":
        return mask
    end_indices = accumulate(map(int, space.nvec))
    return tuple(mask[end - int(size) : end] for end, size in zip(end_indices, space.nvec))


def _observed(observation: Any, info: Mapping[str, Any]) -> AgentObservation:
    """Return an observation with its mask, from the info or from a dict observation, which is kept whole."""
    mask = info.get("action_mask")
    if mask is None and isinstance(observation, Mapping):
        mask = observation.get("action_mask")
    return AgentObservation(observation, mask, info)
