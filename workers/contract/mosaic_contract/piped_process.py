"""Processes that read commands from a pipe and answer on another: started cold, or forked by a warm worker
(`mosaic_contract.warm`)."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from mosaic_contract.programs import exit_text
from mosaic_contract.ready_process import send_start

_MAX_ANSWER_BYTES = 4096
_FORK_SECONDS = 60.0  # a fork takes milliseconds once the library is imported
_IMPORT_SECONDS = 30.0  # after which a process starts cold rather than waiting longer for the import


class WarmProcess:
    """``python -m MODULE ARGUMENT…`` in a fork, with the attributes of `subprocess.Popen` that are needed.

    It is not a child of this process. Its parent, another fork, reports its exit code and keeps its pid
    reserved until that is read. It exits with this process or object, which ends its child, too.
    """

    def __init__(
        self,
        pid: int,
        channel: socket.socket,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: Union[str, Path],
        descriptors: Mapping[int, int],
    ) -> None:
        self.pid = pid
        self.returncode: Optional[int] = None
        self._channel = channel
        self._lock = threading.Lock()
        child_in, write = os.pipe()
        read, child_out = os.pipe()
        self.stdin, self.stdout = os.fdopen(write, "wb", 0), os.fdopen(read, "rb", 0)
        try:
            send_start(channel, command[2], command[3:], env, cwd, {child_in: 0, child_out: 1, **descriptors})
        except BaseException:
            self.stdin.close()
            self.stdout.close()
            raise
        finally:
            os.close(child_in)
            os.close(child_out)

    def poll(self) -> Optional[int]:
        return self._await(0.0)

    def wait(self, timeout: Optional[float] = None) -> int:
        code = self._await(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("python", timeout or 0.0)
        return code

    def _await(self, seconds: Optional[float]) -> Optional[int]:
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        if self.returncode is None and poll.poll(None if seconds is None else 1e3 * seconds):
            with self._lock:
                if self.returncode is None:
                    try:
                        code = _receive(self._channel).get("code")
                        self.returncode = -signal.SIGTERM if code is None else code  # its parent was killed
                    finally:  # also if interrupted: the next read then finds the end
                        self._channel.shutdown(socket.SHUT_RDWR)
        return self.returncode

    def __del__(self) -> None:
        self._channel.close()


Process = Union["subprocess.Popen[bytes]", WarmProcess]


def start_process(
    command: Sequence[str],
    *,
    stderr: int,
    cwd: Union[str, Path],
    env: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    warm: Optional[int] = None,
) -> Process:
    """Start a command in its own session with pipes as its stdin and stdout.

    With ``warm``, the socket of a warm worker, the command must be ``python -m MODULE ARGUMENT…``. It is
    forked there once the library is imported, or started cold if that is refused. Raises `OSError`,
    `ValueError` or `TypeError`.
    """
    if warm is not None:
        descriptors = {stderr: 2, **{number: number for number in pass_fds}}
        with suppress(OSError):  # it does not answer, it was killed, or the packet is too long
            pid, channel = request_fork(warm, {"commands": []}, (), _IMPORT_SECONDS)
            if pid is not None:
                return WarmProcess(pid, channel, command, env, cwd, descriptors)
            channel.close()
    return subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        bufsize=0,
        cwd=cwd,
        env=dict(env),
        pass_fds=pass_fds,
        start_new_session=True,
    )


def how_it_ended(process: Process, seconds: float) -> str:
    """Return how a process has ended, after the end of its output: as `exit_text`, or "has closed its output"
    if it does not exit within `seconds`."""
    try:
        return exit_text(process.wait(seconds))
    except subprocess.TimeoutExpired:
        return "has closed its output"


def request_fork(
    warm: int, request: Mapping[str, Any], descriptors: Sequence[int], seconds: float = _FORK_SECONDS
) -> Tuple[Optional[int], socket.socket]:
    """Send a request to the warm worker with the socket ``warm``. Return the pid in its answer, None if it
    refuses, and the request's own socket. Raises `TimeoutError`."""
    channel, remote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    answer: Dict[str, Any] = {}
    try:
        with remote_end, socket.socket(fileno=os.dup(warm)) as control:
            socket.send_fds(control, [json.dumps(request).encode()], [*descriptors, remote_end.fileno()])
        answer = _receive(channel, seconds)
    except TimeoutError:
        channel.close()
        raise
    except OSError:  # the warm worker has ended
        pass
    return answer.get("pid"), channel


def _receive(channel: socket.socket, seconds: Optional[float] = None) -> Dict[str, Any]:
    """Return the next message; empty at the end. Raises `TimeoutError`."""
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    if not poll.poll(None if seconds is None else 1e3 * seconds):
        raise TimeoutError(f"no answer within {seconds:g} s")
    data = channel.recv(_MAX_ANSWER_BYTES)
    return json.loads(data) if data else {}
