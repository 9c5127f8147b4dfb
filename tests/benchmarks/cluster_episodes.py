"""Run in a namespace by `test_cluster_evaluation`: ``cluster_episodes.py EPISODES`` prints figures as JSON.

The same evaluation by an arena of this machine and by a cluster of three nodes, which are on this machine:
a delay before each step stands for the work that would keep a core busy.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from engines.on_ray.conftest import HEAD, TOKEN, Nodes, bring_loopback_up, until

import mosaic_lab as mosaic
from mosaic_lab.engines import clusters
from mosaic_lab.engines.bridge_environment import RAY_VERSION
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.workers.home import home

NODES, DELAY = 3, 0.002


def figures(evaluation: Evaluation, began: float) -> dict[str, float]:
    """Wait for its end; return the seconds to the first episode and to the end."""
    until(lambda: evaluation.done or evaluation.finished, 600, lambda: repr(evaluation))
    first = time.monotonic() - began
    until(lambda: evaluation.finished, 3600, lambda: repr(evaluation))
    assert evaluation.state == "completed", evaluation.log(50)
    return {"first": first, "all": time.monotonic() - began, "parts": len(evaluation.parts)}


def main(episodes: int) -> None:
    bring_loopback_up()
    (ray,) = home().glob(f"bridges/ray-{RAY_VERSION}-*/bin/ray")
    nodes = Nodes(ray, Path(os.environ["TMPDIR"]))
    place = ["--node-ip-address=127.0.0.1", "--port=6379", "--include-dashboard=false"]
    nodes.start("--head", *place, "--num-cpus=1")
    for _ in range(NODES - 1):
        nodes.start(f"--address={HEAD}", "--num-cpus=1")
    os.environ["LAB_TOKEN"] = TOKEN
    wheels = os.environ["MOSAIC_TEST_WHEELS"]
    clusters.add(Cluster("bench", HEAD, token_env="LAB_TOKEN", folder=str(home()), wheels=wheels))
    lab = mosaic.Lab(tempfile.mkdtemp())
    dice = {"random": mosaic.operators.random()}
    given = {"env": "CartPole-v1", "operators": dice, "step_delay": DELAY}
    lab.evaluate(**given, seeds=range(3), parallel=1, on="bench").wait(600)  # what is made once is there now
    found = {}
    for name, where in (("cluster", {"parallel": NODES, "on": "bench"}), ("here", {"parallel": 1})):
        began = time.monotonic()
        evaluation = lab.evaluate(**given, seeds=range(episodes), **where)
        found[name] = figures(evaluation, began)
        print(evaluation.log(500), file=sys.stderr)
        found[name]["played"] = float(evaluation.results()["seconds"].sum())
        found[name]["fingerprint"] = evaluation.fingerprint()
    print(json.dumps(found))
    nodes.end()
    clusters.remove("bench")


main(int(sys.argv[1]))
