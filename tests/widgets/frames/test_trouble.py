"""Faults of frame streams: an ended or unreadable run, or an unreachable page, does not stop the others."""

from __future__ import annotations

import pytest
from mosaic_contract.fastlane import Frame
from support import start_painter, wait_until
from telemetry.stream_fixtures import Clock, View

from mosaic_lab.fastlane import FrameSource
from mosaic_lab.runs import Supervisor
from mosaic_lab.widgets.frames.frame_stream import CALM_SECONDS, FrameStream
from mosaic_lab.widgets.frames.viewer import FrameFeed


def test_the_end_of_a_run_is_shown_and_its_last_frame_stays_beside_those_of_others(
    stream: FrameStream, supervisor: Supervisor
) -> None:
    run = start_painter(supervisor)
    view = View(stream, [run, start_painter(supervisor)])
    wait_until(lambda: {tile for tile, _ in view.packets} == {0, 1})
    run.stop()
    wait_until(lambda: "the run was cancelled; the last frame seen here" in view.notices.get(0, ""))
    view.more()
    later = View(stream, [run])
    later.more(1)
    view.send_to_kernel({"type": "snapshot", "tile": 0})
    assert view.file()[1] == "image/png"
    view.end()
    later.end()


def test_a_view_that_cannot_be_reached_does_not_hold_up_the_others(
    stream: FrameStream, supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    run = start_painter(supervisor)
    views = [View(stream, [run]) for _ in range(2)]
    for view in views:
        view.more()
    views[0].broken = True
    views[1].more(60)
    assert len([record for record in caplog.records if "trying again" in record.message]) == 1
    views[0].broken = False
    views[0].send_to_kernel({"type": "beat"})
    views[0].more()
    for view in views:
        view.end()


def test_an_error_that_recurs_after_a_while_is_shown_again(
    stream: FrameStream, supervisor: Supervisor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, broken = FrameFeed.poll, True

    def poll(self: FrameFeed, now: float, fps: float) -> None:
        if broken:
            raise OSError("a bad moment")
        read(self, now, fps)

    monkeypatch.setattr(FrameFeed, "poll", poll)
    view = View(stream, [start_painter(supervisor)])
    assert "a bad moment" in view.failure()
    broken = False
    view.more()
    clock.ahead += CALM_SECONDS
    view.more()
    broken = True
    assert "a bad moment" in view.failure()
    view.end()


def test_the_stream_continues_after_an_unexpected_error(
    stream: FrameStream,
    supervisor: Supervisor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def pause(self: FrameFeed) -> None:
        raise RuntimeError("never seen before")

    monkeypatch.setattr(FrameFeed, "pause", pause)
    view = View(stream, [start_painter(supervisor)])
    view.more()
    view.look([])
    wait_until(lambda: "it continues" in caplog.text)
    view.look([0])
    view.more()
    view.end()


def test_a_run_that_cannot_be_read_does_not_hold_up_the_others(
    stream: FrameStream,
    supervisor: Supervisor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs = [start_painter(supervisor) for _ in range(2)]
    read = FrameSource.poll

    def poll(self: FrameSource, fps: float) -> Frame | None:
        if self._folder.path == runs[0].path:
            raise PermissionError("not for you")
        return read(self, fps)

    monkeypatch.setattr(FrameSource, "poll", poll)
    view = View(stream, runs, fps=60)
    view.more(100)
    assert {tile for tile, _ in view.packets} == {1}
    published = [packet.published for _, packet in view.packets]
    assert len(published) / (published[-1] - published[0]) > 5
    assert view.failure() == "Frames cannot be shown: PermissionError: not for you"
    assert view.failures == []
    view.end()
