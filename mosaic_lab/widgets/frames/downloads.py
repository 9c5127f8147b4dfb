"""Files requested by a page: a frame as a PNG, the last seconds as a GIF or an MP4.

Encoding takes up to many seconds. It runs in its own threads, a few at a time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from mosaic_lab.errors import MosaicError
from mosaic_lab.fastlane import pictures
from mosaic_lab.fastlane.source import pixels_of
from mosaic_lab.sanitize import file_name
from mosaic_lab.widgets.frames.frame_feed import FrameFeed
from mosaic_lab.widgets.frames.viewer import Viewer, ViewerTile

MOST_AT_ONCE = 4
MOST_BYTES = 64 << 20
"""Maximum size of a file sent to a page."""
MOST_SECONDS = 3600.0

logger = logging.getLogger(__name__)
_free = threading.BoundedSemaphore(MOST_AT_ONCE)


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
    if not isinstance(seconds, int | float) or not 0 < seconds <= MOST_SECONDS:
        raise MosaicError(f"A recording can have up to {MOST_SECONDS:.0f} seconds, not {seconds!r}.")
    packets = feed.recorder.last(seconds)
    if not packets:
        raise MosaicError(f"Nothing of run {feed.folder.name} was shown yet, so there is nothing to record.")
    name = file_name([feed.folder.name, f"frame-{packets[-1].sequence}"], form)
    mime, make = ("image/gif", pictures.gif) if form == "gif" else ("video/mp4", pictures.mp4)
    return lambda: File(name, mime, _bounded(make(packets)))


def deliver(viewer: Viewer, make: Callable[[], File]) -> None:
    """Make a file in a thread, and send it to the view. Raises MosaicError if too many are being made."""
    if not _free.acquire(blocking=False):
        raise MosaicError(f"{MOST_AT_ONCE} files are being made already; try again when one is done.")
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
        _free.release()


def _bounded(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise MosaicError(
            f"The recording has {len(data) >> 20} MiB; a page can receive {MOST_BYTES >> 20}: "
            "record fewer seconds, or in a cell: wall.record(path, seconds)."
        )
    return data
