"""Capture the next frames of a run, for snapshots and recordings without a page."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_lab.errors import ConfigurationError, MosaicError, RunTimeout
from mosaic_lab.fastlane.encoding import RECORDED_BYTES, Content, check_seconds, encode
from mosaic_lab.fastlane.source import FrameSource
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.runs.checkpoints import read_checkpoints

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

    from mosaic_lab.fastlane.encoding import Packet

_FPS = 30.0
_POLL = 0.005


def next_frame(folder: Path, timeout: float) -> Frame:
    """Return the next frame of the run in ``folder``, or the last one read here if the run has ended.

    Raises RunTimeout after ``timeout`` seconds, and MosaicError as soon as no frame can arrive, both with the
    reason.
    """
    source = FrameSource(folder)
    try:
        return _first(source, folder, _FPS, timeout)
    except MosaicError:
        if source.finished and (last := source.last):
            return last
        raise
    finally:
        source.close()


def next_frames(folder: Path, seconds: float, fps: float, timeout: float) -> list[Packet]:
    """Return the frames of the run in ``folder`` for ``seconds`` from the next frame on, or until the run
    ends.

    They take at most 64 MiB: a frame that would exceed its share if encoded losslessly becomes a JPEG, and if
    that is not enough, frames are skipped. Raises ConfigurationError for ``seconds`` outside 0 to 60 or
    ``fps`` ≤ 0, and the errors of `next_frame`.
    """
    check_seconds(seconds)
    if not isinstance(fps, int | float) or not fps > 0:
        raise ConfigurationError(f"fps must be a number > 0, not {fps!r}")
    source = FrameSource(folder)
    try:
        first = _first(source, folder, fps, timeout)
        share = RECORDED_BYTES / (seconds * fps)
        packets = [_packet(first, share)]
        recorded_bytes, started = len(packets[0].data), time.monotonic()
        while (elapsed := time.monotonic() - started) < seconds and not source.finished:
            frame = source.poll(fps)
            if frame is not None and recorded_bytes <= RECORDED_BYTES * elapsed / seconds:
                packets.append(_packet(frame, share))
                recorded_bytes += len(packets[-1].data)
            else:
                time.sleep(_POLL)
        return packets
    finally:
        source.close()


def _first(source: FrameSource, folder: Path, fps: float, timeout: float) -> Frame:
    waiting_since = started = time.monotonic()
    while (frame := source.poll(fps)) is None:
        now, patience = time.monotonic(), source.patience
        if patience == math.inf:
            waiting_since = now
        if now - waiting_since >= patience:
            kind = "frame" if source.last is None else "further frame"
            raise MosaicError(
                f"there is no {kind} of run {folder.name}: {source.reason}{_instead(source, folder)}"
            )
        if now - started >= timeout:
            raise RunTimeout(f"no frame of run {folder.name} within {timeout:g} s: {source.reason}")
        time.sleep(_POLL)
    return frame


def _instead(source: FrameSource, folder: Path) -> str:
    """Return a hint on how to watch the policy of an ended training; empty without a checkpoint."""
    if not source.finished or not read_checkpoints(RunFolder(folder)):
        return ""
    return "; lab.compare(env, {name: operators.rl(run)}, seeds=[1]) shows what it has learned"


def _packet(frame: Frame, share: float) -> Packet:
    """Encode a frame, losslessly if that takes at most ``share`` bytes."""
    content = Content(frame)
    return encode(frame, "deflate" if content.ratio * content.nbytes <= share else "jpeg")
