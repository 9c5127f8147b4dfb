"""Frame stream to a page: frames flow while a view is visible and keeps up; otherwise nothing runs."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import pytest
from comm.base_comm import BaseComm
from mosaic_contract.fastlane import FrameWriter, Hud
from support import start_painter, start_peer, wait_until
from telemetry.stream_fixtures import Clock, View, noise, run_of, shown

from mosaic_lab.runs import Supervisor
from mosaic_lab.widgets.frames import flow_control
from mosaic_lab.widgets.frames import frame_stream as streams
from mosaic_lab.widgets.frames.flow_control import MIN_WINDOW
from mosaic_lab.widgets.frames.frame_stream import MAX_VIEWERS, FrameStream
from mosaic_lab.widgets.frames.viewer import GATHER_SECONDS, SILENT_SECONDS, VERSION, FrameFeed, Viewer


def test_frames_are_made_only_while_a_view_is_in_sight(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    view = View(stream, [run_of(supervisor)])
    wait_until(writer.due)
    view.look([])
    wait_until(lambda: not writer.due())
    view.look([0])
    wait_until(writer.due)
    view.send_to_kernel({"type": "look", "visible": [0], "fps": 30, "paused": True})
    wait_until(lambda: not writer.due())
    view.look([0])
    wait_until(writer.due)
    view.end()
    wait_until(lambda: not writer.due())


def test_what_was_missed_while_hidden_is_shown_at_once(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    view = View(stream, [run_of(supervisor)])
    shown(view, writer, noise(4, 4, 3), Hud(step=1))
    view.look([])
    writer.publish(noise(4, 4, 3), Hud(step=2))
    view.look([0])
    wait_until(lambda: view.packets[-1][1].hud.step == 2)
    view.end()


def test_a_second_view_starts_with_the_frame_that_is_there(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    first = View(stream, [run_of(supervisor)])
    shown(first, writer, noise(4, 4, 3), Hud(step=1))
    second = View(stream, [run_of(supervisor)])
    second.more(1)
    assert second.packets[0][1].hud.step == 1
    first.end()
    second.end()


def test_a_page_that_fell_silent_is_sent_nothing_until_it_speaks_again(
    stream: FrameStream, supervisor: Supervisor, clock: Clock
) -> None:
    view = View(stream, [start_painter(supervisor)])
    view.more()
    clock.ahead += SILENT_SECONDS + 1
    pongs = view.pongs
    view.send_to_kernel({"type": "beat"})
    wait_until(lambda: view.pongs > pongs)
    view.more(20)
    view.end()


def test_the_worker_of_a_silent_page_renders_no_more(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter, clock: Clock
) -> None:
    view = View(stream, [run_of(supervisor)])
    wait_until(writer.due)
    clock.ahead += SILENT_SECONDS + 1
    wait_until(lambda: not writer.due())
    view.end()


def test_lost_acknowledgements_are_replaced_by_that_of_one_more_message(
    stream: FrameStream, supervisor: Supervisor
) -> None:
    view = View(stream, [start_painter(supervisor)])
    view.more()
    view.acknowledges = False
    view.more(MIN_WINDOW)
    view.acknowledges = True
    view.more(20)
    view.end()


def test_an_acknowledgement_that_comes_while_the_window_is_being_filled_is_not_missed(
    stream: FrameStream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((streams, "NOTICE_SECONDS"), (flow_control, "PATIENCE")):
        monkeypatch.setattr(module, name, math.inf)  # nothing else wakes the stream

    class QuickView(View):
        """Acknowledges only the first message, while the second is being sent."""

        def publish_msg(self, msg_type: str, data: Any = None, *arguments: Any, **more: Any) -> None:
            super().publish_msg(msg_type, data, *arguments, **more)
            if data["type"] == "frames" and data["id"] == 2:
                super().send_to_kernel({"type": "ack", "id": 1})

        def send_to_kernel(self, data: dict[str, Any]) -> None:
            if data["type"] != "ack":
                super().send_to_kernel(data)

    view = QuickView(stream, [start_painter(supervisor)], fps=60)
    wait_until(lambda: view.messages >= 3)
    view.end()


def test_what_a_page_asks_for_is_not_lost_among_acknowledgements(
    stream: FrameStream, supervisor: Supervisor
) -> None:
    busy, free = threading.Event(), threading.Event()

    class SlowView(View):
        def publish_msg(self, *arguments: Any, **more: Any) -> None:
            super().publish_msg(*arguments, **more)
            busy.set()
            free.wait(30)

    view = SlowView(stream, [start_painter(supervisor)])
    assert busy.wait(30)
    view.send_to_kernel({"type": "record", "tile": 0, "seconds": 5, "format": "avi"})
    for _ in range(1000):
        view.send_to_kernel({"type": "ack", "id": 0})
    free.set()
    assert "not 'avi'" in view.failure()
    view.end()


def test_frames_of_lanes_that_step_together_are_one_message(supervisor: Supervisor) -> None:
    folders = [start_peer(supervisor, "silent").path for _ in range(2)]
    writers = [FrameWriter(folder) for folder in folders]
    feeds = {folder: FrameFeed(folder) for folder in folders}
    sent: list[list[int]] = []

    class Comm(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, *arguments: Any, **more: Any) -> None:
            if msg_type == "comm_msg":
                sent.append([tile["tile"] for tile in data["tiles"]])

    tiles = [{"run": str(folder)} for folder in folders]
    hello = {"version": VERSION, "tiles": tiles, "visible": [0, 1], "fps": 30}
    viewer = Viewer(Comm(), hello, feeds.__getitem__, 0.0)

    def step(lane: int, now: float) -> None:
        writers[lane].publish(noise(4, 4, 3))
        feeds[folders[lane]].poll(now, 30)
        viewer.show(now, 0.0)

    step(0, 1.0)
    assert sent == [[0]], "waited for a lane without frames"
    step(1, 1.04)
    assert len(sent) == 1 and viewer.gathering and viewer.due_at(1.04) == 1.04 + GATHER_SECONDS
    step(0, 1.04 + GATHER_SECONDS)
    assert sent[1:] == [[1, 0]]
    step(1, 1.08)
    viewer.show(1.08 + GATHER_SECONDS, 0.0)
    assert sent[2:] == [[1]], "waited longer although no more frames arrived"
    step(1, 2.0)
    assert sent[3:] == [[1]], "waited for a lane that sends no more frames"
    for part in (*feeds.values(), *writers):
        part.close()


def test_views_of_pages_that_are_gone_give_way(stream: FrameStream, supervisor: Supervisor) -> None:
    run = start_painter(supervisor)
    views = [View(stream, [run]) for _ in range(MAX_VIEWERS + 1)]
    wait_until(lambda: sum(view.closed.is_set() for view in views) == 1)
    views[-1].more()
    for view in views:
        view.end()


def test_nothing_runs_while_no_view_is_in_sight(stream: FrameStream, supervisor: Supervisor) -> None:
    view = View(stream, [start_painter(supervisor)])
    view.more()
    view.end()
    thread = next(thread for thread in threading.enumerate() if thread.name == "mosaic-frames")
    assert thread.daemon
    cpu = time.process_time()
    time.sleep(1)
    assert time.process_time() - cpu < 0.2
