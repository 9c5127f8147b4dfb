"""dm_control: its suite, manipulation tasks and locomotion examples, as registered by shimmy."""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping

import gymnasium
import numpy
from mosaic_contract.arena import EnvironmentFacts, registered

from .drawing import check_drawing, choose_backend
from .joints import facts_of_joints

_PREFIX = "dm_control/"
_GENERIC = "dm_control/compatibility-env-v0"  # requires an environment object


@functools.lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    choose_backend()
    import shimmy

    gymnasium.register_envs(shimmy)
    return tuple(name for name in registered(_PREFIX) if name != _GENERIC)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    check_drawing(render_mode)
    spec = gymnasium.registry[env_id]
    maker = functools.partial(
        gymnasium.make, env_id, **{"disable_env_checker": True, **settings}, render_mode=render_mode
    )
    return RecreateFromSeed(maker) if spec.nondeterministic else maker()


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    domain, _, task = env.spec.id.removeprefix(_PREFIX).rpartition("-v")[0].partition("-")
    task_text = f'You control the "{domain}" of dm_control' + (f' in the task "{task}".' if task else ".")
    model = env.unwrapped.physics.model
    names = [model.id2name(index, "actuator") for index in range(model.nu)]
    return facts_of_joints(names, env.action_space, task_text)


class RecreateFromSeed(gymnasium.Env[Any, Any]):
    """Wraps an environment that `make` creates again for every episode, from the episode's seed. During
    creation, upstream uses NumPy's global generator."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._adopt(make())

    @property
    def unwrapped(self) -> Any:
        return self._env.unwrapped

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            numpy.random.seed(seed)
        self._env.close()
        self._adopt(self._make())
        return self._env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        return self._env.step(action)

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()

    def _adopt(self, env: Any) -> None:
        self._env = env
        self.spec, self.metadata = env.spec, env.metadata
        self.observation_space, self.action_space = env.observation_space, env.action_space
