"""Environments in a server, as the training sees them, with Gymnasium's and PettingZoo's interfaces.

They are made, stepped together, rendered and closed in the process of another worker.
"""

from __future__ import annotations

import functools
from contextlib import suppress
from importlib import import_module
from typing import Any, Callable, Iterable, Mapping

from mosaic_contract.arrays import pack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, encode_line, with_tagged_tuples
from mosaic_contract.environment_server.client import EnvironmentClient, client_of
from mosaic_contract.environment_server.shared_arrays import Region
from mosaic_contract.errors import ConfigError
from mosaic_contract.gymnasium_wrappers import is_user_wrapper
from mosaic_contract.spaces import make_space

_NOTHING: Mapping[str, Any] = {}


def make_served(
    server: Mapping[str, Any], env_id: str, settings: Mapping[str, Any], render_mode: str | None
) -> Any:
    """Make an environment in a server, with Gymnasium's interface or, for several agents, PettingZoo's.
    Raises `ConfigError` if it cannot be made, or if the server's `paradigms` exclude it."""
    client = client_of(server)
    command = {
        "cmd": "make",
        "env_id": env_id,
        "settings": with_tagged_tuples(settings),
        "render_mode": render_mode,
        "paradigms": server.get("paradigms"),
    }
    import_module("gymnasium")  # while the process starts
    description = client.make(encode_line(command, OPERATING_LINE_LIMIT))
    if "agents" not in description:
        return _make_alone(client, env_id, description, render_mode)
    team = ServedTurns if description["paradigm"] == "aec" else ServedParallel
    return team(client, description, render_mode)


def begin_steps(environments: Iterable[Any], actions: Iterable[Any]) -> None:
    """Begin a step of several environments at once, with the actions of their outermost wrappers. The `step`
    of each returns its result.

    Environments of one process are stepped in one round trip, and the processes act at the same time.
    Environments that are not served are ignored, as are those inside a user-defined wrapper, whose `step` may
    change actions.
    """
    groups: dict[EnvironmentClient, list[Served]] = {}
    for env, action in zip(environments, actions):
        served, changes = _innermost(env)
        if served is not None:
            for change in changes:
                action = change(action)
            served.write_action(action)
            groups.setdefault(served.client, []).append(served)
    for client, group in groups.items():
        _send_step(client, group)


def step_together(vector_class: Any) -> None:
    """Make a library's vector class, which steps one environment after another, begin all steps at once."""
    step_async = vector_class.step_async

    def begin(self: Any, actions: Any) -> None:
        step_async(self, actions)
        begin_steps(self.envs, actions)

    vector_class.step_async = begin


@functools.lru_cache(maxsize=256)
def _innermost(env: Any) -> tuple[Served | None, tuple[Callable[[Any], Any], ...]]:
    """Return the served environment within wrappers, and their functions of actions, outermost first."""
    changes = []
    while not isinstance(env, Served):
        if is_user_wrapper(env) or not hasattr(env, "env"):
            return None, ()
        if hasattr(type(env), "action"):
            changes.append(env.action)
        env = env.env
    return env, tuple(changes)


class Served:
    """An environment in the process of another worker."""

    def __init__(
        self, client: EnvironmentClient, description: Mapping[str, Any], render_mode: str | None
    ) -> None:
        self.client, self.index, self.key = client, description["index"], str(description["index"])
        client.environments[self.key] = self
        self.metadata = dict(description["metadata"])
        self.render_mode = render_mode
        self.pending_step: _Step | None = None
        self.action_parts: Any = None

    def write_action(self, action: Any) -> None:
        """Write the next action to its region; `action_parts` gets the parts to send in a message."""
        raise NotImplementedError

    def keep_texts(self, message_parts: Mapping[str, Any]) -> None:
        """Read the observations of an answer to an interrupted call. `message_parts` are the parts of
        the answer that were sent in a message."""
        raise NotImplementedError

    def render(self) -> Any:
        self._finish()
        return self.client.picture(self.index)

    def close(self) -> None:
        if self.client.environments.pop(self.key, None) is self:
            self.client.request("close", index=self.index)

    def _reset(self, seed: int | None, options: Any) -> Mapping[str, Any]:
        """Reset the environment. Return the parts of the answer that were sent in a message."""
        self._finish()
        answer = self.client.request("reset", index=self.index, seed=seed, options=options)
        returned: Mapping[str, Any] = answer.get("returned", _NOTHING)
        return returned.get(self.key, _NOTHING)

    def _step(self, action: Any) -> Mapping[str, Any]:
        """Play an action, or finish the step in progress. Return the same as `_reset`."""
        if self.pending_step is None:
            self.write_action(action)
            _send_step(self.client, [self])
        return self._finish()

    def _finish(self) -> Mapping[str, Any]:
        step, self.pending_step = self.pending_step, None
        return _NOTHING if step is None else step.message_parts(self.key)


class _Step:
    """A step of several environments that is in progress."""

    def __init__(self, client: EnvironmentClient, number: int) -> None:
        self._client, self._number = client, number
        self._returned: Mapping[str, Any] | None = None

    def message_parts(self, key: str) -> Mapping[str, Any]:
        """Return the parts of one environment's answer that were sent in a message."""
        if self._returned is None:
            self._returned = self._client.answer(self._number, "step").get("returned", _NOTHING)
        return self._returned.get(key, _NOTHING)


def _send_step(client: EnvironmentClient, environments: list[Served]) -> None:
    action_parts = {env.key: env.action_parts for env in environments if env.action_parts is not None}
    indices = [env.index for env in environments]
    if action_parts:
        command = {"cmd": "step", "indices": indices, "actions": pack(action_parts)}
        line = encode_line(command, OPERATING_LINE_LIMIT)
    else:
        line = _step_line(tuple(indices))
    step = _Step(client, client.send(line))
    for env in environments:
        env.pending_step = step


@functools.lru_cache(maxsize=256)
def _step_line(indices: tuple[int, ...]) -> bytes:
    return encode_line({"cmd": "step", "indices": indices})


def _make_alone(
    client: EnvironmentClient, env_id: str, description: Mapping[str, Any], render_mode: str | None
) -> Any:
    """Return the single-agent environment with this description."""
    env = _environment_class()(client, description, render_mode)
    with suppress(import_module("gymnasium").error.Error):  # an id that its registry would not accept
        env.spec = import_module("gymnasium.envs.registration").EnvSpec(
            env_id, max_episode_steps=description["max_episode_steps"]
        )
    return env


@functools.lru_cache(None)
def _environment_class() -> Any:
    gymnasium = import_module("gymnasium")

    class ServedEnvironment(Served, gymnasium.Env):  # type: ignore[name-defined]
        """An environment of one agent in the process of another worker."""

        def __init__(
            self, client: EnvironmentClient, description: Mapping[str, Any], render_mode: str | None
        ) -> None:
            super().__init__(client, description, render_mode)
            spaces = description["observation_space"], description["action_space"]
            self._region = Region(client.memory, description["start"], *spaces)
            self.observation_space, self.action_space = map(make_space, spaces)

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            gymnasium.Env.reset(self, seed=seed)
            parts = self._reset(seed, options)
            return self._region.observation.read(parts.get("observation")), _info_of(parts)

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            parts = self._step(action)
            return (
                self._region.observation.read(parts.get("observation")),
                *self._region.read_outcome(),
                _info_of(parts),
            )

        def write_action(self, action: Any) -> None:
            self.action_parts = self._region.action.write(action)

        def keep_texts(self, message_parts: Mapping[str, Any]) -> None:
            self._region.observation.read(message_parts.get("observation"))

    return ServedEnvironment


class _ServedTeam(Served):
    """An environment of several agents in the process of another worker.

    It has the parts of PettingZoo's interfaces that are the same in all versions. Agents have strings as
    names; those that have ended are not among `agents`.
    """

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

    def keep_texts(self, message_parts: Mapping[str, Any]) -> None:
        for agent, parts in message_parts["agents"].items():
            self._regions[agent].observation.read(parts.get("observation"))

    def _restart(self, seed: int | None, options: Any) -> Mapping[str, Any]:
        if options:
            raise ConfigError(f"a served team is reset without options, got {options!r:.100}")
        return self._reset(seed, None).get("agents", _NOTHING)

    def _read(self, message_parts: Mapping[str, Any]) -> dict[str, tuple[Any, dict[str, Any]]]:
        """Update `agents`. Return the observation and the info of each agent that has observed."""
        statuses = {agent: region.read_status() for agent, region in self._regions.items()}
        self.agents = [agent for agent, status in statuses.items() if status.present]
        observed = {}
        for agent, status in statuses.items():
            if status.observes:
                region, parts = self._regions[agent], message_parts.get(agent, _NOTHING)
                info = _info_of(parts)
                if status.masked:
                    info["action_mask"] = region.mask.copy()
                observed[agent] = region.observation.read(parts.get("observation")), info
        self._selected = next((agent for agent, status in statuses.items() if status.acts), None)
        return observed


class ServedParallel(_ServedTeam):
    """An environment whose agents act at once."""

    def reset(
        self, seed: int | None = None, options: Any = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        observed = self._read(self._restart(seed, options))
        return _column(observed, 0), _column(observed, 1)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        acted = self.agents
        observed = self._read(self._step(actions).get("agents", _NOTHING))
        agents = dict.fromkeys([*acted, *observed])
        outcomes = {agent: self._regions[agent].read_outcome() for agent in agents}
        return _column(observed, 0), *(_column(outcomes, number) for number in range(3)), _column(observed, 1)

    def write_action(self, action: Mapping[str, Any]) -> None:
        parts = {agent: self._regions[agent].action.write(action[agent]) for agent in self.agents}
        self.action_parts = {agent: part for agent, part in parts.items() if part is not None} or None


class ServedTurns(_ServedTeam):
    """An environment whose agents act in turns. An agent that has ended keeps its last observation and is not
    selected again."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self._observed: dict[str, tuple[Any, dict[str, Any]]] = {}
        self._update(self._restart(seed, options))

    def step(self, action: Any) -> None:
        self._update(self._step(action).get("agents", _NOTHING))

    def write_action(self, action: Any) -> None:
        part = self._regions[self.agent_selection].action.write(action)
        self.action_parts = None if part is None else {self.agent_selection: part}

    def observe(self, agent: str) -> Any:
        return self._observed[agent][0]

    def agent_iter(self) -> None:
        """PettingZoo's method, by which turn-based environments are recognized."""
        raise NotImplementedError("a training steps this environment by its agent_selection")

    def _update(self, message_parts: Mapping[str, Any]) -> None:
        self._observed.update(self._read(message_parts))
        self.agent_selection: str = self._selected or self.agent_selection
        self.infos = _column(self._observed, 1)
        outcomes = {agent: region.read_outcome() for agent, region in self._regions.items()}
        self.rewards, self.terminations, self.truncations = (_column(outcomes, number) for number in range(3))


def _column(rows: Mapping[str, tuple[Any, ...]], number: int) -> dict[str, Any]:
    return {agent: row[number] for agent, row in rows.items()}


def _info_of(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the info in an answer."""
    return dict(parts["info"]) if "info" in parts else {}
