"""A warm worker: a worker started with ``--warm DESCRIPTOR``, Linux only.

The process imports the modules in `Worker.preload` and then forks ready processes
(`mosaic_contract.ready_process`) for trainings, dry runs and operators, which start without these imports. It
has one thread, which is checked, and draws no random numbers.

The descriptor is a socket of packets. The first one is sent by this process: ``{"answers": true}``, or why it
cannot fork.
The last descriptor of a request is a socket for the answer, ``{"pid": …}`` or ``{"refused": reason}``; so
several processes can send requests (`mosaic_contract.piped_process`). The process ends after a refusal, when
the socket is shut down, and after ten minutes without a request.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from mosaic_contract.ready_process import ReadyProcess, assign_numbers, receive

NAME = "mosaic-warm"
"""The name that the system shows of a warm worker, but not of its forks."""
_UNUSED_SECONDS = 600.0
_COMM = Path("/proc/self/comm")
_Files = Dict[str, Tuple[int, int, int]]


def serve(
    descriptor: int, modules: Sequence[str], work: Callable[[Sequence[str]], int], *, standby: bool
) -> int:
    """Import the modules and serve requests until the end. In a ready process, do not return: call `work`
    with the arguments with which it is started. ``standby`` is as in `ReadyProcess.run_when_started`."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]  # the working directory, which is another one in each ready process
    for name in modules:
        import_module(name)
    files = _files()
    refused = _refusal() if modules else "its worker names no modules to import in advance"
    _send(control, {"refused": refused} if refused else {"answers": True})
    if not refused and (process := _serve(control, files)) is not None:
        control.close()
        process.run_when_started(work, standby=standby)
    return 0


def _refusal() -> str:
    """Return why this process cannot be forked safely; empty if it can."""
    threads = len(list(Path("/proc/self/task").iterdir()))
    return "" if threads == 1 else f"its library has started {threads - 1} threads, which a fork would lose"


def _serve(control: socket.socket, files: _Files) -> Optional[ReadyProcess]:
    """Answer requests until the end and return None; in a fork, return its ready process."""
    output = os.fstat(2).st_size
    own_name = _COMM.read_text().rstrip("\n")
    _COMM.write_text(NAME)
    while select.select([control], [], [], _UNUSED_SECONDS)[0]:
        request, descriptors = receive(control)
        if request is None:
            break
        answers = socket.socket(fileno=descriptors.pop())
        if refused := _refusal() or ("" if _files() == files else "its environment has changed"):
            _send(answers, {"refused": refused})
            break
        forked = os.fork()
        if forked == 0:
            control.close()
            _COMM.write_text(own_name)
            return _detached(answers, request, descriptors, output)
        for descriptor in (answers.detach(), *descriptors):
            os.close(descriptor)
        if os.waitpid(forked, 0)[1] != 0:
            break
    return None


def _files() -> _Files:
    """Return the identities of the files of all imported modules."""
    files: _Files = {}
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if isinstance(name, str):
            with suppress(OSError):
                stat = Path(name).stat()
                files[name] = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
    return files


def _detached(
    answers: socket.socket, request: Dict[str, Any], descriptors: List[int], output: int
) -> ReadyProcess:
    """Fork a detached process and exit. In the new process, which gets a session of its own, execute the
    first command, as the parent of the next one and so on; the last command is the parent of the returned
    ready process. The answer is the first one's pid.

    The commands get the descriptors as 0, 1, 2, …, the last one all of them, followed by the socket of the
    ready process; ``MOSAIC_CHILD`` is the child's pid and, for the last one, the number of that socket.

    Without commands, the answer is the pid of the ready process, and ``answers`` its socket.
    """
    try:
        commands = request["commands"]
        if pid := os.fork():
            if commands:
                _send(answers, {"pid": pid})
            os._exit(0)
        os.setsid()
        if not commands:
            return _watched(answers, output)
        answers.close()
        channel, remote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for command in commands:
            parent, last = os.getpid(), command is commands[-1]
            if child := os.fork():
                passed = [*descriptors, remote_end.fileno()] if last else descriptors[:3]
                assign_numbers(passed, range(len(passed)))
                value = f"{child} {len(descriptors)}" if last else str(child)
                os.execve(command[0], command, {**request["environment"], "MOSAIC_CHILD": value})
        remote_end.close()
        for descriptor in descriptors:
            os.close(descriptor)
        return ReadyProcess(channel, output, parent)
    except BaseException as error:
        os.write(2, f"a process could not be forked: {error!r}\n".encode())
        os._exit(1)


def _watched(channel: socket.socket, output: int) -> ReadyProcess:
    """Fork and return in the child, a ready process. This process sends its exit code, ``{"code": …}``, and
    exits when the other end of ``channel`` is closed, which ends the child."""
    parent = os.getpid()
    wake_reader, wake_writer = os.pipe()
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    if child := os.fork():
        poll = select.poll()
        poll.register(channel, 0)  # its end only
        poll.register(wake_reader, select.POLLIN)
        while all(descriptor == wake_reader for descriptor, _ in poll.poll()):
            os.read(wake_reader, 1)
            end = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # its pid stays reserved
            if end is not None:
                killed = end.si_code != os.CLD_EXITED
                _send(channel, {"code": -end.si_status if killed else end.si_status})
        with suppress(ChildProcessError):
            os.waitpid(child, os.WNOHANG)
        os._exit(0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.close(wake_reader)
    os.close(wake_writer)
    process = ReadyProcess(channel, output, parent)
    _send(channel, {"pid": os.getpid()})
    return process


def _send(control: socket.socket, message: Dict[str, Any]) -> None:
    with suppress(OSError):  # the kernel has exited, which ends this process
        control.send(json.dumps(message).encode())
