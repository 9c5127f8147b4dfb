"""Scalars that the script writes to TensorBoard, sent to the shim too."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable

from .training import Training


def hook_writer(writer: Any, training: Training) -> None:
    """Wrap `SummaryWriter`: scalars go to the shim too, and a disk that is full does not end the training."""
    push, initialise = training.channel.push, writer.__init__
    add = _forgiving(writer.add_scalar)

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
    writer.flush, writer.close = _forgiving(writer.flush), _forgiving(writer.close)


def _forgiving(method: Callable[..., None]) -> Callable[..., None]:
    """The method, but an `OSError` of it is printed, once."""
    reported = False

    @functools.wraps(method)
    def forgiving(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal reported
        try:
            method(self, *args, **kwargs)
        except OSError as error:
            if not reported:
                print(f"the TensorBoard file is incomplete from here on: {error}", file=sys.stderr)
            reported = True

    return forgiving
