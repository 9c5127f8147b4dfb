"""Multi-agent environments in Gymnasium's registry, with spaces, observations and rewards as tuples. They
become parallel environments with agents "agent_0", "agent_1", …."""

from __future__ import annotations

import os
from typing import Any, Mapping

from mosaic_contract.arena import NumberedAgents, make_gymnasium

_GRAPHICS = "its pictures need OpenGL: apt-get install libegl1 libgl1 libglu1-mesa"


class TupleEnvironment(NumberedAgents):
    """An environment with Tuple spaces, as a PettingZoo parallel environment."""

    def __init__(self, env: Any) -> None:
        super().__init__(env, range(len(env.action_space)))

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        observations, info = self._env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        return dict(zip(self.agents, observations)), {agent: dict(info) for agent in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        joint_action = [actions[agent] for agent in self.possible_agents]
        observations, rewards, terminated, truncated, info = self._env.step(joint_action)
        agents = self.possible_agents
        if terminated or truncated:
            self.agents = []
        return (
            dict(zip(agents, observations)),
            {agent: float(reward) for agent, reward in zip(agents, rewards)},
            dict.fromkeys(agents, bool(terminated)),
            dict.fromkeys(agents, bool(truncated)),
            {agent: dict(info) for agent in agents},
        )

    def render(self) -> Any:
        try:
            return self.unwrapped.render(mode="rgb_array")
        except ImportError as error:
            raise ImportError(f"{_GRAPHICS} ({error.name or 'a library'} is missing)") from error
        except Exception as error:
            if type(error).__name__ == "NoSuchDisplayException":
                raise RuntimeError(_GRAPHICS) from error
            raise


def make_tuple_environment(env_id: str, settings: Mapping[str, Any]) -> TupleEnvironment:
    """Create a registered environment, with `settings` as keywords. Raises `ConfigError` for unknown ones."""
    os.environ.setdefault("PYGLET_HEADLESS", "1")  # read by pyglet when imported, for rendering
    return TupleEnvironment(make_gymnasium(env_id, settings, None))


def keys_of(names: list[str], bindings: Mapping[str, str], second: bool) -> dict[str, int]:
    """Return the keys of actions: `bindings` by name, or keys on the left for the second of two players."""
    left_keys = {"ArrowUp": "w", "ArrowLeft": "a", "ArrowDown": "s", "ArrowRight": "d", " ": "e", "0": "q"}
    keys = {name: bindings[name] for name in names if name in bindings}
    return {(left_keys[key] if second else key): names.index(name) for name, key in keys.items()}
