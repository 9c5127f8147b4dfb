"""Survival of runs when the bridge, the keeper, the run's process on the node, or the node is killed."""

from __future__ import annotations

import random
import re
import subprocess
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


@pytest.mark.extended
def test_bridges_and_readers_that_are_killed_lose_no_line_and_double_none(
    script: Start, cluster: Cluster
) -> None:
    """Several runs share a node; one process there reads them all."""
    clusters.add(replace(cluster, name="shared", cpus=0.2))
    runs = [script(on="shared", LINES=100_000, PAUSE=0.01) for _ in range(5)]
    generator = random.Random(0)
    for number in range(20):
        if number % 2 == 0:
            until(lambda: bool(readers()))
        wait_for_lines(runs)
        time.sleep(generator.uniform(0, 0.5))  # kill at a random moment
        for one in readers() if number % 2 == 0 else processes("engines/ray/__main__.py"):
            one.kill()
    wait_for_lines(runs)
    for run in runs:
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
    actor = mirroring_actor()
    actor.kill()
    until(lambda: run.finished)
    assert run.state == "cancelled"
    assert "the process that it ran for has ended" in run.reason
    assert "run_cancelled" in (run.path / "telemetry.jsonl").read_text()
    assert not processes("python", "train.py")


@pytest.mark.extended
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


@pytest.mark.extended  # the loss is noticed after half a minute
def test_a_run_whose_node_is_lost_is_begun_again_on_another(
    script: Start, nodes: Nodes, cluster: Cluster
) -> None:
    two = [nodes.start(f"--address={HEAD}", "--num-cpus=1", "--labels", "zone=b") for _ in range(2)]
    clusters.add(replace(cluster, name="zone-b", labels={"zone": "b"}))
    run = script(on="zone-b", restarts=1, LINES=100_000, PAUSE=0.02)
    until(lambda: len(lines_of(run)) > 10)
    kill_node(node_of_actor(two))
    until(lambda: "restart 1 of 1" in run.reason and run.state == "running", otherwise=lambda: run.reason)
    note = "it continues from the beginning; restart 1 of 1 (node 127.0.0.1 of zone-b was lost at step 0)"
    until(lambda: len(lines_of(run, after=note)) > 10)
    run.stop()
    assert run.state == "cancelled"
    assert run.reason.endswith("restart 1 of 1 (node 127.0.0.1 of zone-b was lost at step 0)")
    numbers = lines_of(run, after=note)
    assert numbers == [str(number) for number in range(len(numbers))]
    for name in ("telemetry.jsonl", "telemetry.lost.jsonl"):
        assert (run.path / name).read_text().count('"run_started"') == 1, "one for each attempt"
    until(lambda: not processes("python", "train.py"))


def wait_for_lines(runs: list[Run]) -> None:
    """Wait until each run has logged more lines."""
    before = [len(lines_of(run)) for run in runs]
    until(lambda: all(len(lines_of(run)) > count for run, count in zip(runs, before, strict=True)))


def readers() -> list[psutil.Process]:
    """Return the processes that read the runs of a node, idle or busy."""
    return [*processes("ray::NodeReader"), *processes("ray::NodeReader.read")]


def lines_of(run: Run, after: str = "") -> list[str]:
    """Return the losses in the complete lines of a run's log after the text `after`."""
    log = run.path / "worker.log"
    text = log.read_text() if log.exists() else ""
    return re.findall(r"^loss=(\d+)\n", text[text.find(after) :], re.MULTILINE) if after in text else []


def node_of_actor(nodes: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Return the node of the only run."""
    actor = mirroring_actor()
    above = {process.pid for process in actor.parents()}
    return next(node for node in nodes if node.pid in above)


def mirroring_actor() -> psutil.Process:
    """Return the run's actor on the node, whose process title names the method only during a call."""
    actors: list[psutil.Process] = []
    until(lambda: bool(actors.extend(processes("ray::RunActor.read")) or actors))
    return actors[0]


def processes(*words: str) -> list[psutil.Process]:
    """Return processes whose command line has consecutive words that end with these."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        places = range(len(line) - len(words) + 1)
        if any(all(map(str.endswith, line[place:], words)) for place in places):
            found.append(process)
    return found
