"""Environments for arenas: Jumanji's own Gymnasium wrapper, with masks, usable actions and frames."""

from __future__ import annotations

from typing import Any, Mapping

import gymnasium
import jax.numpy as jnp
from jumanji.wrappers import JumanjiToGymWrapper
from mosaic_contract.arena import EnvironmentFacts

from .environments import make
from .renderer import Renderer
from .spaces import ActionConversion

_MOVES = (("up", "ArrowUp"), ("right", "ArrowRight"), ("down", "ArrowDown"), ("left", "ArrowLeft"))
_NAMED = ("Snake", "Game2048", "Maze", "SlidingTilePuzzle", "Sokoban")


class ArenaEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment of an arena. The mask of legal actions is in the infos, as arenas expect."""

    def __init__(self, env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> None:
        env = make(env_id, settings)
        super().__init__(JumanjiToGymWrapper(env))
        self._actions = ActionConversion(env)
        self.action_space = self._actions.space
        self._renderer: Renderer | None = None
        self.reset()  # compile now, not during the first steps of an episode
        self.step(self.action_space.sample())

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, self._with_mask(info, observation)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not isinstance(self.action_space, gymnasium.spaces.Box):
            action = jnp.asarray(action, jnp.int32)
        jumanji_action = self._actions.to_jumanji(action)
        observation, reward, terminated, last, info = self.env.step(jumanji_action)
        # Upstream's wrapper reports every last step as truncated.
        return observation, reward, terminated, last and not terminated, self._with_mask(info, observation)

    def render(self) -> Any:
        if self._renderer is None:
            self._renderer = Renderer(self.env.unwrapped)
        return self._renderer.draw(self.env._state)

    def _with_mask(self, info: Any, observation: Any) -> dict[str, Any]:
        mask = self._actions.allowed(observation)
        return {**(info or {}), **({} if mask is None else {"action_mask": mask})}


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    """Return the facts of an `arena_environment.ArenaEnvironment`."""
    if type(env.unwrapped).__name__ not in _NAMED:
        return EnvironmentFacts()
    return EnvironmentFacts(
        [meaning for meaning, _ in _MOVES], {key: number for number, (_, key) in enumerate(_MOVES)}
    )
