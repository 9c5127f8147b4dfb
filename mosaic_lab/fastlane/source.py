"""The frames of one run as seen by this process, or the reason why there are none.

A source is used by one thread. It leases frames from the worker at a rate (the lease expires two seconds
after the last `poll`), and reads the run's state at most once per second. A lost run is not final: its worker
may continue, as may a run with a temporarily unreadable state. Walls, snapshots and saved pictures share the
newest frame of each run, so that they agree.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from mosaic_contract.fastlane import Frame, FrameReader

from mosaic_lab.errors import MosaicError
from mosaic_lab.fastlane.encoding import Pixels
from mosaic_lab.keeper.processes import place
from mosaic_lab.keeper.run_store import RunFolder, is_run_id
from mosaic_lab.keeper.states import RunStatus, State
from mosaic_lab.keeper.tail import progress, started_config
from mosaic_lab.sanitize import sanitize

MAX_CACHED_BYTES = 64 << 20
"""Maximum total bytes over all runs; beyond it, the frames of the least recently updated runs are dropped."""
LOOK_SECONDS = 1.0
SILENT_SECONDS = 10.0
"""Seconds without a new frame, despite a viewer, before a notice reports it."""
BEGIN_SECONDS = 60.0
"""Maximum seconds for a running worker to load its libraries before it reports a step."""
_ENDED = {
    State.COMPLETED: "the run has completed",
    State.CANCELLED: "the run was cancelled",
    State.FAILED: "the run has failed",
    State.LOST: "the run is lost",
    State.REMOVED: "the run was removed",
}


class _Memory:
    def __init__(self) -> None:
        self._frames: OrderedDict[Path, Frame] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def keep(self, folder: Path, frame: Frame) -> None:
        """Store a frame of the run in ``folder`` unless a newer one is known."""
        with self._lock:
            previous = self._frames.get(folder)
            if previous is not None and previous.published > frame.published:
                return
            self._bytes += len(frame.pixels) - (len(previous.pixels) if previous else 0)
            self._frames[folder] = frame
            self._frames.move_to_end(folder)
            while self._bytes > MAX_CACHED_BYTES and len(self._frames) > 1:
                self._bytes -= len(self._frames.popitem(last=False)[1].pixels)

    def forget(self, folder: Path) -> None:
        """Drop the newest frame of a run without viewers."""
        with self._lock:
            frame = self._frames.pop(folder, None)
            self._bytes -= len(frame.pixels) if frame else 0

    def newest(self, folder: Path) -> Frame | None:
        """Return the newest frame seen; None if there is none or it was dropped."""
        with self._lock:
            return self._frames.get(folder)


_memory = _Memory()
keep, forget, newest = _memory.keep, _memory.forget, _memory.newest


class Notice(NamedTuple):
    """A sentence for the user that explains why there is no (new) frame, or says something else about
    frames."""

    level: Literal["info", "error"]
    text: str


class FrameSource:
    """The frames of the run in ``folder``, in any state. Missing frames never raise an error."""

    def __init__(self, folder: Path) -> None:
        self.writer_notice = ""
        """The writer's last notice about its frames; kept after the run has ended."""
        self._folder = RunFolder(folder)
        self._last: Frame | None = None
        self._publisher = publisher_of(self._folder)
        self._reader = FrameReader(self._publisher)
        self._status = self._folder.status()
        self._ring = self._reader.state
        self._has_progress = False
        self._looked_at = time.monotonic()
        self._silent_since: float | None = None
        self._closed = False

    def poll(self, fps: float) -> Frame | None:
        """Request ``fps`` frames per second. Return the newest frame unless it has been returned before."""
        if self._closed:
            return None
        now = time.monotonic()
        self._reader.watch(fps)
        ended = self.finished  # read before the ring, because nothing is published after the end
        frame = self._reader.read()
        last_notice = self.writer_notice if ended else ""  # the ring may be gone by now
        self.writer_notice = sanitize(self._reader.notice) or last_notice
        if frame is not None:
            self._last, self._ring = frame, "open"
            keep(self._folder.path, frame)
        if frame is not None or self._silent_since is None:
            self._silent_since = now
        if ended:
            self._reader.close()
            self._closed = self._status.state is not State.LOST
        return frame

    def pause(self) -> None:
        """Release the lease until the next `poll`, so that the worker need not render."""
        self._silent_since = None
        if not self._closed:
            self._reader.unwatch()

    def close(self) -> None:
        """Close the ring. `last` and `notice` remain available."""
        self.pause()
        self._closed = True
        self._reader.close()

    @property
    def last(self) -> Frame | None:
        """The newest frame of the run seen by this process, through any source; kept after the end."""
        return newest(self._folder.path) or self._last

    @property
    def finished(self) -> bool:
        """Whether the run has ended, so that no more frames will arrive. A lost run has ended if its worker
        has."""
        status = self._read_status()
        return status.state.finished and not (status.state is State.LOST and self._ring == "open")

    @property
    def patience(self) -> float:
        """Maximum useful wait for the next frame, in seconds. 0 if none can arrive, infinite if one will."""
        return 0.0 if self.finished else self._why()[1]

    def enable(self, on: bool = True) -> None:
        """Turn the worker's frames on or off for all viewers. Raises MosaicError if it publishes none."""
        if self.finished or self._reader.state != "open":
            word = "on" if on else "off"
            hint = (
                "; lab.train(..., frames=False) starts a run without" if self._is_starting and not on else ""
            )
            why = _ENDED[self._status.state] if self.finished else self.reason
            raise MosaicError(f"frames of run {self._folder.run_id} cannot be turned {word}: {why}{hint}")
        self._reader.enable(on)

    @property
    def notice(self) -> Notice | None:
        """The current notice; None while frames arrive and there is nothing to report."""
        if self.finished:
            wrong = self._status.state in (State.FAILED, State.LOST)
            last_frame_text = last_seen(last, self._total) if (last := self.last) else ""
            details = (
                "; ".join(filter(None, (last_frame_text, self.writer_notice)))
                or "this process has seen no frame of it"
            )
            return Notice("error" if wrong else "info", f"{_ENDED[self._status.state]}; {details}")
        if self._status.state is State.LOST:
            return Notice("error", f"the run is lost ({self._status.reason}); its worker is still running")
        text, _ = self._why()
        return Notice("info", text) if text else None

    @property
    def reason(self) -> str:
        """The notice's text, for an error message."""
        return self.notice.text if self.notice else "no problem is known"

    def _read_status(self) -> RunStatus:
        """Return the run's status, at most a second old. An end recorded by its keeper is final."""
        now = time.monotonic()
        final = self._status.state.finished and self._status.state is not State.LOST
        if not final and now - self._looked_at >= LOOK_SECONDS:
            self._follow_publisher()
            self._status, self._ring, self._looked_at = self._folder.status(), self._reader.state, now
            self._has_progress = self._has_progress or (
                self._ring == "absent" and any(progress(self._folder.telemetry_path).values())
            )
        return self._status

    def _follow_publisher(self) -> None:
        publisher = publisher_of(self._folder)
        if publisher != self._publisher:
            self._reader.close()
            self._publisher, self._reader = publisher, FrameReader(publisher)

    @cached_property
    def _total(self) -> object:
        planned = (started_config(self._folder.telemetry_path) or {}).get("steps")  # in whole updates
        return planned or self._folder.document(self._folder.config_path).get("total_timesteps")

    @property
    def _is_starting(self) -> bool:
        return self._status.state in (State.QUEUED, State.STARTING)

    def _why(self) -> tuple[str, float]:
        """Return why a live run shows no new frame (empty if all is well), and the `patience` for it."""
        if self._ring == "absent":
            if self._status.place not in ("", place()):
                return "the run is on another machine, or in another container: its frames stay there", 0.0
            if self._is_starting:
                return f"{self._status.state}: {self._status.reason}", math.inf
            if self._may_be_loading():
                return "waiting for the worker to start", math.inf
            return "this worker publishes no frames (run.log() may say why)", SILENT_SECONDS
        writer_notice = sanitize(self._reader.notice)
        if self._ring == "ended":
            return writer_notice, 0.0
        if self._ring == "open" and not self._reader.enabled:
            return "frames are off: run.enable_frames() turns them on", 0.0
        if self._ring == "closed":
            return writer_notice or "the worker publishes no more frames", SILENT_SECONDS
        return writer_notice or self._silence_text(), math.inf

    def _may_be_loading(self) -> bool:
        """Return whether a running worker may still be before its first step, without a ring."""
        status = self._status
        return (
            not self._has_progress
            and status.state is State.RUNNING
            and time.time() - status.since < BEGIN_SECONDS
        )

    def _silence_text(self) -> str:
        if self.last is None:
            return "waiting for the first frame"
        silent = 0.0 if self._silent_since is None else time.monotonic() - self._silent_since
        return f"no new frame for {silent // 10 * 10:.0f} s" if silent >= SILENT_SECONDS else ""


def publisher_of(folder: RunFolder) -> Path:
    """Return the folder of the run that publishes frames for this one: for a curriculum, its newest stage."""
    segments = folder.document(folder.stages_path).get("segments")
    newest = segments[-1] if isinstance(segments, list) and segments else None
    run_id = newest.get("run") if isinstance(newest, dict) else None
    return folder.path.parent / run_id if isinstance(run_id, str) and is_run_id(run_id) else folder.path


def last_seen(frame: Frame, total: object) -> str:
    """Return a sentence about the last frame seen of an ended run; ``total`` is its number of steps, if
    known."""
    if frame.hud.step is None:
        return "this is the last frame seen here"
    total_text = f" of {total:,}" if isinstance(total, int) else ""
    return f"the last frame seen here is of step {frame.hud.step:,}{total_text}"


def pixels_of(frame: Frame) -> Pixels:
    """Return a frame's pixels as a read-only array, without copying."""
    return np.frombuffer(frame.pixels, np.uint8).reshape(frame.height, frame.width, frame.channels)
