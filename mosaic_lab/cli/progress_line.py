"""A command's progress: one updated line on a terminal, separate lines otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

PLAIN_LINE_EVERY = 10.0  # seconds between lines without a terminal
_LOOK = 0.25  # seconds
_WIDTH = 119


def show_until(
    finished: Callable[[], bool], line: Callable[[], str], state: Callable[[], object] = lambda: None
) -> None:
    """Print ``line()`` until ``finished()``.

    Without a terminal, print it every ten seconds and whenever ``state()`` changes.
    """
    terminal = sys.stdout.isatty()
    shown: object = None
    due = 0.0
    while not finished():
        if terminal:
            print(f"\r{line()[:_WIDTH]:<{_WIDTH}}", end="", flush=True)
        elif (now := state()) != shown or time.monotonic() >= due:
            shown, due = now, time.monotonic() + PLAIN_LINE_EVERY
            print(line(), flush=True)
        time.sleep(_LOOK)
    if terminal:
        print("\r" + " " * _WIDTH + "\r", end="")
