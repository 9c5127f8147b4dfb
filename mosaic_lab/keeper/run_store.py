"""The run store: a folder of run folders whose files any process can read.

A run is alive while its keeper holds the run's lock, which the system releases when the process ends.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic_lab.errors import MosaicError, UnknownRun
from mosaic_lab.keeper import locks
from mosaic_lab.keeper.environment_variables import KEEPER_VARIABLE
from mosaic_lab.keeper.files import folder_in, folders_in, irregular_kind, list_folders, open_file
from mosaic_lab.keeper.processes import lives, place
from mosaic_lab.keeper.states import RunStatus, State, Transition, queued
from mosaic_lab.keeper.tail import final_message, is_count, is_there
from mosaic_lab.sanitize import sanitize, well_formed

COMPARISONS = "comparisons"
"""The folder of comparisons, below a store's root. Each comparison contains one run folder per lane."""

_removed: set[Path] = set()
"""Run folders that this process has deleted on request. Their runs are removed, not lost."""

_RUN_ID = re.compile(r"\d{8}-\d{6}-.+-[a-hjkmnp-z2-9]{4}")
_MAX_DIGITS = 300  # maximum digits of a JSON integer
_RENAMED_KEY = b'"pass_env":', b'"pass_env_vars":'  # in older runs, and now
_READ = ("config.json", "launch.json", "telemetry.jsonl", "system.jsonl", "worker.log")
_ABANDONED_SECONDS = 3600.0  # age at which an unfinished new folder was left behind by a killed process
_MAX_JSON = 16 << 20  # bytes; a state file has one or two thousand, a provenance file some ten thousand


def is_run_id(name: str) -> bool:
    """Return whether a folder of this name in a run store belongs to a run, even if its files are missing."""
    return _RUN_ID.fullmatch(name) is not None


def requested_steps(config: Mapping[str, Any]) -> int | None:
    """Return the step at which a training was to end; for a segment of a longer training, its last step."""
    checkpoint = config.get("checkpoint")
    stop = checkpoint.get("stop_at") if isinstance(checkpoint, dict) else None
    total = config.get("total_timesteps") if stop is None else stop
    return int(total) if is_count(total) else None


def comparison_lives(folder: Path) -> bool:
    """Return whether any lane of the comparison in this folder has living processes."""
    return any(RunFolder(lane).alive() for lane in folders_in(folder))


class _File:
    """The path of a file in a run folder, joined on access because lists of runs create folders by the
    thousand."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: RunFolder, owner: type[RunFolder]) -> Path:
        return folder.path / self._name


class RunFolder:
    """A run's folder on disk. Cheap to create: its only state is the path."""

    config_path = _File("config.json")
    request_path = _File("request.json")
    launch_path = _File("launch.json")
    provenance_path = _File("provenance.json")
    node_path = _File("node.json")
    state_path = _File("state.json")
    stop_path = _File("stop.json")
    stages_path = _File("stages.json")
    waiting_path = _File("waiting.json")
    lock_path = _File("keeper.lock")
    keeper_log_path = _File("keeper.log")
    telemetry_path = _File("telemetry.jsonl")
    system_path = _File("system.jsonl")
    evaluations_path = _File("evaluations.jsonl")
    log_path = _File("worker.log")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = sanitize(path.name)

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    @property
    def scratch_path(self) -> Path:
        """The folder of the worker's temporary files. The path is short because it may contain sockets."""
        name = hashlib.sha256(str(self.path).encode()).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"mosaic-{name}"

    def placed(self, path: str) -> Path:
        """Return the current path of a file named by the worker: the folder may have been moved, or mirror a
        node."""
        parts = Path(path).parts
        if self.run_id in parts:
            return self.path.joinpath(*parts[parts.index(self.run_id) + 1 :])
        return Path(os.path.normpath(self.path / path))

    def alive(self) -> bool:
        """Return whether the run's keeper holds the lock or, if its files were deleted, the process
        exists."""
        return self._has_keeper(self._recorded())

    def _has_keeper(self, recorded: RunStatus) -> bool:
        if locks.held(self.lock_path) or _keeper_lives(recorded):
            return True
        if recorded.state is not State.LOST or recorded.keeper_pid is not None or not is_there(self.path):
            return False
        try:
            from mosaic_lab.keeper import orphans
        except ImportError:  # keepers have no psutil and rely on the lock
            return False
        return bool(orphans.survivors(self.path, KEEPER_VARIABLE))

    def status(self) -> RunStatus:
        """Return the run's current status: ``lost`` if it has neither a keeper nor a recorded end."""
        status = self._recorded()
        if status.state.finished and status.state is not State.LOST:
            return status
        if self._has_keeper(status):  # even if its state cannot be read
            return replace(status, state=State.RUNNING) if status.state is State.LOST else status
        status = self._recorded()  # the keeper may have recorded the end in the meantime
        return status if status.state.finished else _lost(status, self.telemetry_path)

    @property
    def removed(self) -> bool:
        """Whether this process has deleted the folder with `remove`."""
        return self.path in _removed and not self.path.exists()

    def remove(self) -> None:
        """Delete the folder of a run that has ended. Raises MosaicError if it is alive or files remain."""
        status = self.status()
        deadline = time.monotonic() + 5  # a keeper that has recorded the end exits soon
        while status.state.finished and self.alive() and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.alive():
            raise MosaicError(f"run {self.run_id} is {status.state} and cannot be removed: stop it first")
        doomed = self.path.with_name(f".removed-{self.run_id}")
        try:
            with suppress(FileNotFoundError):
                self.path.rename(doomed)  # a failed removal must not leave an incomplete run in the list
        except OSError as error:
            raise MosaicError(f"run {self.run_id} could not be removed: {error}") from error
        _removed.add(self.path)
        shutil.rmtree(self.scratch_path, ignore_errors=True)  # left by a lost run
        try:
            with suppress(FileNotFoundError):
                shutil.rmtree(doomed)
        except OSError as error:
            raise MosaicError(
                f"run {self.run_id} could not be removed completely: {error}. "
                f"What remains of it is in {doomed}"
            ) from error

    def disk_full(self) -> bool:
        """Return whether hardly any disk space remains for the run's files."""
        with suppress(OSError):
            disk = os.statvfs(self.path)
            return disk.f_bavail * disk.f_frsize < 1 << 16
        return False

    def config(self) -> dict[str, Any]:
        """Return the run's configuration. If the store was moved or renamed, paths of existing files are
        updated to its new location."""
        config = self.document(self.config_path)
        recorded = Path(str(config.get("run_dir", self.path)))
        if recorded == self.path or not recorded.is_absolute():
            return config
        before, now = recorded, self.path
        while before.name and before.name == now.name:
            before, now = before.parent, now.parent
        return {**_moved(config, before, now), "run_dir": str(self.path)}

    def document(self, path: Path) -> dict[str, Any]:
        """Return the content of one of the folder's JSON files, empty if it cannot be read."""
        try:
            content = read_json(path)
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def misplaced(self, empty: Iterable[Path]) -> str:
        """Return the obstacles to reading the run, such as ``its config.json is a folder``; empty without
        any. ``empty`` are its JSON files that yielded nothing and may be damaged."""
        folder = str(self.path)  # paths as strings: lists check thousands of runs
        obstacles = {name: kind for name in _READ if (kind := irregular_kind(f"{folder}/{name}")) is not None}
        for path in empty:
            if path.name not in obstacles and (damage := _damage(path)):
                obstacles[path.name] = f"damaged ({damage})"
        return ", ".join(f"its {name} is {trouble} and cannot be read" for name, trouble in obstacles.items())

    def _recorded(self) -> RunStatus:
        try:
            return RunStatus.from_dict(read_json(self.state_path))
        except FileNotFoundError:
            if self.removed:
                return RunStatus(State.REMOVED, "its folder was deleted by remove()", time.time())
            if not is_there(self.path):
                reason = "its folder was deleted or moved away"
            elif is_there(self.launch_path) or is_there(self.keeper_log_path):
                reason = "its state.json was deleted"
            else:
                return queued("is being started", _changed(self.path))
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            reason = f"its state.json cannot be read: {error}"
        return RunStatus(State.LOST, reason, 0.0)


class RunStore:
    """The runs below ``root``, a folder created with the first run."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).resolve()
        self.slots_path = self.root / ".slots"

    def folders(self) -> list[RunFolder]:
        """Return all run folders, oldest first, including empty ones. Raises OSError if the store cannot be
        listed."""
        try:
            paths = list_folders(self.root)
        except FileNotFoundError:
            return []
        return sorted(filter(_is_of_a_run, map(RunFolder, paths)), key=_age)

    def folder(self, run_id: str) -> RunFolder:
        """Return the folder of the run whose id equals ``run_id``, or starts or ends with it.

        Raises UnknownRun if no run or several runs match.
        """
        if (exact := self.exact(run_id)) is not None:
            return exact
        folders = self.folders()
        matches = [
            f for f in folders if run_id and (f.run_id.startswith(run_id) or f.run_id.endswith(run_id))
        ]
        if len(matches) == 1:
            return matches[0]
        if matches:
            names = ", ".join(folder.run_id for folder in matches[:5])
            raise UnknownRun(
                f"{run_id!r} fits {len(matches)} runs in {self.root} ({names}…): give more characters of "
                "the id"
            )
        if not folders:
            raise UnknownRun(f"no run {run_id!r}: {self.root} has no runs")
        newest = ", ".join(folder.run_id for folder in folders[-3:])
        raise UnknownRun(f"no run {run_id!r} in {self.root} (newest: {newest})")

    def exact(self, run_id: str) -> RunFolder | None:
        """Return the folder of the run with exactly this id; None if there is none.

        Ids are neither paths nor links to other folders. Those of folders whose names are not UTF-8 are
        escaped.
        """
        path = folder_in(self.root, run_id)
        if path is None and "\\" in run_id:
            return next((folder for folder in self.folders() if folder.run_id == run_id), None)
        folder = None if path is None else RunFolder(path)
        return folder if folder is not None and _is_of_a_run(folder) else None

    def create(self, run_id: str) -> tuple[RunFolder, int]:
        """Create a run folder and return it with the descriptor of its lock.

        It appears with its lock held, because no reader may see a run without a keeper. Raises
        FileExistsError if the name is taken.
        """
        self.slots_path.mkdir(parents=True, exist_ok=True)
        for abandoned in self.root.glob(".new-*"):
            with suppress(OSError):
                if abandoned.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                    shutil.rmtree(abandoned, ignore_errors=True)
        folder = RunFolder(self.root / run_id)
        if folder.path.exists():
            raise FileExistsError(folder.path)
        hidden = RunFolder(self.root / f".new-{run_id}.{os.getpid()}")
        hidden.path.mkdir()
        lock = locks.take(hidden.lock_path)
        assert lock is not None, "no other process knows the folder"
        try:
            hidden.path.rename(folder.path)
        except OSError as error:
            os.close(lock)
            shutil.rmtree(hidden.path, ignore_errors=True)
            if error.errno == errno.ENOTEMPTY:  # another process has created it meanwhile
                raise FileExistsError(folder.path) from None
            raise
        return folder, lock


def _is_of_a_run(folder: RunFolder) -> bool:
    """Return whether a folder of a store is a run folder, as opposed to, for example, that of comparisons."""
    return is_run_id(folder.run_id) or (not folder.path.name.startswith(".") and is_there(folder.state_path))


def _age(folder: RunFolder) -> tuple[str, int]:
    """Return the sort key of a run: the second in its id, then the time its configuration was written."""
    try:
        modified = folder.config_path.stat().st_mtime_ns
    except OSError:
        modified = 0
    return folder.run_id[: len("20000101-000000")], modified


def _lost(status: RunStatus, telemetry: Path) -> RunStatus:
    if status.place and status.place != place():
        reason = "its machine or container was restarted (or is another one): the run ended with it"
    elif status.keeper_pid is None:
        reason = "it never started: the process that was starting it exited before its keeper took over"
    else:
        reason = (
            f"its keeper (process {status.keeper_pid}) was killed, so it is not known how the worker ended"
        )
    if (final := final_message(telemetry)) is not None:
        reason += f"; the worker's final message was {final['event']}"
    history = (*status.history, Transition(State.LOST, reason, status.since))
    return replace(status, state=State.LOST, reason=reason, history=history, gpus=(), started_monotonic=None)


def _keeper_lives(status: RunStatus) -> bool:
    """Return whether the run's keeper process exists, as opposed to another process that reuses its pid."""
    if status.state.finished or status.keeper_pid is None or status.place != place():
        return False
    return lives(status.keeper_pid, status.keeper_started)


def _moved(value: Any, before: Path, now: Path) -> Any:
    """Replace the prefix ``before`` of paths in JSON by ``now`` if the resulting path exists."""
    if isinstance(value, dict):
        return {_moved(name, before, now): _moved(item, before, now) for name, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, before, now) for item in value]
    if not isinstance(value, str) or not Path(value).is_relative_to(before):
        return value
    moved = now / Path(value).relative_to(before)
    return str(moved) if is_there(moved) else value


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def read_json(path: Path) -> Any:
    """Return the content of a small, untrusted JSON file, with the current names of its keys. Raises OSError
    or ValueError."""
    with open_file(path) as file:
        # Allocating the limit itself would cost more than the read.
        data = file.read(min(os.fstat(file.fileno()).st_size, _MAX_JSON) + 1)
    if len(data) > _MAX_JSON:
        raise ValueError(f"it is larger than {_MAX_JSON >> 20} MiB")
    try:
        data = data.replace(*_RENAMED_KEY)
        content = _DECODER.decode(data.decode())
        return well_formed(content) if b"\\ud" in data.lower() else content
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _number(digits: str) -> float:
    """Parse a JSON integer; one too large for a float becomes infinity."""
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_DECODER = json.JSONDecoder(parse_int=_number)


def _damage(path: Path) -> str:
    """Return why a JSON file contains no readable object; empty if it contains one or does not exist."""
    try:
        return "" if isinstance(read_json(path), dict) else "it is not a JSON object"
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"{error}"


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically: readers see either the old or the new content."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
