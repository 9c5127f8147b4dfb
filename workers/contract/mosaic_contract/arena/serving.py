"""An arena from the start of its process to its end."""

from __future__ import annotations

from ..errors import Cancelled
from ..metadata import WorkerMetadata
from ..operators import Describe, Operate
from .about import FactsOf
from .arena import Arena
from .errors import KernelGone
from .kernel import Kernel
from .making import MakeEnvironment


def serve_arena(
    metadata: WorkerMetadata,
    make: MakeEnvironment,
    facts_of: FactsOf | None,
    inside: tuple[Describe, Operate] | None,
    commands: int,
    messages: int,
) -> None:
    """Do what comes on the descriptor `commands` until "close" or its end, and leave nothing behind.

    `messages` is the descriptor that answers are written to, `inside` makes operators in this process. Raises
    `Cancelled` after a signal.
    """
    kernel = Kernel(commands, messages)
    arena = Arena(kernel, (metadata.name, metadata.version), make, facts_of, inside)
    reason: str | None = None
    try:
        arena.serve()
    except KernelGone as gone:
        reason = f"the kernel has gone: {gone}"
    except Cancelled as cancelled:
        reason = cancelled.reason
        raise
    finally:
        try:
            arena.close(reason)
        except Cancelled:  # the signal came while it closed: nothing may be left then either
            arena.close(reason)
            raise
    if reason is None:
        kernel.tell({"type": "closed"})
