"""Run by the worker's interpreter: print datasets as Minari reads them, as a JSON object by id.

The arguments are the folder of datasets and the ids.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ["MINARI_DATASETS_PATH"] = sys.argv[1]

import minari


def facts(name: str) -> dict[str, Any]:
    dataset = minari.load_dataset(name)
    episodes = list(dataset.iterate_episodes())
    first = episodes[0].observations
    about: dict[str, Any] = {
        "spec": dataset.env_spec.id if dataset.env_spec else None,
        "observations": str(dataset.observation_space),
        "metadata": list(dataset.storage.get_episode_metadata(range(len(dataset)))),
        "rewards": [float(episode.rewards.sum()) for episode in episodes],
        "lengths": [len(episode) for episode in episodes],
        "terminated": [bool(episode.terminations[-1]) for episode in episodes],
        "truncated": [bool(episode.truncations[-1]) for episode in episodes],
        "actions": episodes[0].actions.tolist(),
        "own": dataset.storage.metadata["mosaic_lab"],
        "requirements": dataset.storage.metadata["requirements"],
    }
    if isinstance(first, dict):
        return {**about, "mission": first["mission"][0], "image": list(first["image"].shape)}
    # The recovered environment starts as the episode did.
    begun, _ = dataset.recover_environment().reset(seed=about["metadata"][0]["seed"])
    return {**about, "first": first[0].tolist(), "again": begun.tolist()}


print(json.dumps({name: facts(name) for name in sys.argv[2:]}, default=int))
