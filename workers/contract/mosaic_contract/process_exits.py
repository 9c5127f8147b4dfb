"""Exits of a process: exits requested by an environment or a library, exits delayed by threads, and exits
with the parent process.

A training is complete if it returns or has taken all of its steps; an earlier `sys.exit`, `quit` or
`os._exit` is an error, whatever the exit code.
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
"""Frames with their current lines, outermost first."""

ERROR_TYPE = SystemExit.__name__
_STANDARD_LIBRARY = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")
_THREAD_SECONDS = 5.0  # for threads that Python joins at exit
_end_process = os._exit  # the original; a training's `os._exit` is reported

log = logging.getLogger("mosaic_contract")
_POLL_SECONDS = 0.5  # between two checks of the parent


def report_os_exit(report: Callable[[int, Lines], int]) -> None:
    """Call `report` before `os._exit` ends this process; its return value becomes the exit code. Forked
    children are not affected."""
    own_pid = os.getpid()

    def reporting(status: int) -> Any:
        if os.getpid() == own_pid:
            status = report(status, list(traceback.walk_stack(sys._getframe(1)))[::-1])
        _end_process(status)

    os._exit = reporting


def leave_within(seconds: float, code: int) -> None:
    """End the process even if threads or exit hooks of an environment or a library never finish. The process
    has reported its end by now, so `os._exit` is Python's own again and a shim may use it."""
    os._exit = _end_process
    joined = threading.Event()
    atexit.register(joined.set)  # Python runs exit hooks after it has joined all threads

    def watch() -> None:
        deadline = time.monotonic() + seconds
        if not joined.wait(min(seconds, _THREAD_SECONDS)) and (names := _blocking_threads()):
            log.warning("the process ends without its threads that still run: %s", ", ".join(names))
            _end_process(code)
        time.sleep(max(0.0, deadline - time.monotonic()))
        _end_process(code)

    threading.Thread(target=watch, name="mosaic-leaving", daemon=True).start()


def _blocking_threads() -> List[str]:
    main = threading.main_thread()
    return [thread.name for thread in threading.enumerate() if thread is not main and not thread.daemon]


def lines_of(trace: Optional[TracebackType]) -> Lines:
    """Return the frames and lines of a traceback."""
    return list(traceback.walk_tb(trace))


def exit_error(code: object, lines: Lines, reached: str) -> str:
    """Return a sentence about a process that was ended with this code, with the innermost line of the user's
    code, or else of a library. `reached` is the progress of the training, such as "at step 10 of 600"."""
    status = (
        f"exit code {code or 0}" if code is None or isinstance(code, int) else f"exit code 1, {code!r:.300}"
    )
    owned = [(_owner(frame), frame, line) for frame, line in reversed(lines)]
    for owner, subject in (("user", "the environment"), ("library", "a library")):
        for frame_owner, frame, line in owned:
            if frame_owner == owner:
                file = Path(frame.f_code.co_filename).name
                location = f"line {line} of {file}, in {frame.f_code.co_name}"
                return f"{subject} ended the process ({status}) {reached}: {location}"
    return f"the environment or a library ended the process ({status}) {reached}"


def stack_text(lines: Lines) -> str:
    """Return lines in the format of a traceback."""
    return "".join(traceback.StackSummary.extract(iter(lines)).format())


def _owner(frame: FrameType) -> str:
    """Return the owner of a frame's code: "user", "library", or "" for Python and this project."""
    path, variables = frame.f_code.co_filename, frame.f_globals
    package = str(variables.get("__package__") or variables.get("__name__")).partition(".")[0]
    if path.startswith("<") or package == "mosaic_contract" or package.endswith("_worker"):
        return ""
    if any(folder in path for folder in _INSTALLED):
        return "library"
    return "" if path.startswith(_STANDARD_LIBRARY) else "user"


def watch_parent(parent: int | None = None, *, grace: float = 5.0) -> None:
    """End this process when its parent dies: send it SIGTERM and, after `grace` seconds, SIGKILL. For
    operators and arenas, which must not outlive their parent.

    `parent` is the process id to watch; pass it if the parent could die before this call, otherwise the
    parent at the time of the call is used.
    """
    # Linux's PR_SET_PDEATHSIG fires when the parent's *thread* that made the child ends, and notebooks start
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
        descriptor = os.pidfd_open(parent)  # Linux: wakes immediately and costs nothing
    except (AttributeError, OSError):
        descriptor = None
    if os.getppid() != parent:  # already dead; checked after the open, in case the id is reused
        return
    if descriptor is not None:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll()
        os.close(descriptor)
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
