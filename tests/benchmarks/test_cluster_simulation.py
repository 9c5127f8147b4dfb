"""The number of cluster runs that one bridge and one panel can handle: a simulation without workers.

The bridge, its mirrors and the panel's index are real. The engine below them is simulated, and this process
acts as the keepers: it connects each run and records the states that the bridge reports.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np
import psutil
from benchmarks.measuring import judged, print_table, size
from overview.run_folders import run_in

from mosaic_lab.engines.job import Job
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import RunStatus, State
from mosaic_lab.overview.index import RunIndex
from mosaic_lab.runs import Run
from mosaic_lab.telemetry import RunFeed

NODES, SLOTS = 200, 8
RUNS = size(2000, 60)
"""More runs than slots, so that some are queued."""
INTERVAL, MEASURED = 1.0, size(20.0, 3.0)
WATCHED = size(50, 10)


class Keepers:
    """Simulates the keepers of all runs: one thread with a connection for each run."""

    def __init__(self, place: Path, store: Path) -> None:
        self.states: dict[str, str] = {}
        self._store = store
        self._place = place
        self._selector = selectors.DefaultSelector()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def connect(self, run: Run) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(str(self._place))
        job = Job(run.id, "simulated", {}, "", 10.0).to_json()
        request = {"folder": str(run.path), "job": job, "variables": {}}
        connection.sendall(json.dumps(request).encode() + b"\n")
        self._selector.register(connection, selectors.EVENT_READ, run.id)

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]

    def _listen(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(0.1):
                lines = key.fileobj.recv(1 << 16).splitlines()  # type: ignore[union-attr]
                if not lines:
                    self._selector.unregister(key.fileobj)
                    continue
                said = json.loads(lines[-1])
                self.states[key.data] = said["state"]
                status = RunStatus(State(said["state"]), said["reason"], time.time())
                write_json(RunFolder(self._store / key.data).state_path, status.to_dict())


@contextmanager
def bridge_process(place: Path, seconds: float) -> Iterator[psutil.Process]:
    program = str(Path(__file__).with_name("simulated_bridge.py"))
    numbers = [str(number) for number in (NODES, SLOTS, seconds, INTERVAL)]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, program, str(place), *numbers], env={**os.environ, "PYTHONPATH": paths}
    )
    try:
        deadline = time.monotonic() + 30
        while not place.exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait(30)


def latencies(runs: list[Run], seconds: float) -> list[float]:
    """Return the seconds from the timestamps of lines until their values are in chart data."""
    feeds = [RunFeed(run.path) for run in runs]
    newest = dict.fromkeys(range(len(feeds)), time.time())
    found = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for number, feed in enumerate(feeds):
            feed.poll()
            pieces = feed.pieces("sent")
            if pieces and (last := float(pieces[-1].value[-1])) > newest[number]:
                found.append(time.time() - last)
                newest[number] = last
        time.sleep(0.01)
    return found


def measured(folder: Path, count: int) -> dict[str, float]:
    """Return the figures for ``count`` runs; as many of them run as there are slots."""
    store = folder / "runs"
    runs = [run_in(store / f"run{number:05}", [], state=State.QUEUED) for number in range(count)]
    keepers_place = folder / "b.sock"
    with bridge_process(keepers_place, seconds=600) as bridge:
        keepers = Keepers(keepers_place, store)
        began = time.monotonic()
        for run in runs:
            keepers.connect(run)
        running = min(count, NODES * SLOTS)
        while Counter(keepers.states.values())["running"] < running or len(keepers.states) < count:
            assert time.monotonic() < began + 300, Counter(keepers.states.values())
            time.sleep(0.05)
        shown = time.monotonic() - began
        index = RunIndex(store)
        index.changes(0)
        used, since = bridge.cpu_times(), time.monotonic()
        late = latencies(runs[: min(WATCHED, running)], MEASURED)
        now, passed = bridge.cpu_times(), time.monotonic() - since
        looks = []
        for _ in range(5):
            since = time.perf_counter()
            index.changes(0)
            looks.append(time.perf_counter() - since)
        figures = {
            "states": shown,
            "queued": Counter(keepers.states.values())["queued"],
            "cpu": (now.user + now.system - used.user - used.system) / passed,
            "memory": bridge.memory_info().rss / 2**20,
            "median": float(np.percentile(late, 50)),
            "worst": float(np.percentile(late, 95)),
            "look": median(looks),
        }
        keepers.close()
    return figures


def test_a_simulation_of_many_runs(tmp_path: Path) -> None:
    few, many = measured(tmp_path / "few", WATCHED), measured(tmp_path / "many", RUNS)

    def row(name: str, key: str, form: str, target: str = "") -> list[str]:
        return [name, form.format(few[key]), form.format(many[key]), *judged(many[key], target)]

    rows = [
        ["in the queue", f"{few['queued']}", f"{many['queued']:,}", "", ""],
        row("all states here after", "states", "{:.1f} s", "<= 60"),
        row("the bridge, of a core", "cpu", "{:.1%}"),
        [f"… for {WATCHED} that run", f"{few['cpu']:.1%}", "", *judged(few["cpu"], "<= 0.15")],
        row("the bridge's memory", "memory", "{:.0f} MiB", "<= 1024"),
        row("line to chart data, median", "median", "{:.3f} s", "<= 0.25"),
        row("… 95th percentile", "worst", "{:.3f} s"),
        row("a look of the panel's index", "look", "{:.3f} s", "<= 0.5"),
    ]
    title = f"a simulation: {NODES} nodes of {SLOTS} slots, a line a second of each run"
    print_table(title, ["", f"{WATCHED} runs", f"{RUNS:,} runs", "target", ""], rows)
    assert few["median"] > 0 and many["median"] > 0
    assert many["queued"] == max(0, RUNS - NODES * SLOTS)
