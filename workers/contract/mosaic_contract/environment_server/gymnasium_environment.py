"""A served environment with Gymnasium's interface."""

from __future__ import annotations

import functools
from contextlib import suppress
from importlib import import_module
from typing import Any, Iterable, Mapping

from mosaic_contract.arrays import unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, encode_line, with_tagged_tuples
from mosaic_contract.environment_server.client import EnvironmentClient, client_of
from mosaic_contract.environment_server.shared_arrays import Region
from mosaic_contract.spaces import make_space, start_of

_NOTHING: Mapping[str, Any] = {}


def make_served(
    server: Mapping[str, Any], env_id: str, settings: Mapping[str, Any], render_mode: str | None
) -> Any:
    """Make an environment in a server. Raises `ConfigError` if it cannot be made."""
    client = client_of(server)
    tagged = with_tagged_tuples(settings)
    description = client.request("make", env_id=env_id, settings=tagged, render_mode=render_mode)
    env = _environment_class()(client, description, render_mode)
    with suppress(import_module("gymnasium").error.Error):  # an id that its registry would not accept
        env.spec = import_module("gymnasium.envs.registration").EnvSpec(
            env_id, max_episode_steps=description["max_episode_steps"]
        )
    return env


def begin_steps(environments: Iterable[Any], actions: Iterable[Any]) -> None:
    """Begin a step of several environments at once, with actions that start at 0. The `step` of each returns
    its result.

    Environments of one server are stepped in one round trip. Environments that are not served are ignored.
    """
    begun: dict[EnvironmentClient, list[Any]] = {}
    for env, action in zip(environments, actions):
        served = env.unwrapped
        if isinstance(served, _environment_class()):
            served.place(action + served.start if served.start else action)
            begun.setdefault(served.client, []).append(served)
    for client, group in begun.items():
        _send_step(client, group)


class _Step:
    """A step of several environments that has begun."""

    def __init__(self, client: EnvironmentClient, number: int) -> None:
        self._client, self._number = client, number
        self._returned: Mapping[str, Any] | None = None

    def rest(self, key: str) -> Mapping[str, Any]:
        """Return what one environment has returned beside what is in memory."""
        if self._returned is None:
            self._returned = self._client.answer(self._number, "step").get("returned", _NOTHING)
        return self._returned.get(key, _NOTHING)


def _send_step(client: EnvironmentClient, environments: list[Any]) -> None:
    rest = {env.key: env.action_rest for env in environments if env.action_rest is not None}
    indices = [env.index for env in environments]
    command = {"cmd": "step", "indices": indices, "actions": rest}
    line = encode_line(command, OPERATING_LINE_LIMIT) if rest else _step_line(tuple(indices))
    step = _Step(client, client.send(line))
    for env in environments:
        env.begun = step


@functools.lru_cache(maxsize=256)
def _step_line(indices: tuple[int, ...]) -> bytes:
    return encode_line({"cmd": "step", "indices": indices})


@functools.lru_cache(None)
def _environment_class() -> Any:
    gymnasium = import_module("gymnasium")

    class Served(gymnasium.Env):  # type: ignore[name-defined]
        """An environment in the process of another worker."""

        def __init__(
            self, client: EnvironmentClient, description: Mapping[str, Any], render_mode: str | None
        ) -> None:
            self.client, self.index, self.key = client, description["index"], str(description["index"])
            spaces = description["observation_space"], description["action_space"]
            self._region = Region(client.memory, description["start"], *spaces)
            self.observation_space, self.action_space = map(make_space, spaces)
            self.start = start_of(self.action_space)
            self.metadata = dict(description["metadata"])
            self.render_mode = render_mode
            self.begun: _Step | None = None
            self.action_rest: Any = None

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            self._finish()
            answer = self.client.request("reset", index=self.index, seed=seed, options=options)
            rest = answer.get("returned", _NOTHING).get(self.key, _NOTHING)
            return self._region.observation.read(rest.get("observation")), _info(rest)

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            if self.begun is None:
                self.place(action)
                _send_step(self.client, [self])
            rest = self._finish()
            return (
                self._region.observation.read(rest.get("observation")),
                *self._region.read_ends(),
                _info(rest),
            )

        def place(self, action: Any) -> None:
            """Place the next action in memory."""
            self.action_rest = self._region.action.write(action)

        def render(self) -> Any:
            self._finish()
            return self.client.picture(self.client.request("render", index=self.index))

        def close(self) -> None:
            self.client.request("close", index=self.index)

        def _finish(self) -> Mapping[str, Any]:
            """End a step that has begun. Return what is not in memory."""
            step, self.begun = self.begun, None
            return _NOTHING if step is None else step.rest(self.key)

    return Served


def _info(rest: Mapping[str, Any]) -> dict[str, Any]:
    return dict(unpack(rest["info"])) if "info" in rest else {}
