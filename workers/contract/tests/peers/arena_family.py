"""A family of tiny environments, for tests of arenas: `python arena_family.py --arena`.

An environment that misbehaves is named after its fault.
"""

import random
import sys
import time

from mosaic_contract import ConfigError, Decision, Worker, WorkerCapabilities, WorkerMetadata, main
from mosaic_contract.arena import EnvironmentFacts

END = {"success": True, "progression": "all of it"}


class Discrete:
    shape, dtype = (), "int64"

    def __init__(self, n, start=0):
        self.n, self.start = n, start
        self.random = random.Random()

    def seed(self, seed):
        self.random.seed(seed)

    def contains(self, action):
        return self.start <= action < self.start + self.n

    def sample(self):
        return self.random.randrange(self.start, self.start + self.n)


class Walk:
    """One agent, three actions, five steps; the reward is the action, the observation is random."""

    render_mode = None

    def __init__(self, length=5):
        self.observation_space, self.action_space = Discrete(100), Discrete(3)
        self.length = length
        self.steps = 0

    def reset(self, seed=None):
        self.steps = 0
        self.random = random.Random(seed)
        return self.look(), {}

    def look(self):
        return self.random.randrange(50) + random.randrange(50)  # its own generator and the global one

    def step(self, action):
        self.steps += 1
        return self.look(), self.reward(action), self.steps >= self.length, False, END

    def reward(self, action):
        return float(action)

    def render(self):
        raise NotImplementedError("nothing to see")

    def close(self):
        print("the environment was closed", file=sys.stderr)


class Own(Walk):
    """A walk whose observations come from its own generator only."""

    def look(self):
        return self.random.randrange(100)


class Doors(Walk):
    """The middle action is legal in every other step; `action_masks` reports it, as in sb3-contrib."""

    def action_masks(self):
        return [True, self.steps % 2 == 0, True]

    def get_wrapper_attr(self, name):
        return getattr(self, name)


class Nan(Walk):
    def reward(self, action):
        return float("nan")


class Raise(Own):
    def reward(self, action):
        if self.steps == 2:
            raise RuntimeError("the floor has gone")
        return 0.0


class Hang(Walk):
    def reward(self, action):
        while True:
            time.sleep(60)


class NoReset(Walk):
    def reset(self, seed=None):
        raise OSError("no map")


class Large(Walk):
    """Observations of 3 MB, larger than a pipe's buffer."""

    def look(self):
        return "x" * 3_000_000


class Strange(Walk):
    """Observations that cannot be serialized, and an info that can be serialized in part."""

    def reset(self, seed=None):
        super().reset(seed)
        return (1, 2), {"lives": 3, "engine": object()}

    def look(self):
        return object()


class Together:
    """Two agents at once; the second leaves after two steps, the first after four."""

    possible_agents = ("north_0", "south_0")

    def observation_space(self, agent):
        return Discrete(10)

    def action_space(self, agent):
        return Discrete(3)

    def reset(self, seed=None):
        self.agents, self.steps = list(self.possible_agents), 0
        return dict.fromkeys(self.agents, 0), {}

    def step(self, actions):
        assert list(actions) == self.agents, actions
        self.steps += 1
        acted = self.agents
        over = {agent: self.steps >= (4 if agent == "north_0" else 2) for agent in acted}
        self.agents = [agent for agent in acted if not over[agent]]
        rewards = {agent: float(actions[agent]) for agent in acted}
        return dict.fromkeys(acted, self.steps), rewards, over, dict.fromkeys(acted, False), {}

    def close(self):
        pass


class Team(Together):
    """Three agents at once, in two teams, for four steps; each observes a different text."""

    possible_agents = ("red_0", "red_1", "blue_0")

    def reset(self, seed=None):
        super().reset(seed)
        return self.look(), {}

    def step(self, actions):
        self.steps += 1
        over = dict.fromkeys(self.agents, self.steps >= 4)
        observations = self.look()
        none, nothing = dict.fromkeys(over, False), dict.fromkeys(over, 0.0)
        self.agents = [agent for agent in over if not over[agent]]
        return observations, nothing, over, none, {}

    def look(self):
        return {agent: f"{agent} sees {self.steps}" for agent in self.agents}

    def render(self):
        import numpy  # the other environments need no NumPy

        return numpy.full((2, 4, 3), (255, 0, 0), "uint8")


class Turns:
    """Two agents in turns who take one to three of seven sticks; taking the last one wins."""

    possible_agents = ("player_0", "player_1")

    def observation_space(self, agent):
        return Discrete(8)

    def action_space(self, agent):
        return Discrete(3, start=1)

    def agent_iter(self):
        raise NotImplementedError

    def reset(self, seed=None):
        self.agents, self.sticks = list(self.possible_agents), 7
        self.agent_selection = "player_0"
        self.rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def observe(self, agent):
        return {"sticks": self.sticks, "action_mask": [self.sticks >= n for n in (1, 2, 3)]}

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent]:
            assert action is None
            self.agents.remove(agent)
            self.agent_selection = next(iter(self.agents), agent)
            return
        assert action <= self.sticks
        self.sticks -= action
        other = next(one for one in self.possible_agents if one != agent)
        if not self.sticks:
            self.rewards = {agent: 1, other: -1}
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = other

    def close(self):
        pass


ENVIRONMENTS = {
    "Walk-v0": Walk,
    "Own-v0": Own,
    "Doors-v0": Doors,
    "Nan-v0": Nan,
    "Raise-v0": Raise,
    "Hang-v0": Hang,
    "NoReset-v0": NoReset,
    "Large-v0": Large,
    "Strange-v0": Strange,
    "Together-v0": Together,
    "Team-v0": Team,
    "Mode-v0": Walk,
    "Turns-v0": Turns,
}


def make(env_id, settings, render_mode):
    if env_id == "Unmakeable-v0":
        raise ValueError("a wheel is missing")
    if env_id not in ENVIRONMENTS:
        raise ConfigError(f"there is no environment {env_id!r}")
    if env_id == "Mode-v0" and render_mode is not None:
        raise ValueError("no screen")
    return ENVIRONMENTS[env_id](**settings)


def facts(env, agent):
    if isinstance(env, Team):
        about = {"text": f"{agent} holds the ball"}
        return EnvironmentFacts(instructions="Bring the ball home.", describe=lambda: about)
    if isinstance(env, Turns):
        return EnvironmentFacts(["take one", "take two", "take three"], {"a": 1, "b": 2, "c": 3})
    return EnvironmentFacts(["left", "stay", "right"])


class Insider:
    """An operator in the arena's process. It empties the observations and infos that it receives; its
    `trouble` begins at step 2. With `silent` it returns a bare action."""

    def __init__(self, setup):
        self.player_id, self.settings = setup.player_id, setup.settings
        self.seed, self.calls, self.first = setup.seed, 0, setup.action_space.get("start", 0)

    def episode_begin(self, seed, episode_index):
        if self.settings.get("trouble") == "begin":
            raise RuntimeError("I am not awake")
        self.seed = seed

    def select_action(self, observation, *, action_mask=None, info=None, step_index=None):
        self.calls += 1
        trouble = self.settings.get("trouble") if step_index >= 2 else None
        if (trouble == "once" and self.calls == 3) or trouble == "raise":
            raise RuntimeError("I do not know")
        if trouble == "slow":
            time.sleep(self.settings.get("seconds", 0.02))
        if trouble == "illegal":
            return 17
        if isinstance(observation, list):
            observation[:] = []
        if isinstance(info, dict):
            info.clear()
        legal = [action for action in range(3) if action_mask is None or action_mask[action]]
        action = self.first + legal[(self.seed + step_index) % len(legal)]
        return action if self.settings.get("silent") else Decision(action, "a step", "why not", 1, 2)


def operate(setup):
    if setup.settings.get("trouble") == "refuse":
        raise ConfigError("I do not want to play")
    return Insider(setup)


def metadata():
    return WorkerMetadata("tiny", "1.0"), WorkerCapabilities(modes=["arena", "operate"])


if __name__ == "__main__":
    actors = {"operate": operate, "inside": True}
    sys.exit(main(Worker(metadata, make_environment=make, environment_facts=facts, **actors)))
