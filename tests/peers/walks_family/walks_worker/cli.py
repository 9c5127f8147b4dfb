"""python -m walks_worker.cli --environments"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
from mosaic_contract import ConfigError, Worker, main

from walks_worker import get_worker_metadata

LENGTH = 20


class Corridor(gymnasium.Env):
    """Twenty steps back (action 1) or forth (action 2), past doors that are open at random. A step forth
    through an open door earns 1. A reset writes a file and prints a line."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    action_space = gymnasium.spaces.Discrete(2, start=1)
    observation_space = gymnasium.spaces.Dict(
        {"place": gymnasium.spaces.Box(-1, 1, (2,), np.float32), "door": gymnasium.spaces.Discrete(3)}
    )

    def __init__(self, render_mode=None, speed=1, pause=0):
        self.render_mode, self.speed, self.pause = render_mode, speed, pause

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.steps = 0
        Path("corridor.txt").write_text("here")
        print("a new walk")
        return self.seen(), {"engine": object()}

    def seen(self):
        self.door = random.randrange(2) + int(self.np_random.integers(2))
        return {"place": np.full(2, self.place / LENGTH, np.float32), "door": self.door}

    def step(self, action):
        self.steps += 1
        if self.pause and self.steps == 2:  # after the first step, which is tried before the training
            time.sleep(self.pause)  # an environment that is slow on request
        forth = action == 2 and self.door > 0
        self.place = max(0, self.place + (self.speed if forth else -1))
        return self.seen(), float(forth), self.place >= LENGTH, self.steps == LENGTH, {"door": self.door}

    def action_masks(self):
        return np.array([True, self.door > 0])

    def render(self):
        return np.full((40, 60, 3), 100 + self.steps, np.uint8)


class Corridors:
    """Two agents that act simultaneously, each in its own corridor, and leave at its end."""

    def __init__(self, render_mode, speeds=(1, 1)):
        self.metadata = Corridor.metadata
        self.corridors = {f"red_{n}": Corridor(render_mode, speed) for n, speed in enumerate(speeds)}
        self.possible_agents = list(self.corridors)

    @property
    def unwrapped(self):
        return self.corridors["red_0"]

    def observation_space(self, agent):
        return Corridor.observation_space

    def action_space(self, agent):
        return Corridor.action_space

    def reset(self, seed=None):
        self.agents = list(self.possible_agents)
        reset = {agent: self.corridors[agent].reset(seed=seed) for agent in self.agents}
        return columns(reset)

    def step(self, actions):
        observations, rewards, terminated, truncated, infos = columns(
            {agent: self.corridors[agent].step(action) for agent, action in actions.items()}
        )
        self.agents = [agent for agent in self.agents if not (terminated[agent] or truncated[agent])]
        return observations, rewards, terminated, truncated, infos

    def render(self):
        return self.unwrapped.render()

    def close(self):
        pass


class Race:
    """A turn-based game: steps of one or two places on a shared track; the agent that reaches the last place
    wins. The info of the agent to move has the mask of legal steps."""

    metadata = Corridor.metadata

    def __init__(self, render_mode, length=7, players=2):
        self.length, self.possible_agents = length, ["red_0", "blue_0", "green_0"][:players]

    @property
    def unwrapped(self):
        return self

    def agent_iter(self):
        raise NotImplementedError

    def observation_space(self, agent):
        return gymnasium.spaces.Box(0, 1, (1, 1), np.float32)

    def action_space(self, agent):
        return gymnasium.spaces.Discrete(2)

    def reset(self, seed=None):
        self.agents = list(self.possible_agents)
        self.agent_selection, self.left = self.agents[(seed or 0) % len(self.agents)], self.length
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.inform()

    def inform(self):
        legal = np.array([self.left >= 1, self.left >= 2], np.int8)
        self.infos = {agent: {} for agent in self.agents} | {self.agent_selection: {"action_mask": legal}}

    def observe(self, agent):
        return np.full((1, 1), self.left / self.length, np.float32)

    def step(self, action):
        mover = self.agent_selection
        if self.terminations[mover]:
            self.agents.remove(mover)
        else:
            assert action < self.left, "no such place"
            self.left -= action + 1
            if not self.left:
                self.rewards = {agent: 1.0 if agent == mover else -1.0 for agent in self.agents}
                self.terminations = dict.fromkeys(self.agents, True)
        place = self.possible_agents.index(mover)
        following = self.possible_agents[place + 1 :] + self.possible_agents[:place]
        self.agent_selection = next((agent for agent in following if agent in self.agents), mover)
        self.inform()

    def render(self):
        return np.full((40, 60, 3), 10 * self.left, np.uint8)

    def close(self):
        pass


def columns(rows):
    return tuple(dict(zip(rows, column, strict=True)) for column in zip(*rows.values(), strict=True))


def make(env_id, settings, render_mode):
    if env_id == "Corridors-v0":
        return Corridors(render_mode, **settings)
    if env_id == "Race-v0":
        return Race(render_mode, **settings)
    if env_id != "Corridor-v0":
        raise ConfigError(f"worker 'walks' has no environment {env_id!r}")
    return Corridor(render_mode, **settings)


if __name__ == "__main__":
    sys.exit(main(Worker(get_worker_metadata, make_environment=make)))
