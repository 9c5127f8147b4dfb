"""Ready processes: forks of a warm worker that wait to become a worker, or another ``python -m MODULE``.

The start of one is a packet on its socket: ``{"module", "arguments", "environment", "cwd", "descriptors"}``
with as many descriptors, which get these numbers. If the socket is closed before, the process exits.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

RUN_DIR = "MOSAIC_RUN_DIR"
"""The variable by which a run's processes are found. A warm worker has it at the end of its variables, with a
value of `RUN_DIR_CHARS` characters that is replaced in its forks."""
RUN_DIR_CHARS = 4096
_MAX_PACKET_BYTES = 4 << 20  # more than a socket sends
_MAX_DESCRIPTORS = 16
_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.01

_standby: Optional[PythonProcess] = None


class ReadyProcess:
    """This process, which waits on ``channel``. It gets SIGTERM when its parent, the process ``parent``,
    exits.

    ``output`` is the length of the warm worker's standard error so far, which is repeated at the beginning of
    this process's.
    """

    def __init__(self, channel: socket.socket, output: int, parent: int) -> None:
        self._channel, self._output = channel, output
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        os.setsid()

    def run_when_started(self, work: Callable[[Sequence[str]], int], *, standby: bool) -> None:
        """Wait for the start, call `work` with its arguments and end the process. ``standby``: fork a ready
        process for `start_python` as well."""
        global _standby
        output, set_before = os.pread(2, self._output, 0), _set_since_start()
        _, arguments = _wait(self._channel)
        os.environ.update(set_before)
        os.write(2, output)
        if standby and "--config" in arguments and "--dry-run" not in arguments:
            parent_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            if (pid := os.fork()) == 0:
                parent_end.close()
                module, arguments = _wait(child_end)
                sys.argv = [module, *arguments]
                _leave(_run(module))
            child_end.close()
            _standby = PythonProcess(pid, parent_end)
        sys.argv = [sys.argv[0], *arguments]
        _leave(work(arguments))


class PythonProcess:
    """A ready process that is a child of this one, with the methods of `subprocess.Popen` that are needed."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.returncode: Optional[int] = None
        self._channel = channel

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        descriptors: Mapping[int, int],
    ) -> None:
        """Start it; ``descriptors`` maps each of ours to its new number. Raises OSError."""
        with self._channel:
            send_start(self._channel, module, arguments, env, cwd, descriptors)

    def poll(self) -> Optional[int]:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: Optional[float] = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("python", timeout or 0.0)
            time.sleep(_POLL_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def start_python(
    module: str, arguments: Sequence[str], *, cwd: str, env: Mapping[str, str], pass_fds: Sequence[int]
) -> subprocess.Popen[bytes] | PythonProcess:
    """Start ``python -m MODULE ARGUMENT…`` without a stdin and return it. In a process of a warm worker it is
    a `PythonProcess`."""
    global _standby
    standby, _standby = _standby, None
    if standby is not None:
        with Path(os.devnull).open("rb") as nothing:
            try:
                passed = {nothing.fileno(): 0, 1: 1, 2: 2, **{number: number for number in pass_fds}}
                standby.start(module, arguments, cwd, env, passed)
                return standby
            except OSError:  # it was killed, or the packet is too long
                standby.wait()
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, cwd=cwd, env=env, pass_fds=pass_fds, stdin=subprocess.DEVNULL)


def send_start(
    channel: socket.socket,
    module: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    cwd: Union[str, Path],
    descriptors: Mapping[int, int],
) -> None:
    """Start the ready process at the other end; ``descriptors`` maps each of ours to its new number. Raises
    OSError."""
    start = {
        "module": module,
        "arguments": list(arguments),
        "environment": dict(env),
        "cwd": str(cwd),
        "descriptors": list(descriptors.values()),
    }
    socket.send_fds(channel, [json.dumps(start).encode()], list(descriptors))


def _run(module: str) -> int:
    """Run the module as ``__main__`` and return the exit code."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        if error.code is not None and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
            return 1
        return error.code or 0
    return 0


def _leave(code: int) -> None:
    """End the process as Python does, but without freeing every imported object, which would copy the memory
    shared with the warm worker and take as long as the imports."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def receive(channel: socket.socket) -> Tuple[Optional[Dict[str, Any]], List[int]]:
    """Return the next packet and its descriptors; None at the end of the socket."""
    data, descriptors, _, _ = socket.recv_fds(
        channel, _MAX_PACKET_BYTES, _MAX_DESCRIPTORS, flags=socket.MSG_CMSG_CLOEXEC
    )
    return (json.loads(data) if data else None), descriptors


def assign_numbers(descriptors: Sequence[int], numbers: Sequence[int]) -> None:
    """Give each descriptor its number in all programs that this process executes."""
    above = max(numbers, default=0) + 1
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above) for descriptor in descriptors]
    for descriptor, number in zip(high, numbers):
        os.dup2(descriptor, number)
        os.close(descriptor)


def _wait(channel: socket.socket) -> Tuple[str, List[str]]:
    """Wait for the start and apply it to this process. Return the module and its arguments."""
    start, descriptors = receive(channel)
    if start is None:
        os._exit(0)
    channel.close()
    assign_numbers(descriptors, start["descriptors"])
    for descriptor in set(descriptors) - set(start["descriptors"]):
        os.close(descriptor)
    _show_run(start["environment"].get(RUN_DIR, ""))
    os.environ.clear()
    os.environ.update(start["environment"])
    os.chdir(start["cwd"])
    if "PYTHONSAFEPATH" not in os.environ:
        sys.path.insert(0, start["cwd"])
    tempfile.tempdir = None  # found again with this environment
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # `random` does this itself after a fork
    return start["module"], start["arguments"]


def _set_since_start() -> Dict[str, str]:
    """Return the variables that the worker, its imports and Python itself have set."""
    items = os.fsdecode(Path("/proc/self/environ").read_bytes()).split("\0")
    initial = dict(item.split("=", 1) for item in items if "=" in item)
    return {name: value for name, value in os.environ.items() if initial.get(name) != value}


def _show_run(folder: str) -> None:
    """Write a run's folder into the variables that the system shows for this process, which are otherwise the
    warm worker's."""
    stat = Path("/proc/self/stat").read_bytes()
    begin, end = map(int, stat[stat.rindex(b")") + 2 :].split()[47:49])
    offset = ctypes.string_at(begin, end - begin).find(f"{RUN_DIR}=".encode())
    address, value = begin + offset + len(RUN_DIR) + 1, folder.encode()
    if offset >= 0 and len(value) < end - address:
        ctypes.memmove(address, value.ljust(end - address, b"\0"), end - address)
