"""The phases of a training before it learns, from what its worker has reported so far."""

from __future__ import annotations

from mosaic_lab.keeper.states import State


def phase(state: State, step: int, *, learns: bool) -> str:
    """Return what a training in ``state`` does at ``step``; empty once it ``learns``, and before or after."""
    if state is State.STARTING:
        return "starting the worker and checking the configuration"
    if state is not State.RUNNING or learns:
        return ""
    return "first steps, no update yet" if step else "importing libraries and building the environment"


def timed(what: str, seconds: float | None) -> str:
    """Return ``what`` with its time: ``importing libraries, 12 s``."""
    if not what or seconds is None:
        return what
    return f"{what}, {seconds:.0f} s" if seconds < 120 else f"{what}, {seconds // 60:.0f} min"
