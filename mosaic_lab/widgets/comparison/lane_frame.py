"""The newest frame of a lane, whether or not a page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_lab.fastlane.last_frames import forget
from mosaic_lab.widgets.frames.last_frame import LastFrame

UNSEEN_FPS = 5.0
"""Frames a second that are requested while no page shows the lane's last step."""
ENDED = ("failed", "stopped")
"""States of a lane after which no frame comes."""


def follow(last: LastFrame, lane: Mapping[str, Any]) -> LastFrame:
    """Take in the newest frame of a lane of `Comparison.view`; return a new object when it was restarted.

    Once the lane has ended only the frame is kept, and no ring is open.
    """
    if (folder := Path(lane["folder"])) != last.folder:
        release(last)
        last = LastFrame(folder)
    if not lane["folder"]:
        return last
    last.look()
    if not shows_last_step(last, lane):
        last.poll(UNSEEN_FPS)
    elif lane["state"] in ENDED:
        release(last)
    else:
        last.rest()
    return last


def shows_last_step(last: LastFrame, lane: Mapping[str, Any]) -> bool:
    """Return whether the frame is of the lane's last step."""
    hud = last.frame.hud if last.frame else None
    return hud is not None and (hud.episode, hud.step) == (lane["episode"], lane["step"])


def is_complete(last: LastFrame, lane: Mapping[str, Any]) -> bool:
    """Return whether no newer frame is to be expected before the lane's next step."""
    return shows_last_step(last, lane) or not lane["renders"] or lane["state"] in (*ENDED, "stepping")


def release(last: LastFrame) -> None:
    """Release the ring, and have no other part of this process keep the frame."""
    last.close()
    forget(last.folder)
