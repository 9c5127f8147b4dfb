"""python -m cinema_worker.cli --config, --arena or --interactive"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy
from mosaic_contract import Worker, main
from mosaic_contract.checkpoints import write_with_description

from cinema_worker import get_worker_metadata

SPACES = {
    "observation_space": {"type": "Discrete", "n": 10_000, "start": 0},
    "action_space": {"type": "Discrete", "n": 100, "start": 0},
}


class Discrete:
    """The part of Gymnasium's interface that an arena uses."""

    def __init__(self, n):
        self.n, self.start, self.shape, self.dtype = n, 0, (), "int64"

    def seed(self, seed):
        pass

    def contains(self, action):
        return 0 <= action < self.n


class Screen:
    """The frame brightens with every step, the reward is the action, and a step takes ``pause`` seconds.

    An episode has ``length`` steps. Rendering step ``torn`` ends the process.
    """

    render_mode = "rgb_array"

    def __init__(self, length=6, pause=0.0, size=(30, 40), torn=None):
        self.observation_space, self.action_space = Discrete(10_000), Discrete(100)
        self._length, self._pause, self._size, self._step = length, pause, tuple(size), 0
        self._torn = torn

    def reset(self, seed=None):
        self._step = 0
        return 0, {}

    def step(self, action):
        time.sleep(self._pause)  # an environment that is slow on request
        self._step += 1
        return self._step, float(action), False, self._step >= self._length, {}

    def render(self):
        if self._step == self._torn:
            os._exit(7)
        return numpy.full((*self._size, 3), min(255, 40 * self._step), numpy.uint8)

    def close(self):
        pass


class Duo:
    """Two agents, red and blue, with a `Screen` each; the frame is red's."""

    render_mode = "rgb_array"
    possible_agents = ("red", "blue")

    def __init__(self, **settings):
        self._screens = {agent: Screen(**settings) for agent in self.possible_agents}

    def observation_space(self, agent):
        return self._screens[agent].observation_space

    def action_space(self, agent):
        return self._screens[agent].action_space

    def reset(self, seed=None):
        self.agents = list(self.possible_agents)
        return {agent: screen.reset(seed)[0] for agent, screen in self._screens.items()}, {}

    def step(self, actions):
        stepped = {agent: self._screens[agent].step(actions[agent]) for agent in self.agents}
        results = [{agent: values[place] for agent, values in stepped.items()} for place in range(5)]
        self.agents = [agent for agent in self.agents if not results[3][agent]]
        return tuple(results)

    def render(self):
        return self._screens["red"].render()

    def close(self):
        pass


class Habit:
    """Always plays one action: its checkpoint's, plus 10 for agent blue."""

    def __init__(self, action):
        self._action = action

    def select_action(self, observation):
        return self._action


def train(config, telemetry):
    """Save ``saves`` checkpoints, unreadable at step ``broken``, then wait for the file ``until``."""
    settings = config.hyperparameters
    saves = settings.get("saves", 3)
    actions = settings.get("actions", range(1, saves + 1))
    for number in range(1, saves + 1):
        step = number * config.total_timesteps // saves
        spaces = {"agents": dict.fromkeys(Duo.possible_agents, SPACES)} if "Duo" in config.env_id else SPACES
        about = {
            "format": "mosaic-cinema/1",
            "algorithm": config.algorithm,
            "env_id": config.env_id,
            "env_settings": settings.get("env_settings", {}),
            **spaces,
        }
        path = config.checkpoints_dir / f"step-{step}.json.txt"
        path.parent.mkdir(exist_ok=True)
        text = (
            "not JSON"
            if step == settings.get("broken")
            else json.dumps({"action": settings.get("times", 1) * actions[number - 1]})
        )
        write_with_description(path, text.encode(), about)
        telemetry.checkpoint_saved(path, step=step, episode=0)
    while "until" in settings and not Path(settings["until"]).exists():
        time.sleep(0.02)  # polls for a file that the test creates
    if settings.get("fail"):
        raise RuntimeError("the screen went black")


def make(env_id, settings, render_mode):
    if env_id.startswith("Dark") and render_mode is not None:
        raise ValueError("the projector is broken")
    return (Duo if env_id.startswith("Duo") else Screen)(**settings)


def operate(setup):
    try:
        action = json.loads(Path(setup.settings["checkpoint"]).read_text())["action"]
    except ValueError as error:
        raise RuntimeError(f"the checkpoint cannot be read: {error}") from None
    return Habit(action + 10 * (setup.player_id == "blue"))


if __name__ == "__main__":
    sys.exit(
        main(
            Worker(
                get_worker_metadata,
                lambda config: config.to_dict(),
                train,
                operate=operate,
                make_environment=make,
            )
        )
    )
