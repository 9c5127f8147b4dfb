"""What dies on the way: the bridge, the run's process on the node, the node."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from dataclasses import replace

import psutil
import pytest
from engines.on_ray.conftest import HEAD, Nodes, kill_node, until

import mosaic_lab as mosaic
from mosaic_lab.engines import clusters
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.runs import Run

Start = Callable[..., Run]


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.extended)])
def test_a_bridge_that_is_killed_loses_no_line_and_doubles_none(script: Start, kills: int) -> None:
    run = script(LINES=100_000, PAUSE=0.005)
    generator = random.Random(0)
    for _ in range(kills):
        before = lines_of(run)
        until(lambda before=before: len(lines_of(run)) > len(before))
        time.sleep(generator.uniform(0, 0.5))  # any moment: that is what is tested
        for bridge in processes("engines/ray/__main__.py"):
            bridge.kill()
    before = lines_of(run)
    until(lambda: len(lines_of(run)) > len(before))
    run.stop()
    assert run.state == "cancelled", run.reason
    numbers = lines_of(run)
    assert numbers == [str(number) for number in range(len(numbers))]
    telemetry = (run.path / "telemetry.jsonl").read_text().splitlines()
    assert sum('"run_cancelled"' in line for line in telemetry) == 1
    assert sum('"run_started"' in line for line in telemetry) == 1


def test_a_run_whose_process_on_the_node_is_killed_leaves_nothing(script: Start) -> None:
    run = script(LINES=100_000, PAUSE=0.02)
    until(lambda: len(lines_of(run)) > 10)
    (actor,) = processes("ray::RunActor.read")
    actor.kill()
    until(lambda: run.finished)
    assert run.state == "cancelled"
    assert "the process that it ran for has ended" in run.reason
    assert "run_cancelled" in (run.path / "telemetry.jsonl").read_text()
    assert not processes("python", "train.py")


def test_after_a_reboot_of_this_machine_it_is_followed_again(script: Start) -> None:
    run = script(LINES=100_000, PAUSE=0.02)
    until(lambda: len(lines_of(run)) > 10)
    keeper = psutil.Process(run.status.keeper_pid)
    keeper.kill()
    until(lambda: run.state == "lost")
    mosaic.Lab(run.path.parent)
    until(lambda: run.state == "running")
    before = len(lines_of(run))
    until(lambda: len(lines_of(run)) > before)
    run.stop()
    assert run.state == "cancelled"
    assert lines_of(run) == [str(number) for number in range(len(lines_of(run)))]


def test_a_node_that_is_lost_is_named(script: Start, nodes: Nodes, cluster: Cluster) -> None:
    node = nodes.start(f"--address={HEAD}", "--num-cpus=1", "--labels", "zone=b")
    clusters.add(replace(cluster, name="zone-b", labels={"zone": "b"}))
    run = script(on="zone-b", LINES=100_000, PAUSE=0.02)
    until(lambda: len(lines_of(run)) > 10)
    kill_node(node)
    until(lambda: run.finished, otherwise=lambda: run.reason)
    assert run.state == "failed"
    assert run.reason.startswith("node 127.0.0.1 of zone-b was lost")
    until(lambda: not processes("python", "train.py"))


def lines_of(run: Run) -> list[str]:
    """The numbers in the whole lines of a run's log."""
    log = run.path / "worker.log"
    return re.findall(r"^loss=(\d+)\n", log.read_text() if log.exists() else "", re.MULTILINE)


def processes(*words: str) -> list[psutil.Process]:
    """Processes whose command line has words that end with these, one after the other."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        places = range(len(line) - len(words) + 1)
        if any(all(map(str.endswith, line[place:], words)) for place in places):
            found.append(process)
    return found
