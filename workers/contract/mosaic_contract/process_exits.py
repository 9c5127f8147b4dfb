"""Ends of a process: those that an environment or a library asks for, those that its threads hold up, and
those with its parent.

A training is complete where it returns, or has taken all of its steps; `sys.exit`, `quit` and `os._exit`
before that are errors, whatever the exit code.
"""

from __future__ import annotations

import atexit
import logging
import os
import select
import signal
import sys
import sysconfig
import threading
import time
import traceback
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Callable, List, Optional, Tuple

Lines = List[Tuple[FrameType, int]]
"""Frames with the line that each is in, outermost first."""

ERROR_TYPE = SystemExit.__name__
_STANDARD_LIBRARY = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")
_THREAD_SECONDS = 5.0  # for threads that Python waits for at its end
_end_process = os._exit  # for good: the one of a training is reported

log = logging.getLogger("mosaic_contract")
_POLL_SECONDS = 0.5  # between two looks at the parent


def report_os_exit(report: Callable[[int, Lines], int]) -> None:
    """Call `report` before `os._exit` ends this process; the exit code is what it returns. Forked children
    are left alone.
    """
    own_pid = os.getpid()

    def reporting(status: int) -> Any:
        if os.getpid() == own_pid:
            status = report(status, list(traceback.walk_stack(sys._getframe(1)))[::-1])
        _end_process(status)

    os._exit = reporting


def leave_within(seconds: float, code: int) -> None:
    """End the process even if threads or exit hooks of an environment or a library never end.

    It has reported its end by now, so `os._exit` is Python's own again: a shim may leave by it.
    """
    os._exit = _end_process
    joined = threading.Event()
    atexit.register(joined.set)  # Python runs exit hooks once it has waited for threads

    def watch() -> None:
        deadline = time.monotonic() + seconds
        if not joined.wait(min(seconds, _THREAD_SECONDS)) and (names := _waited_for()):
            log.warning("the process ends without its threads that still run: %s", ", ".join(names))
            _end_process(code)
        time.sleep(max(0.0, deadline - time.monotonic()))
        _end_process(code)

    threading.Thread(target=watch, name="mosaic-leaving", daemon=True).start()


def _waited_for() -> List[str]:
    main = threading.main_thread()
    return [one.name for one in threading.enumerate() if one is not main and not one.daemon]


def lines_of(trace: Optional[TracebackType]) -> Lines:
    """Return the lines of a traceback."""
    return list(traceback.walk_tb(trace))


def exit_error(code: object, lines: Lines, reached: str) -> str:
    """Return the sentence for a process that was ended with this code, with the innermost line of the user's
    code, or else of a library. `reached` is how far the training was, such as "at step 10 of 600".
    """
    status = (
        f"exit code {code or 0}" if code is None or isinstance(code, int) else f"exit code 1, {code!r:.300}"
    )
    found = [(_owner(frame), frame, line) for frame, line in reversed(lines)]
    for owner, who in (("user", "the environment"), ("library", "a library")):
        for one, frame, line in found:
            if one == owner:
                file = Path(frame.f_code.co_filename).name
                place = f"line {line} of {file}, in {frame.f_code.co_name}"
                return f"{who} ended the process ({status}) {reached}: {place}"
    return f"the environment or a library ended the process ({status}) {reached}"


def stack_text(lines: Lines) -> str:
    """Return lines as a traceback shows them."""
    return "".join(traceback.StackSummary.extract(iter(lines)).format())


def _owner(frame: FrameType) -> str:
    """Return whose code a frame is: "user", "library", or "" for Python's and this project's own."""
    path, variables = frame.f_code.co_filename, frame.f_globals
    package = str(variables.get("__package__") or variables.get("__name__")).partition(".")[0]
    if path.startswith("<") or package == "mosaic_contract" or package.endswith("_worker"):
        return ""
    if any(folder in path for folder in _INSTALLED):
        return "library"
    return "" if path.startswith(_STANDARD_LIBRARY) else "user"


def watch_parent(parent: int | None = None, *, grace: float = 5.0) -> None:
    """End this process when its parent dies: SIGTERM to itself, and after `grace` seconds SIGKILL. For
    operators and arenas, which must not outlive whoever started them.

    `parent` is the process id to watch; give it where the parent could die before this call, otherwise the
    parent at the time of the call is taken.
    """
    # Linux' PR_SET_PDEATHSIG fires when the parent's *thread* that made the child ends, and notebooks start
    # children from threads that come and go.
    pid = os.getppid() if parent is None else parent
    threading.Thread(target=_watch, args=(pid, grace), name="mosaic-parent-watch", daemon=True).start()


def _watch(parent: int, grace: float) -> None:
    _wait_for_death(parent)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace)
    os.kill(os.getpid(), signal.SIGKILL)


def _wait_for_death(parent: int) -> None:
    try:
        descriptor = os.pidfd_open(parent)  # Linux: wakes at once and costs nothing
    except (AttributeError, OSError):
        descriptor = None
    if os.getppid() != parent:  # already dead; checked after the open, so that a reused id is not watched
        return
    if descriptor is not None:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll()
        os.close(descriptor)
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
