"""What others hang into the supervision layer, so that it need not know them.

Crosses the boundary: callables that the notebook front (floor 4) puts here. Both are optional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_lab.supervisor.group import RunGroup
    from mosaic_lab.supervisor.run import Run

ended: list[Callable[[Run], None]] = []
"""Called, in the waiting thread, with a run whose end ``wait()`` or ``stop()`` has just seen."""

chart: Callable[[RunGroup, str], None] | None = None
"""Shows one metric of a group."""
