"""Ray for the duration of one training: a private local instance, or an existing cluster.

A local Ray has its own folder for sockets, logs and results, its own token, and its own process groups: a
signal to the run's group reaches only the run, which then stops Ray. Nothing of it remains. A cluster is
joined and left, and keeps running.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import logging
import math
import os
import secrets
import shutil
import signal
import tempfile
import threading
import time
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, TypeVar

from mosaic_contract import ConfigError
from mosaic_contract.errors import one_line

_START_SECONDS = 180.0  # a local Ray takes 5 on a quiet machine, and 30 on a busy one
_LEAVE_SECONDS = 4.0  # of the grace period; then Ray is killed, since none of its data is kept
_KILL_SECONDS = 2.0
_MAX_FOLDER_LENGTH = 40  # characters; paths of sockets in it are limited to 107
_STORE_BYTES = 256 << 20  # of shared memory for objects
_TURN_SECONDS = 0.005  # during which a signal may end the process while Ray shuts down
_POLL_SECONDS = 1.0  # between checks of a cluster's free resources, or of a blocking call
_INTERRUPT_SECONDS = 0.5  # for a thread outside of Ray to end
_LOWER = {"CPU": "num_env_runners or num_learners", "GPU": "num_gpus_per_learner or num_learners"}

_T = TypeVar("_T")

log = logging.getLogger(__name__)
_own_process_groups = False


@contextlib.contextmanager
def scratch(address: str | None) -> Iterator[Path]:
    """Provide a folder for Ray's files, removed at the end. Imports upstream with its results in this folder,
    and with its own token for a local Ray."""
    _set_token(local=address is None)
    system_folder = tempfile.gettempdir()
    parent = system_folder if len(system_folder) + len("/ray-12345678") <= _MAX_FOLDER_LENGTH else "/tmp"
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir=parent))
    try:
        _import_ray(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def ray_running(folder: Path, address: str | None, needed: Mapping[str, float]) -> Iterator[None]:
    """Provide Ray with the required "CPU" and "GPU" resources; on a cluster, wait until they are free. Raises
    `ConfigError` for a cluster that cannot be joined or is too small."""
    import ray

    stopped = threading.Event()
    try:
        if address is None:
            _start_local(ray, folder, int(needed["CPU"]), stopped)
        else:
            _join(ray, address, stopped)
            _wait_for_capacity(ray, address, needed)
        yield
    finally:
        descendants = _descendants() if address is None else []
        within(_LEAVE_SECONDS, ray.shutdown, meanwhile=_handle_signals)
        stopped.set()
        if address is None:
            _kill(descendants)
        _handle_signals()


def _set_token(*, local: bool) -> None:
    """Set the token that upstream reads on import: a new one for a local Ray, the user's for a cluster."""
    user_variables = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & set(os.environ)
    if local and not user_variables:
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    if local or user_variables or Path("~/.ray/auth_token").expanduser().is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def _import_ray(home: Path) -> None:
    """Import upstream, which then chooses its results folder (~/ray_results by default). Code of this package
    that runs on other machines does not need our packages there."""
    previous_home = os.environ.get("HOME")
    os.environ["HOME"] = str(home)
    try:
        importlib.import_module("ray.train.constants")
    finally:
        os.environ.pop("HOME") if previous_home is None else os.environ.update(HOME=previous_home)
    ray = importlib.import_module("ray")
    ray.cloudpickle.register_pickle_by_value(importlib.import_module(__package__))


def _start_local(ray: Any, folder: Path, cpus: int, stopped: threading.Event) -> None:
    settings = {
        "num_cpus": cpus,
        "include_dashboard": False,
        "object_store_memory": _STORE_BYTES,
        "_temp_dir": str(folder),
        "_node_ip_address": "127.0.0.1",
    }
    log.info("starting Ray")
    with _process_groups():
        try:
            _init(ray, stopped, **settings)
        except Exception as error:  # its deadlines are too short for a first start on a busy machine
            log.warning("Ray has not started (%s); trying once more", one_line(error))
            ray.shutdown()
            _kill(_descendants())
            _init(ray, stopped, **settings)


def _join(ray: Any, address: str, stopped: threading.Event) -> None:
    log.info("joining the Ray cluster at %s", address)
    try:
        _init(ray, stopped, address=address)
    except Exception as error:  # Ray raises arbitrary exceptions
        raise ConfigError(
            f"address: the Ray cluster at {address} could not be joined: {one_line(error)}. This machine "
            "must be one of its nodes (`ray start --address=...`), with the same versions of Ray and Python; "
            "its token is taken from RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH (pass_env_vars=), or "
            "~/.ray/auth_token"
        ) from None
    if os.environ.get("RAY_AUTH_MODE") != "token":
        log.warning(
            "the Ray cluster at %s requires no token: whoever reaches its ports may run code on it "
            "(`ray get-auth-token --generate` makes one, RAY_AUTH_MODE=token has `ray start` require it)",
            address,
        )


def _wait_for_capacity(ray: Any, address: str, needed: Mapping[str, float]) -> None:
    """Wait until the required resources are free on the cluster. Upstream would wait silently for its
    runners, and only a limited time for its learners."""
    total, free = ray.cluster_resources(), ray.available_resources()
    for name, amount in needed.items():
        if total.get(name, 0) < amount:
            raise ConfigError(
                f"this training needs {amount:g} {name}s for its runners and learners, the Ray cluster at "
                f"{address} has {total.get(name, 0):g}: lower {_LOWER[name]}, or add a node that has them"
            )
        if free.get(name, 0) < amount:
            log.info(
                "%g of the cluster's %g %ss are free, this training needs %g; waiting for others' trainings "
                "to end", free.get(name, 0), total[name], name, amount,
            )  # fmt: skip
    while any(ray.available_resources().get(name, 0) < amount for name, amount in needed.items()):
        time.sleep(_POLL_SECONDS)


def _init(ray: Any, stopped: threading.Event, **settings: Any) -> None:
    """Call `ray.init` in a thread that stays alive until Ray is stopped: Ray's processes end with the thread
    that started them."""

    def start() -> None:
        ray.init(log_to_driver=True, configure_logging=False, **settings)

    try:
        hearing_signals(start, after_call=stopped.wait, seconds=_START_SECONDS)
    finally:
        _handle_signals()


def _handle_signals() -> None:
    """Reinstall Python's signal handlers. Ray replaces them at the C level: at its start by its own, at its
    end by the default. Both end the process."""
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.getsignal(signum))


def hearing_signals(
    call: Callable[[], _T],
    after_call: Callable[[], object] = lambda: None,
    meanwhile: Callable[[], object] = lambda: None,
    seconds: float = math.inf,
) -> _T:
    """Run a blocking Ray call in a helper thread so that the main thread still receives signals. Calls
    `meanwhile` every second, and `then` in that thread once the call has returned.

    Raises the errors of the call and of `meanwhile`, and `TimeoutError`. The thread of an abandoned call is
    interrupted, at once or when it returns from Ray, so the call's data no longer change.
    """
    answer: Future[_T] = Future()

    def attempt() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)
        after_call()

    thread = threading.Thread(target=attempt, name="ray", daemon=True)
    thread.start()
    deadline = time.monotonic() + seconds
    try:
        while not wait([answer], _POLL_SECONDS).done:
            if time.monotonic() > deadline:
                raise TimeoutError(f"it takes more than {seconds:g} s")
            meanwhile()
    except BaseException:
        _interrupt(thread)
        raise
    return answer.result()


def _interrupt(thread: threading.Thread) -> None:
    """Raise `SystemExit` in a thread, and wait briefly for its end."""
    ident, error = ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)
    thread.join(_INTERRUPT_SECONDS)


@contextlib.contextmanager
def _process_groups() -> Iterator[None]:
    """Start processes in their own process groups within the block."""
    global _own_process_groups
    _own_process_groups = True
    try:
        yield
    finally:
        _own_process_groups = False


def _after_fork() -> None:
    if _own_process_groups:
        os.setpgid(0, 0)


os.register_at_fork(after_in_child=_after_fork)


def _descendants() -> list[Any]:
    """Return all descendants of this process. psutil is a dependency of Ray."""
    import psutil

    return list(psutil.Process().children(recursive=True))


def _kill(descendants: list[Any]) -> None:
    """Kill the survivors among these processes and their descendants."""
    import psutil

    deadline = time.monotonic() + _KILL_SECONDS
    alive = descendants
    while alive and time.monotonic() < deadline:
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=0.2)
        alive = [process for process in {*descendants, *_descendants()} if process.is_running()]


def within(seconds: float, call: Callable[[], None], meanwhile: Callable[[], None] = lambda: None) -> None:
    """Run a function that may hang; wait at most `seconds` and call `meanwhile` every few milliseconds."""

    def attempt() -> None:
        try:
            call()
        except Exception as error:  # it is stopped regardless
            log.info("while the run was ending: %s", one_line(error))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    deadline = time.monotonic() + seconds
    while thread.is_alive() and time.monotonic() < deadline:
        thread.join(_TURN_SECONDS)
        meanwhile()
