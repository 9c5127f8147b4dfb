"""Run by the worker's interpreter: a dataset as people publish them, collected by Minari's own wrapper.

The arguments are the folder of datasets and the id of the new one.
"""

from __future__ import annotations

import os
import sys

os.environ["MINARI_DATASETS_PATH"] = sys.argv[1]

import gymnasium
import minari

collector = minari.DataCollector(gymnasium.make("CartPole-v1"), record_infos=True)
for seed in range(6):
    observation, _ = collector.reset(seed=seed)
    ended = False
    while not ended:
        action = int(observation[2] + observation[3] / 2 > 0)
        observation, _, terminated, truncated, _ = collector.step(action)
        ended = terminated or truncated
collector.create_dataset(sys.argv[2], algorithm_name="a rule", author="somebody")
collector.close()
