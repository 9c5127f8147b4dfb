"""Faults around a run: sleep of this machine, a network outage, a lost head, a wrong clock, a full disk."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from engines.on_ray.conftest import CLIENT, HEAD, Nodes, kill_node, until
from engines.on_ray.test_survival import lines_of, processes

from mosaic_lab.engines import clusters
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.errors import RunTimeout
from mosaic_lab.runs import Run

pytestmark = pytest.mark.extended

Start = Callable[..., Run]
_CUT_SECONDS = 60.0


class Relay:
    """Forwards a local port to another, with interruptions."""

    def __init__(self, port: int, target: int) -> None:
        self._target = target
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", port), backlog=64)
        self.cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def interrupt(self, seconds: float) -> None:
        """Cut all connections and refuse new ones for `seconds`."""
        self.cut = True
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        time.sleep(seconds)
        self.cut = False

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                inner, _ = self._listening.accept()
                if self.cut:
                    inner.close()
                    continue
                outer = socket.create_connection(("127.0.0.1", self._target))
                self._open += [inner, outer]
                for source, sink in ((inner, outer), (outer, inner)):
                    threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relay(nodes: Nodes) -> Iterator[Relay]:
    relay = Relay(10_101, 10_001)
    yield relay
    relay.close()


def assert_whole(run: Run) -> None:
    """Assert that the log has each line once, in order."""
    numbers = lines_of(run)
    assert numbers == [str(number) for number in range(len(numbers))]


def test_this_machine_sleeps_while_the_run_ends(script: Start) -> None:
    """It sleeps longer than the node keeps a run that is not read."""
    run = script(LINES=300, PAUSE=0.05)
    until(lambda: len(lines_of(run)) > 10)
    asleep = [psutil.Process(run.status.keeper_pid), *processes("engines/ray/__main__.py")]
    for process in asleep:
        process.send_signal(signal.SIGSTOP)
    until(lambda: not processes("ray::RunActor.read") and not processes("ray::RunActor"), 120)
    for process in asleep:
        process.send_signal(signal.SIGCONT)
    until(lambda: run.finished, 120, lambda: run.reason)
    assert run.state == "completed", run.reason
    assert len(lines_of(run)) == 300
    assert_whole(run)


def test_a_network_that_is_cut_for_a_minute(script: Start, cluster: Cluster, relay: Relay) -> None:
    clusters.add(replace(cluster, name="far-away", address=CLIENT.replace("10001", "10101")))
    run = script(on="far-away", LINES=100_000, PAUSE=0.02)
    until(lambda: len(lines_of(run)) > 10)
    before = len(lines_of(run))
    relay.interrupt(_CUT_SECONDS)
    until(lambda: len(lines_of(run)) > before + 0.5 * _CUT_SECONDS / 0.02, 120, lambda: run.reason)
    assert run.state == "running"
    run.stop()
    assert run.state == "cancelled", run.reason
    assert_whole(run)


def test_a_head_that_is_lost_and_started_again(script: Start, nodes: Nodes, cluster: Cluster) -> None:
    """Of two runs, the one without restarts fails and the other starts again on the new head."""
    arguments = ["--head", "--node-ip-address=127.0.0.1", "--port=6390", "--include-dashboard=false"]
    head = nodes.start(*arguments, "--num-cpus=2")
    clusters.add(replace(cluster, name="short-lived", address="127.0.0.1:6390"))
    one = script(on="short-lived", LINES=100_000, PAUSE=0.02)
    other = script(on="short-lived", LINES=100_000, PAUSE=0.02, restarts=1)
    until(lambda: min(len(lines_of(one)), len(lines_of(other))) > 10)
    kill_node(head)
    until(lambda: "has not answered since" in one.reason, otherwise=lambda: one.reason)
    nodes.start(*arguments, "--num-cpus=2")
    until(lambda: one.finished, 120, lambda: one.reason)
    assert one.state == "failed"
    assert "of short-lived was lost at step 0" in one.reason
    until(lambda: other.state == "running" and "restart 1 of 1" in other.reason, 120, lambda: other.reason)
    other.stop()
    assert other.state == "cancelled", other.reason


def test_a_stop_after_the_head_was_killed(script: Start, nodes: Nodes, cluster: Cluster) -> None:
    """A queued run ends as cancelled; for a started run, the recorded stop is reported."""
    head = nodes.start(
        "--head", "--node-ip-address=127.0.0.1", "--port=6391", "--include-dashboard=false", "--num-cpus=1"
    )
    clusters.add(replace(cluster, name="killed", address="127.0.0.1:6391"))
    running = script(on="killed", LINES=100_000, PAUSE=0.02)
    until(lambda: len(lines_of(running)) > 10)
    queued = script(on="killed")
    until(lambda: "waits for" in queued.reason, otherwise=lambda: queued.reason)
    kill_node(head)
    queued.stop()
    assert queued.state == "cancelled", queued.reason
    assert queued.reason.startswith(
        "stopped on request before it started, as nothing answers at 127.0.0.1:6391"
    )
    with pytest.raises(RunTimeout, match="the stop is recorded and will be sent when the cluster's head"):
        running.stop(grace=300)


def test_a_node_whose_clock_is_an_hour_ahead(script: Start, nodes: Nodes, cluster: Cluster) -> None:
    """Ray's workers on that node get their clock from libfaketime; skipped if it is not installed."""
    package = Path(pytest.importorskip("libfaketime").__file__).parent
    library = str(package / "vendor" / "libfaketime" / "src" / "libfaketime.so.1")
    ahead = {"LD_PRELOAD": library, "FAKETIME": "+3600", "DONT_FAKE_MONOTONIC": "1"}
    nodes.start(
        f"--address={HEAD}", "--num-cpus=1", "--labels", "clock=ahead", RAY_LD_PRELOAD_ON_WORKERS="1", **ahead
    )
    clusters.add(replace(cluster, name="ahead", labels={"clock": "ahead"}))
    run = script(on="ahead", LINES=300, PAUSE=0.02, **ahead)
    until(lambda: run.finished, 120, lambda: run.reason)
    assert run.state == "completed", run.reason
    assert len(lines_of(run)) == 300
    assert_whole(run)
    written = [json.loads(line)["timestamp"] for line in (run.path / "telemetry.jsonl").open()]
    assert min(written) > time.time() + 3000, "the node's clock was not ahead, so nothing was tested"
    assert run.elapsed < 600
    assert (run.path / "checkpoints" / "step-20.pt").stat().st_size == 7_000_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_disk_that_is_full_on_the_node(script: Start, cluster: Cluster, small_disk: Path) -> None:
    clusters.add(replace(cluster, name="small", folder=str(small_disk)))
    first = script(on="small", LINES=100_000, PAUSE=0.02)
    until(lambda: len(lines_of(first)) > 10, otherwise=lambda: first.reason)
    with suppress(OSError), (small_disk / "fill").open("wb") as file:
        while True:
            file.write(b"." * 4096)
            file.flush()
    second = script(on="small")
    until(lambda: second.finished, otherwise=lambda: second.reason)
    assert second.state == "failed"
    assert "isk is full" in second.reason or "No space left" in second.reason
    first.stop()
    assert first.state == "cancelled", first.reason
