"""Cost of publishing a frame, and of checking whether a frame is due."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from benchmarks.measuring import judged, paired, print_table, size
from mosaic_contract.fastlane import FrameReader, FrameWriter, Hud

PAIRS, CALLS = size((31, 300), (1, 20))
HUD = Hud(
    episode=12, step=34_567, reward=1.0, episode_return=89.0, steps_per_second=4321.0, text="4 environments"
)


def microseconds(action: Callable[[], object]) -> float:
    """Return the median of ``CALLS`` calls, each timed separately."""
    taken = []
    for _ in range(CALLS):
        begun = time.perf_counter_ns()
        action()
        taken.append(time.perf_counter_ns() - begun)
    return median(taken) / 1000


def test_publishing_against_a_bare_copy(tmp_path: Path) -> None:
    rows = []
    for shape, target in (((84, 84, 3), "<= 3 µs more"), ((480, 640, 3), "<= 1.5 times")):
        for watched in (False, True):
            writer, reader = FrameWriter(tmp_path), FrameReader(tmp_path)
            pixels = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
            copy = np.empty_like(pixels)
            writer.publish(pixels, HUD)
            if watched:
                reader.watch(30)
            measured = paired(
                lambda writer=writer, pixels=pixels: microseconds(lambda: writer.publish(pixels, HUD)),  # type: ignore[misc]
                lambda copy=copy, pixels=pixels: microseconds(lambda: np.copyto(copy, pixels)),  # type: ignore[misc]
                PAIRS,
            )
            frame = reader.read()
            assert frame is not None and frame.pixels == pixels.tobytes() and frame.hud == HUD
            ours, theirs = (median(side) for side in zip(*measured, strict=True))
            more = median(a - b for a, b in measured)
            times = median(a / b for a, b in measured)
            ring = writer.path.stat().st_size / pixels.nbytes
            rows.append(
                [
                    f"{shape[1]}x{shape[0]}x{shape[2]}, {'watched' if watched else 'no viewer'}",
                    f"{ours:.2f}",
                    f"{theirs:.2f}",
                    f"{more:.2f}",
                    f"{times:.2f}",
                    *judged(more if "more" in target else times, target),
                    f"{ring:.2f}",
                    *judged(ring, "<= 5"),
                ]
            )
            writer.close()
            reader.close()
    print_table(
        f"Publishing a frame with its HUD against numpy.copyto of the same frame (µs, medians of {PAIRS} "
        f"pairs of {CALLS} calls), and the ring's memory in frames",
        ["frame", "publish", "copyto", "more", "times", "target", "verdict", "ring", "target", "verdict"],
        rows,
    )


def test_the_check_whether_a_frame_is_due(tmp_path: Path) -> None:
    writer, reader = FrameWriter(tmp_path), FrameReader(tmp_path)

    def row(name: str, target: str) -> list[str]:
        nanoseconds = min(timeit.repeat(writer.due, number=100_000, repeat=5)) * 1e4
        return [name, f"{nanoseconds:.0f}", *judged(nanoseconds, target)]

    rows = [row("no viewer", "<= 100 ns")]
    reader.watch(30)
    rows.append(row("watched at 30 frames/s", ""))
    writer.close()
    print_table(
        "The check at every step whether a frame is due (ns)", ["", "due()", "target", "verdict"], rows
    )
