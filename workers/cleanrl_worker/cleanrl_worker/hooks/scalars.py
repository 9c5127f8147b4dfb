"""Forwarding of the script's TensorBoard scalars to the shim."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable

from .training import Training


def hook_writer(writer: Any, training: Training) -> None:
    """Wrap `SummaryWriter`: scalars are also sent to the shim, and a full disk does not end the training."""
    push, initialise = training.channel.push, writer.__init__
    add = _forgiving(writer.add_scalar)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        training.writers.append(self)

    def add_scalar(
        self: Any, tag: str, scalar_value: Any, global_step: Any = None, *args: Any, **kw: Any
    ) -> None:
        add(self, tag, scalar_value, global_step, *args, **kw)
        item = getattr(scalar_value, "item", None)  # tensors and arrays with one element
        push("scalar", tag, float(item() if item else scalar_value), global_step)

    writer.__init__, writer.add_scalar = __init__, add_scalar
    writer.flush, writer.close = _forgiving(writer.flush), _forgiving(writer.close)


def _forgiving(method: Callable[..., None]) -> Callable[..., None]:
    """Return the method, with an `OSError` printed once instead of raised."""
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
