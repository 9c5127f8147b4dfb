"""Scalars that the script writes to TensorBoard, sent to the shim too."""

from __future__ import annotations

from typing import Any

from .training import Training


def hook_writer(writer: Any, training: Training) -> None:
    """Wrap `SummaryWriter.add_scalar` and remember the writers, so that they can be flushed at a stop."""
    push, initialise, add = training.channel.push, writer.__init__, writer.add_scalar

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        training.writers.append(self)

    def add_scalar(
        self: Any, tag: str, scalar_value: Any, global_step: Any = None, *args: Any, **kw: Any
    ) -> None:
        add(self, tag, scalar_value, global_step, *args, **kw)
        item = getattr(scalar_value, "item", None)  # tensors and arrays of one element
        push("scalar", tag, float(item() if item else scalar_value), global_step)

    writer.__init__, writer.add_scalar = __init__, add_scalar
