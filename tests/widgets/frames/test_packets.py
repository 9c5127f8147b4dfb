"""Frame packets for a page: raw, deflated, JPEG, reduced, shared between views and bounded in size."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from mosaic_contract.fastlane import FrameWriter, Hud
from support import start_painter, wait_until
from telemetry.stream_fixtures import View, noise, run_of, shown

from mosaic_lab.fastlane import Packet
from mosaic_lab.fastlane.encoding import MAX_PIXELS
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.widgets.frames import frame_stream as streams
from mosaic_lab.widgets.frames import viewer
from mosaic_lab.widgets.frames.frame_stream import FrameStream


@pytest.mark.parametrize("shape", [(1, 1, 1), (84, 84, 3), (50, 60, 4), (210, 160, 1)])
def test_small_frames_arrive_as_they_are(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter, shape: tuple[int, int, int]
) -> None:
    view = View(stream, [run_of(supervisor)])
    pixels = noise(*shape)
    packet = shown(view, writer, pixels, Hud(step=3, text="now"))
    assert packet.encoding == "raw"
    assert (packet.decode() == pixels).all()
    assert packet.hud == Hud(step=3, text="now")
    assert 0 <= time.time() - packet.published < 30
    view.end()


def test_flat_frames_are_deflated_and_pictures_are_not_while_the_way_is_wide(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    view = View(stream, [run_of(supervisor)])
    flat = np.full((400, 600, 3), 7, np.uint8)
    flat[100:200] = 90
    packet = shown(view, writer, flat)
    assert packet.encoding == "deflate" and len(packet.data) < 10_000
    assert (packet.decode() == flat).all()
    picture = noise(210, 160, 3)
    packet = shown(view, writer, picture)
    assert packet.encoding == "raw"
    assert (packet.decode() == picture).all()
    assert shown(view, writer, noise(480, 640, 3)).encoding == "jpeg"
    view.end()


def test_a_page_that_does_not_keep_up_gets_large_pictures_as_jpeg(
    stream: FrameStream, supervisor: Supervisor
) -> None:
    run = start_painter(supervisor, sizes=[[480, 640, 3]], pattern="noise", rate=100)

    class SlowView(View):
        def _on_frames(self, data: dict[str, Any], buffers: list[bytes]) -> None:
            time.sleep(len(buffers[0]) / 5e6)
            super()._on_frames(data, buffers)

    view = SlowView(stream, [run])
    wait_until(lambda: any(packet.encoding == "jpeg" for _, packet in view.packets))
    packet = view.packets[-1][1]
    assert packet.decode().shape == (480, 640, 3)
    view.end()


def test_frames_of_4k_are_reduced_by_a_whole_factor(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    view = View(stream, [run_of(supervisor)])
    for channels in (1, 3, 4):
        pixels = np.zeros((2160, 3840, channels), np.uint8)
        pixels[:, 1920:] = 200
        packet = shown(view, writer, pixels)
        assert (packet.height, packet.width, packet.channels) == (1080, 1920, channels)
        assert packet.height * packet.width <= MAX_PIXELS
        assert (packet.decode()[:, ::960] == [[[0], [200]]]).all()
    view.end()


def test_numbers_that_json_cannot_say_come_as_words(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    view = View(stream, [run_of(supervisor)])
    packet = shown(view, writer, noise(4, 4, 3), Hud(reward=math.nan, episode_return=-math.inf, step=0))
    assert packet.hud._asdict() == {**Hud(step=0)._asdict(), "reward": "nan", "episode_return": "-inf"}
    view.end()


def test_tiles_travel_together_up_to_a_size_and_none_is_left_out(
    stream: FrameStream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer, "MAX_BYTES", 2 * 84 * 84 * 3)
    view = View(stream, [start_painter(supervisor) for _ in range(4)])
    wait_until(lambda: all(sum(tile == i for tile, _ in view.packets) > 20 for i in range(4)))
    assert max(view.sizes) == 3 * 84 * 84 * 3
    view.end()


def test_two_views_of_a_run_share_each_packet(stream: FrameStream, supervisor: Supervisor) -> None:
    run = start_painter(supervisor, sizes=[[256, 256, 3]])
    views = [View(stream, [run]) for _ in range(2)]
    for view in views:
        view.more(20)
    data = [{packet.sequence: packet.data for _, packet in view.packets} for view in views]
    both = data[0].keys() & data[1].keys()
    assert len(both) > 5
    assert all(data[0][sequence] is data[1][sequence] for sequence in both)
    for view in views:
        view.end()


def test_a_worker_that_publishes_without_end_is_shown_as_often_as_is_wanted(
    stream: FrameStream, supervisor: Supervisor
) -> None:
    view = View(stream, [start_painter(supervisor, rate=1000, free=True)], fps=10)
    view.more(40)
    steps = [packet.published for _, packet in view.packets]
    assert (len(steps) - 1) / (steps[-1] - steps[0]) < 11.5
    view.end()


def recorded(stream: FrameStream, run: Run) -> list[Packet]:
    feed = stream.feed(run.path)
    assert feed is not None
    return feed.recorder.last(60)


def test_recordings_of_all_runs_together_are_bounded(
    stream: FrameStream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_RECORDED_BYTES", 10 * 84 * 84 * 3)
    runs = [start_painter(supervisor) for _ in range(2)]
    view = View(stream, runs)
    wait_until(lambda: all(sum(tile == i for tile, _ in view.packets) > 10 for i in range(2)))
    assert [len(recorded(stream, run)) for run in runs] == [4, 4]
    view.end()


def test_pictures_are_recorded_small(stream: FrameStream, supervisor: Supervisor) -> None:
    run = start_painter(supervisor, sizes=[[210, 160, 3]], pattern="noise")
    view = View(stream, [run])
    view.more(20)
    packets = recorded(stream, run)
    assert {packet.encoding for packet in packets} == {"jpeg"}
    assert packets[-1].published - packets[0].published > 0.9 * (len(packets) - 1) / 15
    view.end()
