"""What others hang into the supervision layer, so that it need not know them.

Crosses the boundary: callables that the notebook front (floor 4) puts here. All are optional.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_lab.errors import MosaicError

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

    from mosaic_lab.supervisor.group import RunGroup
    from mosaic_lab.supervisor.run import Run

ended: list[Callable[[Run], None]] = []
"""Called, in the waiting thread, with a run whose end ``wait()`` or ``stop()`` has just seen."""

removed: list[Callable[[Run], None]] = []
"""Called with a run that ``remove()`` has just deleted."""

chart: Callable[[RunGroup, str], None] | None = None
"""Shows one metric of a group."""

frames: Callable[[Sequence[Run], float], Any] | None = None
"""Makes what shows the frames of runs, so many a second, in a notebook's cell."""

sheet: Callable[[Sequence[Run], Sequence[Frame | None]], bytes] | None = None
"""Draws one frame of each run side by side, with the runs' names, as PNG."""

picture: Callable[[Any], bytes] | None = None
"""Draws a `mosaic_lab.evaluation.Plot` as PNG."""


def watch(runs: Sequence[Run], fps: float) -> Any:
    """What `frames` makes. Raises MosaicError where there is none."""
    if frames is None:
        raise nowhere()
    return frames(runs, fps)


def nowhere() -> MosaicError:
    """What watching raises where frames cannot be shown."""
    return MosaicError(
        "frames are watched in a notebook, once it has a Lab; run.snapshot() and run.record() work anywhere"
    )
