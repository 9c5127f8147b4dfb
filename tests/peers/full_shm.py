"""Publish frames while shared memory is full or unusable; runs in its own mount namespace.

``full_shm.py SCENARIO FOLDER`` prints the page's frame count and notice, and the run's state, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import at_work, start_painter, wait_until
from widgets.pages import Page

from mosaic_lab.runs import Supervisor
from mosaic_lab.widgets.frames.frame_stream import FrameStream

SHARED_MEMORY = Path("/dev/shm")


def mount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


def fill(folder: Path) -> None:
    with (folder / "filler").open("ab", buffering=0) as file:
        for size in (1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def main() -> None:
    scenario, folder = sys.argv[1], Path(sys.argv[2])
    temporary = folder / "temporary"
    temporary.mkdir()
    mount(temporary, "size=1m")
    os.environ["TMPDIR"] = str(temporary)
    if scenario == "read_only":
        mount(SHARED_MEMORY, "ro")
    else:
        mount(SHARED_MEMORY, "size=1m")
        fill(SHARED_MEMORY)
    run = at_work(start_painter(Supervisor(folder / "runs")))
    if scenario == "both_full":  # only now: the empty ring exists, but no frame fits
        wait_until((run.path / "fastlane").exists)
        fill(temporary)
    page = Page(FrameStream(), [run])
    if scenario == "both_full":
        wait_until(lambda: "no space for" in page.notices.get(0, ""))
    else:
        wait_until(lambda: "/dev/shm" in page.notices.get(0, "") and len(page.numbers[0]) > 5)
    print(
        json.dumps(
            {
                "frames": len(page.numbers[0]),
                "notice": page.notices[0],
                "wrong": page.wrong,
                "state": run.state,
                "log": run.log(),
            }
        )
    )
    sys.stdout.flush()
    run.stop()
    os._exit(0)


main()
