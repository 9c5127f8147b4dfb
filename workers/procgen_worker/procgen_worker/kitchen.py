"""Overcooked kitchens as PettingZoo parallel environments for two agents."""

from __future__ import annotations

from typing import Any, Mapping

import numpy
from gymnasium import spaces
from mosaic_contract.arena import check_settings

vars(numpy).setdefault("Inf", numpy.inf)  # upstream uses the alias removed in NumPy 2

from overcooked_ai_py.mdp.actions import Action, Direction  # noqa: E402
from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld  # noqa: E402

_HORIZON = 400
_LEGEND = "X counter, O onions, T tomatoes, P pot, D dishes, S serve here, . floor"


class Kitchen:
    """One layout. ``settings``: "horizon", the steps of an episode, and upstream's keywords for the grid.

    Observations are upstream's lossless encoding, (width, height, 26). Both agents receive the reward for a
    soup; upstream's shaped reward is in the info, as "shaped_reward". Upstream's own environment writes
    motion plans into its package, so this class steps the game directly.
    """

    def __init__(self, env_id: str, layout: str, settings: Mapping[str, Any]) -> None:
        keywords = dict(settings)
        self._horizon = int(keywords.pop("horizon", _HORIZON))
        check_settings(env_id, keywords, OvercookedGridworld, also=["horizon"])
        self._mdp = OvercookedGridworld.from_layout_name(layout, **keywords)
        self._state = self._mdp.get_standard_start_state()
        self._painter: Any = None
        self.possible_agents = ["agent_0", "agent_1"]
        self.agents: list[str] = []
        shape = tuple(int(length) for length in self._mdp.get_lossless_state_encoding_shape())
        self._observation_spaces = {
            agent: spaces.Box(0, numpy.inf, shape, numpy.float32) for agent in self.possible_agents
        }
        self._action_spaces = {agent: spaces.Discrete(Action.NUM_ACTIONS) for agent in self.possible_agents}

    @property
    def unwrapped(self) -> Kitchen:
        return self

    def observation_space(self, agent: str) -> Any:
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        self._state = self._mdp.get_standard_start_state()
        self.agents = list(self.possible_agents)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[str, int]) -> tuple[dict[str, Any], ...]:
        agents = self.possible_agents
        joint_action = [Action.INDEX_TO_ACTION[int(actions[agent])] for agent in agents]
        self._state, events = self._mdp.get_state_transition(self._state, joint_action)
        is_over = self._state.timestep >= self._horizon
        reward = float(sum(events["sparse_reward_by_agent"]))
        shaped = events["shaped_reward_by_agent"]
        self.agents = [] if is_over else list(agents)
        return (
            self._observations(),
            dict.fromkeys(agents, reward),
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, is_over),
            {agent: {"shaped_reward": float(shaped[index])} for index, agent in enumerate(agents)},
        )

    def render(self) -> Any:
        import pygame

        if self._painter is None:
            from overcooked_ai_py.visualization.state_visualizer import StateVisualizer

            self._painter = StateVisualizer()
        surface = self._painter.render_state(self._state, grid=self._mdp.terrain_mtx)
        return numpy.ascontiguousarray(pygame.surfarray.array3d(surface).swapaxes(0, 1))

    def close(self) -> None: ...

    def described(self, agent: str) -> str:
        """Return the kitchen in upstream's notation, with the agents' positions."""
        rows = ["".join(row).replace(" ", ".") for row in self._mdp.terrain_mtx]
        lines = [f"The kitchen ({_LEGEND}):", *rows]
        for cook, player in zip(self.possible_agents, self._state.players):
            subject = "You are" if cook == agent else f"{cook} is"
            facing = Direction.DIRECTION_TO_NAME[player.orientation].lower()
            holds = f", with {_object_text(player.held_object)}" if player.held_object else ""
            lines.append(f"{subject} at {_position_text(player)}, facing {facing}{holds}.")
        lines += [f"{_object_text(item)} at {_position_text(item)}" for item in self._state.objects.values()]
        return "\n".join(lines)

    def _observations(self) -> dict[str, Any]:
        encoded = self._mdp.lossless_state_encoding(self._state, self._horizon)
        return {
            agent: numpy.asarray(encoded[index], numpy.float32)
            for index, agent in enumerate(self.possible_agents)
        }


def _position_text(item: Any) -> str:
    return f"column {item.position[0]}, row {item.position[1]}"


def _object_text(item: Any) -> str:
    if item.name != "soup":
        return str(item.name)
    state = "done" if item.is_ready else "cooking" if item.is_cooking else "not cooking yet"
    return f"soup of {', '.join(item.ingredients)} ({state})"
