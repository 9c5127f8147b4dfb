"""The kernel's end of frames, by what a page is sent: real runs, real rings, and a page that only counts."""

from __future__ import annotations

import json
import math
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from mosaic_contract.fastlane import Frame, FrameWriter, Hud
from pages import Page
from peers.painter import painted
from PIL import Image
from support import start_painter, start_peer, store, wait_until

from mosaic_lab.fastlane import FrameSource, Packet
from mosaic_lab.fastlane.encoding import MOST_PIXELS
from mosaic_lab.supervisor import Run, Supervisor
from mosaic_lab.widgets.frames import credit, viewer
from mosaic_lab.widgets.frames import stream as streams
from mosaic_lab.widgets.frames.feed import Feed
from mosaic_lab.widgets.frames.stream import MOST_VIEWERS, PEACE_SECONDS, Stream
from mosaic_lab.widgets.frames.viewer import SILENT_SECONDS


class Clock:
    """The real one, and whatever a test adds to it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


class View(Page):
    """Keeps what it is sent; ``broken`` makes the way to it fail."""

    def __init__(self, stream: Stream, runs: Sequence[Run], fps: float = 30.0) -> None:
        self.packets: list[tuple[int, Packet]] = []
        self.sizes: list[int] = []
        self.files: list[tuple[str, str, bytes]] = []
        self.failures: list[str] = []
        self.pongs = 0
        self.pings = 0
        self.broken = False
        self.closed = threading.Event()
        super().__init__(stream, runs, fps)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        if self.broken:
            raise OSError("the way is broken")
        json.dumps(data, allow_nan=False)
        super().publish_msg(msg_type, data, metadata, buffers, **keys)

    def close(self, *said: Any, **more: Any) -> None:
        """The kernel closes the comm."""
        self.closed.set()

    def more(self, count: int = 5) -> None:
        """So many more frames come."""
        wanted = len(self.packets) + count
        wait_until(lambda: len(self.packets) >= wanted)

    def file(self) -> tuple[str, str, bytes]:
        wait_until(lambda: self.files or self.failures)
        assert self.failures == []
        return self.files.pop()

    def failure(self) -> str:
        wait_until(lambda: self.failures)
        return self.failures.pop()

    def _on_frames(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.sizes.append(sum(map(len, buffers)))
        super()._on_frames(data, buffers)

    def _on_ping(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.pings += 1
        super()._on_ping(data, buffers)

    def _on_pong(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.pongs += 1

    def _on_file(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.files.append((data["name"], data["mime"], buffers[0]))

    def _on_failed(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.failures.append(data["text"])

    def _check(self, tile: int, packet: Packet) -> None:
        self.packets.append((tile, packet))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream(clock: Clock) -> Stream:
    return Stream(clock)


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with store(tmp_path / "runs") as supervisor:
        yield supervisor


@pytest.fixture
def writer(supervisor: Supervisor) -> Iterator[FrameWriter]:
    """Publishes what the test says, in the name of a run whose worker publishes nothing."""
    writer = FrameWriter(start_peer(supervisor, "silent").path)
    yield writer
    writer.close()


def run_of(supervisor: Supervisor) -> Run:
    [run] = supervisor.runs()
    return run


def shown(view: View, writer: FrameWriter, pixels: np.ndarray[Any, Any], hud: Hud = Hud()) -> Packet:  # noqa: B008
    """Publish a frame; what the page is sent of it."""
    before = len(view.packets)
    writer.publish(pixels, hud)
    wait_until(lambda: len(view.packets) > before)
    return view.packets[-1][1]


def noise(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).integers(0, 256, shape, np.uint8)


# ------------------------------------------------------------------ what is sent


@pytest.mark.parametrize("shape", [(1, 1, 1), (84, 84, 3), (50, 60, 4), (210, 160, 1)])
def test_small_frames_arrive_as_they_are(
    stream: Stream, supervisor: Supervisor, writer: FrameWriter, shape: tuple[int, int, int]
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
    stream: Stream, supervisor: Supervisor, writer: FrameWriter
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
    stream: Stream, supervisor: Supervisor
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
    stream: Stream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    view = View(stream, [run_of(supervisor)])
    for channels in (1, 3, 4):
        pixels = np.zeros((2160, 3840, channels), np.uint8)
        pixels[:, 1920:] = 200
        packet = shown(view, writer, pixels)
        assert (packet.height, packet.width, packet.channels) == (1080, 1920, channels)
        assert packet.height * packet.width <= MOST_PIXELS
        assert (packet.decode()[:, ::960] == [[[0], [200]]]).all()
    view.end()


def test_numbers_that_json_cannot_say_come_as_words(
    stream: Stream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    view = View(stream, [run_of(supervisor)])
    packet = shown(view, writer, noise(4, 4, 3), Hud(reward=math.nan, episode_return=-math.inf, step=0))
    assert packet.hud._asdict() == {**Hud(step=0)._asdict(), "reward": "nan", "episode_return": "-inf"}
    view.end()


def test_tiles_travel_together_up_to_a_size_and_none_is_left_out(
    stream: Stream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer, "MOST_BYTES", 2 * 84 * 84 * 3)
    view = View(stream, [start_painter(supervisor) for _ in range(4)])
    wait_until(lambda: all(sum(tile == i for tile, _ in view.packets) > 20 for i in range(4)))
    assert max(view.sizes) == 3 * 84 * 84 * 3
    view.end()


def test_two_views_of_a_run_share_each_packet(stream: Stream, supervisor: Supervisor) -> None:
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
    stream: Stream, supervisor: Supervisor
) -> None:
    view = View(stream, [start_painter(supervisor, rate=1000, free=True)], fps=10)
    view.more(40)
    steps = [packet.published for _, packet in view.packets]
    assert (len(steps) - 1) / (steps[-1] - steps[0]) < 11.5
    view.end()


def test_many_views_share_what_the_server_lets_through(
    stream: Stream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_SENDS", 20)
    run = start_painter(supervisor)
    views = [View(stream, [run]) for _ in range(4)]
    for view in views:
        view.more(2)
    began, before = time.monotonic(), sum(view.messages for view in views)
    for view in views:
        view.more(15)
    sent = sum(view.messages for view in views) - before
    assert sent / (time.monotonic() - began) < 1.15 * 20
    for view in views:
        view.end()


def test_recordings_of_all_runs_together_are_bounded(
    stream: Stream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_RECORDED_BYTES", 10 * 84 * 84 * 3)
    runs = [start_painter(supervisor) for _ in range(2)]
    view = View(stream, runs)
    wait_until(lambda: all(sum(tile == i for tile, _ in view.packets) > 10 for i in range(2)))
    assert [len(stream.recorded(run.path, 60)) for run in runs] == [4, 4]
    view.end()


def test_pictures_are_recorded_small(stream: Stream, supervisor: Supervisor) -> None:
    run = start_painter(supervisor, sizes=[[210, 160, 3]], pattern="noise")
    view = View(stream, [run])
    view.more(20)
    recorded = stream.recorded(run.path, 60)
    assert {packet.encoding for packet in recorded} == {"jpeg"}
    assert recorded[-1].published - recorded[0].published > 0.9 * (len(recorded) - 1) / 15
    view.end()


# ------------------------------------------------------------------ who looks


def test_frames_are_made_only_while_somebody_looks(
    stream: Stream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    view = View(stream, [run_of(supervisor)])
    wait_until(writer.due)
    view.look([])
    wait_until(lambda: not writer.due())
    view.look([0])
    wait_until(writer.due)
    view.tell({"type": "look", "visible": [0], "fps": 30, "paused": True})
    wait_until(lambda: not writer.due())
    view.look([0])
    wait_until(writer.due)
    view.end()
    wait_until(lambda: not writer.due())


def test_what_was_missed_while_hidden_is_shown_at_once(
    stream: Stream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    view = View(stream, [run_of(supervisor)])
    shown(view, writer, noise(4, 4, 3), Hud(step=1))
    view.look([])
    writer.publish(noise(4, 4, 3), Hud(step=2))
    view.look([0])
    wait_until(lambda: view.packets[-1][1].hud.step == 2)
    view.end()


def test_a_second_view_starts_with_the_frame_that_is_there(
    stream: Stream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    first = View(stream, [run_of(supervisor)])
    shown(first, writer, noise(4, 4, 3), Hud(step=1))
    second = View(stream, [run_of(supervisor)])
    second.more(1)
    assert second.packets[0][1].hud.step == 1
    first.end()
    second.end()


def test_a_page_that_fell_silent_is_sent_nothing_until_it_speaks_again(
    stream: Stream, supervisor: Supervisor, clock: Clock
) -> None:
    view = View(stream, [start_painter(supervisor)])
    view.more()
    clock.ahead += SILENT_SECONDS + 1
    pongs = view.pongs
    view.tell({"type": "beat"})
    wait_until(lambda: view.pongs > pongs)
    view.more(20)
    view.end()


def test_the_worker_of_a_silent_page_renders_no_more(
    stream: Stream, supervisor: Supervisor, writer: FrameWriter, clock: Clock
) -> None:
    view = View(stream, [run_of(supervisor)])
    wait_until(writer.due)
    clock.ahead += SILENT_SECONDS + 1
    wait_until(lambda: not writer.due())
    view.end()


def test_lost_acknowledgements_are_asked_for(stream: Stream, supervisor: Supervisor, clock: Clock) -> None:
    view = View(stream, [start_painter(supervisor)])
    view.more()
    view.acknowledges = False
    wait_until(lambda: view.pings)
    in_flight = view.messages
    clock.ahead += 5
    wait_until(lambda: view.pings >= 2)
    assert view.messages == in_flight
    view.acknowledges = True
    clock.ahead += 20
    view.more(20)
    view.end()


def test_an_acknowledgement_that_comes_while_the_window_is_being_filled_is_not_missed(
    stream: Stream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "NOTICE_SECONDS", math.inf)  # so that nothing else wakes the stream
    monkeypatch.setattr(credit, "PATIENCE", math.inf)

    class QuickView(View):
        """Acknowledges the first message only, and that while the second is on its way out."""

        def publish_msg(self, msg_type: str, data: Any = None, *said: Any, **more: Any) -> None:
            super().publish_msg(msg_type, data, *said, **more)
            if data["type"] == "frames" and data["id"] == 2:
                super().tell({"type": "ack", "id": 1})

        def tell(self, data: dict[str, Any]) -> None:
            if data["type"] != "ack":
                super().tell(data)

    view = QuickView(stream, [start_painter(supervisor)], fps=60)
    wait_until(lambda: view.messages >= 3)
    view.end()


def test_what_a_page_asks_for_is_not_lost_among_acknowledgements(
    stream: Stream, supervisor: Supervisor
) -> None:
    busy, free = threading.Event(), threading.Event()

    class SlowView(View):
        def publish_msg(self, *said: Any, **more: Any) -> None:
            super().publish_msg(*said, **more)
            busy.set()
            free.wait(30)

    view = SlowView(stream, [start_painter(supervisor)])
    assert busy.wait(30)
    view.tell({"type": "record", "tile": 0, "seconds": 5, "format": "avi"})
    for _ in range(1000):
        view.tell({"type": "ack", "id": 0})
    free.set()
    assert "not 'avi'" in view.failure()
    view.end()


def test_views_of_pages_that_are_gone_give_way(stream: Stream, supervisor: Supervisor) -> None:
    run = start_painter(supervisor)
    views = [View(stream, [run]) for _ in range(MOST_VIEWERS + 1)]
    wait_until(lambda: sum(view.closed.is_set() for view in views) == 1)
    views[-1].more()
    for view in views:
        view.end()


# ------------------------------------------------------------------ what the page asks for


def test_a_snapshot_is_the_frame_bit_for_bit(
    stream: Stream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    run = run_of(supervisor)
    view = View(stream, [run])
    pixels = noise(1500, 1600, 3)
    packet = shown(view, writer, pixels)
    assert packet.width < 1600
    view.tell({"type": "snapshot", "tile": 0})
    name, mime, data = view.file()
    assert (name, mime) == (f"{run.id}_frame-{packet.sequence}.png", "image/png")
    assert (np.asarray(Image.open(BytesIO(data))) == pixels).all()
    view.end()


def test_a_snapshot_of_a_paused_view_is_the_frame_that_it_shows(
    stream: Stream, supervisor: Supervisor, writer: FrameWriter
) -> None:
    run = run_of(supervisor)
    paused, going = View(stream, [run]), View(stream, [run])
    pixels = noise(8, 8, 3)
    packet = shown(paused, writer, pixels)
    paused.tell({"type": "look", "visible": [0], "fps": 30, "paused": True})
    pongs = paused.pongs
    paused.tell({"type": "beat"})
    wait_until(lambda: paused.pongs > pongs)
    shown(going, writer, 255 - pixels)
    paused.tell({"type": "snapshot", "tile": 0})
    name, _, data = paused.file()
    assert name == f"{run.id}_frame-{packet.sequence}.png"
    assert (np.asarray(Image.open(BytesIO(data))) == pixels).all()
    paused.end()
    going.end()


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_the_last_seconds_are_recorded(stream: Stream, supervisor: Supervisor, kind: str) -> None:
    view = View(stream, [start_painter(supervisor, sizes=[[64, 64, 3]])])
    view.more(40)
    view.tell({"type": "record", "tile": 0, "seconds": 1, "format": kind})
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


def test_frames_are_switched_off_and_on_from_the_page(stream: Stream, supervisor: Supervisor) -> None:
    view = View(stream, [start_painter(supervisor)])
    view.more()
    view.tell({"type": "enable", "tile": 0, "on": False})
    wait_until(lambda: "frames are off" in view.notices.get(0, ""))
    view.tell({"type": "enable", "tile": 0, "on": True})
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
def test_what_cannot_be_done_is_said(
    stream: Stream, supervisor: Supervisor, message: dict[str, Any], answer: str
) -> None:
    view = View(stream, [start_peer(supervisor, "silent")])
    view.tell(message)
    assert answer in view.failure()
    view.end()


@pytest.mark.parametrize(
    ("opened", "answer"),
    [
        ({"version": 2, "tiles": [{"run": "/a"}]}, "reload the page"),
        ({"version": 1, "tiles": []}, "1 to 256 tiles"),
        ({"version": 1, "tiles": [{"run": "a"}]}, "whole path, not 'a'"),
        ({"version": 1, "tiles": [{"run": "/a\0b"}]}, "whole path, not '/a\\x00b'"),
        ({"version": 1, "tiles": [5]}, "whole path, not None"),
        ({}, "version None"),
    ],
)
def test_a_view_that_makes_no_sense_is_told_so_and_closed(
    stream: Stream, opened: dict[str, Any], answer: str
) -> None:
    view = View(stream, [])
    assert "1 to 256 tiles" in view.failure() and view.closed.is_set()
    view.closed.clear()
    stream.open(view, {"content": {"data": opened}})
    assert answer in view.failure() and view.closed.is_set()


# ------------------------------------------------------------------ ends and accidents


def test_the_end_of_a_run_is_told_and_the_last_frame_stays(stream: Stream, supervisor: Supervisor) -> None:
    run = start_painter(supervisor)
    view = View(stream, [run])
    view.more()
    run.stop()
    wait_until(lambda: "the run was cancelled; the last frame seen here" in view.notices.get(0, ""))
    later = View(stream, [run])
    later.more(1)
    view.tell({"type": "snapshot", "tile": 0})
    assert view.file()[1] == "image/png"
    view.end()
    later.end()


def test_a_view_that_cannot_be_reached_does_not_hold_up_the_others(
    stream: Stream, supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    run = start_painter(supervisor)
    views = [View(stream, [run]) for _ in range(2)]
    for view in views:
        view.more()
    views[0].broken = True
    views[1].more(60)
    assert len([record for record in caplog.records if "tried again" in record.message]) == 1
    views[0].broken = False
    views[0].more()
    for view in views:
        view.end()


def test_what_goes_wrong_again_after_a_time_of_peace_is_told_again(
    stream: Stream, supervisor: Supervisor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, broken = Feed.poll, True

    def poll(self: Feed, now: float, fps: float) -> None:
        if broken:
            raise OSError("a bad moment")
        read(self, now, fps)

    monkeypatch.setattr(Feed, "poll", poll)
    view = View(stream, [start_painter(supervisor)])
    assert "a bad moment" in view.failure()
    broken = False
    view.more()
    clock.ahead += PEACE_SECONDS
    view.more()
    broken = True
    assert "a bad moment" in view.failure()
    view.end()


def test_a_run_that_can_never_be_read_ends_no_stream(
    stream: Stream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [start_painter(supervisor) for _ in range(2)]
    make = FrameSource.__init__

    def init(self: FrameSource, folder: Path) -> None:
        if folder == runs[0].path:
            raise PermissionError("not for you")
        make(self, folder)

    monkeypatch.setattr(FrameSource, "__init__", init)
    first, second = View(stream, runs[:1]), View(stream, runs[1:])
    assert "PermissionError: not for you" in first.failure()
    first.look([])
    second.more()
    first.end()
    second.more()
    second.end()


def test_the_stream_goes_on_after_what_nobody_foresaw(
    stream: Stream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def rest(self: Feed) -> None:
        raise RuntimeError("never seen before")

    monkeypatch.setattr(Feed, "rest", rest)
    view = View(stream, [start_painter(supervisor)])
    view.more()
    view.look([])
    wait_until(lambda: "it goes on" in caplog.text)
    view.look([0])
    view.more()
    view.end()


def test_a_run_that_cannot_be_read_does_not_hold_up_the_others(
    stream: Stream, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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


def test_a_run_whose_folder_is_gone_is_a_notice(stream: Stream, supervisor: Supervisor) -> None:
    run = start_painter(supervisor)
    run.stop()
    shutil.rmtree(run.path)
    view = View(stream, [run])
    wait_until(lambda: "the run is lost" in view.notices.get(0, ""))
    view.end()


def test_nothing_runs_while_nobody_looks(stream: Stream, supervisor: Supervisor) -> None:
    view = View(stream, [start_painter(supervisor)])
    view.more()
    view.end()
    thread = next(thread for thread in threading.enumerate() if thread.name == "mosaic-frames")
    assert thread.daemon
    cpu = time.process_time()
    time.sleep(1)
    assert time.process_time() - cpu < 0.2
