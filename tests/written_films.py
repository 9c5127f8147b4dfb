"""Films in a run folder, written directly by a test without playing a policy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from mosaic_contract.fastlane import Hud

from mosaic_lab.fastlane import Packet
from mosaic_lab.fastlane.pictures import mp4
from mosaic_lab.runs.films import checkpoint_film_path


def write_film(run: Path, step: int) -> None:
    """Write a two-second film whose brightness encodes its step."""
    pixels = np.full((120, 160, 3), 40 + step // 500, np.uint8).tobytes()
    packets = [Packet(i, i / 10, 160, 120, 3, "raw", pixels, Hud()) for i in range(20)]
    path = checkpoint_film_path(run, step)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(mp4(packets))
    about = {"step": step, "checkpoint": f"{step}.pt", "return": step / 1000, "length": 20, "seed": 1}
    path.with_suffix(".json").write_text(json.dumps({**about, "seconds": 2.0, "complete": True}))
