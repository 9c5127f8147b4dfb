"""TensorBoard for comparison: its server, and a writer of its events."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from browser.server import free_port
from support import wait_until

SETTINGS = """localStorage.setItem('_tb_global_settings', JSON.stringify(
    {autoReload: true, autoReloadPeriodInMs: 15000}))"""
"""Script for TensorBoard's page: load new points every 15 s, its shortest interval."""

APPEND_EVENT = """
import sys, time
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter(sys.argv[1], flush_secs=1)
for line in sys.stdin:
    value = Summary.Value(tag="episode_return", simple_value=400.0)
    writer.add_event(Event(step=int(line), wall_time=time.time(), summary=Summary(value=[value])))
    writer.flush()
    print("written", flush=True)
"""


@contextmanager
def serving(programs: Path, events: Path, runs: int) -> Iterator[tuple[psutil.Popen, str]]:
    """Run TensorBoard's server; yield when it has read all runs. It reloads every second, not every five."""
    port = free_port()
    options = ["--logdir", str(events), "--host", "127.0.0.1", "--port", str(port), "--reload_interval", "1"]
    command = [str(programs / "tensorboard"), *options]
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"

    def is_read() -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{address}/data/plugin/timeseries/tags") as answer:
            return len(json.load(answer)["scalars"]["runTagInfo"]) == runs
        return False

    try:
        wait_until(is_read, 60)
        yield process, address
    finally:
        for one in (*process.children(recursive=True), process):
            one.terminate()
        process.wait(20)


@contextmanager
def writer(programs: Path, run: Path) -> Iterator[Callable[[int], object]]:
    """Yield a function that appends a point to a run's events, as a training with TensorBoard does."""
    process = subprocess.Popen(
        [programs / "python", "-c", APPEND_EVENT, run],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def write(step: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{step}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "written\n"

    with process:
        yield write
