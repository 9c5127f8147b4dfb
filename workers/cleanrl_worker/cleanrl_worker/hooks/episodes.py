"""Counting of the steps and episodes of the script's environments, and their display.

A closure replaces the environment's own `step`: the types of the environment and of its wrappers do not
change, and the cost per step is well under a microsecond.
"""

from __future__ import annotations

import functools
import time
from typing import Any, Callable

from mosaic_contract import registry
from mosaic_contract.checked_environment import checked
from mosaic_contract.environment_server.served import step_together
from mosaic_contract.gymnasium_wrappers import with_time_limit
from mosaic_contract.hyperparameters import env_kwargs_of
from mosaic_contract.wrappers import wrap

from ..environments import FromGym
from .training import Training


def hook_gymnasium(gymnasium: Any, training: Training) -> None:
    """Wrap `gymnasium.make`."""
    make = gymnasium.make

    def counting_make(*args: Any, **kwargs: Any) -> Any:
        make_one = maker(make, training)
        return wrapped(count(training.frames.make_as(make_one, *args, **kwargs), training), training)

    gymnasium.make = counting_make
    step_together(gymnasium.vector.SyncVectorEnv)


def maker(make: Callable[..., Any], training: Training) -> Callable[..., Any]:
    """Return the function that makes the run's environment, served or not, with the run's keywords."""
    env_id = training.settings["description"]["env_id"]
    keywords = env_kwargs_of(training.settings["description"]["hyperparameters"])
    if registry.assigned(env_id):
        return functools.partial(registry.make, **keywords)
    registry.register(env_id)
    return functools.partial(make, **{"disable_env_checker": True, **keywords})


def wrapped(env: Any, training: Training) -> Any:
    """Return the environment with the wrappers of the run, outside of the counting closure, so that
    `training` sees the environment's own spaces."""
    return wrap(env, training.settings["wrappers"], training.settings["description"]["env_id"])


def count(env: Any, training: Training) -> Any:
    """Check `env`, which has Gymnasium's API, and count its steps. The first environment also drives the
    training's clock, unless its steps differ from the training's (`hook_games`).

    Environments made after the training began (upstream's evaluation of a saved model) are not counted.
    """
    unchecked = env
    if not isinstance(unchecked, FromGym):  # from the old gym only pybullet's environments are made
        env_id, wrappers = training.settings["description"]["env_id"], training.settings["wrappers"]
        env = with_time_limit(checked(unchecked, env_id, records=not training.started), wrappers)
    if training.started:
        return env
    index = training.register(unchecked)
    leads = index == 0 and not training.settings["games"]
    make_step, make_reset = env.step, env.reset
    reward, total, length, seed, began = 0.0, 0.0, 0, None, time.perf_counter()
    shows = training.frames.show(env, lambda: (reward, total))
    frame_due = training.frames.due

    def step(action: Any) -> Any:
        nonlocal reward, total, length, began, seed
        if leads:
            training.step()
        result = make_step(action)
        reward = result[1]
        total += reward
        length += 1
        if shows and frame_due():
            training.frames.publish(
                episodes=training.episodes, steps=training.steps, steps_per_second=training.steps_per_second
            )
        if result[2] or result[3]:
            seconds = time.perf_counter() - began
            training.episode_ended(index, total, length, result[2], result[3], seed, seconds)
            total, length, seed = 0.0, 0, None
        return result

    def reset(**kwargs: Any) -> Any:
        nonlocal total, length, began, seed
        total, length, seed, began = 0.0, 0, kwargs.get("seed"), time.perf_counter()
        return make_reset(**kwargs)

    env.step, env.reset = step, reset
    training.stepping = step.__code__
    return env


def hook_games(gymnasium: Any, training: Training) -> None:
    """Make games without frame skipping, whatever their ids specify, and count the steps of their vector
    environment.

    Their scripts step an environment frame by frame: four times per action, and more often at the start of an
    episode. The training's steps are the steps of the script's vector environment.
    """
    make, vector = gymnasium.make, gymnasium.vector.SyncVectorEnv
    initialise = vector.__init__

    def make_with_every_frame(*args: Any, **kwargs: Any) -> Any:
        return make(*args, frameskip=1, **kwargs)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        if training.started:  # upstream's evaluation of a saved model
            return
        step_wait = self.step_wait

        def counted(**options: Any) -> Any:
            training.step()
            return step_wait(**options)

        self.step_wait = counted

    gymnasium.make, vector.__init__ = make_with_every_frame, __init__
