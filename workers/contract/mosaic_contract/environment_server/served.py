"""Environments in a server, as the training sees them: made, stepped together, rendered and closed."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, Callable, Iterable, Mapping

from mosaic_contract.arrays import unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, encode_line, with_tagged_tuples
from mosaic_contract.environment_server.client import EnvironmentClient, client_of
from mosaic_contract.gymnasium_wrappers import is_of_user

NOTHING: Mapping[str, Any] = {}


def make_served(
    server: Mapping[str, Any], env_id: str, settings: Mapping[str, Any], render_mode: str | None
) -> Any:
    """Make an environment in a server, with Gymnasium's interface or, for several agents, PettingZoo's.
    Raises `ConfigError` if it cannot be made, or if the server's `paradigms` exclude it."""
    client = client_of(server)
    description = client.request(
        "make",
        env_id=env_id,
        settings=with_tagged_tuples(settings),
        render_mode=render_mode,
        paradigms=server.get("paradigms"),
    )
    package = "mosaic_contract.environment_server"
    if "agents" in description:
        team = import_module(f"{package}.pettingzoo_environment").CLASSES[description["paradigm"]]
        return team(client, description, render_mode)
    alone = import_module(f"{package}.gymnasium_environment")
    return alone.environment_of(client, env_id, description, render_mode)


def begin_steps(environments: Iterable[Any], actions: Iterable[Any]) -> None:
    """Begin a step of several environments at once, with the actions of their outermost wrappers. The `step`
    of each returns its result.

    Environments of one process are stepped in one round trip, and the processes act at the same time.
    Environments that are not served are ignored, as are those in a wrapper of the user's, which may change
    actions in its `step`.
    """
    begun: dict[EnvironmentClient, list[Served]] = {}
    for env, action in zip(environments, actions):
        served, changes = _innermost(env)
        if served is not None:
            for change in changes:
                action = change(action)
            served.place(action)
            begun.setdefault(served.client, []).append(served)
    for client, group in begun.items():
        _send_step(client, group)


def step_together(vector_class: Any) -> None:
    """Have a library's class of vectors, which step one environment after another, begin all steps at
    once."""
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
        if is_of_user(env) or not hasattr(env, "env"):
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
        client.environments += 1
        self.client, self.index, self.key = client, description["index"], str(description["index"])
        self.metadata = dict(description["metadata"])
        self.render_mode = render_mode
        self.begun: _Step | None = None
        self.action_rest: Any = None

    def place(self, action: Any) -> None:
        """Place the next action in memory, and in `action_rest` what is to be passed in a message."""
        raise NotImplementedError

    def render(self) -> Any:
        self._finish()
        return self.client.picture(self.client.request("render", index=self.index))

    def close(self) -> None:
        self.client.environments -= 1
        self.client.request("close", index=self.index)

    def _reset(self, seed: int | None, options: Any) -> Mapping[str, Any]:
        """Reset the environment. Return what it has returned beside what is in memory."""
        self._finish()
        answer = self.client.request("reset", index=self.index, seed=seed, options=options)
        returned: Mapping[str, Any] = answer.get("returned", NOTHING)
        return returned.get(self.key, NOTHING)

    def _step(self, action: Any) -> Mapping[str, Any]:
        """Play an action, or end the step that has begun. Return the same as `_reset`."""
        if self.begun is None:
            self.place(action)
            _send_step(self.client, [self])
        return self._finish()

    def _finish(self) -> Mapping[str, Any]:
        step, self.begun = self.begun, None
        return NOTHING if step is None else step.rest(self.key)


class _Step:
    """A step of several environments that has begun."""

    def __init__(self, client: EnvironmentClient, number: int) -> None:
        self._client, self._number = client, number
        self._returned: Mapping[str, Any] | None = None

    def rest(self, key: str) -> Mapping[str, Any]:
        """Return what one environment has returned beside what is in memory."""
        if self._returned is None:
            self._returned = self._client.answer(self._number, "step").get("returned", NOTHING)
        return self._returned.get(key, NOTHING)


def _send_step(client: EnvironmentClient, environments: list[Served]) -> None:
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


def info_of(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the info among what an environment has returned beside what is in memory."""
    return dict(unpack(rest["info"])) if "info" in rest else {}
