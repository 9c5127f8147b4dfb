"""The kernel's part in the page's overview of run stores: it answers over comms, and acts on runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comm.base_comm import BaseComm

TARGET = "mosaic_lab.overview"
STORES: dict[str, Path] = {}
"""The run stores of this kernel's `Lab`s, by their paths as text: those that it answers for."""


def serve(root: Path) -> None:
    """Let pages open channels to this store. What serves them is imported when the first one is opened."""
    import comm

    STORES[str(root)] = root
    comm.get_comm_manager().register_target(TARGET, _open)


def _open(comm: BaseComm, message: Mapping[str, Any]) -> None:
    from mosaic_lab.widgets.overview.channel import open_channel

    open_channel(comm, message)
