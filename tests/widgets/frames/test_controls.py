"""Requests of a page: snapshots, recordings, frames on and off, and the reasons for refusals."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import av
import numpy as np
import pytest
from mosaic_contract.fastlane import FrameWriter
from peers.painter import painted
from PIL import Image
from support import at_work, start_painter, start_peer, wait_until
from telemetry.stream_fixtures import View, noise, run_of, shown

from mosaic_lab.runs import Supervisor
from mosaic_lab.widgets.frames.frame_stream import FrameStream


def test_a_snapshot_is_the_frame_bit_for_bit(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    run = run_of(supervisor)
    view = View(stream, [run])
    pixels = noise(1500, 1600, 3)
    packet = shown(view, writer, pixels)
    assert packet.width < 1600
    view.send_to_kernel({"type": "snapshot", "tile": 0})
    name, mime, data = view.file()
    assert (name, mime) == (f"{run.id}_frame-{packet.sequence}.png", "image/png")
    assert (np.asarray(Image.open(BytesIO(data))) == pixels).all()
    view.end()


def test_a_snapshot_of_a_paused_view_is_the_frame_that_it_shows(
    stream: FrameStream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    run = run_of(supervisor)
    paused, going = View(stream, [run]), View(stream, [run])
    pixels = noise(8, 8, 3)
    packet = shown(paused, writer, pixels)
    paused.send_to_kernel({"type": "look", "visible": [0], "fps": 30, "paused": True})
    pongs = paused.pongs
    paused.send_to_kernel({"type": "beat"})
    wait_until(lambda: paused.pongs > pongs)
    shown(going, writer, 255 - pixels)
    paused.send_to_kernel({"type": "snapshot", "tile": 0})
    name, _, data = paused.file()
    assert name == f"{run.id}_frame-{packet.sequence}.png"
    assert (np.asarray(Image.open(BytesIO(data))) == pixels).all()
    paused.end()
    going.end()


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_the_last_seconds_are_recorded(stream: FrameStream, supervisor: Supervisor, kind: str) -> None:
    view = View(stream, [start_painter(supervisor, sizes=[[64, 64, 3]])])
    view.more(40)
    view.send_to_kernel({"type": "record", "tile": 0, "seconds": 60, "format": kind})
    name, mime, data = view.file()
    assert name.endswith(f".{kind}") and mime in ("image/gif", "video/mp4")
    if kind == "gif":
        with Image.open(BytesIO(data)) as film:
            assert film.n_frames > 10
            assert painted(np.asarray(film.convert("RGB")).tobytes(), (64, 64, 3)) > 0
    else:
        with av.open(BytesIO(data)) as container:
            assert sum(1 for _ in container.decode(video=0)) > 10
    view.end()


def test_frames_are_switched_off_and_on_from_the_page(stream: FrameStream, supervisor: Supervisor) -> None:
    view = View(stream, [start_painter(supervisor)])
    view.more()
    view.send_to_kernel({"type": "enable", "tile": 0, "on": False})
    wait_until(lambda: "frames are off" in view.notices.get(0, ""))
    view.send_to_kernel({"type": "enable", "tile": 0, "on": True})
    view.more()
    wait_until(lambda: view.notices[0] == "")
    view.end()


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ({"type": "snapshot", "tile": 0}, "No frame of run"),
        ({"type": "snapshot", "tile": 1}, "no tile 1"),
        ({"type": "record", "tile": 0, "seconds": 5, "format": "gif"}, "Nothing of run"),
        ({"type": "record", "tile": 0, "seconds": 5, "format": "avi"}, "gif or an mp4, not 'avi'"),
        ({"type": "record", "tile": 0, "seconds": "x", "format": "gif"}, "not 'x'"),
        ({"type": "enable", "tile": 0, "on": True}, "cannot be turned on"),
        ({"type": "dance", "tile": 0}, "'dance'"),
        ({}, "no tile None"),
    ],
)
def test_a_request_that_cannot_be_met_is_answered_with_the_reason(
    stream: FrameStream, supervisor: Supervisor, message: dict[str, Any], answer: str
) -> None:
    view = View(stream, [start_peer(supervisor, "silent")])
    view.send_to_kernel(message)
    assert answer in view.failure()
    view.end()


@pytest.mark.parametrize(
    ("opened", "answer"),
    [
        ({"version": 2, "tiles": [{"run": "/a"}]}, "reload the page"),
        ({"version": 1, "tiles": []}, "1 to 256 tiles"),
        ({"version": 1, "tiles": [{"run": "a"}]}, "absolute path, not 'a'"),
        ({"version": 1, "tiles": [{"run": "/a\0b"}]}, "absolute path, not '/a\\x00b'"),
        ({"version": 1, "tiles": [5]}, "absolute path, not None"),
        ({}, "version None"),
    ],
)
def test_a_view_that_makes_no_sense_is_refused_and_closed(
    stream: FrameStream, opened: dict[str, Any], answer: str
) -> None:
    view = View(stream, [])
    assert "1 to 256 tiles" in view.failure() and view.closed.is_set()
    view.closed.clear()
    stream.open(view, {"content": {"data": opened}})
    assert answer in view.failure() and view.closed.is_set()


def test_a_view_that_the_page_closes_gets_no_more_frames(stream: FrameStream, supervisor: Supervisor) -> None:
    run = at_work(start_painter(supervisor))
    view = View(stream, [run])
    view.more()
    view.send_to_kernel({"type": "close"})
    assert view.closed.wait(10)
    wait_until(lambda: stream.feed(run.path) is None)
