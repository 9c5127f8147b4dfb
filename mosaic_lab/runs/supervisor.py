"""Start runs and find them again.

The supervisor writes a run folder and starts the run's keeper, but keeps no connection to it: all state is in
the folder and in the keeper's lock, so a restarted kernel knows as much as this one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic_contract import fastlane
from mosaic_contract.stdio import reserve_standard_streams

from mosaic_lab.engines import clusters
from mosaic_lab.engines.mirror import PLACEMENT
from mosaic_lab.engines.placement import bridge_of, given_gpus, gpu_count
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper import locks, orphans
from mosaic_lab.keeper.environment_variables import KEEPER_VARIABLE, RUN_DIR_VARIABLE, compose_variables
from mosaic_lab.keeper.launch import Launch, start_keeper
from mosaic_lab.keeper.run_store import RunFolder, RunStore, write_json
from mosaic_lab.keeper.states import State, queued
from mosaic_lab.keeper.warm_workers import WARM_WORKERS
from mosaic_lab.runs import dry_run
from mosaic_lab.runs.films import FilmMode
from mosaic_lab.runs.group import RunGroup, unstarted_seeds
from mosaic_lab.runs.hardware import choose_gpus, cpu_cores
from mosaic_lab.runs.provenance import provenance, recorded_module
from mosaic_lab.runs.run import DEFAULT_GRACE, Run, RunDisplay
from mosaic_lab.runs.run_labels import default_label, new_run_id
from mosaic_lab.runs.run_names import exact_run, find_run

_LEAVE_DEADLINE = 5.0  # seconds for a keeper to exit after recording the end


class Supervisor:
    """The runs of one store.

    ``max_running`` is the maximum number of concurrent runs of the store (default: the CPU cores available to
    this process); further ones are queued. ``display`` is where runs are shown (default: nowhere). ``warm``:
    whether runs are started by warm workers (`keeper.warm_workers`).
    """

    def __init__(
        self,
        root: Path | str = "mosaic_runs",
        max_running: int | None = None,
        display: RunDisplay | None = None,
        warm: bool = False,
    ) -> None:
        if max_running is not None and max_running < 1:
            raise ConfigurationError(f"max_running={max_running}: must be an integer ≥ 1")
        reserve_standard_streams()
        self.store = RunStore(root)
        root_or_parent = next(
            folder for folder in (self.store.root, *self.store.root.parents) if folder.exists()
        )
        if not root_or_parent.is_dir():
            raise ConfigurationError(f"{root_or_parent} is a file: give the folder of a run store")
        self.display = display
        self.max_running = max_running or cpu_cores()
        self.warm = WARM_WORKERS if warm else None
        fastlane.sweep()  # left behind by runs that were killed with their keepers
        dry_run.remove_abandoned()

    def runs(self) -> list[Run]:
        """Return all runs of the store, oldest first."""
        return [Run(folder, self.display) for folder in self.store.folders()]

    def groups(self) -> dict[str, RunGroup]:
        """Return the runs started together over several seeds, by group name, oldest first."""
        members: dict[str, list[Run]] = {}
        for run in self.runs():
            if run.group is not None:
                members.setdefault(run.group, []).append(run)
        missing = unstarted_seeds(self.store)
        return {name: RunGroup(runs, name, missing.get(name, ())) for name, runs in members.items()}

    def incomplete(self) -> list[str]:
        """Return a line for each group with runs that were never started because its kernel exited."""
        groups = self.groups().items() if unstarted_seeds(self.store) else ()
        return [f"group {name}: {group.trouble}" for name, group in groups if group.missing]

    def run(self, run: Run | str) -> Run:
        """Return a run by its id or any name under which users see it; see `find_run`. Raises UnknownRun."""
        return find_run(run, self.store, self.display)

    def exact_run(self, name: str) -> Run:
        """Return a run by its whole id or displayed name, to stop or remove it. Raises UnknownRun."""
        return exact_run(name, self.store, self.display)

    def start(
        self,
        command: Sequence[str],
        config: Mapping[str, Any],
        *,
        worker: str,
        label: str | None = None,
        group: str | None = None,
        gpus: int | Sequence[int] | None = None,
        threads: int = 1,
        env_vars: Mapping[str, str] | None = None,
        pass_env_vars: Iterable[str] = (),
        grace_seconds: float = DEFAULT_GRACE,
        worker_environment: Mapping[str, Any] | None = None,
        program: Mapping[str, str] | None = None,
        hyperparameters: Mapping[str, Any] | None = None,
        films: FilmMode = "off",
        steps: int | None = None,
        parent: str | None = None,
        sweep: Mapping[str, Any] | None = None,
        curriculum: Mapping[str, Any] | None = None,
        run_id: str | None = None,
        starts_runs: bool = False,
        takes_slot: bool = True,
        on: str | None = None,
        restarts: int = 0,
        request: Mapping[str, Any] | None = None,
    ) -> Run:
        """Start ``command --config <run folder>/config.json``, or queue it, and return immediately.

        The worker's working directory is its run folder.

        Args:
            command: the command, without ``--config``.
            config: the configuration, written with ``run_id`` and ``run_dir`` added.
            worker: name of the worker.
            label: label of the run; default: derived from the worker and the configuration.
            group: name of the group of runs started together.
            gpus: number of free GPUs, or the indices; default: none, or as in the cluster's profile.
            threads: value of OMP_NUM_THREADS and similar variables.
            env_vars: variables added to the worker's environment. Names are recorded, values never.
            pass_env_vars: names of this process's variables to pass on.
            grace_seconds: time between SIGTERM and SIGKILL.
            worker_environment: its description for the run's provenance.
            program: path and cwd of the user's program, for the provenance.
            hyperparameters: all values used in training, including defaults.
            films: the checkpoints to be filmed; recorded.
            steps: the step after which the worker ends; recorded.
            parent: id of the run that this background run works for. It does not count towards
                ``max_running``.
            sweep: ``id`` of the sweep and number of the ``trial`` that the run belongs to.
            curriculum: ``id`` of the curriculum and number of the ``stage`` that the run belongs to.
            run_id: id of the run; default: a new one.
            starts_runs: whether it starts other runs, which outlive it. It does not count towards
                ``max_running``.
            takes_slot: whether it counts towards ``max_running`` otherwise.
            on: name of a cluster (see `engines.clusters.find`), whose nodes build the command themselves.
            restarts: maximum restarts after the loss of a node.
            request: the arguments given by the user (`Request.to_json`), written to ``request.json``.

        Raises:
            ConfigurationError: GPUs that do not exist, or an unset variable.
            MosaicError: no disk space, the keeper did not start, or a run with this id exists.
        """
        cluster = None if on is None else clusters.find(on)
        gpus = given_gpus(gpus, on)
        candidates, count = choose_gpus(gpus) if cluster is None else ({}, gpu_count(gpus))
        pass_env_vars = list(pass_env_vars)
        variables = compose_variables(
            os.environ, threads=threads, env_vars=env_vars, pass_env_vars=pass_env_vars
        )
        launch_dir = Path(config.get("launch_dir") or Path.cwd())
        origin = {
            **provenance(launch_dir, worker_environment or {}, program),
            "module": recorded_module(config.get("env_id"), variables),
            "gpus": candidates,
        }
        recorded = {
            "worker": worker,
            "label": label or default_label(worker, config),
            "group": group,
            "hyperparameters": hyperparameters,
            "environment_names": sorted([*variables, RUN_DIR_VARIABLE]),
            "gpus": gpus if isinstance(gpus, int) else list(gpus),
            "threads": threads,
            "grace_seconds": grace_seconds,
            "max_running": self.max_running,
            "warm": self.warm is not None,
            "films": films,
            "steps": steps,
            "parent": parent,
            "sweep": dict(sweep) if sweep is not None else None,
            "curriculum": dict(curriculum) if curriculum is not None else None,
            "starts_runs": starts_runs,
            "takes_slot": takes_slot,
            "on": on,
            "restarts": restarts,
            "notebook": this_notebook(),
            "created": time.time(),
        }
        with self._new_folder(worker, config, run_id) as (folder, lock):
            recorded["command"] = [*command, "--config", str(folder.config_path)]
            _write_documents(folder, config, recorded, origin, request)
            launch = self._launch(folder, recorded, variables, candidates, count)
            if cluster is not None:
                passed = {name: variables[name] for name in (*pass_env_vars, *(env_vars or {}))}
                bridge = bridge_of(cluster, folder.run_id, recorded, config, passed)
                launch = replace(launch, bridge=bridge)
            if self.warm is None or not self.warm.start(folder, launch, lock):
                start_keeper(folder, launch, lock)
        return Run(folder, self.display)

    def resume(
        self,
        run: Run,
        *,
        env_vars: Mapping[str, str] | None = None,
        pass_env_vars: Iterable[str] = (),
        config: Mapping[str, Any] | None = None,
    ) -> Run:
        """Start the command of an ended run again in its folder, for workers that resume there.

        The new state replaces the previous one; files that the run has written are kept. ``env_vars`` and
        ``pass_env_vars`` as in `start`; ``config`` contains changed fields of the configuration. Raises
        MosaicError, without changing anything, if the run is alive or its folder cannot be written, and
        ConfigurationError for an unset variable.
        """
        folder, lock = run.folder, None
        if run.state is State.LOST:
            run.stop(0)
        try:
            lock = _lock_of_ended(run)
            recorded = folder.document(folder.launch_path)
            candidates, count = choose_gpus(recorded["gpus"])
            threads = recorded["threads"]
            variables = compose_variables(
                os.environ, threads=threads, env_vars=env_vars, pass_env_vars=pass_env_vars
            )
            launch = self._launch(folder, recorded, variables, candidates, count)
            folder.stop_path.unlink(missing_ok=True)
            shutil.rmtree(folder.scratch_path, ignore_errors=True)
            orphans.forget(folder.path)
            if (former := folder.config()) or config:
                write_json(folder.config_path, {**former, **(config or {})})
            before = run.seconds(run.status) or 0.0
            status = replace(queued("starting", time.time()), earlier_seconds=before)
            write_json(folder.state_path, status.to_dict())
            start_keeper(folder, launch, lock)
        except OSError as error:
            raise MosaicError(f"run {run.id} could not be started again: {error}") from error
        except (KeyError, TypeError) as error:
            raise MosaicError(
                f"run {run.id} could not be started again: its launch.json cannot be read: {error!r:.200}"
            ) from None
        finally:
            if lock is not None:
                os.close(lock)
        return run

    def reattach(self, run: Run) -> Run:
        """Follow a run on a cluster again after its local keeper was killed, for example by a reboot.

        Data written since then is fetched too. Raises MosaicError for other runs, and
        ConfigurationError if its cluster or the token is no longer known.
        """
        folder = run.folder
        recorded = folder.document(folder.launch_path)
        if run.on is None or run.state is not State.LOST or not (folder.path / PLACEMENT).is_file():
            raise MosaicError(f"run {run.id} is {run.state}: only a lost run on a cluster is followed again")
        if (lock := locks.take(folder.lock_path)) is None:
            raise MosaicError(f"run {run.id} is being followed again by another process")
        try:
            bridge = bridge_of(clusters.find(run.on), run.id, recorded, run.config, {})
            launch = replace(self._launch(folder, recorded, {}, [], 0), bridge=bridge)
            write_json(folder.state_path, queued(f"looking for it on {run.on}", time.time()).to_dict())
            start_keeper(folder, launch, lock)
        except (OSError, KeyError) as error:
            raise MosaicError(f"run {run.id} could not be followed again: {error!r}") from error
        finally:
            os.close(lock)
        return run

    def _launch(
        self,
        folder: RunFolder,
        recorded: Mapping[str, Any],
        variables: Mapping[str, str],
        candidates: Iterable[int],
        count: int | None,
    ) -> Launch:
        if folder.disk_full():  # its keeper could not record the start
            raise MosaicError(f"run {folder.run_id} cannot be started: the disk of {self.store.root} is full")
        starts_runs = bool(recorded.get("starts_runs"))
        takes_slot = recorded.get("parent") is None and not starts_runs and recorded.get("takes_slot", True)
        if starts_runs and (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
            variables = {**variables, "CUDA_VISIBLE_DEVICES": visible}  # its runs' keepers choose from these
        return Launch(
            command=[*recorded["command"][:-1], str(folder.config_path)],  # the store may have been moved
            environment={**variables, RUN_DIR_VARIABLE: str(folder.path)},
            grace_seconds=recorded["grace_seconds"],
            max_running=self.max_running if takes_slot else None,
            gpus=list(candidates),
            gpu_count=count,
            gpu_locks=str(Path(tempfile.gettempdir()) / f"mosaic-lab-{os.getuid()}"),
            scratch=str(folder.scratch_path),
            starts_runs=starts_runs,
        )

    @contextmanager
    def _new_folder(
        self, worker: str, config: Mapping[str, Any], run_id: str | None
    ) -> Iterator[tuple[RunFolder, int]]:
        """Create a run folder with this id, or with a new one that is not taken, and hold its lock during the
        block. If the start fails or is interrupted, the run is stopped if its keeper has started, otherwise
        deleted."""
        folder, lock = self._created(worker, config, run_id)
        try:
            yield folder, lock
        except BaseException as error:
            os.close(lock)
            if folder.alive():
                Run(folder).stop(wait=False)
            else:
                shutil.rmtree(folder.path, ignore_errors=True)
            if isinstance(error, OSError):
                raise MosaicError(f"the run could not be started in {self.store.root}: {error}") from error
            raise
        os.close(lock)

    def _created(self, worker: str, config: Mapping[str, Any], run_id: str | None) -> tuple[RunFolder, int]:
        for _ in range(100 if run_id is None else 1):
            try:
                return self.store.create(run_id or new_run_id(worker, config))
            except FileExistsError:
                continue
            except OSError as error:
                reason = error.strerror or error
                raise MosaicError(f"cannot create a run folder in {self.store.root}: {reason}") from error
        raise MosaicError(f"{self.store.root} has a run folder {run_id or 'of every name that was tried'}")


def _write_documents(
    folder: RunFolder,
    config: Mapping[str, Any],
    launch: Mapping[str, Any],
    origin: Mapping[str, Any],
    request: Mapping[str, Any] | None,
) -> None:
    """Write the JSON files of a new run, its state first, so that no reader sees a run without one."""
    write_json(folder.state_path, queued("starting", time.time()).to_dict())
    write_json(folder.config_path, {**config, "run_id": folder.run_id, "run_dir": str(folder.path)})
    write_json(folder.provenance_path, origin)
    if request is not None:
        write_json(folder.request_path, request)
    write_json(folder.launch_path, launch)


def this_notebook() -> str | None:
    """Return the notebook of this kernel, as named by the Jupyter server; None elsewhere."""
    return os.environ.get("JPY_SESSION_NAME")


def _lock_of_ended(run: Run) -> int:
    """Take the lock of an ended run once its keeper has exited. Raises MosaicError if the run is alive, and
    OSError if its folder cannot be written."""
    deadline = time.monotonic() + _LEAVE_DEADLINE
    while run.finished and time.monotonic() < deadline:
        clearing_up = orphans.survivors(run.path, KEEPER_VARIABLE)  # possibly its guardian
        if not clearing_up and (lock := locks.take(run.folder.lock_path)) is not None:
            return lock
        time.sleep(0.02)
    raise MosaicError(f"run {run.id} is {run.state}: it can be resumed when it has ended")
