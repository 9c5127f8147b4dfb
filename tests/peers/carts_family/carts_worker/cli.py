"""python -m carts_worker.cli --arena"""

from __future__ import annotations

import sys

import gymnasium
from mosaic_contract import Worker, main

from carts_worker import get_worker_metadata


class Carts:
    """A team of two, red_0 and red_1, each with its own CartPole-v1; an agent whose pole falls is out."""

    def __init__(self):
        self.possible_agents = ["red_0", "red_1"]
        self._carts = {agent: gymnasium.make("CartPole-v1") for agent in self.possible_agents}

    def observation_space(self, agent):
        return self._carts[agent].observation_space

    def action_space(self, agent):
        return self._carts[agent].action_space

    def reset(self, seed=None):
        self.agents = list(self.possible_agents)
        return {agent: cart.reset(seed=seed)[0] for agent, cart in self._carts.items()}, {}

    def step(self, actions):
        stepped = {agent: self._carts[agent].step(actions[agent]) for agent in self.agents}
        results = [{agent: values[place] for agent, values in stepped.items()} for place in range(5)]
        self.agents = [agent for agent in self.agents if not (results[2][agent] or results[3][agent])]
        return tuple(results)

    def close(self):
        for cart in self._carts.values():
            cart.close()


def make(env_id, settings, render_mode):
    if render_mode is not None:
        raise ValueError("cannot be drawn")
    return Carts(**settings)


if __name__ == "__main__":
    sys.exit(main(Worker(get_worker_metadata, make_environment=make)))
