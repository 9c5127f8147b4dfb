"""An environment with several agents, and one file with a policy for each."""

import json
import os
from pathlib import Path

from mosaic_contract import ConfigError, Decision

from odd_worker.spaces import Discrete

AGENTS = {"red_0": (4, 0), "red_1": (6, 1), "blue_0": (4, 2)}
"""Per agent: the number of possible observations, and the shift of the right action."""


class TeamEnvironment:
    """Each agent observes a number and earns 1 for its right action, (number + shift) % 3."""

    render_mode = None

    def __init__(self, length=12):
        self.possible_agents = list(AGENTS)
        self._length = length

    def observation_space(self, agent):
        return Discrete(AGENTS[agent][0])

    def action_space(self, agent):
        return Discrete(3)

    def _seen(self):
        return {agent: (self._seed + 3 * self._step) % size for agent, (size, _) in AGENTS.items()}

    def reset(self, seed=None):
        self.agents, self._seed, self._step = list(AGENTS), seed or 0, 0
        return self._seen(), {}

    def step(self, actions):
        seen = self._seen()
        rewards = {
            agent: float(actions[agent] == (seen[agent] + AGENTS[agent][1]) % 3) for agent in self.agents
        }
        self._step += 1
        over = dict.fromkeys(self.agents, self._step >= self._length)
        return self._seen(), rewards, dict.fromkeys(self.agents, False), over, {}

    def close(self):
        pass


class LinearPolicy:
    """Plays the action with the largest weight for the observation, and names the process that chose it."""

    def __init__(self, checkpoint, agent):
        weights = json.loads(Path(checkpoint).read_text())
        if agent not in weights:
            raise ConfigError(f"no policy for {agent}, only for {', '.join(weights)}")
        self._weights = weights[agent]

    def select_action(self, observation):
        row = self._weights[observation]
        action = max(range(len(row)), key=row.__getitem__)
        return Decision(action, f"{action} by process {os.getpid()}")
