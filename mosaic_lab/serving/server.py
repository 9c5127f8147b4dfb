"""`Server`, a run that serves a language model, and its start."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from mosaic_lab import workers
from mosaic_lab.errors import MosaicError, RunFailed, RunTimeout
from mosaic_lab.keeper.environment_variables import USER_SITE
from mosaic_lab.keeper.states import RunStatus, State
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.runs.hardware import choose_gpus, cpu_cores
from mosaic_lab.runs.run import failure_report
from mosaic_lab.runs.run_process import GRACE_SECONDS
from mosaic_lab.serving.engines import ENGINES, HOST
from mosaic_lab.serving.request import ServeRequest, request_of
from mosaic_lab.validation import checked_methods

COMMAND = [sys.executable, "-m", "mosaic_lab.serving"]
ADDRESS = "server.json"
"""The file in the run's folder with the server's port, once it answers."""
READY_SECONDS = 600.0
_POLL_SECONDS = 0.1


@checked_methods("server")
class Server(Run):
    """A language model served on this machine, made by `mosaic_lab.Lab.serve`. Like every run it survives the
    kernel: `mosaic_lab.Lab.run` finds it again, and ``stop`` ends it."""

    @property
    def engine(self) -> str:
        """The program that serves it: "llama.cpp" or "vllm"."""
        return str(self.config["engine"])

    @property
    def model(self) -> str:
        """The name of the model in requests."""
        return str(self.config["name"])

    @property
    def ready(self) -> bool:
        """Whether it answers requests."""
        return self._port(self.status) is not None

    @property
    def address(self) -> str:
        """The address of its API, such as "http://127.0.0.1:8000/v1". Raises MosaicError unless it is
        ready."""
        if (port := self._port(self.status)) is None:
            raise MosaicError(
                f"run {self.id} does not answer: {self.reason}. server.wait_ready() waits for it"
            )
        return _address(port)

    def wait_ready(self, timeout: float = READY_SECONDS) -> Self:
        """Wait until it answers requests, and return it.

        Raises RunFailed with its last log lines if it has failed, MosaicError if it was stopped, and
        RunTimeout after ``timeout`` seconds; it then continues to load.
        """
        deadline = time.monotonic() + timeout
        show = None if self.display is None else self.display.waiting([self])
        while not self.ready:
            status = self.status
            if status.state in (State.FAILED, State.LOST):
                raise RunFailed(
                    failure_report(self.folder, f"run {self.id} ({self.label}) {status.state}: {self.reason}")
                )
            if status.state.finished:
                raise MosaicError(f"run {self.id} is {status.state}: server.resume() starts it again")
            if time.monotonic() >= deadline:
                raise RunTimeout(f"run {self.id} does not answer after {timeout:g} s: {self.reason}")
            if show is not None:
                show(False)
            time.sleep(_POLL_SECONDS)
        if show is not None:
            show(True)
        return self

    def explained(self, status: RunStatus) -> str:
        if status.state is not State.RUNNING:
            return super().explained(status)
        port = self._port(status)
        return f"loads {self.model}" if port is None else f"answers at {_address(port)}"

    @property
    def progress_text(self) -> str:
        """The number of tokens written so far, such as ``1,024 tokens``."""
        step = self.step
        return "" if step is None else f"{step:,} tokens"

    def resume(self) -> Self:
        """Start an ended server again in its folder, on the same port if it is free, and return at once.

        Environment variables that were passed to `Lab.serve` are read from this process. Raises MosaicError
        if it is alive, and the errors that `Lab.serve` raises.
        """
        if self.alive:
            raise MosaicError(f"run {self.id} is {self.state}: it can be resumed when it has ended")
        request = request_of(self).validated()
        command, _ = _command(request, print)
        config = {**_config(request, command), "former_port": self._recorded_port()}
        (self.path / ADDRESS).unlink(missing_ok=True)
        Supervisor(self.path.parent, display=self.display).resume(
            Run(self.folder, self.display),
            env_vars=USER_SITE,
            pass_env_vars=request.pass_env_vars,
            config=config,
        )
        self.__dict__.pop("config", None)  # cached
        return self

    def _recorded_port(self) -> int | None:
        port = self.folder.document(self.path / ADDRESS).get("port")
        return port if isinstance(port, int) else None

    def _port(self, status: RunStatus) -> int | None:
        return self._recorded_port() if status.state is State.RUNNING else None


def start_server(
    supervisor: Supervisor, request: ServeRequest, progress: Callable[[str], None] = print
) -> Server:
    """Check a request, install the program's environment, and start a run that serves the model; see
    `mosaic_lab.Lab.serve`."""
    request = request.validated()
    gpus = request.gpus
    if gpus is None:
        gpus = 1 if request.engine == "vllm" and request.program is None else 0
    choose_gpus(gpus)  # missing GPUs are refused before anything is installed
    command, environment = _command(request, progress)
    run = supervisor.start(
        COMMAND,
        _config(request, command),
        worker=request.engine,
        label=f"{request.engine} {request.served_name}"[:200],
        gpus=gpus,
        threads=request.threads or _threads(),
        env_vars={**USER_SITE, **(request.env_vars or {})},
        pass_env_vars=request.pass_env_vars,
        grace_seconds=request.grace_seconds + GRACE_SECONDS,
        worker_environment=environment,
        takes_slot=False,
        request=request.to_json(),
    )
    return Server(run.folder, run.display)


def _command(request: ServeRequest, progress: Callable[[str], None]) -> tuple[list[str], dict[str, Any]]:
    """Return the command that starts the program, without its arguments, and a description of its origin. A
    missing worker environment is installed."""
    if request.program is not None:
        engine = ENGINES[request.engine]
        return [str(request.program), *engine.subcommand], {"program": str(request.program)}
    environment = workers.ensure(request.engine, progress)
    return [*environment.command(), "--serve"], environment.recorded()


def _config(request: ServeRequest, command: Sequence[str]) -> dict[str, Any]:
    """Return the configuration of the run's process."""
    return {
        "engine": request.engine,
        "model": str(request.model),
        "name": request.served_name,
        "command": list(command),
        "own_program": request.program is not None,
        "port": request.port,
        "threads": request.threads or _threads(),
        "options": dict(request.options),
    }


def _threads() -> int:
    """Return half of the machine's cores, because evaluations need the rest."""
    return max(1, cpu_cores() // 2)


def _address(port: int) -> str:
    return f"http://{HOST}:{port}/v1"
