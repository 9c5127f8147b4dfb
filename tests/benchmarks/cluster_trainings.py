"""Run in a namespace by `test_cluster_throughput`: ``cluster_trainings.py PAIRS STEPS`` prints JSON.

The node's folder is the one of this machine, so that both trainings have the same environment.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import paired
from benchmarks.test_training_throughput import resolved_by
from benchmarks.trainings import TIMEOUT, TRAININGS
from engines.on_ray.conftest import HEAD, TOKEN, Nodes, bring_loopback_up

import mosaic_lab as mosaic
from mosaic_lab.engines import clusters
from mosaic_lab.engines.bridge_environment import RAY_VERSION
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.workers import ensure
from mosaic_lab.workers.home import home


def main(pairs: int, steps: int) -> None:
    bring_loopback_up()
    (ray,) = home().glob(f"bridges/ray-{RAY_VERSION}-*/bin/ray")
    nodes = Nodes(ray, Path(os.environ["TMPDIR"]))
    place = ["--node-ip-address=127.0.0.1", "--port=6379", "--include-dashboard=false"]
    nodes.start("--head", *place, "--num-cpus=1")
    os.environ["LAB_TOKEN"] = TOKEN
    clusters.add(Cluster("bench", HEAD, token_env="LAB_TOKEN", folder=str(home())))
    training, folder = TRAININGS[0], Path(tempfile.mkdtemp())
    environment, lab = ensure(training.worker), mosaic.Lab(folder / "runs")
    hyperparameters = dict(training.hyperparameters)
    resolved = resolved_by(environment, training, steps, hyperparameters, folder)

    def on_the_cluster() -> float:
        what = {"algorithm": training.algorithm, "env": training.env_id, "total_timesteps": steps}
        run = lab.train(training.worker, **what, **hyperparameters, seed=1, on="bench").wait(TIMEOUT)
        assert run.state == "completed", run.reason
        return training.speed(environment, run)

    def bare() -> float:
        return training.bare(environment, resolved, Path(tempfile.mkdtemp(dir=folder)))[0]

    print(json.dumps({"name": training.name, "pairs": paired(on_the_cluster, bare, pairs)}))
    clusters.remove("bench")


main(int(sys.argv[1]), int(sys.argv[2]))
