"""Views of frames on pages (`Viewer`), and the frames of each run that they share (`FrameFeed`).

A run's frames are read once, encoded once and recorded once for all views in this process. A `Viewer` is the
kernel's end of one view's comm. Its `post` may be called from any thread and only queues a message. A feed's
recorder, newest frame and notice of the writer may be read from any thread. Everything else runs on the
stream's thread, so no lock is needed and no message of a page has to wait.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comm.base_comm import BaseComm

from mosaic_lab.fastlane import Encoding, FrameSource, Notice, Packet, Recorder
from mosaic_lab.fastlane.encoding import SMALL_BYTES, Content, encode
from mosaic_lab.widgets.frames.flow_control import Bandwidth, Credit

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

JUDGE_SECONDS = 1.0
SHORTEST_POLL, LONGEST_POLL, ENDED_POLL = 0.002, 0.1, 1.0
"""Limits on the seconds between two polls for a new frame, which are a tenth of the time since the last one.
"""
RECORD_SECONDS = 1 / 15
"""Interval between two frames that are encoded only for the recording."""
VERSION = 1
"""Version of the protocol between a view on a page and its `Viewer`."""
SILENT_SECONDS = 60.0
"""A page that has been silent for this long is gone or asleep. Nothing is sent until its next message."""
MAX_TILES = 256
MAX_FPS = 60.0
MAX_BYTES = 8 << 20
"""Limit on the bytes of frames in one message before its last frame; the remaining frames come first in the
next one."""
MAX_POSTED = 256
NOTHING = Notice("info", "")
GATHER_SECONDS = 0.004
"""Seconds that frames wait for those of other runs that recently had frames, as long as more arrive, because
lanes step together."""
EARLY_FRACTION = 0.1
"""Fraction of the interval by which the next poll is advanced if the last frame was already old."""


class FrameFeed:
    """The frames of the run in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recorder = Recorder()
        self.frame: Frame | None = None
        self.number = 0
        """The number of frames seen so far."""
        self.poll_at = 0.0
        self._watching = False
        self._news_at = 0.0
        self._judged_at = 0.0
        self._recorded_at = 0.0
        self._content: Content | None = None
        self._packets: dict[Encoding, Packet] = {}

    @cached_property
    def source(self) -> FrameSource:
        """The source, created at first use on the stream's thread because it reads files."""
        return FrameSource(self.folder)

    @property
    def writer_notice(self) -> str:
        """The writer's notice about its frames; may be read from any thread."""
        source: FrameSource | None = vars(self).get("source")
        return source.writer_notice if source else ""

    def poll(self, now: float, fps: float) -> None:
        """Look for a new frame, and request ``fps`` frames per second from the writer."""
        self.poll_at = now + ENDED_POLL  # unless this succeeds
        source = self.source
        self._watching = True
        frame = source.poll(fps)
        if frame is None and source.finished and source.last is not self.frame:
            frame = source.last  # read by another reader
        if frame is not None:
            self.frame, self._news_at = frame, now
            self.number += 1
            self._packets = {}
        longest = ENDED_POLL if source.finished else LONGEST_POLL
        self.poll_at = _aligned(now, min(longest, max(SHORTEST_POLL, 0.1 * (now - self._news_at))))

    def pause(self) -> None:
        """Stop requesting frames: no view shows the run."""
        if self._watching:
            self._watching = False
            self.poll_at = self._news_at = 0.0
            self.source.pause()

    def packet(self, now: float, low_bandwidth: bool) -> Packet:
        """Return the newest frame, reduced for a page with low bandwidth. Requires at least one frame."""
        frame = self.frame
        assert frame is not None
        content = self._content
        if content is None or content.shape != frame.shape or now - self._judged_at >= JUDGE_SECONDS:
            content = self._content = Content(frame)
            self._judged_at = now
        first = not self._packets
        packet = self._encoded(content.encoding(low_bandwidth))
        if first:
            self._record(now, packet)
        return packet

    def close(self) -> None:
        if "source" in vars(self):  # if it was created
            self.source.close()

    def _encoded(self, encoding: Encoding) -> Packet:
        packet = self._packets.get(encoding)
        if packet is None:
            assert self.frame is not None
            packet = self._packets[encoding] = encode(self.frame, encoding)
        return packet

    def _record(self, now: float, packet: Packet) -> None:
        if packet.encoding == "raw" and len(packet.data) > SMALL_BYTES:
            if now - self._recorded_at < RECORD_SECONDS:
                return
            self._recorded_at = now
            packet = self._encoded("jpeg")
        self.recorder.add(packet)


def _aligned(now: float, wait: float) -> float:
    """Return a time about ``wait`` seconds from now, rounded so that one wake-up of the thread serves many
    runs."""
    step = 2.0 ** math.floor(math.log2(wait))
    return step * round(now / step + wait / step)


class ViewerTile:
    """One run in a view, and the frames sent to the page."""

    def __init__(self, index: int, feed: FrameFeed) -> None:
        self.index = index
        self.feed = feed
        self.frame: Frame | None = None
        """The newest frame sent to the page."""
        self.number = 0
        self.sent_at = -math.inf
        self.notice = NOTHING


class Viewer:
    """One view. ``opened`` is the message that opened the comm. Raises ValueError if it is invalid."""

    def __init__(
        self, comm: BaseComm, opened: Mapping[str, Any], feed_of: Callable[[Path], FrameFeed], now: float
    ) -> None:
        if opened.get("version") != VERSION:
            raise ValueError(
                f"the page speaks version {opened.get('version')!r} of the frames' protocol, this kernel "
                f"{VERSION}: reload the page, or restart the kernel"
            )
        self.comm = comm
        self.tiles = [ViewerTile(i, feed_of(path)) for i, path in enumerate(_paths(opened.get("tiles")))]
        self.heard_at = now
        self.waiting = False
        """Whether a frame is due once the page has acknowledged more."""
        self.failed_at = -math.inf
        """When this view last failed."""
        self._visible: list[int] = []
        self._paused = False
        self._due_at = now
        self._gathered = 0  # frames that wait for more
        self._gathering_since = self._gather_until = -math.inf
        self._posted: deque[tuple[float, Mapping[str, Any]]] = deque(maxlen=MAX_POSTED)
        self._credit = Credit(now, 1 / MAX_FPS)
        self._bandwidth = Bandwidth(now)
        self._update_view(opened)

    # ------------------------------------------------------------------ messages of the page

    def post(self, data: Mapping[str, Any], now: float) -> None:
        """Queue a message of the page for the stream.

        Acknowledgements may fill at most half of the queue: a lost one is requested again.
        """
        if data.get("type") != "ack" or len(self._posted) < MAX_POSTED // 2:
            self._posted.append((now, data))

    @property
    def posted(self) -> bool:
        """Whether a message is queued."""
        return bool(self._posted)

    def take_messages(self) -> list[Mapping[str, Any]]:
        """Process queued messages; return the ones left for the stream."""
        requests = []
        while self._posted:
            posted_at, data = self._posted.popleft()
            if posted_at - self.heard_at > SILENT_SECONDS:
                self._wake(posted_at)
            self.heard_at = posted_at
            kind = data.get("type")
            if kind == "ack":
                self._credit.acknowledge(_integer(data.get("id")), posted_at)
            elif kind == "look":
                self._update_view(data)
            elif kind == "beat":
                self.send({"type": "pong"})
            else:
                requests.append(data)
        return requests

    def tile(self, index: object) -> ViewerTile:
        """Return a tile by its number. Raises ValueError if there is no such tile."""
        if not isinstance(index, int) or not 0 <= index < len(self.tiles):
            raise ValueError(f"there is no tile {index!r}: this view has {len(self.tiles)}")
        return self.tiles[index]

    def visible_tiles(self, now: float) -> list[ViewerTile]:
        """Return the tiles in view."""
        if now - self.heard_at > SILENT_SECONDS:
            return []
        return [self.tiles[index] for index in self._visible]

    def active_tiles(self, now: float) -> list[ViewerTile]:
        """Return the tiles that need new frames; none while the viewer has paused."""
        return [] if self._paused else self.visible_tiles(now)

    @property
    def fps(self) -> float:
        return 1 / self._interval

    def _update_view(self, data: Mapping[str, Any]) -> None:
        visible = data.get("visible")
        indices = visible if isinstance(visible, list) else []
        self._visible = [i for i in dict.fromkeys(indices) if isinstance(i, int) and 0 <= i < len(self.tiles)]
        self._paused = data.get("paused") is True
        fps = data.get("fps")
        requested_fps = float(fps) if isinstance(fps, int | float) and fps > 0 else 30.0
        self._interval = self._credit.interval = 1 / min(MAX_FPS, max(0.1, requested_fps))
        self._due_at = self.heard_at

    def _wake(self, now: float) -> None:
        self._credit.restart(now)
        for tile in self.tiles:
            tile.number, tile.notice = 0, NOTHING

    # ------------------------------------------------------------------ frames for the page

    def send(self, data: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        self.comm.send(data, buffers=buffers)

    def fail(self, text: str) -> None:
        self.send({"type": "failed", "text": text})

    def due_at(self, now: float) -> float:
        """Return when a frame may be sent, unless the page acknowledges more before then."""
        self.waiting = not self._credit.may_send(now)
        if not self.waiting:
            return max(self._due_at, self._gather_until)
        if now >= self._due_at:
            self._bandwidth.delay(now)
        return max(self._due_at, self._credit.probe_at())

    @property
    def gathering(self) -> bool:
        """Whether frames wait for those of other runs."""
        return self._gathered > 0

    def show(self, now: float, shortest: float) -> None:
        """Send the newest frames that the page has not seen, unless more are arriving right now. The next are
        sent after ``shortest`` seconds at the earliest."""
        active = self.active_tiles(now)
        news = [tile for tile in active if tile.feed.frame and tile.feed.number != tile.number]
        recent = now - 2 * max(self._interval, shortest)
        moving = [tile for tile in active if tile in news or tile.sent_at > recent]
        if self._gathered < len(news) < len(moving):
            if not self._gathered:
                self._gathering_since = now
            self._gathered, self._gather_until = len(news), now + GATHER_SECONDS
            return
        began = self._gathering_since if self._gathered else now
        self._gathered = 0
        if not news:
            return
        self._bandwidth.judge(now)
        previous_due, self._due_at = self._due_at, now + self._interval
        entries: list[dict[str, Any]] = []
        buffers: list[bytes] = []
        size = 0
        for tile in sorted(news, key=lambda tile: tile.sent_at):
            if size > MAX_BYTES:
                break
            tile.frame, tile.number, tile.sent_at = tile.feed.frame, tile.feed.number, now
            packet = tile.feed.packet(now, self._bandwidth.low)
            size += len(packet.data)
            entries.append({"tile": tile.index, **_packet_fields(packet)})
            buffers.append(packet.data)
        ticket = self._credit.send(now, size)
        self._bandwidth.send(size, now)
        age = time.time() - max(entry["published"] for entry in entries)
        interval = max(self._interval, shortest) if len(entries) == len(news) else shortest
        self._due_at = _next_due(previous_due, began, interval, age)
        self.send(
            {"type": "frames", "id": ticket.number, "ack": ticket.requests_ack, "tiles": entries}, buffers
        )

    def notify(self, now: float) -> None:
        """Send changes of the visible runs, except frames."""
        notices: list[dict[str, Any]] = []
        for tile in self.visible_tiles(now):
            notice = tile.feed.source.notice or NOTHING
            if notice != tile.notice:
                tile.notice = notice
                notices.append({"tile": tile.index, **notice._asdict()})
        if notices:
            self.send({"type": "notices", "notices": notices})


def _next_due(previous_due: float, now: float, interval: float, age: float) -> float:
    """Return when the next frame is due.

    Frames are never sent more often than requested on average. A worker that makes frames at exactly the
    requested rate has its own phase; polling shortly after each new frame keeps latency low, so the next poll
    is slightly earlier while the last frame was old.
    """
    leeway = EARLY_FRACTION * interval
    return max(previous_due, now - leeway) + interval - min(max(age, 0.0), leeway)


def _packet_fields(packet: Packet) -> dict[str, Any]:
    hud = packet.hud._asdict()
    return {
        "sequence": packet.sequence,
        "width": packet.width,
        "height": packet.height,
        "channels": packet.channels,
        "encoding": packet.encoding,
        "published": packet.published,
        "hud": {name: _plain(value) for name, value in hud.items() if value not in (None, "")},
    }


def _plain(value: object) -> object:
    """Return numbers that JSON cannot represent as text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


def _paths(tiles: object) -> list[Path]:
    if not isinstance(tiles, list) or not 0 < len(tiles) <= MAX_TILES:
        raise ValueError(f"a view has 1 to {MAX_TILES} tiles, not {tiles!r:.200}")
    return [_path(tile) for tile in tiles]


def _path(tile: object) -> Path:
    run = tile.get("run") if isinstance(tile, Mapping) else None
    if not isinstance(run, str) or not Path(run).is_absolute() or "\0" in run:
        raise ValueError(f"a tile names the folder of a run by its absolute path, not {run!r:.200}")
    return Path(run)
