"""A process that writes frames, or reads and checks them: ``framing.py FUNCTION RUN_FOLDER [ARGUMENT]``.

All bytes of a frame equal the low byte of the step in its HUD, so that a torn frame is recognised.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from mosaic_contract.fastlane import FrameReader, FrameWriter, Hud, ring_files
from mosaic_contract.fastlane.layout import MemoryFence

SIZES = [(84, 84, 3), (84, 84, 3), (60, 100, 4), (84, 84, 1), (1, 1, 3), (96, 96, 3)]


def publish(writer, step, size=SIZES[0]):
    pixels = bytes([step & 255]) * (size[0] * size[1] * size[2])
    hud = Hud(step=step, episode=-step, reward=step / 2, agent=str(step), text=str(step) * 5)
    writer.publish(pixels, hud, size)


def reported(frame):
    """Return a frame's step; raise AssertionError unless its pixels and its HUD all belong to that step."""
    step, hud = frame.hud.step, frame.hud
    assert frame.pixels == bytes([step & 255]) * (frame.height * frame.width * frame.channels), "torn pixels"
    assert hud == Hud(-step, step, step / 2, agent=str(step), text=str(step) * 5), hud
    return step


def killed_in_the_middle(run_dir, shared):
    """Publish ten frames in ``shared`` memory, then die by SIGKILL after the pixels of the eleventh."""
    ring_files.SHARED_MEMORY = Path(shared)
    writer = FrameWriter(run_dir)
    for step in range(1, 11):
        publish(writer, step)
    fence, calls = MemoryFence(), []

    def deadly():
        fence()
        calls.append(1)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    writer._fence = deadly
    publish(writer, 11)


def full_speed(run_dir, count):
    """Publish ``count`` frames of changing sizes without a pause; exit when stdin is closed."""
    writer = FrameWriter(run_dir)
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.monotonic()
    for step in range(1, int(count) + 1):
        publish(writer, step, SIZES[step // 1000 % len(SIZES)])
    print(json.dumps({"seconds": time.monotonic() - begun}), flush=True)
    sys.stdin.readline()


def watch_and_check(run_dir, last):
    """Read up to the frame ``last``; print the counts of frames read, torn and out of order."""
    reader = FrameReader(run_dir)
    counts = {"read": 0, "torn": 0, "out_of_order": 0, "last": 0}
    sequence, deadline = 0, time.monotonic() + 500
    print("ready", flush=True)
    while counts["last"] < int(last) and time.monotonic() < deadline:
        reader.watch(1000)
        frame = reader.read()
        if frame is None:
            time.sleep(1e-5)  # with fewer cores than processes, a busy reader would starve the writer
            continue
        counts["read"] += 1
        try:
            step = reported(frame)
        except AssertionError:
            counts["torn"] += 1
            continue
        counts["out_of_order"] += step <= counts["last"] or frame.sequence <= sequence
        counts["last"], sequence = step, frame.sequence
    print(json.dumps(counts))


def killed_while_reading(run_dir):
    """Watch, and die by SIGKILL in the middle of copying a frame."""
    reader = FrameReader(run_dir)
    while reader.state != "open":
        time.sleep(0.01)
    reader.watch(1000)
    print("watching", flush=True)
    reader._fence = lambda: os.kill(os.getpid(), signal.SIGKILL)
    while True:
        reader.watch(1000)
        reader.read()


def in_a_small_place(run_dir):
    """Publish growing frames until shared memory is full; print where each ring was placed."""
    writer, reader = FrameWriter(run_dir), FrameReader(run_dir)
    places = [str(writer.path.parent)]
    for step, size in enumerate([(10, 10, 3), (100, 100, 3), (500, 500, 3)], 1):
        publish(writer, step, size)
        assert reported(reader.read()) == step
        places.append(str(writer.path.parent))
    print(json.dumps({"places": places, "fallback": writer.fallback, "notice": reader.notice}))
    writer.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
