"""Frames when things go wrong, from a worker's ring to what a page is sent: none torn, old or another's."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from browser.jupyter import Notebook
from browser.server import serving
from playwright.sync_api import Page as Tab
from playwright.sync_api import WebSocketRoute
from support import in_own_mounts, marked_processes, start_painter, store, wait_until
from widgets.pages import Page

from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.widgets.frames.frame_stream import FrameStream

MANY = 50


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with store(tmp_path / "runs", max_running=MANY) as supervisor:
        yield supervisor


def frames_come(page: Page, tile: int = 0, count: int = 5) -> None:
    """So many more frames reach the page."""
    wanted = len(page.numbers[tile]) + count
    wait_until(lambda: len(page.numbers[tile]) >= wanted)


def published(run: Run) -> list[float]:
    """Number of published frames, second by second."""
    return run.metrics("published")["value"].tolist()


def worker(run: Run) -> psutil.Process:
    [process] = [p for p in marked_processes(run.path) if "painter.py" in " ".join(p.cmdline())]
    return process


def rings_in_use() -> set[str]:
    """The rings that this process has mapped or open."""
    me = psutil.Process()
    return {file.path for file in (*me.memory_maps(), *me.open_files()) if "/mosaic-lab-" in file.path}


@pytest.mark.extended
def test_50_runs_watched_at_once(supervisor: Supervisor) -> None:
    """Every one is seen, in order and whole; and without a viewer no worker renders."""
    before = rings_in_use()
    runs = [start_painter(supervisor, rate=10, sizes=[[84, 84, 3]]) for _ in range(MANY)]
    page = Page(FrameStream(), runs, fps=5)
    wait_until(lambda: min(len(page.numbers[tile]) for tile in range(MANY)) >= 10, 120)
    assert page.wrong == []
    assert len(rings_in_use() - before) >= MANY
    assert page.messages < sum(map(len, page.numbers.values())) / 5  # many tiles travel in one message
    page.look([])
    wait_until(lambda: all(len(set(published(run)[-3:])) == 1 < len(published(run)) for run in runs), 60)
    page.end()
    wait_until(lambda: not rings_in_use() - before)


def test_a_lost_acknowledgement_heals_by_itself(supervisor: Supervisor) -> None:
    page = Page(FrameStream(), [start_painter(supervisor)])
    frames_come(page)
    page.acknowledges = False
    before = len(page.numbers[0])
    wait_until(lambda: page.messages > before)  # what is in flight
    page.acknowledges = True
    frames_come(page, count=30)
    page.end()
    assert page.wrong == []


@pytest.mark.extended
def test_acknowledgements_lost_between_a_real_page_and_its_kernel(page: Tab, tmp_path: Path) -> None:
    """What the page says is lost on the way until the frames stop; once it no longer is, they go on."""
    lost: list[bytes] = []
    losing = threading.Event()

    def connect(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def to_server(message: str | bytes) -> None:
            if losing.is_set() and isinstance(message, bytes) and b'"type":"ack"' in message:
                lost.append(message)
            else:
                server.send(message)

        socket.on_message(to_server)

    page.route_web_socket(re.compile("/channels"), connect)
    with serving(tmp_path) as server, store(server.root / "mosaic_runs") as supervisor:
        start_painter(supervisor)
        server.write_notebook("work.ipynb", ["import mosaic_lab as mosaic\nmosaic.Lab().runs[0].frames()"])
        Notebook(page, server, "work.ipynb").run(0)
        drawn = partial(
            page.evaluate, "document.querySelector('.mosaic-frames')?.mosaicFrames?.drawn[0] ?? 0"
        )

        def goes_on() -> bool:
            before = drawn()
            page.wait_for_timeout(100)
            return bool(drawn() > before)

        wait_until(goes_on)
        losing.set()
        wait_until(lambda: not goes_on() and lost)
        losing.clear()
        wait_until(goes_on)
        page.context.close()


def test_a_writer_killed_while_it_is_watched(supervisor: Supervisor) -> None:
    """The last frame stays, the page shows why no more come, and nothing remains in memory."""
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


def test_a_view_of_several_runs_outlives_one_of_them(supervisor: Supervisor) -> None:
    first, second = start_painter(supervisor), start_painter(supervisor)
    page = Page(FrameStream(), [first, second])
    frames_come(page, 0)
    frames_come(page, 1)
    first.stop(0)
    wait_until(lambda: "the run was cancelled; the last frame seen here" in page.notices.get(0, ""))
    frames_come(page, 1)
    page.end()
    assert page.wrong == []


def test_sizes_and_channels_that_change_all_the_time(supervisor: Supervisor) -> None:
    sizes = [[1, 1, 1], [84, 84, 3], [64, 48, 4], [2160, 3840, 3], [210, 160, 1], [1, 64, 3]]
    run = start_painter(supervisor, sizes=sizes, change_every=3, pattern="grid")
    page = Page(FrameStream(), [run])
    frames_come(page, count=4 * len(sizes))
    page.end()
    assert page.wrong == []


@pytest.mark.parametrize("scenario", ["full", "read_only"])
def test_without_shared_memory_frames_take_another_way_and_the_page_says_so(
    tmp_path: Path, scenario: str
) -> None:
    seen = in_own_mounts("full_shm.py", scenario, tmp_path)
    assert (seen["state"], seen["wrong"]) == ("running", [])
    assert seen["frames"] > 0
    assert str(tmp_path) in seen["notice"]  # their place now


def test_without_room_for_frames_anywhere_the_training_goes_on_and_the_page_says_so(tmp_path: Path) -> None:
    seen = in_own_mounts("full_shm.py", "both_full", tmp_path)
    assert (seen["state"], seen["wrong"]) == ("running", [])
    assert seen["frames"] == 0
    assert "no space for" in seen["notice"] and "no frames: " in seen["log"]
