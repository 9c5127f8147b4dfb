"""Streams frames from the rings of runs to the views of pages, with one thread for all of them.

The thread sleeps while no view is visible. Files that a page requests (a frame as a PNG, the last seconds as
a GIF or an MP4) can take many seconds to encode, which is done in separate threads, a few at a time.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from comm.base_comm import BaseComm

from mosaic_lab.errors import MosaicError
from mosaic_lab.fastlane import pictures
from mosaic_lab.fastlane.encoding import RECORDED_BYTES
from mosaic_lab.fastlane.source import pixels_of
from mosaic_lab.sanitize import file_name
from mosaic_lab.widgets.frames.viewer import FrameFeed, Viewer, ViewerTile
from mosaic_lab.widgets.page.kernel import on_message, publish_no_status, stay_on_subshell

NOTICE_SECONDS = 1.0
CALM_SECONDS = 30.0
"""Seconds without a failure of a view after which its next one is reported."""
SHORTEST_WAIT = 0.001
MAX_SENDS = 300
"""Maximum number of frame messages per second over all views: the server drops messages beyond 1,000 per
second."""
MAX_VIEWERS = 64
"""Maximum number of views kept, most of which belong to closed pages; those silent longest are dropped
first."""
MAX_RECORDED_BYTES = 256 << 20
"""Maximum size of all recordings together."""

logger = logging.getLogger(__name__)
MAX_CONCURRENT_FILES = 4
MAX_BYTES = 64 << 20
"""Maximum size of a file sent to a page."""
MAX_SECONDS = 3600.0


class FrameStream:
    """Streams frames to all views. `frame_stream` returns the process's instance."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._viewers: list[Viewer] = []
        self._feeds: dict[Path, FrameFeed] = {}
        self._lock = threading.Lock()  # guards the two above: pages connect and leave on other threads
        self._news = threading.Event()
        self._thread: threading.Thread | None = None
        self._notices_at = 0.0
        self._viewers_changed = False
        self._idle = True

    def open(self, channel: BaseComm, message: Mapping[str, Any]) -> None:
        """Serve a view opened by a page. If it is invalid, send it the reason and close it."""
        try:
            with self._lock:
                viewer = Viewer(channel, message["content"]["data"], self._feed_of, self._clock())
                self._listen(viewer)
                self._viewers.append(viewer)
                self._viewers_changed = True
                by_silence = sorted(self._viewers, key=lambda viewer: viewer.heard_at)
                forgotten = by_silence[: max(0, len(by_silence) - MAX_VIEWERS)]
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="mosaic-frames", daemon=True)
                    self._thread.start()
        except ValueError as error:
            channel.send({"type": "failed", "text": f"Frames cannot be shown: {error}"})
            channel.close()
            return
        for old in forgotten:
            self.close(old)
            with suppress(Exception):  # the page may be closing it
                old.comm.close()
        self._news.set()

    def close(self, viewer: Viewer) -> None:
        """Remove a view."""
        with self._lock:
            if viewer in self._viewers:
                self._viewers.remove(viewer)
                self._viewers_changed = True
        self._news.set()

    def feed(self, folder: Path) -> FrameFeed | None:
        """Return the feed of a run; None if no view shows it."""
        with self._lock:
            return self._feeds.get(folder)

    # ------------------------------------------------------------------ other threads

    def _listen(self, viewer: Viewer) -> None:
        on_message(viewer.comm, partial(self._post, viewer))
        viewer.comm.on_close(lambda message: self.close(viewer))
        stay_on_subshell(viewer.comm)
        publish_no_status(viewer.comm)

    def _post(self, viewer: Viewer, message: Mapping[str, Any]) -> None:
        data = message["content"]["data"]
        viewer.post(data, self._clock())
        if data.get("type") != "ack" or viewer.waiting or self._idle:
            self._news.set()

    def _feed_of(self, folder: Path) -> FrameFeed:
        if folder not in self._feeds:
            self._feeds[folder] = FrameFeed(folder)
        return self._feeds[folder]

    # ------------------------------------------------------------------ the stream's thread

    def _run(self) -> None:
        failed = False
        while True:
            self._news.clear()
            try:
                wait = self._turn(self._clock())
                failed = False
            except Exception:
                if not failed:
                    logger.exception("The stream of frames failed once; it continues.")
                failed, wait = True, NOTICE_SECONDS
            self._news.wait(wait)

    def _turn(self, now: float) -> float | None:
        """Do the work that is due; return the seconds until more is due, None while no view is visible."""
        with self._lock:
            viewers = list(self._viewers)
        self._close_unused()
        for viewer in viewers:
            self._guard(viewer, partial(self._handle, viewer))
        rates = self._request_rates(viewers, now)
        visible = [viewer for viewer in viewers if viewer.visible_tiles(now)]
        if visible and now >= self._notices_at:
            self._notices_at = now + NOTICE_SECONDS
            for viewer in visible:
                self._guard(viewer, partial(viewer.notify, now))
        for viewer in visible:
            self._serve(viewer, rates, len(visible) / MAX_SENDS, now)
        self._idle = not visible
        later = min((self._notices_at, *(self._due_at(viewer, now) for viewer in visible)))
        # Checked last: an acknowledgement wakes this thread only if ``waiting`` is set.
        if any(viewer.posted and (viewer.waiting or self._idle) for viewer in viewers):
            return 0.0
        return None if self._idle else max(SHORTEST_WAIT, later - self._clock())

    def _handle(self, viewer: Viewer) -> None:
        for data in viewer.take_messages():
            try:
                self._answer(viewer, data)
            except (MosaicError, ValueError) as error:
                viewer.fail(str(error))

    def _answer(self, viewer: Viewer, data: Mapping[str, Any]) -> None:
        kind = data.get("type")
        if kind == "close":
            self.close(viewer)
            viewer.comm.close()
            return
        tile = viewer.tile(data.get("tile"))
        if kind == "snapshot":
            deliver(viewer, snapshot(tile))
        elif kind == "record":
            deliver(viewer, film(tile.feed, data.get("seconds"), data.get("format")))
        elif kind == "enable":
            tile.feed.source.enable(data.get("on") is True)
        else:
            raise ValueError(f"the page sent a message of an unknown type: {kind!r}")

    def _request_rates(self, viewers: list[Viewer], now: float) -> dict[FrameFeed, float]:
        """Return the requested frame rate of each feed; put the other feeds to rest."""
        rates: dict[FrameFeed, float] = {}
        for viewer in viewers:
            for tile in viewer.active_tiles(now):
                rates[tile.feed] = max(viewer.fps, rates.get(tile.feed, 0.0))
        for viewer in viewers:
            for tile in viewer.tiles:
                if tile.feed not in rates:
                    tile.feed.pause()
        return rates

    def _close_unused(self) -> None:
        """Close the feeds of runs that no view shows."""
        if not self._viewers_changed:
            return
        with self._lock:
            self._viewers_changed = False
            shown_folders = {tile.feed.folder for viewer in self._viewers for tile in viewer.tiles}
            unused = [self._feeds.pop(folder) for folder in self._feeds.keys() - shown_folders]
            for feed in self._feeds.values():
                feed.recorder.limit_bytes = min(RECORDED_BYTES, MAX_RECORDED_BYTES // len(self._feeds))
        for feed in unused:
            feed.close()

    def _serve(self, viewer: Viewer, rates: Mapping[FrameFeed, float], shortest: float, now: float) -> None:
        if viewer.due_at(now) > now:
            return
        for tile in viewer.active_tiles(now):
            if tile.feed.poll_at <= now:
                self._guard(viewer, partial(tile.feed.poll, now, rates[tile.feed]))
        self._guard(viewer, partial(viewer.show, now, shortest))

    def _due_at(self, viewer: Viewer, now: float) -> float:
        """Return when work is due for a view."""
        polls = [tile.feed.poll_at for tile in viewer.active_tiles(now)]
        send_at = viewer.due_at(now)
        return send_at if viewer.gathering else max(send_at, min(polls, default=math.inf))

    def _guard(self, viewer: Viewer, action: Callable[[], None]) -> None:
        """Call ``action``; send a failure to its view, once while it persists. The stream continues."""
        try:
            action()
        except Exception as error:
            now = self._clock()
            calm, viewer.failed_at = now - viewer.failed_at, now
            if calm >= CALM_SECONDS:
                logger.exception("Frames could not be shown in one of the views; trying again.")
                with suppress(Exception):
                    viewer.fail(f"Frames cannot be shown: {type(error).__name__}: {error}")


_stream = FrameStream()


def frame_stream() -> FrameStream:
    """Return the frame stream of this process."""
    return _stream


_file_slots = threading.BoundedSemaphore(MAX_CONCURRENT_FILES)


class File(NamedTuple):
    """A file for the page to save."""

    name: str
    mime: str
    data: bytes


def snapshot(tile: ViewerTile) -> Callable[[], File]:
    """Return a function that makes a PNG of a tile's frame at full size. Raises MosaicError if there is no
    frame."""
    frame, run = tile.frame, tile.feed.folder.name
    if frame is None:
        raise MosaicError(f"No frame of run {run} was shown here yet.")
    name = file_name([run, f"frame-{frame.sequence}"], "png")
    return lambda: File(name, "image/png", pictures.png(pixels_of(frame)))


def film(feed: FrameFeed, seconds: object, form: object) -> Callable[[], File]:
    """Return a function that makes a film of the last ``seconds`` shown. Raises MosaicError if nothing was
    shown."""
    if form not in ("gif", "mp4"):
        raise MosaicError(f"A recording must be a gif or an mp4, not {form!r}.")
    if not isinstance(seconds, int | float) or not 0 < seconds <= MAX_SECONDS:
        raise MosaicError(f"A recording can have up to {MAX_SECONDS:.0f} seconds, not {seconds!r}.")
    packets = feed.recorder.last(seconds)
    if not packets:
        raise MosaicError(f"Nothing of run {feed.folder.name} was shown yet, so there is nothing to record.")
    name = file_name([feed.folder.name, f"frame-{packets[-1].sequence}"], form)
    mime, make = ("image/gif", pictures.gif) if form == "gif" else ("video/mp4", pictures.mp4)
    return lambda: File(name, mime, _bounded(make(packets)))


def deliver(viewer: Viewer, make: Callable[[], File]) -> None:
    """Make a file in a thread, and send it to the view. Raises MosaicError if too many are being made."""
    if not _file_slots.acquire(blocking=False):
        raise MosaicError(f"{MAX_CONCURRENT_FILES} files are already being made; try again when one is done.")
    threading.Thread(target=_deliver, args=(viewer, make), name="mosaic-frames-file", daemon=True).start()


def _deliver(viewer: Viewer, make: Callable[[], File]) -> None:
    try:
        file = make()
        viewer.send({"type": "file", "name": file.name, "mime": file.mime}, [file.data])
    except Exception as error:
        if not isinstance(error, MosaicError):
            logger.exception("A file of frames could not be made.")
        with suppress(Exception):  # the page may be closed
            viewer.fail(str(error) or type(error).__name__)
    finally:
        _file_slots.release()


def _bounded(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise MosaicError(
            f"The recording has {len(data) >> 20} MiB; a page can receive {MAX_BYTES >> 20}: "
            "record fewer seconds, or in a cell: wall.record(path, seconds)."
        )
    return data
