"""Frame faults between a worker's ring and the page: no torn, stale or foreign frame is ever sent."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support import in_own_mounts, marked_processes, start_painter, store, wait_until
from widgets.pages import Page

from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.widgets.frames.frame_stream import FrameStream

MANY = 8


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with store(tmp_path / "runs", max_running=MANY) as supervisor:
        yield supervisor


def frames_come(page: Page, tile: int = 0, count: int = 5) -> None:
    """Wait until `count` more frames have reached the page."""
    wanted = len(page.numbers[tile]) + count
    wait_until(lambda: len(page.numbers[tile]) >= wanted)


def published(run: Run) -> list[float]:
    """Return the number of published frames, reported once a second."""
    return run.metrics("published")["value"].tolist()


def worker(run: Run) -> psutil.Process:
    [process] = [p for p in marked_processes(run.path) if "painter.py" in " ".join(p.cmdline())]
    return process


def test_a_writer_killed_while_it_is_watched(supervisor: Supervisor) -> None:
    """The last frame stays, the page says that the run failed, and the ring is removed from memory."""
    run = start_painter(supervisor, rate=0, free=True, sizes=[[480, 640, 3]], pattern="noise")
    page = Page(FrameStream(), [run])
    frames_come(page)
    ring = (run.path / "fastlane").resolve()
    assert ring.exists()
    worker(run).send_signal(signal.SIGKILL)
    wait_until(lambda: "signal 9" in run.reason)
    wait_until(lambda: "the run has failed; the last frame seen here" in page.notices.get(0, ""))
    assert page.wrong == []
    wait_until(lambda: not ring.exists())
    assert not (run.path / "fastlane").is_symlink()
    page.end()


def test_sizes_and_channels_that_change_all_the_time(supervisor: Supervisor) -> None:
    sizes = [[1, 1, 1], [84, 84, 3], [64, 48, 4], [2160, 3840, 3], [210, 160, 1], [1, 64, 3]]
    run = start_painter(supervisor, sizes=sizes, change_every=3, pattern="grid")
    page = Page(FrameStream(), [run])
    frames_come(page, count=4 * len(sizes))
    page.end()
    assert page.wrong == []


@pytest.mark.parametrize("scenario", ["full", "read_only"])
def test_without_shared_memory_frames_are_stored_elsewhere_and_the_page_says_so(
    tmp_path: Path, scenario: str
) -> None:
    seen = in_own_mounts("full_shm.py", scenario, tmp_path)
    assert (seen["state"], seen["wrong"]) == ("running", [])
    assert seen["frames"] > 0
    assert str(tmp_path) in seen["notice"]  # the notice names the fallback folder


def test_without_space_for_frames_the_training_continues_and_the_page_says_so(tmp_path: Path) -> None:
    seen = in_own_mounts("full_shm.py", "both_full", tmp_path)
    assert (seen["state"], seen["wrong"]) == ("running", [])
    assert seen["frames"] == 0
    assert "no space for" in seen["notice"] and "no frames: " in seen["log"]
