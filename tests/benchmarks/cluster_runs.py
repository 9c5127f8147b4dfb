"""Run in a namespace by `test_cluster_mirror`: ``cluster_runs.py RUNS SECONDS`` prints the figures as JSON.

The runs write a line with the time twice a second; the same line of a run on this machine is the baseline.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import psutil
from engines.on_ray.conftest import HEAD, TOKEN, Nodes, bring_loopback_up, until

import mosaic_lab as mosaic
from mosaic_lab.engines import clusters
from mosaic_lab.engines.bridge_environment import RAY_VERSION
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.runs import Run
from mosaic_lab.telemetry import RunFeed
from mosaic_lab.workers.home import home

PROGRAM = """
    import json, random, time
    time.sleep(random.random() / 2)
    for step in range(100_000):
        values = {"sent": time.time()}
        print(json.dumps({"event": "metrics", "payload": {"step": step, "values": values}}), flush=True)
        time.sleep(0.5)
"""


def latencies(runs: list[Run], seconds: float) -> list[float]:
    """Return seconds from a line's writing to its value in the data of a chart, over all runs."""
    feeds = [RunFeed(run.path) for run in runs]
    newest = dict.fromkeys(range(len(feeds)), time.time())
    found: list[float] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for number, feed in enumerate(feeds):
            feed.poll()
            if not (pieces := feed.columns.pieces("sent")):
                continue
            value = float(pieces[-1].value[-1])
            if value > newest[number]:
                found.append(time.time() - value)
                newest[number] = value
        time.sleep(0.005)
    return found


def cpu_seconds(part: str) -> float:
    """Return what all processes with this in their command line have used."""
    total = 0.0
    for process in psutil.process_iter(["cmdline", "cpu_times"]):
        if part in " ".join(process.info["cmdline"] or []):
            total += process.info["cpu_times"].user + process.info["cpu_times"].system
    return total


def main(count: int, seconds: float) -> None:
    bring_loopback_up()
    (ray,) = home().glob(f"bridges/ray-{RAY_VERSION}-*/bin/ray")
    nodes = Nodes(ray, Path(os.environ["TMPDIR"]))
    place = ["--node-ip-address=127.0.0.1", "--port=6379", "--include-dashboard=false"]
    nodes.start("--head", *place, f"--num-cpus={count}")
    os.environ["LAB_TOKEN"] = TOKEN
    folder = Path(tempfile.mkdtemp())
    wheels = os.environ["MOSAIC_TEST_WHEELS"]
    clusters.add(Cluster("bench", HEAD, token_env="LAB_TOKEN", folder=str(folder / "node"), wheels=wheels))
    (folder / "program").mkdir()
    (folder / "program" / "train.py").write_text(textwrap.dedent(PROGRAM))
    os.chdir(folder / "program")
    lab = mosaic.Lab(folder / "runs")
    here = lab.train("script", command=["python", "train.py"])
    runs = [lab.train("script", command=["python", "train.py"], on="bench") for _ in range(count)]
    for run in [here, *runs]:
        until(lambda run=run: run.state == "running", 600, lambda run=run: run.reason)
    time.sleep(5)  # the last of them have just been started
    local = latencies([here], seconds)
    before = {part: cpu_seconds(part) for part in ("engines/ray/__main__.py", "ray::")}
    began = time.monotonic()
    remote = latencies(runs, seconds)
    passed = time.monotonic() - began
    shares = {part: (cpu_seconds(part) - used) / passed for part, used in before.items()}
    bridge, actors = shares.values()
    print(json.dumps({"local": local, "remote": remote, "bridge": bridge, "actors": actors}))
    lab.stop_all()
    clusters.remove("bench")


main(int(sys.argv[1]), float(sys.argv[2]))
