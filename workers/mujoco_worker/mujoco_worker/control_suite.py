"""dm_control: its suite, its manipulation tasks and its examples of locomotion, as shimmy registers them."""

from __future__ import annotations

import functools
from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts

from .drawing import check_drawing, choose_backend
from .joints import facts_of_joints
from .made_at_reset import MadeAtReset

_PREFIX = "dm_control/"
_GENERIC = "dm_control/compatibility-env-v0"  # takes an environment


@functools.lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    choose_backend()
    import gymnasium
    import shimmy

    gymnasium.register_envs(shimmy)
    return tuple(name for name in gymnasium.registry if name.startswith(_PREFIX) and name != _GENERIC)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    check_drawing(render_mode)
    import gymnasium

    spec = gymnasium.registry[env_id]
    maker = functools.partial(
        gymnasium.make, env_id, **{"disable_env_checker": True, **settings}, render_mode=render_mode
    )
    return MadeAtReset(maker) if spec.nondeterministic else maker()


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    domain, _, task = env.spec.id.removeprefix(_PREFIX).rpartition("-v")[0].partition("-")
    about = f'You control the "{domain}" of dm_control' + (f' in the task "{task}".' if task else ".")
    model = env.unwrapped.physics.model
    names = [model.id2name(index, "actuator") for index in range(model.nu)]
    return facts_of_joints(names, env.action_space, about)
