"""A process that writes frames, or reads them and checks each: ``framing.py WHAT RUN_FOLDER [ARGUMENT]``.

Every frame is one value in all its bytes, the low byte of the number that its HUD gives as step; sizes and
channels change with the number where the writer is to vary them.
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
    """The step of a frame, all of which speaks of the same one; else the frame is wrong: AssertionError."""
    step, hud = frame.hud.step, frame.hud
    assert frame.pixels == bytes([step & 255]) * (frame.height * frame.width * frame.channels), "torn pixels"
    assert hud == Hud(-step, step, step / 2, agent=str(step), text=str(step) * 5), hud
    return step


def killed_in_the_middle(run_dir, shared):
    """Ten whole frames in ``shared`` memory, and a SIGKILL after the pixels of the eleventh."""
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
    """``count`` frames without a pause, of changing sizes; stays until stdin is closed."""
    writer = FrameWriter(run_dir)
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.monotonic()
    for step in range(1, int(count) + 1):
        publish(writer, step, SIZES[step // 1000 % len(SIZES)])
    print(json.dumps({"seconds": time.monotonic() - begun}), flush=True)
    sys.stdin.readline()


def watch_and_check(run_dir, last):
    """Read until the frame ``last``; counts what was read, torn and out of order."""
    reader = FrameReader(run_dir)
    counts = {"read": 0, "torn": 0, "out_of_order": 0, "last": 0}
    sequence, deadline = 0, time.monotonic() + 500
    print("ready", flush=True)
    while counts["last"] < int(last) and time.monotonic() < deadline:
        reader.watch(1000)
        frame = reader.read()
        if frame is None:
            time.sleep(1e-5)  # on fewer cores than processes the writer would get none
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
    """Watch, and a SIGKILL in the middle of copying a frame."""
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
    """Frames that grow until shared memory is full: where each of them went."""
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
