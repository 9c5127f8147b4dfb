"""Served environments with PettingZoo's interfaces, in the form that it has in all versions.

All agents have strings as names. An agent that has ended is not among `agents`; in a turn-based environment
it is not selected again.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

from mosaic_contract.environment_server.client import EnvironmentClient
from mosaic_contract.environment_server.served import NOTHING, Served, info_of
from mosaic_contract.environment_server.shared_arrays import Region
from mosaic_contract.errors import ConfigError
from mosaic_contract.spaces import make_space


class _ServedTeam(Served):
    """An environment of several agents in the process of another worker."""

    def __init__(
        self, client: EnvironmentClient, description: Mapping[str, Any], render_mode: str | None
    ) -> None:
        super().__init__(client, description, render_mode)
        self.max_cycles = description["max_episode_steps"]
        self.possible_agents = list(description["agents"])
        self.agents: list[str] = []
        self._regions: dict[str, Region] = {}
        self._observation_spaces: dict[str, Any] = {}
        self._action_spaces: dict[str, Any] = {}
        for agent, described in description["agents"].items():
            spaces = described["observation_space"], described["action_space"]
            self._regions[agent] = Region(client.memory, described["start"], *spaces)
            self._observation_spaces[agent], self._action_spaces[agent] = map(make_space, spaces)

    @property
    def unwrapped(self) -> Any:
        return self

    def observation_space(self, agent: str) -> Any:
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self._action_spaces[agent]

    def _restart(self, seed: int | None, options: Any) -> Mapping[str, Any]:
        if options:
            raise ConfigError(f"a served team is reset without options, got {options!r:.100}")
        return self._reset(seed, None).get("agents", NOTHING)

    def _read(self, rest: Mapping[str, Any]) -> dict[str, tuple[Any, dict[str, Any]]]:
        """Update `agents`. Return the observation and the info of each agent that has observed."""
        places = {agent: region.read_place() for agent, region in self._regions.items()}
        self.agents = [agent for agent, place in places.items() if place.present]
        seen = {}
        for agent, place in places.items():
            if place.observes:
                region, message = self._regions[agent], rest.get(agent, NOTHING)
                info = info_of(message)
                if place.masked:
                    info["action_mask"] = region.mask.copy()
                seen[agent] = region.observation.read(message.get("observation")), info
        self._selected = next((agent for agent, place in places.items() if place.acts), None)
        return seen


class ServedParallel(_ServedTeam):
    """An environment whose agents act at once."""

    def reset(
        self, seed: int | None = None, options: Any = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        seen = self._read(self._restart(seed, options))
        return _column(seen, 0), _column(seen, 1)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        acted = self.agents
        seen = self._read(self._step(actions).get("agents", NOTHING))
        ends = {agent: self._regions[agent].read_ends() for agent in dict.fromkeys([*acted, *seen])}
        return _column(seen, 0), *(_column(ends, number) for number in range(3)), _column(seen, 1)

    def place(self, action: Mapping[str, Any]) -> None:
        rest = {agent: self._regions[agent].action.write(action[agent]) for agent in self.agents}
        self.action_rest = {agent: part for agent, part in rest.items() if part is not None} or None


class ServedTurns(_ServedTeam):
    """An environment whose agents act in turns. An agent that has ended keeps its last observation."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self._seen: dict[str, tuple[Any, dict[str, Any]]] = {}
        self._take(self._restart(seed, options))

    def step(self, action: Any) -> None:
        self._take(self._step(action).get("agents", NOTHING))

    def place(self, action: Any) -> None:
        rest = self._regions[self.agent_selection].action.write(action)
        self.action_rest = None if rest is None else {self.agent_selection: rest}

    def observe(self, agent: str) -> Any:
        return self._seen[agent][0]

    def agent_iter(self) -> None:
        """PettingZoo's method, by which turn-based environments are recognized."""
        raise NotImplementedError("a training steps this environment by its agent_selection")

    def _take(self, rest: Mapping[str, Any]) -> None:
        self._seen.update(self._read(rest))
        self.agent_selection: str = self._selected or self.agent_selection
        self.infos = _column(self._seen, 1)
        ends = {agent: region.read_ends() for agent, region in self._regions.items()}
        self.rewards, self.terminations, self.truncations = (_column(ends, number) for number in range(3))


CLASSES: Mapping[str, Callable[..., Any]] = {"parallel": ServedParallel, "aec": ServedTurns}
"""The classes of served teams, by paradigm."""


def _column(rows: Mapping[str, tuple[Any, ...]], number: int) -> dict[str, Any]:
    return {agent: row[number] for agent, row in rows.items()}
