"""Node side of a run: the order in which files are sent, cleanup of old runs, and the environment server."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest
from support import wait_until

from mosaic_lab.engines import node, node_files
from mosaic_lab.engines.engine import FileChunk, Known
from mosaic_lab.engines.job import Job
from mosaic_lab.keeper import locks
from mosaic_lab.keeper.run_store import RunFolder

STEPS = "arenas/0-random.1/telemetry.jsonl"


def test_the_steps_of_an_episode_come_before_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_files, "CHUNK_BYTES", 8)
    run = node.NodeRun(Job("a-part", "evaluation", {}, str(tmp_path), 1.0), "node")
    steps = run.folder.path / STEPS
    steps.parent.mkdir(parents=True)
    steps.write_bytes(b"step\n" * 3)
    run.folder.telemetry_path.write_bytes(b"episode\n")
    received: list[tuple[str, int]] = []
    sizes: dict[str, int] = {}
    while new := read(run, sizes):
        for chunk in new:
            assert chunk.offset == sizes.get(chunk.path, 0)  # a growing file is never sent twice
            sizes[chunk.path] = chunk.offset + len(chunk.data)
            received.append((chunk.path, sizes[chunk.path]))
        if len(received) == 1:
            with steps.open("ab") as file:
                file.write(b"step\n")
    assert received == [(STEPS, 8), (STEPS, 16), (STEPS, 20), ("telemetry.jsonl", 8)]


def test_a_temporary_file_that_is_gone_meanwhile_is_no_error(tmp_path: Path) -> None:
    saved = [tmp_path / name for name in ("a.pt", "b.pt.tmp", "c.pt")]
    for path in saved:
        path.write_bytes(b"weights")
    sent = iter(node_files.chunks_of_others(tmp_path, {}))
    first = next(sent)
    saved[1].unlink()
    assert [chunk.path for chunk in (first, *sent)] == ["a.pt", "c.pt"]


def test_runs_that_were_left_behind_long_ago_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_environment(*_: object) -> None:
        raise RuntimeError("no environment here")

    monkeypatch.setattr(node.node_environment, "prepare", no_environment)
    month = 31 * 86_400
    left, ended, alive = (
        old_run(tmp_path, name, age) for name, age in (("1/a", month), ("2/b", 60), ("1/c", month))
    )
    lock = locks.take(alive.lock_path)
    assert lock is not None
    run = node.NodeRun(Job("d", "toy", {}, str(tmp_path), 1.0), "node")
    run.start({})
    deadline = time.monotonic() + 30
    while not run.files.status.state.finished:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not left.path.exists()
    assert ended.path.is_dir() and alive.path.is_dir() and run.folder.path.is_dir()
    os.close(lock)


def test_the_server_of_an_environment_is_started_as_the_node_has_built_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(home: Path, job: Job, *_: object) -> node.node_environment.Prepared:
        return node.node_environment.Prepared(["true", job.worker], {}, {"worker": job.worker})

    monkeypatch.setattr(node.node_environment, "prepare", prepare)
    server = {"worker": "visual", "command": ["a path of the user's machine"]}
    config = {"env_id": "CrafterReward-v1", "environment_server": server}
    run = node.NodeRun(Job("served", "sb3", config, str(tmp_path), 1.0), "node")
    run.start({})
    wait_until(lambda: run.folder.status().outcome)  # a run counts as lost until it has a keeper
    assert run.folder.config()["environment_server"] == {"worker": "visual", "command": ["true", "visual"]}
    assert json.loads(run.folder.node_path.read_text())["environment"] == {"worker": "sb3"}


def old_run(home: Path, name: str, age: float) -> RunFolder:
    """Create the files of a run that ended on this node `age` seconds ago."""
    folder = RunFolder(home / "runs" / name)
    folder.path.mkdir(parents=True)
    for file in (folder.log_path, folder.lock_path, folder.path):
        if file != folder.path:
            file.touch()
        os.utime(file, (0, time.time() - age))
    return folder


def read(run: node.NodeRun, sizes: dict[str, int]) -> tuple[FileChunk, ...]:
    return asyncio.run(run.files.read(Known(dict(sizes)), 0.0)).chunks
