"""One training per worker family on a cluster. RLlib uses its own Ray there; XuanCe's environments run in a
process of another worker.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mosaic_lab as mosaic
from mosaic_lab.engines import clusters
from mosaic_lab.engines.clusters import Cluster

pytestmark = pytest.mark.extended

_CARTPOLE = {"env": "CartPole-v1", "total_timesteps": 600}
TRAININGS: dict[str, dict[str, Any]] = {  # long enough for updates of the networks
    "rllib": {"algorithm": "ppo", **_CARTPOLE, "train_batch_size_per_learner": 200, "num_env_runners": 0},
    "tianshou": {"algorithm": "ppo", **_CARTPOLE, "collection_step_num_env_steps": 200},
    "xuance": {"algorithm": "dqn", **_CARTPOLE, "parallels": 5, "start_training": 100, "env_processes": 1},
    "jumanji": {
        "algorithm": "a2c",
        "env": "TSP-v1",
        "total_timesteps": 800,
        "n_steps": 40,
        "total_batch_size": 4,
    },
}


@pytest.mark.parametrize("worker", TRAININGS)
def test_a_training(worker: str, cluster: Cluster, mosaic_home: Path, tmp_path: Path) -> None:
    clusters.add(replace(cluster, name="prepared", folder=str(mosaic_home)))
    run = mosaic.Lab(tmp_path / "runs").train(worker, **TRAININGS[worker], on="prepared")
    run.wait(400)
    assert run.state == "completed", f"{run.reason}\n{run.log(50)}"
    assert run.metrics()["step"].max() >= 400
    assert run.checkpoints[-1].path.exists()
    served = "env_processes" in TRAININGS[worker]
    assert (run.config.get("environment_server", {}).get("worker") == "gymnasium") == served
