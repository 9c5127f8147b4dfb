"""Information about a run's processes from the operating system, and signals to them. Without /proc (macOS)
each function returns the empty value of its type."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)
_TICKS = os.sysconf("SC_CLK_TCK")  # of processor time per second


class ProcessUsage(NamedTuple):
    """Total resources of several processes: processor time so far and current resident memory. Shared pages
    count once per process."""

    cpu_seconds: float
    memory_mb: float


@cache
def place() -> str:
    """Return an identifier of this boot and process namespace, within which a recorded pid is valid."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return os.uname().nodename


def start_time(pid: int) -> int | None:
    """Return a living process's start in clock ticks since boot. With the pid it identifies a process. None
    if the process has ended or /proc is missing."""
    stat = _stat(pid)
    return None if stat is None or stat[0] in (b"Z", b"X") else int(stat[19])


def lives(pid: int, started: int | None) -> bool:
    """Return whether the process with this pid and `start_time` lives; False if unknown."""
    return started is not None and start_time(pid) == started


def own_identity() -> dict[str, Any]:
    """Return the permanent identity of this process, for `identified`."""
    return {"pid": os.getpid(), "started": start_time(os.getpid()), "place": place()}


def identified(identity: object) -> bool:
    """Return whether the process with this `own_identity` still lives; False for any other object."""
    if not isinstance(identity, dict) or identity.get("place") != place():
        return False
    pid, started = identity.get("pid"), identity.get("started")
    return isinstance(pid, int) and lives(pid, started)


def become_subreaper() -> None:
    """Make orphaned descendants children of this process, so that none can escape (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def worker_preparation() -> Callable[[], None]:
    """Return the function that a worker calls between fork and exec.

    It requests SIGTERM when the keeper ends, and makes the worker a likelier victim of the out-of-memory
    killer than the keeper and the user's notebook kernel.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    keeper = os.getpid()

    def prepare() -> None:
        if libc is None:
            return
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != keeper:
            os._exit(1)
        raise_oom_score(os.getpid())

    return prepare


def raise_oom_score(pid: int) -> None:
    """Make a process more likely to be chosen by the out-of-memory killer, if permitted."""
    try:
        with Path(f"/proc/{pid}/oom_score_adj").open("r+") as file:
            adjusted = min(int(file.read()) + 300, 1000)
            file.seek(0)
            file.write(str(adjusted))
    except (OSError, ValueError):
        pass


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended already."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def send_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a process group that may have ended already."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def send_to(pid: int, started: int | None, *numbers: signal.Signals) -> None:
    """Send signals to the process with this pid and `start_time`, but not to another process that reuses the
    pid."""
    descriptor = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    try:
        # Checked after opening the descriptor, which stays with its process even if the pid is reused.
        for number in numbers if lives(pid, started) else ():
            if descriptor is None:
                os.kill(pid, number)
            else:
                signal.pidfd_send_signal(descriptor, number)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def descendants(pid: int) -> list[int]:
    """Return all living processes below ``pid``, found in /proc; empty without it."""
    return list(_below(pid))


def usage_below(pid: int, without: Collection[int]) -> ProcessUsage | None:
    """Return the resources used by the processes below ``pid`` and the children they have reaped; None
    without /proc."""
    stats = [stat for child, stat in _below(pid).items() if child not in without]
    if not stats and start_time(os.getpid()) is None:
        return None
    ticks = sum(int(field) for stat in stats for field in stat[11:15])
    return ProcessUsage(ticks / _TICKS, sum(int(stat[21]) for stat in stats) * _PAGE_MB)


def _below(pid: int) -> dict[int, list[bytes]]:
    """Return the stat fields of all processes below ``pid``, by pid."""
    try:
        entries = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    except FileNotFoundError:
        return {}
    stats = {entry: stat for entry in entries if (stat := _stat(entry)) is not None}
    children: dict[int, list[int]] = {}
    for entry, stat in stats.items():
        children.setdefault(int(stat[1]), []).append(entry)
    below: dict[int, list[bytes]] = {}
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            below[child] = stats[child]
            waiting.append(child)
    return below


def _stat(pid: int) -> list[bytes] | None:
    """Return the fields of /proc/PID/stat after the name (state, parent, …); None if the process is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return stat[stat.rindex(b")") + 2 :].split()


def command_line(pid: int) -> bytes:
    """Return the command line of a process, its arguments separated by NUL; empty if the process is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def oom_kills() -> int | None:
    """Return the number of processes of this control group that the kernel's out-of-memory killer has ended
    so far."""
    for path in _oom_counters():
        try:
            for line in path.read_text().splitlines():
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
        except (OSError, ValueError):
            continue
    return None


def _oom_counters() -> list[Path]:
    """Return files that may contain the counter: cgroup v2, then v1, as seen by the host or a container."""
    try:
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    paths: list[Path] = []
    for line in groups:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            paths += [Path(f"/sys/fs/cgroup{group}/memory.events"), Path("/sys/fs/cgroup/memory.events")]
        elif "memory" in controllers.split(","):
            root = Path("/sys/fs/cgroup/memory")
            paths += [Path(f"{root}{group}/memory.oom_control"), root / "memory.oom_control"]
    return paths
