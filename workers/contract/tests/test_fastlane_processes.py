"""Frame ring between processes: killed writers and readers, full-speed writing, and full shared memory."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mosaic_contract.fastlane import FrameReader, FrameWriter, clear, ring_files, sweep

PEER = Path(__file__).parent / "peers" / "framing.py"
CONTRACT = str(Path(__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": CONTRACT}
DEADLINE = 60


@pytest.fixture
def start():
    """Start ``peers/framing.py``; kill the processes still running at the end."""
    started = []

    def start(*words, **options):
        process = subprocess.Popen(
            [sys.executable, str(PEER), *map(str, words)],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def comes_true(condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return True


def test_a_writer_killed_in_the_middle_of_a_frame(start, tmp_path, tmp_path_factory, monkeypatch):
    shared = tmp_path_factory.mktemp("shared")  # in /dev/shm another test's writer could sweep it
    monkeypatch.setattr(ring_files, "SHARED_MEMORY", shared)
    killed = start("killed_in_the_middle", tmp_path, shared)
    assert killed.wait(DEADLINE) == -signal.SIGKILL
    reader = FrameReader(tmp_path)
    frame = reader.read()
    assert (frame.hud.step, frame.sequence) == (10, 10)
    assert frame.pixels == bytes([10]) * (84 * 84 * 3)
    assert reader.read() is None
    assert reader.state == "closed"
    ring = (tmp_path / "fastlane").resolve()
    assert ring in sweep()
    assert (reader.read(), reader.state, ring.exists()) == (None, "closed", False)
    writer = FrameWriter(tmp_path)
    writer.publish(b"again", shape=(1, 5))
    assert comes_true(lambda: (frame := reader.read()) is not None and frame.sequence == 11)
    writer.close()
    reader.close()


def test_a_reader_killed_in_the_middle_of_a_copy(start, tmp_path):
    writer = FrameWriter(tmp_path)
    process = start("killed_while_reading", tmp_path)
    assert process.stdout.readline() == "watching\n"
    assert comes_true(writer.due)
    writer.publish(bytes(300), shape=(10, 10, 3))
    assert process.wait(DEADLINE) == -signal.SIGKILL
    lapsed = time.monotonic() + 2.5
    while time.monotonic() < lapsed:
        if writer.due():
            writer.publish(bytes(300), shape=(10, 10, 3))
        time.sleep(0.01)
    assert not writer.due()
    survivor = FrameReader(tmp_path)
    assert survivor.read() is not None
    survivor.watch(30)
    assert comes_true(writer.due)
    survivor.close()
    writer.close()


def test_three_readers_of_a_writer_at_full_speed(start, tmp_path):
    """The frames' sizes and channels change while they are read."""
    count = 30_000
    writer = start("full_speed", tmp_path, count)
    assert writer.stdout.readline() == "ready\n"
    readers = [start("watch_and_check", tmp_path, count) for _ in range(3)]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    writer.stdin.write("go\n")
    writer.stdin.flush()
    for reader in readers:
        counts = json.loads(reader.stdout.readline())
        assert counts["last"] == count
        assert counts["read"] > 10
        assert (counts["torn"], counts["out_of_order"]) == (0, 0)
    writer.kill()
    writer.wait()
    clear(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_shared_memory_that_is_full(start, tmp_path):
    """Shared memory of 300 KiB, too small for the third frame's ring; skipped where it cannot be mounted."""
    namespace = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if not shutil.which("unshare") or subprocess.run([*namespace, "true"], capture_output=True).returncode:
        pytest.skip("this machine allows no mount namespace, so shared memory cannot be made small")
    script = 'mount -t tmpfs -o size=300k tmpfs /dev/shm && exec "$@"'
    peer = [sys.executable, str(PEER), "in_a_small_place", str(tmp_path)]
    done = subprocess.run(
        [*namespace, "sh", "-c", script, "sh", *peer],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    assert [place.startswith("/dev/shm/") for place in reported["places"]] == [True, True, True, False]
    assert reported["fallback"] == "/dev/shm: No space left on device"
    assert "not in shared memory (/dev/shm: No space left on device)" in reported["notice"]
