"""Trainings on Atari games, whose scripts step an environment frame by frame: four times for an action, and
more often where an episode begins. The training's steps are the steps of the script's vector environment.
"""

from __future__ import annotations

from typing import Any

from .training import Training


def hook_games(gymnasium: Any, training: Training) -> None:
    """Have games made with every frame, whatever their ids skip, and count the steps of their vector."""
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
