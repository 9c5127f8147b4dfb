"""A run on a node: its worker's environment and its keeper.

It runs in a process of the cluster, with the cluster's Python, the standard library and the contract. The
keeper does not outlive this process: it holds the end of a pipe that closes with the process.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mosaic_lab.engines import node_environment
from mosaic_lab.engines.engine import Stop
from mosaic_lab.engines.frames import NodeFrames
from mosaic_lab.engines.job import INPUTS, SERVER, Job
from mosaic_lab.engines.node_files import NodeFiles, folder_of
from mosaic_lab.keeper.environment_variables import RUN_DIR_VARIABLE, compose_variables
from mosaic_lab.keeper.launch import Launch, start_keeper, take_new
from mosaic_lab.keeper.processes import send_group
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import RunStatus, State, queued

_FORGOTTEN = 30 * 86_400.0  # seconds after which an ended run that no bridge has read is deleted


class NodeRun:
    """The run of ``job`` on this machine, the node ``node``."""

    def __init__(self, job: Job, node: str) -> None:
        self.job = job
        self.home = Path(job.folder).expanduser()
        self.folder = folder_of(self.home, job.run_id, job.attempt)
        self.node = node
        self.frames = NodeFrames(self.folder.path)
        self._lock = threading.Lock()
        self._status: RunStatus | None = None
        self._stopped: Stop | None = None
        self._builder: int | None = None
        self._lifeline: int | None = None
        self.files = NodeFiles(self.folder, node, lambda: self._status)

    # ---------------------------------------------------------------- starting

    @property
    def started(self) -> bool:
        """Whether the run was started on this node, by this or another process."""
        return self._status is not None or self.folder.state_path.exists()

    def put(self, path: str, offset: int, data: bytes) -> None:
        """Write part of one of the run's input files."""
        target = self.folder.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("r+b" if target.exists() else "wb") as file:
            file.seek(offset)
            file.write(data)

    def start(self, variables: Mapping[str, str]) -> None:
        """Build the worker's environment and start the keeper in a thread. `files` reports the progress."""
        if self.started:
            return
        self.folder.path.mkdir(parents=True, exist_ok=True)
        self._say(State.STARTING, f"preparing worker '{self.job.worker}' on {self.node}")
        threading.Thread(target=self._start, args=(variables,), daemon=True).start()

    def _start(self, variables: Mapping[str, str]) -> None:
        _delete_forgotten(self.home / "runs")
        try:
            prepared = self._prepare(self.job.worker)
            config = dict(self.job.config)
            if server := config.get(SERVER):
                config[SERVER] = {**server, "command": self._prepare(server["worker"]).command}
            with self._lock:
                if self._stopped is None:
                    self._record(prepared.environment)
                    self._keep(prepared.command, config, {**variables, **prepared.variables})
                    return
            self._say(State.CANCELLED, f"stopped before it started ({self._stopped})")
        except Exception as error:
            if self._stopped is not None:
                self._say(State.CANCELLED, f"stopped before it started ({self._stopped})")
            else:
                *earlier, last = str(error).splitlines() or [type(error).__name__]
                with suppress(OSError), self.folder.log_path.open("a") as log:  # the disk may be full
                    print(*earlier, last, sep="\n", file=log)
                self._say(State.FAILED, f"it could not be started on {self.node}: {last}")

    def _prepare(self, worker: str) -> node_environment.Prepared:
        job = replace(self.job, worker=worker)
        return node_environment.prepare(self.home, job, self._progress, self._started_builder)

    def _record(self, environment: Mapping[str, Any]) -> None:
        """Write this node's part of the run's provenance, in place of the user's machine."""
        fields = {"node": self.node, "platform": platform.platform(), "machine": platform.machine()}
        recorded = {"environment": dict(environment)} if environment else {}
        write_json(self.folder.node_path, fields | recorded)

    def _keep(self, command: list[str], config: Mapping[str, Any], variables: Mapping[str, str]) -> None:
        job, folder = self.job, self.folder
        environment = compose_variables(os.environ, threads=job.threads, env_vars=variables)
        gpus = [int(gpu) for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu.isdecimal()]
        lock = take_new(folder)
        read_end, self._lifeline = os.pipe()
        try:
            write_json(folder.state_path, queued("starting", time.time()).to_dict())
            write_json(folder.config_path, _placed(config, folder.path))
            write_json(folder.launch_path, {"worker": job.worker, "command": command})
            launch = Launch(
                command=[*command, "--config", str(folder.config_path)],
                environment={**environment, RUN_DIR_VARIABLE: str(folder.path)},
                grace_seconds=job.grace_seconds,
                max_running=None,
                gpus=gpus[: job.gpus],  # reserved by the cluster
                gpu_count=None if job.gpus else 0,
                gpu_locks=str(self.home / "gpus"),
                scratch=str(folder.scratch_path),
                lifeline=read_end,
            )
            start_keeper(folder, launch, lock)
        finally:
            os.close(lock)
            os.close(read_end)
        self._status = None

    def _progress(self, line: str) -> None:
        self._say(State.STARTING, f"preparing on {self.node}: {line.strip()}")

    def _started_builder(self, pid: int) -> None:
        self._builder = pid

    def _say(self, state: State, reason: str) -> None:
        before = self._status or queued(reason, time.time())
        self._status = before.moved_to(state, reason, time.time())

    # ------------------------------------------------------------------ ending

    def stop(self, stop: Stop) -> None:
        """Request the run's end, in any state."""
        with self._lock:
            self._stopped = stop
            if self._status is None:
                self._request_stop({**asdict(stop), "timestamp": time.time()})
            elif self._builder is not None:
                send_group(self._builder, signal.SIGKILL)

    def _request_stop(self, request: Mapping[str, Any]) -> None:
        try:
            write_json(self.folder.stop_path, request)
        except OSError:  # on a full disk, closing the lifeline also stops the run
            if self._lifeline is not None:
                os.close(self._lifeline)
                self._lifeline = None

    def remove(self) -> None:
        """Delete the run's files on this node."""
        shutil.rmtree(self.folder.path, ignore_errors=True)


def _delete_forgotten(runs: Path) -> None:
    """Delete runs that ended long ago and that no bridge has read, because they continued elsewhere after
    this node was temporarily lost or because their user has left."""
    with suppress(OSError):
        for folder in map(RunFolder, runs.glob("*/*")):
            changed = max(path.stat().st_mtime for path in (folder.path, *folder.path.iterdir()))
            if time.time() - changed > _FORGOTTEN and not folder.alive():
                shutil.rmtree(folder.path, ignore_errors=True)


def _placed(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a worker's configuration with paths in the run folder replaced by absolute paths on the node."""

    def resolve(value: Any) -> Any:
        if isinstance(value, str) and value.startswith(f"{INPUTS}/"):
            return str(folder / value)
        if isinstance(value, Mapping):
            return {resolve(name): resolve(item) for name, item in value.items()}
        return [resolve(item) for item in value] if isinstance(value, list) else value

    return {
        **resolve(config),
        "run_id": folder.name,
        "run_dir": str(folder),
        "launch_dir": str(folder / INPUTS),
    }
