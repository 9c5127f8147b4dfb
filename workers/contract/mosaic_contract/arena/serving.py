"""An arena from the start of its process to its end."""

from __future__ import annotations

from mosaic_contract.arena.arena import Arena
from mosaic_contract.arena.channels import KernelChannel
from mosaic_contract.arena.environment_description import FactsOf
from mosaic_contract.arena.environment_factory import MakeEnvironment
from mosaic_contract.arena.errors import KernelGone
from mosaic_contract.errors import Cancelled
from mosaic_contract.metadata import WorkerMetadata
from mosaic_contract.operators import Describe, Operate


def serve_arena(
    metadata: WorkerMetadata,
    make: MakeEnvironment,
    facts_of: FactsOf | None,
    inside: tuple[Describe, Operate] | None,
    commands: int,
    messages: int,
) -> None:
    """Execute the commands from the descriptor `commands` until "close" or its end, and leave nothing behind.

    `messages` is the descriptor that answers are written to, `inside` makes operators in this process. Raises
    `Cancelled` after a signal.
    """
    kernel = KernelChannel(commands, messages)
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
        kernel.send({"type": "closed"})
