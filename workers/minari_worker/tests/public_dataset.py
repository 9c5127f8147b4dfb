"""Run by the worker's interpreter: write a dataset with Minari alone, as published ones are.

The arguments are the folder of datasets and the id of the new one.
"""

from __future__ import annotations

import os
import sys

os.environ["MINARI_DATASETS_PATH"] = sys.argv[1]

import gymnasium
import minari
import numpy
from minari.data_collector import EpisodeBuffer


def episode(env: gymnasium.Env, seed: int) -> EpisodeBuffer:
    observed, actions, steps = [env.reset(seed=seed)[0]], [], []
    while not steps or not any(steps[-1][1:]):
        actions.append(int(observed[-1][2] + observed[-1][3] / 2 > 0))
        observation, *ends, _ = env.step(actions[-1])
        observed.append(observation)
        steps.append(ends)
    rewards, terminations, truncations = map(numpy.array, zip(*steps))
    infos = {"angle": numpy.stack(observed)[:, 2]}
    return EpisodeBuffer(
        seed,
        seed,
        None,
        numpy.stack(observed),
        numpy.array(actions),
        rewards,
        terminations,
        truncations,
        infos,
    )


env = gymnasium.make("CartPole-v1")
minari.create_dataset_from_buffers(
    sys.argv[2], [episode(env, seed) for seed in range(6)], env, algorithm_name="a rule", author="another"
)
